//! Geocodes files of addresses: reads CSV and writes the same CSV with the results appended.
//!
//! [`received`] unpacks the file of a client, [`text`] detects its encoding, [`records`] splits it without changing a
//! byte, and [`rows`] geocodes its rows. [`csv`] runs these steps block by block, so that memory does not grow with the
//! file. [`bulk`] does the same for files on the command line, including Parquet and NDJSON.

pub mod bulk;
pub mod columns;
pub mod csv;
pub mod findings;
pub mod input_columns;
mod ndjson;
mod parquet;
pub mod received;
pub mod records;
pub mod request;
pub mod rows;
pub mod text;
