//! Alerts: saved searches, and what their receivers are told.
//!
//! Whoever changes a listing tells [`outbox`] in the same transaction what matched, so a match is never without its
//! notification and none is sent that was not committed. [`dispatch`] takes notifications to their receivers, signed
//! ([`signature`]), again and again where need be (`schedule`, `endpoint`); [`deliveries`] and [`replay`] are what
//! accounts and operators see and do of that, and [`retention`] bounds it.

pub mod deliveries;
pub mod dispatch;
mod endpoint;
pub mod outbox;
mod payload;
pub mod replay;
pub mod retention;
mod schedule;
pub mod signature;
