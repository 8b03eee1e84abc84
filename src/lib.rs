#![doc = include_str!("ARCHITECTURE.md")]
#![warn(missing_docs)]
#![cfg_attr(
    not(test),
    warn(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::todo)
)]

pub mod accounts;
pub mod alerts;
pub mod backup;
pub mod cli;
pub mod clock;
pub mod collect;
pub mod config;
pub mod engine;
pub mod estimate;
pub mod geo;
pub mod http;
pub mod lake;
pub mod listings;
pub mod net;
pub mod opendata;
pub mod progress;
pub mod reports;
pub mod store;
pub mod synth;
pub mod telemetry;
pub mod wire;
