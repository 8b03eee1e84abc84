//! Outgoing network traffic: every request that leaves this machine goes through here.
//!
//! [`client`] downloads what an operator configures. [`webhook_client`] sends webhooks and [`fetch`] gets pages of
//! portals; both reach only hosts that the egress guard in [`egress`] admits. [`api_client`] calls a server that the
//! operator names, and [`operator_webhook`] posts messages to the operator.

#![forbid(unsafe_code)]

pub mod address;
pub mod api_client;
mod backoff;
pub mod client;
mod download;
pub mod egress;
pub mod fetch;
pub mod operator_webhook;
pub mod resolver;
mod robots;
pub mod tls;
pub mod webhook_client;

pub use backoff::RetryPolicy;
pub use client::{Client, Error};
pub use download::{DownloadedFile, RemoteFile, discard};
