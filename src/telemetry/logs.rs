//! Log lines, on standard error as text or JSON; standard output is reserved for results.
//!
//! Every request writes one line (`answered`, from the pipeline): request id, method, path without its query, status,
//! duration. Bodies, headers and queries are never logged, since they contain keys, personal addresses and listings.

use std::io::IsTerminal;

use serde::{Deserialize, Serialize};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

use super::process;

/// File descriptors reserved for tables, the store and other sockets.
const DESCRIPTORS_RESERVED: u64 = 256;

/// `[log]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogSettings {
    /// `text` or `json`.
    pub format: LogFormat,
    /// A level, or filter directives of `tracing`.
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

/// Format of log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// Text for people.
    Text,
    /// One JSON object per line.
    Json,
}

/// The part of a filter for a library that writes whole messages of agents below this level.
const WITHOUT_MESSAGES: &str = "rmcp=warn";

/// Keeps the bodies of messages out of the log, unless a filter names a module of the library.
fn without_messages(filter: EnvFilter) -> EnvFilter {
    let is_louder = filter
        .max_level_hint()
        .is_none_or(|level| level > LevelFilter::WARN);
    match WITHOUT_MESSAGES.parse() {
        Ok(quieter) if is_louder => filter.add_directive(quieter),
        _ => filter,
    }
}

/// Starts logging. If the embedding program has already installed a subscriber, that one stays in place.
pub fn start(log: &LogSettings) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(&log.level));
    let lines = tracing_subscriber::fmt()
        .with_env_filter(without_messages(filter))
        .with_writer(std::io::stderr);
    // Fails if a subscriber is already installed, which then stays in place.
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

/// Logs a warning if the process may open fewer files than its connections may need.
pub fn warn_if_few_descriptors(connections_max: usize) {
    let needed = connections_max as u64 + DESCRIPTORS_RESERVED;
    if let Some(allowed) = process::descriptors_max().filter(|allowed| *allowed < needed) {
        tracing::warn!(
            allowed,
            needed,
            "the limit on open files is too low for server.connections_max and the tables; raise it (ulimit -n)"
        );
    }
}
