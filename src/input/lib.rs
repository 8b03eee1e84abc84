//! Reads the files that other people write, in one way for every command.
//!
//! [`open`] unpacks a source (gzip, zip, zstd), converts a spreadsheet to CSV, Arrow to Parquet, and text to UTF-8.
//! What it returns is plain: delimited text, JSON or Parquet, for the reader of the caller. [`missing`] knows the texts
//! that stand for an empty cell, [`delimited`] how to split text into cells, [`number`] and [`quantity`] the ways to
//! write a number and an amount, and [`words`] yes and no, storeys and classes of homes. [`typed`] converts delimited
//! text to Parquet with types. [`xml`] reads the records of XML. [`reading`] says what was understood, for reports.
//!
//! The cost for text that is UTF-8 already: one validation, far below the cost of splitting it into cells.

mod archive;
mod arrow_file;
mod bounds;
pub mod delimited;
mod encoding;
mod error;
mod form;
pub mod json;
mod magic;
pub mod missing;
pub mod number;
mod ods_cells;
mod open;
mod poliris;
pub mod quantity;
pub mod reading;
mod shared_reading;
mod sheet_table;
mod source_lines;
mod spreadsheet;
pub mod typed;
pub mod words;
pub mod xml;

pub use bounds::Bounds;
pub use encoding::{Utf8Reader, by_name, single_byte_of, utf16_of};
pub use error::Error;
pub use form::{FileForm, SharedForm};
pub use open::{Input, TextConversion, open, open_within};
pub use reading::{FileReading, ReadFile};
pub use shared_reading::{NumberColumns, SharedReading};
