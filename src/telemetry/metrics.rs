//! Prometheus metrics: counters are incremented as events happen, gauges are read when `/metrics` is requested.
//!
//! A [`Metric`] is a constant with a name and a help text, declared next to the code that records it. A [`Metrics`]
//! belongs to one service and is cheap to clone. Recording a request costs one lookup in a map of some dozens of
//! series, about 0.2 µs. Labels come from fixed sets only (routes of the table, methods, status classes, consumption
//! types, table names), never from client input. The exception is a limited number of receivers' hosts.

mod deliveries;
mod metric;
mod requests;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use metrics::{Key, Label};
use metrics_exporter_prometheus::{
    BuildError, PrometheusBuilder, PrometheusHandle, PrometheusRecorder,
};
use parking_lot::RwLock;

use super::process;
use deliveries::EndpointLabels;
use metric::{Series, labels};
use requests::{CONNECTIONS, RequestLabels, RequestSeries};

pub use deliveries::DeliveryOutcome;
pub use metric::{Labels, Metric};
pub use metrics::{Counter, Gauge, Histogram};
pub use requests::{OpenConnection, Refusal};

/// Upper bounds of the latency buckets, in seconds.
const LATENCY_BOUNDS_S: [f64; 15] = [
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0,
];

const BUILD_INFO: Metric<Gauge> =
    Metric::gauge("toise_build_info", "Always 1; the version is a label.");
const RESIDENT_BYTES: Metric<Gauge> =
    Metric::gauge("process_resident_memory_bytes", "Resident memory.");
const OPEN_FDS: Metric<Gauge> = Metric::gauge("process_open_fds", "Open file descriptors.");
const THREADS: Metric<Gauge> = Metric::gauge("process_threads", "Threads.");

/// The metrics of one service. Cheap to clone.
#[derive(Clone)]
pub struct Metrics(Arc<MetricsInner>);

type Observer = Box<dyn Fn(&Gauges<'_>) + Send + Sync>;

struct MetricsInner {
    recorder: PrometheusRecorder,
    handle: PrometheusHandle,
    /// Names of the metrics whose help text is registered.
    described: RwLock<HashSet<&'static str>>,
    requests: RwLock<HashMap<RequestLabels, RequestSeries>>,
    endpoints: EndpointLabels,
    observers: RwLock<Vec<Observer>>,
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
        let metrics = Self(Arc::new(MetricsInner {
            handle: recorder.handle(),
            recorder,
            described: RwLock::default(),
            requests: RwLock::default(),
            endpoints: EndpointLabels::default(),
            observers: RwLock::default(),
        }));
        metrics.series(CONNECTIONS, &[]).set(0.0);
        Ok(metrics)
    }

    /// Registers `observer`, which sets gauges each time the metrics are rendered. It may block, but no longer than a
    /// small read.
    pub fn register_gauges(&self, observer: impl Fn(&Gauges<'_>) + Send + Sync + 'static) {
        self.0.observers.write().push(Box::new(observer));
    }

    /// Renders all metrics in Prometheus text format. Blocks for as long as the observers do.
    pub fn render(&self) -> String {
        let gauges = Gauges(self);
        let version = [("version", env!("CARGO_PKG_VERSION"))];
        gauges.set(BUILD_INFO, &version, 1.0);
        let of_process = [
            (RESIDENT_BYTES, process::resident_bytes()),
            (OPEN_FDS, process::open_descriptors()),
            (THREADS, process::threads()),
        ];
        for (metric, value) in of_process {
            if let Some(value) = value {
                gauges.set(metric, &[], value as f64);
            }
        }
        for observer in self.0.observers.read().iter() {
            observer(&gauges);
        }
        self.0.handle.render()
    }

    /// Sorts the latencies recorded since the last call into their buckets. Without it they would accumulate in memory
    /// while `/metrics` is not requested.
    pub fn run_upkeep(&self) {
        self.0.handle.run_upkeep();
    }

    fn series<T: Series>(&self, metric: Metric<T>, pairs: Labels<'_>) -> T {
        self.series_with_labels(metric, labels(pairs))
    }

    /// Returns the series of a metric with labels. Registers the help text when the metric is first used.
    fn series_with_labels<T: Series>(&self, metric: Metric<T>, labels: Vec<Label>) -> T {
        let recorder = &self.0.recorder;
        let is_described = self.0.described.read().contains(metric.name());
        if !is_described {
            T::describe(&metric, recorder);
            self.0.described.write().insert(metric.name());
        }
        T::register(&Key::from_parts(metric.name(), labels), recorder)
    }
}

impl std::fmt::Debug for Metrics {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Metrics")
    }
}

/// Setter of the gauges that are read when metrics are rendered.
pub struct Gauges<'m>(&'m Metrics);

impl Gauges<'_> {
    /// Sets a gauge.
    pub fn set(&self, metric: Metric<Gauge>, pairs: Labels<'_>, value: f64) {
        self.0.series(metric, pairs).set(value);
    }

    /// Sets the gauge of one member of a set whose names are only known at run time, such as workers.
    pub fn set_member(&self, metric: Metric<Gauge>, label: &'static str, member: &str, value: f64) {
        let labels = vec![Label::new(label, member.to_owned())];
        self.0.series_with_labels(metric, labels).set(value);
    }

    /// Sets a counter that is maintained elsewhere; it never decreases.
    pub fn set_count(&self, metric: Metric<Counter>, pairs: Labels<'_>, value: u64) {
        self.0.series(metric, pairs).absolute(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the value of a series in rendered metrics.
    pub(super) fn value(text: &str, series: &str) -> Option<f64> {
        let line = text.lines().find_map(|line| line.strip_prefix(series))?;
        line.trim().parse().ok()
    }

    const ROWS: Metric<Gauge> = Metric::gauge("toise_lake_rows", "Rows of a table.");
    const LOOKUPS: Metric<Counter> =
        Metric::counter("toise_column_cache_lookups_total", "Columns requested.");

    #[test]
    fn observed_gauges_are_current() {
        let metrics = Metrics::new().unwrap();
        let rows = Arc::new(RwLock::new(5u64));
        let observed = Arc::clone(&rows);
        metrics.register_gauges(move |gauges| {
            let rows = *observed.read();
            gauges.set(ROWS, &[("table", "dvf")], rows as f64);
            gauges.set_count(LOOKUPS, &[("outcome", "hit")], rows);
        });
        let series = r#"toise_lake_rows{table="dvf"}"#;
        assert_eq!(value(&metrics.render(), series), Some(5.0));
        *rows.write() = 8;
        let text = metrics.render();
        assert_eq!(value(&text, series), Some(8.0));
        let hits = r#"toise_column_cache_lookups_total{outcome="hit"}"#;
        assert_eq!(value(&text, hits), Some(8.0));
        #[cfg(target_os = "linux")]
        assert!(value(&text, "process_resident_memory_bytes ").unwrap() > 1e6);
        assert!(text.contains("# HELP toise_lake_rows Rows of a table."));
        let asked = "# HELP toise_column_cache_lookups_total Columns requested.";
        assert_eq!(text.matches(asked).count(), 1, "{text}");
    }
}
