//! Measures how long each worker has been busy with its current piece of work.
//!
//! A worker is idle while it waits for work in one of the wait methods of its [`Pulse`](super::Pulse), however long
//! that takes, and busy otherwise. Each turn and each message is a new piece of work. Recording it costs one clock read
//! and one write to memory. A worker that is busy with one piece for longer than its limit hangs: a system call does
//! not return, or a lock is never released.

use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;

use super::pulse::is_named;
use crate::clock::Clock;

/// Longest piece of work of a worker without its own limit: a commit, a sync, a turn of deliveries or of collecting.
/// These take milliseconds, or seconds on a busy disk.
pub const WORK_MAX: Duration = Duration::from_secs(30);
/// Stored instead of a start time while the worker is idle.
const IDLE: u64 = u64::MAX;

/// A worker and the time it has spent on its current piece of work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Busy {
    /// Name of its thread or task.
    pub worker: String,
    /// Time since the piece of work began; zero while the worker is idle.
    pub passed: Duration,
    /// Maximum time for a piece of work.
    pub work_max: Duration,
}

impl Busy {
    /// Returns whether the piece of work exceeds its limit.
    pub fn is_hung(&self) -> bool {
        self.passed > self.work_max
    }
}

/// Record of when a worker's current piece of work began.
#[derive(Debug, Default)]
pub(super) struct Heartbeat {
    clock: Clock,
    worker: String,
    work_max: Duration,
    /// Start of the current piece of work, in milliseconds of the clock's monotonic time; [`IDLE`] if there is none.
    since_ms: AtomicU64,
    /// Description of another process or resource that the worker must wait for before it can work.
    waits_for: Mutex<Option<String>>,
}

impl Heartbeat {
    /// Sets what the worker waits for before it can work.
    pub(super) fn set_waits_for(&self, what: Option<String>) {
        *self.waits_for.lock() = what;
    }

    /// Records that a piece of work begins.
    pub(super) fn beat(&self) {
        self.since_ms.store(self.now_ms(), Ordering::Release);
    }

    /// Records that the worker waits for work.
    pub(super) fn rest(&self) {
        self.since_ms.store(IDLE, Ordering::Release);
    }

    /// Runs a future and records the worker as busy while it is polled.
    pub(super) async fn around<F: Future>(self: Arc<Self>, future: F) -> F::Output {
        let mut future = pin!(future);
        std::future::poll_fn(|context| {
            self.beat();
            let polled = future.as_mut().poll(context);
            self.rest();
            polled
        })
        .await
    }

    fn now_ms(&self) -> u64 {
        // Never equal to `IDLE`: milliseconds since the start of the process.
        self.clock.monotonic().as_millis() as u64
    }

    fn look(&self) -> Busy {
        let passed_ms = match self.since_ms.load(Ordering::Acquire) {
            IDLE => 0,
            since_ms => self.now_ms().saturating_sub(since_ms),
        };
        Busy {
            worker: self.worker.clone(),
            passed: Duration::from_millis(passed_ms),
            work_max: self.work_max,
        }
    }
}

/// The heartbeats of all workers.
pub(super) struct Heartbeats {
    clock: Clock,
    bounds: &'static [(&'static str, Duration)],
    /// Replaces all limits if set.
    everyone: Option<Duration>,
    /// Those of ended workers can no longer be upgraded.
    all: Mutex<Vec<Weak<Heartbeat>>>,
}

impl Heartbeats {
    /// Starts without workers. The limit of a worker is `everyone` if set, otherwise the one of its name, otherwise
    /// [`WORK_MAX`].
    pub(super) fn new(
        clock: Clock,
        bounds: &'static [(&'static str, Duration)],
        everyone: Option<Duration>,
    ) -> Self {
        Self {
            clock,
            bounds,
            everyone,
            all: Mutex::default(),
        }
    }

    /// Registers a heartbeat for a new worker; it starts idle.
    pub(super) fn of(&self, worker: &str) -> Arc<Heartbeat> {
        let mut bounds = self.bounds.iter();
        let own = bounds.find(|(name, _)| is_named(worker, name));
        let own = own.map_or(WORK_MAX, |(_, bound)| *bound);
        let heartbeat = Arc::new(Heartbeat {
            clock: self.clock.clone(),
            worker: worker.to_owned(),
            work_max: self.everyone.unwrap_or(own),
            since_ms: AtomicU64::new(IDLE),
            waits_for: Mutex::default(),
        });
        let mut all = self.all.lock();
        all.retain(|heartbeat| heartbeat.strong_count() > 0);
        all.push(Arc::downgrade(&heartbeat));
        heartbeat
    }

    /// Returns the workers that wait for something before they can work, and what that is.
    pub(super) fn waits(&self) -> Vec<(String, String)> {
        let all = self.all.lock();
        let living = all.iter().filter_map(Weak::upgrade);
        let waits = living.filter_map(|heartbeat| {
            let what = heartbeat.waits_for.lock().clone()?;
            Some((heartbeat.worker.clone(), what))
        });
        waits.collect()
    }

    /// Returns the state of all workers that have not ended.
    pub(super) fn look(&self) -> Vec<Busy> {
        let all = self.all.lock();
        let living = all.iter().filter_map(Weak::upgrade);
        living.map(|heartbeat| heartbeat.look()).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use chrono::Utc;

    use super::super::Supervisor;
    use super::*;

    #[test]
    fn a_task_that_blocks_hangs_and_one_that_waits_does_not() {
        let clock = Clock::steered(Utc::now());
        let heartbeats = Heartbeats::new(clock.clone(), &[], None);
        let is_hung = || heartbeats.look().iter().any(Busy::is_hung);
        let past = || clock.advance_ms(WORK_MAX.as_millis() as i64 + 1);
        let (sender, waiting) = futures::channel::oneshot::channel();
        let task = heartbeats.of("task").around(async {
            past();
            assert!(is_hung());
            waiting.await.unwrap();
        });
        let mut task = Box::pin(task);
        assert!(futures::FutureExt::now_or_never(task.as_mut()).is_none());
        past();
        assert!(!is_hung());
        sender.send(()).unwrap();
        futures::executor::block_on(task);
    }

    #[test]
    fn a_worker_that_hangs_is_named_until_it_comes_back_and_waiting_is_no_hang() {
        const BOUNDS: &[(&str, Duration)] = &[("patient", Duration::from_secs(3_600))];
        let clock = Clock::steered(Utc::now());
        let supervisor = Supervisor::with(Heartbeats::new(clock.clone(), BOUNDS, None), None);
        let named = || {
            let hung = supervisor.hung().into_iter();
            hung.map(|busy| busy.worker).collect::<Vec<_>>()
        };
        // Each worker receives a message, confirms it, and hangs until it is freed.
        let start = |name: &str| {
            let ((work, works), (free, freed)) = (channel::<()>(), channel::<()>());
            let (sender, messages) = channel();
            let worker = supervisor.spawn(name, move |pulse| {
                while pulse.recv(&works).is_ok() {
                    sender.send(()).unwrap();
                    freed.recv().unwrap();
                }
                sender.send(()).unwrap();
            });
            (worker.unwrap(), work, free, messages)
        };
        let (hasty, to_hasty, free_hasty, hasty_messages) = start("hasty");
        let (patient, to_patient, free_patient, patient_messages) = start("patient-0");
        let past = |duration: Duration| clock.advance_ms(duration.as_millis() as i64 + 1);
        to_hasty.send(()).unwrap();
        hasty_messages.recv().unwrap();
        past(WORK_MAX / 2);
        to_patient.send(()).unwrap();
        patient_messages.recv().unwrap();
        assert_eq!(named(), [""; 0]);
        past(WORK_MAX);
        assert_eq!(named(), ["hasty"]);
        past(BOUNDS[0].1);
        assert_eq!(named(), ["hasty", "patient-0"]);

        // The next piece of work is timed from zero again.
        free_hasty.send(()).unwrap();
        to_hasty.send(()).unwrap();
        hasty_messages.recv().unwrap();
        assert_eq!(named(), ["patient-0"]);
        free_patient.send(()).unwrap();
        free_hasty.send(()).unwrap();
        for (worker, to, messages) in [
            (hasty, to_hasty, hasty_messages),
            (patient, to_patient, patient_messages),
        ] {
            worker.release();
            drop(to);
            messages.recv().unwrap();
            assert!(worker.join_within(WORK_MAX));
        }
        past(BOUNDS[0].1);
        assert_eq!(named(), [""; 0], "those that ended are forgotten");
    }
}
