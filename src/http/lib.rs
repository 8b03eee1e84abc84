//! The HTTP API: one list of endpoints, one pipeline for every request, one mapping of errors.
//!
//! [`server`] passes each request to the warp filters of [`filters`], whose groups all end in [`pipeline`]. The
//! pipeline finds the [`endpoint::Endpoint`], admits the call ([`toise_service::admission`]), calls the handler, writes
//! the ledger and finishes the response. Within a group, paths are looked up in a tree (`pipeline/router.rs`) instead
//! of trying one filter after another, because a 405 response must list the methods of a path, and policy tests visit
//! every endpoint.

#![forbid(unsafe_code)]

pub mod endpoint;
pub mod error;
mod files;
pub mod filters;
pub mod input;
pub mod openapi;
pub mod pipeline;
mod reports;
pub mod resources;
pub mod server;
