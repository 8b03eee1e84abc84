//! Statistics over the properties that a search finds: count, range and distribution.
//!
//! All values are collected in memory and sorted: 8 bytes per property found.

use arrow::array::{Array, AsArray};
use arrow::datatypes::{Float64Type, TimestampMillisecondType};
use serde_json::{Map, Value, json};

use crate::search::page::column;
use crate::search::projection::view::SelectedRows;
use crate::search::projection::{Projection, Result};
use toise_contract::enums::EnumStudiedData;
use toise_contract::listings::filters::AnalyticsRequest;
use toise_engine::Error;
use toise_engine::cancellation::Interrupt;

/// Maximum bars of a histogram.
pub const BARS_MAX: usize = 20;
/// Minimum share of the values in each of the outer bars; a few extremes would otherwise push all others into one bar.
pub const OUTER_SHARE: f64 = 0.01;
const DAY_MS: f64 = 86_400_000.0;

/// The column, or pair of columns, that a statistic reads.
struct StudiedColumn {
    data: EnumStudiedData,
    value: usize,
    /// For time on the market: the column with the end of that time.
    end: Option<usize>,
    now_ms: i64,
}

impl StudiedColumn {
    fn new(data: EnumStudiedData, now_ms: i64) -> Result<Self> {
        use EnumStudiedData::{Price, PricePerArea, Surface, TimeOnMarket};
        let (value, end) = match data {
            Price => ("price_latest_value", None),
            PricePerArea => ("price_latest_value_per_area", None),
            Surface => ("habitation_surface_total", None),
            TimeOnMarket => ("meta_first_seen_at", Some("meta_totally_offline_at")),
        };
        Ok(Self {
            data,
            value: column(value)?,
            end: end.map(column).transpose()?,
            now_ms,
        })
    }

    /// Appends the values of the selected rows.
    fn gather(
        &self,
        rows: &SelectedRows<'_>,
        values: &mut Vec<f64>,
    ) -> std::result::Result<(), Error> {
        let own = rows.column(self.value)?;
        let Some(end) = self.end else {
            let own = own.values.as_primitive::<Float64Type>();
            rows.selected.for_each(|row| {
                if own.is_valid(row) {
                    values.push(own.value(row));
                }
            });
            return Ok(());
        };
        let ends = rows.column(end)?;
        let starts = own.values.as_primitive::<TimestampMillisecondType>();
        let ends = ends.values.as_primitive::<TimestampMillisecondType>();
        rows.selected.for_each(|row| {
            if starts.is_valid(row) {
                let end = if ends.is_valid(row) {
                    ends.value(row)
                } else {
                    self.now_ms
                };
                values.push((end - starts.value(row)).max(0) as f64 / DAY_MS);
            }
        });
        Ok(())
    }
}

impl Projection {
    /// Computes the statistics of a search as the JSON of the response. CPU work on the calling thread and its rayon
    /// pool.
    ///
    /// # Errors
    /// A column cannot be read, or the query is cancelled.
    pub fn analyse(&self, request: &AnalyticsRequest, interrupt: &Interrupt) -> Result<Value> {
        let prepared = self.prepare_search(&request.search, interrupt)?;
        let now_ms = self.listings().clock().now().timestamp_millis();
        let studied = StudiedColumn::new(request.studied_data, now_ms)?;
        let states = self.visit_found(
            &prepared,
            interrupt,
            || (0u64, Vec::new()),
            |(count, values), rows| {
                *count += rows.selected.count();
                studied.gather(rows, values)
            },
        )?;
        let (mut count, mut values) = (0, Vec::new());
        for (counted, gathered) in states {
            count += counted;
            values.extend(gathered);
        }
        values.sort_unstable_by(f64::total_cmp);
        let mut figures = figures(&values);
        figures.insert("count".into(), json!(count));
        figures.insert("studiedData".into(), json!(studied.data));
        Ok(Value::Object(figures))
    }
}

/// Returns statistics of sorted values.
fn figures(values: &[f64]) -> Map<String, Value> {
    let mut figures = Map::new();
    figures.insert("valued".into(), json!(values.len()));
    figures.insert("histogram".into(), json!(histogram(values)));
    let (Some(min), Some(max)) = (values.first(), values.last()) else {
        return figures;
    };
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let quartiles = [0.25, 0.5, 0.75].map(|share| hundredths(quantile(values, share)));
    for (name, value) in [
        ("min", json!(hundredths(*min))),
        ("max", json!(hundredths(*max))),
        ("mean", json!(hundredths(mean))),
        ("quartiles", json!(quartiles)),
        ("deviation", json!(hundredths((squares / count).sqrt()))),
    ] {
        figures.insert(name.into(), value);
    }
    figures
}

fn hundredths(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

/// Returns the quantile of sorted values at `share`, interpolated between neighbours (Hyndman and Fan, type 7).
pub fn quantile(values: &[f64], share: f64) -> f64 {
    let position = share * values.len().saturating_sub(1) as f64;
    let at = |index: usize| values.get(index).copied().unwrap_or_default();
    let (low, high) = (at(position.floor() as usize), at(position.ceil() as usize));
    low + (high - low) * position.fract()
}

/// Counts values in bars of equal width; the first and the last bar also include the extremes.
fn histogram(values: &[f64]) -> Vec<Value> {
    let (Some(min), Some(max)) = (values.first(), values.last()) else {
        return Vec::new();
    };
    let (low, high) = (
        quantile(values, OUTER_SHARE),
        quantile(values, 1.0 - OUTER_SHARE),
    );
    let bars = if high > low { BARS_MAX } else { 1 };
    let width = (high - low) / bars as f64;
    let mut from = 0;
    (0..bars)
        .map(|bar| {
            let start = if bar == 0 {
                *min
            } else {
                low + width * bar as f64
            };
            let (end, until) = if bar + 1 == bars {
                (*max, values.len())
            } else {
                let end = low + width * (bar + 1) as f64;
                (end, values.partition_point(|value| *value < end))
            };
            let count = until - from;
            from = until;
            json!({"from": hundredths(start), "to": hundredths(end), "count": count})
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn figures_match_hand_computed_values() {
        let figures = figures(&[1.0, 2.0, 3.0, 4.0, 10.0]);
        assert_eq!(figures["mean"], 4.0);
        assert_eq!(figures["quartiles"], json!([2.0, 3.0, 4.0]));
        assert_eq!(figures["deviation"], 3.16);
        assert_eq!(
            (&figures["min"], &figures["max"]),
            (&json!(1.0), &json!(10.0))
        );
    }

    #[test]
    fn an_empty_search_yields_counts_only() {
        let figures = figures(&[]);
        assert_eq!(
            (&figures["valued"], &figures["histogram"]),
            (&json!(0), &json!([]))
        );
        assert!(!figures.contains_key("mean"));
    }

    proptest! {
        #[test]
        fn every_value_is_in_exactly_one_bar(mut values in prop::collection::vec(-1e6..1e6f64, 0..400)) {
            values.sort_unstable_by(f64::total_cmp);
            let bars = histogram(&values);
            let counted: u64 = bars.iter().filter_map(|bar| bar["count"].as_u64()).sum();
            prop_assert_eq!(counted, values.len() as u64);
            for pair in bars.windows(2) {
                prop_assert_eq!(&pair[0]["to"], &pair[1]["from"]);
            }
        }
    }
}
