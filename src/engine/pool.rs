//! The pool that queries compute on, apart from the reactor and with a bounded queue.
//!
//! A question asked over HTTP runs here from start to end; parallel iterators inside it stay on the same threads.
//! When every slot is taken the caller is told at once rather than queued without limit. A caller that goes away
//! before its turn costs nothing: its job is dropped unrun.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use tokio::sync::{Semaphore, oneshot};

/// Why a job gave no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PoolError {
    /// As many jobs run and wait as the pool admits.
    #[error("too many questions at once")]
    Overloaded,
    /// The job panicked; the pool goes on.
    #[error("the question failed unexpectedly")]
    Panicked,
}

/// Threads for queries and a bounded queue before them. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Pool {
    threads: Arc<rayon::ThreadPool>,
    slots: Arc<Semaphore>,
}

impl Pool {
    /// A pool of `threads` threads that admits `queue_limit` jobs beyond those running.
    pub fn new(threads: usize, queue_limit: usize) -> Result<Self, rayon::ThreadPoolBuildError> {
        let threads = threads.max(1);
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .thread_name(|index| format!("query-{index}"))
            .build()?;
        Ok(Self {
            threads: Arc::new(pool),
            slots: Arc::new(Semaphore::new(threads + queue_limit)),
        })
    }

    /// Runs a job on the pool; never blocks the reactor.
    pub async fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, PoolError> {
        let slot = Arc::clone(&self.slots)
            .try_acquire_owned()
            .map_err(|_| PoolError::Overloaded)?;
        let (sender, receiver) = oneshot::channel();
        self.threads.spawn(move || {
            if sender.is_closed() {
                return;
            }
            // Rayon aborts the process when a spawned job unwinds.
            let outcome = catch_unwind(AssertUnwindSafe(job)).map_err(|_| PoolError::Panicked);
            drop(slot);
            // A caller that left while the job ran no longer wants the result.
            let _ = sender.send(outcome);
        });
        receiver.await.unwrap_or(Err(PoolError::Panicked))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[tokio::test]
    async fn a_full_queue_refuses_and_then_recovers() {
        let pool = Pool::new(1, 0).unwrap();
        let (release, released) = mpsc::channel::<()>();
        let busy = {
            let pool = pool.clone();
            tokio::spawn(async move { pool.run(move || released.recv().is_ok()).await })
        };
        while pool.slots.available_permits() > 0 {
            tokio::task::yield_now().await;
        }
        assert_eq!(pool.run(|| 1).await, Err(PoolError::Overloaded));
        release.send(()).unwrap();
        assert_eq!(busy.await.unwrap(), Ok(true));
        assert_eq!(pool.run(|| 2).await, Ok(2));
    }

    #[tokio::test]
    async fn a_panicking_job_leaves_the_pool_working() {
        let pool = Pool::new(1, 0).unwrap();
        let outcome: Result<(), PoolError> = pool.run(|| panic!("on purpose")).await;
        assert_eq!(outcome, Err(PoolError::Panicked));
        assert_eq!(pool.run(|| 3).await, Ok(3));
    }
}
