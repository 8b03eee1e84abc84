//! Converts rows of diagnostics to batches of the table.
//!
//! Values are not completed or corrected. Empty values are omitted from the record. Text stays as published, even if it
//! is not in its official list, which is reported. Only the notation is normalised, so that the same row gives the same
//! record from CSV, Parquet and JSON: spaces around a value are removed, values of official lists get their official
//! spelling, numbers are written in the shortest way, a flag of older files becomes 1 or 0, days become `yyyy-mm-dd`, and
//! codes get back the leading zeros that a spreadsheet removed.
//!
//! A file may lack published columns. A stored diagnostic keeps its values of these columns; a row that is not stored
//! is refused if the file has too few columns to describe it.
//!
//! A value that should be a number or date but is not is dropped and counted; the row is kept for its other 229
//! columns. A row without coordinates is placed by its address if that is certain; its published values stay as they
//! are, and `location_precision` shows that it was placed. A row without a diagnostic number is rejected. A row with
//! all columns takes about 60 µs.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::array::{
    ArrayBuilder, ArrayRef, Date32Builder, Float64Builder, Int64Builder, RecordBatch,
    StringBuilder, new_null_array,
};
use chrono::Datelike;

use super::columns::{PublishedColumn, all};
use super::official::values_of;
use super::source::{DpeColumns, index_of};
use super::stored::StoredDiagnostic;
use crate::conversion::{is_wanted, named_places};
use crate::json_text::JsonObject;
use crate::placing::{LOCATION_PRECISION, place};
use crate::report::{ConversionFindings, Converted, unreadable_date};
use crate::source::cell::{code, date_of, day, decimal, json_number, listed_value, published_day};
use crate::source::{Block, SourceLocation};
use toise_geo::departments;
use toise_geo::projection::{in_france, to_degrees};
use toise_geocode::resolve::{LazyGeocoder, PostalAddress};
use toise_input::words::WITHOUT_ENERGY_CLASS;
use toise_lake::StoredRows;
use toise_lake::schema::ColumnKind;

/// Selects the diagnostics to import; the default selects all.
#[derive(Clone, Debug, Default)]
pub struct DpeSelection {
    /// Departments (`code_departement_ban`, or the commune's); empty for all.
    pub departments: Vec<String>,
    /// First `date_etablissement_dpe` to import, days since 1970-01-01.
    pub since: Option<i32>,
}

/// Columns with fixed-width codes, and their width.
const CODES: [(&str, usize); 5] = [
    ("code_departement_ban", 2),
    ("code_region_ban", 2),
    ("code_postal_ban", 5),
    ("code_insee_ban", 5),
    ("code_postal_brut", 5),
];

/// Reason for rejecting a row that would add a nearly empty diagnostic.
const NOT_STORED: &str =
    "not stored, and the file has too few columns to add it (--allow-partial adds it)";

/// Data from which diagnostics are completed, in addition to their rows.
#[derive(Clone, Copy)]
pub struct DpeSources<'s> {
    /// Finds the position of an address, for rows without a position.
    pub geocoder: &'s LazyGeocoder,
    /// The diagnostics that are already stored, for a file that lacks columns; `None` imports every row as it is.
    pub stored: Option<&'s StoredRows>,
    /// Whether rows that are not stored are added even if the file has few columns.
    pub allow_partial: bool,
}

/// A published column under construction.
struct PublishedColumnBuilder {
    /// Index of the column.
    index: usize,
    values: DpeColumnBuilder,
    /// Its official list.
    official: Option<&'static [&'static str]>,
}

/// Builder of the values of a published column.
enum DpeColumnBuilder {
    Text(StringBuilder),
    Code(StringBuilder, usize),
    Number(Float64Builder),
    Day(Date32Builder),
}

/// Returns the numeric id of a diagnostic: the first 53 bits of the digest of its number, never 0.
pub fn flx_id(numero_dpe: &str) -> u64 {
    let digest = blake3::hash(numero_dpe.as_bytes());
    let mut first = [0u8; 8];
    first.copy_from_slice(&digest.as_bytes()[..8]);
    (u64::from_be_bytes(first) >> 11).max(1)
}

/// The values of one row, from the file, or from the stored record for columns that the file lacks.
#[derive(Clone, Copy)]
struct DpeRow<'r> {
    block: &'r Block,
    row: usize,
    columns: &'r DpeColumns,
    stored: Option<&'r StoredDiagnostic<'r>>,
}

impl<'r> DpeRow<'r> {
    /// Returns the value of the column at an index, without spaces around it; empty if there is none.
    fn value(&self, index: usize) -> &'r str {
        let value = match (self.columns.positions[index], self.stored) {
            (Some(position), _) => {
                let first = self.block.cell(self.row, position);
                match self.columns.seconds[index] {
                    Some(second) if first.trim().is_empty() => self.block.cell(self.row, second),
                    _ => first,
                }
            }
            (None, Some(stored)) => stored.value(all()[index].name),
            (None, None) => "",
        };
        value.trim()
    }

    /// Returns the value of an optional column, as [`Self::value`].
    fn cell(&self, index: Option<usize>) -> &'r str {
        index.map_or("", |index| self.value(index))
    }

    /// Returns whether the file lacks a column, or repeats the stored value.
    fn is_as_stored(&self, index: usize) -> bool {
        let stored = self
            .stored
            .map_or("", |stored| stored.value(all()[index].name));
        self.columns.positions[index].is_none() || self.value(index) == stored.trim()
    }

    fn place(&self, file: &str, column: &'static str) -> SourceLocation {
        SourceLocation::line(file, self.block.line(self.row)).column(column)
    }
}

/// Converts rows to records. CPU-bound; reads stored records if the file lacks columns.
///
/// # Errors
/// A stored record cannot be read.
pub fn convert(
    block: &Block,
    columns: &DpeColumns,
    file: &str,
    wanted: &DpeSelection,
    sources: DpeSources<'_>,
) -> Result<Converted, toise_lake::Error> {
    let key = DpeKeyColumns::new();
    let number_at = key.number.and_then(|index| columns.positions[index]);
    let numbers: Vec<&str> = (0..block.len())
        .map(|row| number_at.map_or("", |at| block.cell(row, at).trim()))
        .collect();
    let records = match sources.stored {
        Some(stored) if !columns.is_complete() => stored.records(&numbers)?,
        _ => vec![None; block.len()],
    };
    let stored: Vec<Option<StoredDiagnostic<'_>>> = records
        .iter()
        .map(|record| record.as_deref().map(StoredDiagnostic::read).transpose())
        .collect::<Result<_, _>>()?;
    let may_add = sources.stored.is_none() || sources.allow_partial || columns.lacking().is_none();
    let mut findings = ConversionFindings::default();
    let (mut rows_not_asked_for, mut placed) = (0, 0);
    let mut places = BTreeSet::new();
    let mut builders = builders(columns, stored.iter().any(Option::is_some));
    let mut flx_ids = Int64Builder::new();
    let (mut lats, mut lons) = (Float64Builder::new(), Float64Builder::new());
    let mut texts = StringBuilder::with_capacity(block.len(), block.bytes() * 7 / 2);
    let mut text = String::new();
    for (row, number) in numbers.iter().enumerate() {
        let stored = stored[row].as_ref();
        let row = DpeRow {
            block,
            row,
            columns,
            stored,
        };
        if number.is_empty() {
            let place = row.place(file, "numero_dpe");
            findings.reject("number of the diagnostic missing", &place, "");
            continue;
        }
        let department = key.department(&row);
        let date = day(row.cell(key.date));
        let is_older = |since: i32| date.is_none_or(|date| date < since);
        if !is_wanted(&wanted.departments, &department) || wanted.since.is_some_and(is_older) {
            rows_not_asked_for += 1;
            continue;
        }
        if stored.is_none() && !may_add {
            findings.reject(NOT_STORED, &row.place(file, "numero_dpe"), number);
            continue;
        }
        let commune = <[u8; 5]>::try_from(code(row.cell(key.commune), 5).as_bytes());
        if let (Some(date), Ok(commune)) = (date, commune) {
            places.insert((commune, date_of(date).year()));
        }
        let mut record = JsonObject::reuse(std::mem::take(&mut text));
        for column in &mut builders {
            column.push(&row, file, &mut record, &mut findings);
        }
        let flx_id = flx_id(number);
        flx_ids.append_value(flx_id as i64);
        let (position, precision) = match key.stored_position(&row) {
            Some((position, precision)) => (Some(position), precision),
            None => {
                let given = key.position(&row, &department, |value| {
                    let place = row.place(file, "_geopoint");
                    findings.drop_value("position unreadable or outside France", &place, value);
                });
                let found = match given {
                    Some(_) => None,
                    None => place(sources.geocoder, key.address(&row)),
                };
                placed += u64::from(found.is_some());
                let position = given.or(found.map(|found| found.position));
                (position, found.map(|found| found.precision.name()))
            }
        };
        lats.append_option(position.map(|(lat, _)| lat));
        lons.append_option(position.map(|(_, lon)| lon));
        record.raw("flx_id", &flx_id.to_string());
        record.location(position);
        record.optional_text(LOCATION_PRECISION, precision);
        text = record.finish();
        texts.append_value(&text);
    }
    let rows = flx_ids.len();
    let mut arrays = published_arrays(builders, rows);
    arrays.push(Arc::new(flx_ids.finish()));
    arrays.push(Arc::new(lats.finish()));
    arrays.push(Arc::new(lons.finish()));
    arrays.push(Arc::new(texts.finish()));
    Ok(Converted {
        batch: RecordBatch::try_new(super::schema().arrow().clone(), arrays)?,
        rows_kept: rows as u64,
        rows_not_asked_for,
        placed,
        findings,
        places: named_places(places),
    })
}

/// Returns the published columns of `rows` rows, in published order like their builders; those without a builder are
/// null.
fn published_arrays(builders: Vec<PublishedColumnBuilder>, rows: usize) -> Vec<ArrayRef> {
    let mut builders = builders.into_iter().peekable();
    let columns = all().iter().enumerate();
    let array = |(index, column): (usize, &PublishedColumn)| match builders
        .next_if(|builder| builder.index == index)
    {
        Some(builder) => builder.values.finish(),
        None => new_null_array(&column.kind.data_type(), rows),
    };
    columns.map(array).collect()
}

/// Creates builders for the published columns that the file has, or for all columns, in published order.
fn builders(columns: &DpeColumns, of_all: bool) -> Vec<PublishedColumnBuilder> {
    let known = all().iter().enumerate();
    let filled = known.filter(|(index, _)| of_all || columns.positions[*index].is_some());
    filled
        .map(|(index, column)| {
            let width = CODES.iter().find(|(name, _)| *name == column.name);
            let values = match (column.kind, width) {
                (_, Some((_, width))) => DpeColumnBuilder::Code(StringBuilder::new(), *width),
                (ColumnKind::Number, _) => DpeColumnBuilder::Number(Float64Builder::new()),
                (ColumnKind::Date, _) => DpeColumnBuilder::Day(Date32Builder::new()),
                _ => DpeColumnBuilder::Text(StringBuilder::new()),
            };
            PublishedColumnBuilder {
                index,
                values,
                official: values_of(column.name),
            }
        })
        .collect()
}

impl PublishedColumnBuilder {
    /// Adds the value of a row to the column and to the record.
    fn push(
        &mut self,
        row: &DpeRow<'_>,
        file: &str,
        record: &mut JsonObject,
        findings: &mut ConversionFindings,
    ) {
        let name = all()[self.index].name;
        let cell = row.value(self.index);
        let listed = self.official.and_then(|list| listed_value(cell, list));
        let value = listed.unwrap_or(cell);
        let mut drop_value = |reason: &'static str| {
            findings.drop_value(reason, &row.place(file, name), cell);
        };
        if value.is_empty() {
            if !cell.is_empty() {
                drop_value(WITHOUT_ENERGY_CLASS);
            }
            return self.values.append_null();
        }
        let text = match &mut self.values {
            DpeColumnBuilder::Text(values) => {
                values.append_value(value);
                record.text(name, value);
                Cow::Borrowed(value)
            }
            DpeColumnBuilder::Code(values, width) => {
                let code = code(value, *width);
                values.append_value(&code);
                record.text(name, &code);
                code
            }
            DpeColumnBuilder::Number(values) => {
                let digits = json_number(value);
                let number = digits.as_deref().and_then(|digits| digits.parse().ok());
                values.append_option(number);
                return match digits {
                    Some(digits) => record.raw(name, &digits),
                    None => drop_value("number unreadable"),
                };
            }
            DpeColumnBuilder::Day(values) => {
                let date = published_day(value);
                values.append_option(date.as_ref().map(|(days, _)| *days));
                return match date {
                    Some((_, text)) => record.text(name, &text),
                    None => drop_value(unreadable_date(value)),
                };
            }
        };
        let is_unlisted = self.official.is_some_and(|list| !list.contains(&&*text));
        if is_unlisted && row.columns.positions[self.index].is_some() {
            findings.count_unlisted(name, &text);
        }
    }
}

impl DpeColumnBuilder {
    fn append_null(&mut self) {
        match self {
            Self::Text(values) | Self::Code(values, _) => values.append_null(),
            Self::Number(values) => values.append_null(),
            Self::Day(values) => values.append_null(),
        }
    }

    fn finish(self) -> ArrayRef {
        match self {
            Self::Text(mut values) | Self::Code(mut values, _) => Arc::new(values.finish()),
            Self::Number(mut values) => Arc::new(values.finish()),
            Self::Day(mut values) => Arc::new(values.finish()),
        }
    }
}

/// Indices of the columns that identify and locate a row.
struct DpeKeyColumns {
    number: Option<usize>,
    date: Option<usize>,
    department: Option<usize>,
    commune: Option<usize>,
    point: Option<usize>,
    x: Option<usize>,
    y: Option<usize>,
    /// Address, postal code and commune as geocoded, then as entered.
    addresses: [[Option<usize>; 3]; 2],
}

impl DpeKeyColumns {
    fn new() -> Self {
        Self {
            number: index_of("numero_dpe"),
            date: index_of("date_etablissement_dpe"),
            department: index_of("code_departement_ban"),
            commune: index_of("code_insee_ban"),
            point: index_of("_geopoint"),
            x: index_of("coordonnee_cartographique_x_ban"),
            y: index_of("coordonnee_cartographique_y_ban"),
            addresses: [
                ["adresse_ban", "code_postal_ban", "nom_commune_ban"].map(index_of),
                ["adresse_brut", "code_postal_brut", "nom_commune_brut"].map(index_of),
            ],
        }
    }

    fn department<'r>(&self, row: &DpeRow<'r>) -> Cow<'r, str> {
        let given = code(row.cell(self.department), 2);
        if !given.is_empty() {
            return given;
        }
        let commune = code(row.cell(self.commune), 5);
        Cow::Borrowed(departments::for_commune(&commune).unwrap_or_default())
    }

    /// Returns the address of a row: as geocoded, otherwise as entered.
    fn address<'r>(&self, row: &DpeRow<'r>) -> PostalAddress<'r> {
        let mut given = self
            .addresses
            .iter()
            .map(|columns| columns.map(|index| row.cell(index)));
        let found = given.find(|[address, ..]| !address.is_empty());
        let [address, postal_code, city] = found.unwrap_or_default();
        PostalAddress {
            address,
            postal_code,
            city,
            ..PostalAddress::default()
        }
    }

    /// Returns whether the file neither moves a stored diagnostic nor changes its address.
    fn is_place_as_stored(&self, row: &DpeRow<'_>) -> bool {
        let position = [self.point, self.x, self.y, self.department];
        let columns = position.iter().chain(self.addresses.iter().flatten());
        columns.flatten().all(|index| row.is_as_stored(*index))
    }

    /// Returns the position of a stored diagnostic, and its precision if it was found from the address, unless the file
    /// moves it or changes its address.
    fn stored_position<'r>(&self, row: &DpeRow<'r>) -> Option<((f64, f64), Option<&'r str>)> {
        let stored = row.stored.filter(|_| self.is_place_as_stored(row))?;
        Some((stored.position?, stored.precision()))
    }

    /// Returns latitude and longitude in degrees, from `_geopoint`, otherwise from the projected coordinates and the
    /// department's projection. Calls `dropped` with a value that cannot be used.
    fn position(
        &self,
        row: &DpeRow<'_>,
        department: &str,
        mut dropped: impl FnMut(&str),
    ) -> Option<(f64, f64)> {
        let inside = |(lat, lon): &(f64, f64)| in_france(*lat, *lon);
        let point = row.cell(self.point);
        let (lat, lon) = point.split_once(',').unwrap_or_default();
        let degrees = decimal(lat).zip(decimal(lon)).filter(inside);
        if degrees.is_some() {
            return degrees;
        }
        let (x, y) = (row.cell(self.x), row.cell(self.y));
        let projected = decimal(x)
            .zip(decimal(y))
            .and_then(|(x, y)| to_degrees(department, x, y))
            .filter(inside);
        if projected.is_none() && !(point.is_empty() && (x.is_empty() || y.is_empty())) {
            dropped(if point.is_empty() { x } else { point });
        }
        projected
    }
}
