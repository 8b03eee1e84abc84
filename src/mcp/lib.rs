//! The Model Context Protocol: agents use the service as tools, over HTTP at `/mcp` and over standard input and output.
//!
//! A tool corresponds to an operation of the OpenAPI document (`tools`), from which its schemas are generated
//! (`schema`, `catalog`). A call is turned into the request of that operation (`request`) and answered like any other
//! request, by the filters of this process or by a server ([`backend`]). So keys, scopes, rates, quotas, credits,
//! limits and errors are the same as over HTTP; this crate does not decide them.
//!
//! `handler` implements the protocol. [`http`] serves it at `/mcp`, and [`stdio`] serves it to one agent.

#![forbid(unsafe_code)]

pub mod backend;
mod catalog;
mod handler;
pub mod http;
mod refusals;
mod request;
mod schema;
pub mod stdio;
mod tools;
