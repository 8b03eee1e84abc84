//! Geocodes files of addresses: reads CSV and writes the same CSV with the results appended.
//!
//! [`received`] unpacks what a client sent, [`text`] detects the encoding of a file, [`records`] splits it without
//! changing a byte, [`rows`] geocodes its rows, and [`csv`] combines them block by block, so that memory does not grow
//! with the file. [`bulk`] does the same for files on the command line, including Parquet and NDJSON.

pub mod bulk;
pub mod columns;
pub mod csv;
pub mod findings;
mod ndjson;
mod parquet;
pub mod received;
pub mod records;
pub mod request;
pub mod rows;
pub mod text;
