//! Runs jobs on a thread: starts those that may start, stores their outcomes, and notifies waiting calls.
//!
//! One process per data folder collects at a time: the one that holds the lease `collector` ([`toise_store::lease`]).
//! It takes over all unfinished jobs. Each turn writes at most one transaction: the outcomes of the jobs that ended and
//! the jobs that start. Fetches run on the service's runtime and report back, even if they panic.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use tokio::runtime::Handle;

use super::jobs::{self, AttemptOutcome, Job};
use super::queue::{JobQueue, Politeness};
use super::waiters::{JobWaiters, Postponed};
use super::work::{CompletedAttempt, PAGES_FOLDER, PageWorker, wait_until};
use toise_base::clock::{Clock, ClockJumps};
use toise_base::supervise::Supervisor;
use toise_net::fetch::{PAGE_TIMEOUT, RedirectTrail};
use toise_store::leader::{Inbox, Leader, LeaderTask, Notifier, Pace, Post, Stop};
use toise_store::lease::Lease;
use toise_store::{self as store, Store};
use toise_telemetry::{Gauge, Metric, Metrics};

/// Name of the lease that the collecting process holds, and of its thread.
const NAME: &str = "collector";
/// Each tick looks for jobs that other processes created. Stopping does not wait for running jobs; they are resumed at
/// the next start.
const PACE: Pace = Pace {
    tick: Duration::from_millis(100),
    lead_every: Duration::from_secs(1),
    error_pause: Duration::from_secs(1),
    stop_timeout: Duration::ZERO,
};
/// Maximum number of jobs read in one turn.
const READ_MAX: usize = 5_000;
/// Maximum number of jobs started in one turn.
const BEGIN_MAX: usize = 256;
/// Maximum duration of a job: fetching and reading its page.
const LEASE: Duration = Duration::from_secs(PAGE_TIMEOUT.as_secs() + 30);
/// Interval of upkeep, which deletes old jobs and pages.
const UPKEEP_EVERY: Duration = Duration::from_secs(3_600);

/// Dependencies and settings of a runner.
pub struct RunnerContext {
    /// The data folder.
    pub data: PathBuf,
    /// The store in the data folder.
    pub store: Store,
    /// The clock.
    pub clock: Clock,
    /// Runs jobs.
    pub worker: PageWorker,
    /// Politeness limits.
    pub politeness: Politeness,
    /// Calls that wait for jobs.
    pub waiting: JobWaiters,
    /// Retention of pages, if they are stored.
    pub pages_kept_for: Duration,
    /// Metrics of the service.
    pub metrics: Metrics,
}

pub(super) enum RunnerMessage {
    /// This process created a job.
    Added,
    /// An attempt ended. It began under the lease with this fencing number.
    Done(i64, Box<(Job, CompletedAttempt)>),
}

/// Starts collecting on its own thread, with a runtime for the fetches; `inbox` wakes it. Dropping the leader stops the
/// thread; running jobs are resumed at the next start.
///
/// # Errors
/// The thread cannot be started, or the file of locks cannot be opened.
pub(super) fn start(
    supervisor: &Supervisor,
    setup: RunnerContext,
    runtime: Handle,
    (notifier, inbox): (Notifier<RunnerMessage>, Inbox<RunnerMessage>),
) -> std::io::Result<Leader> {
    register_gauges(&setup);
    let store = setup.store.clone();
    let post = Post {
        name: NAME,
        store: &store,
        pace: PACE,
    };
    let running = RunnerLoop {
        queue: JobQueue::new(setup.politeness),
        jumps: ClockJumps::watch(setup.clock.clone()),
        setup,
        runtime,
        back: notifier.clone(),
        fence: None,
        read_through: 0,
        unsaved: Vec::new(),
        upkeep_at: Duration::ZERO,
    };
    Leader::start(supervisor, post, (notifier, inbox), running)
}

const WAITING_JOBS: Metric<Gauge> = Metric::gauge(
    "toise_collection_jobs",
    "Collection jobs that have not ended.",
);

fn register_gauges(setup: &RunnerContext) {
    let store = setup.store.clone();
    setup.metrics.register_gauges(move |gauges| {
        if let Ok(waiting) = store.read(jobs::waiting) {
            gauges.set(WAITING_JOBS, &[], waiting as f64);
        }
    });
}

struct RunnerLoop {
    setup: RunnerContext,
    runtime: Handle,
    back: Notifier<RunnerMessage>,
    /// Fencing number of the lease; `None` while another process collects.
    fence: Option<i64>,
    jumps: ClockJumps,
    queue: JobQueue,
    /// Row number of the last job read.
    read_through: i64,
    /// Outcomes of attempts that are not yet in the store.
    unsaved: Vec<(Job, AttemptOutcome)>,
    upkeep_at: Duration,
}

impl LeaderTask for RunnerLoop {
    type Message = RunnerMessage;
    type Error = store::Error;

    fn begin(&mut self, lease: &Lease) -> store::Result<()> {
        self.fence = Some(lease.fence());
        self.jumps = ClockJumps::watch(self.setup.clock.clone());
        self.bound_waits(lease)
    }

    /// Forgets all jobs after the lease was lost, because the process that collects now runs them.
    fn step_back(&mut self) {
        self.fence = None;
        self.queue = JobQueue::new(self.setup.politeness);
        self.read_through = 0;
        self.unsaved.clear();
    }

    fn take(&mut self, message: RunnerMessage) {
        match message {
            RunnerMessage::Added => {}
            RunnerMessage::Done(fence, _) if self.fence != Some(fence) => {}
            RunnerMessage::Done(_, done) => {
                let (job, done) = *done;
                let now = self.setup.clock.monotonic();
                self.queue.end(&job, now, done.crawl_delay, done.cool_down);
                self.unsaved.push((job, done.attempt));
            }
        }
    }

    fn turn(&mut self, lease: &Lease) -> store::Result<()> {
        if let Some(jump_ms) = self.jumps.since_last() {
            tracing::warn!(
                jump_ms,
                "the clock was changed; pages wait as long as before"
            );
            self.bound_waits(lease)?;
        }
        let now = self.setup.clock.monotonic();
        let now_ms = self.setup.clock.now().timestamp_millis();
        self.read_new(now, now_ms)?;
        let mut begun = Vec::new();
        while begun.len() < BEGIN_MAX
            && let Some(job) = self.queue.begin(now)
        {
            begun.push(job);
        }
        let upkeep = now >= self.upkeep_at;
        if begun.is_empty() && self.unsaved.is_empty() && !upkeep {
            return Ok(());
        }
        let saved = self.save(lease, &begun, now_ms, upkeep);
        if let Err(error) = saved {
            for job in begun {
                self.queue.end(&job, now, None, None);
                self.queue.push(job, now + PACE.error_pause);
            }
            return Err(error);
        }
        for (job, attempt) in std::mem::take(&mut self.unsaved) {
            self.settle(job, attempt, now, now_ms);
        }
        for job in begun {
            self.spawn(lease.fence(), job);
        }
        if upkeep {
            self.upkeep_at = now + UPKEEP_EVERY;
            self.sweep_pages();
        }
        Ok(())
    }

    fn next_in(&self) -> Option<Duration> {
        let now = self.setup.clock.monotonic();
        self.queue.next_at(now).map(|at| at - now)
    }

    /// Stores how jobs ended. Running jobs are resumed at the next start.
    fn stop(&mut self, lease: &Lease) -> store::Result<Stop> {
        let now_ms = self.setup.clock.now().timestamp_millis();
        if let Err(error) = self.save(lease, &[], now_ms, false) {
            tracing::warn!(%error, "pages that were collected last are fetched again at the next start");
        }
        Ok(Stop::Done)
    }
}

impl RunnerLoop {
    /// Corrects the waits in the store after the clock was set back. Waits in memory need no correction: they are
    /// measured with the monotonic clock.
    fn bound_waits(&self, lease: &Lease) -> store::Result<()> {
        let now_ms = self.setup.clock.now().timestamp_millis();
        lease.write(move |transaction| {
            jobs::bound_waits(transaction, now_ms, LEASE.as_millis() as i64)
        })?;
        Ok(())
    }

    /// Reads jobs created since the last read.
    fn read_new(&mut self, now: Duration, now_ms: i64) -> store::Result<()> {
        let after = self.read_through;
        let new = self
            .setup
            .store
            .read(|connection| jobs::after(connection, after, READ_MAX))?;
        for job in new {
            self.read_through = job.number;
            let wait = wait_until(job.due_at_ms, now_ms);
            self.queue.push(job, now + wait);
        }
        Ok(())
    }

    fn save(&self, lease: &Lease, begun: &[Job], now_ms: i64, upkeep: bool) -> store::Result<()> {
        let begun = begun.to_vec();
        let ended = self.unsaved.clone();
        let until_ms = now_ms + LEASE.as_millis() as i64;
        lease.write(move |transaction| {
            for (job, attempt) in &ended {
                jobs::record(transaction, job, attempt, now_ms)?;
            }
            jobs::lease(transaction, &begun, until_ms)?;
            if upkeep {
                jobs::prune(transaction, now_ms)?;
            }
            Ok(())
        })
    }

    /// Notifies the call that waits for a job, and requeues a job that is to be retried.
    fn settle(&mut self, mut job: Job, attempt: AttemptOutcome, now: Duration, now_ms: i64) {
        match attempt {
            AttemptOutcome::Ended { ended, .. } => {
                tracing::debug!(url = job.request.url, ?ended, "collected");
                self.setup.waiting.ended(job.request.id, ended);
            }
            AttemptOutcome::OtherHost(trail) => {
                job.trail = trail;
                self.queue.push(job, now);
            }
            AttemptOutcome::Retry {
                due_at_ms,
                reason,
                is_unreachable,
                is_own_failure,
            } => {
                tracing::debug!(url = job.request.url, reason, "collection will be retried");
                job.attempts += u32::from(!is_own_failure);
                job.trail = RedirectTrail::default();
                let wait = wait_until(due_at_ms, now_ms);
                let postponed = Postponed {
                    until: tokio::time::Instant::now() + wait,
                    is_unreachable,
                };
                self.setup.waiting.postponed(job.request.id, postponed);
                self.queue.push(job, now + wait);
            }
        }
    }

    fn spawn(&self, fence: i64, job: Job) {
        let (worker, back) = (self.setup.worker.clone(), self.back.clone());
        let own = job.clone();
        let runtime = self.runtime.clone();
        self.runtime.spawn(async move {
            let working = worker.clone();
            let attempted = runtime
                .spawn(async move { working.attempt(&own).await })
                .await;
            let done = attempted.unwrap_or_else(|error| {
                worker
                    .retry(&job, format!("the attempt failed: {error}"))
                    .into()
            });
            // If the runner has ended, nothing receives this, and the job is resumed at the next start.
            back.notify(RunnerMessage::Done(fence, Box::new((job, done))));
        });
    }

    /// Deletes pages past their retention, or all of them if pages are not stored any more.
    fn sweep_pages(&self) {
        let folder = self.setup.data.join(PAGES_FOLDER);
        let Ok(entries) = std::fs::read_dir(folder) else {
            return;
        };
        let is_old = |modified: SystemTime| {
            modified
                .elapsed()
                .is_ok_and(|age| age > self.setup.pages_kept_for)
        };
        for entry in entries.flatten() {
            let modified = entry.metadata().and_then(|metadata| metadata.modified());
            if modified.is_ok_and(is_old)
                && let Err(error) = std::fs::remove_file(entry.path())
            {
                tracing::warn!(%error, "cannot delete a stored page");
            }
        }
    }
}
