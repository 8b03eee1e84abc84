//! Files of addresses: CSV in, the same CSV with the results appended out.
//!
//! [`text`] finds out how a file is written, [`records`] splits it without touching a byte, [`rows`] answers its rows, and
//! [`csv`] puts the pieces together block by block, so that memory does not grow with the file. [`bulk`] does the same for files of the command line, of Parquet
//! and NDJSON too.

pub mod bulk;
pub mod columns;
pub mod csv;
mod ndjson;
mod parquet;
pub mod records;
pub mod request;
pub mod rows;
pub mod text;

#[cfg(test)]
mod bounds_tests;
#[cfg(test)]
mod tests;
