//! Converts mutations to batches of the table: columns for queries, and each record as JSON text for responses.
//!
//! Takes about 4 µs per source row on one core; runs on rayon, a few thousand rows at a time.

use std::collections::{BTreeSet, HashSet};
use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, Date32Array, Int64Array, RecordBatch, StringBuilder};
use arrow::error::ArrowError;
use chrono::Datelike;

use super::columns::DvfColumns;
use super::derive::{SaleRecord, records, repeated_dwelling};
use super::disposition::sales_of;
use super::mutation::MutationBlock;
use super::place::department;
use super::row::RowReader;
use crate::conversion::{filled, is_wanted, named_places, numbers, text_lists, texts};
use crate::json_text::JsonObject;
use crate::placing::{LOCATION_PRECISION, place};
use crate::report::ConversionFindings;
use crate::report::Converted;
use crate::source::cell::date_of;
use crate::source::{Block, SourceLocation};
use toise_geo::iris::{Iris, IrisIndex};
use toise_geocode::resolve::{LazyGeocoder, PostalAddress, Precision};

/// Maximum number of rows compared in pairs; for so few, that is faster than hashing.
const COMPARED_ROWS_MAX: usize = 16;
/// Name in the report for sales whose number of dwellings is unknown.
const DWELLINGS_AS_ONE: &str =
    "several rows of a dwelling without lots for one use of its parcel: taken as one dwelling";

/// Selects the sales to import; the default selects all.
#[derive(Clone, Debug, Default)]
pub struct DvfSelection {
    /// Departments; empty for all.
    pub departments: Vec<String>,
    /// Years of the deed, inclusive; `None` for all.
    pub years: Option<RangeInclusive<i32>>,
}

/// Data used to complete the location of a sale, besides its rows.
#[derive(Clone, Copy)]
pub struct PlaceSources<'s> {
    /// Contours that give the IRIS of a position.
    pub iris: Option<&'s IrisIndex>,
    /// Finds the position of an address, for rows without a position.
    pub geocoder: &'s LazyGeocoder,
}

/// Converts complete mutations to records. CPU-bound.
pub fn convert(
    mutations: &MutationBlock,
    columns: &DvfColumns,
    file: &str,
    wanted: &DvfSelection,
    sources: PlaceSources<'_>,
) -> Result<Converted, ArrowError> {
    let mut findings = ConversionFindings::default();
    let mut sales = Vec::new();
    let (mut rows_kept, mut rows_not_asked_for, mut placed) = (0, 0, 0);
    let mut places: BTreeSet<([u8; 5], i32)> = BTreeSet::new();
    let mut rows = Vec::new();
    for range in mutations.ranges() {
        rows.clear();
        findings.repeated_rows += repeated_rows(&mutations.block, range.clone());
        for row in range {
            let reader = RowReader {
                columns,
                file,
                block: &mutations.block,
                row,
            };
            let Some(row) = reader.read(&mut findings) else {
                continue;
            };
            let year = date_of(row.day).year();
            let years = wanted.years.as_ref();
            if !is_wanted(&wanted.departments, department(&row.commune))
                || years.is_some_and(|years| !years.contains(&year))
            {
                rows_not_asked_for += 1;
                continue;
            }
            if let Ok(commune) = <[u8; 5]>::try_from(row.commune.as_bytes()) {
                places.insert((commune, year));
            }
            rows_kept += 1;
            rows.push(row);
        }
        for sale in sales_of(&mut rows, mutations.grouping, file, &mut findings) {
            let sold = &rows[sale];
            if let Some(row) = repeated_dwelling(sold) {
                let (column, value) = row.report_value();
                let place = SourceLocation::line(file, row.line).column(column);
                findings.count_unclear(DWELLINGS_AS_ONE, &place, &value);
            }
            for mut record in records(sold) {
                let precision = place_sale(&mut record, sources.geocoder);
                placed += u64::from(precision.is_some());
                sales.push(SaleRow::new(record, precision, sources.iris));
            }
        }
    }
    Ok(Converted {
        batch: sale_batch(&sales)?,
        rows_kept,
        rows_not_asked_for,
        placed,
        findings,
        places: named_places(places),
    })
}

/// Counts the rows that equal an earlier row of the range in every cell.
fn repeated_rows(block: &Block, range: Range<usize>) -> u64 {
    if range.len() > COMPARED_ROWS_MAX {
        let mut known = HashSet::with_capacity(range.len());
        let repeated = range.filter(|row| !known.insert(block.row(*row)));
        return repeated.count() as u64;
    }
    let is_repeated =
        |row: &usize| (range.start..*row).any(|earlier| block.row(earlier) == block.row(*row));
    range.clone().filter(is_repeated).count() as u64
}

/// Sets the position of a sale without one from its address; this does not change its identifier.
pub(super) fn place_sale(sale: &mut SaleRecord, geocoder: &LazyGeocoder) -> Option<Precision> {
    if sale.position.is_some() {
        return None;
    }
    let address = PostalAddress {
        address: sale.address.as_deref()?,
        postal_code: sale.postal_code.as_deref().unwrap_or_default(),
        city: sale.city.as_deref().unwrap_or_default(),
        insee_code: &sale.insee_code,
    };
    let found = place(geocoder, address)?;
    sale.position = Some(found.position);
    Some(found.precision)
}

/// Returns the value of a column of numbers.
type NumberOf = fn(&SaleRecord) -> Option<f64>;
/// Returns the value of a column of texts.
type TextOf = for<'r> fn(&'r SaleRow<'r>) -> Option<&'r str>;

/// The columns price_eur to garden_surface_m2.
#[rustfmt::skip]
const NUMBERS: [(&str, NumberOf); 9] = [
    ("price_eur", |sale| sale.price_eur),
    ("price_per_m2_living_eur", |sale| sale.price_per_m2_living_eur),
    ("price_per_m2_land_eur", |sale| sale.price_per_m2_land_eur),
    ("surface_m2", |sale| sale.surface_m2),
    ("main_rooms", |sale| sale.main_rooms),
    ("land_surface_m2", |sale| sale.land_surface_m2),
    ("carrez_surface_m2", |sale| sale.carrez_surface_m2),
    ("soil_surface_m2", |sale| sale.soil_surface_m2),
    ("garden_surface_m2", |sale| sale.garden_surface_m2),
];
/// The columns address to iris_type.
#[rustfmt::skip]
const TEXTS: [(&str, TextOf); 8] = [
    ("address", |row| row.sale.address.as_deref()),
    ("postal_code", |row| row.sale.postal_code.as_deref()),
    ("insee_code", |row| Some(&row.sale.insee_code)),
    ("former_insee_code", |row| row.sale.former_insee_code.as_deref()),
    ("city", |row| row.sale.city.as_deref()),
    ("departement_code", |row| Some(&row.sale.department)),
    ("iris_code", |row| Some(&row.iris?.code)),
    ("iris_type", |row| row.iris?.kind.as_deref()),
];

/// A row of the table.
pub(super) struct SaleRow<'i> {
    sale: SaleRecord,
    /// Precision of the position if that was found from the address.
    placed: Option<Precision>,
    iris: Option<&'i Iris>,
}

impl<'i> SaleRow<'i> {
    /// Creates the row of a sale; `placed` is the precision of its position if that was found from its address.
    pub(super) fn new(
        sale: SaleRecord,
        placed: Option<Precision>,
        index: Option<&'i IrisIndex>,
    ) -> Self {
        // The middle of a street may lie in another IRIS than the sale.
        let iris = index
            .filter(|_| placed != Some(Precision::Street))
            .zip(sale.position)
            .and_then(|(index, (lat, lon))| index.find(lat, lon));
        Self { sale, placed, iris }
    }

    fn transaction_type(&self) -> Option<&str> {
        filled(&self.sale.transaction_type)
    }

    /// Returns the record as JSON text, in the allocation of `text`.
    fn json(&self, text: String) -> String {
        let sale = &self.sale;
        let mut record = JsonObject::reuse(text);
        record.text("id", &sale.id);
        let date = date_of(sale.day);
        record.raw("transaction_date", &format!("\"{date}T00:00:00.000Z\""));
        record.optional_text("transaction_type", self.transaction_type());
        for (name, value) in NUMBERS {
            record.number(name, value(sale));
        }
        record.text("property_type", sale.kind.as_str());
        record.flag("is_new_build", sale.is_new_build);
        record.flag("is_open_market", sale.is_open_market);
        for (name, value) in TEXTS {
            record.optional_text(name, value(self));
        }
        record.location(sale.position);
        record.optional_text(LOCATION_PRECISION, self.placed.map(Precision::name));
        record.texts("parcel_ids", &sale.parcel_ids);
        record.number("lots", Some(sale.lots as f64));
        record.number("rows", Some(sale.rows as f64));
        record.optional_text("mutation_id", sale.mutation_id.as_deref());
        record.number("mutation_records", Some(sale.mutation_records as f64));
        record.number("mutation_share", Some(sale.mutation_share));
        record.flag("is_sold_together", sale.is_sold_together);
        record.finish()
    }
}

/// Returns the rows with the columns in the order of the table.
pub(super) fn sale_batch(rows: &[SaleRow<'_>]) -> Result<RecordBatch, ArrowError> {
    let sales = || rows.iter().map(|row| &row.sale);
    let flags = |value: fn(&SaleRecord) -> Option<bool>| -> ArrayRef {
        Arc::new(sales().map(value).collect::<BooleanArray>())
    };
    let integers = |value: fn(&SaleRecord) -> i64| -> ArrayRef {
        Arc::new(Int64Array::from_iter_values(sales().map(value)))
    };
    let mut records = StringBuilder::new();
    let mut text = String::new();
    for row in rows {
        text = row.json(text);
        records.append_value(&text);
    }
    let mut columns: Vec<ArrayRef> = vec![
        texts(rows, |row| Some(row.sale.id.as_str())),
        Arc::new(Date32Array::from_iter_values(sales().map(|sale| sale.day))),
        texts(rows, SaleRow::transaction_type),
    ];
    columns.extend(NUMBERS.map(|(_, value)| numbers(rows, |row| value(&row.sale))));
    columns.extend([
        texts(rows, |row| Some(row.sale.kind.as_str())),
        flags(|sale| Some(sale.is_new_build)),
        flags(|sale| Some(sale.is_open_market)),
    ]);
    columns.extend(TEXTS.map(|(_, value)| texts(rows, value)));
    columns.extend([
        numbers(rows, |row| row.sale.position.map(|(lat, _)| lat)),
        numbers(rows, |row| row.sale.position.map(|(_, lon)| lon)),
        text_lists(rows, |row| &row.sale.parcel_ids),
        integers(|sale| sale.lots),
        integers(|sale| sale.rows),
        texts(rows, |row| row.sale.mutation_id.as_deref()),
        integers(|sale| sale.mutation_records),
        numbers(rows, |row| Some(row.sale.mutation_share)),
        flags(|sale| Some(sale.is_sold_together)),
        Arc::new(records.finish()) as ArrayRef,
    ]);
    RecordBatch::try_new(super::schema().arrow().clone(), columns)
}
