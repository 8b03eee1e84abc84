//! Sends one POST to a customer's receiver, with limits on time and response size, to public addresses only.
//!
//! The one second allowed for a response starts when the whole request has been sent, not when the connection was
//! requested or while a long body is sent over a slow line. The body therefore signals when its first and last bytes
//! are taken. No proxy is used (the connection goes to the address that was checked), redirects are treated like other
//! responses, and only as much of a response body is read as keeps the connection reusable.

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

use super::backoff::retry_after;
use super::client::explain;
use super::egress::{EgressGuard, UrlRefusal};

/// Maximum time to connect: name, TCP and TLS together.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// Maximum time to send a body.
pub const UPLOAD_TIMEOUT: Duration = Duration::from_secs(4);
/// Size of the frames in which a body is sent, in bytes.
const FRAME_BYTES: usize = 64 * 1024;
/// Maximum time until the head of the response, from when the whole request was sent.
pub const RESPONSE_TIMEOUT: Duration = Duration::from_secs(1);
/// Additional time that the connection pool may take before a request is sent.
const POOL_SLACK: Duration = Duration::from_millis(500);
/// Maximum bytes of a response body that are read and discarded.
const RESPONSE_BYTES_MAX: usize = 16 * 1024;
/// Time an idle connection is kept open; shorter than the five seconds after which common servers close theirs.
pub const IDLE_TIMEOUT: Duration = Duration::from_secs(4);
/// Maximum idle connections per host.
const IDLE_PER_HOST_MAX: usize = 16;

/// Reason that a request got no response.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PostFailure {
    /// The egress guard refuses the address.
    #[error("the address {0}")]
    Refused(#[from] UrlRefusal),
    /// The connection failed.
    #[error("no connection: {0}")]
    Connect(String),
    /// No connection within the time limit.
    #[error("no connection within {} s", CONNECT_TIMEOUT.as_secs())]
    ConnectTimeout,
    /// The request could not be sent within the time limit.
    #[error("the request was not accepted within {} s", UPLOAD_TIMEOUT.as_secs())]
    UploadTimeout,
    /// The request was sent and no response came within the time limit.
    #[error("no answer within {} s", RESPONSE_TIMEOUT.as_secs())]
    ResponseTimeout,
    /// The connection broke off.
    #[error("the connection was lost: {0}")]
    Broken(String),
}

/// The response of a receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceiverResponse {
    /// HTTP status.
    pub status: u16,
    /// Time after which the receiver allows another request.
    pub retry_after: Option<Duration>,
}

/// Whether a connection is kept after the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionReuse {
    /// Keep it open for [`IDLE_TIMEOUT`]. Open files are limited: callers bound the number of hosts they use this for.
    Keep,
    /// Close it.
    Close,
}

/// Result of a POST.
#[derive(Clone, Debug)]
pub struct PostOutcome {
    /// When the first byte was sent; `None` if it never was.
    pub sent_at: Option<Instant>,
    /// The response, or why there is none.
    pub outcome: Result<ReceiverResponse, PostFailure>,
}

/// Sends POST requests to receivers. Cheap to clone; clones share the connection pool.
#[derive(Clone, Debug)]
pub struct WebhookClient {
    http: reqwest::Client,
    gate: EgressGuard,
}

impl WebhookClient {
    /// Creates a client whose requests are limited by an egress guard.
    ///
    /// # Errors
    /// TLS is not available on this machine.
    pub fn new(gate: EgressGuard) -> Result<Self, super::Error> {
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

    /// Posts a body once. Takes at most [`CONNECT_TIMEOUT`], [`UPLOAD_TIMEOUT`] and twice [`RESPONSE_TIMEOUT`].
    pub async fn post(
        &self,
        url: &str,
        mut headers: HeaderMap,
        body: Bytes,
        connection: ConnectionReuse,
        now: DateTime<Utc>,
    ) -> PostOutcome {
        let url = match self.gate.check_syntax(url) {
            Ok(url) => url,
            Err(refused) => return failed(None, refused.into()),
        };
        if connection == ConnectionReuse::Close {
            headers.insert(CONNECTION, HeaderValue::from_static("close"));
        }
        let (body, mut begun, whole) = TimedBody::new(body);
        let request = self
            .http
            .post(url)
            .headers(headers)
            .body(reqwest::Body::wrap(body));
        let sending = request.send();
        tokio::pin!(sending);
        let patience = Instant::now() + CONNECT_TIMEOUT + POOL_SLACK;
        let (sent_at, ended) = tokio::select! {
            biased;
            // If the body is dropped before it is taken, the response future holds the reason.
            Ok(sent_at) = &mut begun => (sent_at, None),
            ended = timeout_at(patience, &mut sending) => match ended {
                Err(_) => return failed(None, PostFailure::ConnectTimeout),
                Ok(ended) => match begun.try_recv() {
                    Ok(sent_at) => (sent_at, Some(ended)),
                    Err(_) => return failed(None, send_failure(ended.err())),
                },
            },
        };
        let ended = match ended {
            Some(ended) => ended.map_err(|error| PostFailure::Broken(causes(&error))),
            None => response_to(sending, whole, sent_at).await,
        };
        let response = match ended {
            Ok(response) => response,
            Err(failure) => return failed(Some(sent_at), failure),
        };
        let received = ReceiverResponse {
            status: response.status().as_u16(),
            retry_after: retry_after(response.headers(), now),
        };
        drain(response, Instant::now() + RESPONSE_TIMEOUT).await;
        PostOutcome {
            sent_at: Some(sent_at),
            outcome: Ok(received),
        }
    }
}

/// Waits for the response to a request whose first byte was sent at `sent_at`: at most [`UPLOAD_TIMEOUT`] for the body,
/// and [`RESPONSE_TIMEOUT`] from its last byte on.
async fn response_to(
    mut sending: Pin<&mut impl Future<Output = reqwest::Result<reqwest::Response>>>,
    mut whole: oneshot::Receiver<Instant>,
    sent_at: Instant,
) -> Result<reqwest::Response, PostFailure> {
    let ended = tokio::select! {
        biased;
        Ok(whole_at) = &mut whole => match timeout_at(whole_at + RESPONSE_TIMEOUT, &mut sending).await {
            Ok(ended) => ended,
            Err(_) => return Err(PostFailure::ResponseTimeout),
        },
        // A receiver may respond before it has read the whole request.
        ended = timeout_at(sent_at + UPLOAD_TIMEOUT, &mut sending) => match ended {
            Ok(ended) => ended,
            Err(_) => return Err(PostFailure::UploadTimeout),
        },
    };
    ended.map_err(|error| PostFailure::Broken(causes(&error)))
}

fn failed(sent_at: Option<Instant>, failure: PostFailure) -> PostOutcome {
    PostOutcome {
        sent_at,
        outcome: Err(failure),
    }
}

fn send_failure(error: Option<reqwest::Error>) -> PostFailure {
    match error {
        Some(error) if error.is_timeout() => PostFailure::ConnectTimeout,
        Some(error) => match refusal(&error) {
            Some(refused) => PostFailure::Refused(refused),
            None => PostFailure::Connect(causes(&error)),
        },
        None => PostFailure::Broken("answered before the request was sent".into()),
    }
}

/// Returns the egress guard's refusal among the causes of an error.
pub(super) fn refusal(error: &reqwest::Error) -> Option<UrlRefusal> {
    use std::error::Error as _;
    let mut cause = error.source();
    while let Some(source) = cause {
        if let Some(refused) = source.downcast_ref::<UrlRefusal>() {
            return Some(refused.clone());
        }
        cause = source.source();
    }
    None
}

/// Returns the causes of an error without the URL at its start, which may hold secrets of the owner.
pub(super) fn causes(error: &reqwest::Error) -> String {
    use std::error::Error as _;
    let text = explain(error);
    let cause = error.source().map(ToString::to_string).unwrap_or_default();
    match text.find(&cause) {
        Some(start) if !cause.is_empty() => text[start..].to_owned(),
        _ => "the request could not be made".to_owned(),
    }
}

/// Reads up to a maximum of a body so that its connection can be reused; a longer or slower body closes it.
async fn drain(response: reqwest::Response, deadline: Instant) {
    let mut body = response.bytes_stream();
    let mut left = RESPONSE_BYTES_MAX;
    while let Ok(Some(Ok(bytes))) = timeout_at(deadline, body.next()).await {
        match left.checked_sub(bytes.len()) {
            Some(rest) => left = rest,
            None => return,
        }
    }
}

/// A body that signals when its first byte is taken, which is when the request is sent, and when its last byte is
/// taken.
struct TimedBody {
    /// Bytes not sent yet; `None` at the end.
    bytes: Option<Bytes>,
    begun: Option<oneshot::Sender<Instant>>,
    whole: Option<oneshot::Sender<Instant>>,
}

impl TimedBody {
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

/// Sends the signal once; nothing listens any more if the attempt timed out.
fn notify(listener: &mut Option<oneshot::Sender<Instant>>) {
    if let Some(listener) = listener.take() {
        let _ = listener.send(Instant::now());
    }
}

impl hyper::body::Body for TimedBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        notify(&mut self.begun);
        let Some(mut left) = self.bytes.take() else {
            return Poll::Ready(None);
        };
        let frame = left.split_to(left.len().min(FRAME_BYTES));
        if left.is_empty() {
            notify(&mut self.whole)
        } else {
            self.bytes = Some(left)
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
    use crate::egress::AllowedHosts;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpSocket;

    /// Posts to a receiver that reads the whole body slowly and then responds.
    async fn posted(body_bytes: usize, upload: Duration) -> PostOutcome {
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
            // The sender may have timed out.
            let _ = stream.write_all(answer).await;
        };
        let poster =
            WebhookClient::new(EgressGuard::new(AllowedHosts::parse("127.0.0.1").unwrap()))
                .unwrap();
        let body = Bytes::from(vec![b'x'; body_bytes]);
        let (now, headers) = (Utc::now(), HeaderMap::new());
        let posting = poster.post(&url, headers, body, ConnectionReuse::Close, now);
        let receiving = async {
            tokio::select! {
                () = receiving => {}
                () = tokio::time::sleep(2 * UPLOAD_TIMEOUT) => {}
            }
        };
        tokio::join!(posting, receiving).0
    }

    #[tokio::test]
    async fn the_response_timeout_starts_when_the_whole_request_is_sent() {
        // Several times what the system buffers before the receiver reads.
        let body_bytes = 24 << 20;
        let slow = posted(body_bytes, Duration::from_secs(2)).await;
        assert_eq!(slow.outcome.map(|received| received.status), Ok(200));
        let endless = posted(body_bytes, Duration::from_secs(60)).await;
        assert_eq!(endless.outcome, Err(PostFailure::UploadTimeout));
        assert!(endless.sent_at.is_some());
    }
}
