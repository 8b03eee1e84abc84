//! What a server of HTTP does whatever it answers: who its client is and how much it may take, how bodies are compressed
//! and sent in pieces, TLS.
//!
//! A connection comes from a [`listener`], is counted in [`connections_by_address`] and read as far as [`paid_reads`] allows;
//! the address of a request's client is found by [`client_address`], and what costs that client nothing is answered at its
//! [`pace`]. Nothing here knows the contract: [`mod@coding`] and [`pieces`] take any body.

#![forbid(unsafe_code)]

mod address_buckets;
pub mod client_address;
pub mod coding;
pub mod connections_by_address;
pub mod cors;
pub mod listener;
pub mod pace;
pub mod paid_reads;
pub mod pieces;
pub mod refused_keys;
pub mod request_line;
pub mod tls;
