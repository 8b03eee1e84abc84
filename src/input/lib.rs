//! Reads the files that other people write, in the same way for every command.
//!
//! [`open`] unpacks a source (gzip, zip, zstd) and converts a spreadsheet to CSV, Arrow to Parquet, and text to UTF-8.
//! It returns delimited text, JSON or Parquet for the caller's reader. [`missing`] knows the markers for empty cells,
//! [`delimited`] splits text into cells, [`number`], [`quantity`] and [`day`] read numbers, amounts and days, and
//! [`words`] reads yes and no, storeys and classes of homes. [`typed`] converts delimited text to Parquet with types.
//! [`xml`] reads the records of XML. [`reading`] reports how a file was interpreted.
//!
//! Text that is already UTF-8 costs only one validation, far less than splitting it into cells.

mod archive;
mod arrow_file;
mod bounds;
mod column_evidence;
pub mod day;
pub mod delimited;
mod encoding;
mod error;
mod form;
mod header_gap;
pub mod json;
mod magic;
pub mod missing;
pub mod number;
mod ods_cells;
mod open;
mod poliris;
pub mod quantity;
mod quotes;
pub mod reading;
mod shared_reading;
mod sheet_table;
mod source_lines;
mod spreadsheet;
mod titles;
pub mod typed;
pub mod words;
pub mod xml;

pub use bounds::Bounds;
pub use encoding::{Utf8Reader, by_name, is_encoded_twice, single_byte_of, utf16_of};
pub use error::Error;
pub use form::{FileForm, SharedForm};
pub use open::{Input, TextConversion, open, open_within};
pub use reading::{FileReading, ReadFile};
pub use shared_reading::{NumberColumns, SharedReading};
