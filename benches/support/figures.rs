//! Stores figures that criterion does not measure, such as a rate of deliveries, under `target/tmp/figures`.
//! `benches/collect.py` reads them after a run.

use std::path::Path;

use serde_json::json;

/// Writes a figure of a bench to a file; `id` is like those of criterion, `group/name`. If this fails, only an error is
/// printed, because the bench has already printed the figure.
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
