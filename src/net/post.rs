//! One POST to a customer's receiver: bounded in time and in what is read, to public addresses only.
//!
//! The second an answer may take counts from when the whole request is out, not from when a connection was asked for or
//! while a long body goes over a slow line, so the body tells when it is first and last taken. No proxy stands between
//! (the address that was checked is the one connected to), redirects are answers like others, and of a body only so much
//! is read as keeps the connection usable.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use chrono::{DateTime, Utc};
use futures::StreamExt;
use hyper::body::{Frame, SizeHint};
use reqwest::header::{CONNECTION, HeaderMap, HeaderValue};
use reqwest::redirect;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};

use super::client::explain;
use super::polite::retry_after;
use super::receiver::{Gate, Refused};

/// Longest wait for a connection: name, TCP and TLS together.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// Longest wait for a body to go out.
pub const UPLOAD_TIMEOUT: Duration = Duration::from_secs(4);
/// Bytes of a body handed over at once.
const FRAME_BYTES: usize = 64 * 1024;
/// Longest wait for the head of the answer, from when the whole request went out.
pub const ANSWER_TIMEOUT: Duration = Duration::from_secs(1);
/// What the pool of connections may take on top before a request goes out.
const POOL_SLACK: Duration = Duration::from_millis(500);
/// Bytes of an answer's body that are read, and thrown away.
const ANSWER_BYTES_MAX: usize = 16 * 1024;
/// How long a connection is kept without use: less than the five seconds after which common servers close theirs.
pub const IDLE_TIMEOUT: Duration = Duration::from_secs(4);
/// Connections kept without use for each host.
const IDLE_PER_HOST_MAX: usize = 16;

/// Why a request brought no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// It may not go there.
    #[error("the address {0}")]
    Refused(#[from] Refused),
    /// No connection came about.
    #[error("no connection: {0}")]
    Connect(String),
    /// No connection in time.
    #[error("no connection within {} s", CONNECT_TIMEOUT.as_secs())]
    ConnectTimeout,
    /// The receiver did not take the request in time.
    #[error("the request was not taken within {} s", UPLOAD_TIMEOUT.as_secs())]
    UploadTimeout,
    /// The request went out and no answer came in time.
    #[error("no answer within {} s", ANSWER_TIMEOUT.as_secs())]
    AnswerTimeout,
    /// The connection broke off.
    #[error("the connection broke off: {0}")]
    Broken(String),
}

/// What a receiver said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// HTTP status.
    pub status: u16,
    /// How long it asks to be left alone.
    pub retry_after: Option<Duration>,
}

/// What becomes of a connection once it has served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connection {
    /// It is kept for [`IDLE_TIMEOUT`]. Open files are finite: callers bound the hosts they ask this for.
    Keep,
    /// It is closed.
    Close,
}

/// What became of a request.
#[derive(Clone, Debug)]
pub struct Posted {
    /// When its first byte went out; `None` when it never did.
    pub sent_at: Option<Instant>,
    /// The answer.
    pub outcome: Result<Answer, Failure>,
}

/// Posts to receivers. Cheap to clone; keeps connections open between requests.
#[derive(Clone, Debug)]
pub struct Poster {
    http: reqwest::Client,
    gate: Gate,
}

impl Poster {
    /// A poster that goes where a gate lets it.
    ///
    /// # Errors
    /// No TLS on this machine.
    pub fn new(gate: Gate) -> Result<Self, super::Error> {
        let http = crate::tls::client_builder()
            .user_agent(concat!("toise/", env!("CARGO_PKG_VERSION")))
            .dns_resolver(gate.clone())
            .no_proxy()
            .no_gzip()
            .http1_only()
            .redirect(redirect::Policy::none())
            .retry(reqwest::retry::never())
            .connect_timeout(CONNECT_TIMEOUT)
            .pool_idle_timeout(IDLE_TIMEOUT)
            .pool_max_idle_per_host(IDLE_PER_HOST_MAX)
            .build()
            .map_err(super::Error::Setup)?;
        Ok(Self { http, gate })
    }

    /// Posts a body once. Takes [`CONNECT_TIMEOUT`], [`UPLOAD_TIMEOUT`] and twice [`ANSWER_TIMEOUT`] at most.
    pub async fn post(
        &self,
        url: &str,
        mut headers: HeaderMap,
        body: Bytes,
        connection: Connection,
        now: DateTime<Utc>,
    ) -> Posted {
        let url = match self.gate.check_form(url) {
            Ok(url) => url,
            Err(refused) => {
                return Posted {
                    sent_at: None,
                    outcome: Err(refused.into()),
                };
            }
        };
        if connection == Connection::Close {
            headers.insert(CONNECTION, HeaderValue::from_static("close"));
        }
        let (body, mut begun, mut whole) = Sent::new(body);
        let request = self
            .http
            .post(url)
            .headers(headers)
            .body(reqwest::Body::wrap(body));
        let answer = request.send();
        tokio::pin!(answer);
        let patience = Instant::now() + CONNECT_TIMEOUT + POOL_SLACK;
        let (sent_at, mut ended) = tokio::select! {
            biased;
            // A body that is dropped untaken leaves it to the answer to say why.
            Ok(sent_at) = &mut begun => (sent_at, None),
            ended = timeout_at(patience, &mut answer) => match ended {
                Err(_) => return failed(None, Failure::ConnectTimeout),
                Ok(ended) => match begun.try_recv() {
                    Ok(sent_at) => (sent_at, Some(ended)),
                    Err(_) => return failed(None, why_not_sent(ended.err())),
                },
            },
        };
        if ended.is_none() {
            ended = tokio::select! {
                biased;
                Ok(whole_at) = &mut whole => match timeout_at(whole_at + ANSWER_TIMEOUT, &mut answer).await {
                    Ok(ended) => Some(ended),
                    Err(_) => return failed(Some(sent_at), Failure::AnswerTimeout),
                },
                // A receiver may answer before it has read all.
                ended = timeout_at(sent_at + UPLOAD_TIMEOUT, &mut answer) => ended.ok(),
            };
        }
        let response = match ended {
            Some(Ok(response)) => response,
            Some(Err(error)) => return failed(Some(sent_at), Failure::Broken(causes(&error))),
            None => return failed(Some(sent_at), Failure::UploadTimeout),
        };
        let answer = Answer {
            status: response.status().as_u16(),
            retry_after: retry_after(response.headers(), now),
        };
        drain(response, Instant::now() + ANSWER_TIMEOUT).await;
        Posted {
            sent_at: Some(sent_at),
            outcome: Ok(answer),
        }
    }
}

fn failed(sent_at: Option<Instant>, failure: Failure) -> Posted {
    Posted {
        sent_at,
        outcome: Err(failure),
    }
}

fn why_not_sent(error: Option<reqwest::Error>) -> Failure {
    match error {
        Some(error) if error.is_timeout() => Failure::ConnectTimeout,
        Some(error) => match refusal(&error) {
            Some(refused) => Failure::Refused(refused),
            None => Failure::Connect(causes(&error)),
        },
        None => Failure::Broken("answered before the request went out".into()),
    }
}

/// The gate's refusal among the causes of an error.
pub(super) fn refusal(error: &reqwest::Error) -> Option<Refused> {
    use std::error::Error as _;
    let mut cause = error.source();
    while let Some(source) = cause {
        if let Some(refused) = source.downcast_ref::<Refused>() {
            return Some(refused.clone());
        }
        cause = source.source();
    }
    None
}

/// The causes of an error without the URL it begins with: that may hold what only its owner should read.
pub(super) fn causes(error: &reqwest::Error) -> String {
    use std::error::Error as _;
    let text = explain(error);
    let cause = error.source().map(ToString::to_string).unwrap_or_default();
    match text.find(&cause) {
        Some(start) if !cause.is_empty() => text[start..].to_owned(),
        _ => "the request could not be made".to_owned(),
    }
}

/// Reads a little of a body so that its connection can serve again; a longer or slower one closes it.
async fn drain(response: reqwest::Response, deadline: Instant) {
    let mut body = response.bytes_stream();
    let mut left = ANSWER_BYTES_MAX;
    while let Ok(Some(Ok(bytes))) = timeout_at(deadline, body.next()).await {
        match left.checked_sub(bytes.len()) {
            Some(rest) => left = rest,
            None => return,
        }
    }
}

/// A body that tells when it is first taken, the moment the request goes out, and when the last of it is.
struct Sent {
    /// What is left; `None` at the end.
    bytes: Option<Bytes>,
    begun: Option<oneshot::Sender<Instant>>,
    whole: Option<oneshot::Sender<Instant>>,
}

impl Sent {
    fn new(bytes: Bytes) -> (Self, oneshot::Receiver<Instant>, oneshot::Receiver<Instant>) {
        let (begun, has_begun) = oneshot::channel();
        let (whole, is_whole) = oneshot::channel();
        let body = Self {
            bytes: Some(bytes),
            begun: Some(begun),
            whole: Some(whole),
        };
        (body, has_begun, is_whole)
    }
}

/// Tells, once; nobody listens any more when the attempt was given up.
fn tell(listener: &mut Option<oneshot::Sender<Instant>>) {
    if let Some(listener) = listener.take() {
        let _ = listener.send(Instant::now());
    }
}

impl hyper::body::Body for Sent {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        tell(&mut self.begun);
        let Some(mut left) = self.bytes.take() else {
            return Poll::Ready(None);
        };
        let frame = left.split_to(left.len().min(FRAME_BYTES));
        match left.is_empty() {
            true => tell(&mut self.whole),
            false => self.bytes = Some(left),
        }
        Poll::Ready(Some(Ok(Frame::data(frame))))
    }

    fn is_end_stream(&self) -> bool {
        self.bytes.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.bytes.as_ref().map_or(0, Bytes::len) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::receiver::Allowed;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpSocket;

    /// Posts to a receiver that takes a while for the whole body, and answers then.
    async fn posted(body_bytes: usize, upload: Duration) -> Posted {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(65_536).unwrap();
        socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let listener = socket.listen(1).unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let receiving = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            let (mut read, mut bytes) = (0, vec![0; 64 * 1024]);
            let begun = Instant::now();
            while read < body_bytes {
                read += stream.read(&mut bytes).await.unwrap();
                let share = read.min(body_bytes) as f64 / body_bytes as f64;
                tokio::time::sleep_until(begun + upload.mul_f64(share)).await;
            }
            let answer = b"HTTP/1.1 200 Told\r\ncontent-length: 0\r\n\r\n";
            // Whoever gave up does not listen.
            let _ = stream.write_all(answer).await;
        };
        let poster = Poster::new(Gate::new(Allowed::parse("127.0.0.1").unwrap())).unwrap();
        let body = Bytes::from(vec![b'x'; body_bytes]);
        let (now, headers) = (Utc::now(), HeaderMap::new());
        let posting = poster.post(&url, headers, body, Connection::Close, now);
        let receiving = async {
            tokio::select! {
                () = receiving => {}
                () = tokio::time::sleep(2 * UPLOAD_TIMEOUT) => {}
            }
        };
        tokio::join!(posting, receiving).0
    }

    #[tokio::test]
    async fn the_second_for_an_answer_begins_when_the_whole_request_is_out() {
        // Several times what the system takes before the receiver reads.
        let body_bytes = 24 << 20;
        let slow = posted(body_bytes, Duration::from_secs(2)).await;
        assert_eq!(slow.outcome.map(|answer| answer.status), Ok(200));
        let endless = posted(body_bytes, Duration::from_secs(60)).await;
        assert_eq!(endless.outcome, Err(Failure::UploadTimeout));
        assert!(endless.sent_at.is_some());
    }
}
