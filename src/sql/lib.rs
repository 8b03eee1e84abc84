//! SQL over the tables of a data folder: one service for HTTP, Arrow Flight and MCP, and the same sessions for the
//! command line.
//!
//! A query is processed as follows. Its text is checked before it is parsed ([`text`]). A session opens all tables it
//! may read at one moment ([`tables`]), with the functions of this project ([`functions`]) and a memory limit
//! ([`context`]). The parsed query is measured ([`expansion`]), planned, refused unless it only reads ([`plan`]), and
//! run on dedicated threads, within limits of rows, bytes, memory, time and number per key ([`service`], [`limits`]).
//! Guards check what passes between its operators (`execution`, `guard`). Rows are sent as Arrow batches or as the
//! bytes of a format ([`encode`]), no faster than the client takes them (`work`). Each query leaves a row in the audit
//! log ([`audit`]).
//!
//! Data that no key may see, such as accounts, secrets and alerts, is not in any table here.

#![forbid(unsafe_code)]

pub mod audit;
pub mod context;
pub mod csv_cells;
pub mod encode;
pub mod error;
mod execution;
pub mod expansion;
mod explain;
pub mod files;
mod fixed_sizes;
pub mod functions;
mod guard;
mod interruption;
pub mod limits;
mod names;
pub mod parameters;
pub mod plan;
mod read_only;
pub mod request;
mod row_sizes;
pub mod running;
pub mod service;
pub mod settings;
pub mod slots;
pub mod summarize;
pub mod tables;
pub mod tallies;
pub mod text;
mod work;
pub mod workers;

pub use error::{Position, SqlError};
