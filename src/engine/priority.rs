//! Low-priority threads, for heavy clients and for background work.
//!
//! The system shares the cores between all threads, and a normal thread gets seven times as much of a contested core as
//! a low-priority one. If the system does not permit lower priorities, threads share evenly.

use std::panic::resume_unwind;
use std::thread;

use thread_priority::{ThreadPriority, ThreadPriorityValue, set_current_thread_priority};

/// Priority of a low-priority thread, from 0 to 99; normal threads have 50. Corresponds to a niceness of 9 on Linux.
const LOWERED: u8 = 25;

/// Lowers the priority of the current thread permanently.
pub fn lower() {
    let set = ThreadPriorityValue::try_from(LOWERED)
        .map_err(|error| error.to_string())
        .and_then(|value| {
            set_current_thread_priority(ThreadPriority::Crossplatform(value))
                .map_err(|error| format!("{error:?}"))
        });
    if let Err(error) = set {
        tracing::debug!(error, "cannot lower the priority of a thread");
    }
}

/// Runs a function that starts threads, which on Linux inherit the low priority of the thread that starts them. Blocks
/// the current thread, whose priority does not change.
pub fn with_lowered_priority<T: Send>(make: impl FnOnce() -> T + Send) -> T {
    let made = thread::scope(|scope| {
        let making = scope.spawn(|| {
            lower();
            make()
        });
        making.join()
    });
    made.unwrap_or_else(|panic| resume_unwind(panic))
}
