//! Outgoing network traffic: every request that leaves this machine goes through here.
//!
//! [`client`] downloads what an operator configures. [`post`] sends webhooks and [`fetch`] gets pages of portals; both
//! reach only hosts that the egress guard in [`receiver`] admits.

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
