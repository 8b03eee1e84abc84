//! Receives a file in pieces of a useful length, and refuses clients that send too slowly.
//!
//! Pieces are written to disk or searched for the parts of a form, and both cost something for each piece. Without this
//! module, each byte of a slow client could become a piece, and the client would keep its upload slot for as long as an
//! upload may take.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures::stream::{self, BoxStream};
use futures::{Stream, StreamExt};
use tokio::time::Instant;

use toise_service::error::ApiError;
use toise_transport::body::{BodyError, Incoming};

/// Bytes of a piece; the last may be shorter.
pub const PIECE_BYTES: usize = 64 << 10;
/// Minimum bytes of a file per second, on average over the time spent waiting for it.
const BYTES_PER_S_MIN: u64 = 4 << 10;
/// Time spent waiting before the minimum applies.
const PACE_AFTER: Duration = Duration::from_secs(30);

/// The pieces of a body.
pub struct UploadPieces<'u> {
    chunks: BoxStream<'u, Result<Bytes, ApiError>>,
    /// The unused rest of the last chunk.
    rest: Bytes,
    bytes_max: usize,
    received: usize,
    /// Time spent waiting for the client.
    waited: Duration,
}

impl<'u> UploadPieces<'u> {
    /// Returns the pieces of a body of at most `bytes_max` bytes.
    pub fn new(upload: &'u mut Incoming, bytes_max: usize) -> Self {
        let chunks = stream::unfold(upload, |upload| async move {
            let chunk = upload.chunk().await.transpose()?;
            Some((chunk.map_err(ApiError::from), upload))
        });
        Self::from_stream(chunks, bytes_max)
    }

    fn from_stream(
        chunks: impl Stream<Item = Result<Bytes, ApiError>> + Send + 'u,
        bytes_max: usize,
    ) -> Self {
        Self {
            chunks: chunks.fuse().boxed(),
            rest: Bytes::new(),
            bytes_max,
            received: 0,
            waited: Duration::ZERO,
        }
    }

    /// Returns the number of bytes received so far.
    pub fn received(&self) -> usize {
        self.received
    }

    /// Returns the next piece; `None` at the end.
    ///
    /// # Errors
    /// The body is longer than `bytes_max`, broke off, or arrives too slowly.
    pub async fn next(&mut self) -> Result<Option<Bytes>, ApiError> {
        let mut piece = BytesMut::new();
        while piece.len() < PIECE_BYTES {
            if self.rest.is_empty() {
                match self.chunk().await? {
                    Some(chunk) => self.rest = chunk,
                    None => break,
                }
            }
            let missing = PIECE_BYTES - piece.len();
            if missing == PIECE_BYTES && self.rest.len() >= PIECE_BYTES {
                return Ok(Some(self.rest.split_to(PIECE_BYTES)));
            }
            let more = self.rest.split_to(missing.min(self.rest.len()));
            piece.extend_from_slice(&more);
        }
        Ok((!piece.is_empty()).then(|| piece.freeze()))
    }

    async fn chunk(&mut self) -> Result<Option<Bytes>, ApiError> {
        let asked = Instant::now();
        let chunk = self.chunks.next().await.transpose()?;
        self.waited += asked.elapsed();
        let Some(chunk) = chunk else {
            return Ok(None);
        };
        self.received += chunk.len();
        if self.received > self.bytes_max {
            return Err(ApiError::Body(BodyError::TooLarge {
                bytes_max: self.bytes_max,
            }));
        }
        if is_trickle(self.received, self.waited) {
            return Err(ApiError::Body(BodyError::Interrupted));
        }
        Ok(Some(chunk))
    }
}

/// Returns whether the bytes received are too few for the time spent waiting for them.
fn is_trickle(received: usize, waited: Duration) -> bool {
    waited > PACE_AFTER && (received as u64) < waited.as_secs() * BYTES_PER_S_MIN
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the lengths of the pieces that chunks of some bytes become.
    async fn lengths(chunks: usize, bytes: usize) -> Result<Vec<usize>, ApiError> {
        let chunk = Bytes::from(vec![b'a'; bytes]);
        let chunks = stream::iter(std::iter::repeat_n(chunk, chunks)).map(Ok);
        let mut pieces = UploadPieces::from_stream(chunks, 10 * PIECE_BYTES);
        let mut lengths = Vec::new();
        while let Some(piece) = pieces.next().await? {
            lengths.push(piece.len());
        }
        assert_eq!(pieces.received(), lengths.iter().sum::<usize>());
        Ok(lengths)
    }

    #[tokio::test]
    async fn chunks_become_pieces_of_one_length() {
        assert_eq!(lengths(0, 1).await.unwrap(), [0; 0]);
        let small = lengths(PIECE_BYTES + 1, 1).await.unwrap();
        assert_eq!(small, [PIECE_BYTES, 1]);
        let long = lengths(2, 2 * PIECE_BYTES + 1).await.unwrap();
        assert_eq!(long, [&[PIECE_BYTES; 4][..], &[2]].concat());
        let refused = lengths(11, PIECE_BYTES).await.unwrap_err();
        assert!(
            matches!(refused, ApiError::Body(BodyError::TooLarge { .. })),
            "{refused}"
        );
    }

    #[test]
    fn a_trickle_is_ended_and_a_slow_line_is_not() {
        let second = Duration::from_secs(1);
        assert!(!is_trickle(1, PACE_AFTER));
        assert!(is_trickle(1, PACE_AFTER + second));
        for seconds in [31, 600] {
            let slow = seconds as usize * BYTES_PER_S_MIN as usize;
            assert!(!is_trickle(slow, seconds * second));
            assert!(is_trickle(slow - 1, seconds * second));
        }
    }
}
