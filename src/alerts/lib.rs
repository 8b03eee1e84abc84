//! Alerts: saved searches, and what their receivers are told.
//!
//! Accounts keep their alerts in the [`registry`]. Whoever writes a listing has it percolated ([`percolate`]) in the
//! same transaction: what matched is remembered (`matches`) and put in the [`outbox`], so a match is never without its
//! notification and none is sent that was not committed. [`dispatch`] takes notifications to their receivers, signed
//! ([`signature`]), again and again where need be (`schedule`, `endpoint`); [`deliveries`], [`overview`] and [`replay`]
//! are what accounts and operators see and do of that, and [`retention`] bounds it.

pub mod alert;
pub mod deliveries;
pub mod delivery;
pub mod dispatch;
mod endpoint;
mod matches;
pub mod outbox;
pub mod overview;
mod payload;
pub mod percolate;
pub mod registry;
pub mod replay;
pub mod request;
pub mod retention;
mod schedule;
pub mod settings;
pub mod signature;

pub use registry::Alerts;
