//! The threads that read pages and ingest adverts. They yield to searches and other work that a client waits for.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use tokio::sync::oneshot;

use toise_engine::priority;

/// Number of threads: most of their time is spent waiting for the disk.
const READERS: usize = 4;

type Reading = Box<dyn FnOnce() + Send>;

/// Handle of the threads, which end when the last handle is dropped. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Readers(Sender<Reading>);

impl Readers {
    /// Starts the threads.
    ///
    /// # Errors
    /// A thread cannot be started.
    pub fn start() -> std::io::Result<Self> {
        let (hand_in, waiting) = channel();
        let waiting = Arc::new(Mutex::new(waiting));
        for number in 0..READERS {
            let waiting = Arc::clone(&waiting);
            thread::Builder::new()
                .name(format!("collector-{number}"))
                .spawn(move || read_all(&waiting))?;
        }
        Ok(Self(hand_in))
    }

    /// Runs a blocking function on one of the threads; `None` if it panicked.
    pub async fn run<T: Send + 'static>(
        &self,
        reading: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        let (tell, told) = oneshot::channel();
        let reading = move || {
            // The caller may have gone away, so a send error is ignored.
            let _ = tell.send(reading());
        };
        // The threads exist as long as this handle.
        let _ = self.0.send(Box::new(reading));
        told.await.ok()
    }
}

fn read_all(waiting: &Mutex<Receiver<Reading>>) {
    priority::lower();
    loop {
        // A thread that panicked here has either taken a task or left it in place.
        let next = waiting
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .recv();
        let Ok(reading) = next else { return };
        if catch_unwind(AssertUnwindSafe(reading)).is_err() {
            tracing::error!("reading a page panicked");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_while_reading_does_not_end_a_thread() {
        let readers = Readers::start().unwrap();
        for _ in 0..2 * READERS {
            let panicked: Option<()> = readers.run(|| panic!("an unreadable page")).await;
            assert_eq!(panicked, None);
        }
        assert_eq!(readers.run(|| 7).await, Some(7));
    }
}
