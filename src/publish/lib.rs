//! Snapshots of a data folder on object storage.
//!
//! A publication ([`publisher`]) first captures one state of the data folder ([`capture`]): the files that the current
//! snapshots of its tables, its indexes and its model name, then the rows of the store that replicas need. Their bytes
//! become objects that are named by their own digest, are created once and never change. A numbered manifest
//! ([`manifest`]) names all of them, and a small pointer names the newest manifest. The pointer is only replaced if it
//! is still the one that the publication started from, so of two concurrent publishers one wins and the other gets an
//! error. Readers start at the pointer, so an interrupted publication has no effect for them.
//!
//! ```text
//! current.json                      the pointer: number, digest and length of the newest manifest
//! snapshots/0000000012.json         manifests; created if absent, never changed
//! objects/3f/3fa94c…                content, named by its BLAKE3; created if absent, never changed
//! metering/<replica>/0000000007.json   consumption that a replica metered ([`metering`])
//! ```
//!
//! A [`replica`] follows the pointer: it downloads what it lacks, verifies every byte, and then installs the files into
//! its own data folder. Processes that read the folder notice them as they notice an import. Objects that no kept
//! manifest names are deleted later ([`garbage`]). [`remote`] is the only module that talks to the object store.
//!
//! Costs: a publication of a 20 GB data folder names about 850 files and, for two million properties with four million
//! adverts, 35,000 blocks of rows; its manifest is 6 MB long. The first publication needs one request per object. A
//! later one sends new files and changed blocks, the manifest and the pointer. An idle replica reads the pointer once a
//! second, 2.6 million conditional requests a month.

#![forbid(unsafe_code)]

pub mod capture;
mod digests;
mod error;
#[cfg(test)]
mod faults;
mod folder;
pub mod follow;
pub mod garbage;
pub mod holdings;
#[cfg(test)]
mod holdings_tests;
mod install;
pub mod manifest;
pub mod metering;
pub mod publisher;
pub mod remote;
pub mod replica;
pub mod retry;
pub mod settings;
pub mod stamp;
#[cfg(test)]
mod tests;

pub use error::{Error, Result};
