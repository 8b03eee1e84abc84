//! Engine gauges exposed on `/metrics`: sizes of tables, size and hits of the column cache.

use super::Engine;
use toise_telemetry::{Counter, Gauge, Gauges, Metric};

const ROWS: Metric<Gauge> = Metric::gauge("toise_lake_rows", "Rows of a table.");
const FILES: Metric<Gauge> = Metric::gauge("toise_lake_files", "Live files of a table.");
const BYTES: Metric<Gauge> =
    Metric::gauge("toise_lake_bytes", "Bytes of the live files of a table.");
const SEQUENCE: Metric<Gauge> =
    Metric::gauge("toise_lake_sequence", "Number of publications of a table.");
const CACHE_BYTES: Metric<Gauge> = Metric::gauge(
    "toise_column_cache_bytes",
    "Bytes of decoded columns in memory.",
);
const CACHE_CAPACITY_BYTES: Metric<Gauge> = Metric::gauge(
    "toise_column_cache_capacity_bytes",
    "Maximum bytes of decoded columns kept in memory.",
);
const CACHE_LOOKUPS: Metric<Counter> = Metric::counter(
    "toise_column_cache_lookups_total",
    "Lookups of decoded columns in the shared cache, by outcome: hit or miss. A thread that used a column recently \
     looks it up only every 32nd time.",
);

impl Engine {
    /// Sets the engine's gauges. A table that cannot be opened keeps its last values; queries report the reason.
    pub fn record_gauges(&self, gauges: &Gauges<'_>) {
        for schema in self.schemas() {
            let Ok(view) = self.view(schema) else {
                continue;
            };
            let table = [("table", schema.name)];
            let parts = &view.snapshot().parts;
            let bytes: u64 = parts.iter().map(|data_file| data_file.bytes).sum();
            gauges.set(ROWS, &table, view.snapshot().rows() as f64);
            gauges.set(FILES, &table, parts.len() as f64);
            gauges.set(BYTES, &table, bytes as f64);
            gauges.set(SEQUENCE, &table, view.snapshot().sequence as f64);
        }
        let cache = self.cache();
        let capacity = self.budget().cache_bytes as f64;
        gauges.set(CACHE_BYTES, &[], cache.bytes() as f64);
        gauges.set(CACHE_CAPACITY_BYTES, &[], capacity);
        for (outcome, count) in [("hit", cache.hits()), ("miss", cache.misses())] {
            let outcome = [("outcome", outcome)];
            gauges.set_count(CACHE_LOOKUPS, &outcome, count);
        }
    }
}
