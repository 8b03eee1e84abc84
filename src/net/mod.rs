//! The network, from the inside out: one client for everything that leaves this machine.

pub mod client;
mod download;
mod polite;

pub use client::{Client, Error, Policy};
pub use download::Downloaded;
