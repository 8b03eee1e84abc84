//! Divides rows that were grouped together into sales. A sale is one disposition, because the price belongs to the
//! disposition. Rows that differ in disposition, day, price, nature or department are never one sale.
//!
//! That is enough for rows with one mutation number, and for neighbouring rows of a file in the usual order. Rows that
//! were grouped only because they agree in these values are also divided by location. Cases that this cannot decide are
//! counted in the report.

use std::cmp::Ordering;
use std::ops::Range;

use super::place::department;
use super::row::{DvfRow, Local};
use crate::report::ConversionFindings;
use crate::source::SourceLocation;

/// How the rows that a converter receives together were grouped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RowGrouping {
    /// They have one mutation number, or follow each other in a file in the usual order.
    #[default]
    Mutation,
    /// They agree in day, nature, price and disposition, wherever they were in the file.
    EqualValues,
}

/// Names in the report for sales that cannot be separated because their values are equal.
const HOMES_AS_ONE: &str = "several buildings of one day, price and section: taken as one sale";
const SECTIONS_AS_ONE: &str =
    "land or annexes of one day and price in several sections: taken as one sale";
const SECTIONS_APART: &str =
    "buildings of one day and price in several sections: taken as one sale for each section";

/// Sorts rows by content, so that their order in the source does not matter, and returns the rows of each sale.
pub fn sales_of(
    rows: &mut [DvfRow<'_>],
    grouping: RowGrouping,
    file: &str,
    findings: &mut ConversionFindings,
) -> Vec<Range<usize>> {
    if rows.len() > 1 {
        rows.sort_unstable_by(order);
    }
    let mut sales = Vec::with_capacity(1);
    for disposition in chunks(rows, 0..rows.len(), |one, other| {
        disposition_order(one, other).is_eq()
    }) {
        if grouping == RowGrouping::Mutation {
            sales.push(disposition);
            continue;
        }
        for commune in chunks(rows, disposition, |one, other| one.commune == other.commune) {
            divide_by_section(rows, commune, file, findings, &mut sales);
        }
    }
    sales
}

/// Divides rows of one commune: each section is a sale of its own if several of them have a building.
fn divide_by_section(
    rows: &[DvfRow<'_>],
    commune: Range<usize>,
    file: &str,
    findings: &mut ConversionFindings,
    sales: &mut Vec<Range<usize>>,
) {
    let sections = chunks(rows, commune.clone(), |one, other| {
        section(one) == section(other)
    });
    let is_built = |section: &&Range<usize>| rows[(*section).clone()].iter().any(has_building);
    let mut report = |reason| {
        let row = &rows[commune.start];
        let (column, value) = row.report_value();
        let place = SourceLocation::line(file, row.line).column(column);
        findings.count_unclear(reason, &place, &value);
    };
    if sections.len() == 1 {
        if has_several_buildings(&rows[commune.clone()]) {
            report(HOMES_AS_ONE);
        }
        sales.push(commune);
    } else if sections.iter().filter(is_built).count() > 1 {
        report(SECTIONS_APART);
        sales.extend(sections);
    } else {
        report(SECTIONS_AS_ONE);
        sales.push(commune);
    }
}

/// Returns the ranges of neighbouring rows that are the same by `is_same`.
fn chunks(
    rows: &[DvfRow<'_>],
    range: Range<usize>,
    is_same: impl Fn(&DvfRow<'_>, &DvfRow<'_>) -> bool,
) -> Vec<Range<usize>> {
    let mut start = range.start;
    let same = rows[range].chunk_by(|one, other| is_same(one, other));
    same.map(|chunk| {
        let chunk = start..start + chunk.len();
        start = chunk.end;
        chunk
    })
    .collect()
}

/// Orders rows by everything that sales are derived from.
fn order(one: &DvfRow<'_>, other: &DvfRow<'_>) -> Ordering {
    let bits = |number: Option<f64>| number.map(f64::to_bits);
    let position = |row: &DvfRow<'_>| {
        row.position
            .map(|(lat, lon)| (lat.to_bits(), lon.to_bits()))
    };
    disposition_order(one, other)
        .then_with(|| one.commune.cmp(&other.commune))
        .then_with(|| section(one).cmp(section(other)))
        .then_with(|| one.parcel.cmp(&other.parcel))
        .then_with(|| lot_numbers(one).cmp(&lot_numbers(other)))
        .then_with(|| one.local.cmp(&other.local))
        .then_with(|| bits(one.built_m2).cmp(&bits(other.built_m2)))
        .then_with(|| one.street.cmp(&other.street))
        .then_with(|| one.postal_code.cmp(&other.postal_code))
        .then_with(|| one.former_commune.cmp(&other.former_commune))
        .then_with(|| one.city.cmp(other.city))
        .then_with(|| bits(one.rooms).cmp(&bits(other.rooms)))
        .then_with(|| one.culture.cmp(&other.culture))
        .then_with(|| bits(one.land_m2).cmp(&bits(other.land_m2)))
        .then_with(|| position(one).cmp(&position(other)))
        .then_with(|| one.line.cmp(&other.line))
}

fn disposition_order(one: &DvfRow<'_>, other: &DvfRow<'_>) -> Ordering {
    (one.disposition, one.day, one.price_cents)
        .cmp(&(other.disposition, other.day, other.price_cents))
        .then_with(|| one.nature.cmp(other.nature))
        .then_with(|| {
            // Looking up departments is slower than comparing codes, which nearly always agree.
            if one.commune == other.commune {
                return Ordering::Equal;
            }
            department(&one.commune).cmp(department(&other.commune))
        })
}

fn lot_numbers<'a>(row: &DvfRow<'a>) -> [&'a str; 5] {
    row.lots.map(|(number, _)| number)
}

/// Returns the cadastral section of a row with its prefix; without a parcel, the street.
fn section<'r>(row: &'r DvfRow<'_>) -> &'r str {
    row.parcel.get(..10).unwrap_or(row.street[3])
}

/// Returns whether a row has a building: either described, or a lot sold before it is built.
fn has_building(row: &DvfRow<'_>) -> bool {
    row.local.is_some() || row.lot_count > 0
}

/// Returns whether several distinct homes, premises, or lots without a description are among the rows of a sale, or
/// several annexes and nothing else.
fn has_several_buildings(rows: &[DvfRow<'_>]) -> bool {
    let is_main = |row: &&DvfRow<'_>| match row.local {
        Some(local) => local != Local::Outbuilding,
        None => row.lot_count > 0,
    };
    let has_main = rows.iter().any(|row| is_main(&row));
    let mut main = rows
        .iter()
        .filter(|row| is_main(row) || (!has_main && has_building(row)));
    let key = |row: &DvfRow<'_>| (row.local, row.built_m2.map(f64::to_bits));
    let Some(first) = main.next() else {
        return false;
    };
    main.any(|row| {
        row.parcel != first.parcel
            || lot_numbers(row) != lot_numbers(first)
            || key(row) != key(first)
    })
}
