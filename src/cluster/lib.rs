//! Bulk work and SQL on several machines: workers, and commands that use them. Built with the feature `cluster`.
//!
//! A worker ([`worker`]) has the data of a folder, or follows the publications of a writer as a replica does. It does
//! two kinds of work over gRPC: it runs plans of SQL with the engine `datafusion-distributed`, and answers parts of
//! bulk jobs with the code of the local commands. A command ([`coordinator`]) has the same data. It sends every worker
//! the identity of its data: snapshots, model, index of addresses and version ([`identity`]). A worker with other data
//! refuses.
//!
//! A bulk job is cut into numbered parts. Each answer is committed as a separate file before it counts, so a repeated
//! job only does what is missing. Answers are joined in the order of their numbers. If a worker fails during a query,
//! the query is run again without it; no row is returned before all have arrived.
//!
//! Connections are encrypted and authenticated, except on loopback (`transport.rs`).

#![forbid(unsafe_code)]

pub mod coordinator;
pub mod error;
pub mod identity;
mod protocol;
mod transport;
pub mod worker;

pub use error::{Error, Result};
pub use protocol::{Job, Work};
pub use transport::Access;
