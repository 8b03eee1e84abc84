//! A worker of which one process of a data folder leads and the others wait: dispatcher, collector.
//!
//! Who leads holds the lock on a file of the folder, which the system gives back when the process dies; the others try
//! again every so often. The leader's thread goes round: a turn, then messages until the next turn is due. What the
//! turns do is its [`Duty`]; how often anything happens is its [`Pace`]. A duty that fails is tried again after a pause.
//! Dropping a [`Leader`] has it stop: its duty winds up within the time its pace gives.

use std::fmt::{self, Display};
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use crate::supervise::{Pulse, Supervisor, Worker};

/// How much longer than its winding up a leader is waited for: a turn that was under way.
const JOIN_GRACE: Duration = Duration::from_secs(10);

/// What a leader does.
pub trait Duty: Send + 'static {
    /// What it hears between turns.
    type Message: Send + 'static;
    /// What makes a turn fail.
    type Error: Display;

    /// Takes over from whoever led before; tried again until it succeeds.
    ///
    /// # Errors
    /// It cannot begin yet.
    fn begin(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Takes a message, also while another process leads. Must not block.
    fn take(&mut self, message: Self::Message);

    /// Does what is to be done now. May block.
    ///
    /// # Errors
    /// It is tried again after a pause.
    fn turn(&mut self) -> Result<(), Self::Error>;

    /// How long from now the next turn may wait, where it is sooner than the pace says.
    fn next_in(&self) -> Option<Duration> {
        None
    }

    /// A turn after the leader was told to stop: begins nothing new. It comes again, in the leader's pace, until it is
    /// done or out of time.
    ///
    /// # Errors
    /// What was not written is left to the next leader.
    fn stop(&mut self) -> Result<Stop, Self::Error>;
}

/// Whether a duty has wound up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Nothing is left to be done.
    Done,
    /// Something is still under way.
    Waiting,
}

/// How often a leader does what.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Longest wait between two turns.
    pub tick: Duration,
    /// How often the lock is tried while another process holds it.
    pub lock_every: Duration,
    /// Pause after a failure.
    pub error_pause: Duration,
    /// How long a duty may take to wind up; zero gives it one turn.
    pub stop_timeout: Duration,
}

/// Who leads, and where that is decided.
#[derive(Clone, Copy, Debug)]
pub struct Post<'a> {
    /// Name of the thread.
    pub name: &'static str,
    /// The data folder.
    pub folder: &'a Path,
    /// Name of the file in it whose lock the leading process holds.
    pub lock_file: &'static str,
    /// How often it does what.
    pub pace: Pace,
}

enum Letter<M> {
    Message(M),
    Stop,
}

/// Sends messages to a leader. Cheap to clone.
pub struct Notifier<M>(Sender<Letter<M>>);

impl<M> Clone for Notifier<M> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<M> Notifier<M> {
    /// Sends a message. After the end of the leader nobody listens, and nothing happens.
    pub fn notify(&self, message: M) {
        let _ = self.0.send(Letter::Message(message));
    }
}

/// Where a leader's messages wait. It has no bound: the duty bounds what it has under way.
pub struct Inbox<M>(Receiver<Letter<M>>);

/// An inbox, and what sends to it.
pub fn inbox<M>() -> (Notifier<M>, Inbox<M>) {
    let (sender, receiver) = channel();
    (Notifier(sender), Inbox(receiver))
}

/// A running leader, or one that waits to lead. Dropping it has it stop, and waits for that within a bound.
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
    /// The thread or the lock's file cannot be had.
    pub fn start<D: Duty<Message = M>>(
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
        let _ = self.notifier.0.send(Letter::Stop);
        self.worker.join_within(self.longest_stop);
    }
}

struct Leading<D: Duty> {
    duty: D,
    inbox: Receiver<Letter<D::Message>>,
    name: &'static str,
    pace: Pace,
    /// Until when the duty may wind up, once it is to.
    stop_by: Option<Instant>,
}

impl<D: Duty> Leading<D> {
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
            self.hear(self.duty.next_in().map_or(tick, |next| next.min(tick)));
        }
    }

    /// Waits until this process leads; `false`: it was told to stop before.
    fn wait_to_lead(&mut self, lock: &File, lock_file: &str, pulse: &Pulse) -> bool {
        let worker = self.name;
        let mut is_said = false;
        while let Err(error) = lock.try_lock() {
            pulse.turn();
            match error {
                TryLockError::WouldBlock if !is_said => {
                    tracing::info!(worker, "another process does this; waiting for its end");
                }
                TryLockError::Error(error) if !is_said => {
                    tracing::error!(worker, %error, lock_file, "nothing is done without the lock");
                }
                _ => {}
            }
            is_said = true;
            self.hear(self.pace.lock_every);
            if self.stop_by.is_some() {
                return false;
            }
        }
        true
    }

    /// Takes over; `false`: it was told to stop before it could.
    fn begin(&mut self, pulse: &Pulse) -> bool {
        while let Err(error) = self.duty.begin() {
            pulse.turn();
            tracing::error!(worker = self.name, %error, "cannot begin yet");
            self.hear(self.pace.error_pause);
            if self.stop_by.is_some() {
                return false;
            }
        }
        true
    }

    fn pause_after(&self, outcome: Result<(), D::Error>) {
        if let Err(error) = outcome {
            tracing::error!(worker = self.name, %error, "waiting to try again");
            std::thread::sleep(self.pace.error_pause);
        }
    }

    /// Waits for a message, takes all there are.
    fn hear(&mut self, longest: Duration) {
        match self.inbox.recv_timeout(longest) {
            Ok(letter) => self.open(letter),
            Err(RecvTimeoutError::Timeout) => {}
            // Whoever could tell it to stop is gone.
            Err(RecvTimeoutError::Disconnected) => self.open(Letter::Stop),
        }
        while let Ok(letter) = self.inbox.try_recv() {
            self.open(letter);
        }
    }

    fn open(&mut self, letter: Letter<D::Message>) {
        match letter {
            Letter::Message(message) => self.duty.take(message),
            Letter::Stop => {
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

    /// Adds up messages in its turns; fails to begin and to turn once each.
    #[derive(Default)]
    struct Adding {
        total: Arc<AtomicUsize>,
        taken: usize,
        failures: usize,
        stops: usize,
    }

    impl Duty for Adding {
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
    fn one_leads_at_a_time_and_the_next_takes_over_with_what_it_was_told() {
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
            "what waited is done at the end"
        );
        assert!(becomes(&second_total, 10));
        let stopping = Instant::now();
        drop(second);
        assert!(stopping.elapsed() < PACE.stop_timeout);
    }
}
