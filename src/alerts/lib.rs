//! Alerts: saved searches and the delivery of their matches to receivers.
//!
//! Accounts manage their alerts in the [`registry`]. Code that writes a listing percolates it ([`percolate`]) in the
//! same transaction: matches are recorded (`matches`) and put in the [`outbox`], so every match has its notification
//! and nothing uncommitted is sent. [`dispatch`] delivers notifications to their receivers, signed ([`signature`]) and
//! retried where necessary (`schedule`, `endpoint`). [`deliveries`], [`overview`] and [`replay`] let accounts and
//! operators inspect and repeat deliveries, and [`retention`] bounds the outbox.

pub mod alert;
pub mod deliveries;
pub mod delivery;
pub mod dispatch;
mod endpoint_health;
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

pub use registry::AlertRegistry;
