//! Collection on demand: fetches the page of a listing's URL and returns its advert and property.
//!
//! A call for a known and fresh URL is answered from the store. Any other call creates a job ([`jobs`]) and waits for
//! it for a limited time; if the client disconnects, the next call for the URL takes over its job. [`runner`] starts
//! jobs in the order of [`queue`] and [`work`] runs them: [`toise_net::fetch`] fetches the page, [`extract`] reads it
//! by the rules of its portal ([`portals`]) and the general ones ([`toise_page`]), and [`toise_listings`] ingests the
//! advert. Checks of known adverts are jobs too. [`mapping`] turns rows of files and bodies into adverts. [`reports`]
//! stores the accounts' claims that a listing is wrong. [`evaluation`] measures extraction on saved pages.

#![forbid(unsafe_code)]

pub mod evaluation;
pub mod extract;
pub mod jobs;
pub mod mapping;
mod moment;
pub mod portals;
mod progress;
pub mod queue;
pub mod readers;
pub mod rejected;
pub mod reports;
pub mod request;
pub mod runner;
pub mod settings;
mod waiters;
pub mod work;

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::time::Instant;
use uuid::Uuid;

use self::jobs::{JobKind, JobOutcome, NewJob};
use self::mapping::Mappings;
use self::portals::Portals;
use self::progress::JobProgress;
use self::queue::Politeness;
use self::readers::ReaderPool;
use self::runner::{RunnerContext, RunnerMessage};
use self::waiters::{JobNews, JobWaiters, WaiterSlot};
use self::work::{PAGES_FOLDER, PageWorker};
use crate::rejected::{Rejected, RejectionCode};
use crate::settings::CollectSettings;
use toise_base::clock::Clock;
use toise_base::supervise::Supervisor;
use toise_contract::listings::codes::FlxId;
use toise_listings::adverts::identity::{ListingUrl, UrlDigest};
use toise_listings::adverts::incoming::CLOCK_SKEW_MAX;
use toise_listings::{self as listings, Listings};
use toise_net::egress::EgressGuard;
use toise_net::fetch::Fetcher;
use toise_store::leader::{self, Inbox, Leader, Notifier};
use toise_store::{self as store, Store};
use toise_telemetry::Metrics;

/// Seconds after which to repeat a call whose page is being collected.
pub const RETRY_AFTER_S: u64 = RETRY_AFTER.as_secs();
const RETRY_AFTER: Duration = Duration::from_secs(5);
/// How often a waiting call checks whether the service is stopping and whether another process ended its job.
const POLL_EVERY: Duration = Duration::from_millis(500);
/// Maximum number of calls that query the store at once.
const ASKING_MAX: usize = 8;
const DAY: Duration = Duration::from_secs(24 * 3_600);

/// Why collection failed internally.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// Listings cannot be read.
    #[error(transparent)]
    Listings(#[from] listings::Error),
    /// The file of a portal or of a mapping is invalid.
    #[error(transparent)]
    Portals(#[from] portals::Error),
    /// The HTTP client cannot be set up.
    #[error(transparent)]
    Client(#[from] toise_net::Error),
    /// A blocking task ended unexpectedly.
    #[error("a blocking task did not finish: {0}")]
    Broken(#[from] tokio::task::JoinError),
    /// Collection has already been started.
    #[error("collection is already running")]
    Started,
    /// A thread cannot be started, or a file cannot be opened.
    #[error("collection cannot start: {0}")]
    Io(#[from] std::io::Error),
}

/// Result of an operation here.
pub type Result<T> = std::result::Result<T, Error>;

/// Outcome of a call for a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CollectOutcome {
    /// The advert, known before or just collected.
    Known(FlxId),
    /// The page is still being collected.
    Pending {
        /// Seconds after which to repeat the call: an attempt is running, or the next one does not start before then.
        retry_after_s: u64,
    },
    /// The page is not a listing or is not collected; the code of the reason and its details.
    Rejected(Rejected),
    /// The account has the maximum number of waiting jobs.
    Full,
}

impl CollectOutcome {
    fn pending(retry_after: Duration) -> Self {
        let retry_after_s = (retry_after.as_secs_f64().ceil() as u64).max(1);
        CollectOutcome::Pending { retry_after_s }
    }
}

/// Result of waiting for a job.
enum Waited {
    /// How the job ended.
    Ended(JobOutcome),
    /// The job has not ended; ask again after this time.
    Until(Duration),
}

/// Collects pages. Cheap to clone.
#[derive(Clone)]
pub struct Collector {
    store: Store,
    listings: Listings,
    clock: Clock,
    fetcher: Fetcher,
    portals: Portals,
    mappings: Arc<Mappings>,
    settings: CollectSettings,
    waiting: JobWaiters,
    wake: Notifier<RunnerMessage>,
    /// Permits for queries of the store.
    asking: Arc<Semaphore>,
    /// Messages to the runner, taken when collection starts.
    messages: Arc<Mutex<Option<Inbox<RunnerMessage>>>>,
}

/// The caller that asks for a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asker {
    /// The account.
    pub account: Uuid,
    /// Whether the key is a test key.
    pub is_test: bool,
}

impl Collector {
    /// Creates a collector over listings and their store. Its jobs run as soon as a collector is started, in this or
    /// another process.
    ///
    /// # Errors
    /// The file of a portal or a mapping is invalid, or TLS cannot be set up on this machine.
    pub fn new(
        supervisor: &Supervisor,
        store: Store,
        listings: Listings,
        settings: &CollectSettings,
    ) -> Result<Self> {
        let gate = EgressGuard::new(settings.allowed())
            .supervised_by(supervisor)
            .with_page_rules(settings.plain_http());
        Self::with_gate(gate, store, listings, settings)
    }

    /// Creates a collector with a given egress guard.
    ///
    /// # Errors
    /// As for [`Collector::new`].
    pub fn with_gate(
        gate: EgressGuard,
        store: Store,
        listings: Listings,
        settings: &CollectSettings,
    ) -> Result<Self> {
        let portals = Portals::load(store.folder())?;
        let mappings = Arc::new(Mappings::load(store.folder())?);
        let (wake, messages) = leader::inbox();
        Ok(Self {
            fetcher: Fetcher::new(gate, &settings.contact)?
                .with_page_timeout(settings.page_timeout()),
            clock: listings.clock().clone(),
            store,
            listings,
            portals,
            mappings,
            settings: settings.clone(),
            waiting: JobWaiters::default(),
            wake,
            asking: Arc::new(Semaphore::new(ASKING_MAX)),
            messages: Arc::new(Mutex::new(Some(messages))),
        })
    }

    /// Starts running jobs, on its own thread and the given runtime. Can be called once. Dropping the leader stops the
    /// thread; running jobs are resumed at the next start.
    ///
    /// # Errors
    /// It was started before, a thread cannot be started, or the file of locks cannot be opened.
    pub fn start(
        &self,
        supervisor: &Supervisor,
        runtime: Handle,
        metrics: Metrics,
    ) -> Result<Leader> {
        let messages = self.messages.lock().take();
        let messages = messages.ok_or(Error::Started)?;
        let data = self.store.folder().to_owned();
        let pages_kept_for = DAY * self.settings.keep_pages_days as u32;
        let setup = RunnerContext {
            worker: PageWorker {
                fetcher: self.fetcher.clone(),
                portals: self.portals.clone(),
                listings: self.listings.clone(),
                clock: self.clock.clone(),
                rejected_for: Duration::from_secs(self.settings.rejected_for_s),
                share: self.settings.share,
                pages: (!pages_kept_for.is_zero()).then(|| data.join(PAGES_FOLDER)),
                readers: ReaderPool::start(supervisor)?,
            },
            data,
            store: self.store.clone(),
            clock: self.clock.clone(),
            politeness: Politeness {
                running_max: self.settings.running_max,
                per_host_max: self.settings.per_host_max,
                host_delay: Duration::from_millis(self.settings.host_delay_ms),
            },
            waiting: self.waiting.clone(),
            pages_kept_for,
            metrics,
        };
        Ok(runner::start(
            supervisor,
            setup,
            runtime,
            (self.wake.clone(), messages),
        )?)
    }

    /// Returns the maximum time that a call waits for its page.
    pub fn wait(&self) -> Duration {
        Duration::from_secs(self.settings.wait_s)
    }

    /// Returns the portals with rules.
    pub fn portals(&self) -> &Portals {
        &self.portals
    }

    /// Returns the mappings that bodies of rows may name.
    pub fn mappings(&self) -> &Mappings {
        &self.mappings
    }

    /// Returns the advert of a URL: known and fresh, or collected by a job. Waits until `deadline` or until `stopping`
    /// returns true.
    ///
    /// # Errors
    /// The store fails.
    pub async fn collect(
        &self,
        asker: Asker,
        url: &str,
        deadline: Instant,
        stopping: impl Fn() -> bool,
    ) -> Result<CollectOutcome> {
        let url = self.portals.canonical(url);
        let Some(listing) = self.listings.listing_url(&url) else {
            let why = "the address is not that of a page";
            let rejected = Rejected::new(RejectionCode::NotPublic, why);
            return Ok(CollectOutcome::Rejected(rejected));
        };
        let digest = listing.digest();
        if let Some(answer) = self.ask(move |own| own.look_up(&digest)).await? {
            return Ok(answer);
        }
        let job = match self.job(asker, JobKind::Url, &listing) {
            Ok(job) => job,
            Err(rejected) => return Ok(CollectOutcome::Rejected(rejected)),
        };
        let Some(place) = self.ask(move |own| own.begin(job)).await? else {
            return Ok(CollectOutcome::Full);
        };
        match self.wait_for(place, deadline, stopping).await? {
            Waited::Until(retry_after) => Ok(CollectOutcome::pending(retry_after)),
            Waited::Ended(JobOutcome::Rejected(reason)) => Ok(CollectOutcome::Rejected(reason)),
            Waited::Ended(JobOutcome::Collected(digest)) => {
                let known = self
                    .ask(move |own| Ok(own.listings.known(&digest)?))
                    .await?;
                Ok(match known {
                    Some(known) => CollectOutcome::Known(known.advert),
                    None => CollectOutcome::pending(RETRY_AFTER),
                })
            }
        }
    }

    /// Creates the job for a page, unless its address is not public or not covered.
    fn job(
        &self,
        asker: Asker,
        kind: JobKind,
        listing: &ListingUrl,
    ) -> std::result::Result<NewJob, Rejected> {
        let checked = self.fetcher.check(listing.address()).map_err(|refused| {
            Rejected::new(RejectionCode::NotPublic, format!("the address {refused}"))
        })?;
        let host = checked.host_str().unwrap_or_default().to_owned();
        if self.settings.portals_only() && self.portals.find_by_host(&host).is_none() {
            let why = format!("{host} is not one of the portals covered");
            return Err(Rejected::new(RejectionCode::NotCovered, why));
        }
        Ok(NewJob {
            id: Uuid::now_v7(),
            account: asker.account,
            is_shared: !asker.is_test,
            kind,
            digest: listing.digest(),
            url: listing.address().to_owned(),
            host,
        })
    }

    /// Runs a query of the store on a blocking thread. The number of concurrent queries is limited: each one uses a
    /// connection and its memory, and hundreds of calls may be waiting for pages.
    async fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Self) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        // The semaphore is never closed.
        let _turn = self.asking.acquire().await.ok();
        let own = self.clone();
        tokio::task::spawn_blocking(move || question(&own)).await?
    }

    /// Returns what is known about a URL without a request to its portal. Blocks.
    fn look_up(&self, digest: &UrlDigest) -> Result<Option<CollectOutcome>> {
        let now_ms = self.clock.now().timestamp_millis();
        let (target, rejection) = self.store.read(|connection| {
            Ok((
                jobs::target(connection, digest)?,
                jobs::rejection(connection, digest, now_ms)?,
            ))
        })?;
        let known = self.listings.known(&target)?;
        let fresh_ms = self.settings.fresh_s as i64 * 1_000;
        // An advert observed later than the accepted clock skew allows was dated by a wrong clock.
        let latest_ms = now_ms + CLOCK_SKEW_MAX.num_milliseconds();
        let fresh = known.filter(|known| {
            now_ms - known.observed_at_ms < fresh_ms && known.observed_at_ms <= latest_ms
        });
        // A rejection of an unreadable page does not affect a fresh advert; a listing that is gone does.
        let rejected = rejection.filter(|(reason, rejected_at_ms)| {
            let is_newer = known.is_none_or(|known| known.observed_at_ms <= *rejected_at_ms);
            is_newer && (fresh.is_none() || reason.code() == Some(RejectionCode::Gone))
        });
        Ok(match (rejected, fresh) {
            (Some((reason, _)), _) => Some(CollectOutcome::Rejected(reason)),
            (None, Some(known)) => Some(CollectOutcome::Known(known.advert)),
            (None, None) => None,
        })
    }

    /// Takes over a job that nobody waits for any more, or creates a job for this call; `None` if the account has the
    /// maximum number of waiting jobs. Blocks.
    fn begin(&self, job: NewJob) -> Result<Option<WaiterSlot>> {
        let left = self
            .store
            .read(|connection| jobs::waiting_like(connection, &job))?;
        if let Some(place) = left.into_iter().find_map(|left| self.waiting.take(left)) {
            return Ok(Some(place));
        }
        // The slot is taken before the job is inserted, so that the end of the job cannot be missed. It is free,
        // because the identifier is new.
        let place = self.waiting.take(job.id);
        let is_inserted = self.insert(job)?;
        Ok(place.filter(|_| is_inserted))
    }

    fn insert(&self, job: NewJob) -> Result<bool> {
        let now_ms = self.clock.now().timestamp_millis();
        let waiting_max = self.settings.waiting_per_account_max;
        let inserted = self
            .store
            .write(move |transaction| jobs::insert(transaction, &job, now_ms, waiting_max))?;
        // If another process runs the job, the waiting call finds its end in the store.
        self.wake.notify(RunnerMessage::Added);
        Ok(inserted)
    }

    /// Waits for the end of a job until the deadline. Returns early if the portal cannot be reached or the next attempt
    /// is due after the deadline.
    async fn wait_for(
        &self,
        mut place: WaiterSlot,
        deadline: Instant,
        stopping: impl Fn() -> bool,
    ) -> Result<Waited> {
        let job = place.job();
        loop {
            // Another process may run the job.
            let progress = self
                .ask(move |own| Ok(progress::of(&own.store, &own.clock, job)?))
                .await?;
            let now = Instant::now();
            let is_over = now >= deadline || stopping();
            match progress {
                JobProgress::Ended(ended) => return Ok(Waited::Ended(ended)),
                JobProgress::Waits {
                    wait,
                    is_unreachable,
                } if is_unreachable || is_over || now + wait > deadline => {
                    return Ok(Waited::Until(wait));
                }
                JobProgress::Runs if is_over => return Ok(Waited::Until(RETRY_AFTER)),
                JobProgress::Waits { .. } | JobProgress::Runs => {}
            }
            let until = deadline.min(now + POLL_EVERY);
            match tokio::time::timeout_at(until, place.news()).await {
                Ok(Some(JobNews::Ended(ended))) => return Ok(Waited::Ended(ended)),
                Ok(Some(JobNews::Postponed(postponed)))
                    if postponed.is_unreachable || postponed.until > deadline =>
                {
                    let wait = postponed.until.saturating_duration_since(Instant::now());
                    return Ok(Waited::Until(wait));
                }
                _ => {}
            }
        }
    }

    /// Queues checks of known adverts by their URLs. URLs that are not public or not covered are skipped. Checks that
    /// are already waiting are counted but not queued again. Returns the number of checks; `None` if the account has
    /// the maximum number of waiting jobs. Blocks.
    ///
    /// # Errors
    /// The store fails.
    pub fn check(&self, asker: Asker, addresses: &[String]) -> Result<Option<usize>> {
        let mut count = 0;
        for address in addresses {
            let Some(listing) = self.listings.listing_url(address) else {
                continue;
            };
            let Ok(job) = self.job(asker, JobKind::Check, &listing) else {
                continue;
            };
            count += 1;
            let waits = |connection: &_| jobs::check_waits(connection, &job.digest);
            if !self.store.read(waits)? && !self.insert(job)? {
                return Ok(None);
            }
        }
        Ok(Some(count))
    }
}
