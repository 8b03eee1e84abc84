//! The HTTP client for downloads: limits time and size, honours `Retry-After`, resumes interrupted downloads.
//!
//! It fetches addresses that an operator configures (official sources, mirrors). Requests to addresses from customers
//! go through [`super::webhook_client`], which checks them with [`super::egress`].

use std::time::Duration;

use chrono::Utc;
use futures::StreamExt;
use reqwest::{Response, StatusCode};

use super::backoff::{ReadThrottle, RetryPolicy, backoff, retry_after};

/// Errors of downloads.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The client could not be set up.
    #[error("cannot set up the HTTP client: {0}")]
    Setup(reqwest::Error),
    /// The server answered with an error status.
    #[error("{url}: the server answered {status}")]
    Status {
        /// URL of the request.
        url: String,
        /// Status of the response.
        status: StatusCode,
    },
    /// The server kept failing, or the connection kept breaking off.
    #[error("{url}: gave up after {attempts} attempts: {reason}")]
    RetriesExhausted {
        /// URL of the request.
        url: String,
        /// Attempts without progress.
        attempts: u32,
        /// Reason of the last failure.
        reason: String,
    },
    /// The server requires a longer wait than this client accepts.
    #[error("{url}: the server requires a wait of {seconds} s; try again later")]
    TooBusy {
        /// URL of the request.
        url: String,
        /// Required wait, in seconds.
        seconds: u64,
    },
    /// The response is larger than the caller accepts.
    #[error("{url}: more than {bytes_max} bytes")]
    TooLarge {
        /// URL of the request.
        url: String,
        /// Maximum size, in bytes.
        bytes_max: u64,
    },
    /// A file could not be written.
    #[error("{path}: {source}")]
    File {
        /// Path of the file.
        path: String,
        /// The operating system's error.
        source: std::io::Error,
    },
}

/// The client for downloads. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Client {
    http: reqwest::Client,
    /// Client without decompression, so that ranges and sizes refer to the stored file.
    pub(super) verbatim: reqwest::Client,
    pub(super) policy: RetryPolicy,
}

/// Result of one attempt.
pub(super) enum RequestOutcome {
    /// A response that is final.
    Response(Response),
    /// The attempt failed; another is due after the wait.
    Retry {
        /// Time to wait.
        wait: Duration,
        /// Reason of the failure.
        reason: String,
    },
}

impl Client {
    /// Creates a client.
    pub fn new(policy: RetryPolicy) -> Result<Self, Error> {
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

    /// Downloads a body of at most `bytes_max` bytes, retrying temporary failures.
    pub async fn get(&self, url: &str, bytes_max: u64) -> Result<Vec<u8>, Error> {
        let mut attempts = 0;
        loop {
            attempts += 1;
            let (wait, reason) = match self.attempt(self.http.get(url), url, attempts).await? {
                RequestOutcome::Retry { wait, reason } => (wait, reason),
                RequestOutcome::Response(response) => {
                    match read(response, url, bytes_max, ReadThrottle::new(&self.policy)).await? {
                        Ok(body) => return Ok(body),
                        Err(reason) => (backoff(&self.policy, attempts), reason),
                    }
                }
            };
            self.pause(url, attempts, wait, reason).await?;
        }
    }

    /// Sends a request once and distinguishes a final response from a failure to retry.
    pub(super) async fn attempt(
        &self,
        request: reqwest::RequestBuilder,
        url: &str,
        attempts: u32,
    ) -> Result<RequestOutcome, Error> {
        let response = match request.send().await {
            Ok(response) => response,
            Err(error) => {
                return Ok(RequestOutcome::Retry {
                    wait: backoff(&self.policy, attempts),
                    reason: explain(&error),
                });
            }
        };
        let status = response.status();
        if status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error() {
            let asked = retry_after(response.headers(), Utc::now());
            if let Some(asked) = asked.filter(|asked| *asked > self.policy.retry_after_max) {
                return Err(Error::TooBusy {
                    url: url.to_owned(),
                    seconds: asked.as_secs(),
                });
            }
            return Ok(RequestOutcome::Retry {
                wait: asked.unwrap_or_else(|| backoff(&self.policy, attempts)),
                reason: format!("the server answered {status}"),
            });
        }
        Ok(RequestOutcome::Response(response))
    }

    /// Waits before another attempt; an error when the maximum number of attempts is reached.
    pub(super) async fn pause(
        &self,
        url: &str,
        attempts: u32,
        wait: Duration,
        reason: String,
    ) -> Result<(), Error> {
        // The error and the log line name this URL already. That of a redirect stays.
        let reason = reason.replace(&format!(" for url ({url})"), "");
        if attempts >= self.policy.attempts_max {
            return Err(Error::RetriesExhausted {
                url: url.to_owned(),
                attempts,
                reason,
            });
        }
        tracing::info!(url, attempts, ?wait, reason, "retrying the request");
        tokio::time::sleep(wait).await;
        Ok(())
    }
}

/// Reads a body; the inner error is temporary and may be retried.
async fn read(
    response: Response,
    url: &str,
    bytes_max: u64,
    mut throttle: ReadThrottle,
) -> Result<Result<Vec<u8>, String>, Error> {
    let status = response.status();
    if !status.is_success() {
        return Err(Error::Status {
            url: url.to_owned(),
            status,
        });
    }
    let mut body = Vec::new();
    let mut stream = response.bytes_stream();
    while let Some(bytes) = stream.next().await {
        match bytes {
            Ok(bytes) => {
                throttle.wait_for(bytes.len()).await;
                body.extend_from_slice(&bytes);
            }
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

/// Formats an error with its causes, since reqwest puts the informative part into them.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_failed_download_names_its_address_once() {
        let policy = RetryPolicy {
            attempts_max: 1,
            ..RetryPolicy::default()
        };
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/48.csv.gz", listener.local_addr().unwrap());
        // Nobody listens there any more.
        drop(listener);
        let client = Client::new(policy).unwrap();
        let failed = client.get(&url, 1).await.unwrap_err().to_string();
        assert_eq!(failed.matches(&url).count(), 1, "{failed}");
    }
}
