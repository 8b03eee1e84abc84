//! Builds the report: one row per place, class and period, as an Arrow batch that HTTP, the command line and SQL each
//! format in their own way.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, LazyLock, OnceLock};

use arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow::error::ArrowError;
use bytes::Bytes;
use serde_json::{Value, json};

use crate::asking::{AskingFigures, AskingGroup};
use crate::quantiles::SAMPLE_MIN;
use crate::request::{CLASSES, MarketRequest};
use crate::sales::{GroupKey, SalesGroup};

/// An index: value, lower end and upper end.
pub type IndexValue = [f64; 3];

/// One row of the report.
#[derive(Debug, Default)]
struct Row {
    department: u8,
    sales: Option<SalesGroup>,
    asking: Option<AskingFigures>,
    index: Option<IndexValue>,
}

/// Type of a column's values, and the function that reads them from a row.
enum Reader {
    Count(fn(&Row) -> Option<u64>),
    Number(fn(&Row) -> Option<f64>),
}

/// A column after place, name, type and period: its name, its description and the offers that it needs.
struct Indicator {
    name: &'static str,
    about: &'static str,
    offer: Offer,
    read: Reader,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Offer {
    Sale,
    Rent,
    Both,
}

const fn indicator(
    name: &'static str,
    offer: Offer,
    read: Reader,
    about: &'static str,
) -> Indicator {
    Indicator {
        name,
        about,
        offer,
        read,
    }
}

fn quartile(row: &Row, nth: usize) -> Option<f64> {
    row.sales.as_ref()?.price_per_m2.map(|values| values[nth])
}

fn asking(row: &Row) -> Option<&AskingFigures> {
    row.asking.as_ref()
}

use Offer::{Both, Rent, Sale};
use Reader::{Count, Number};

#[rustfmt::skip]
static INDICATORS: [Indicator; 21] = [
    indicator("sales", Sale, Count(|row| Some(row.sales.as_ref().map_or(0, |of| of.sales))),
        "Recorded sales of homes of the class on the open market"),
    indicator("priced_sales", Sale, Count(|row| Some(row.sales.as_ref().map_or(0, |of| of.priced))),
        "Sales whose price is that of a single home; the quartiles are computed from these"),
    indicator("volume_eur", Sale, Number(|row| Some(row.sales.as_ref().map_or(0.0, |of| of.volume))),
        "Total paid, EUR; the price of a sale is divided among its classes"),
    indicator("price_per_m2_q1", Sale, Number(|row| quartile(row, 0)),
        "Lower quartile of the recorded price, EUR/m2"),
    indicator("price_per_m2_median", Sale, Number(|row| quartile(row, 1)),
        "Median of the recorded price, EUR/m2"),
    indicator("price_per_m2_q3", Sale, Number(|row| quartile(row, 2)),
        "Upper quartile of the recorded price, EUR/m2"),
    indicator("index", Sale, Number(|row| row.index.map(|index| index[0])),
        "Hedonic price index of the department and class; the department's first period is 100"),
    indicator("index_lower", Sale, Number(|row| row.index.map(|index| index[1])),
        "Lower end of its 80 % interval"),
    indicator("index_upper", Sale, Number(|row| row.index.map(|index| index[2])),
        "Upper end of its 80 % interval"),
    indicator("for_sale", Sale, Count(|row| asking(row).map(|of| of.for_sale)),
        "Properties for sale online on at least one day"),
    indicator("stock", Sale, Count(|row| asking(row).map(|of| of.stock)),
        "Properties for sale online at the end of the last day"),
    indicator("asking_price_per_m2", Sale, Number(|row| asking(row)?.price_per_m2),
        "Median asking price, EUR/m2"),
    indicator("days_on_market", Sale, Number(|row| asking(row)?.days_on_market),
        "Median days from the first sighting until going offline, of properties for sale that went offline"),
    indicator("price_cut_share", Sale, Number(|row| asking(row)?.price_cut_share),
        "Share of properties for sale whose asking price is below their first one, percent"),
    indicator("price_cut", Sale, Number(|row| asking(row)?.price_cut),
        "Median cut of those prices, percent"),
    indicator("to_rent", Rent, Count(|row| asking(row).map(|of| of.to_rent)),
        "Properties to rent online on at least one day"),
    indicator("rent_stock", Rent, Count(|row| asking(row).map(|of| of.rent_stock)),
        "Properties to rent online at the end of the last day"),
    indicator("rent_per_m2", Rent, Number(|row| asking(row)?.rent_per_m2),
        "Median monthly rent, EUR/m2"),
    indicator("gross_yield", Both, Number(|row| asking(row)?.gross_yield),
        "Twelve median monthly rents divided by the median asking price, percent"),
    indicator("energy_premium_ab", Sale, Number(|row| asking(row)?.premium_ab),
        "Percentage by which the median asking price per m2 of energy classes A and B exceeds that of class D"),
    indicator("energy_premium_fg", Sale, Number(|row| asking(row)?.premium_fg),
        "Percentage by which the median asking price per m2 of energy classes F and G exceeds that of class D"),
];

/// The columns that identify the subject of a row, with their descriptions.
const SUBJECT: [(&str, &str); 4] = [
    ("place", "Code of the department, commune, IRIS or cell"),
    ("name", "Name of the department or commune"),
    ("type", "Class of the homes"),
    (
        "period",
        "Month such as 2024-05 or quarter such as 2024-Q2; null if all days form one period",
    ),
];

static SCHEMA: LazyLock<SchemaRef> = LazyLock::new(|| {
    let subject = SUBJECT.map(|(name, _)| {
        let is_nullable = name == "name" || name == "period";
        Field::new(name, DataType::Utf8, is_nullable)
    });
    let indicators = INDICATORS.iter().map(|indicator| match indicator.read {
        Count(_) => Field::new(indicator.name, DataType::Int64, true),
        Number(_) => Field::new(indicator.name, DataType::Float64, true),
    });
    Arc::new(Schema::new(
        subject.into_iter().chain(indicators).collect::<Vec<_>>(),
    ))
});

/// Returns the columns of a report.
pub fn schema() -> &'static SchemaRef {
    &SCHEMA
}

/// Returns the JSON schema of a row.
pub fn row_schema() -> Value {
    let mut properties = serde_json::Map::new();
    for (name, about) in SUBJECT {
        let kind = match name {
            "name" | "period" => json!(["string", "null"]),
            _ => json!("string"),
        };
        let mut described = json!({"type": kind, "description": about});
        if name == "type" {
            described["enum"] = json!(CLASSES);
        }
        properties.insert(name.into(), described);
    }
    for indicator in &INDICATORS {
        let kind = match indicator.read {
            Count(_) => "integer",
            Number(_) => "number",
        };
        let described = json!({"type": [kind, "null"], "description": indicator.about});
        properties.insert(indicator.name.into(), described);
    }
    let required: Vec<String> = properties.keys().cloned().collect();
    json!({"type": "object", "required": required, "properties": properties})
}

/// Market indicators: rows by place, class and period, in that order.
#[derive(Debug)]
pub struct MarketReport {
    /// The rows, in the columns of [`schema`].
    pub rows: RecordBatch,
    /// Notes for the reader: why columns have no values.
    pub notes: Vec<String>,
    json: OnceLock<Bytes>,
}

/// Function that returns the price index of a department (by rank) and a class (0 flats, 1 houses), for the second
/// period relative to the first.
pub(crate) type IndexOf<'a> = &'a dyn Fn(u8, u8, [i32; 2]) -> Option<IndexValue>;

impl MarketReport {
    /// Joins sales and properties; without `asking`, the columns of properties are null.
    ///
    /// # Errors
    /// Arrow refuses a column, which cannot happen for columns made here.
    pub(crate) fn new(
        request: &MarketRequest,
        sales: &[SalesGroup],
        asking: Option<HashMap<GroupKey, AskingGroup>>,
        index: IndexOf<'_>,
        notes: Vec<String>,
    ) -> Result<Self, ArrowError> {
        let mut rows: BTreeMap<GroupKey, Row> = BTreeMap::new();
        for group in sales {
            let row = rows.entry(group.key).or_default();
            row.department = group.department;
            row.sales = Some(group.clone());
        }
        if let Some(asking) = asking {
            for (key, group) in asking {
                rows.entry(key).or_default().asking = Some(group.figures());
            }
            for row in rows.values_mut() {
                row.asking.get_or_insert_default();
            }
        }
        add_index(&mut rows, index);
        Ok(Self {
            rows: batch(request, &rows)?,
            notes,
            json: OnceLock::new(),
        })
    }

    /// Returns the JSON text of a response: `{data: [rows], meta}`. The text is built once.
    ///
    /// # Errors
    /// Arrow cannot write a row, which cannot happen for these columns.
    pub fn json(&self) -> Result<Bytes, ArrowError> {
        if let Some(text) = self.json.get() {
            return Ok(text.clone());
        }
        let mut text = br#"{"data":"#.to_vec();
        if self.rows.num_rows() == 0 {
            text.extend_from_slice(b"[]");
        } else {
            let builder = arrow::json::WriterBuilder::new().with_explicit_nulls(true);
            let mut writer = builder.build::<_, arrow::json::writer::JsonArray>(&mut text);
            writer.write(&self.rows)?;
            writer.finish()?;
        }
        let meta =
            json!({"rows": self.rows.num_rows(), "sample_min": SAMPLE_MIN, "notes": self.notes});
        text.extend_from_slice(format!(r#","meta":{meta}}}"#).as_bytes());
        Ok(self.json.get_or_init(|| text.into()).clone())
    }

    /// Estimates the memory of the report and its JSON text, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        // The JSON text is written later; it is about five times as long as the batch.
        6 * self.rows.get_array_memory_size()
    }
}

/// Sets the index of each row with sales to that of its department and class. It is 100 in the first period in which
/// that class was sold in that department.
fn add_index(rows: &mut BTreeMap<GroupKey, Row>, index: IndexOf<'_>) {
    let mut bases: BTreeMap<(u8, u8), i32> = BTreeMap::new();
    for ((_, class, period), row) in rows.iter() {
        if row.department > 0 {
            let base = bases.entry((*class, row.department)).or_insert(*period);
            *base = (*base).min(*period);
        }
    }
    let mut known: BTreeMap<(u8, u8, i32), Option<IndexValue>> = BTreeMap::new();
    for ((_, class, period), row) in rows.iter_mut() {
        let Some(base) = bases.get(&(*class, row.department)) else {
            continue;
        };
        let value = known
            .entry((*class, row.department, *period))
            .or_insert_with(|| index(*class, row.department, [*base, *period]));
        row.index = *value;
    }
}

fn batch(
    request: &MarketRequest,
    rows: &BTreeMap<GroupKey, Row>,
) -> Result<RecordBatch, ArrowError> {
    let level = request.level;
    let places = rows.keys().map(|(place, _, _)| Some(place.code(level)));
    let mut last = None;
    let names = rows.keys().map(|(place, _, _)| match &last {
        Some((known, name)) if known == place => Option::<String>::clone(name),
        _ => {
            let name = place.name(level);
            last = Some((*place, name.clone()));
            name
        }
    });
    let classes = rows
        .keys()
        .map(|(_, class, _)| CLASSES.get(usize::from(*class)).copied());
    let periods = rows.keys().map(|(_, _, period)| request.by.name(*period));
    let mut columns: Vec<ArrayRef> = vec![
        Arc::new(places.collect::<StringArray>()),
        Arc::new(names.collect::<StringArray>()),
        Arc::new(classes.collect::<StringArray>()),
        Arc::new(periods.collect::<StringArray>()),
    ];
    for indicator in &INDICATORS {
        let is_wanted = match indicator.offer {
            Sale => request.has_sale,
            Rent => request.has_rent,
            Both => request.has_sale && request.has_rent,
        };
        let rows = rows.values();
        columns.push(match indicator.read {
            Count(read) => {
                let values = rows.map(|row| read(row).filter(|_| is_wanted));
                let values = values.map(|value| value.map(|value| value as i64));
                Arc::new(values.collect::<Int64Array>())
            }
            Number(read) => {
                let values = rows.map(|row| read(row).filter(|_| is_wanted));
                let values = values.map(|value| value.map(hundredths));
                Arc::new(values.collect::<Float64Array>())
            }
        });
    }
    RecordBatch::try_new(Arc::clone(schema()), columns)
}

fn hundredths(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}
