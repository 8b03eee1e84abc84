//! Bulk work and SQL on several machines: workers, and commands that use them. Built with the feature `cluster`.
//!
//! A worker ([`worker`]) has the data of a folder or follows the publications of a writer, as a replica does. It offers two
//! things over gRPC: plans of SQL, by the engine `datafusion-distributed`, and parts of bulk jobs, by the code of the
//! local commands. A command ([`coordinator`]) has the same data. It tells every worker which snapshots, model, index of
//! addresses and version it has ([`identity`]), and workers refuse what is not theirs.
//!
//! A bulk job is cut into numbered parts. Each answer is committed as a file of its own before it counts, so a repeated
//! job does only what is missing, and answers are put together in the order of their numbers. A query that fails with a
//! worker is run again without it; none of its rows are shown before all are there.
//!
//! Connections are encrypted and authenticated, but for loopback (`transport.rs`).

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
