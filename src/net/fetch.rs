//! One page of a portal: fetched with manners, bounded in time and bytes, from public addresses only.
//!
//! Redirects within a host are followed here, each step checked like the first: form, address, `robots.txt`. One that
//! leads to another host is given back as a [`Trail`], so that the other is asked when it is its turn. No proxy stands
//! between, so the address that was checked is the one connected to. The time of a page counts while it is asked for,
//! from the first address to its last byte; bytes are counted after decompression, so a bomb ends early.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use chrono::Utc;
use futures::StreamExt;
use reqwest::header::{
    ACCEPT, ACCEPT_LANGUAGE, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION,
};
use reqwest::{Response, StatusCode, Url, redirect};
use tokio::time::{Instant, timeout_at};

use super::polite::retry_after;
use super::post::{causes, refusal};
use super::receiver::{Gate, Refused};
use super::robots::{Files, Rules};

/// Name by which `robots.txt` files speak of this program.
pub const AGENT: &str = "toise";
/// Longest wait for a connection: name, TCP and TLS together.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Longest a page may take, redirects and body included.
pub const PAGE_TIMEOUT: Duration = Duration::from_secs(30);
/// Greatest page, bytes after decompression.
pub const PAGE_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Greatest `robots.txt` that is read.
const ROBOTS_BYTES_MAX: usize = robotxt::BYTE_LIMIT;
/// Longest a `robots.txt` may take.
const ROBOTS_TIMEOUT: Duration = Duration::from_secs(10);
/// Redirects followed from one address to its page.
const REDIRECTS_MAX: usize = 5;
/// Connections kept without use for each host, and for how long.
const IDLE_PER_HOST_MAX: usize = 2;
const IDLE_TIMEOUT: Duration = Duration::from_secs(4);

/// A page.
#[derive(Clone, Debug)]
pub struct Page {
    /// Where it was found in the end.
    pub url: Url,
    /// `Content-Type` of the answer.
    pub content_type: Option<String>,
    /// Its bytes, decompressed.
    pub bytes: Bytes,
}

/// Why there is no page.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// It may not be gone to.
    #[error("the address {0}")]
    Refused(#[from] Refused),
    /// `robots.txt` forbids it.
    #[error("robots.txt of {0} forbids it")]
    Robots(String),
    /// The portal says so.
    #[error("the portal answered {0}")]
    Status(u16),
    /// It is larger than any listing.
    #[error("it exceeds {PAGE_BYTES_MAX} bytes")]
    TooLarge,
    /// Redirects lead nowhere.
    #[error("{0}")]
    Redirects(String),
    /// It is at another host.
    #[error("it goes on at another host")]
    Elsewhere(Box<Trail>),
    /// It came in an encoding that was not asked for.
    #[error("it is encoded in a way that was not asked for")]
    Encoding,
    /// It could not be had now; another time it may.
    #[error("{reason}")]
    Passing {
        /// What happened.
        reason: String,
        /// How long the portal asks to be left alone.
        retry_after: Option<Duration>,
    },
}

impl Failure {
    fn passing(reason: impl Into<String>) -> Self {
        Failure::Passing {
            reason: reason.into(),
            retry_after: None,
        }
    }
}

/// How far a page was followed that goes on at another host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trail {
    next: Option<Url>,
    visited: Vec<String>,
    spent: Duration,
}

impl Trail {
    /// The host it goes on at; `None` where nothing was followed yet.
    pub fn host(&self) -> Option<&str> {
        self.next.as_ref()?.host_str()
    }
}

/// What came of a fetch.
#[derive(Clone, Debug)]
pub struct Fetched {
    /// The page, or why there is none.
    pub outcome: Result<Page, Failure>,
    /// Time between requests that `robots.txt` of the host asks for.
    pub crawl_delay: Option<Duration>,
}

/// Fetches pages. Cheap to clone; keeps connections and `robots.txt` files.
#[derive(Clone, Debug)]
pub struct Fetcher {
    http: reqwest::Client,
    gate: Gate,
    robots: Files,
    page_timeout: Duration,
}

impl Fetcher {
    /// A fetcher that goes where a gate lets it; `contact` tells portals whom to ask, empty for nobody.
    ///
    /// # Errors
    /// No TLS on this machine.
    pub fn new(gate: Gate, contact: &str) -> Result<Self, super::Error> {
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
            robots: Files::default(),
            page_timeout: PAGE_TIMEOUT,
        })
    }

    /// The same with another time for a page.
    pub fn with_page_timeout(self, page_timeout: Duration) -> Self {
        Self {
            page_timeout,
            ..self
        }
    }

    /// Checks what can be told of an address without asking anybody.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn check(&self, url: &str) -> Result<Url, Refused> {
        self.gate.check_page(url)
    }

    /// Gets a page, or goes on with it where its trail led. Takes [`PAGE_TIMEOUT`] at most, all parts together.
    pub async fn fetch(&self, url: &str, trail: &Trail) -> Fetched {
        let mut crawl_delay = None;
        let started = Instant::now();
        let deadline = started + self.page_timeout.saturating_sub(trail.spent);
        let page = timeout_at(deadline, self.follow(url, trail, &mut crawl_delay)).await;
        let seconds = self.page_timeout.as_secs_f32();
        let late = || {
            Err(Failure::passing(format!(
                "no whole page within {seconds} s"
            )))
        };
        let mut outcome = page.unwrap_or_else(|_| late());
        if let Err(Failure::Elsewhere(trail)) = &mut outcome {
            trail.spent += started.elapsed();
        }
        Fetched {
            outcome,
            crawl_delay,
        }
    }

    async fn follow(
        &self,
        url: &str,
        trail: &Trail,
        crawl_delay: &mut Option<Duration>,
    ) -> Result<Page, Failure> {
        let mut url = match &trail.next {
            Some(next) => next.clone(),
            None => self.gate.check_page(url)?,
        };
        let mut visited = trail.visited.clone();
        loop {
            let address = url.to_string();
            if visited.contains(&address) {
                return Err(Failure::Redirects("it redirects in a circle".into()));
            }
            visited.push(address);
            if visited.len() > REDIRECTS_MAX + 1 {
                return Err(Failure::Redirects(format!(
                    "it redirects more than {REDIRECTS_MAX} times"
                )));
            }
            let rules = self
                .robots
                .of(&url, |address| self.robots_of(address))
                .await;
            *crawl_delay = rules.crawl_delay();
            let host = url.host_str().unwrap_or_default().to_owned();
            match &rules {
                Rules::Known(known) if known.allow(&url) => {}
                Rules::Known(_) => return Err(Failure::Robots(host)),
                Rules::Unreachable(reason) => {
                    return Err(Failure::passing(format!(
                        "robots.txt of {host} cannot be had: {reason}"
                    )));
                }
            }
            let response = self.get(&url).await?;
            match self.redirected(&url, &response)? {
                None => return read_page(url, response).await,
                Some(next) if next.host_str() == Some(&host) => url = next,
                Some(next) => {
                    return Err(Failure::Elsewhere(Box::new(Trail {
                        next: Some(next),
                        visited,
                        spent: trail.spent,
                    })));
                }
            }
        }
    }

    /// Where an answer sends on to, checked like the first address.
    fn redirected(&self, url: &Url, response: &Response) -> Result<Option<Url>, Failure> {
        if !response.status().is_redirection() || response.status() == StatusCode::NOT_MODIFIED {
            return Ok(None);
        }
        let location = response.headers().get(LOCATION);
        let target = location.and_then(|location| std::str::from_utf8(location.as_bytes()).ok());
        let mut next = target
            .and_then(|target| url.join(target).ok())
            .ok_or_else(|| Failure::Redirects("it redirects to no address".into()))?;
        next.set_fragment(None);
        Ok(Some(self.gate.check_page(next.as_str())?))
    }

    async fn get(&self, url: &Url) -> Result<Response, Failure> {
        self.http
            .get(url.clone())
            .send()
            .await
            .map_err(|error| match refusal(&error) {
                Some(refused @ Refused::Unresolved(_)) => Failure::passing(refused.to_string()),
                Some(refused) => Failure::Refused(refused),
                None => Failure::passing(causes(&error)),
            })
    }

    async fn robots_of(&self, address: Url) -> Rules {
        let read = tokio::time::timeout(ROBOTS_TIMEOUT, self.read_robots(address)).await;
        match read {
            Ok(Ok(rules)) => rules,
            // Where it may not be gone to, the page says so itself.
            Ok(Err(Failure::Refused(_))) => Rules::none(),
            Ok(Err(failure)) => Rules::Unreachable(failure.to_string()),
            Err(_) => {
                Rules::Unreachable(format!("no answer within {} s", ROBOTS_TIMEOUT.as_secs()))
            }
        }
    }

    async fn read_robots(&self, mut address: Url) -> Result<Rules, Failure> {
        for _ in 0..=REDIRECTS_MAX {
            let response = self.get(&address).await?;
            match self.redirected(&address, &response) {
                Ok(Some(next)) => {
                    address = next;
                    continue;
                }
                // A file behind an address that is none is not there.
                Err(_) => return Ok(Rules::none()),
                Ok(None) => {}
            }
            let status = response.status();
            return match status {
                _ if status.is_success() => {
                    let (bytes, _) = read_body(response, ROBOTS_BYTES_MAX).await?;
                    Ok(Rules::parse(&bytes, AGENT))
                }
                StatusCode::TOO_MANY_REQUESTS => Err(Failure::passing("the portal answered 429")),
                _ if status.is_server_error() => {
                    Err(Failure::passing(format!("the portal answered {status}")))
                }
                _ => Ok(Rules::none()),
            };
        }
        Ok(Rules::none())
    }
}

async fn read_page(url: Url, response: Response) -> Result<Page, Failure> {
    let status = response.status();
    if status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error() {
        return Err(Failure::Passing {
            reason: format!("the portal answered {}", status.as_u16()),
            retry_after: retry_after(response.headers(), Utc::now()),
        });
    }
    if status != StatusCode::OK {
        return Err(Failure::Status(status.as_u16()));
    }
    // What was compressed as asked has no such header any more.
    let encoding = response.headers().get(CONTENT_ENCODING);
    if encoding.is_some_and(|encoding| !encoding.as_bytes().eq_ignore_ascii_case(b"identity")) {
        return Err(Failure::Encoding);
    }
    if response
        .content_length()
        .is_some_and(|length| length > PAGE_BYTES_MAX as u64)
    {
        return Err(Failure::TooLarge);
    }
    let content_type = response.headers().get(CONTENT_TYPE);
    let content_type = content_type
        .and_then(|value| value.to_str().ok())
        .map(str::to_owned);
    match read_body(response, PAGE_BYTES_MAX).await? {
        (_, Rest::Unread) => Err(Failure::TooLarge),
        (bytes, Rest::None) => Ok(Page {
            url,
            content_type,
            bytes,
        }),
    }
}

/// Whether a body went on after what was read of it.
enum Rest {
    None,
    Unread,
}

async fn read_body(response: Response, bytes_max: usize) -> Result<(Bytes, Rest), Failure> {
    let mut bytes = BytesMut::new();
    let mut body = response.bytes_stream();
    while let Some(chunk) = body.next().await {
        let chunk = chunk
            .map_err(|error| Failure::passing(format!("the page broke off: {}", causes(&error))))?;
        let room = bytes_max - bytes.len();
        bytes.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if chunk.len() > room {
            return Ok((bytes.freeze(), Rest::Unread));
        }
    }
    Ok((bytes.freeze(), Rest::None))
}
