//! The pool of query threads: separate from the reactor, with bounded queues and a separate lane for heavy clients.
//!
//! A query over HTTP runs here from start to end; its parallel iterators stay on the same threads. If every slot is
//! taken, the caller immediately gets an error instead of waiting in an unlimited queue. A caller that disconnects
//! before its job starts costs nothing; one that disconnects later sets the job's [`Interrupt`].
//!
//! There are two lanes, each with one thread per core, and as many for short jobs (`JobThreads`). A client that has
//! more jobs in flight than there are cores, was busy for most of the last seconds, or sends a batch, is served in the
//! heavy lane for a second. All other clients are served in the light lane, so they never queue behind it. The
//! operating system divides the cores between the two and prefers the light lane, because threads of the heavy lane
//! have a lower priority. Without light queries the heavy lane has all cores.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::{Semaphore, oneshot};
use uuid::Uuid;

use super::cancellation::Interrupt;
use super::job_threads::{Job, JobThreads};
use super::priority;

/// Half-life of a client's recorded busy time.
const BUSY_HALF_LIFE: Duration = Duration::from_secs(1);
/// Busy time from which a client counts as heavy. Continuous sequential jobs amount to 1.4 s.
const BUSY_MAX: Duration = Duration::from_millis(700);
/// How long a client stays heavy. If it switched between lanes more often, its own queries would yield to each other.
const HEAVY_FOR: Duration = Duration::from_secs(1);
/// Maximum clients recorded before idle ones are dropped.
const CLIENTS_MAX: usize = 10_000;

/// Errors of the pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PoolError {
    /// The queue is full.
    #[error("too many concurrent queries")]
    Overloaded,
    /// The job panicked; the pool continues to work.
    #[error("the query failed unexpectedly")]
    Panicked,
}

/// Amount of work in a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// One query.
    Single,
    /// Many queries at once.
    Batch,
}

/// Query threads with bounded queues. Cheap to clone.
#[derive(Clone, Debug)]
pub struct QueryPool {
    light: Arc<Lane>,
    heavy: Arc<Lane>,
    threads: usize,
    clients: Arc<Mutex<HashMap<Uuid, ClientLoad>>>,
}

#[derive(Debug)]
struct Lane {
    threads: rayon::ThreadPool,
    /// `None` if they could not be started.
    short: Option<JobThreads>,
    slots: Arc<Semaphore>,
}

impl Lane {
    fn new(
        name: &'static str,
        threads: usize,
        queue_limit: usize,
        start: fn(),
    ) -> Result<Arc<Self>, rayon::ThreadPoolBuildError> {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .start_handler(move |_| start())
            .thread_name(move |index| format!("{name}-{index}"))
            .build()?;
        Ok(Arc::new(Self {
            threads: pool,
            short: JobThreads::start(name, threads, start),
            slots: Arc::new(Semaphore::new(threads + queue_limit)),
        }))
    }

    fn spawn(&self, job: Job) {
        self.threads.spawn_fifo(job);
    }

    fn spawn_short(&self, job: Job) {
        match &self.short {
            Some(threads) => threads.spawn(job),
            None => self.spawn(job),
        }
    }
}

/// Recorded load of a client.
#[derive(Debug)]
struct ClientLoad {
    in_flight: usize,
    /// Seconds its jobs ran, halved after each half-life.
    busy_s: f64,
    /// Time at which `busy_s` was computed.
    at: Instant,
    /// When it last counted as heavy.
    heavy_since: Option<Instant>,
}

impl ClientLoad {
    fn decay(&mut self) {
        let half_lives = self.at.elapsed().as_secs_f64() / BUSY_HALF_LIFE.as_secs_f64();
        self.busy_s *= (-half_lives).exp2();
        self.at = Instant::now();
    }
}

/// A job in flight; when dropped, it updates the client's record.
struct JobTicket {
    clients: Arc<Mutex<HashMap<Uuid, ClientLoad>>>,
    client: Uuid,
    started: Option<Instant>,
}

impl Drop for JobTicket {
    fn drop(&mut self) {
        if let Some(client) = self.clients.lock().get_mut(&self.client) {
            client.in_flight = client.in_flight.saturating_sub(1);
            client.decay();
            client.busy_s += self
                .started
                .map_or(0.0, |started| started.elapsed().as_secs_f64());
        }
    }
}

impl QueryPool {
    /// Creates a pool with `threads` threads in each lane; each lane queues `queue_limit` jobs in addition to those
    /// running.
    pub fn new(threads: usize, queue_limit: usize) -> Result<Self, rayon::ThreadPoolBuildError> {
        let threads = threads.max(1);
        Ok(Self {
            light: Lane::new("query", threads, queue_limit, || {})?,
            heavy: Lane::new("crowd", threads, queue_limit, priority::lower)?,
            threads,
            clients: Arc::default(),
        })
    }

    /// Returns the number of jobs running or queued.
    pub fn depth(&self) -> usize {
        self.clients
            .lock()
            .values()
            .map(|client| client.in_flight)
            .sum()
    }

    /// Runs a job for a client; never blocks the reactor.
    pub async fn run<T: Send + 'static>(
        &self,
        client: Uuid,
        load: Load,
        job: impl FnOnce(&Interrupt) -> T + Send + 'static,
    ) -> Result<T, PoolError> {
        self.run_with(client, load, Lane::spawn, job).await
    }

    /// Like [`QueryPool::run`], for one query of at most some milliseconds without parallel iterators: these would run
    /// outside the pool.
    pub async fn run_short<T: Send + 'static>(
        &self,
        client: Uuid,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, PoolError> {
        let job = move |_: &Interrupt| job();
        self.run_with(client, Load::Single, Lane::spawn_short, job)
            .await
    }

    async fn run_with<T: Send + 'static>(
        &self,
        client: Uuid,
        load: Load,
        spawn: fn(&Lane, Job),
        job: impl FnOnce(&Interrupt) -> T + Send + 'static,
    ) -> Result<T, PoolError> {
        let (is_light, mut ticket) = self.admit(client, load);
        let lane = if is_light { &self.light } else { &self.heavy };
        let interrupt = Interrupt::default();
        let slot = Arc::clone(&lane.slots)
            .try_acquire_owned()
            .map_err(|_| PoolError::Overloaded)?;
        let _raised_when_nobody_waits = interrupt.raise_on_drop();
        let (sender, receiver) = oneshot::channel();
        let run = move || {
            if sender.is_closed() {
                return;
            }
            ticket.started = Some(Instant::now());
            // Rayon aborts the process if a spawned job unwinds, and a short job would end its thread.
            let outcome = catch_unwind(AssertUnwindSafe(|| job(&interrupt)));
            drop(slot);
            drop(ticket);
            // The caller may be gone.
            let _ = sender.send(outcome.map_err(|_| PoolError::Panicked));
        };
        spawn(lane, Box::new(run));
        receiver.await.unwrap_or(Err(PoolError::Panicked))
    }

    /// Records a client's next job. Returns whether it goes to the light lane.
    fn admit(&self, client: Uuid, load: Load) -> (bool, JobTicket) {
        let mut clients = self.clients.lock();
        if clients.len() >= CLIENTS_MAX {
            clients.retain(|_, client| client.in_flight > 0);
        }
        let known = clients.entry(client).or_insert_with(|| ClientLoad {
            in_flight: 0,
            busy_s: 0.0,
            at: Instant::now(),
            heavy_since: None,
        });
        known.decay();
        if load == Load::Batch
            || known.in_flight >= self.threads
            || known.busy_s >= BUSY_MAX.as_secs_f64()
        {
            known.heavy_since = Some(Instant::now());
        }
        let heavy_since = known.heavy_since;
        let is_heavy = heavy_since.is_some_and(|at| at.elapsed() < HEAVY_FOR);
        known.in_flight += 1;
        let ticket = JobTicket {
            clients: Arc::clone(&self.clients),
            client,
            started: None,
        };
        (!is_heavy, ticket)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[tokio::test]
    async fn a_full_queue_refuses_and_then_recovers() {
        let pool = QueryPool::new(1, 0).unwrap();
        let (client, other) = (Uuid::now_v7(), Uuid::now_v7());
        let (release, released) = mpsc::channel::<()>();
        let busy = {
            let pool = pool.clone();
            let wait = move |_: &Interrupt| released.recv().is_ok();
            tokio::spawn(async move { pool.run(client, Load::Single, wait).await })
        };
        while pool.light.slots.available_permits() > 0 {
            tokio::task::yield_now().await;
        }
        let refused = pool.run(other, Load::Single, |_| 1).await;
        assert_eq!(refused, Err(PoolError::Overloaded));
        // Short jobs share the slots of the lane.
        let refused = pool.run_short(other, || 1).await;
        assert_eq!(refused, Err(PoolError::Overloaded));
        release.send(()).unwrap();
        assert_eq!(busy.await.unwrap(), Ok(true));
        assert_eq!(pool.run(other, Load::Single, |_| 2).await, Ok(2));
        assert_eq!(pool.depth(), 0);
    }

    #[tokio::test]
    async fn a_panicking_job_leaves_the_pool_working() {
        let pool = QueryPool::new(1, 0).unwrap();
        let client = Uuid::now_v7();
        let outcome: Result<(), PoolError> = pool
            .run(client, Load::Single, |_| panic!("on purpose"))
            .await;
        assert_eq!(outcome, Err(PoolError::Panicked));
        assert_eq!(pool.run(client, Load::Single, |_| 3).await, Ok(3));
        let outcome: Result<(), PoolError> = pool.run_short(client, || panic!("on purpose")).await;
        assert_eq!(outcome, Err(PoolError::Panicked));
        assert_eq!(pool.run_short(client, || 4).await, Ok(4));
    }

    #[tokio::test]
    async fn a_heavy_client_does_not_delay_others() {
        let pool = QueryPool::new(1, 8).unwrap();
        let (greedy, modest) = (Uuid::now_v7(), Uuid::now_v7());
        let (release, released) = mpsc::channel::<()>();
        let released = Arc::new(Mutex::new(released));
        let batches: Vec<_> = (0..4)
            .map(|_| {
                let (pool, released) = (pool.clone(), Arc::clone(&released));
                let wait = move |_: &Interrupt| released.lock().recv().is_ok();
                tokio::spawn(async move { pool.run(greedy, Load::Batch, wait).await })
            })
            .collect();
        while pool.depth() < 4 {
            tokio::task::yield_now().await;
        }
        assert_eq!(pool.run(modest, Load::Single, |_| 1).await, Ok(1));
        for batch in batches {
            release.send(()).unwrap();
            assert_eq!(batch.await.unwrap(), Ok(true));
        }
    }

    #[test]
    fn a_heavy_client_stays_heavy_for_a_while() {
        let pool = QueryPool::new(2, 8).unwrap();
        let (greedy, modest) = (Uuid::now_v7(), Uuid::now_v7());
        let admit = |client| pool.admit(client, Load::Single);
        let at_once = [admit(greedy), admit(greedy), admit(greedy)];
        assert_eq!(at_once.map(|(is_light, _)| is_light), [true, true, false]);
        assert_eq!(pool.depth(), 0);
        assert!(!admit(greedy).0);
        assert!(admit(modest).0);
    }

    #[tokio::test]
    async fn a_job_without_a_caller_is_cancelled() {
        let pool = QueryPool::new(1, 8).unwrap();
        let (sender, receiver) = mpsc::channel();
        let (started, starting) = oneshot::channel();
        let wait = move |interrupt: &Interrupt| {
            let _ = started.send(());
            while !interrupt.is_raised() {
                std::thread::yield_now();
            }
            sender.send(()).unwrap();
        };
        let running = tokio::spawn({
            let pool = pool.clone();
            async move { pool.run(Uuid::now_v7(), Load::Single, wait).await }
        });
        starting.await.unwrap();
        running.abort();
        tokio::task::spawn_blocking(move || receiver.recv_timeout(Duration::from_secs(10)))
            .await
            .unwrap()
            .unwrap();
    }
}
