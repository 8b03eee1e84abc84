//! Bodies that are produced while they are sent. A few pieces wait for the client; the producer pauses until the client
//! reads them.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures::Stream;
use tokio::sync::mpsc;

/// Maximum pieces that wait for the client.
const WAITING_MAX: usize = 2;
/// How long a piece waits for a client that does not read.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(60);

/// The reading end of a body. If the body was not finished, it ends with an error that closes the connection, so that
/// the client sees that the body is incomplete.
#[derive(Debug)]
pub struct BodyPieces {
    pieces: mpsc::Receiver<Bytes>,
    is_whole: Arc<AtomicBool>,
}

/// The writing end of a body.
#[derive(Debug)]
pub struct BodyWriter {
    pieces: mpsc::Sender<Bytes>,
    is_whole: Arc<AtomicBool>,
}

/// Returns the two ends of a new body.
pub fn body() -> (BodyWriter, BodyPieces) {
    let (sender, receiver) = mpsc::channel(WAITING_MAX);
    let is_whole = Arc::new(AtomicBool::new(false));
    let writer = BodyWriter {
        pieces: sender,
        is_whole: Arc::clone(&is_whole),
    };
    let pieces = BodyPieces {
        pieces: receiver,
        is_whole,
    };
    (writer, pieces)
}

impl BodyWriter {
    /// Writes a piece once the client has read enough of the previous ones; `false` if it went away or stopped reading.
    pub async fn write(&self, piece: Bytes) -> bool {
        let sent = tokio::time::timeout(CLIENT_TIMEOUT, self.pieces.send(piece)).await;
        matches!(sent, Ok(Ok(())))
    }

    /// Resolves when the client has gone away.
    pub async fn closed(&self) {
        self.pieces.closed().await;
    }

    /// Ends the body and marks it as complete.
    pub fn finish(self) {
        self.is_whole.store(true, Ordering::Release);
    }
}

impl BodyPieces {
    /// Returns the pieces as a stream that starts with `begin`.
    pub fn after(self, begin: Bytes) -> impl Stream<Item = io::Result<Bytes>> + Send + Sync {
        futures::stream::unfold(Some((Some(begin), self)), |state| async move {
            let (begin, mut body) = state?;
            if let Some(begin) = begin {
                return Some((Ok(begin), Some((None, body))));
            }
            match body.pieces.recv().await {
                Some(piece) => Some((Ok(piece), Some((None, body)))),
                None if body.is_whole.load(Ordering::Acquire) => None,
                None => Some((Err(io::Error::other("the body was not finished")), None)),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::StreamExt;

    #[tokio::test]
    async fn a_body_that_was_not_finished_ends_with_an_error() {
        for is_finished in [true, false] {
            let (writer, pieces) = body();
            assert!(writer.write(Bytes::from("b")).await);
            if is_finished {
                writer.finish()
            } else {
                drop(writer)
            }
            let all: Vec<_> = pieces.after(Bytes::from("a")).collect().await;
            assert_eq!(all.len(), if is_finished { 2 } else { 3 });
            assert_eq!(all.iter().all(Result::is_ok), is_finished);
        }
    }
}
