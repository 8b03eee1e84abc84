//! Figures that criterion does not measure, such as a rate of deliveries: each is left under `target/tmp/figures`, where
//! `benches/collect.py` finds it after a run.

use std::path::Path;

use serde_json::json;

/// Leaves a figure of a bench; `id` is written like criterion's, `group/name`. A figure that cannot be written is said
/// on standard error: the bench has printed it anyway.
pub fn record(id: &str, statistic: &str, value: f64, unit: &str) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("figures");
    let name = format!("{id}.{statistic}.json").replace(['/', ' '], "_");
    let figure = json!({"id": id, "statistic": statistic, "value": value, "unit": unit});
    let written = std::fs::create_dir_all(&folder)
        .and_then(|()| std::fs::write(folder.join(name), figure.to_string()));
    if let Err(error) = written {
        eprintln!("{id}: the figure is not recorded: {error}");
    }
}
