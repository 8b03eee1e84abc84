//! Frames on the pipes between the server and a process that runs queries: the lengths of head and body, a JSON head,
//! and a body of bytes.

use std::io::{self, ErrorKind, IoSlice, Read, Write};

use bytes::{Bytes, BytesMut};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// Maximum bytes of a head or a body. Both sides send far less; this guards against reading anything but frames.
const LENGTH_MAX: usize = 1 << 30;
/// Bytes of the two lengths.
const LENGTHS: usize = 8;

/// Returns the bytes of a frame before its body.
fn start(head: &impl Serialize, body_bytes: usize) -> io::Result<Vec<u8>> {
    let head = serde_json::to_vec(head)?;
    if head.len() > LENGTH_MAX || body_bytes > LENGTH_MAX {
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
fn lengths(bytes: [u8; LENGTHS]) -> io::Result<(usize, usize)> {
    let [a, b, c, d, e, f, g, h] = bytes;
    let head = u32::from_le_bytes([a, b, c, d]) as usize;
    let body = u32::from_le_bytes([e, f, g, h]) as usize;
    if head > LENGTH_MAX || body > LENGTH_MAX {
        return Err(io::Error::new(ErrorKind::InvalidData, "not a frame"));
    }
    Ok((head, body))
}

/// Writes a frame. Blocks.
///
/// # Errors
/// The pipe is closed, or the frame is too long.
pub(super) fn write_blocking(
    out: &mut impl Write,
    head: &impl Serialize,
    body: &[u8],
) -> io::Result<()> {
    let start = start(head, body.len())?;
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

/// Reads a frame; `None` at the end. Blocks.
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
    let (head_bytes, body_bytes) = lengths(start)?;
    let mut head = vec![0; head_bytes];
    from.read_exact(&mut head)?;
    let mut body = vec![0; body_bytes];
    from.read_exact(&mut body)?;
    Ok(Some((serde_json::from_slice(&head)?, Bytes::from(body))))
}

/// Writes a frame.
///
/// # Errors
/// As for [`write_blocking`].
pub(super) async fn write(
    out: &mut (impl AsyncWrite + Unpin),
    head: &impl Serialize,
    body: &[u8],
) -> io::Result<()> {
    out.write_all(&start(head, body.len())?).await?;
    out.write_all(body).await?;
    out.flush().await
}

/// Reads a frame; `None` at the end.
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
    let (head_bytes, body_bytes) = lengths(start)?;
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
