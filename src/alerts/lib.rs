//! Alerts: saved searches and the delivery of their matches to receivers.
//!
//! Accounts manage their alerts ([`alert`]) in the [`registry`]; the bodies and queries they send are parsed by
//! [`request`]. Code that writes a listing also tests it against all alerts ([`percolate`]). The same transaction
//! records the matches (`matches`) and puts the notifications in the [`outbox`], so no notification is lost and none is
//! sent for an uncommitted change. Open data is published by imports, outside the store: [`open_data`] compares each
//! publication with the alerts afterwards. Changes of stored homes are delivered in the same way ([`portfolio`]).
//!
//! [`dispatch`] groups notifications into deliveries, composes their bodies (`payload`) and posts them to their
//! receivers, signed ([`signature`]). `schedule` decides when a failed delivery is retried, and `endpoint_health` how
//! many deliveries an endpoint may have in flight. [`deliveries`], [`overview`] and [`replay`] let accounts and
//! operators inspect and repeat deliveries, and [`retention`] bounds the outbox.

#![forbid(unsafe_code)]

pub mod alert;
pub mod deliveries;
pub mod delivery;
pub mod dispatch;
mod endpoint_health;
mod matches;
pub mod open_data;
pub mod outbox;
pub mod overview;
mod payload;
pub mod percolate;
pub mod portfolio;
pub mod registry;
pub mod replay;
pub mod request;
pub mod retention;
pub mod saved_search;
mod schedule;
pub mod settings;
pub mod signature;
mod subject;

pub use registry::AlertRegistry;
