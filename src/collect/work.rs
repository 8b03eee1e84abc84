//! Runs a job: fetches its page, reads it, and ingests the advert or records why there is none.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use chrono::{DateTime, Utc};
use serde_json::{Map, Value, json};
use url::Url;

use super::extract::erased::has_contact;
use super::extract::{self, Extraction, PageVerdict};
use super::jobs::{AttemptOutcome, Job, JobOutcome};
use super::portals::Portals;
use super::readers::ReaderPool;
use super::rejected::{Rejected, RejectionCode};
use super::settings::Share;
use toise_base::clock::Clock;
use toise_listings::{self as listings, Listings};
use toise_net::fetch::{FetchFailure, FetchedPage, Fetcher};

/// Waits between attempts at a page that may succeed later; after the last attempt the page is rejected.
const RETRY_AFTER: [Duration; 4] = [
    Duration::from_secs(5),
    Duration::from_secs(30),
    Duration::from_secs(120),
    Duration::from_secs(600),
];
/// Pause after a failure of this service, such as a disk failure. Such an attempt does not count, so no page is
/// rejected because of it.
const OWN_FAILURE_PAUSE: Duration = Duration::from_secs(30);
/// Number of unfinished attempts after which a page is abandoned, because it may be crashing the process.
const ATTEMPTS_MAX: u32 = 10;
/// Maximum random extension of a wait, as a share, so that jobs that failed together are not retried together.
const JITTER: f64 = 0.2;
/// Maximum cool down that a portal can ask for.
const COOL_DOWN_MAX: Duration = Duration::from_secs(3_600);
/// Maximum wait of a job: the longest cool down, with its jitter.
const WAIT_MAX: Duration = Duration::from_secs(4_320);
/// How long an unreachable URL is not requested again.
const UNREACHABLE_FOR: Duration = Duration::from_secs(600);
/// Folder of stored pages, in the data folder.
pub const PAGES_FOLDER: &str = "pages";
/// Compression level (zstd) of stored pages.
const PAGE_LEVEL: i32 = 9;

/// Runs attempts at jobs. Cheap to clone.
#[derive(Clone)]
pub struct PageWorker {
    /// Fetches pages.
    pub fetcher: Fetcher,
    /// Rules of portals.
    pub portals: Portals,
    /// Listings to ingest into.
    pub listings: Listings,
    /// The clock.
    pub clock: Clock,
    /// Which pages requested with a test key reach the alerts of other accounts.
    pub share: Share,
    /// How long a rejection is remembered.
    pub rejected_for: Duration,
    /// Folder for stored pages; `None` if they are not stored.
    pub pages: Option<PathBuf>,
    /// Threads that read pages and ingest adverts.
    pub readers: ReaderPool,
}

/// Result of an attempt, for the store and for the queue.
#[derive(Debug)]
pub struct CompletedAttempt {
    /// Outcome of the attempt.
    pub attempt: AttemptOutcome,
    /// Crawl delay that the host asks for.
    pub crawl_delay: Option<Duration>,
    /// Cool down that the host asks for.
    pub cool_down: Option<Duration>,
}

impl From<AttemptOutcome> for CompletedAttempt {
    /// Creates the result of an attempt for which the host asks for no pause.
    fn from(attempt: AttemptOutcome) -> Self {
        Self {
            attempt,
            crawl_delay: None,
            cool_down: None,
        }
    }
}

/// Returns how long a job waits that is due at a time. The wait is bounded, because the clock may have been set back
/// since the time was written.
pub(super) fn wait_until(due_at_ms: i64, now_ms: i64) -> Duration {
    let wait_ms = u64::try_from(due_at_ms - now_ms).unwrap_or(0);
    Duration::from_millis(wait_ms).min(WAIT_MAX)
}

/// Extends a wait by a random share of up to [`JITTER`].
fn jittered(wait: Duration) -> Duration {
    wait.mul_f64(1.0 + JITTER * rand::random::<f64>())
}

impl PageWorker {
    /// Makes one attempt at a job. When it returns, the advert, if any, is on disk; the outcome of the job is not.
    pub async fn attempt(&self, job: &Job) -> CompletedAttempt {
        if job.attempts >= ATTEMPTS_MAX {
            return self.retry(job, "no attempt finished".into()).into();
        }
        let fetched = self.fetcher.fetch(&job.request.url, &job.trail).await;
        let mut cool_down = None;
        let attempt = match fetched.outcome {
            Ok(page) => self.take(job, page).await,
            Err(failure) => {
                if let FetchFailure::Transient { retry_after, .. } = &failure {
                    cool_down = retry_after.map(|wait| wait.min(COOL_DOWN_MAX));
                }
                self.failed(job, failure, cool_down).await
            }
        };
        CompletedAttempt {
            attempt,
            crawl_delay: fetched.crawl_delay,
            cool_down,
        }
    }

    /// Reads a page and ingests its advert, on a reader thread.
    async fn take(&self, job: &Job, page: FetchedPage) -> AttemptOutcome {
        let (worker, own) = (self.clone(), job.clone());
        let taken = self.readers.run(move || worker.read(&own, &page)).await;
        taken.unwrap_or_else(|| self.retry(job, "the page could not be read".into()))
    }

    fn read(&self, job: &Job, page: &FetchedPage) -> AttemptOutcome {
        self.archive_page(job, page, self.clock.now());
        let final_url = self.portals.canonical(page.url.as_str());
        let portal = self.portals.find_by_url(&final_url);
        if redirected_to_home_page(&job.request.url, &page.url)
            || portal.is_some_and(|portal| {
                portal.is_gone_redirect(page.url.path()) && job.request.url != final_url
            })
        {
            return self.gone(job, "the portal redirects it to another page");
        }
        let page = extract::PageInput {
            url: &final_url,
            content_type: page.content_type.as_deref(),
            bytes: &page.bytes,
        };
        let extraction = extract::extract(&page, portal);
        match &extraction.verdict {
            PageVerdict::Listing => self.ingest(job, &final_url, &extraction),
            PageVerdict::Offline => self.gone(job, "the page says that it is offline"),
            PageVerdict::Rejected(rejection) => self.reject(rejection.into()),
        }
    }

    /// Ingests an advert under the requested URL if that is known, otherwise under the URL at which the page was found.
    /// If both are known, they are two listings and the requested one is gone: portals redirect from an ended listing
    /// to another.
    fn ingest(&self, job: &Job, final_url: &str, extraction: &Extraction) -> AttemptOutcome {
        let is_known = |digest| Ok(self.listings.known(digest)?.is_some());
        let digest = |address: &str| self.listings.listing_url(address).map(|url| url.digest());
        let asked = digest(&self.portals.canonical(&job.request.url));
        let moved_to =
            digest(final_url).filter(|found| *found != job.request.digest && Some(*found) != asked);
        let known: listings::Result<_> = is_known(&job.request.digest)
            .and_then(|asked| Ok((asked, moved_to.as_ref().map_or(Ok(false), is_known)?)));
        let address = match known {
            Ok((true, true)) => {
                return self.gone(job, "the portal redirects it to another listing");
            }
            Ok((true, false)) => &job.request.url,
            Ok((false, _)) => final_url,
            Err(error) => return self.not_kept(job, &error),
        };
        let Some(url) = self.listings.listing_url(address) else {
            let why = "its address is not that of a listing";
            return self.reject(Rejected::new(RejectionCode::NotAListing, why));
        };
        let advert = self.advert(address, extraction);
        let origins: Map<String, Value> = extraction
            .findings
            .iter()
            .map(|(path, finding)| (path.to_owned(), json!(finding.origin)))
            .collect();
        let listings = self.listings_for(job, final_url);
        match listings
            .ingest(vec![advert])
            .map(|mut outcomes| outcomes.pop())
        {
            Ok(Some(Ok(_))) => AttemptOutcome::Ended {
                ended: JobOutcome::Collected(url.digest()),
                origins: Some(Value::Object(origins).to_string()),
                remembered_until_ms: 0,
            },
            Ok(Some(Err(fault))) => self.reject(Rejected::new(RejectionCode::NotAListing, fault)),
            Ok(None) => self.retry(job, "the store accepted nothing".into()),
            Err(error) => self.not_kept(job, &error),
        }
    }

    /// Returns the listings to ingest into. Unless the page is shared, only alerts of the job's account can match its
    /// advert, because the holder of a test key may have written the page. Pages on a portal can be trusted.
    fn listings_for(&self, job: &Job, address: &str) -> Cow<'_, Listings> {
        let is_of_portal = |address: &str| self.portals.find_by_url(address).is_some();
        let is_shared = job.request.is_shared
            || match self.share {
                Share::All => true,
                Share::Portals => is_of_portal(address) && is_of_portal(&job.request.url),
                Share::None => false,
            };
        if is_shared {
            Cow::Borrowed(&self.listings)
        } else {
            Cow::Owned(self.listings.for_alerts_of(job.request.account))
        }
    }

    /// Builds the advert of a page that was seen online at a URL. It has no time: ingestion sets one, which keeps the
    /// order of arrival even if the clock is set back.
    fn advert(&self, address: &str, extraction: &Extraction) -> Value {
        let url = Url::parse(address).ok();
        let host = url.as_ref().and_then(Url::host_str).unwrap_or_default();
        let mut advert = Value::Object(extraction.findings.advert());
        advert["url"] = json!(address);
        advert["source"] = json!(self.portals.source(host));
        advert["isOnline"] = json!(true);
        advert
    }

    /// Records that the listing is gone: a known advert goes offline.
    fn gone(&self, job: &Job, why: &str) -> AttemptOutcome {
        let recorded = self.listings.known(&job.request.digest).and_then(|known| {
            if known.is_some() {
                let sighting = json!({"url": job.request.url, "isOnline": false});
                self.listings_for(job, &job.request.url)
                    .ingest(vec![sighting])?;
            }
            Ok(())
        });
        match recorded {
            Ok(()) => self.reject(Rejected::new(RejectionCode::Gone, why)),
            Err(error) => self.not_kept(job, &error),
        }
    }

    async fn failed(
        &self,
        job: &Job,
        failure: FetchFailure,
        cool_down: Option<Duration>,
    ) -> AttemptOutcome {
        let code = match &failure {
            FetchFailure::Transient { is_unreachable, .. } => {
                return self.postpone(job, failure.to_string(), cool_down, *is_unreachable);
            }
            FetchFailure::Status(408) => return self.retry(job, failure.to_string()),
            FetchFailure::Status(404 | 410) => {
                let (worker, job, why) = (self.clone(), job.clone(), failure.to_string());
                let own = job.clone();
                let gone = tokio::task::spawn_blocking(move || worker.gone(&own, &why)).await;
                return gone.unwrap_or_else(|error| self.retry(&job, error.to_string()));
            }
            FetchFailure::OtherHost(trail) => return AttemptOutcome::OtherHost(*trail.clone()),
            FetchFailure::Refused(_) => RejectionCode::NotPublic,
            FetchFailure::Robots(_) => RejectionCode::Robots,
            FetchFailure::Status(401) => RejectionCode::LoginRequired,
            FetchFailure::Status(_) => RejectionCode::Refused,
            FetchFailure::TooLarge => RejectionCode::TooLarge,
            FetchFailure::Redirects(_) => RejectionCode::Redirects,
            FetchFailure::Encoding => RejectionCode::Unparsable,
        };
        self.reject(Rejected::new(code, failure))
    }

    /// Schedules a retry; after the last attempt the page is rejected.
    pub(super) fn retry(&self, job: &Job, reason: String) -> AttemptOutcome {
        self.postpone(job, reason, None, false)
    }

    /// Schedules a retry after ingestion failed. If the store failed, retries are unlimited, because the page is not at
    /// fault.
    fn not_kept(&self, job: &Job, error: &listings::Error) -> AttemptOutcome {
        match error {
            listings::Error::Store(error) => {
                self.retry_after(jittered(OWN_FAILURE_PAUSE), error.to_string(), false, true)
            }
            error => self.retry(job, error.to_string()),
        }
    }

    /// Schedules a retry, no earlier than the portal asks; after the last attempt the page is rejected.
    fn postpone(
        &self,
        job: &Job,
        reason: String,
        cool_down: Option<Duration>,
        is_unreachable: bool,
    ) -> AttemptOutcome {
        let Some(wait) = RETRY_AFTER.get(job.attempts as usize) else {
            let rejected = Rejected::new(RejectionCode::Unreachable, reason);
            return self.reject_for(rejected, UNREACHABLE_FOR.min(self.rejected_for));
        };
        let wait = jittered(*wait).max(cool_down.unwrap_or_default());
        self.retry_after(wait, reason, is_unreachable, false)
    }

    fn retry_after(
        &self,
        wait: Duration,
        reason: String,
        is_unreachable: bool,
        is_own_failure: bool,
    ) -> AttemptOutcome {
        AttemptOutcome::Retry {
            due_at_ms: self.clock.now().timestamp_millis() + wait.as_millis() as i64,
            reason,
            is_unreachable,
            is_own_failure,
        }
    }

    fn reject(&self, reason: Rejected) -> AttemptOutcome {
        self.reject_for(reason, self.rejected_for)
    }

    fn reject_for(&self, reason: Rejected, remembered_for: Duration) -> AttemptOutcome {
        AttemptOutcome::Ended {
            ended: JobOutcome::Rejected(reason),
            origins: None,
            remembered_until_ms: self.clock.now().timestamp_millis()
                + remembered_for.as_millis() as i64,
        }
    }

    /// Stores a page as evidence in disputes, if the operator enabled it; a failure does not affect the collection. A
    /// page that contains an erased contact is not stored.
    fn archive_page(&self, job: &Job, page: &FetchedPage, now: DateTime<Utc>) {
        let Some(folder) = &self.pages else { return };
        let erased = match self.listings.erased_contacts() {
            Ok(erased) => erased,
            Err(error) => {
                tracing::warn!(%error, "cannot store a page: the list of erased contacts cannot be read");
                return;
            }
        };
        let contacts = &erased.contacts;
        let content_type = page.content_type.as_deref();
        if !contacts.is_empty() && has_contact(&page.bytes, content_type, contacts) {
            return;
        }
        let time = now.format("%Y%m%dT%H%M%S%3fZ");
        let name = format!("{time}-{}.html.zst", job.request.id);
        let kept = zstd::bulk::compress(&page.bytes, PAGE_LEVEL).and_then(|bytes| {
            std::fs::create_dir_all(folder).and_then(|()| std::fs::write(folder.join(name), bytes))
        });
        if let Err(error) = kept {
            tracing::warn!(%error, "cannot store a page");
        }
    }
}

/// Returns the bytes of a stored page.
///
/// # Errors
/// The file cannot be read, or is not one.
pub fn stored_page(path: &Path) -> std::io::Result<Vec<u8>> {
    zstd::decode_all(std::fs::File::open(path)?)
}

/// Returns whether a request for a listing was redirected to the home page, as some portals do when it is gone.
fn redirected_to_home_page(asked: &str, found: &Url) -> bool {
    let was_deeper =
        Url::parse(asked).is_ok_and(|asked| asked.path() != "/" || asked.query().is_some());
    was_deeper && found.path() == "/" && found.query().is_none()
}
