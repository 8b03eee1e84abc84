//! The service over HTTP: one list of endpoints, one pipeline for every request, one mapping of errors.
//!
//! [`server`] accepts connections and passes each request to the warp filters of [`filters`], whose groups all end
//! in [`pipeline`]: it finds the [`endpoint::Endpoint`], checks size, key, scope, rate and quota, calls the
//! handler, writes the ledger and finishes the response. Within a group, paths are looked up in a tree ([`router`])
//! instead of trying one filter after another: a 405 response must list the methods of a path, and policy tests
//! visit every endpoint.

#![forbid(unsafe_code)]

mod acts;
pub mod addresses;
pub mod admission;
pub mod answer_headers;
mod app;
pub mod audience;
pub mod auth;
mod backend;
pub mod body;
pub mod body_budget;
pub mod call;
mod connection;
pub mod console_page;
pub mod endpoint;
pub mod error;
mod files;
pub mod filters;
mod form;
pub mod head;
pub mod idempotency;
mod limits;
pub mod malformed;
pub mod openapi;
mod operation;
pub mod out_of_turn;
mod parser_errors;
pub mod pipeline;
mod readiness;
pub mod refused_acts;
pub mod replica;
mod reports;
mod request_trace;
pub mod resources;
pub mod response;
pub mod router;
pub mod server;
pub mod sessions;
pub mod settings;
pub mod unfolding;
mod upload;
mod vendor_sources;

pub use app::App;
pub use readiness::Readiness;
pub use toise_transport::{
    client_address, cors, listener, pace, paid_reads, refused_keys, request_line, tls,
};
use toise_transport::{coding, connections_by_address, pieces};
