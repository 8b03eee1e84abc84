//! The outgoing client for downloads: limits of time and size, patience with servers that ask for it, resumption.
//!
//! It goes where an operator sends it (official sources, mirrors). Addresses that come from customers go through
//! [`super::post`], which asks [`super::receiver`] where it may go.

use std::time::Duration;

use chrono::Utc;
use futures::StreamExt;
use reqwest::{Response, StatusCode};

use super::polite::{backoff, retry_after};

/// Why something could not be had.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The client could not be set up.
    #[error("cannot set up the HTTP client: {0}")]
    Setup(reqwest::Error),
    /// The server answered that it will not give it.
    #[error("{url}: the server answered {status}")]
    Status {
        /// Address asked.
        url: String,
        /// Its answer.
        status: StatusCode,
    },
    /// The server kept failing or breaking off.
    #[error("{url}: gave up after {attempts} attempts: {reason}")]
    GaveUp {
        /// Address asked.
        url: String,
        /// Attempts without progress.
        attempts: u32,
        /// What went wrong last.
        reason: String,
    },
    /// The server asks for a longer wait than this client grants.
    #[error("{url}: the server asks to wait {seconds} s; try again later")]
    TooBusy {
        /// Address asked.
        url: String,
        /// Wait asked for.
        seconds: u64,
    },
    /// More bytes than the caller takes.
    #[error("{url}: more than {bytes_max} bytes")]
    TooLarge {
        /// Address asked.
        url: String,
        /// Most bytes taken.
        bytes_max: u64,
    },
    /// A file could not be written.
    #[error("{path}: {source}")]
    File {
        /// Which file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
}

/// How patient the client is.
#[derive(Clone, Debug)]
pub struct Policy {
    /// Attempts in a row without a byte of progress.
    pub attempts_max: u32,
    /// First wait after a failure; it doubles each time, with jitter.
    pub backoff_first: Duration,
    /// Longest wait after a failure.
    pub backoff_max: Duration,
    /// Longest `Retry-After` honoured.
    pub retry_after_max: Duration,
    /// Time to connect.
    pub connect_timeout: Duration,
    /// Longest silence within an answer.
    pub read_timeout: Duration,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            attempts_max: 6,
            backoff_first: Duration::from_millis(500),
            backoff_max: Duration::from_secs(30),
            retry_after_max: Duration::from_secs(300),
            connect_timeout: Duration::from_secs(10),
            read_timeout: Duration::from_secs(60),
        }
    }
}

/// The client.
#[derive(Clone, Debug)]
pub struct Client {
    http: reqwest::Client,
    /// Takes bytes as they are stored, so that ranges and sizes mean the file.
    pub(super) verbatim: reqwest::Client,
    pub(super) policy: Policy,
}

/// What an attempt came to.
pub(super) enum Attempt {
    /// An answer worth reading.
    Answer(Response),
    /// Another attempt is due after this wait.
    Again {
        /// Time to wait.
        wait: Duration,
        /// What went wrong.
        reason: String,
    },
}

impl Client {
    /// Sets up a client.
    pub fn new(policy: Policy) -> Result<Self, Error> {
        let builder = || {
            crate::tls::client_builder()
                .user_agent(concat!("toise/", env!("CARGO_PKG_VERSION")))
                .connect_timeout(policy.connect_timeout)
                .read_timeout(policy.read_timeout)
        };
        Ok(Self {
            http: builder().build().map_err(Error::Setup)?,
            verbatim: builder().gzip(false).build().map_err(Error::Setup)?,
            policy,
        })
    }

    /// Gets a body of at most `bytes_max` bytes, trying again where that may help.
    pub async fn get(&self, url: &str, bytes_max: u64) -> Result<Vec<u8>, Error> {
        let mut attempts = 0;
        loop {
            attempts += 1;
            let (wait, reason) = match self.attempt(self.http.get(url), url, attempts).await? {
                Attempt::Again { wait, reason } => (wait, reason),
                Attempt::Answer(answer) => match read(answer, url, bytes_max).await? {
                    Ok(body) => return Ok(body),
                    Err(reason) => (backoff(&self.policy, attempts), reason),
                },
            };
            self.pause(url, attempts, wait, reason).await?;
        }
    }

    /// Sends a request once and tells a final answer from one to try again.
    pub(super) async fn attempt(
        &self,
        request: reqwest::RequestBuilder,
        url: &str,
        attempts: u32,
    ) -> Result<Attempt, Error> {
        let answer = match request.send().await {
            Ok(answer) => answer,
            Err(error) => {
                return Ok(Attempt::Again {
                    wait: backoff(&self.policy, attempts),
                    reason: explain(&error),
                });
            }
        };
        let status = answer.status();
        if status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error() {
            let asked = retry_after(answer.headers(), Utc::now());
            if let Some(asked) = asked.filter(|asked| *asked > self.policy.retry_after_max) {
                return Err(Error::TooBusy {
                    url: url.to_owned(),
                    seconds: asked.as_secs(),
                });
            }
            return Ok(Attempt::Again {
                wait: asked.unwrap_or_else(|| backoff(&self.policy, attempts)),
                reason: format!("the server answered {status}"),
            });
        }
        Ok(Attempt::Answer(answer))
    }

    /// Waits before another attempt, or gives up.
    pub(super) async fn pause(
        &self,
        url: &str,
        attempts: u32,
        wait: Duration,
        reason: String,
    ) -> Result<(), Error> {
        if attempts >= self.policy.attempts_max {
            return Err(Error::GaveUp {
                url: url.to_owned(),
                attempts,
                reason,
            });
        }
        tracing::info!(url, attempts, ?wait, reason, "trying again");
        tokio::time::sleep(wait).await;
        Ok(())
    }
}

/// Reads a body; the inner error is one that another attempt may cure.
async fn read(
    answer: Response,
    url: &str,
    bytes_max: u64,
) -> Result<Result<Vec<u8>, String>, Error> {
    let status = answer.status();
    if !status.is_success() {
        return Err(Error::Status {
            url: url.to_owned(),
            status,
        });
    }
    let mut body = Vec::new();
    let mut stream = answer.bytes_stream();
    while let Some(bytes) = stream.next().await {
        match bytes {
            Ok(bytes) => body.extend_from_slice(&bytes),
            Err(error) => return Ok(Err(explain(&error))),
        }
        if body.len() as u64 > bytes_max {
            return Err(Error::TooLarge {
                url: url.to_owned(),
                bytes_max,
            });
        }
    }
    Ok(Ok(body))
}

/// The error with its causes: reqwest keeps the telling part in them.
pub(super) fn explain(error: &reqwest::Error) -> String {
    use std::error::Error as _;
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(source) = cause {
        text = format!("{text}: {source}");
        cause = source.source();
    }
    text
}
