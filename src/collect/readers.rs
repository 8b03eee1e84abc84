//! The few threads that read pages and take adverts in. They give way to searches and whoever else waits for an answer.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use parking_lot::Mutex;
use tokio::sync::oneshot;

use toise_base::supervise::{Pulse, Supervisor, Worker};
use toise_engine::priority;

/// Pages read at once: most of that time goes by waiting for the disk.
const READERS: usize = 4;

type Reading = Box<dyn FnOnce() + Send>;

/// The threads; they end when the last of these is dropped. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Readers {
    // Before the sender, so that the end of the threads is asked for before it comes.
    _workers: Arc<[Worker]>,
    hand_in: Sender<Reading>,
}

impl Readers {
    /// Starts them.
    ///
    /// # Errors
    /// A thread that cannot be had.
    pub fn start(supervisor: &Supervisor) -> std::io::Result<Self> {
        let (hand_in, waiting) = channel();
        let waiting = Arc::new(Mutex::new(waiting));
        let workers = (0..READERS).map(|number| {
            let waiting = Arc::clone(&waiting);
            supervisor.spawn(format!("page-reader-{number}"), move |pulse| {
                read_all(pulse, &waiting);
            })
        });
        Ok(Self {
            _workers: workers.collect::<std::io::Result<_>>()?,
            hand_in,
        })
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
        let _ = self.hand_in.send(Box::new(reading));
        told.await.ok()
    }
}

fn read_all(pulse: &Pulse, waiting: &Mutex<Receiver<Reading>>) {
    priority::lower();
    loop {
        let next = pulse.recv(&waiting.lock());
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
        let readers = Readers::start(&Supervisor::default()).unwrap();
        for _ in 0..2 * READERS {
            let panicked: Option<()> = readers.run(|| panic!("an unreadable page")).await;
            assert_eq!(panicked, None);
        }
        assert_eq!(readers.run(|| 7).await, Some(7));
    }
}
