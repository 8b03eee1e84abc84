//! Runs the queries of API keys in separate processes, so that no statement can exhaust the server's memory or threads.
//!
//! The server starts its own executable again with a hidden command ([`Launch`]) and keeps a few such processes ready
//! (`pool`). One process runs one query at a time. It receives the text, the parameters, the versions of the tables,
//! and the rows of listings that are not in their files yet. It sends back the rows of the result (`messages`). The
//! operating system bounds its memory and its processor time ([`child`]). The server bounds the time and the size of
//! the result, and ends a process that exceeds them. Long pieces of a result pass through shared memory (`shared`). For
//! functions and tables that need a model, the index of addresses or caches, the process calls the server, which
//! computes them ([`calls`]).

pub mod calls;
pub mod child;
mod frames;
mod ipc;
mod messages;
pub(crate) mod pool;
pub(crate) mod query;
mod shared;

use std::ffi::OsString;
use std::path::PathBuf;

/// Prefix of the names of the folders that processes spill to.
pub const SPILL_PREFIX: &str = "toise-sql-";

/// How the processes that run queries are started.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The executable.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// The message that the process reads first from its standard input ([`child::ServerLink::open`]).
    pub setup: serde_json::Value,
}

/// Returns the path of the executable of this process, valid even if its file was replaced.
///
/// # Errors
/// The operating system cannot give its path.
pub fn own_executable() -> std::io::Result<PathBuf> {
    if cfg!(target_os = "linux") {
        // If the file was replaced, its path now names another version.
        return Ok(PathBuf::from("/proc/self/exe"));
    }
    std::env::current_exe()
}
