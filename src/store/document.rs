//! Records as stored: JSON text, compressed with a dictionary that is part of the program.
//!
//! Listings repeat the contract's keys and values, so a record takes less than a third of its text. The first byte of a
//! document is its format, so that a better format can be added. A checksum covers the rest, so that a bit that flipped
//! on disk is reported as an error and never read as data.

use std::cell::RefCell;
use std::sync::LazyLock;

use super::checksum::{CHECKSUM_BYTES, checksum};
use zstd::bulk::{Compressor, Decompressor};
use zstd::dict::{DecoderDictionary, EncoderDictionary};

/// Texts that occur in records. Stored documents depend on every byte of this file: a better dictionary must be a
/// second file.
const DICTIONARY: &[u8] = include_bytes!("../../data/listing_dictionary_1.txt");
/// zstd level: higher levels save little on texts this short.
const LEVEL: i32 = 1;
/// First byte of a document: its format.
const FORMAT: u8 = 2;
/// Bytes of the format and of the length of the text.
const LENGTH_END: usize = 5;
/// Bytes before the compressed text: the format, the length, the checksum of everything else.
const HEAD_BYTES: usize = LENGTH_END + CHECKSUM_BYTES;
/// Maximum length of a record's text, bytes. Prevents a damaged length from allocating all memory.
pub const RECORD_BYTES_MAX: usize = 64 << 20;

static ENCODER: LazyLock<EncoderDictionary<'static>> =
    LazyLock::new(|| EncoderDictionary::copy(DICTIONARY, LEVEL));
static DECODER: LazyLock<DecoderDictionary<'static>> =
    LazyLock::new(|| DecoderDictionary::copy(DICTIONARY));

thread_local! {
    static COMPRESSOR: RefCell<Option<Compressor<'static>>> = const { RefCell::new(None) };
    static DECOMPRESSOR: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
}

/// A document that cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The bytes have an unknown format or are damaged.
    #[error("stored record is damaged: {0}")]
    Damaged(String),
    /// The record is longer than any real one.
    #[error("record is too large: {0} bytes, must not exceed {RECORD_BYTES_MAX}")]
    TooLarge(usize),
    /// The record cannot be written as JSON, or compressed.
    #[error("record cannot be written: {0}")]
    Unwritable(String),
}

impl Error {
    /// Adds the name of the record to an error about damage; returns other errors unchanged.
    pub fn of(self, record: impl std::fmt::Display) -> Self {
        match self {
            Error::Damaged(reason) => Error::Damaged(format!("{record}: {reason}")),
            other => other,
        }
    }
}

/// Compresses the JSON of a record.
pub fn encode(record: &impl serde::Serialize) -> Result<Vec<u8>, Error> {
    let text = serde_json::to_vec(record).map_err(|error| Error::Unwritable(error.to_string()))?;
    compress(&text)
}

/// Compresses a JSON text.
pub fn compress(text: &[u8]) -> Result<Vec<u8>, Error> {
    let length = u32::try_from(text.len())
        .ok()
        .filter(|length| *length as usize <= RECORD_BYTES_MAX);
    let length = length.ok_or(Error::TooLarge(text.len()))?;
    let compressed = COMPRESSOR.with_borrow_mut(|slot| {
        let compressor = match slot {
            Some(compressor) => compressor,
            None => slot.insert(Compressor::with_prepared_dictionary(&ENCODER)?),
        };
        compressor.compress(text)
    });
    let compressed = compressed.map_err(|error| Error::Unwritable(error.to_string()))?;
    Ok(assembled(length, &compressed))
}

fn assembled(length: u32, compressed: &[u8]) -> Vec<u8> {
    let length = length.to_le_bytes();
    let mut document = Vec::with_capacity(HEAD_BYTES + compressed.len());
    document.push(FORMAT);
    document.extend_from_slice(&length);
    document.extend_from_slice(&checksum([&length, compressed]));
    document.extend_from_slice(compressed);
    document
}

/// Verifies a document against its checksum. Costs a digest of its bytes.
pub fn verify(document: &[u8]) -> Result<(), Error> {
    split(document).map(drop)
}

/// Verifies a document against its checksum, and returns the length of its text and the compressed text.
fn split(document: &[u8]) -> Result<(u32, &[u8]), Error> {
    let damaged = |what: &str| Error::Damaged(what.to_owned());
    let truncated = || damaged("truncated");
    let (head, rest) = document
        .split_first_chunk::<LENGTH_END>()
        .ok_or_else(truncated)?;
    let [format, length @ ..] = *head;
    if format != FORMAT {
        return Err(damaged(
            "unknown format; a newer version may have written it",
        ));
    }
    let (expected, compressed) = rest
        .split_at_checked(CHECKSUM_BYTES)
        .ok_or_else(truncated)?;
    if checksum([&length, compressed]) != expected {
        return Err(damaged("its checksum does not match"));
    }
    Ok((u32::from_le_bytes(length), compressed))
}

/// Returns the JSON text of a stored record.
pub fn decode(document: &[u8]) -> Result<Vec<u8>, Error> {
    let mut text = Vec::new();
    decode_into(document, &mut text)?;
    Ok(text)
}

/// Appends the JSON text of a stored record. If the record is damaged, nothing is appended.
pub fn decode_into(document: &[u8], to: &mut Vec<u8>) -> Result<(), Error> {
    let damaged = |what: &str| Error::Damaged(what.to_owned());
    let (length, compressed) = split(document)?;
    let length = length as usize;
    if length > RECORD_BYTES_MAX {
        return Err(damaged("its length is invalid"));
    }
    let start = to.len();
    to.resize(start + length, 0);
    let written = DECOMPRESSOR.with_borrow_mut(|slot| {
        let decompressor = match slot {
            Some(decompressor) => decompressor,
            None => slot.insert(Decompressor::with_prepared_dictionary(&DECODER)?),
        };
        decompressor.decompress_to_buffer(compressed, &mut to[start..])
    });
    let error = match written {
        Ok(written) if written == length => return Ok(()),
        Ok(_) => damaged("shorter than its recorded length"),
        Err(error) => Error::Damaged(error.to_string()),
    };
    to.truncate(start);
    Err(error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn a_record_is_restored_and_takes_less_than_a_third() {
        let samples: Value =
            serde_json::from_str(include_str!("../../data/samples/adverts.json")).unwrap();
        let (mut texts, mut stored) = (0, 0);
        for record in samples["data"].as_array().unwrap() {
            let document = encode(record).unwrap();
            let text = decode(&document).unwrap();
            assert_eq!(serde_json::from_slice::<Value>(&text).unwrap(), *record);
            texts += text.len();
            stored += document.len();
        }
        assert!(stored * 3 < texts, "{stored} of {texts} bytes");
    }

    #[test]
    fn the_dictionary_never_changes() {
        assert_eq!(blake3::hash(DICTIONARY).to_hex()[..16], *"63bac43e75ccf539");
    }

    #[test]
    fn damaged_bytes_are_an_error() {
        let document = encode(&json!({"title": "T3"})).unwrap();
        for broken in [
            &document[..3],
            &document[..document.len() - 1],
            &[9, 0, 0, 0, 0],
            &[1, 255, 255, 255, 255, 0],
        ] {
            assert!(
                matches!(decode(broken), Err(Error::Damaged(_))),
                "{broken:?}"
            );
            assert!(verify(broken).is_err(), "{broken:?}");
        }
    }

    #[test]
    fn no_flipped_bit_is_read_as_another_record() {
        let document = encode(&json!({"title": "T3 lumineux", "price": 245_000})).unwrap();
        verify(&document).unwrap();
        for bit in 0..8 * document.len() {
            let mut flipped = document.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(matches!(decode(&flipped), Err(Error::Damaged(_))), "{bit}");
            assert!(verify(&flipped).is_err(), "{bit}");
        }
    }
}
