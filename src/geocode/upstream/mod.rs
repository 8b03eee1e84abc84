//! The upstream service: a geocoder with the same API, queried when the index has no good result, or instead of the
//! index.
//!
//! The public service is `https://data.geopf.fr/geocodage`. A query goes through these steps, each of which may end it:
//! the cached answers (`cache`), the circuit breaker (`breaker`), the limit on requests in flight, the rate limit
//! (`pace`), one request without retries. All waits before the request end at the caller's deadline, and the request
//! itself takes at most [`REQUEST_TIMEOUT`].

mod answer;
mod breaker;
mod cache;
mod pace;
mod question;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{MutexGuard, Semaphore};
use tokio::time::{Instant, timeout, timeout_at};

use crate::address::Address;
use crate::request::{ReverseCall, SearchCall};
use crate::settings::{GeocodingSettings, UpstreamMode};
use answer::Found;
pub use answer::{HIGH_FROM, MEDIUM_FROM};
pub use breaker::BreakerState;
use breaker::{Admission, Breaker};
use cache::Cache;
use pace::RequestSlots;
use question::Question;
use toise_base::clock::Clock;
use toise_net::{Client, RetryPolicy};
use toise_store::Store;

/// Maximum number of requests in flight.
pub const AT_ONCE_MAX: usize = 8;
/// Maximum time to connect.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// Maximum duration of a request.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum size of an answer, bytes.
const ANSWER_BYTES_MAX: u64 = 1024 * 1024;
/// Time after which a query may be retried if too many others were waiting or the service was failing.
const RETRY_AFTER: Duration = Duration::from_secs(1);
/// Number of locks that keep equal queries from being sent at the same time.
const TURNS: usize = 256;
/// Statuses that refuse the query without indicating a failure of the service.
const REFUSALS: [u16; 2] = [400, 422];

/// Error of a query to which the upstream service gave no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the upstream geocoding service does not respond: {reason}")]
pub struct Unavailable {
    /// The reason. It contains no part of the query.
    pub reason: String,
    /// Time after which the query may be repeated.
    pub retry_after: Duration,
}

impl Unavailable {
    fn new(reason: &str, retry_after: Duration) -> Self {
        Self {
            reason: reason.to_owned(),
            retry_after: retry_after.max(RETRY_AFTER),
        }
    }
}

/// Number of queries since the start, by outcome.
#[derive(Debug, Default)]
struct Counts {
    kept: AtomicU64,
    answered: AtomicU64,
    refused: AtomicU64,
    failed: AtomicU64,
    not_asked: AtomicU64,
}

/// Health of the service, for metrics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpstreamHealth {
    /// State of the circuit breaker.
    pub breaker: BreakerState,
    /// How often the breaker opened.
    pub opened: u64,
    /// Queries by outcome: `kept` (answered from the cache), `answered`, `refused` (the service does not accept the
    /// query), `failed`, `not_asked` (breaker open, or too many waiting).
    pub questions: [(&'static str, u64); 5],
}

/// The upstream service. Cheap to clone.
#[derive(Clone)]
pub struct Upstream {
    shared: Arc<UpstreamInner>,
}

struct UpstreamInner {
    base: String,
    mode: UpstreamMode,
    client: Client,
    request_timeout: Duration,
    clock: Clock,
    cache: Cache,
    breaker: Mutex<Breaker>,
    pace: Mutex<RequestSlots>,
    under_way: Semaphore,
    turns: Vec<tokio::sync::Mutex<()>>,
    counts: Counts,
}

impl Upstream {
    /// Creates the service that the settings name; `None` if they name none. Sends no request yet.
    ///
    /// # Errors
    /// The HTTP client cannot be set up.
    pub fn new(
        settings: &GeocodingSettings,
        store: Store,
        clock: Clock,
    ) -> Result<Option<Self>, toise_net::Error> {
        let Some(base) = settings.upstream_base() else {
            return Ok(None);
        };
        // A request that fails is not repeated: the breaker counts it, and waiting is up to the caller.
        let client = Client::new(RetryPolicy {
            attempts_max: 1,
            retry_after_max: Duration::ZERO,
            connect_timeout: CONNECT_TIMEOUT,
            read_timeout: REQUEST_TIMEOUT,
            ..RetryPolicy::default()
        })?;
        Ok(Some(Self {
            shared: Arc::new(UpstreamInner {
                base: base.to_owned(),
                mode: settings.upstream_mode,
                client,
                request_timeout: REQUEST_TIMEOUT,
                cache: Cache::new(store, clock.clone(), settings.upstream_cache_age_max()),
                clock,
                breaker: Mutex::default(),
                pace: Mutex::new(RequestSlots::new(settings.upstream_rate_per_s)),
                under_way: Semaphore::new(AT_ONCE_MAX),
                turns: (0..TURNS).map(|_| tokio::sync::Mutex::new(())).collect(),
                counts: Counts::default(),
            }),
        }))
    }

    /// Returns when it is asked.
    pub fn mode(&self) -> UpstreamMode {
        self.shared.mode
    }

    /// Returns its health.
    pub fn health(&self) -> UpstreamHealth {
        let shared = &self.shared;
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let breaker = shared.breaker.lock();
        UpstreamHealth {
            breaker: breaker.state(shared.clock.monotonic()),
            opened: breaker.opened(),
            questions: [
                ("kept", read(&shared.counts.kept)),
                ("answered", read(&shared.counts.answered)),
                ("refused", read(&shared.counts.refused)),
                ("failed", read(&shared.counts.failed)),
                ("not_asked", read(&shared.counts.not_asked)),
            ],
        }
    }

    /// Answers a search, best address first; the request begins by `deadline` or not at all.
    ///
    /// # Errors
    /// The service fails, has failed too often, or has too many queries waiting.
    pub async fn search(
        &self,
        call: &SearchCall,
        deadline: Instant,
    ) -> Result<Vec<Address<'static>>, Unavailable> {
        let found = self.find(&Question::search(call), deadline).await?;
        Ok(answer::of_search(found, call))
    }

    /// Answers a reverse search, nearest address first.
    ///
    /// # Errors
    /// Same as [`Self::search`].
    pub async fn reverse(
        &self,
        call: &ReverseCall,
        deadline: Instant,
    ) -> Result<Vec<Address<'static>>, Unavailable> {
        let found = self.find(&Question::reverse(call), deadline).await?;
        Ok(answer::of_reverse(found, call))
    }

    async fn find(
        &self,
        question: &Question,
        deadline: Instant,
    ) -> Result<Vec<Found>, Unavailable> {
        let digest = question.digest(&self.shared.base);
        if let Some(kept) = self.kept(digest).await {
            return Ok(kept);
        }
        let _turn = self.shared.turn(digest, deadline).await?;
        // An equal query may have been answered in the meantime.
        if let Some(kept) = self.kept(digest).await {
            return Ok(kept);
        }
        let Some(found) = self.shared.ask(question, deadline).await? else {
            return Ok(Vec::new());
        };
        let (upstream, to_keep) = (self.clone(), found.clone());
        let keeping =
            tokio::task::spawn_blocking(move || upstream.shared.cache.put(digest, &to_keep));
        // A panic in the cache has already been logged; the answer is still valid.
        let _ = keeping.await;
        Ok(found)
    }

    async fn kept(&self, digest: [u8; 32]) -> Option<Vec<Found>> {
        let upstream = self.clone();
        let reading = tokio::task::spawn_blocking(move || upstream.shared.cache.get(digest));
        let kept = reading.await.ok().flatten();
        if kept.is_some() {
            count(&self.shared.counts.kept);
        }
        kept
    }
}

impl UpstreamInner {
    /// Takes the lock of a query. Equal queries share one lock.
    async fn turn(
        &self,
        digest: [u8; 32],
        deadline: Instant,
    ) -> Result<MutexGuard<'_, ()>, Unavailable> {
        let turn = self.turns[usize::from(digest[0]) % TURNS].lock();
        let taken = timeout_at(deadline, turn).await;
        taken.map_err(|_| self.too_many(RETRY_AFTER))
    }

    /// Sends one request to the service; `None` if it refuses the query.
    async fn ask(
        &self,
        question: &Question,
        deadline: Instant,
    ) -> Result<Option<Vec<Found>>, Unavailable> {
        let now = self.clock.monotonic();
        let checked = self.breaker.lock().check(now);
        checked.map_err(|wait| self.paused(wait))?;
        let Ok(Ok(_permit)) = timeout_at(deadline, self.under_way.acquire()).await else {
            return Err(self.too_many(RETRY_AFTER));
        };
        let wait_max = deadline.saturating_duration_since(Instant::now());
        let now = self.clock.monotonic();
        let place = self.pace.lock().reserve(now, wait_max);
        tokio::time::sleep(place.map_err(|wait| self.too_many(wait))?).await;
        // Other requests may have failed in the meantime.
        let attempt = self.admit()?;
        let url = question.url(&self.base);
        let asked = timeout(
            self.request_timeout,
            self.client.get(&url, ANSWER_BYTES_MAX),
        )
        .await;
        attempt.conclude(match asked {
            Ok(Ok(body)) => answer::read(&body).map(Some).map_err(Failure::from),
            Ok(Err(toise_net::Error::Status { status, .. }))
                if REFUSALS.contains(&status.as_u16()) =>
            {
                Ok(None)
            }
            Ok(Err(error)) => Err(Failure::of(error)),
            Err(_) => Err(Failure::from("no answer in time")),
        })
    }

    fn admit(&self) -> Result<Attempt<'_>, Unavailable> {
        let now = self.clock.monotonic();
        let admitted = self.breaker.lock().admit(now);
        let admission = admitted.map_err(|wait| self.paused(wait))?;
        Ok(Attempt {
            upstream: self,
            admission,
            is_concluded: false,
        })
    }

    fn paused(&self, wait: Duration) -> Unavailable {
        count(&self.counts.not_asked);
        Unavailable::new("it failed repeatedly or asked for a pause", wait)
    }

    fn too_many(&self, wait: Duration) -> Unavailable {
        count(&self.counts.not_asked);
        Unavailable::new("too many requests are waiting for it", wait)
    }
}

/// A request that the breaker admitted. It is abandoned if it is dropped without an outcome.
struct Attempt<'u> {
    upstream: &'u UpstreamInner,
    admission: Admission,
    is_concluded: bool,
}

impl Attempt<'_> {
    fn conclude(
        mut self,
        outcome: Result<Option<Vec<Found>>, Failure>,
    ) -> Result<Option<Vec<Found>>, Unavailable> {
        self.is_concluded = true;
        let upstream = self.upstream;
        let now = upstream.clock.monotonic();
        let mut breaker = upstream.breaker.lock();
        match outcome {
            Ok(found) => {
                breaker.succeeded(now);
                count(match found {
                    Some(_) => &upstream.counts.answered,
                    None => &upstream.counts.refused,
                });
                Ok(found)
            }
            Err(Failure {
                reason,
                retry_after,
            }) => {
                breaker.failed(now, self.admission, retry_after);
                let wait = breaker.check(now).err().unwrap_or_default();
                count(&upstream.counts.failed);
                tracing::warn!(reason, pause = ?wait, "the upstream geocoding service failed");
                Err(Unavailable::new(&reason, wait))
            }
        }
    }
}

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        if !self.is_concluded {
            self.upstream.breaker.lock().abandoned(self.admission);
        }
    }
}

/// A request that failed.
struct Failure {
    reason: String,
    /// Wait that the service demands.
    retry_after: Option<Duration>,
}

impl From<&str> for Failure {
    fn from(reason: &str) -> Self {
        Self {
            reason: reason.to_owned(),
            retry_after: None,
        }
    }
}

impl Failure {
    /// Converts an error of the client. Its text names the URL, which contains the requested address and must not be
    /// logged.
    fn of(error: toise_net::Error) -> Self {
        use toise_net::Error;
        match error {
            Error::Status { status, .. } => format!("it answered {status}").as_str().into(),
            Error::TooBusy { seconds, .. } => Self {
                reason: format!("it asks for a pause of {seconds} s"),
                retry_after: Some(Duration::from_secs(seconds)),
            },
            Error::RetriesExhausted { reason, .. } => without_url(&reason).as_str().into(),
            Error::TooLarge { .. } => "its answer is too large".into(),
            Error::Setup(_) | Error::File { .. } => "the request cannot be made".into(),
        }
    }
}

/// Removes ` for url (…)` from a reason of the HTTP client.
fn without_url(reason: &str) -> String {
    let Some((before, url)) = reason.split_once(" for url (") else {
        return reason.to_owned();
    };
    let after = url.split_once(')').map_or("", |(_, after)| after);
    format!("{before}{after}")
}

fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

#[cfg(test)]
mod tests;
