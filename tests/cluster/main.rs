//! Workers as users run them: answers equal to those of one machine, whatever dies meanwhile, and refusals by name.
//!
//! Needs the feature `cluster`.

#[path = "../support/process.rs"]
#[allow(dead_code, reason = "shared with the other tests")]
mod process;

mod answers;
mod deaths;
mod folders;
mod refusals;
mod servers;
