//! The Model Context Protocol: agents use the service as tools, over HTTP at `/mcp` and over standard input and output.
//!
//! A tool stands for an operation of the OpenAPI document (`tools`), from which its schemas are made (`schema`,
//! `catalog`). A call is turned into the request of that operation (`request`), and answered like any other: by the
//! filters of this process, or by a server ([`answering`]). So keys, scopes, rates, quotas, credits and limits are
//! those of HTTP, and so are the errors; nothing of them is decided here.
//!
//! `handler` speaks the protocol. [`http`] mounts it beside the service, [`stdio`] runs it for one agent.

#![forbid(unsafe_code)]

pub mod answering;
mod catalog;
mod handler;
pub mod http;
mod refusals;
mod request;
mod schema;
pub mod settings;
pub mod stdio;
mod tools;
