//! The state of one home: its value, its matches, and its last change. It is one row of the file of a valuation.

use std::sync::{Arc, LazyLock};

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use chrono::DateTime;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::error::Result;
use crate::limits::NEW_COMPARABLES_MAX;
use toise_base::clock::iso;

/// A home of a portfolio with its latest valuation. Prices are whole EUR, days `YYYY-MM-DD`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[allow(
    missing_docs,
    reason = "the names are those of the response, which describes them"
)]
pub struct ValuedHome {
    pub key: String,
    pub latitude: Option<f64>,
    pub longitude: Option<f64>,
    pub address_label: Option<String>,
    pub address_precision: Option<String>,
    pub price: Option<i64>,
    pub lower: Option<i64>,
    pub upper: Option<i64>,
    pub confidence: Option<String>,
    pub warning: Option<String>,
    pub error: Option<String>,
    pub previous_price: Option<i64>,
    pub previous_lower: Option<i64>,
    pub previous_upper: Option<i64>,
    pub dpe_id: Option<String>,
    pub dpe_class: Option<String>,
    pub dpe_date: Option<String>,
    pub previous_dpe_id: Option<String>,
    pub previous_dpe_class: Option<String>,
    pub sale_id: Option<String>,
    pub sale_date: Option<String>,
    pub sale_price: Option<i64>,
    pub comparable_id: Option<String>,
    pub comparable_date: Option<String>,
    pub comparable_price: Option<i64>,
    pub comparable_distance_m: Option<i64>,
    /// The last change: names of [`Change`] separated by commas.
    pub changes: Option<String>,
    pub changed_at_ms: Option<i64>,
    pub value_changed_at_ms: Option<i64>,
    /// The value that was reported last: changes are measured from it, so that slow ones add up.
    pub reported_price: Option<i64>,
    pub reported_lower: Option<i64>,
    pub reported_upper: Option<i64>,
    /// Whether the valuation of this file changed the home.
    pub notifies: bool,
    /// Distance within which a sale would be one of the comparables.
    pub comparable_reach_m: Option<i64>,
    /// Sales near the home that the model does not know and that need no report any more: identifiers separated by
    /// commas.
    pub known_comparables: Option<String>,
    /// Number of sales that the last change reported as new comparables.
    pub new_comparable_count: Option<i64>,
    /// The latest of them, as a JSON array of objects with `id`, `date`, `price` and `distance_m`.
    pub new_comparables: Option<String>,
}

/// A sale that is a comparable of a home. The price is in whole EUR, the day `YYYY-MM-DD`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct ComparableSale {
    pub id: String,
    pub date: String,
    pub price: i64,
    pub distance_m: i64,
}

/// Names and types of the columns.
const COLUMNS: [(&str, DataType); 37] = [
    ("key", DataType::Utf8),
    ("latitude", DataType::Float64),
    ("longitude", DataType::Float64),
    ("address_label", DataType::Utf8),
    ("address_precision", DataType::Utf8),
    ("price", DataType::Int64),
    ("lower", DataType::Int64),
    ("upper", DataType::Int64),
    ("confidence", DataType::Utf8),
    ("warning", DataType::Utf8),
    ("error", DataType::Utf8),
    ("previous_price", DataType::Int64),
    ("previous_lower", DataType::Int64),
    ("previous_upper", DataType::Int64),
    ("dpe_id", DataType::Utf8),
    ("dpe_class", DataType::Utf8),
    ("dpe_date", DataType::Utf8),
    ("previous_dpe_id", DataType::Utf8),
    ("previous_dpe_class", DataType::Utf8),
    ("sale_id", DataType::Utf8),
    ("sale_date", DataType::Utf8),
    ("sale_price", DataType::Int64),
    ("comparable_id", DataType::Utf8),
    ("comparable_date", DataType::Utf8),
    ("comparable_price", DataType::Int64),
    ("comparable_distance_m", DataType::Int64),
    ("changes", DataType::Utf8),
    ("changed_at_ms", DataType::Int64),
    ("value_changed_at_ms", DataType::Int64),
    ("reported_price", DataType::Int64),
    ("reported_lower", DataType::Int64),
    ("reported_upper", DataType::Int64),
    ("notifies", DataType::Boolean),
    ("comparable_reach_m", DataType::Int64),
    ("known_comparables", DataType::Utf8),
    ("new_comparable_count", DataType::Int64),
    ("new_comparables", DataType::Utf8),
];
/// Columns that responses give in another form, or not at all.
const INTERNAL: [&str; 10] = [
    "changes",
    "changed_at_ms",
    "value_changed_at_ms",
    "reported_price",
    "reported_lower",
    "reported_upper",
    "notifies",
    "comparable_reach_m",
    "known_comparables",
    "new_comparables",
];

/// Schema of the file of a valuation.
pub(super) static SCHEMA: LazyLock<SchemaRef> = LazyLock::new(|| {
    let fields = COLUMNS
        .iter()
        .map(|(name, kind)| Field::new(*name, kind.clone(), *name != "key" && *name != "notifies"));
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
});

toise_base::named! {
    /// A kind of change of a home.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Change {
        /// Its value, or an end of its interval, by more than the threshold.
        Value = "value",
        /// Its diagnostic, or the diagnostic's class.
        Diagnostic = "diagnostic",
        /// A comparable was sold nearby.
        Comparable = "comparable",
    }
}

impl ValuedHome {
    /// Returns the home as JSON for responses and webhooks. Unknown values are omitted.
    pub fn to_json(&self) -> Value {
        // Texts, numbers and flags can always be written as JSON.
        let mut object = serde_json::to_value(self).unwrap_or_default();
        if let Some(fields) = object.as_object_mut() {
            fields.retain(|name, value| !value.is_null() && !INTERNAL.contains(&name.as_str()));
        }
        let moment = |ms: i64| DateTime::from_timestamp_millis(ms).map(iso);
        if let Some(at) = self.value_changed_at_ms.and_then(moment) {
            object["value_changed_at"] = json!(at);
        }
        if let Some(at) = self.changed_at_ms.and_then(moment) {
            object["changed_at"] = json!(at);
            object["changes"] = self
                .changes
                .as_deref()
                .unwrap_or_default()
                .split(',')
                .collect();
        }
        let sold = self.new_comparables.as_deref();
        if let Some(sold) = sold.and_then(|sold| serde_json::from_str::<Value>(sold).ok()) {
            object["new_comparables"] = sold;
        }
        object
    }

    /// Makes a sale the latest comparable.
    pub(super) fn set_comparable(&mut self, sale: &ComparableSale) {
        self.comparable_id = Some(sale.id.clone());
        self.comparable_date = Some(sale.date.clone());
        self.comparable_price = Some(sale.price);
        self.comparable_distance_m = Some(sale.distance_m);
    }

    /// Compares a new state of the home with the previous one, and records what changed. `comparables` are its
    /// comparables, the latest first; `known_through` is the last day of the sales that the previous model knew. A
    /// comparable is reported once.
    pub(super) fn follow(
        mut self,
        former: &ValuedHome,
        comparables: &[ComparableSale],
        moved_percent: f64,
        known_through: Option<&str>,
        now_ms: i64,
    ) -> Self {
        let mut changes = Vec::new();
        let is_value = self.has_moved(former, moved_percent);
        if is_value {
            changes.push(Change::Value);
            self.value_changed_at_ms = Some(now_ms);
            (
                self.previous_price,
                self.previous_lower,
                self.previous_upper,
            ) = (
                former.reported_price,
                former.reported_lower,
                former.reported_upper,
            );
        } else {
            self.value_changed_at_ms = former.value_changed_at_ms;
            (
                self.previous_price,
                self.previous_lower,
                self.previous_upper,
            ) = (
                former.previous_price,
                former.previous_lower,
                former.previous_upper,
            );
        }
        if is_value || former.reported_price.is_none() {
            self.report();
        } else {
            (
                self.reported_price,
                self.reported_lower,
                self.reported_upper,
            ) = (
                former.reported_price,
                former.reported_lower,
                former.reported_upper,
            );
        }
        if (&self.dpe_id, &self.dpe_class) == (&former.dpe_id, &former.dpe_class) {
            self.previous_dpe_id.clone_from(&former.previous_dpe_id);
            self.previous_dpe_class
                .clone_from(&former.previous_dpe_class);
        } else {
            changes.push(Change::Diagnostic);
            self.previous_dpe_id.clone_from(&former.dpe_id);
            self.previous_dpe_class.clone_from(&former.dpe_class);
        }
        let mut sold: Vec<&ComparableSale> = match known_through {
            // A home that had no value had no comparables either.
            Some(through) if former.price.is_some() => comparables
                .iter()
                .filter(|sale| sale.date.as_str() > through && !former.has_known(&sale.id))
                .collect(),
            _ => Vec::new(),
        };
        if !sold.is_empty() {
            changes.push(Change::Comparable);
            self.new_comparable_count = Some(sold.len() as i64);
            sold.truncate(NEW_COMPARABLES_MAX);
            // Texts and numbers can always be written as JSON.
            self.new_comparables = serde_json::to_string(&sold).ok();
        }
        self.notifies = !changes.is_empty();
        if self.notifies {
            let names: Vec<&str> = changes.into_iter().map(Change::as_str).collect();
            self.changes = Some(names.join(","));
            self.changed_at_ms = Some(now_ms);
        } else {
            self.changes.clone_from(&former.changes);
            self.changed_at_ms = former.changed_at_ms;
            self.new_comparable_count = former.new_comparable_count;
            self.new_comparables.clone_from(&former.new_comparables);
        }
        self
    }

    /// Returns the sales that need no report any more.
    pub(super) fn known(&self) -> impl Iterator<Item = &str> {
        let ids = self.known_comparables.as_deref();
        ids.into_iter().flat_map(|ids| ids.split(','))
    }

    /// Returns whether a sale needs no report any more.
    fn has_known(&self, id: &str) -> bool {
        self.comparable_id.as_deref() == Some(id) || self.known().any(|known| known == id)
    }

    /// Makes the value the one from which changes are measured.
    pub(super) fn report(&mut self) {
        (
            self.reported_price,
            self.reported_lower,
            self.reported_upper,
        ) = (self.price, self.lower, self.upper);
    }

    fn has_moved(&self, former: &ValuedHome, percent: f64) -> bool {
        let ends = [
            (self.price, former.reported_price),
            (self.lower, former.reported_lower),
            (self.upper, former.reported_upper),
        ];
        ends.into_iter().any(|(now, before)| {
            let Some((now, before)) = now.zip(before).filter(|(_, before)| *before > 0) else {
                return false;
            };
            (now - before).abs() as f64 * 100.0 > before as f64 * percent
        })
    }
}

/// Converts homes to a batch of the file.
pub(super) fn to_batch(homes: &[ValuedHome]) -> Result<RecordBatch> {
    let mut decoder = arrow::json::ReaderBuilder::new(Arc::clone(&SCHEMA)).build_decoder()?;
    decoder.serialize(homes)?;
    Ok(decoder
        .flush()?
        .unwrap_or_else(|| RecordBatch::new_empty(Arc::clone(&SCHEMA))))
}

/// Reads the homes of a batch of the file.
pub(super) fn from_batch(batch: &RecordBatch) -> Result<Vec<ValuedHome>> {
    let mut writer = arrow::json::LineDelimitedWriter::new(Vec::new());
    writer.write(batch)?;
    writer.finish()?;
    let lines = writer.into_inner();
    let homes = serde_json::Deserializer::from_slice(&lines).into_iter();
    Ok(homes.collect::<std::result::Result<_, _>>()?)
}
