//! Engine gauges exposed on `/metrics`: sizes of tables, size and hits of the column cache.

use super::Engine;
use toise_telemetry::Gauges;

impl Engine {
    /// Sets the engine's gauges. A table that cannot be opened keeps its last values; queries report the reason.
    pub fn observe(&self, gauges: &Gauges<'_>) {
        for schema in self.schemas() {
            let Ok(view) = self.view(schema) else {
                continue;
            };
            let table = [("table", schema.name)];
            let parts = &view.snapshot().parts;
            let bytes: u64 = parts.iter().map(|part| part.bytes).sum();
            gauges.set("toise_lake_rows", &table, view.snapshot().rows() as f64);
            gauges.set("toise_lake_files", &table, parts.len() as f64);
            gauges.set("toise_lake_bytes", &table, bytes as f64);
            gauges.set(
                "toise_lake_sequence",
                &table,
                view.snapshot().sequence as f64,
            );
        }
        let cache = self.cache();
        let capacity = self.budget().cache_bytes as f64;
        gauges.set("toise_column_cache_bytes", &[], cache.bytes() as f64);
        gauges.set("toise_column_cache_capacity_bytes", &[], capacity);
        for (outcome, count) in [("hit", cache.hits()), ("miss", cache.misses())] {
            let outcome = [("outcome", outcome)];
            gauges.set_count("toise_column_cache_lookups_total", &outcome, count);
        }
    }
}
