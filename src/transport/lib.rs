//! The HTTP transport that all listeners share: accepting connections, timeouts, TLS, request bodies, compression.
//!
//! [`server`] accepts connections from a [`listener`], counts them by address and serves them until the service stops.
//! [`client_address`] finds the address of a request's client behind proxies. [`body`] reads request bodies within the
//! limits of [`body_budget`]. [`mod@coding`] compresses responses, and [`pieces`] streams them. Nothing here knows the
//! contract.

#![forbid(unsafe_code)]

pub mod body;
pub mod body_budget;
pub mod client_address;
pub mod coding;
mod connection;
pub mod connections_by_address;
pub mod cors;
pub mod listener;
pub mod malformed;
pub mod pieces;
pub mod request_line;
pub mod server;
pub mod tls;
