//! Readiness of a server: how long a worker may take for one piece of work, and log lines when readiness changes.

use std::time::Duration;

use tokio::time::MissedTickBehavior;

use toise_base::supervise::Supervisor;
use toise_service::Readiness;
use toise_telemetry::{Gauge, Metric, Metrics};

/// Pause between two checks of readiness.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Maximum time for work on a log or a file of hundreds of megabytes, on a slow disk.
const FILE_MAX: Duration = Duration::from_secs(10 * 60);
/// Maximum time for work on everything that changed since the last run, or on a whole index or model.
const TABLE_MAX: Duration = Duration::from_secs(60 * 60);
/// Maximum time for work on a whole data folder: rewriting it, uploading or downloading it over a slow line.
const FOLDER_MAX: Duration = Duration::from_secs(12 * 60 * 60);

/// Maximum time for one piece of work of slow workers; all others have [`WORK_MAX`](toise_base::supervise::WORK_MAX).
pub(crate) const WORK_BOUNDS: &[(&str, Duration)] = &[
    ("store-checkpoint", FILE_MAX),
    ("ledger-checkpoint", FILE_MAX),
    ("geocoding-projects", FILE_MAX),
    ("portfolios", FILE_MAX),
    ("projection", TABLE_MAX),
    ("text-index", TABLE_MAX),
    ("address-index", TABLE_MAX),
    ("model", TABLE_MAX),
    ("sighting-dates", TABLE_MAX),
    ("open-data-alerts", TABLE_MAX),
    ("compaction", FOLDER_MAX),
    ("publisher", FOLDER_MAX),
    ("replica", FOLDER_MAX),
];

const BUSY_SECONDS: Metric<Gauge> = Metric::gauge(
    "toise_worker_busy_seconds",
    "Seconds that a background worker has spent on its current piece of work, 0 while it waits for work.",
);
const HUNG: Metric<Gauge> = Metric::gauge(
    "toise_worker_hung",
    "1 for a background worker that has spent longer on one piece of work than allowed.",
);

/// Registers the gauges of the workers.
pub(crate) fn register_worker_gauges(metrics: &Metrics, supervisor: &Supervisor) {
    let supervisor = supervisor.clone();
    metrics.register_gauges(move |gauges| {
        for busy in supervisor.workers() {
            let (passed_s, is_hung) = (busy.passed.as_secs_f64(), u8::from(busy.is_hung()));
            gauges.set_member(BUSY_SECONDS, "worker", &busy.worker, passed_s);
            gauges.set_member(HUNG, "worker", &busy.worker, is_hung.into());
        }
    });
}

/// Logs when a running service is no longer ready, and when it is ready again; runs until it is dropped.
pub(crate) async fn log_changes(readiness: Readiness) {
    let mut ticks = tokio::time::interval(LOOK_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut before = None;
    loop {
        ticks.tick().await;
        let obstacle = readiness.obstacle();
        if obstacle != before {
            match &obstacle {
                Some(obstacle) => tracing::error!(obstacle, "not ready"),
                None => tracing::info!("ready again"),
            }
            before = obstacle;
        }
    }
}
