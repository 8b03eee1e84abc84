//! SQL over the tables of a data folder: one service for HTTP, Arrow Flight and MCP, and the same sessions for the
//! command line.
//!
//! A query sent with a key is written to the audit log ([`audit`]), waits for a slot ([`service`]), and runs in a
//! separate process ([`process`]), within limits on rows, bytes, memory and time ([`limits`]). The process checks the
//! text before it is parsed ([`text`]) and opens a session over all tables as of the start of the query ([`tables`],
//! [`context`]), with the functions of this project ([`functions`]). It then plans the query, and refuses it unless it
//! only reads ([`plan`]). Rows are sent as the bytes of a format ([`encode`]), no faster than the client takes them.
//!
//! The command line opens the same sessions in its own process.
//!
//! Data that no key may see, such as accounts, secrets and alerts, is not in any table here.

#![forbid(unsafe_code)]

pub mod audit;
mod batch_bytes;
pub mod context;
pub mod encode;
pub mod error;
mod explain;
pub mod files;
pub mod functions;
pub mod limits;
mod memory;
mod names;
pub mod parameters;
pub mod plan;
pub mod process;
mod read_only;
pub mod request;
pub mod running;
pub mod service;
pub mod settings;
pub mod slots;
pub mod summarize;
pub mod tables;
pub mod tallies;
pub mod text;
pub mod workers;

pub use error::{Position, SqlError};
