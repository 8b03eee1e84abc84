//! Messages between a command and a worker about bulk jobs. They are actions of Arrow Flight; a part and its answer are
//! JSON text followed by a payload of bytes.
//!
//! A part contains its whole job, so a worker does not have to remember jobs and can continue after a restart.

use std::io::Cursor;

use arrow::array::RecordBatch;
use arrow::datatypes::Schema;
use arrow::ipc::reader::StreamReader;
use arrow::ipc::writer::StreamWriter;
use bytes::{BufMut, Bytes, BytesMut};
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Serialize};

use crate::identity::Identity;
use crate::{Error, Result};
use toise_estimate::bulk::EstimateJob;
use toise_geocode::request::Operation;
use toise_opendata::bulk::MatchJob;

/// Action: the identity of the worker.
pub const IDENTIFY: &str = "toise.identify";
/// Action: the answer to a part of a job.
pub const PART: &str = "toise.part";
/// Header of plans: the [`QueryTerms`], as JSON.
pub const TERMS: &str = "x-toise-terms";
/// Maximum bytes of a message of a bulk job.
pub const MESSAGE_BYTES_MAX: usize = 512 << 20;

/// A worker's answer to [`IDENTIFY`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Introduction {
    /// Its data.
    pub identity: Identity,
    /// Identifier of its process, which changes with a restart.
    pub process: String,
}

/// Work on the rows of a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Work {
    /// Values of homes.
    Estimate(EstimateJob),
    /// Candidates of matches.
    Match(MatchJob),
    /// Addresses to positions, or back.
    Geocode {
        /// Which of the two.
        operation: Operation,
        /// Columns to append.
        result_columns: Vec<String>,
    },
}

/// A bulk job, sent with each of its parts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// Identity of the data that the answers must come from.
    pub identity: Identity,
    /// The work on its rows.
    pub work: Work,
}

/// Metadata of the answer to a part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AboutPart {
    /// Number of rows of the part.
    pub rows: u64,
    /// Time the worker took, seconds.
    pub seconds: f64,
    /// Statistics of each block, as the job counts them.
    pub counts: Vec<serde_json::Value>,
}

/// Inputs of a query's functions that its plan does not contain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueryTerms {
    /// Identity of the data that the answers must come from.
    pub identity: Identity,
    /// Valuation date of estimates that give none.
    pub today: chrono::NaiveDate,
    /// Whether features that sales do not record adjust prices.
    pub has_adjustments: bool,
}

/// Packs a value as JSON text and the bytes that belong to it into one message.
///
/// # Errors
/// The value cannot be written as JSON, or its text is longer than 4 GiB.
pub fn pack(about: &impl Serialize, payload: &[u8]) -> Result<Bytes> {
    let about = serde_json::to_vec(about)?;
    let mut message = BytesMut::with_capacity(4 + about.len() + payload.len());
    let length = u32::try_from(about.len()).map_err(serde_json::Error::custom)?;
    message.put_u32(length);
    message.put_slice(&about);
    message.put_slice(payload);
    Ok(message.freeze())
}

/// Splits a message that [`pack`] made into its value and its bytes.
///
/// # Errors
/// The message is truncated, or its text is not of the expected type.
pub fn unpack<T: DeserializeOwned>(message: &Bytes) -> Result<(T, Bytes)> {
    let short = || Error::from(serde_json::Error::custom("it is cut short"));
    let (length, rest) = message.split_first_chunk::<4>().ok_or_else(short)?;
    let length = u32::from_be_bytes(*length) as usize;
    let about = rest.get(..length).ok_or_else(short)?;
    Ok((serde_json::from_slice(about)?, message.slice(4 + length..)))
}

/// Encodes batches as an Arrow stream, which keeps their boundaries.
///
/// # Errors
/// They cannot be encoded.
pub fn encode(schema: &Schema, batches: &[RecordBatch]) -> Result<Vec<u8>> {
    let mut writer = StreamWriter::try_new(Vec::new(), schema)?;
    for batch in batches {
        writer.write(batch)?;
    }
    Ok(writer.into_inner()?)
}

/// Decodes the batches of an Arrow stream.
///
/// # Errors
/// It is damaged.
pub fn decode(stream: &[u8]) -> Result<Vec<RecordBatch>> {
    let reader = StreamReader::try_new(Cursor::new(stream), None)?;
    Ok(reader.collect::<std::result::Result<_, _>>()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_that_is_cut_short_is_refused() {
        let message = pack(&"about", b"payload").unwrap();
        let (about, payload): (String, Bytes) = unpack(&message).unwrap();
        assert_eq!((about.as_str(), &payload[..]), ("about", &b"payload"[..]));
        for length in 0..11 {
            assert!(
                unpack::<String>(&message.slice(..length)).is_err(),
                "{length}"
            );
        }
    }
}
