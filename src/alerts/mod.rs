//! Alerts: saved searches, and what their receivers are told.
//!
//! Whoever changes a listing tells [`outbox`] in the same transaction what matched, so a match is never without its
//! notification and none is sent that was not committed.

pub mod outbox;
