//! Fetches one page of a portal politely, with limits on time and size, and only from public addresses.
//!
//! Redirects within a host are followed here; each step is checked like the first: form, address, `robots.txt`. A
//! redirect to another host is returned as a [`RedirectTrail`], so that the other host's own limits apply to the next
//! request. No proxy is used, so the connection goes to the address that was checked. The time limit covers only the
//! time spent on requests, from the first address to the last byte. The size limit applies after decompression, so a
//! decompression bomb is cut off early.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use chrono::Utc;
use futures::StreamExt;
use reqwest::header::{
    ACCEPT, ACCEPT_LANGUAGE, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION,
};
use reqwest::{Response, StatusCode, Url, redirect};
use tokio::time::{Instant, timeout_at};

use super::backoff::retry_after;
use super::egress::{EgressGuard, UrlRefusal};
use super::robots::{RobotsCache, RobotsRules};
use super::webhook_client::{causes, refusal};

/// User agent name that the rules of `robots.txt` files apply to.
pub const AGENT: &str = "toise";
/// Maximum time to connect: name, TCP and TLS together.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum time to fetch a page, redirects and body included.
pub const PAGE_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum size of a page, in bytes after decompression.
pub const PAGE_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Maximum bytes read from a `robots.txt`.
const ROBOTS_BYTES_MAX: usize = robotxt::BYTE_LIMIT;
/// Maximum time to fetch a `robots.txt`.
const ROBOTS_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum redirects from an address to its page.
const REDIRECTS_MAX: usize = 5;
/// Maximum idle connections per host, and the time they are kept open.
const IDLE_PER_HOST_MAX: usize = 2;
const IDLE_TIMEOUT: Duration = Duration::from_secs(4);

/// A page.
#[derive(Clone, Debug)]
pub struct FetchedPage {
    /// Final address, after redirects.
    pub url: Url,
    /// `Content-Type` of the response.
    pub content_type: Option<String>,
    /// Body, decompressed.
    pub bytes: Bytes,
}

/// Reason that a page could not be fetched.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FetchFailure {
    /// The egress guard refuses the address.
    #[error("the address {0}")]
    Refused(#[from] UrlRefusal),
    /// `robots.txt` forbids it.
    #[error("robots.txt of {0} forbids it")]
    Robots(String),
    /// The portal responded with an error status.
    #[error("the portal answered {0}")]
    Status(u16),
    /// The page is larger than any listing page.
    #[error("it exceeds {PAGE_BYTES_MAX} bytes")]
    TooLarge,
    /// The redirects are circular, too many or invalid.
    #[error("{0}")]
    Redirects(String),
    /// The page redirects to another host.
    #[error("it redirects to another host")]
    OtherHost(Box<RedirectTrail>),
    /// The response has a content encoding that was not requested.
    #[error("unsupported Content-Encoding")]
    Encoding,
    /// A temporary failure; a later attempt may succeed.
    #[error("{reason}")]
    Transient {
        /// Reason of the failure.
        reason: String,
        /// Time after which the portal allows another request.
        retry_after: Option<Duration>,
        /// Whether not even a connection could be made: the name does not exist, or no server answers.
        is_unreachable: bool,
    },
}

impl FetchFailure {
    fn transient(reason: impl Into<String>) -> Self {
        FetchFailure::Transient {
            reason: reason.into(),
            retry_after: None,
            is_unreachable: false,
        }
    }

    fn unreachable(reason: impl Into<String>) -> Self {
        FetchFailure::Transient {
            reason: reason.into(),
            retry_after: None,
            is_unreachable: true,
        }
    }
}

/// Progress of a fetch that continues at another host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RedirectTrail {
    next: Option<Url>,
    visited: Vec<String>,
    spent: Duration,
}

impl RedirectTrail {
    /// Returns the host at which the fetch continues; `None` if no redirect was followed yet.
    pub fn host(&self) -> Option<&str> {
        self.next.as_ref()?.host_str()
    }
}

/// Result of a fetch.
#[derive(Clone, Debug)]
pub struct FetchOutcome {
    /// The page, or why there is none.
    pub outcome: Result<FetchedPage, FetchFailure>,
    /// Pause between requests that the host's `robots.txt` demands.
    pub crawl_delay: Option<Duration>,
}

/// Fetches pages. Cheap to clone; clones share connections and cached `robots.txt` files.
#[derive(Clone, Debug)]
pub struct Fetcher {
    http: reqwest::Client,
    gate: EgressGuard,
    robots: RobotsCache,
    page_timeout: Duration,
}

impl Fetcher {
    /// Creates a fetcher whose requests are limited by an egress guard. `contact` is added to the user agent for
    /// portals that have questions; empty for none.
    ///
    /// # Errors
    /// TLS is not available on this machine.
    pub fn new(gate: EgressGuard, contact: &str) -> Result<Self, super::Error> {
        let mut agent = format!("{AGENT}/{}", env!("CARGO_PKG_VERSION"));
        if !contact.is_empty() {
            agent.push_str(&format!(" (+{contact})"));
        }
        let mut headers = HeaderMap::new();
        headers.insert(
            ACCEPT,
            HeaderValue::from_static("text/html,application/xhtml+xml;q=0.9,*/*;q=0.1"),
        );
        headers.insert(ACCEPT_LANGUAGE, HeaderValue::from_static("fr,en;q=0.5"));
        let http = crate::tls::client_builder()
            .user_agent(agent)
            .default_headers(headers)
            .dns_resolver(gate.clone())
            .no_proxy()
            .redirect(redirect::Policy::none())
            .retry(reqwest::retry::never())
            .connect_timeout(CONNECT_TIMEOUT)
            .pool_idle_timeout(IDLE_TIMEOUT)
            .pool_max_idle_per_host(IDLE_PER_HOST_MAX)
            .build()
            .map_err(super::Error::Setup)?;
        Ok(Self {
            http,
            gate,
            robots: RobotsCache::default(),
            page_timeout: PAGE_TIMEOUT,
        })
    }

    /// Sets the maximum time to fetch a page.
    pub fn with_page_timeout(self, page_timeout: Duration) -> Self {
        Self {
            page_timeout,
            ..self
        }
    }

    /// Checks an address without network access.
    ///
    /// # Errors
    /// Why the address is refused.
    pub fn check(&self, url: &str) -> Result<Url, UrlRefusal> {
        self.gate.check_page(url)
    }

    /// Fetches a page, or continues where its trail ended. Takes at most the page timeout (default [`PAGE_TIMEOUT`]),
    /// summed over all hosts of the trail.
    pub async fn fetch(&self, url: &str, trail: &RedirectTrail) -> FetchOutcome {
        let mut crawl_delay = None;
        let started = Instant::now();
        let deadline = started + self.page_timeout.saturating_sub(trail.spent);
        let page = timeout_at(deadline, self.follow(url, trail, &mut crawl_delay)).await;
        let seconds = self.page_timeout.as_secs_f32();
        let late = || {
            Err(FetchFailure::transient(format!(
                "no complete page within {seconds} s"
            )))
        };
        let mut outcome = page.unwrap_or_else(|_| late());
        if let Err(FetchFailure::OtherHost(trail)) = &mut outcome {
            trail.spent += started.elapsed();
        }
        FetchOutcome {
            outcome,
            crawl_delay,
        }
    }

    async fn follow(
        &self,
        url: &str,
        trail: &RedirectTrail,
        crawl_delay: &mut Option<Duration>,
    ) -> Result<FetchedPage, FetchFailure> {
        let mut url = match &trail.next {
            Some(next) => next.clone(),
            None => self.gate.check_page(url)?,
        };
        let mut visited = trail.visited.clone();
        loop {
            let address = url.to_string();
            if visited.contains(&address) {
                return Err(FetchFailure::Redirects("it redirects in a loop".into()));
            }
            visited.push(address);
            if visited.len() > REDIRECTS_MAX + 1 {
                return Err(FetchFailure::Redirects(format!(
                    "it redirects more than {REDIRECTS_MAX} times"
                )));
            }
            let rules = self
                .robots
                .rules(&url, |address| self.fetch_robots(address))
                .await;
            *crawl_delay = rules.crawl_delay();
            let host = url.host_str().unwrap_or_default().to_owned();
            match &rules {
                RobotsRules::Known(known) if known.allow(&url) => {}
                RobotsRules::Known(_) => return Err(FetchFailure::Robots(host)),
                RobotsRules::Unavailable {
                    reason,
                    is_unreachable,
                } => {
                    return Err(FetchFailure::Transient {
                        reason: format!("robots.txt of {host} is unavailable: {reason}"),
                        retry_after: None,
                        is_unreachable: *is_unreachable,
                    });
                }
            }
            let response = self.get(&url).await?;
            match self.redirected(&url, &response)? {
                None => return read_page(url, response).await,
                Some(next) if next.host_str() == Some(&host) => url = next,
                Some(next) => {
                    return Err(FetchFailure::OtherHost(Box::new(RedirectTrail {
                        next: Some(next),
                        visited,
                        spent: trail.spent,
                    })));
                }
            }
        }
    }

    /// Returns the target of a redirect, checked like the first address; `None` for any other response.
    fn redirected(&self, url: &Url, response: &Response) -> Result<Option<Url>, FetchFailure> {
        if !response.status().is_redirection() || response.status() == StatusCode::NOT_MODIFIED {
            return Ok(None);
        }
        let location = response.headers().get(LOCATION);
        let target = location.and_then(|location| std::str::from_utf8(location.as_bytes()).ok());
        let mut next = target
            .and_then(|target| url.join(target).ok())
            .ok_or_else(|| FetchFailure::Redirects("it redirects to an invalid address".into()))?;
        next.set_fragment(None);
        Ok(Some(self.gate.check_page(next.as_str())?))
    }

    async fn get(&self, url: &Url) -> Result<Response, FetchFailure> {
        self.http
            .get(url.clone())
            .send()
            .await
            .map_err(|error| match refusal(&error) {
                Some(refused @ UrlRefusal::Unresolved(_)) => {
                    FetchFailure::unreachable(refused.to_string())
                }
                Some(refused) => FetchFailure::Refused(refused),
                None if error.is_connect() => FetchFailure::unreachable(causes(&error)),
                None => FetchFailure::transient(causes(&error)),
            })
    }

    async fn fetch_robots(&self, address: Url) -> RobotsRules {
        let read = tokio::time::timeout(ROBOTS_TIMEOUT, self.read_robots(address)).await;
        match read {
            Ok(Ok(rules)) => rules,
            // If the guard refuses `robots.txt`, the request for the page fails with the same reason.
            Ok(Err(FetchFailure::Refused(_))) => RobotsRules::none(),
            Ok(Err(failure)) => RobotsRules::Unavailable {
                reason: failure.to_string(),
                is_unreachable: matches!(
                    failure,
                    FetchFailure::Transient {
                        is_unreachable: true,
                        ..
                    }
                ),
            },
            Err(_) => RobotsRules::Unavailable {
                reason: format!("no answer within {} s", ROBOTS_TIMEOUT.as_secs()),
                is_unreachable: false,
            },
        }
    }

    async fn read_robots(&self, mut address: Url) -> Result<RobotsRules, FetchFailure> {
        for _ in 0..=REDIRECTS_MAX {
            let response = self.get(&address).await?;
            match self.redirected(&address, &response) {
                Ok(Some(next)) => {
                    address = next;
                    continue;
                }
                // A redirect to an invalid address counts as a missing file.
                Err(_) => return Ok(RobotsRules::none()),
                Ok(None) => {}
            }
            let status = response.status();
            return match status {
                _ if status.is_success() => {
                    let (bytes, _) = read_body(response, ROBOTS_BYTES_MAX).await?;
                    Ok(RobotsRules::parse(&bytes, AGENT))
                }
                StatusCode::TOO_MANY_REQUESTS => {
                    Err(FetchFailure::transient("the portal answered 429"))
                }
                _ if status.is_server_error() => Err(FetchFailure::transient(format!(
                    "the portal answered {status}"
                ))),
                _ => Ok(RobotsRules::none()),
            };
        }
        Ok(RobotsRules::none())
    }
}

async fn read_page(url: Url, response: Response) -> Result<FetchedPage, FetchFailure> {
    let status = response.status();
    if status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error() {
        return Err(FetchFailure::Transient {
            reason: format!("the portal answered {}", status.as_u16()),
            retry_after: retry_after(response.headers(), Utc::now()),
            is_unreachable: false,
        });
    }
    if status != StatusCode::OK {
        return Err(FetchFailure::Status(status.as_u16()));
    }
    // Responses decompressed by the client no longer have this header.
    let encoding = response.headers().get(CONTENT_ENCODING);
    if encoding.is_some_and(|encoding| !encoding.as_bytes().eq_ignore_ascii_case(b"identity")) {
        return Err(FetchFailure::Encoding);
    }
    if response
        .content_length()
        .is_some_and(|length| length > PAGE_BYTES_MAX as u64)
    {
        return Err(FetchFailure::TooLarge);
    }
    let content_type = response.headers().get(CONTENT_TYPE);
    let content_type = content_type
        .and_then(|value| value.to_str().ok())
        .map(str::to_owned);
    match read_body(response, PAGE_BYTES_MAX).await? {
        (_, BodyRemainder::Unread) => Err(FetchFailure::TooLarge),
        (bytes, BodyRemainder::None) => Ok(FetchedPage {
            url,
            content_type,
            bytes,
        }),
    }
}

/// Whether bytes of a body remain unread.
enum BodyRemainder {
    None,
    Unread,
}

async fn read_body(
    response: Response,
    bytes_max: usize,
) -> Result<(Bytes, BodyRemainder), FetchFailure> {
    let mut bytes = BytesMut::new();
    let mut body = response.bytes_stream();
    while let Some(chunk) = body.next().await {
        let chunk = chunk.map_err(|error| {
            FetchFailure::transient(format!(
                "the connection was lost while reading the page: {}",
                causes(&error)
            ))
        })?;
        let room = bytes_max - bytes.len();
        bytes.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if chunk.len() > room {
            return Ok((bytes.freeze(), BodyRemainder::Unread));
        }
    }
    Ok((bytes.freeze(), BodyRemainder::None))
}
