//! The network, from the inside out: everything that leaves this machine goes through here.
//!
//! [`client`] fetches what an operator asks for; [`post`] sends what customers ask for and [`fetch`] gets pages
//! of portals, both where [`receiver`] lets them go.

pub mod address;
pub mod client;
mod download;
pub mod fetch;
pub mod lookup;
mod polite;
pub mod post;
pub mod receiver;
mod robots;
pub mod tls;

pub use client::{Client, Error, Policy};
pub use download::Downloaded;
