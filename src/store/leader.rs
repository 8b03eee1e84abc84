//! A worker that runs in one process per data folder while the other processes wait: dispatcher, collector.
//!
//! The leading process holds a [`lease`](super::lease); the others try to take it at an interval. The leader's thread
//! alternates between turns, in which it does its work, and waiting for messages until the next turn is due. Its
//! [`LeaderTask`] defines what a turn does, its [`Pace`] the intervals. A failed turn is retried after a pause. A
//! leader that lost its lease because its process was stopped for too long forgets its work and waits like the others.
//! Dropping a [`Leader`] stops it: its task finishes within the stop timeout of its pace, and the next process leads at
//! once.

use std::fmt::{self, Display};
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use super::lease::{Attempt, Candidate, Lease, OtherHolder};
use super::{Error, Store};
use toise_base::supervise::{Pulse, Supervisor, Worker};

/// How long dropping a leader waits for a running turn beyond the stop timeout.
const JOIN_GRACE: Duration = Duration::from_secs(10);

/// The work of a leader.
pub trait LeaderTask: Send + 'static {
    /// The message it receives between turns.
    type Message: Send + 'static;
    /// Why a turn failed.
    type Error: Display;

    /// Takes over from the previous leader; retried until it succeeds. Everything that the task writes as a leader must
    /// go through [`Lease::write`] before anybody else learns of it.
    ///
    /// # Errors
    /// The task cannot begin yet.
    fn begin(&mut self, _lease: &Lease) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Forgets all work, because another process leads now. The task may begin again later.
    fn step_back(&mut self);

    /// Accepts a message, even while another process leads. Must not block.
    fn take(&mut self, _message: Self::Message) {}

    /// Does the work that is due. May block.
    ///
    /// # Errors
    /// The turn is retried after a pause.
    fn turn(&mut self, lease: &Lease) -> Result<(), Self::Error>;

    /// Returns the time until the next turn must run, if it must run sooner than the pace requires.
    fn next_in(&self) -> Option<Duration> {
        None
    }

    /// Runs a turn after the leader was asked to stop; the task must not start anything new. Called repeatedly, at the
    /// leader's pace, until it is done or the stop timeout has passed.
    ///
    /// # Errors
    /// Work that was not written is left to the next leader.
    fn stop(&mut self, _lease: &Lease) -> Result<Stop, Self::Error> {
        Ok(Stop::Done)
    }
}

/// Whether a task has finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Nothing is left to do.
    Done,
    /// Something is still in progress.
    Waiting,
}

/// The intervals and timeouts of a leader.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Maximum wait between two turns.
    pub tick: Duration,
    /// Interval between attempts to lead while another process does.
    pub lead_every: Duration,
    /// Pause after a failure.
    pub error_pause: Duration,
    /// Maximum time for a task to finish; zero allows it one turn.
    pub stop_timeout: Duration,
}

/// Name, store and timing of a leader.
#[derive(Clone, Copy, Debug)]
pub struct Post<'a> {
    /// Name of the thread and of the lease.
    pub name: &'static str,
    /// The store of the data folder.
    pub store: &'a Store,
    /// The leader's intervals and timeouts.
    pub pace: Pace,
}

enum LeaderMessage<M> {
    Message(M),
    Stop,
}

/// Sends messages to a leader. Cheap to clone.
pub struct Notifier<M>(Sender<LeaderMessage<M>>);

impl<M> Clone for Notifier<M> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<M> Notifier<M> {
    /// Sends a message. It is dropped if the leader has ended.
    pub fn notify(&self, message: M) {
        let _ = self.0.send(LeaderMessage::Message(message));
    }
}

/// Queue of a leader's messages. It is unbounded: the task limits what is in progress.
pub struct Inbox<M>(Receiver<LeaderMessage<M>>);

/// Creates an inbox and its notifier.
pub fn inbox<M>() -> (Notifier<M>, Inbox<M>) {
    let (sender, receiver) = channel();
    (Notifier(sender), Inbox(receiver))
}

/// A leader that runs or waits for the lease. Dropping it stops the leader and waits for its end, up to a limit.
pub struct Leader {
    worker: Worker,
    /// Asks the thread to stop.
    stop: Box<dyn Fn() + Send + Sync>,
    longest_stop: Duration,
}

impl fmt::Debug for Leader {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Leader").field(&self.worker).finish()
    }
}

impl Leader {
    /// Starts the thread.
    ///
    /// # Errors
    /// The thread cannot be started or the file of locks cannot be opened.
    pub fn start<D: LeaderTask>(
        supervisor: &Supervisor,
        post: Post<'_>,
        (notifier, inbox): (Notifier<D::Message>, Inbox<D::Message>),
        task: D,
    ) -> io::Result<Self> {
        let Post { name, store, pace } = post;
        let candidate = Candidate::new(store, name)?;
        let leading = Leading {
            task,
            inbox: inbox.0,
            name,
            pace,
            stop_by: None,
        };
        let worker = supervisor.spawn(name, move |pulse| leading.run(candidate, pulse))?;
        Ok(Self {
            worker,
            stop: Box::new(move || {
                // The leader may have ended already.
                let _ = notifier.0.send(LeaderMessage::Stop);
            }),
            longest_stop: pace.stop_timeout + JOIN_GRACE,
        })
    }
}

impl Drop for Leader {
    fn drop(&mut self) {
        self.worker.release();
        (self.stop)();
        self.worker.join_within(self.longest_stop);
    }
}

struct Leading<D: LeaderTask> {
    task: D,
    inbox: Receiver<LeaderMessage<D::Message>>,
    name: &'static str,
    pace: Pace,
    /// Deadline for the task to finish; set when it is asked to stop.
    stop_by: Option<Instant>,
}

/// The reason why a term ended.
enum TermEnd {
    /// The leader was asked to stop.
    Stopped,
    /// Another process leads.
    Lost,
}

impl<D: LeaderTask> Leading<D> {
    fn run(mut self, mut candidate: Candidate, pulse: &Pulse) {
        while let Some(lease) = self.wait_to_lead(&mut candidate, pulse) {
            match self.lead(&lease, pulse) {
                TermEnd::Stopped => {
                    // If this fails, the next process detects by itself that this one has ended.
                    let _ = lease.release();
                    return;
                }
                TermEnd::Lost => {
                    self.task.step_back();
                    tracing::warn!(
                        worker = self.name,
                        "another process has taken over, because this one was silent for too long"
                    );
                    if self.stop_by.is_some() {
                        return;
                    }
                }
            }
        }
    }

    /// Runs turns until the leader is stopped or has lost its lease.
    fn lead(&mut self, lease: &Lease, pulse: &Pulse) -> TermEnd {
        if let Some(end) = self.begin(lease, pulse) {
            return end;
        }
        loop {
            pulse.turn();
            // A failed renewal is retried in the next turn; what the task writes is refused if the lease is lost.
            if lease.is_due() && is_lost(lease) {
                return TermEnd::Lost;
            }
            let (outcome, is_done) = match self.stop_by {
                None => (self.task.turn(lease), false),
                Some(stop_by) => {
                    let stopped = self.task.stop(lease);
                    let is_late = Instant::now() >= stop_by;
                    let is_done = is_late || matches!(stopped, Ok(Stop::Done));
                    (stopped.map(drop), is_done)
                }
            };
            if let Err(error) = outcome {
                if is_lost(lease) {
                    return TermEnd::Lost;
                }
                self.pause_after(&error, pulse);
            }
            if is_done {
                return TermEnd::Stopped;
            }
            let tick = self.pace.tick;
            self.receive_messages(
                pulse,
                self.task.next_in().map_or(tick, |next| next.min(tick)),
            );
        }
    }

    /// Waits until this process leads; returns `None` if it was asked to stop first.
    fn wait_to_lead(&mut self, candidate: &mut Candidate, pulse: &Pulse) -> Option<Lease> {
        let worker = self.name;
        let mut is_logged = false;
        loop {
            pulse.turn();
            match candidate.attempt() {
                Ok(Attempt::Taken(lease)) => {
                    pulse.set_waits_for(None);
                    tracing::info!(worker, fence = lease.fence(), "leading");
                    return Some(lease);
                }
                Ok(Attempt::Held(held)) => {
                    pulse.set_waits_for(Some(waits_for(held)));
                    if !is_logged {
                        tracing::info!(
                            worker,
                            process = held.process,
                            "another process leads; waiting"
                        );
                    }
                }
                Err(error) => {
                    pulse.set_waits_for(Some(format!("the store: {error}")));
                    if !is_logged {
                        tracing::error!(worker, %error, "cannot take the lease; retrying");
                    }
                }
            }
            is_logged = true;
            self.receive_messages(pulse, self.pace.lead_every);
            if self.stop_by.is_some() {
                pulse.set_waits_for(None);
                return None;
            }
        }
    }

    /// Lets the task begin. If the term ends before it can, returns why.
    fn begin(&mut self, lease: &Lease, pulse: &Pulse) -> Option<TermEnd> {
        while let Err(error) = self.task.begin(lease) {
            pulse.turn();
            if is_lost(lease) {
                return Some(TermEnd::Lost);
            }
            tracing::error!(worker = self.name, %error, "cannot begin; retrying");
            self.receive_messages(pulse, self.pace.error_pause);
            if self.stop_by.is_some() {
                return Some(TermEnd::Stopped);
            }
        }
        None
    }

    /// Pauses after a failure, unless the leader is asked to stop.
    fn pause_after(&mut self, error: &D::Error, pulse: &Pulse) {
        tracing::error!(worker = self.name, %error, "a turn failed; retrying after a pause");
        let until = Instant::now() + self.pace.error_pause;
        while self.stop_by.is_none() && Instant::now() < until {
            self.receive_messages(pulse, until.saturating_duration_since(Instant::now()));
        }
    }

    /// Waits for a message, then processes all queued ones.
    fn receive_messages(&mut self, pulse: &Pulse, longest: Duration) {
        match pulse.wait(|| self.inbox.recv_timeout(longest)) {
            Ok(message) => self.handle(message),
            Err(RecvTimeoutError::Timeout) => {}
            // No sender is left, so nothing can ask the leader to stop.
            Err(RecvTimeoutError::Disconnected) => self.handle(LeaderMessage::Stop),
        }
        while let Ok(message) = self.inbox.try_recv() {
            self.handle(message);
        }
    }

    fn handle(&mut self, message: LeaderMessage<D::Message>) {
        match message {
            LeaderMessage::Message(message) => self.task.take(message),
            LeaderMessage::Stop => {
                self.stop_by
                    .get_or_insert_with(|| Instant::now() + self.pace.stop_timeout);
            }
        }
    }
}

/// Renews a lease; returns whether another process has taken it.
fn is_lost(lease: &Lease) -> bool {
    matches!(lease.renew(), Err(Error::LeaseLost(_)))
}

/// Describes for operators what a candidate is waiting for.
fn waits_for(held: OtherHolder) -> String {
    format!(
        "process {}, last heard from {} s ago",
        held.process,
        held.silent.as_secs()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    const PACE: Pace = Pace {
        tick: Duration::from_millis(5),
        lead_every: Duration::from_millis(5),
        error_pause: Duration::from_millis(5),
        stop_timeout: Duration::from_secs(5),
    };

    /// A task that adds up messages in its turns; `begin` and `turn` each fail once.
    #[derive(Default)]
    struct Adding {
        total: Arc<AtomicUsize>,
        taken: usize,
        failures: usize,
        stops: usize,
    }

    impl LeaderTask for Adding {
        type Message = usize;
        type Error = &'static str;

        fn begin(&mut self, _lease: &Lease) -> Result<(), &'static str> {
            self.failures += 1;
            (self.failures > 1).then_some(()).ok_or("not yet")
        }

        fn step_back(&mut self) {
            self.taken = 0;
        }

        fn take(&mut self, message: usize) {
            self.taken += message;
        }

        fn turn(&mut self, _lease: &Lease) -> Result<(), &'static str> {
            self.failures += 1;
            if self.failures == 3 {
                return Err("once more");
            }
            self.total
                .fetch_add(std::mem::take(&mut self.taken), Ordering::SeqCst);
            Ok(())
        }

        fn stop(&mut self, _lease: &Lease) -> Result<Stop, &'static str> {
            self.stops += 1;
            self.total
                .fetch_add(std::mem::take(&mut self.taken), Ordering::SeqCst);
            match self.stops {
                1 => Err("not written"),
                2 => Ok(Stop::Waiting),
                _ => Ok(Stop::Done),
            }
        }
    }

    fn start(store: &Store, total: &Arc<AtomicUsize>) -> (Leader, Notifier<usize>) {
        let (notifier, messages) = inbox();
        let task = Adding {
            total: Arc::clone(total),
            ..Adding::default()
        };
        let post = Post {
            name: "adding",
            store,
            pace: PACE,
        };
        let supervisor = Supervisor::default();
        let leader = Leader::start(&supervisor, post, (notifier.clone(), messages), task).unwrap();
        (leader, notifier)
    }

    fn becomes(total: &AtomicUsize, expected: usize) -> bool {
        let since = Instant::now();
        while total.load(Ordering::SeqCst) != expected && since.elapsed() < Duration::from_secs(10)
        {
            std::thread::sleep(Duration::from_millis(1));
        }
        total.load(Ordering::SeqCst) == expected
    }

    #[test]
    fn one_process_leads_and_the_next_takes_over_with_its_messages() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let (first_total, second_total) = (Arc::default(), Arc::default());
        let (first, to_first) = start(&store, &first_total);
        to_first.notify(1);
        assert!(becomes(&first_total, 1));
        let (second, to_second) = start(&store, &second_total);
        to_second.notify(10);
        std::thread::sleep(10 * PACE.lead_every);
        assert_eq!(second_total.load(Ordering::SeqCst), 0);
        to_first.notify(2);
        drop(first);
        assert_eq!(
            first_total.load(Ordering::SeqCst),
            3,
            "queued messages are handled before it ends"
        );
        assert!(becomes(&second_total, 10));
        let stopping = Instant::now();
        drop(second);
        assert!(stopping.elapsed() < PACE.stop_timeout);
    }
}
