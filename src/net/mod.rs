//! The network, from the inside out: everything that leaves this machine goes through here.
//!
//! [`client`] fetches what an operator asks for; [`post`] sends what customers ask for, where [`receiver`] lets it go.

pub mod address;
pub mod client;
mod download;
pub mod lookup;
mod polite;
pub mod post;
pub mod receiver;

pub use client::{Client, Error, Policy};
pub use download::Downloaded;
