//! What a metric is: its name and help text, stated once beside the code that records it. It is registered by being used.

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
    /// What only goes up; the name ends in `_total`.
    pub const fn counter(name: &'static str, help: &'static str) -> Self {
        Self::new(name, help)
    }
}

impl Metric<Gauge> {
    /// What goes up and down.
    pub const fn gauge(name: &'static str, help: &'static str) -> Self {
        Self::new(name, help)
    }
}

impl Metric<Histogram> {
    /// How long something takes; the name ends in `_seconds`.
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

/// The types of metrics, and how a series of each is registered.
pub(super) trait Series: Sized {
    /// Tells the recorder what a metric is.
    fn describe(metric: &Metric<Self>, recorder: &PrometheusRecorder);
    /// The series of a metric with some labels.
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

/// Labels that are known when the program is built.
pub(super) fn labels(pairs: Labels<'_>) -> Vec<Label> {
    let pairs = pairs.iter();
    pairs
        .map(|(name, value)| Label::from_static_parts(name, value))
        .collect()
}
