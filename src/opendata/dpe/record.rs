//! Converts rows of diagnostics to batches of the table.
//!
//! Values are not completed or corrected: an empty value is left out of the record, text stays as published, and
//! numbers keep their digits. Only the notation is normalised: a decimal comma becomes a point, a flag of older files
//! becomes 1 or 0, and codes get back the leading zeros that a spreadsheet removed.
//!
//! A value that is not a number or date where one is expected is dropped and counted; the row is kept for its 229 other
//! columns. A row without coordinates is placed by its address if that is certain; its published values stay as they are,
//! and `location_precision` says so. Only a row without a diagnostic number is rejected. Takes about 60 µs per row with all columns.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::array::{
    ArrayBuilder, ArrayRef, Date32Builder, Float64Builder, Int64Builder, RecordBatch,
    StringBuilder, new_null_array,
};
use arrow::error::ArrowError;
use chrono::Datelike;

use super::columns::all;
use super::source::{DpeColumns, index_of};
use crate::json_text::JsonObject;
use crate::placing::{LOCATION_PRECISION, place};
use crate::report::ConversionFindings;
use crate::report::Converted;
use crate::source::cell::{code, date_of, day, decimal, json_number};
use crate::source::{Block, SourceLocation};
use toise_geo::departments;
use toise_geo::projection::{in_france, to_degrees};
use toise_geocode::resolve::{LazyGeocoder, PostalAddress};
use toise_lake::schema::ColumnKind;

/// Selects the diagnostics to import; the default selects all.
#[derive(Clone, Debug, Default)]
pub struct DpeSelection {
    /// Departments (`code_departement_ban`, or the commune's); empty for all.
    pub departments: Vec<String>,
    /// First `date_etablissement_dpe` to import, days since 1970-01-01.
    pub since: Option<i32>,
}

/// Columns that hold codes of fixed width, with the width.
const CODES: [(&str, usize); 5] = [
    ("code_departement_ban", 2),
    ("code_region_ban", 2),
    ("code_postal_ban", 5),
    ("code_insee_ban", 5),
    ("code_postal_brut", 5),
];

/// Builder of a published column that the file contains.
enum DpeColumnBuilder {
    Text(StringBuilder),
    Code(StringBuilder, usize),
    Number(Float64Builder),
    Day(Date32Builder),
}

/// Numeric id of a diagnostic: the first 53 bits of the digest of its number, never 0.
pub fn flx_id(numero_dpe: &str) -> u64 {
    let digest = blake3::hash(numero_dpe.as_bytes());
    let mut first = [0u8; 8];
    first.copy_from_slice(&digest.as_bytes()[..8]);
    (u64::from_be_bytes(first) >> 11).max(1)
}

/// Converts rows to records. CPU-bound.
pub fn convert(
    block: &Block,
    columns: &DpeColumns,
    file: &str,
    wanted: &DpeSelection,
    geocoder: &LazyGeocoder,
) -> Result<Converted, ArrowError> {
    let mut findings = ConversionFindings::default();
    let (mut rows_not_asked_for, mut placed) = (0, 0);
    let mut places = BTreeSet::new();
    let mut builders: Vec<(usize, usize, DpeColumnBuilder)> = present(columns);
    let mut flx_ids = Int64Builder::new();
    let (mut lats, mut lons) = (Float64Builder::new(), Float64Builder::new());
    let mut records = StringBuilder::with_capacity(block.len(), block.bytes() * 7 / 2);
    let mut text = String::new();
    let key = DpeKeyColumns::new(columns);
    for row in 0..block.len() {
        let cell = |position: Option<usize>| position.map_or("", |at| block.cell(row, at).trim());
        let number = cell(key.number);
        if number.is_empty() {
            let place = SourceLocation::line(file, block.line(row)).column("numero_dpe");
            findings.reject("number of the diagnostic missing", &place, "");
            continue;
        }
        let department = key.department(&cell);
        if !wanted.departments.is_empty()
            && !wanted.departments.iter().any(|code| *code == department)
        {
            rows_not_asked_for += 1;
            continue;
        }
        let date = day(cell(key.date));
        if wanted
            .since
            .is_some_and(|since| date.is_none_or(|date| date < since))
        {
            rows_not_asked_for += 1;
            continue;
        }
        if let (Some(date), Ok(commune)) = (
            date,
            <[u8; 5]>::try_from(code(cell(key.commune), 5).as_bytes()),
        ) {
            places.insert((commune, date_of(date).year()));
        }
        let mut record = JsonObject::reuse(std::mem::take(&mut text));
        for (index, position, builder) in &mut builders {
            let published = &all()[*index];
            let value = block.cell(row, *position);
            push_value(published.name, value, builder, &mut record, |reason| {
                let place = SourceLocation::line(file, block.line(row)).column(published.name);
                findings.drop_value(reason, &place, value);
            });
        }
        let flx_id = flx_id(number);
        flx_ids.append_value(flx_id as i64);
        let position = key.position(&cell, &department, |value| {
            let place = SourceLocation::line(file, block.line(row)).column("_geopoint");
            findings.drop_value("position unreadable or outside France", &place, value);
        });
        let found = match position {
            Some(_) => None,
            None => place(geocoder, key.address(&cell)),
        };
        placed += u64::from(found.is_some());
        let position = position.or(found.map(|found| found.position));
        lats.append_option(position.map(|(lat, _)| lat));
        lons.append_option(position.map(|(_, lon)| lon));
        record.raw("flx_id", &flx_id.to_string());
        record.location(position);
        let precision = found.map(|found| found.precision.name());
        record.optional_text(LOCATION_PRECISION, precision);
        text = record.finish();
        records.append_value(&text);
    }
    let rows = flx_ids.len();
    let mut arrays: Vec<Option<ArrayRef>> = vec![None; all().len()];
    for (index, _, builder) in builders {
        arrays[index] = Some(match builder {
            DpeColumnBuilder::Text(mut values) | DpeColumnBuilder::Code(mut values, _) => {
                Arc::new(values.finish())
            }
            DpeColumnBuilder::Number(mut values) => Arc::new(values.finish()),
            DpeColumnBuilder::Day(mut values) => Arc::new(values.finish()),
        });
    }
    let mut arrays: Vec<ArrayRef> = arrays
        .into_iter()
        .zip(all())
        .map(|(array, column)| {
            array.unwrap_or_else(|| new_null_array(&column.kind.data_type(), rows))
        })
        .collect();
    arrays.push(Arc::new(flx_ids.finish()));
    arrays.push(Arc::new(lats.finish()));
    arrays.push(Arc::new(lons.finish()));
    arrays.push(Arc::new(records.finish()));
    Ok(Converted {
        batch: RecordBatch::try_new(super::schema().arrow().clone(), arrays)?,
        rows_kept: rows as u64,
        rows_not_asked_for,
        placed,
        findings,
        places: places
            .into_iter()
            .map(|(commune, year): ([u8; 5], i32)| {
                (String::from_utf8_lossy(&commune).into_owned(), year)
            })
            .collect(),
    })
}

/// The published columns that the file contains, in published order: index, position in the file, builder.
fn present(columns: &DpeColumns) -> Vec<(usize, usize, DpeColumnBuilder)> {
    let found = columns.positions.iter().enumerate();
    found
        .filter_map(|(index, position)| {
            let column = &all()[index];
            let width = CODES.iter().find(|(name, _)| *name == column.name);
            let builder = match (column.kind, width) {
                (_, Some((_, width))) => DpeColumnBuilder::Code(StringBuilder::new(), *width),
                (ColumnKind::Number, _) => DpeColumnBuilder::Number(Float64Builder::new()),
                (ColumnKind::Date, _) => DpeColumnBuilder::Day(Date32Builder::new()),
                _ => DpeColumnBuilder::Text(StringBuilder::new()),
            };
            Some((index, (*position)?, builder))
        })
        .collect()
}

fn push_value(
    name: &'static str,
    value: &str,
    builder: &mut DpeColumnBuilder,
    record: &mut JsonObject,
    mut dropped: impl FnMut(&'static str),
) {
    let empty = value.trim().is_empty();
    match builder {
        DpeColumnBuilder::Text(values) if empty => values.append_null(),
        DpeColumnBuilder::Code(values, _) if empty => values.append_null(),
        DpeColumnBuilder::Number(values) if empty => values.append_null(),
        DpeColumnBuilder::Day(values) if empty => values.append_null(),
        DpeColumnBuilder::Text(values) => {
            values.append_value(value);
            record.text(name, value);
        }
        DpeColumnBuilder::Code(values, width) => {
            let code = code(value, *width);
            values.append_value(&code);
            record.text(name, &code);
        }
        DpeColumnBuilder::Number(values) => {
            let digits = json_number(value);
            let number = digits.as_deref().and_then(|digits| digits.parse().ok());
            values.append_option(number);
            match digits {
                Some(digits) => record.raw(name, &digits),
                None => dropped("number unreadable"),
            }
        }
        DpeColumnBuilder::Day(values) => {
            let date = day(value);
            values.append_option(date);
            match date {
                Some(_) => record.text(name, value),
                None => dropped("date unreadable"),
            }
        }
    }
}

/// Positions in the file of the columns that identify and locate a row.
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
    fn new(columns: &DpeColumns) -> Self {
        let position = |name| columns.positions[index_of(name)];
        Self {
            number: position("numero_dpe"),
            date: position("date_etablissement_dpe"),
            department: position("code_departement_ban"),
            commune: position("code_insee_ban"),
            point: position("_geopoint"),
            x: position("coordonnee_cartographique_x_ban"),
            y: position("coordonnee_cartographique_y_ban"),
            addresses: [
                ["adresse_ban", "code_postal_ban", "nom_commune_ban"].map(position),
                ["adresse_brut", "code_postal_brut", "nom_commune_brut"].map(position),
            ],
        }
    }

    fn department<'b>(&self, cell: &impl Fn(Option<usize>) -> &'b str) -> Cow<'b, str> {
        let given = code(cell(self.department), 2);
        if !given.is_empty() {
            return given;
        }
        let commune = code(cell(self.commune), 5);
        Cow::Borrowed(departments::for_commune(&commune).unwrap_or_default())
    }

    /// The address of a row: as geocoded, else as entered.
    fn address<'b>(&self, cell: &impl Fn(Option<usize>) -> &'b str) -> PostalAddress<'b> {
        let given = self.addresses.iter();
        let mut given = given.map(|columns| columns.map(cell));
        let found = given.find(|[address, ..]| !address.is_empty());
        let [address, postal_code, city] = found.unwrap_or_default();
        PostalAddress {
            address,
            postal_code,
            city,
            ..PostalAddress::default()
        }
    }

    /// Latitude and longitude in degrees, from `_geopoint`, else from the projected coordinates and the department's
    /// projection.
    fn position<'b>(
        &self,
        cell: &impl Fn(Option<usize>) -> &'b str,
        department: &str,
        mut dropped: impl FnMut(&str),
    ) -> Option<(f64, f64)> {
        let inside = |(lat, lon): &(f64, f64)| in_france(*lat, *lon);
        let point = cell(self.point);
        let (lat, lon) = point.split_once(',').unwrap_or_default();
        let degrees = decimal(lat).zip(decimal(lon)).filter(inside);
        if degrees.is_some() {
            return degrees;
        }
        let (x, y) = (cell(self.x), cell(self.y));
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
