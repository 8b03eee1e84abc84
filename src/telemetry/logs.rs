//! Log lines, on standard error as text or JSON; standard output is reserved for results.
//!
//! Every request writes one line (`answered`, from the pipeline): request id, client address, method, the beginning of
//! the path without its query, status, duration. Bodies, headers and queries are never logged, since they contain keys,
//! personal addresses and listings. [`super::log_writer`] limits how much is written and prevents log errors from
//! failing requests.

use std::io::IsTerminal;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

pub use super::log_writer::LogFormat;
use super::log_writer::LogWriter;

/// Settings of the `[log]` section.
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

/// Filter directive for `rmcp`, which logs whole messages of agents at levels below `warn`.
const WITHOUT_MESSAGES: &str = "rmcp=warn";

/// Keeps message bodies out of the log, unless the filter names a module of the library.
fn without_messages(filter: EnvFilter) -> EnvFilter {
    let is_louder = filter
        .max_level_hint()
        .is_none_or(|level| level > LevelFilter::WARN);
    match WITHOUT_MESSAGES.parse() {
        Ok(quieter) if is_louder => filter.add_directive(quieter),
        _ => filter,
    }
}

/// The writer of the process, once logging has started.
static WRITER: OnceLock<LogWriter> = OnceLock::new();

/// Guard that writes the queued lines when it is dropped, waiting two seconds at most.
#[derive(Debug)]
#[must_use = "lines are lost unless this lives until the work is done"]
pub struct LogGuard(());

impl Drop for LogGuard {
    fn drop(&mut self) {
        if let Some(writer) = WRITER.get() {
            writer.flush();
        }
    }
}

/// Returns the number of log lines that this process left out because they could not be written or were too many.
pub fn lines_left_out() -> u64 {
    WRITER.get().map_or(0, LogWriter::left_out)
}

/// Starts logging. If the embedding program has already installed a subscriber, that one stays in place.
pub fn start(log: &LogSettings) -> LogGuard {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(&log.level));
    let writer = WRITER.get_or_init(|| LogWriter::start(log.format, std::io::stderr()));
    let lines = tracing_subscriber::fmt()
        .with_env_filter(without_messages(filter))
        .with_writer(writer.clone())
        // Otherwise it would write errors to standard error, and panic when that fails.
        .log_internal_errors(false);
    // Fails if a subscriber is already installed; that one stays in place.
    let _ = match log.format {
        LogFormat::Text => lines.with_ansi(std::io::stderr().is_terminal()).try_init(),
        LogFormat::Json => lines
            .json()
            .flatten_event(true)
            .with_current_span(false)
            .with_span_list(false)
            .try_init(),
    };
    LogGuard(())
}
