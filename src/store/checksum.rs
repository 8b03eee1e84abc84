//! Checksums of stored documents, and of the responses kept under idempotency keys.
//!
//! SQLite has no checksums for its pages, and zstd frames are written without them here, so a bit that flips on disk
//! would go unnoticed.

use rusqlite::Row;

/// Length of a checksum, bytes: one damaged row in 2⁶⁴ goes unnoticed.
pub const CHECKSUM_BYTES: usize = 8;

/// Returns the checksum of some parts: the first bytes of the BLAKE3 digest of all parts, each with its length.
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

/// Returns the checksum of a stored response, from its columns.
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

/// Returns whether a stored response has the checksum it was stored with. The row has the columns request digest,
/// status, media type, length, body or null, and checksum, in this order.
pub fn is_intact_answer(row: &Row<'_>) -> rusqlite::Result<bool> {
    let content_type: String = row.get(2)?;
    let digest = row.get_ref(0)?.as_blob()?;
    // Some responses are stored without their body.
    let body = row.get_ref(4)?.as_blob_or_null()?.unwrap_or_default();
    let found = of_answer(digest, row.get(1)?, &content_type, row.get(3)?, body);
    Ok(row.get_ref(5)?.as_blob()? == found)
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
