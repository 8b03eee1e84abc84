//! The threads that read pages and ingest adverts. They yield to searches and other work that a client waits for.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use parking_lot::Mutex;
use tokio::sync::oneshot;

use toise_base::supervise::{Pulse, Supervisor, Worker};
use toise_engine::priority;

/// Number of threads: most of their time is spent waiting for the disk.
const READERS: usize = 4;

type ReaderJob = Box<dyn FnOnce() + Send>;

/// Handle of the threads, which end when the last handle is dropped. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ReaderPool {
    // Before the sender, so that the end of the threads is asked for before it comes.
    _workers: Arc<[Worker]>,
    hand_in: Sender<ReaderJob>,
}

impl ReaderPool {
    /// Starts the threads.
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
        // The threads stay as long as this does.
        let _ = self.hand_in.send(Box::new(reading));
        told.await.ok()
    }
}

fn read_all(pulse: &Pulse, waiting: &Mutex<Receiver<ReaderJob>>) {
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
        let readers = ReaderPool::start(&Supervisor::default()).unwrap();
        for _ in 0..2 * READERS {
            let panicked: Option<()> = readers.run(|| panic!("an unreadable page")).await;
            assert_eq!(panicked, None);
        }
        assert_eq!(readers.run(|| 7).await, Some(7));
    }
}
