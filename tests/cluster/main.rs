//! Workers as users run them: their answers equal those of one machine, even if processes die, and refusals name the
//! worker.
//!
//! Needs the feature `cluster`.

#[path = "../support/assertions.rs"]
#[allow(dead_code, reason = "shared with the other tests")]
mod assertions;
#[path = "../support/files.rs"]
#[allow(dead_code, reason = "shared with the other tests")]
mod files;
#[path = "../support/process.rs"]
#[allow(dead_code, reason = "shared with the other tests")]
mod process;

mod answers;
mod deaths;
mod folders;
mod refusals;
mod servers;
