//! The provenance of a table's rows.

use serde::{Deserialize, Serialize};

/// Licence of rows that were generated.
pub const INVENTED_LICENCE: &str = "invented data, free of rights";

/// The source of some rows; kept in the snapshot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Provenance {
    /// Address or file name.
    pub name: String,
    /// Official edition, when the file is one (`2026-04`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub edition: Option<String>,
    /// BLAKE3 of the bytes read, hexadecimal.
    pub checksum: String,
    /// Licence of the data.
    pub licence: String,
    /// When it was read, ISO 8601.
    pub read_at: String,
    /// Bytes read.
    pub bytes: u64,
}
