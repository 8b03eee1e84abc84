//! Reads the bloom filters of text columns, which show without decoding the column whether a row group may hold a text.
//!
//! Each row group has one for each filterable text column, of at most 64 KiB. About one lookup in twenty is a false
//! positive.

use parquet::bloom_filter::Sbbf;

use super::Error;
use super::checked::CheckedReader;
use super::data_file::{DataFile, leaf_of};

/// Returns whether a row group may hold one of some texts in a column: `false` only if it holds none of them; `true` if
/// the column has no bloom filter.
///
/// # Errors
/// The bloom filter cannot be read or is damaged.
pub fn may_hold(
    data_file: &DataFile,
    row_group: usize,
    column: &str,
    texts: &[String],
) -> Result<bool, Error> {
    let metadata = data_file.metadata();
    let Some(leaf) = leaf_of(metadata, column) else {
        return Ok(true);
    };
    let [file, _] = data_file.files();
    let reader = CheckedReader::new(&file);
    let column = metadata.row_group(row_group).column(leaf);
    let bloom =
        Sbbf::read_from_column_chunk(column, &reader).map_err(|error| reader.error(error))?;
    Ok(bloom.is_none_or(|bloom| texts.iter().any(|text| bloom.check(text.as_str()))))
}
