//! What the running service tells of itself: log lines on standard error, and numbers for `/metrics`.

pub mod logs;
pub mod metrics;
mod process;

pub use metrics::{Counter, DeliveryOutcome, Gauge, Gauges, Metric, Metrics, Refusal};
