//! Frames on the pipes between the server and a process that runs queries: the lengths of head and body, a JSON head,
//! and a body of bytes.

use std::io::{self, ErrorKind, IoSlice, Read, Write};

use bytes::{Bytes, BytesMut};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// Maximum bytes of the head or body of an order, which may carry many rows of listings.
const ORDER_BYTES_MAX: usize = 1 << 30;
/// Maximum bytes of the head or body of a report, which the server holds in memory.
pub(super) const REPORT_BYTES_MAX: usize = 16 << 20;
/// Bytes of the two lengths.
const LENGTHS: usize = 8;

/// Returns the bytes of a frame before its body.
fn start(head: &impl Serialize, body_bytes: usize, bytes_max: usize) -> io::Result<Vec<u8>> {
    let head = serde_json::to_vec(head)?;
    if head.len() > bytes_max || body_bytes > bytes_max {
        return Err(io::Error::new(
            ErrorKind::InvalidInput,
            "a frame is too long",
        ));
    }
    let mut bytes = Vec::with_capacity(LENGTHS + head.len());
    bytes.extend((head.len() as u32).to_le_bytes());
    bytes.extend((body_bytes as u32).to_le_bytes());
    bytes.extend(head);
    Ok(bytes)
}

/// Returns the lengths of head and body.
fn lengths(bytes: [u8; LENGTHS], bytes_max: usize) -> io::Result<(usize, usize)> {
    let [a, b, c, d, e, f, g, h] = bytes;
    let head = u32::from_le_bytes([a, b, c, d]) as usize;
    let body = u32::from_le_bytes([e, f, g, h]) as usize;
    if head > bytes_max || body > bytes_max {
        return Err(io::Error::new(ErrorKind::InvalidData, "not a frame"));
    }
    Ok((head, body))
}

/// Writes a report. Blocks.
///
/// # Errors
/// The pipe is closed, or the report is longer than [`REPORT_BYTES_MAX`].
pub(super) fn write_blocking(
    out: &mut impl Write,
    head: &impl Serialize,
    body: &[u8],
) -> io::Result<()> {
    let start = start(head, body.len(), REPORT_BYTES_MAX)?;
    // Writes both at once if the pipe has room, so that the reader wakes up once.
    let written = match out.write_vectored(&[IoSlice::new(&start), IoSlice::new(body)]) {
        Err(error) if error.kind() == ErrorKind::Interrupted => 0,
        written => written?,
    };
    if let Some(rest) = start.get(written..) {
        out.write_all(rest)?;
    }
    out.write_all(
        body.get(written.saturating_sub(start.len())..)
            .unwrap_or_default(),
    )?;
    out.flush()
}

/// Reads an order; `None` at the end. Blocks.
///
/// # Errors
/// The pipe fails, ends within a frame, or contains invalid data.
pub(super) fn read_blocking<T: DeserializeOwned>(
    from: &mut impl Read,
) -> io::Result<Option<(T, Bytes)>> {
    let mut start = [0; LENGTHS];
    match from.read_exact(&mut start) {
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
        read => read?,
    }
    let (head_bytes, body_bytes) = lengths(start, ORDER_BYTES_MAX)?;
    let mut head = vec![0; head_bytes];
    from.read_exact(&mut head)?;
    let mut body = vec![0; body_bytes];
    from.read_exact(&mut body)?;
    Ok(Some((serde_json::from_slice(&head)?, Bytes::from(body))))
}

/// Writes an order.
///
/// # Errors
/// The pipe is closed, or the order is too long.
pub(super) async fn write(
    out: &mut (impl AsyncWrite + Unpin),
    head: &impl Serialize,
    body: &[u8],
) -> io::Result<()> {
    out.write_all(&start(head, body.len(), ORDER_BYTES_MAX)?)
        .await?;
    out.write_all(body).await?;
    out.flush().await
}

/// Reads a report; `None` at the end.
///
/// # Errors
/// As for [`read_blocking`].
pub(super) async fn read<T: DeserializeOwned>(
    from: &mut (impl AsyncRead + Unpin),
) -> io::Result<Option<(T, Bytes)>> {
    let mut start = [0; LENGTHS];
    match from.read_exact(&mut start).await {
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
        read => read?,
    };
    let (head_bytes, body_bytes) = lengths(start, REPORT_BYTES_MAX)?;
    let mut head = vec![0; head_bytes];
    from.read_exact(&mut head).await?;
    let mut body = BytesMut::with_capacity(body_bytes);
    let mut rest = from.take(body_bytes as u64);
    while body.len() < body_bytes {
        if rest.read_buf(&mut body).await? == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(Some((serde_json::from_slice(&head)?, body.freeze())))
}
