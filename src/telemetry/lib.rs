//! Telemetry of the running service: log lines on standard error, and metrics for `/metrics`.

#![forbid(unsafe_code)]

pub mod descriptors;
pub mod log_writer;
pub mod logs;
pub mod metrics;
mod process;

pub use metrics::{Counter, DeliveryOutcome, Gauge, Gauges, Metric, Metrics, Refusal};
