//! Writes the ledger rows of free calls every second, also those of killed processes, and before the service ends.

use std::io;
use std::path::Path;

use toise_accounts::ledger::Ledger;
use toise_base::supervise::Supervisor;
use toise_base::watch::{Watcher, watch};
use toise_telemetry::{Counter, Gauge, Metric, Metrics};

const WAITING: Metric<Gauge> = Metric::gauge(
    "toise_ledger_rows_waiting",
    "Rows of free calls that wait because the ledger cannot be written.",
);
const LEFT_OUT: Metric<Counter> = Metric::counter(
    "toise_ledger_rows_left_out_total",
    "Rows of free calls dropped from the ledger because too many were waiting.",
);

/// Writes waiting rows, and those that killed processes left, every second until the handle is dropped; registers their
/// metrics. The journals of these rows are in the data folder.
///
/// # Errors
/// The system cannot start a thread.
pub(crate) fn start(
    supervisor: &Supervisor,
    data: &Path,
    ledger: &Ledger,
    metrics: &Metrics,
) -> io::Result<Watcher> {
    if let Err(error) = ledger.keep_journal(data) {
        tracing::warn!(%error, "no journal of free calls can be kept: their rows are written one by one");
    }
    // Before the first call, because they count against quotas.
    if let Err(error) = ledger.write_leftovers(data) {
        tracing::warn!(%error, "free calls of a killed server are not in the ledger yet");
    }
    let waiting = ledger.waiting().clone();
    metrics.register_gauges(move |gauges| {
        gauges.set(WAITING, &[], waiting.unwritable() as f64);
        gauges.set_count(LEFT_OUT, &[], waiting.left_out());
    });
    let (ledger, data) = (ledger.clone(), data.to_owned());
    watch(supervisor, "waiting-rows", move || {
        // The check of the disk logs why the ledger cannot be written.
        let _ = ledger.write_waiting();
        let _ = ledger.write_leftovers(&data);
    })
}

/// Writes the rows that are still waiting when the service ends; logs how many if that fails. Blocks.
pub(crate) fn finish(ledger: &Ledger) {
    if let Err(error) = ledger.end_journal() {
        let rows = ledger.waiting().len();
        tracing::error!(rows, %error, "the ledger cannot be written: rows of free calls wait in the journal, unless the disk is full");
    }
}
