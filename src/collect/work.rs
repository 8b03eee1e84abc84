//! Runs a job: fetches its page, reads it, and ingests the advert or records why there is none.

use std::path::PathBuf;
use std::time::Duration;

use chrono::{DateTime, Utc};
use serde_json::{Map, Value, json};
use url::Url;

use super::extract::{self, Extraction, Verdict};
use super::jobs::{Attempt, Ended, Job};
use super::portals::Portals;
use super::readers::Readers;
use super::rejected::{Rejected, RejectionCode};
use toise_base::clock::Clock;
use toise_contract::listings::codes::Timestamp;
use toise_listings::adverts::identity::ListingUrl;
use toise_listings::{self as listings, Listings};
use toise_net::fetch::{Failure, Fetcher, Page};

/// Backoff between attempts at a page that may succeed later; after the last attempt it is rejected.
const RETRY_AFTER: [Duration; 4] = [
    Duration::from_secs(5),
    Duration::from_secs(30),
    Duration::from_secs(120),
    Duration::from_secs(600),
];
/// Number of unfinished attempts after which a page is given up: it may have crashed the process.
const ATTEMPTS_MAX: u32 = 10;
/// Maximum random extension of a wait, as a share, so that jobs that failed together are not retried together.
const JITTER: f64 = 0.2;
/// Maximum cool down that a portal can ask for.
const LEAVE_ALONE_MAX: Duration = Duration::from_secs(3_600);
/// How long an unreachable URL is not requested again.
const UNREACHABLE_FOR: Duration = Duration::from_secs(600);
/// Folder of stored pages, in the data folder.
pub const PAGES_FOLDER: &str = "pages";
/// Compression level (zstd) of stored pages.
const PAGE_LEVEL: i32 = 9;

/// What jobs need. Cheap to clone.
#[derive(Clone)]
pub struct Worker {
    /// Fetches pages.
    pub fetcher: Fetcher,
    /// Rules of portals.
    pub portals: Portals,
    /// Listings to ingest into.
    pub listings: Listings,
    /// The clock.
    pub clock: Clock,
    /// How long a rejection is remembered.
    pub rejected_for: Duration,
    /// Folder for stored pages; `None` if they are not stored.
    pub pages: Option<PathBuf>,
    /// Threads that read pages and ingest adverts.
    pub readers: Readers,
}

/// Result of an attempt, for the store and for the queue.
#[derive(Debug)]
pub struct Done {
    /// Outcome of the attempt.
    pub attempt: Attempt,
    /// Crawl delay that the host asks for.
    pub crawl_delay: Option<Duration>,
    /// Cool down that the host asks for.
    pub leave_alone: Option<Duration>,
}

impl Worker {
    /// Makes one attempt at a job. When it returns, the advert, if any, is on disk; the end of the job is not.
    pub async fn attempt(&self, job: &Job) -> Done {
        if job.attempts >= ATTEMPTS_MAX {
            return Done {
                attempt: self.again(job, "no attempt came to an end".into(), None),
                crawl_delay: None,
                leave_alone: None,
            };
        }
        let fetched = self.fetcher.fetch(&job.what.url, &job.trail).await;
        let mut leave_alone = None;
        let attempt = match fetched.outcome {
            Ok(page) => self.take(job, page).await,
            Err(failure) => {
                if let Failure::Passing { retry_after, .. } = &failure {
                    leave_alone = retry_after.map(|wait| wait.min(LEAVE_ALONE_MAX));
                }
                self.failed(job, failure, leave_alone).await
            }
        };
        Done {
            attempt,
            crawl_delay: fetched.crawl_delay,
            leave_alone,
        }
    }

    /// Reads a page and ingests its advert, on a blocking thread.
    async fn take(&self, job: &Job, page: Page) -> Attempt {
        let (worker, own) = (self.clone(), job.clone());
        let taken = self.readers.run(move || worker.read(&own, &page)).await;
        taken.unwrap_or_else(|| self.again(job, "the page could not be read".into(), None))
    }

    fn read(&self, job: &Job, page: &Page) -> Attempt {
        let now = self.clock.now();
        self.keep(job, page, now);
        let final_url = self.portals.canonical(page.url.as_str());
        let portal = self.portals.of_url(&final_url);
        if leads_to_front(&job.what.url, &page.url)
            || portal
                .is_some_and(|portal| portal.is_end(page.url.path()) && job.what.url != final_url)
        {
            return self.gone(job, "the portal sends it to another page", now);
        }
        let page = extract::Page {
            url: &final_url,
            content_type: page.content_type.as_deref(),
            bytes: &page.bytes,
        };
        let extraction = extract::extract(&page, portal);
        match &extraction.verdict {
            Verdict::Listing => self.ingest(job, &final_url, &extraction, now),
            Verdict::Offline => self.gone(job, "the page says that it is off line", now),
            Verdict::Rejected(rejection) => self.reject(rejection.into(), self.rejected_for),
        }
    }

    /// Ingests an advert under its known URL, else under the URL at which its page was found. If both are known they
    /// are two listings, and the first one is gone: portals redirect from an ended listing to another one.
    fn ingest(
        &self,
        job: &Job,
        final_url: &str,
        extraction: &Extraction,
        now: DateTime<Utc>,
    ) -> Attempt {
        let is_known = |digest| Ok(self.listings.known(digest)?.is_some());
        let digest = |address: &str| ListingUrl::parse(address).map(|url| url.digest());
        let asked = digest(&self.portals.canonical(&job.what.url));
        let moved_to =
            digest(final_url).filter(|found| *found != job.what.digest && Some(*found) != asked);
        let known: listings::Result<_> = is_known(&job.what.digest)
            .and_then(|asked| Ok((asked, moved_to.as_ref().map_or(Ok(false), is_known)?)));
        let address = match known {
            Ok((true, true)) => {
                return self.gone(job, "the portal sends it to another listing", now);
            }
            Ok((true, false)) => &job.what.url,
            Ok((false, _)) => final_url,
            Err(error) => return self.again(job, error.to_string(), None),
        };
        let Some(url) = ListingUrl::parse(address) else {
            let why = "its address is none of a listing";
            return self.reject(
                Rejected::new(RejectionCode::NotAListing, why),
                self.rejected_for,
            );
        };
        let host = Url::parse(address)
            .ok()
            .and_then(|url| url.host_str().map(str::to_owned));
        let mut advert = extraction.findings.advert();
        advert.insert("url".into(), json!(address));
        advert.insert(
            "source".into(),
            json!(self.portals.source(&host.unwrap_or_default())),
        );
        advert.insert("isOnline".into(), json!(true));
        advert.insert("lastSeenAt".into(), json!(Timestamp::new(now)));
        let origins: Map<String, Value> = extraction
            .findings
            .iter()
            .map(|(path, finding)| (path.to_owned(), json!(finding.origin)))
            .collect();
        let mut outcomes = match self.listings.ingest(vec![Value::Object(advert)]) {
            Ok(outcomes) => outcomes,
            Err(error) => return self.again(job, error.to_string(), None),
        };
        match outcomes.pop() {
            Some(Ok(_)) => Attempt::Ended {
                ended: Ended::Collected(url.digest()),
                origins: Some(Value::Object(origins).to_string()),
                remembered_until_ms: 0,
            },
            Some(Err(fault)) => self.reject(
                Rejected::new(RejectionCode::NotAListing, fault),
                self.rejected_for,
            ),
            None => self.again(job, "the store took nothing".into(), None),
        }
    }

    /// Records that the listing is gone: a known advert goes offline.
    fn gone(&self, job: &Job, why: &str, now: DateTime<Utc>) -> Attempt {
        let is_known = match self.listings.known(&job.what.digest) {
            Ok(known) => known.is_some(),
            Err(error) => return self.again(job, error.to_string(), None),
        };
        if is_known {
            let sighting =
                json!({"url": job.what.url, "isOnline": false, "lastSeenAt": Timestamp::new(now)});
            match self.listings.ingest(vec![sighting]) {
                Ok(_) => {}
                Err(error) => return self.again(job, error.to_string(), None),
            }
        }
        self.reject(Rejected::new(RejectionCode::Gone, why), self.rejected_for)
    }

    async fn failed(&self, job: &Job, failure: Failure, leave_alone: Option<Duration>) -> Attempt {
        let code = match &failure {
            Failure::Passing { reason, .. } => return self.again(job, reason.clone(), leave_alone),
            Failure::Status(408) => return self.again(job, failure.to_string(), leave_alone),
            Failure::Status(404 | 410) => {
                let (worker, job, why) = (self.clone(), job.clone(), failure.to_string());
                let now = self.clock.now();
                let own = job.clone();
                let gone = tokio::task::spawn_blocking(move || worker.gone(&own, &why, now)).await;
                return gone.unwrap_or_else(|error| self.again(&job, error.to_string(), None));
            }
            Failure::Elsewhere(trail) => return Attempt::Elsewhere(*trail.clone()),
            Failure::Refused(_) => RejectionCode::NotPublic,
            Failure::Robots(_) => RejectionCode::Robots,
            Failure::Status(401) => RejectionCode::LoginRequired,
            Failure::Status(_) => RejectionCode::Refused,
            Failure::TooLarge => RejectionCode::TooLarge,
            Failure::Redirects(_) => RejectionCode::Redirects,
            Failure::Encoding => RejectionCode::Unparsable,
        };
        self.reject(Rejected::new(code, failure), self.rejected_for)
    }

    /// Schedules a retry, as long as it may succeed.
    pub(super) fn again(
        &self,
        job: &Job,
        reason: String,
        leave_alone: Option<Duration>,
    ) -> Attempt {
        let Some(wait) = RETRY_AFTER.get(job.attempts as usize) else {
            return self.reject(
                Rejected::new(RejectionCode::Unreachable, reason),
                UNREACHABLE_FOR.min(self.rejected_for),
            );
        };
        let wait = wait
            .mul_f64(1.0 + JITTER * rand::random::<f64>())
            .max(leave_alone.unwrap_or_default());
        Attempt::Again {
            due_at_ms: self.clock.now().timestamp_millis() + wait.as_millis() as i64,
            reason,
        }
    }

    fn reject(&self, reason: Rejected, remembered_for: Duration) -> Attempt {
        Attempt::Ended {
            ended: Ended::Rejected(reason),
            origins: None,
            remembered_until_ms: self.clock.now().timestamp_millis()
                + remembered_for.as_millis() as i64,
        }
    }

    /// Stores a page as evidence in disputes, if the operator enabled it; a failure does not affect the collection.
    fn keep(&self, job: &Job, page: &Page, now: DateTime<Utc>) {
        let Some(folder) = &self.pages else { return };
        let name = format!(
            "{}-{}.html.zst",
            now.format("%Y%m%dT%H%M%S%3fZ"),
            job.what.id
        );
        let kept = zstd::bulk::compress(&page.bytes, PAGE_LEVEL).and_then(|bytes| {
            std::fs::create_dir_all(folder).and_then(|()| std::fs::write(folder.join(name), bytes))
        });
        if let Err(error) = kept {
            tracing::warn!(%error, "cannot store a page");
        }
    }
}

/// Whether a request for a listing was redirected to the home page, as some portals do when it is gone.
fn leads_to_front(asked: &str, found: &Url) -> bool {
    let was_deeper =
        Url::parse(asked).is_ok_and(|asked| asked.path() != "/" || asked.query().is_some());
    was_deeper && found.path() == "/" && found.query().is_none()
}
