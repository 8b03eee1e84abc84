//! Threads that give way: those of who asks much, and those that do what can wait.
//!
//! The system shares the cores between all threads, and gives ordinary ones seven times as much of a core both want.
//! Where it does not allow that, they share evenly.

use std::panic::resume_unwind;
use std::thread;

use thread_priority::{ThreadPriority, ThreadPriorityValue, set_current_thread_priority};

/// Priority of a thread that gives way, from 0 to 99; ordinary threads have 50. A niceness of 9 on Linux.
const LOWERED: u8 = 25;

/// Has the current thread give way to ordinary ones for good.
pub fn lower() {
    let set = ThreadPriorityValue::try_from(LOWERED)
        .map_err(|error| error.to_string())
        .and_then(|value| {
            set_current_thread_priority(ThreadPriority::Crossplatform(value))
                .map_err(|error| format!("{error:?}"))
        });
    if let Err(error) = set {
        tracing::debug!(
            error,
            "threads that should give way keep the usual priority"
        );
    }
}

/// Does something that starts threads, which on Linux give way as their maker does. The current thread waits for it,
/// and stays as it is.
pub fn lowered<T: Send>(make: impl FnOnce() -> T + Send) -> T {
    let made = thread::scope(|scope| {
        let making = scope.spawn(|| {
            lower();
            make()
        });
        making.join()
    });
    made.unwrap_or_else(|panic| resume_unwind(panic))
}
