//! A worker that runs in one process per data folder while the other processes wait: dispatcher, collector.
//!
//! The leading process holds the lock on a file in the folder, which the system releases when the process dies; the
//! others retry at an interval. The leader's thread alternates between a turn and waiting for messages until the
//! next turn is due. Its [`LeaderTask`] defines the turns, its [`Pace`] the intervals. A failed turn is retried after a
//! pause. Dropping a [`Leader`] stops it: its duty finishes within the stop timeout of its pace.

use std::fmt::{self, Display};
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use crate::supervise::{Pulse, Supervisor, Worker};

/// How long dropping a leader waits beyond its stop timeout, for a turn that was running.
const JOIN_GRACE: Duration = Duration::from_secs(10);

/// The work of a leader.
pub trait LeaderTask: Send + 'static {
    /// The message it receives between turns.
    type Message: Send + 'static;
    /// Why a turn failed.
    type Error: Display;

    /// Takes over from the previous leader. Retried until it succeeds.
    ///
    /// # Errors
    /// The duty cannot begin yet.
    fn begin(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Accepts a message, even while another process leads. Must not block.
    fn take(&mut self, message: Self::Message);

    /// Does the work that is due. May block.
    ///
    /// # Errors
    /// The turn is retried after a pause.
    fn turn(&mut self) -> Result<(), Self::Error>;

    /// Returns the time until the next turn must run, if that is sooner than the pace requires.
    fn next_in(&self) -> Option<Duration> {
        None
    }

    /// Runs a turn after the leader was asked to stop; it must not start anything new. Called repeatedly, at the
    /// leader's pace, until it is done or the stop timeout has passed.
    ///
    /// # Errors
    /// The next leader handles what was not written.
    fn stop(&mut self) -> Result<Stop, Self::Error>;
}

/// Whether a duty has finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Nothing is left to do.
    Done,
    /// Something is still in progress.
    Waiting,
}

/// Intervals and timeouts of a leader.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Maximum wait between two turns.
    pub tick: Duration,
    /// Interval between attempts to lock while another process holds the lock.
    pub lock_every: Duration,
    /// Pause after a failure.
    pub error_pause: Duration,
    /// Maximum time for a duty to finish; zero allows it one turn.
    pub stop_timeout: Duration,
}

/// Name, lock file and pace of a leader.
#[derive(Clone, Copy, Debug)]
pub struct Post<'a> {
    /// Name of the thread.
    pub name: &'static str,
    /// The data folder.
    pub folder: &'a Path,
    /// Name of the lock file in the data folder.
    pub lock_file: &'static str,
    /// Its intervals and timeouts.
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

/// Queue of a leader's messages. It is unbounded: the duty limits what is in progress.
pub struct Inbox<M>(Receiver<LeaderMessage<M>>);

/// Creates an inbox and its notifier.
pub fn inbox<M>() -> (Notifier<M>, Inbox<M>) {
    let (sender, receiver) = channel();
    (Notifier(sender), Inbox(receiver))
}

/// A leader that runs or waits for the lock. Dropping it stops it and waits for its end, up to a limit.
pub struct Leader<M> {
    worker: Worker,
    notifier: Notifier<M>,
    longest_stop: Duration,
}

impl<M> fmt::Debug for Leader<M> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Leader").field(&self.worker).finish()
    }
}

impl<M: Send + 'static> Leader<M> {
    /// Starts the thread.
    ///
    /// # Errors
    /// The thread cannot be started or the lock file cannot be opened.
    pub fn start<D: LeaderTask<Message = M>>(
        supervisor: &Supervisor,
        post: Post<'_>,
        (notifier, inbox): (Notifier<M>, Inbox<M>),
        duty: D,
    ) -> io::Result<Self> {
        let lock = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(post.folder.join(post.lock_file))?;
        let Post {
            name,
            lock_file,
            pace,
            ..
        } = post;
        let leading = Leading {
            duty,
            inbox: inbox.0,
            name,
            pace,
            stop_by: None,
        };
        let worker = supervisor.spawn(name, move |pulse| leading.run(&lock, lock_file, pulse))?;
        Ok(Self {
            worker,
            notifier,
            longest_stop: pace.stop_timeout + JOIN_GRACE,
        })
    }
}

impl<M> Drop for Leader<M> {
    fn drop(&mut self) {
        self.worker.release();
        // It may have ended already.
        let _ = self.notifier.0.send(LeaderMessage::Stop);
        self.worker.join_within(self.longest_stop);
    }
}

struct Leading<D: LeaderTask> {
    duty: D,
    inbox: Receiver<LeaderMessage<D::Message>>,
    name: &'static str,
    pace: Pace,
    /// Deadline for the duty to finish; set when it is asked to stop.
    stop_by: Option<Instant>,
}

impl<D: LeaderTask> Leading<D> {
    fn run(mut self, lock: &File, lock_file: &str, pulse: &Pulse) {
        if !self.wait_to_lead(lock, lock_file, pulse) || !self.begin(pulse) {
            return;
        }
        loop {
            pulse.turn();
            let is_done = match self.stop_by {
                None => {
                    let turned = self.duty.turn();
                    self.pause_after(turned);
                    false
                }
                Some(stop_by) => {
                    let stopped = self.duty.stop();
                    let is_late = Instant::now() >= stop_by;
                    match stopped {
                        Ok(stop) => stop == Stop::Done || is_late,
                        Err(error) => {
                            self.pause_after(Err(error));
                            is_late
                        }
                    }
                }
            };
            if is_done {
                return;
            }
            let tick = self.pace.tick;
            self.hear(
                pulse,
                self.duty.next_in().map_or(tick, |next| next.min(tick)),
            );
        }
    }

    /// Waits until this process leads; returns `false` if it was asked to stop first.
    fn wait_to_lead(&mut self, lock: &File, lock_file: &str, pulse: &Pulse) -> bool {
        let worker = self.name;
        let mut is_logged = false;
        while let Err(error) = lock.try_lock() {
            pulse.turn();
            match error {
                TryLockError::WouldBlock if !is_logged => {
                    tracing::info!(worker, "another process holds the lock; waiting");
                }
                TryLockError::Error(error) if !is_logged => {
                    tracing::error!(worker, %error, lock_file, "cannot take the lock; retrying");
                }
                _ => {}
            }
            is_logged = true;
            self.hear(pulse, self.pace.lock_every);
            if self.stop_by.is_some() {
                return false;
            }
        }
        true
    }

    /// Lets the duty begin; returns `false` if it was asked to stop first.
    fn begin(&mut self, pulse: &Pulse) -> bool {
        while let Err(error) = self.duty.begin() {
            pulse.turn();
            tracing::error!(worker = self.name, %error, "cannot begin; retrying");
            self.hear(pulse, self.pace.error_pause);
            if self.stop_by.is_some() {
                return false;
            }
        }
        true
    }

    fn pause_after(&self, outcome: Result<(), D::Error>) {
        if let Err(error) = outcome {
            tracing::error!(worker = self.name, %error, "a turn failed; retrying after a pause");
            std::thread::sleep(self.pace.error_pause);
        }
    }

    /// Waits for a message, then takes all queued ones.
    fn hear(&mut self, pulse: &Pulse, longest: Duration) {
        match pulse.wait(|| self.inbox.recv_timeout(longest)) {
            Ok(letter) => self.open(letter),
            Err(RecvTimeoutError::Timeout) => {}
            // No sender is left, so nothing could ask it to stop any more.
            Err(RecvTimeoutError::Disconnected) => self.open(LeaderMessage::Stop),
        }
        while let Ok(letter) = self.inbox.try_recv() {
            self.open(letter);
        }
    }

    fn open(&mut self, letter: LeaderMessage<D::Message>) {
        match letter {
            LeaderMessage::Message(message) => self.duty.take(message),
            LeaderMessage::Stop => {
                self.stop_by
                    .get_or_insert_with(|| Instant::now() + self.pace.stop_timeout);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    const PACE: Pace = Pace {
        tick: Duration::from_millis(5),
        lock_every: Duration::from_millis(5),
        error_pause: Duration::from_millis(5),
        stop_timeout: Duration::from_secs(5),
    };

    /// Adds up messages in its turns; `begin` and `turn` each fail once.
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

        fn begin(&mut self) -> Result<(), &'static str> {
            self.failures += 1;
            (self.failures > 1).then_some(()).ok_or("not yet")
        }

        fn take(&mut self, message: usize) {
            self.taken += message;
        }

        fn turn(&mut self) -> Result<(), &'static str> {
            self.failures += 1;
            if self.failures == 3 {
                return Err("once more");
            }
            self.total
                .fetch_add(std::mem::take(&mut self.taken), Ordering::SeqCst);
            Ok(())
        }

        fn stop(&mut self) -> Result<Stop, &'static str> {
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

    fn start(folder: &Path, total: &Arc<AtomicUsize>) -> (Leader<usize>, Notifier<usize>) {
        let (notifier, messages) = inbox();
        let duty = Adding {
            total: Arc::clone(total),
            ..Adding::default()
        };
        let post = Post {
            name: "adding",
            folder,
            lock_file: "adding.lock",
            pace: PACE,
        };
        let supervisor = Supervisor::default();
        let leader = Leader::start(&supervisor, post, (notifier.clone(), messages), duty).unwrap();
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
        let (first_total, second_total) = (Arc::default(), Arc::default());
        let (first, to_first) = start(folder.path(), &first_total);
        to_first.notify(1);
        assert!(becomes(&first_total, 1));
        let (second, to_second) = start(folder.path(), &second_total);
        to_second.notify(10);
        std::thread::sleep(10 * PACE.lock_every);
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
