//! Alerts: saved searches, and what their receivers are told.
//!
//! Accounts keep their alerts in the [`registry`]. Whoever writes a listing has it percolated ([`percolate`]) in the
//! same transaction: what matched is remembered ([`matches`]) and put in the [`outbox`], so a match is never without
//! its notification and none is sent that was not committed.

pub mod alert;
mod matches;
pub mod outbox;
pub mod percolate;
pub mod registry;

pub use registry::Alerts;
