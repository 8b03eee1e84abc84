//! Request bodies: their media type and length, and what to do with the rest of one that is refused.
//!
//! An answer sent while the client still writes its body is often lost: the connection is reset before the client
//! reads. So what is left of a refused body is read and thrown away, up to [`DRAIN_BYTES_MAX`].

use std::time::Duration;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use futures::{Stream, StreamExt};
use warp::http::HeaderMap;
use warp::http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, EXPECT};

use super::error::ApiError;
use super::routes::BodyRule;

/// Bytes thrown away, at most, before a connection is given up.
pub const DRAIN_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Time spent throwing bytes away, at most.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);

/// Refuses a body by its headers alone: length and media type.
pub fn check_headers(rule: BodyRule, headers: &HeaderMap) -> Result<(), ApiError> {
    let BodyRule::Json { bytes_max } = rule else {
        return Ok(());
    };
    let declared = headers
        .get(CONTENT_LENGTH)
        .and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if declared.is_some_and(|length| length > bytes_max as u64) {
        return Err(ApiError::TooLarge { bytes_max });
    }
    // A body without a media type is taken for JSON, the only one there is.
    let is_json = headers.get(CONTENT_TYPE).is_none_or(|media_type| {
        media_type.to_str().is_ok_and(|media_type| {
            let essence = media_type.split(';').next().unwrap_or_default().trim();
            essence.eq_ignore_ascii_case("application/json")
        })
    });
    let is_plain = headers
        .get(CONTENT_ENCODING)
        .is_none_or(|coding| coding.as_bytes().eq_ignore_ascii_case(b"identity"));
    if is_json && is_plain {
        Ok(())
    } else {
        Err(ApiError::UnsupportedMediaType)
    }
}

/// Reads a body of at most `bytes_max` bytes.
pub async fn read<S, B>(body: &mut S, bytes_max: usize) -> Result<Bytes, ApiError>
where
    S: Stream<Item = Result<B, warp::Error>> + Unpin,
    B: Buf,
{
    let mut bytes = BytesMut::new();
    while let Some(chunk) = body.next().await {
        let chunk = chunk.map_err(|_| ApiError::BodyInterrupted)?;
        if bytes.len() + chunk.remaining() > bytes_max {
            return Err(ApiError::TooLarge { bytes_max });
        }
        bytes.put(chunk);
    }
    Ok(bytes.freeze())
}

/// Throws away what is left of a body, within bounds.
///
/// A client that waits for `100 Continue` has sent nothing yet and is better answered at once.
pub async fn drain<S, B>(body: &mut S, headers: &HeaderMap)
where
    S: Stream<Item = Result<B, warp::Error>> + Unpin,
    B: Buf,
{
    if headers.contains_key(EXPECT) {
        return;
    }
    let mut drained = 0;
    let all = async {
        while let Some(Ok(chunk)) = body.next().await {
            drained += chunk.remaining();
            if drained > DRAIN_BYTES_MAX {
                break;
            }
        }
    };
    // Past the bound the answer is sent all the same and the connection closed.
    let _ = tokio::time::timeout(DRAIN_TIMEOUT, all).await;
}
