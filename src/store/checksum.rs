//! Checksums of what the store holds: of documents, and of the responses kept under idempotency keys.
//!
//! SQLite has none for its pages, and zstd none for its frames as they are written here, so a bit that flips on disk
//! would be read as something else. The SQL functions are for migrations of rows that were stored before.

use rusqlite::Connection;
use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::ValueRef;

use super::document;

/// Length of a checksum, bytes: one damaged row in 2⁶⁴ is not noticed.
pub const CHECKSUM_BYTES: usize = 8;

/// The checksum of some parts: the beginning of their BLAKE3, each part with its length.
pub fn checksum<'p>(parts: impl IntoIterator<Item = &'p [u8]>) -> [u8; CHECKSUM_BYTES] {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    let mut checksum = [0; CHECKSUM_BYTES];
    hasher.finalize_xof().fill(&mut checksum);
    checksum
}

/// The checksum of a stored response, from its columns.
pub fn of_answer(
    request_digest: &[u8],
    status: u16,
    content_type: &str,
    bytes: i64,
    body: &[u8],
) -> [u8; CHECKSUM_BYTES] {
    checksum([
        request_digest,
        &status.to_le_bytes(),
        content_type.as_bytes(),
        &bytes.to_le_bytes(),
        body,
    ])
}

/// Registers what migrations call: `document_with_checksum(document)` and
/// `answer_checksum(request_digest, status, content_type, bytes, body)`.
pub(super) fn register_functions(connection: &Connection) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    connection.create_scalar_function("document_with_checksum", 1, flags, |context| {
        Ok(document::with_checksum(blob(context, 0)?))
    })?;
    connection.create_scalar_function("answer_checksum", 5, flags, |context| {
        let content_type: String = context.get(2)?;
        let (digest, body) = (blob(context, 0)?, blob(context, 4)?);
        let checksum = of_answer(
            digest,
            context.get(1)?,
            &content_type,
            context.get(3)?,
            body,
        );
        Ok(checksum.to_vec())
    })
}

fn blob<'c>(context: &'c Context<'_>, index: usize) -> rusqlite::Result<&'c [u8]> {
    match context.get_raw(index) {
        ValueRef::Blob(bytes) | ValueRef::Text(bytes) => Ok(bytes),
        _ => Ok(&[]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_separated() {
        let of = |parts: &[&[u8]]| checksum(parts.iter().copied());
        assert_ne!(of(&[b"a", b"b"]), of(&[b"ab", b""]));
        assert_eq!(of(&[b"a", b"b"]), of(&[b"a", b"b"]));
    }
}
