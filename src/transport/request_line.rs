//! The log line of a request.
//!
//! Text that a client chose is truncated.

use std::borrow::Cow;
use std::net::IpAddr;
use std::time::Duration;

use uuid::Uuid;

/// Maximum bytes of a path in the log.
const PATH_BYTES_MAX: usize = 200;
/// Maximum bytes of a method in the log.
const METHOD_BYTES_MAX: usize = 16;

/// A request that was answered.
#[derive(Debug)]
pub struct RequestLine<'r> {
    /// Its identifier.
    pub request_id: Uuid,
    /// Address of the client; `None` for a call of this process.
    pub client: Option<IpAddr>,
    /// Method.
    pub method: &'r str,
    /// Path, without the query.
    pub path: &'r str,
    /// Status of the answer.
    pub status: u16,
    /// The key, if it is valid.
    pub key_id: Option<Uuid>,
    /// Credits charged.
    pub credits: u64,
    /// Time from the head to the answer.
    pub duration: Duration,
}

/// Writes the log line of a request.
pub fn write(line: &RequestLine<'_>) {
    tracing::info!(
        request_id = %line.request_id,
        client = line.client.map(tracing::field::display),
        method = truncated(line.method, METHOD_BYTES_MAX).as_ref(),
        path = truncated(line.path, PATH_BYTES_MAX).as_ref(),
        status = line.status,
        key_id = line.key_id.map(tracing::field::display),
        credits = line.credits,
        duration_us = line.duration.as_micros() as u64,
        "answered"
    );
}

/// Truncates a text that a client chose, and appends its length if it was longer.
fn truncated(text: &str, bytes_max: usize) -> Cow<'_, str> {
    if text.len() <= bytes_max {
        return Cow::Borrowed(text);
    }
    let begin = &text[..text.floor_char_boundary(bytes_max)];
    Cow::Owned(format!("{begin}… ({} bytes)", text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_shows_the_beginning_of_long_paths() {
        assert_eq!(truncated("/version", 8), "/version");
        assert_eq!(truncated("/é€", 5), "/é… (6 bytes)");
    }
}
