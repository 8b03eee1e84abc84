//! Runs the threads that read fetched pages and ingest their adverts, for `work`.
//!
//! The threads have a low priority, so that searches and other work that a client waits for come first. They are
//! separate from the runtime's blocking threads, whose priority must stay normal.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use parking_lot::Mutex;
use tokio::sync::oneshot;

use toise_base::supervise::{Pulse, Supervisor, Worker};
use toise_engine::priority;

/// Number of threads, regardless of the number of cores: most of their time is spent waiting for the disk.
const READERS: usize = 4;

/// One page to read; not to be confused with the durable jobs of the queue.
type ReaderJob = Box<dyn FnOnce() + Send>;

/// Handle of the reader threads. They end after the last handle is dropped and all queued pages are read. Cheap to
/// clone.
#[derive(Clone, Debug)]
pub struct ReaderPool {
    // Fields are dropped in this order. Dropping the workers allows the threads to end, and dropping the sender makes
    // them end. In the other order, the supervisor could mistake their end for a failure.
    _workers: Arc<[Worker]>,
    queue: Sender<ReaderJob>,
}

impl ReaderPool {
    /// Starts the threads.
    ///
    /// # Errors
    /// The system cannot start a thread.
    pub fn start(supervisor: &Supervisor) -> std::io::Result<Self> {
        let (queue, queued) = channel();
        let queued = Arc::new(Mutex::new(queued));
        let workers = (0..READERS).map(|number| {
            let queued = Arc::clone(&queued);
            supervisor.spawn(format!("page-reader-{number}"), move |pulse| {
                read_pages(pulse, &queued);
            })
        });
        Ok(Self {
            _workers: workers.collect::<std::io::Result<_>>()?,
            queue,
        })
    }

    /// Runs a blocking function on one of the threads, in the order of calls; `None` if it panicked. It runs even if
    /// the returned future is dropped. The queue needs no limit: there are never more pages than running jobs, whose
    /// number is limited.
    pub async fn run<T: Send + 'static>(
        &self,
        reading: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        let (result_sender, result) = oneshot::channel();
        let reading = move || {
            // The caller may no longer be waiting, so a send error is ignored.
            let _ = result_sender.send(reading());
        };
        // Cannot fail: the threads, and with them the receiver, live as long as this sender.
        let _ = self.queue.send(Box::new(reading));
        result.await.ok()
    }
}

/// Reads pages until all senders are dropped. An idle thread holds the lock while it waits for a page; the other idle
/// threads wait for the lock.
fn read_pages(pulse: &Pulse, queued: &Mutex<Receiver<ReaderJob>>) {
    priority::lower();
    loop {
        let next = pulse.wait(|| pulse.recv(&queued.lock()));
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
