//! A worker's handle to its supervisor: it records turns and waits, and can report a failure.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvError, RecvTimeoutError};
use std::time::Duration;

use super::heartbeat::Heartbeat;
use super::{PANIC_WORKER, Supervisor};

/// How often a waiting worker checks whether it must panic, if one is configured to.
const PANIC_LOOK_EVERY: Duration = Duration::from_millis(20);

/// Handle that a worker calls at each of its turns and for its waits. A worker that neither waits here nor begins
/// another turn is eventually reported as hung. Tests can make it panic here.
pub struct Pulse {
    supervisor: Supervisor,
    worker: String,
    heartbeat: Arc<Heartbeat>,
    panics: bool,
}

impl Pulse {
    pub(super) fn new(supervisor: &Supervisor, name: &str, heartbeat: Arc<Heartbeat>) -> Self {
        let wanted = supervisor.shared.panics.as_deref();
        Self {
            supervisor: supervisor.clone(),
            worker: name.to_owned(),
            heartbeat,
            panics: wanted.is_some_and(|wanted| is_named(name, wanted)),
        }
    }

    /// Records the worker as failed although it continues, so that callers learn why it no longer serves them.
    pub fn fail(&self, reason: &str) {
        self.supervisor
            .record(self.worker.clone(), reason.to_owned());
    }

    /// Marks the beginning of a turn.
    #[inline]
    pub fn turn(&self) {
        self.beat();
        if cfg!(debug_assertions) && self.panics && *self.supervisor.shared.is_ready.borrow() {
            panic_for_a_test();
        }
    }

    /// Marks the beginning of a piece of work.
    pub(super) fn beat(&self) {
        self.heartbeat.beat();
    }

    /// Sets what the worker waits for before it can do its work at all, in words for operators; `None` once it can.
    pub fn set_waits_for(&self, what: Option<String>) {
        self.heartbeat.set_waits_for(what);
    }

    /// Waits for work, for any length of time. A piece of work begins afterwards.
    pub fn wait<T>(&self, waiting: impl FnOnce() -> T) -> T {
        self.heartbeat.rest();
        let waited = waiting();
        self.beat();
        waited
    }

    /// Parks the thread until it is unparked, for at most `longest`.
    pub fn park_within(&self, longest: Duration) {
        self.wait(|| std::thread::park_timeout(longest));
    }

    /// Waits for a message. A piece of work begins when it arrives.
    ///
    /// # Errors
    /// All senders are dropped.
    pub fn recv<T>(&self, messages: &Receiver<T>) -> Result<T, RecvError> {
        if !(cfg!(debug_assertions) && self.panics) {
            return self.wait(|| messages.recv());
        }
        loop {
            match self.recv_within(messages, PANIC_LOOK_EVERY) {
                Ok(message) => return Ok(message),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(RecvError),
            }
        }
    }

    /// Like [`Pulse::recv`], but waits at most `longest`. A turn begins afterwards.
    ///
    /// # Errors
    /// No message arrived, or all senders are dropped.
    pub fn recv_within<T>(
        &self,
        messages: &Receiver<T>,
        longest: Duration,
    ) -> Result<T, RecvTimeoutError> {
        let is_named = cfg!(debug_assertions) && self.panics;
        let longest = if is_named { PANIC_LOOK_EVERY } else { longest };
        let received = self.wait(|| messages.recv_timeout(longest));
        self.turn();
        received
    }

    /// Panics once the service is ready, if this worker must; otherwise never resolves.
    pub(super) async fn panic_when_ready(self) {
        if !(cfg!(debug_assertions) && self.panics) {
            std::future::pending::<()>().await;
        }
        let mut is_ready = self.supervisor.shared.is_ready.subscribe();
        // The sender lives as long as the pulse.
        let _ = is_ready.wait_for(|is_ready| *is_ready).await;
        panic_for_a_test();
    }
}

/// Returns whether a worker has the wanted name, or is a member of the numbered group of that name.
pub(super) fn is_named(name: &str, wanted: &str) -> bool {
    let rest = name.strip_prefix(wanted);
    let number = rest.and_then(|rest| rest.strip_prefix('-'));
    rest == Some("")
        || number.is_some_and(|number| {
            !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
        })
}

#[expect(clippy::panic, reason = "tests request the panic")]
fn panic_for_a_test() {
    panic!("{PANIC_WORKER} names this worker");
}
