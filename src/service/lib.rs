//! The state of the running service, and the single gate that admits calls over HTTP, Flight SQL and MCP.
//!
//! [`App`] holds the state that all calls share, in a few groups. [`admission::admit`] authenticates a call, checks
//! network, scope, rate and quota, and returns an [`admission::Admitted`]. [`billing`] spends the credits of a call.
//! [`error::ApiError`] is every error that a client can receive.

#![forbid(unsafe_code)]

pub mod address_rates;
pub mod admission;
pub mod billing;
pub mod console_page;
pub mod error;
pub mod isochrones;
pub mod open_data;
pub mod readiness;
pub mod receivers;
pub mod refused_acts;
pub mod replica;
pub mod sessions;
pub mod settings;
mod state;

pub use readiness::Readiness;
pub use state::{AccessControl, App, Billing, Capacity, Data, Doctor, Web};
