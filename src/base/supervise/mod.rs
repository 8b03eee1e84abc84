//! Supervises background threads and tasks, so that none dies silently.
//!
//! Background work is started with [`Supervisor::spawn`] or wrapped in [`Supervisor::watch`]. A panic, or an end
//! that the owner did not request, is logged with the worker's name and recorded: [`Supervisor::failed`] returns it
//! from then on and [`Supervisor::failure`] resolves. A server then stops being ready, drains and exits with an error
//! (`app::serve`). A command without a server has its own supervisor; there, the log line is enough. A supervisor is
//! passed explicitly; there is no global one.
//!
//! The owner of a worker holds its [`Worker`]. Dropping it requests the end, so it must be dropped before the value
//! that makes the job end: in a struct, the worker comes before the sender of its queue.
//!
//! A hanging worker is not a failure, because it may recover: [`Supervisor::hung`] lists the workers that have exceeded
//! the limit for their current piece of work (`heartbeat`). A server is not ready while a worker hangs.
//!
//! For tests, builds with debug assertions read `TOISE_PANIC_WORKER=<name>`: the worker of that name, or each of
//! `<name>-0`, `<name>-1` and so on, panics at its first [`Pulse::turn`] after the service became ready. A worker that
//! waits in [`Pulse::recv`] then takes such a turn without a message. `TOISE_WORK_MAX_MS` replaces the limit for a
//! piece of work of every worker. Release builds ignore both.

mod heartbeat;
mod pulse;

use std::any::Any;
use std::fmt;
use std::future::Future;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Thread;
use std::time::Duration;

use futures::FutureExt;
use parking_lot::{Condvar, Mutex};
use tokio::sync::watch;

pub use self::heartbeat::{Busy, WORK_MAX};
use self::heartbeat::{Heartbeat, Heartbeats};
pub use self::pulse::Pulse;
use crate::clock::Clock;

/// Environment variable with the name of the worker that must panic, in builds with debug assertions.
const PANIC_WORKER: &str = "TOISE_PANIC_WORKER";
/// Environment variable with the limit for a piece of work of every worker, in milliseconds, in builds with debug
/// assertions.
const WORK_MAX_MS: &str = "TOISE_WORK_MAX_MS";

/// The unexpected end of a worker.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("worker {worker} died: {reason}")]
pub struct WorkerFailure {
    /// Name of its thread or task.
    pub worker: String,
    /// The panic message, a note that it ended unexpectedly, or the reason that the worker reported.
    pub reason: String,
}

/// Starts workers and records whether one of them died. Cheap to clone; clones share their state.
#[derive(Clone)]
pub struct Supervisor {
    shared: Arc<Shared>,
}

struct Shared {
    /// The first failure; later ones are only logged.
    failure: watch::Sender<Option<WorkerFailure>>,
    is_ready: watch::Sender<bool>,
    heartbeats: Heartbeats,
    /// Name of the worker that must panic.
    panics: Option<String>,
}

impl Default for Supervisor {
    fn default() -> Self {
        Self::with_bounds(&[])
    }
}

impl fmt::Debug for Supervisor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let failed = self.failed();
        formatter.debug_tuple("Supervisor").field(&failed).finish()
    }
}

impl Supervisor {
    /// Creates a supervisor with limits for a piece of work, by name of the worker (`<name>-0`, `<name>-1` and so on
    /// included). All other workers have [`WORK_MAX`].
    pub fn with_bounds(bounds: &'static [(&'static str, Duration)]) -> Self {
        let for_tests = |name| {
            if cfg!(debug_assertions) {
                std::env::var(name).ok()
            } else {
                None
            }
        };
        let work_max_ms = for_tests(WORK_MAX_MS).and_then(|text| text.parse().ok());
        let everyone = work_max_ms.map(Duration::from_millis);
        let heartbeats = Heartbeats::new(Clock::system(), bounds, everyone);
        Self::with(heartbeats, for_tests(PANIC_WORKER))
    }

    fn with(heartbeats: Heartbeats, panics: Option<String>) -> Self {
        Self {
            shared: Arc::new(Shared {
                failure: watch::Sender::new(None),
                is_ready: watch::Sender::new(false),
                heartbeats,
                panics,
            }),
        }
    }

    /// Starts a thread with this name. Its job may end only after its owner has released or dropped the [`Worker`];
    /// any other end is a failure. Linux shows the first 15 bytes of the name.
    ///
    /// # Errors
    /// The system cannot start a thread.
    pub fn spawn(
        &self,
        name: impl Into<String>,
        job: impl FnOnce(&Pulse) + Send + 'static,
    ) -> io::Result<Worker> {
        let name = name.into();
        let heartbeat = self.shared.heartbeats.of(&name);
        self.start(name, heartbeat, Arc::default(), job)
    }

    /// Starts a thread with this name for a job that ends by itself: only a panic is a failure. It has no time limit.
    ///
    /// # Errors
    /// The system cannot start a thread.
    pub fn spawn_once(
        &self,
        name: impl Into<String>,
        job: impl FnOnce(&Pulse) + Send + 'static,
    ) -> io::Result<()> {
        let state = Arc::<WorkerState>::default();
        // Released before it starts, because it may end before an owner could release it.
        state.is_released.store(true, Ordering::Release);
        self.start(name.into(), Arc::default(), state, job)
            .map(drop)
    }

    fn start(
        &self,
        name: String,
        heartbeat: Arc<Heartbeat>,
        state: Arc<WorkerState>,
        job: impl FnOnce(&Pulse) + Send + 'static,
    ) -> io::Result<Worker> {
        let (supervisor, thread_name, own) = (self.clone(), name.clone(), Arc::clone(&state));
        let pulse = Pulse::new(self, &name, heartbeat);
        let thread = std::thread::Builder::new().name(name).spawn(move || {
            pulse.beat();
            let outcome = catch_unwind(AssertUnwindSafe(|| job(&pulse)));
            match outcome {
                Err(payload) => supervisor.record(thread_name, panic_text(&*payload)),
                Ok(()) if !own.is_released.load(Ordering::Acquire) => {
                    supervisor.record(thread_name, "it ended unexpectedly".into());
                }
                Ok(()) => {}
            }
            // Ends the heartbeat before the owner continues: an ended worker must not count as hung.
            drop(pulse);
            *own.has_ended.lock() = true;
            own.ended.notify_all();
        })?;
        Ok(Worker {
            thread: thread.thread().clone(),
            state,
        })
    }

    /// Wraps the future of a background task that runs until it is dropped; a panic or an end is a failure. The task is
    /// busy while it is polled.
    pub fn watch<F: Future>(
        &self,
        name: &'static str,
        future: F,
    ) -> impl Future<Output = ()> + use<F> {
        let supervisor = self.clone();
        let heartbeat = self.shared.heartbeats.of(name);
        let pulse = Pulse::new(self, name, Arc::clone(&heartbeat));
        async move {
            let running = AssertUnwindSafe(heartbeat.around(future)).catch_unwind();
            let panicking = AssertUnwindSafe(pulse.panic_when_ready()).catch_unwind();
            let reason = tokio::select! {
                outcome = running => match outcome {
                    Ok(_) => "it ended unexpectedly".to_owned(),
                    Err(payload) => panic_text(&*payload),
                },
                outcome = panicking => match outcome {
                    Ok(()) => return,
                    Err(payload) => panic_text(&*payload),
                },
            };
            supervisor.record(name.to_owned(), reason);
        }
    }

    /// Returns the first worker that died, if any.
    pub fn failed(&self) -> Option<WorkerFailure> {
        self.shared.failure.borrow().clone()
    }

    /// Returns the workers that exceed the limit for their current piece of work, the longest busy first.
    pub fn hung(&self) -> Vec<Busy> {
        let mut hung = self.workers();
        hung.retain(Busy::is_hung);
        hung.sort_by_key(|busy| std::cmp::Reverse(busy.passed));
        hung
    }

    /// Returns how long each worker has been busy with its current piece of work.
    pub fn workers(&self) -> Vec<Busy> {
        self.shared.heartbeats.look()
    }

    /// Returns the workers that wait for something before they can work, such as another process that does their work,
    /// and what that is.
    pub fn waits(&self) -> Vec<(String, String)> {
        self.shared.heartbeats.waits()
    }

    /// Returns whether no worker has died. Costs an uncontended lock.
    pub fn is_well(&self) -> bool {
        self.shared.failure.borrow().is_none()
    }

    /// Resolves when a worker dies, or immediately if one has died.
    pub async fn failure(&self) -> WorkerFailure {
        let mut failures = self.shared.failure.subscribe();
        match failures
            .wait_for(Option::is_some)
            .await
            .map(|found| found.clone())
        {
            Ok(Some(failure)) => failure,
            // Unreachable: the sender lives as long as this supervisor.
            _ => std::future::pending().await,
        }
    }

    /// Marks the service as ready. From now on, workers may panic for tests.
    pub fn set_ready(&self) {
        self.shared.is_ready.send_replace(true);
    }

    fn record(&self, worker: String, reason: String) {
        tracing::error!(worker, reason, "a worker died");
        self.shared.failure.send_if_modified(|first| {
            let is_first = first.is_none();
            first.get_or_insert(WorkerFailure { worker, reason });
            is_first
        });
    }
}

/// Returns the message of a panic, prefixed with "it panicked".
fn panic_text(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    format!("it panicked: {}", text.unwrap_or("no message"))
}

/// State shared by a worker's thread and its owner.
#[derive(Default)]
struct WorkerState {
    /// The owner allows the worker to end.
    is_released: AtomicBool,
    has_ended: Mutex<bool>,
    ended: Condvar,
}

/// A thread started by a supervisor. Dropping this lets it end and does not wait for it.
pub struct Worker {
    thread: Thread,
    state: Arc<WorkerState>,
}

impl fmt::Debug for Worker {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.thread.name();
        formatter.debug_tuple("Worker").field(&name).finish()
    }
}

impl Worker {
    /// Allows the worker to end; its end is no longer a failure.
    pub fn release(&self) {
        self.state.is_released.store(true, Ordering::Release);
    }

    /// Unparks the job's thread.
    pub fn unpark(&self) {
        self.thread.unpark();
    }

    /// Waits for the end of a job that was asked to stop; returns whether it ended within `longest`.
    pub fn join_within(&self, longest: Duration) -> bool {
        self.release();
        let mut has_ended = self.state.has_ended.lock();
        let condition = |has_ended: &mut bool| !*has_ended;
        let waited = self
            .state
            .ended
            .wait_while_for(&mut has_ended, condition, longest);
        if waited.timed_out() {
            let worker = self.thread.name();
            tracing::warn!(
                worker,
                "a worker did not end in time; no longer waiting for it"
            );
        }
        *has_ended
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.release();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{RecvTimeoutError, channel};

    const LONG: Duration = Duration::from_secs(10);

    #[test]
    fn a_worker_that_reports_its_failure_continues() {
        let supervisor = Supervisor::default();
        let (asking, questions) = channel::<()>();
        let (answering, answers) = channel();
        let clerk = supervisor.spawn("clerk", move |pulse| {
            let waited = pulse.recv_within(&questions, Duration::ZERO);
            assert_eq!(waited, Err(RecvTimeoutError::Timeout));
            pulse.fail("the file is gone");
            while pulse.recv_within(&questions, LONG).is_ok() {
                answering.send(()).unwrap();
            }
        });
        let failed = futures::executor::block_on(supervisor.failure());
        asking.send(()).unwrap();
        answers.recv_timeout(LONG).unwrap();
        assert_eq!(
            (&*failed.worker, &*failed.reason),
            ("clerk", "the file is gone")
        );
        drop(asking);
        assert!(clerk.unwrap().join_within(LONG));
    }

    #[test]
    fn a_panic_is_recorded_with_the_name_of_the_worker() {
        let supervisor = Supervisor::default();
        assert!(supervisor.is_well());
        let worker = supervisor
            .spawn("victim", |_| panic!("no {}", "way"))
            .unwrap();
        let failure = futures::executor::block_on(supervisor.failure());
        assert_eq!(
            failure.to_string(),
            "worker victim died: it panicked: no way"
        );
        assert!(worker.join_within(LONG));
        let _other = supervisor.spawn("other", |_| panic!("too late")).unwrap();
        assert_eq!(
            supervisor.failed().unwrap().worker,
            "victim",
            "only the first is recorded"
        );
    }

    #[test]
    fn a_worker_may_end_only_after_its_owner_released_it() {
        let supervisor = Supervisor::default();
        let (sender, receiver) = channel::<()>();
        let worker = supervisor
            .spawn(
                "obedient",
                move |pulse| while pulse.recv(&receiver).is_ok() {},
            )
            .unwrap();
        worker.release();
        drop(sender);
        assert!(worker.join_within(LONG));
        assert_eq!(supervisor.failed(), None);
        let worker = supervisor.spawn("hasty", |_| ()).unwrap();
        let failure = futures::executor::block_on(supervisor.failure());
        assert_eq!(failure.worker, "hasty");
        drop(worker);
    }

    #[test]
    fn a_job_of_its_own_end_fails_only_by_a_panic() {
        let supervisor = Supervisor::default();
        let (sender, ended) = channel::<()>();
        for _ in 0..500 {
            let sender = sender.clone();
            let job = move |_: &Pulse| {
                let _ = sender.send(());
            };
            supervisor.spawn_once("short", job).unwrap();
        }
        assert_eq!(ended.iter().take(500).count(), 500);
        std::thread::sleep(Duration::from_millis(50));
        assert_eq!(supervisor.failed(), None);
        supervisor.spawn_once("victim", |_| panic!("no")).unwrap();
        let failure = futures::executor::block_on(supervisor.failure());
        assert_eq!(failure.worker, "victim");
    }

    #[test]
    fn the_wait_for_a_worker_that_does_not_end_is_limited() {
        let supervisor = Supervisor::default();
        let (end, ended) = channel::<()>();
        let worker = supervisor
            .spawn("slow", move |_| assert!(ended.recv().is_ok()))
            .unwrap();
        assert!(!worker.join_within(Duration::from_millis(10)));
        end.send(()).unwrap();
        assert!(worker.join_within(LONG));
        assert!(supervisor.is_well());
    }

    #[test]
    fn a_task_that_panics_or_ends_is_recorded() {
        for (text, panics) in [
            ("it panicked: lost", true),
            ("it ended unexpectedly", false),
        ] {
            let supervisor = Supervisor::default();
            let task = supervisor.watch("task", async move { assert!(!panics, "lost") });
            futures::executor::block_on(task);
            assert!(supervisor.failed().unwrap().reason.contains(text));
        }
    }

    #[test]
    fn a_worker_configured_to_panic_does_so_once_the_service_is_ready() {
        let heartbeats = Heartbeats::new(Clock::system(), &[], None);
        let supervisor = Supervisor::with(heartbeats, Some("group".into()));
        let ((spare, spared), (sender, receiver)) = (channel::<()>(), channel::<()>());
        let _spared = supervisor.spawn("groups", move |pulse| while pulse.recv(&spared).is_ok() {});
        let _worker = supervisor.spawn(
            "group-1",
            move |pulse| while pulse.recv(&receiver).is_ok() {},
        );
        std::thread::sleep(Duration::from_millis(60));
        assert!(supervisor.is_well());
        supervisor.set_ready();
        let failure = futures::executor::block_on(supervisor.failure());
        assert_eq!(failure.worker, "group-1");
        drop((spare, sender));
    }
}
