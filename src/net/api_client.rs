//! Calls a server of this project that the operator names, for example by `toise sql --url`.
//!
//! The address is the operator's own choice, so it may be a private one, unlike the addresses of customers.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures::{Stream, TryStreamExt};
use reqwest::Method;
use serde_json::Value;

/// Maximum time to connect.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum bytes of an error response that are read.
const ERROR_BYTES_MAX: usize = 64 << 10;

/// Errors of a call.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The server cannot be reached, or the connection broke off.
    #[error("{url}: {}", reason(.source))]
    Connection {
        /// Address of the server.
        url: String,
        /// The cause.
        source: reqwest::Error,
    },
    /// The server answered with an error.
    #[error("{0}")]
    Refused(String),
    /// The response is longer than the caller accepts.
    #[error("the answer is longer than {0} bytes")]
    TooLong(usize),
}

/// Returns the innermost reason, which is more informative than the outer ones.
fn reason(error: &reqwest::Error) -> String {
    let mut innermost: &dyn std::error::Error = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}

/// A client of one server. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ApiClient {
    http: reqwest::Client,
    url: String,
    key: String,
}

impl ApiClient {
    /// Creates a client of the server at `url` with an API key.
    ///
    /// # Errors
    /// The client cannot be set up.
    pub fn new(url: &str, key: &str) -> Result<Self, Error> {
        let url = url.trim_end_matches('/').to_owned();
        let built = crate::tls::client_builder()
            .user_agent(concat!("toise/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT_TIMEOUT)
            .build();
        match built {
            Ok(http) => Ok(Self {
                http,
                url,
                key: key.to_owned(),
            }),
            Err(source) => Err(Error::Connection { url, source }),
        }
    }

    /// Sends a request, with a JSON body if there is one. Returns the status and the whole body of the response, also of
    /// an error. `target` is the path, with the query if there is one.
    ///
    /// # Errors
    /// The server cannot be reached, or answers with more than `bytes_max` bytes.
    pub async fn send(
        &self,
        method: Method,
        target: &str,
        body: Option<Bytes>,
        bytes_max: usize,
    ) -> Result<(u16, Bytes), Error> {
        let failed = |source| Error::Connection {
            url: self.url.clone(),
            source,
        };
        let mut request = self
            .http
            .request(method, format!("{}{target}", self.url))
            .header("x-api-key", &self.key)
            .header("accept", "application/json");
        if let Some(body) = body {
            request = request
                .header("content-type", "application/json")
                .body(body);
        }
        let mut response = request.send().await.map_err(failed)?;
        let status = response.status().as_u16();
        let mut whole = BytesMut::new();
        while let Some(chunk) = response.chunk().await.map_err(failed)? {
            if whole.len() + chunk.len() > bytes_max {
                return Err(Error::TooLong(bytes_max));
            }
            whole.extend_from_slice(&chunk);
        }
        Ok((status, whole.freeze()))
    }

    /// Posts a JSON body to a path and returns the body of the response as a stream; dropping the stream closes the
    /// connection.
    ///
    /// # Errors
    /// The server cannot be reached, or answers with an error, whose message is returned.
    pub async fn post(
        &self,
        path: &str,
        accept: &str,
        body: &Value,
    ) -> Result<impl Stream<Item = Result<Bytes, Error>> + Send + use<>, Error> {
        let failed = |source| Error::Connection {
            url: self.url.clone(),
            source,
        };
        let request = self
            .http
            .post(format!("{}{path}", self.url))
            .header("x-api-key", &self.key)
            .header("accept", accept)
            .json(body);
        let mut response = request.send().await.map_err(failed)?;
        if response.status().is_success() {
            let url = self.url.clone();
            let failed = move |source| Error::Connection {
                url: url.clone(),
                source,
            };
            return Ok(response.bytes_stream().map_err(failed));
        }
        let status = response.status();
        let mut text = Vec::new();
        while text.len() < ERROR_BYTES_MAX {
            match response.chunk().await.map_err(failed)? {
                Some(chunk) => text.extend_from_slice(&chunk),
                None => break,
            }
        }
        let error: Value = serde_json::from_slice(&text).unwrap_or_default();
        let message = error["error"]["message"].as_str().map(str::to_owned);
        let message = message.unwrap_or_else(|| format!("the server answered {status}"));
        Err(Error::Refused(message))
    }
}
