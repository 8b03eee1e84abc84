//! Refreshes the data folder of a running server on a schedule (`refresh.every_h`), and shows how old its tables are.
//!
//! A refresh is a separate process, `toise refresh`: its memory use and its crashes do not affect the server, and it
//! can be killed at any time. The server switches to new tables, addresses and models by itself, as after any command.
//! When a refresh ends, the log and the operator's webhook (`refresh.webhook`) report what changed. A failure is
//! reported when it first occurs and when it is over, not after each refresh.

use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use chrono::{DateTime, NaiveDate, TimeDelta, Timelike, Utc};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toise_base::clock::{Clock, iso, parse_iso};
use toise_base::supervise::{Pulse, Supervisor};
use toise_base::watch::{Watcher, until_dropped};
use toise_net::operator_webhook;
use toise_service::Readiness;
use toise_telemetry::{Gauge, Gauges, Metric, Metrics};
use tokio::runtime::Handle;

use crate::config::Config;
use crate::refresh::editions::Editions;
use crate::refresh::tables;
use crate::{Failure, dumps};
use toise_engine::priority;
use toise_lake::ImportOutcome;
use toise_lake::snapshot::Snapshot;
use toise_sql::process::own_executable;

/// Pause between two checks for a refresh that is due, or has ended.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Minimum pause between the starts of two refreshes, if one ended without a result.
const RETRY_AFTER: Duration = Duration::from_secs(15 * 60);
/// Maximum duration of a refresh. After that it is killed, and the next one continues where it stopped.
const REFRESH_MAX: Duration = Duration::from_secs(24 * 60 * 60);
/// Maximum wait for the thread when stopping.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);
/// Bytes of the error output of a refresh that are logged.
const ERROR_BYTES_MAX: i64 = 2_000;

const TABLE_AGE: Metric<Gauge> = Metric::gauge(
    "toise_table_age_seconds",
    "Seconds since a table of open data was last up to date with its source; without a refresh, since it last changed.",
);
const EDITION: Metric<Gauge> = Metric::gauge(
    "toise_edition_timestamp_seconds",
    "Date of the newest edition of a source, held or available, in seconds since 1970-01-01.",
);
const REFRESH_AGE: Metric<Gauge> = Metric::gauge(
    "toise_refresh_age_seconds",
    "Seconds since the last refresh ended.",
);
const REFRESH_FAILED: Metric<Gauge> = Metric::gauge(
    "toise_refresh_failed",
    "1 for a table whose source failed in the last refresh, otherwise 0.",
);

/// Registers the gauges, and starts the schedule if there is one. Dropping its handle kills a running refresh.
///
/// # Errors
/// The system cannot start a thread.
pub(crate) fn start(
    supervisor: &Supervisor,
    data: &Path,
    config: &Config,
    readiness: &Readiness,
    metrics: &Metrics,
    runtime: &Handle,
) -> Result<Option<Watcher>, Failure> {
    let clock = Clock::system();
    let (folder, now) = (data.to_owned(), clock.clone());
    metrics.register_gauges(move |gauges| record(gauges, &folder, now.now()));
    if config.refresh.every_h == 0 {
        return Ok(None);
    }
    let mut schedule = Schedule {
        data: data.to_owned(),
        program: own_executable()?,
        config: config.clone(),
        clock,
        readiness: readiness.clone(),
        runtime: runtime.clone(),
        started: None,
        failures: Vec::new(),
    };
    schedule.show_failures(&Editions::load(data));
    let job = move |pulse: &Pulse, stopped: &AtomicBool| {
        // Refresh processes inherit this priority.
        priority::lower();
        while !stopped.load(Ordering::Relaxed) {
            pulse.turn();
            if schedule.is_due() {
                schedule.refresh(pulse, stopped);
            }
            pulse.park_within(LOOK_EVERY);
        }
    };
    let refreshing = until_dropped(supervisor, "refresh", STOP_TIMEOUT, job)?;
    Ok(Some(refreshing))
}

struct Schedule {
    data: PathBuf,
    program: PathBuf,
    config: Config,
    clock: Clock,
    readiness: Readiness,
    runtime: Handle,
    /// When this process last started a refresh.
    started: Option<Instant>,
    /// The failures of the last refresh.
    failures: Vec<String>,
}

/// The part of the result of `toise refresh --json` that is logged.
#[derive(Default, Deserialize)]
struct Report {
    sources: Vec<ReportedSource>,
    model: Option<ReportedModel>,
    failures: Vec<String>,
}

#[derive(Deserialize)]
struct ReportedSource {
    table: String,
    available: Option<String>,
    changes: ImportOutcome,
}

#[derive(Deserialize)]
struct ReportedModel {
    version: Option<String>,
}

/// The changes of a refresh in a table, in the form that is posted.
#[derive(Serialize)]
struct TableChange<'r> {
    table: &'r str,
    edition: Option<&'r str>,
    added: u64,
    replaced: u64,
    removed: u64,
}

impl Report {
    /// Returns the tables that changed.
    fn changes(&self) -> impl Iterator<Item = TableChange<'_>> {
        self.sources.iter().filter_map(|source| {
            let changes = &source.changes;
            let is_changed = changes.added + changes.replaced + changes.removed > 0;
            is_changed.then(|| TableChange {
                table: &source.table,
                edition: source.available.as_deref(),
                added: changes.added,
                replaced: changes.replaced,
                removed: changes.removed,
            })
        })
    }

    /// Returns the version of the model that was trained.
    fn model_version(&self) -> Option<&str> {
        self.model.as_ref()?.version.as_deref()
    }

    fn has_changes(&self) -> bool {
        self.changes().next().is_some() || self.model_version().is_some()
    }

    /// Returns the message for the operator. Its `text` is for people; the name is the one that chat services expect.
    fn message(&self, now: DateTime<Utc>) -> Value {
        let mut lines: Vec<String> = self.changes().map(|change| change.to_string()).collect();
        lines.extend(
            self.model_version()
                .map(|version| format!("new model {version}")),
        );
        lines.extend(
            self.failures
                .iter()
                .map(|failure| format!("failed: {failure}")),
        );
        if lines.is_empty() {
            lines.push("open data can be refreshed again".to_owned());
        }
        json!({
            "event": "refresh",
            "at": iso(now),
            "text": format!("toise: {}", lines.join("; ")),
            "changes": self.changes().collect::<Vec<_>>(),
            "model": self.model_version(),
            "failures": self.failures,
        })
    }
}

impl fmt::Display for TableChange<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            table,
            added,
            replaced,
            removed,
            ..
        } = self;
        write!(formatter, "{table}")?;
        if let Some(edition) = self.edition {
            write!(formatter, " {edition}")?;
        }
        write!(
            formatter,
            ": {added} new, {replaced} changed, {removed} removed"
        )
    }
}

impl Schedule {
    fn is_due(&self) -> bool {
        let now = self.clock.now();
        if self.started.is_some_and(|at| at.elapsed() < RETRY_AFTER)
            || !self.config.refresh.may_start_at(now.hour())
        {
            return false;
        }
        let last = Editions::load(&self.data).refreshed_at;
        let every = TimeDelta::hours(self.config.refresh.every_h.cast_signed());
        is_due_after(last.as_deref(), now, every)
    }

    /// Runs a refresh to its end, and logs what it changed.
    fn refresh(&mut self, pulse: &Pulse, stopped: &AtomicBool) {
        self.started = Some(Instant::now());
        tracing::info!("refresh of open data started");
        let report = match self.run(pulse, stopped) {
            Ok(None) => return,
            Ok(Some(report)) => report,
            Err(error) => Report {
                failures: vec![error.to_string()],
                ..Report::default()
            },
        };
        log_changes(&report);
        let new_failures: Vec<&String> = report
            .failures
            .iter()
            .filter(|failure| !self.failures.contains(failure))
            .collect();
        for failure in &new_failures {
            tracing::error!(
                failure,
                "open data could not be refreshed; the current data stays in use; will retry"
            );
        }
        let has_recovered = report.failures.is_empty() && !self.failures.is_empty();
        if has_recovered {
            tracing::info!("open data can be refreshed again");
        }
        if has_recovered || !new_failures.is_empty() || report.has_changes() {
            self.post(&report);
        }
        self.failures = report.failures;
        self.show_failures(&Editions::load(&self.data));
    }

    /// Posts a report to the operator's webhook, if there is one, without waiting for it.
    fn post(&self, report: &Report) {
        let url = self.config.refresh.webhook.clone();
        if url.is_empty() {
            return;
        }
        let message = report.message(self.clock.now());
        self.runtime.spawn(async move {
            if let Err(error) = operator_webhook::post(&url, &message).await {
                tracing::warn!(%error, "the report of a refresh could not be posted");
            }
        });
    }

    /// Reports in the response of `/healthz` which tables could not be refreshed.
    fn show_failures(&self, editions: &Editions) {
        let sources = editions.sources.iter();
        let failed = sources.filter(|(_, source)| !source.failures.is_empty());
        let failed: Vec<&str> = failed.map(|(table, _)| table.as_str()).collect();
        let failed = (!failed.is_empty()).then(|| failed.join(", "));
        self.readiness.set_not_refreshed(failed);
    }

    /// Runs a refresh and returns its report; `None` if the service stops before it ends.
    fn run(&self, pulse: &Pulse, stopped: &AtomicBool) -> Result<Option<Report>, Failure> {
        let (output, errors) = (tempfile::tempfile()?, tempfile::tempfile()?);
        let mut child = self.spawn(output.try_clone()?, errors.try_clone()?)?;
        let started = Instant::now();
        while child.try_wait()?.is_none() {
            if stopped.load(Ordering::Relaxed) {
                end(&mut child)?;
                return Ok(None);
            }
            if started.elapsed() > REFRESH_MAX {
                end(&mut child)?;
                return Err("a refresh took more than a day and was ended".into());
            }
            pulse.turn();
            pulse.park_within(LOOK_EVERY);
        }
        let report = read_from(output, 0)?;
        match serde_json::from_str(&report) {
            Ok(report) => Ok(Some(report)),
            Err(_) => {
                let message = read_from(errors, ERROR_BYTES_MAX)?;
                Err(format!("the refresh ended without a result: {}", message.trim()).into())
            }
        }
    }

    fn spawn(&self, output: File, errors: File) -> io::Result<Child> {
        let settings = &self.config.refresh;
        let mut command = Command::new(&self.program);
        command
            .arg("--data")
            .arg(&self.data)
            .args(["--json", "refresh"]);
        if !settings.departments.is_empty() {
            command.args(["--departments", &settings.departments.replace(' ', "")]);
        }
        if settings.kib_per_s_max > 0 {
            command.args(["--kib-per-s", &settings.kib_per_s_max.to_string()]);
        }
        let keep_versions = self.config.lake.keep_versions.to_string();
        command.env("TOISE_LAKE__KEEP_VERSIONS", keep_versions);
        // A refresh does not open the store, so it does not need a master key.
        for (name, _) in std::env::vars_os().filter(|(name, _)| dumps::is_of_master_key(name)) {
            command.env_remove(name);
        }
        // Ctrl-C in a terminal must reach only the server, which then ends the refresh.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        command.stdin(Stdio::null()).stdout(output).stderr(errors);
        command.spawn()
    }
}

/// Returns whether a refresh is due after the last one. A time in the future comes from a clock that was ahead, and says
/// nothing.
fn is_due_after(last: Option<&str>, now: DateTime<Utc>, every: TimeDelta) -> bool {
    last.and_then(parse_iso)
        .is_none_or(|last| last > now || now - last >= every)
}

fn end(child: &mut Child) -> io::Result<()> {
    child.kill()?;
    child.wait().map(drop)
}

/// Returns the last `bytes_max` bytes of a file as text; the whole file if `bytes_max` is 0.
fn read_from(mut file: File, bytes_max: i64) -> io::Result<String> {
    let length = file.metadata()?.len().cast_signed();
    let from = if bytes_max == 0 {
        length
    } else {
        bytes_max.min(length)
    };
    file.seek(SeekFrom::End(-from))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn log_changes(report: &Report) {
    for change in report.changes() {
        tracing::info!(
            table = change.table,
            edition = change.edition.unwrap_or("unknown"),
            added = change.added,
            replaced = change.replaced,
            removed = change.removed,
            "open data refreshed"
        );
    }
    if let Some(version) = report.model_version() {
        tracing::info!(version, "model trained on the refreshed sales");
    }
    if report.failures.is_empty() {
        tracing::info!("refresh of open data ended");
    }
}

fn record(gauges: &Gauges<'_>, data: &Path, now: DateTime<Utc>) {
    let editions = Editions::load(data);
    let seconds_since = |text: &str| Some((now - parse_iso(text)?).num_seconds().max(0) as f64);
    if let Some(age) = editions.refreshed_at.as_deref().and_then(seconds_since) {
        gauges.set(REFRESH_AGE, &[], age);
    }
    for table in tables() {
        let source = editions.sources.get(table.name);
        let current = source.and_then(|source| source.current_at.as_deref());
        let age = current.and_then(seconds_since).or_else(|| {
            let folder = toise_lake::Lake::folder_in(data, table);
            let changed = Snapshot::load(&folder).ok()?.published_at;
            seconds_since(&changed)
        });
        let label = ("table", table.name);
        if let Some(age) = age {
            gauges.set(TABLE_AGE, &[label], age);
        }
        let Some(source) = source else { continue };
        let is_failed = u8::from(!source.failures.is_empty());
        gauges.set(REFRESH_FAILED, &[label], is_failed.into());
        for (state, edition) in [("held", &source.held), ("available", &source.available)] {
            if let Some(date) = edition.as_deref().and_then(date_of) {
                gauges.set(EDITION, &[label, ("state", state)], date);
            }
        }
    }
}

/// Returns the first second of an edition, a month or a day, since 1970-01-01.
fn date_of(edition: &str) -> Option<f64> {
    let day = match edition.len() {
        7 => format!("{edition}-01"),
        _ => edition.to_owned(),
    };
    let day = NaiveDate::parse_from_str(&day, "%Y-%m-%d").ok()?;
    Some(day.and_hms_opt(0, 0, 0)?.and_utc().timestamp() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::refresh::editions::SourceState;

    #[test]
    fn a_refresh_is_due_after_its_interval_or_if_the_last_one_is_in_the_future() {
        let now = "2026-11-20T12:00:00Z".parse().unwrap();
        let is_due = |last| is_due_after(last, now, TimeDelta::hours(24));
        assert!(is_due(None) && is_due(Some("not a time")));
        assert!(is_due(Some("2026-11-19T12:00:00.000Z")));
        assert!(!is_due(Some("2026-11-19T12:00:01.000Z")));
        assert!(is_due(Some("2027-11-20T12:00:00.000Z")));
    }

    #[test]
    fn ages_and_editions_of_the_tables_are_metrics() {
        let folder = tempfile::tempdir().unwrap();
        let mut editions = Editions {
            refreshed_at: Some("2026-11-20T11:00:00.000Z".into()),
            ..Editions::default()
        };
        let state = SourceState {
            held: Some("2026-10".into()),
            available: Some("2026-11".into()),
            current_at: Some("2026-11-20T10:00:00.000Z".into()),
            failures: vec!["it is down".into()],
        };
        editions.sources.insert("ban".into(), state);
        editions.save(folder.path()).unwrap();
        let metrics = Metrics::new().unwrap();
        let (data, now) = (
            folder.path().to_owned(),
            "2026-11-20T12:00:00Z".parse().unwrap(),
        );
        metrics.register_gauges(move |gauges| record(gauges, &data, now));
        let text = metrics.render();
        for line in [
            "toise_refresh_age_seconds 3600",
            "toise_table_age_seconds{table=\"ban\"} 7200",
            "toise_refresh_failed{table=\"ban\"} 1",
            "toise_edition_timestamp_seconds{table=\"ban\",state=\"held\"} 1790812800",
            "toise_edition_timestamp_seconds{table=\"ban\",state=\"available\"} 1793491200",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
    }
}
