//! Prometheus metrics: counters are incremented as events happen, gauges are read when `/metrics` is requested.
//!
//! A [`Metrics`] belongs to one service and is cheap to clone. A request costs one lookup in a map of some dozens of
//! series, about 0.2 µs. Label values come from fixed sets (routes, methods, status classes, consumption types, table
//! names), never from client input, except for a bounded number of receivers' hosts.

mod deliveries;

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use metrics::{
    Counter, Gauge, Histogram, Key, KeyName, Label, Level, Metadata, Recorder, SharedString, Unit,
};
use metrics_exporter_prometheus::{
    BuildError, PrometheusBuilder, PrometheusHandle, PrometheusRecorder,
};

use super::process;
use deliveries::{ATTEMPTS, DEAD, EXPIRED, Endpoints, LAG};

pub use deliveries::DeliveryOutcome;

/// Upper bounds of the latency buckets, in seconds.
const LATENCY_BOUNDS_S: [f64; 15] = [
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0,
];
/// Route label of requests that match no route.
const UNMATCHED: &str = "unmatched";
/// Method label of non-standard methods.
const OTHER_METHOD: &str = "other";
const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

static METADATA: Metadata<'static> =
    Metadata::new(module_path!(), Level::INFO, Some(module_path!()));

const REQUESTS: &str = "toise_http_requests_total";
const DURATIONS: &str = "toise_http_request_duration_seconds";
const CREDITS: &str = "toise_credits_total";
const CALLS: &str = "toise_calls_total";
const REFUSALS: &str = "toise_refusals_total";
const CONNECTIONS: &str = "toise_connections";

#[rustfmt::skip]
const COUNTERS: [(&str, &str); 8] = [
    (REQUESTS, "HTTP requests, by route, method and status class."),
    (CREDITS, "Credits charged, by consumption type."),
    (CALLS, "Billable or counted calls, by consumption type."),
    (ATTEMPTS, "Webhook delivery attempts, by host of the receiver and outcome."),
    (DEAD, "Deliveries that became dead letters."),
    (EXPIRED, "Notifications evicted from the outbox before delivery, past the age or size limit."),
    (REFUSALS, "Requests refused by a limit, by reason: rate, quota, concurrency or overload."),
    ("toise_column_cache_lookups_total",
        "Lookups in the shared column cache, by outcome: hit or miss. A thread that used a column recently looks it \
         up only every 32 uses."),
];

#[rustfmt::skip]
const GAUGES: [(&str, &str); 24] = [
    (CONNECTIONS, "Open connections."),
    ("toise_build_info", "Always 1; the version is a label."),
    ("toise_query_pool_jobs", "Queries running or queued."),
    ("toise_lake_rows", "Rows of a table."),
    ("toise_lake_files", "Data files of a table."),
    ("toise_lake_bytes", "Size of the data files of a table, in bytes."),
    ("toise_lake_sequence", "Sequence number of the current snapshot of a table."),
    ("toise_column_cache_bytes", "Size of the column cache, in bytes."),
    ("toise_column_cache_capacity_bytes", "Maximum size of the column cache, in bytes."),
    ("toise_store_bytes", "Size of the store including its write-ahead log, in bytes."),
    ("toise_active_alerts", "Active alerts, by kind of listing."),
    ("toise_unreadable_alerts", "Active alerts that this version cannot read; they match nothing until they are updated."),
    ("toise_outbox_notifications", "Notifications in the outbox."),
    ("toise_outbox_notifications_max", "Maximum notifications in the outbox; past it the oldest are evicted."),
    ("toise_outbox_waiting", "Notifications not yet in a delivery, counted up to 100,000."),
    ("toise_outbox_age_seconds", "Age of the oldest notification in the outbox, in seconds."),
    ("toise_outbox_age_max_seconds", "Maximum age of notifications in the outbox, in seconds; past it they are evicted."),
    ("toise_deliveries", "Deliveries that are pending, failed (to be retried) or dead, by status."),
    ("toise_deliveries_under_way", "Deliveries in flight."),
    ("toise_endpoints_open", "Endpoints whose circuit breaker is open."),
    ("toise_ready", "1 when the service accepts requests, 0 while it starts or drains."),
    ("process_resident_memory_bytes", "Resident memory, in bytes."),
    ("process_open_fds", "Open file descriptors."),
    ("process_threads", "Threads."),
];

/// The limit by which a request was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The key exceeded its requests per second.
    Rate,
    /// The key exceeded its calls per month.
    Quota,
    /// The key exceeded its concurrent requests.
    Concurrency,
    /// The query queue of the service is full.
    Overload,
}

impl Refusal {
    fn as_str(self) -> &'static str {
        match self {
            Refusal::Rate => "rate",
            Refusal::Quota => "quota",
            Refusal::Concurrency => "concurrency",
            Refusal::Overload => "overload",
        }
    }
}

/// The metrics of one service. Cheap to clone.
#[derive(Clone)]
pub struct Metrics(Arc<Inner>);

type Observer = Box<dyn Fn(&Gauges<'_>) + Send + Sync>;

struct Inner {
    recorder: PrometheusRecorder,
    handle: PrometheusHandle,
    requests: RwLock<HashMap<RequestLabels, RequestSeries>>,
    connections: Gauge,
    endpoints: Endpoints,
    observers: RwLock<Vec<Observer>>,
}

/// Route, method, status class.
type RequestLabels = (&'static str, &'static str, &'static str);

#[derive(Clone)]
struct RequestSeries {
    count: Counter,
    duration: Histogram,
}

impl Metrics {
    /// Creates metrics that are all zero.
    ///
    /// # Errors
    /// Only if the table of latency buckets is invalid.
    pub fn new() -> Result<Self, BuildError> {
        let recorder = PrometheusBuilder::new()
            .set_buckets(&LATENCY_BOUNDS_S)?
            .build_recorder();
        for (name, about) in COUNTERS {
            recorder.describe_counter(name.into(), None, SharedString::const_str(about));
        }
        for (name, about) in GAUGES {
            recorder.describe_gauge(name.into(), None, SharedString::const_str(about));
        }
        recorder.describe_histogram(
            KeyName::from_const_str(DURATIONS),
            Some(Unit::Seconds),
            SharedString::const_str(
                "Time from request to response in seconds, by route, method and status class.",
            ),
        );
        recorder.describe_histogram(
            KeyName::from_const_str(LAG),
            Some(Unit::Seconds),
            SharedString::const_str(
                "Time from a match to the first byte of its first delivery, in seconds.",
            ),
        );
        let connections = recorder.register_gauge(&Key::from_static_name(CONNECTIONS), &METADATA);
        connections.set(0.0);
        Ok(Self(Arc::new(Inner {
            handle: recorder.handle(),
            recorder,
            requests: RwLock::default(),
            connections,
            endpoints: Endpoints::default(),
            observers: RwLock::default(),
        })))
    }

    /// Counts a request and its duration; `route` is the path in the route table, `None` if no route matched.
    pub fn record_request(
        &self,
        route: Option<&'static str>,
        method: &str,
        status: u16,
        duration: Duration,
    ) {
        let method = METHODS
            .into_iter()
            .find(|known| *known == method)
            .unwrap_or(OTHER_METHOD);
        let class = match status {
            100..=199 => "1xx",
            200..=299 => "2xx",
            300..=399 => "3xx",
            400..=499 => "4xx",
            _ => "5xx",
        };
        let labels = (route.unwrap_or(UNMATCHED), method, class);
        let series = self.request_series(labels);
        series.count.increment(1);
        series.duration.record(duration.as_secs_f64());
    }

    fn request_series(&self, labels: RequestLabels) -> RequestSeries {
        let requests = &self.0.requests;
        let known = requests.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(series) = known.get(&labels) {
            return series.clone();
        }
        drop(known);
        let (route, method, class) = labels;
        let pairs = [("route", route), ("method", method), ("status", class)];
        let series = RequestSeries {
            count: self.counter(REQUESTS, &pairs),
            duration: self
                .0
                .recorder
                .register_histogram(&key(DURATIONS, &pairs), &METADATA),
        };
        let mut known = requests.write().unwrap_or_else(PoisonError::into_inner);
        known.entry(labels).or_insert(series).clone()
    }

    /// Counts the consumption of a call: its type, the credits charged and the calls counted.
    pub fn record_consumption(&self, consumption_type: &'static str, credits: u64, calls: u64) {
        let pairs = [("type", consumption_type)];
        self.counter(CREDITS, &pairs).increment(credits);
        self.counter(CALLS, &pairs).increment(calls);
    }

    /// Counts a request refused by a limit.
    pub fn record_refusal(&self, refusal: Refusal) {
        let pairs = [("reason", refusal.as_str())];
        self.counter(REFUSALS, &pairs).increment(1);
    }

    /// Counts a connection as open until the returned value is dropped.
    pub fn connection(&self) -> OpenConnection {
        self.0.connections.increment(1.0);
        OpenConnection(self.0.connections.clone())
    }

    /// Registers `observer`, which sets gauges each time the metrics are rendered. It may block for as long as a small
    /// read.
    pub fn observe(&self, observer: impl Fn(&Gauges<'_>) + Send + Sync + 'static) {
        let mut observers = self
            .0
            .observers
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        observers.push(Box::new(observer));
    }

    /// Renders all metrics in Prometheus' text format. Blocks for as long as the observers do.
    pub fn render(&self) -> String {
        let gauges = Gauges(&self.0.recorder);
        let version = [("version", env!("CARGO_PKG_VERSION"))];
        gauges.set("toise_build_info", &version, 1.0);
        let of_process = [
            ("process_resident_memory_bytes", process::resident_bytes()),
            ("process_open_fds", process::open_descriptors()),
            ("process_threads", process::threads()),
        ];
        for (name, value) in of_process {
            if let Some(value) = value {
                gauges.set(name, &[], value as f64);
            }
        }
        let observers = self
            .0
            .observers
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        for observer in observers.iter() {
            observer(&gauges);
        }
        drop(observers);
        self.0.handle.render()
    }

    /// Sorts the latencies recorded since the last call into their buckets. Without it they would accumulate in memory
    /// while `/metrics` is not requested.
    pub fn upkeep(&self) {
        self.0.handle.run_upkeep();
    }

    fn counter(&self, name: &'static str, pairs: &[(&'static str, &'static str)]) -> Counter {
        self.0
            .recorder
            .register_counter(&key(name, pairs), &METADATA)
    }
}

impl std::fmt::Debug for Metrics {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Metrics")
    }
}

/// An open connection; dropping it decrements the gauge.
#[derive(Debug)]
pub struct OpenConnection(Gauge);

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.decrement(1.0);
    }
}

/// Receives the values that observers set.
pub struct Gauges<'r>(&'r PrometheusRecorder);

impl Gauges<'_> {
    /// Sets a gauge.
    pub fn set(&self, name: &'static str, pairs: &[(&'static str, &'static str)], value: f64) {
        let gauge = self.0.register_gauge(&key(name, pairs), &METADATA);
        gauge.set(value);
    }

    /// Sets a counter that is maintained elsewhere; it must never decrease.
    pub fn set_count(
        &self,
        name: &'static str,
        pairs: &[(&'static str, &'static str)],
        value: u64,
    ) {
        let counter = self.0.register_counter(&key(name, pairs), &METADATA);
        counter.absolute(value);
    }
}

fn key(name: &'static str, pairs: &[(&'static str, &'static str)]) -> Key {
    let labels: Vec<Label> = pairs
        .iter()
        .map(|(name, value)| Label::from_static_parts(name, value))
        .collect();
    Key::from_parts(name, labels)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str, series: &str) -> Option<f64> {
        let line = text.lines().find_map(|line| line.strip_prefix(series))?;
        line.trim().parse().ok()
    }

    #[test]
    fn requests_are_counted_and_timed_by_route_method_and_class() {
        let metrics = Metrics::new().unwrap();
        for (status, ms) in [(200, 3), (204, 30), (422, 1)] {
            metrics.record_request(Some("/version"), "GET", status, Duration::from_millis(ms));
        }
        metrics.upkeep();
        metrics.record_request(None, "BREW", 405, Duration::from_millis(1));
        let text = metrics.render();
        let labels = r#"{route="/version",method="GET",status="2xx"}"#;
        assert_eq!(
            value(&text, &format!("{REQUESTS}{labels}")),
            Some(2.0),
            "{text}"
        );
        assert_eq!(
            value(&text, &format!("{DURATIONS}_count{labels}")),
            Some(2.0)
        );
        let within = r#"{route="/version",method="GET",status="2xx",le="0.005"}"#;
        assert_eq!(
            value(&text, &format!("{DURATIONS}_bucket{within}")),
            Some(1.0)
        );
        let unmatched = r#"{route="unmatched",method="other",status="4xx"}"#;
        assert_eq!(value(&text, &format!("{REQUESTS}{unmatched}")), Some(1.0));
    }

    #[test]
    fn consumption_refusals_and_connections_add_up() {
        let metrics = Metrics::new().unwrap();
        metrics.record_consumption("API_PROPERTIES_GET_BY_ID", 7, 1);
        metrics.record_consumption("API_PROPERTIES_GET_BY_ID", 2, 1);
        metrics.record_refusal(Refusal::Rate);
        let open = metrics.connection();
        drop(metrics.connection());
        let text = metrics.render();
        let by_type = r#"{type="API_PROPERTIES_GET_BY_ID"}"#;
        assert_eq!(
            value(&text, &format!("{CREDITS}{by_type}")),
            Some(9.0),
            "{text}"
        );
        assert_eq!(value(&text, &format!("{CALLS}{by_type}")), Some(2.0));
        assert_eq!(
            value(&text, r#"toise_refusals_total{reason="rate"}"#),
            Some(1.0)
        );
        assert_eq!(value(&text, "toise_connections "), Some(1.0));
        drop(open);
        assert_eq!(value(&metrics.render(), "toise_connections "), Some(0.0));
    }

    #[test]
    fn observed_gauges_are_current() {
        let metrics = Metrics::new().unwrap();
        let rows = Arc::new(RwLock::new(5u64));
        let observed = Arc::clone(&rows);
        metrics.observe(move |gauges| {
            let rows = *observed.read().unwrap();
            gauges.set("toise_lake_rows", &[("table", "dvf")], rows as f64);
            gauges.set_count(
                "toise_column_cache_lookups_total",
                &[("outcome", "hit")],
                rows,
            );
        });
        let series = r#"toise_lake_rows{table="dvf"}"#;
        assert_eq!(value(&metrics.render(), series), Some(5.0));
        *rows.write().unwrap() = 8;
        let text = metrics.render();
        assert_eq!(value(&text, series), Some(8.0));
        let hits = r#"toise_column_cache_lookups_total{outcome="hit"}"#;
        assert_eq!(value(&text, hits), Some(8.0));
        #[cfg(target_os = "linux")]
        assert!(value(&text, "process_resident_memory_bytes ").unwrap() > 1e6);
        assert!(text.contains("# HELP toise_lake_rows Rows of a table."));
    }
}
