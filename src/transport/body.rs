//! Request bodies: checks headers, reads a body up to its limit, and discards the rest of a rejected one.
//!
//! The filter [`incoming`] passes the body on unread, so that a call which is rejected because of its headers, key or
//! quota needs no memory for the body it announces.
//!
//! A response sent while the client is still writing its body is often lost: the connection is reset before the
//! client reads. The rest of a rejected body is therefore read and discarded, up to [`DRAIN_BYTES_MAX`].

use std::io;
use std::time::Duration;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use warp::http::HeaderMap;
use warp::http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, EXPECT};
use warp::{Filter, Rejection};

use super::body_budget::{BodyLease, BudgetError};

/// A request body that cannot be accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BodyError {
    /// The body is longer than the endpoint accepts.
    #[error("body: must not exceed {bytes_max} bytes")]
    TooLarge {
        /// Maximum length, in bytes.
        bytes_max: usize,
    },
    /// The body does not have the media type that the endpoint accepts.
    #[error("content-type: must be {0}, without content-encoding")]
    UnsupportedMediaType(&'static str),
    /// The client stopped sending its body, or sent it too slowly.
    #[error("body: did not arrive completely or in time")]
    Interrupted,
    /// The chunked encoding of the body is invalid.
    #[error("body: its chunks cannot be read")]
    Malformed,
    /// There is no memory for the body.
    #[error(transparent)]
    Budget(#[from] BudgetError),
}

/// The body an endpoint accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyRule {
    /// None; a body that is sent is ignored.
    None,
    /// JSON with a maximum length.
    Json {
        /// Maximum length, in bytes.
        bytes_max: usize,
    },
    /// A file of any media type, read by the handler piece by piece.
    Upload {
        /// Maximum length, in bytes.
        bytes_max: usize,
    },
    /// A form with a file, read by the handler piece by piece.
    Form {
        /// Maximum length, in bytes.
        bytes_max: usize,
    },
}

impl BodyRule {
    /// Returns the maximum length in bytes; `None` if a body is ignored.
    pub fn bytes_max(self) -> Option<usize> {
        match self {
            BodyRule::None => None,
            BodyRule::Json { bytes_max }
            | BodyRule::Upload { bytes_max }
            | BodyRule::Form { bytes_max } => Some(bytes_max),
        }
    }
}

/// Maximum bytes discarded past what an endpoint accepts; if more come, the connection is closed.
pub const DRAIN_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Maximum time spent discarding bytes.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);

/// Maximum wait for the next bytes of a body.
const STALL_TIMEOUT: Duration = Duration::from_secs(20);

/// Returns the length that the headers of a body declare.
pub fn declared(headers: &HeaderMap) -> Option<u64> {
    let length = headers.get(CONTENT_LENGTH)?;
    length.to_str().ok()?.parse().ok()
}

/// Checks the length, media type and content coding that the headers declare. The length may be missing or wrong, so
/// [`Incoming::read`] also counts the bytes.
///
/// # Errors
/// The declared length exceeds the limit, the media type is not the accepted one, or the body is compressed.
pub fn check_headers(rule: BodyRule, headers: &HeaderMap) -> Result<(), BodyError> {
    let Some(bytes_max) = rule.bytes_max() else {
        return Ok(());
    };
    if declared(headers).is_some_and(|length| length > bytes_max as u64) {
        return Err(BodyError::TooLarge { bytes_max });
    }
    let is_type = |wanted: &str, if_absent: bool| {
        headers.get(CONTENT_TYPE).map_or(if_absent, |media_type| {
            media_type.to_str().is_ok_and(|media_type| {
                // Without parameters such as `charset`.
                let essence = media_type.split(';').next().unwrap_or_default().trim();
                essence.eq_ignore_ascii_case(wanted)
            })
        })
    };
    let wanted = match rule {
        // A body without a media type is treated as JSON.
        BodyRule::Json { .. } => Some(("application/json", true)),
        BodyRule::Form { .. } => Some(("multipart/form-data", false)),
        BodyRule::Upload { .. } | BodyRule::None => None,
    };
    let is_uncompressed = headers
        .get(CONTENT_ENCODING)
        .is_none_or(|coding| coding.as_bytes().eq_ignore_ascii_case(b"identity"));
    match wanted {
        Some((media_type, if_absent)) if !(is_type(media_type, if_absent) && is_uncompressed) => {
            Err(BodyError::UnsupportedMediaType(media_type))
        }
        None if !is_uncompressed => Err(BodyError::UnsupportedMediaType("uncompressed")),
        _ => Ok(()),
    }
}

/// A request body that has not been read yet.
pub struct Incoming(BoxStream<'static, Result<Bytes, warp::Error>>);

/// Returns the filter that takes the body of a request without reading it.
pub fn incoming() -> impl Filter<Extract = (Incoming,), Error = Rejection> + Copy {
    warp::body::stream().map(Incoming::new)
}

impl Incoming {
    fn new<B: Buf>(
        stream: impl futures::Stream<Item = Result<B, warp::Error>> + Send + 'static,
    ) -> Self {
        // The chunks are `Bytes` behind an opaque type, so this copies nothing.
        let chunks = stream.map_ok(|mut chunk| chunk.copy_to_bytes(chunk.remaining()));
        Self(chunks.boxed())
    }

    /// Reads a body of at most `bytes_max` bytes into memory, and charges the lease as the body arrives. The declared
    /// length only bounds how much is reserved ahead.
    ///
    /// # Errors
    /// The body is longer, and its rest is left for [`Self::drain`]; the connection broke off, or nothing arrived for
    /// `STALL_TIMEOUT`; or the budget has no memory for the body.
    pub async fn read(
        &mut self,
        bytes_max: usize,
        declared: Option<u64>,
        lease: &mut BodyLease,
    ) -> Result<Bytes, BodyError> {
        // Upper bound of the memory that is needed: a client sends no more than it declared.
        let declared = declared.and_then(|declared| usize::try_from(declared).ok());
        let expected = declared.map_or(bytes_max, |declared| declared.min(bytes_max));
        let (mut bytes, mut room) = (BytesMut::new(), 0);
        while let Some(chunk) = self.chunk().await? {
            let needed = bytes.len() + chunk.len();
            if needed > bytes_max {
                return Err(BodyError::TooLarge { bytes_max });
            }
            if needed > room {
                let more = needed.max(2 * room).min(expected.max(needed));
                lease.grow(more - room)?;
                bytes.reserve(more - bytes.len());
                room = more;
            }
            bytes.put(chunk);
        }
        Ok(bytes.freeze())
    }

    /// Returns the next piece of the body; `None` at its end.
    ///
    /// # Errors
    /// The connection broke off, or nothing arrived for `STALL_TIMEOUT`.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, BodyError> {
        self.chunk_within(STALL_TIMEOUT).await
    }

    async fn chunk_within(&mut self, wait_max: Duration) -> Result<Option<Bytes>, BodyError> {
        let chunk = tokio::time::timeout(wait_max, self.0.next()).await;
        let chunk = chunk.map_err(|_elapsed| BodyError::Interrupted)?;
        chunk.transpose().map_err(|error| interruption(&error))
    }

    /// Reads and discards the rest of the body, up to [`DRAIN_BYTES_MAX`] bytes more than the endpoint accepts and for
    /// at most `DRAIN_TIMEOUT`. Never fails.
    ///
    /// Nothing is discarded if the request has an `Expect` header: its client waits for `100 Continue` before it sends
    /// the body, so it should get its response immediately.
    pub async fn drain(&mut self, headers: &HeaderMap, bytes_max: Option<usize>) {
        if headers.contains_key(EXPECT) {
            return;
        }
        let most = DRAIN_BYTES_MAX + bytes_max.unwrap_or(0);
        let mut drained = 0;
        let discarding = async {
            while let Some(Ok(chunk)) = self.0.next().await {
                drained += chunk.len();
                if drained > most {
                    break;
                }
            }
        };
        // However this ends, the response is sent; if some of the body is left, the connection is closed after it.
        let _ = tokio::time::timeout(DRAIN_TIMEOUT, discarding).await;
    }
}

/// Returns why a body could not be read. hyper reports invalid chunk sizes or ends with these kinds of I/O error.
fn interruption(mut error: &(dyn std::error::Error + 'static)) -> BodyError {
    while let Some(cause) = error.source() {
        error = cause;
    }
    let kind = error.downcast_ref::<io::Error>().map(io::Error::kind);
    match kind {
        Some(io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData) => BodyError::Malformed,
        _ => BodyError::Interrupted,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::body_budget::BodyBudget;

    async fn taken(body: &[u8]) -> Incoming {
        let request = warp::test::request().method("POST").body(body);
        request.filter(&incoming()).await.unwrap()
    }

    #[tokio::test]
    async fn a_body_is_read_up_to_its_limit() {
        let budget = BodyBudget::new(100);
        let read = async |body: &[u8], bytes_max| {
            let mut lease = budget.lease(None, None);
            taken(body).await.read(bytes_max, None, &mut lease).await
        };
        assert_eq!(read(b"12345", 5).await.unwrap(), "12345");
        let refused = read(b"123456", 5).await.unwrap_err();
        assert_eq!(refused, BodyError::TooLarge { bytes_max: 5 });
        assert_eq!(read(b"", 0).await.unwrap(), "");
        let held = budget.lease(None, None).grow(100);
        assert!(held.is_ok());
        assert_eq!(budget.held(), 0);
    }

    /// Returns a body that sends these bytes and then stalls.
    fn stalled(bytes: &'static [u8]) -> Incoming {
        let begin = futures::stream::iter([Ok(Bytes::from_static(bytes))]);
        Incoming::new(begin.chain(futures::stream::pending()))
    }

    #[tokio::test]
    async fn a_body_that_declares_much_takes_memory_only_as_it_arrives() {
        const DECLARED: usize = 4 << 20;
        let budget = BodyBudget::new(8 << 20);
        let mut lease = budget.lease(None, None);
        let mut body = stalled(b"[1,");
        let read = body.read(DECLARED, Some(DECLARED as u64), &mut lease);
        assert!(futures::FutureExt::now_or_never(read).is_none());
        assert!(
            (3..1024).contains(&budget.held()),
            "{} bytes",
            budget.held()
        );
    }

    #[tokio::test]
    async fn a_body_that_stalls_is_interrupted() {
        let mut body = stalled(b"[1,");
        assert_eq!(body.chunk().await.unwrap().unwrap(), "[1,");
        let stalled = body.chunk_within(Duration::from_millis(1)).await;
        assert_eq!(stalled, Err(BodyError::Interrupted));
    }

    #[tokio::test]
    async fn the_rest_of_a_rejected_body_is_discarded_unless_the_client_waits_for_100_continue() {
        let mut body = taken(b"12345").await;
        let mut headers = HeaderMap::new();
        headers.insert(EXPECT, "100-continue".parse().unwrap());
        body.drain(&headers, Some(0)).await;
        body.drain(&HeaderMap::new(), None).await;
        let mut lease = BodyBudget::new(100).lease(None, None);
        assert_eq!(body.read(5, None, &mut lease).await.unwrap(), "");
    }

    #[tokio::test]
    async fn as_much_is_discarded_as_an_endpoint_takes_and_8_mib_more() {
        const PIECE_BYTES: usize = 1 << 20;
        for (bytes_max, most) in [(None, 8), (Some(4 << 20), 12)] {
            let taken = Arc::new(AtomicUsize::new(0));
            let count = Arc::clone(&taken);
            let endless = futures::stream::repeat_with(move || {
                count.fetch_add(1, Ordering::Relaxed);
                Ok(Bytes::from_static(&[b' '; PIECE_BYTES]))
            });
            let mut body = Incoming::new(endless);
            body.drain(&HeaderMap::new(), bytes_max).await;
            // The piece that goes past the bound is the last one.
            assert_eq!(taken.load(Ordering::Relaxed), most + 1);
        }
    }

    #[test]
    fn an_unsupported_length_or_media_type_is_rejected_by_the_headers() {
        let json = BodyRule::Json { bytes_max: 5 };
        let check = |rule, name: &'static str, value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(name, value.parse().unwrap());
            match check_headers(rule, &headers) {
                Ok(()) => Ok(()),
                Err(BodyError::TooLarge { .. }) => Err(413),
                Err(BodyError::UnsupportedMediaType(_)) => Err(415),
                Err(error) => panic!("{error}"),
            }
        };
        assert_eq!(check(json, "content-length", "5"), Ok(()));
        assert_eq!(check(json, "content-length", "6"), Err(413));
        assert_eq!(check(json, "content-type", "Application/JSON; x"), Ok(()));
        assert_eq!(check(json, "content-type", "text/plain"), Err(415));
        assert_eq!(check(json, "content-encoding", "gzip"), Err(415));
        assert_eq!(check(BodyRule::None, "content-length", "6"), Ok(()));
        let form = BodyRule::Form { bytes_max: 5 };
        assert_eq!(check(form, "content-type", "application/json"), Err(415));
        let typed = "multipart/form-data; boundary=x";
        assert_eq!(check(form, "content-type", typed), Ok(()));
        assert_eq!(check(form, "content-length", "5"), Err(415));
        let upload = BodyRule::Upload { bytes_max: 5 };
        assert_eq!(check(upload, "content-type", "text/csv"), Ok(()));
        assert_eq!(check(upload, "content-length", "6"), Err(413));
    }
}
