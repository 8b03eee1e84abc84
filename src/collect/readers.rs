//! The few threads that read pages and take adverts in. They give way to searches and whoever else waits for an answer.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use tokio::sync::oneshot;

use toise_engine::priority;

/// Pages read at once: most of that time goes by waiting for the disk.
const READERS: usize = 4;

type Reading = Box<dyn FnOnce() + Send>;

/// The threads; they end when the last of these is dropped. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Readers(Sender<Reading>);

impl Readers {
    /// Starts them.
    ///
    /// # Errors
    /// A thread that cannot be had.
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

    /// Does something that blocks on one of them; `None` when it panicked.
    pub async fn run<T: Send + 'static>(
        &self,
        reading: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        let (tell, told) = oneshot::channel();
        let reading = move || {
            // Whoever does not listen any more has stopped.
            let _ = tell.send(reading());
        };
        // The threads stay as long as this does.
        let _ = self.0.send(Box::new(reading));
        told.await.ok()
    }
}

fn read_all(waiting: &Mutex<Receiver<Reading>>) {
    priority::lower();
    loop {
        // Whoever panicked here took a reading or left it.
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
    async fn a_reading_that_panics_takes_no_thread_with_it() {
        let readers = Readers::start().unwrap();
        for _ in 0..2 * READERS {
            let panicked: Option<()> = readers.run(|| panic!("an unreadable page")).await;
            assert_eq!(panicked, None);
        }
        assert_eq!(readers.run(|| 7).await, Some(7));
    }
}
