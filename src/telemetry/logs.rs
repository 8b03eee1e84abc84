//! Log lines: on standard error, as text or JSON, so that standard output holds results and nothing else.
//!
//! Every request makes one line (`answered`, from the pipeline): request id, method, path without its query, status,
//! duration. Bodies, headers and queries are never logged, since they hold keys, addresses of people and listings.

use std::io::IsTerminal;

use serde::{Deserialize, Serialize};
use tracing_subscriber::EnvFilter;

use super::process;

/// File descriptors kept for tables, the store and sockets of other kinds.
const DESCRIPTORS_BESIDE: u64 = 256;

/// `[log]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogSettings {
    /// `text` or `json`.
    pub format: LogFormat,
    /// A level, or directives of `tracing`'s filter.
    pub level: String,
}

impl Default for LogSettings {
    fn default() -> Self {
        Self {
            format: LogFormat::Text,
            level: "info".into(),
        }
    }
}

/// How log lines are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

/// Starts logging; a program that embeds this crate and logs by itself keeps what it has.
pub fn start(log: &LogSettings) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(&log.level));
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr);
    // Fails where a subscriber is there already, which then keeps its place.
    let _ = match log.format {
        LogFormat::Text => lines.with_ansi(std::io::stderr().is_terminal()).try_init(),
        LogFormat::Json => lines
            .json()
            .flatten_event(true)
            .with_current_span(false)
            .with_span_list(false)
            .try_init(),
    };
}

/// Warns where the system lets this process open fewer files than its connections may need.
pub fn warn_of_few_descriptors(connections_max: usize) {
    let needed = connections_max as u64 + DESCRIPTORS_BESIDE;
    if let Some(allowed) = process::descriptors_max().filter(|allowed| *allowed < needed) {
        tracing::warn!(
            allowed,
            needed,
            "the limit of open files is below server.connections_max and what tables need: raise it (ulimit -n)"
        );
    }
}
