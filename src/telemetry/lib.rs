//! Telemetry of the running service: log lines on standard error, and metrics for `/metrics`.

pub mod logs;
pub mod metrics;
mod process;

pub use metrics::{DeliveryOutcome, Gauges, Metrics, Refusal};
