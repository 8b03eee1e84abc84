//! Metrics: a name and help text, declared next to the code that records them. A metric is registered when it is first
//! used.

use std::fmt;
use std::marker::PhantomData;

use metrics::{
    Counter, Gauge, Histogram, Key, Label, Level, Metadata, Recorder, SharedString, Unit,
};
use metrics_exporter_prometheus::PrometheusRecorder;

static METADATA: Metadata<'static> =
    Metadata::new(module_path!(), Level::INFO, Some(module_path!()));

/// Names and values of labels.
pub type Labels<'l> = &'l [(&'static str, &'static str)];

/// A metric of a type: `Metric<Counter>`, `Metric<Gauge>` or, for seconds, `Metric<Histogram>`.
pub struct Metric<T> {
    name: &'static str,
    help: &'static str,
    of: PhantomData<fn() -> T>,
}

impl<T> Metric<T> {
    const fn new(name: &'static str, help: &'static str) -> Self {
        let of = PhantomData;
        Self { name, help, of }
    }

    /// Its name.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    fn help(&self) -> SharedString {
        SharedString::const_str(self.help)
    }
}

impl Metric<Counter> {
    /// Declares a value that only increases; the name ends in `_total`.
    pub const fn counter(name: &'static str, help: &'static str) -> Self {
        Self::new(name, help)
    }
}

impl Metric<Gauge> {
    /// Declares a value that increases and decreases.
    pub const fn gauge(name: &'static str, help: &'static str) -> Self {
        Self::new(name, help)
    }
}

impl Metric<Histogram> {
    /// Declares a distribution of durations; the name ends in `_seconds`.
    pub const fn seconds(name: &'static str, help: &'static str) -> Self {
        Self::new(name, help)
    }
}

impl<T> Clone for Metric<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Metric<T> {}

impl<T> fmt::Debug for Metric<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Metric").field(&self.name).finish()
    }
}

/// A type of metric: registers its help text and its series.
pub(super) trait Series: Sized {
    /// Registers the help text of a metric.
    fn describe(metric: &Metric<Self>, recorder: &PrometheusRecorder);
    /// Registers the series of a metric with the labels of `key`.
    fn register(key: &Key, recorder: &PrometheusRecorder) -> Self;
}

impl Series for Counter {
    fn describe(metric: &Metric<Self>, recorder: &PrometheusRecorder) {
        recorder.describe_counter(metric.name.into(), None, metric.help());
    }

    fn register(key: &Key, recorder: &PrometheusRecorder) -> Self {
        recorder.register_counter(key, &METADATA)
    }
}

impl Series for Gauge {
    fn describe(metric: &Metric<Self>, recorder: &PrometheusRecorder) {
        recorder.describe_gauge(metric.name.into(), None, metric.help());
    }

    fn register(key: &Key, recorder: &PrometheusRecorder) -> Self {
        recorder.register_gauge(key, &METADATA)
    }
}

impl Series for Histogram {
    fn describe(metric: &Metric<Self>, recorder: &PrometheusRecorder) {
        recorder.describe_histogram(metric.name.into(), Some(Unit::Seconds), metric.help());
    }

    fn register(key: &Key, recorder: &PrometheusRecorder) -> Self {
        recorder.register_histogram(key, &METADATA)
    }
}

/// Converts labels that are known at compile time.
pub(super) fn labels(pairs: Labels<'_>) -> Vec<Label> {
    let pairs = pairs.iter();
    pairs
        .map(|(name, value)| Label::from_static_parts(name, value))
        .collect()
}
