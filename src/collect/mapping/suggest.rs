//! Suggests a mapping for a file: `toise ingest FILE --suggest`.
//!
//! A column is assigned to a field by its name, using the common table of names, and by its values: a rule is tried on
//! the rows. Its confidence is the share of rows from which it reads a plausible value. Rules that are not certain
//! enough are written as comments. The suggestion thus shows what is known, what is not, and what the user must add.

mod draft;
mod energy_classes;
mod fields;
mod offers;
mod places;
mod plausible;
mod profile;
mod storeys;
mod texts;
mod units;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::Mapping;
use super::copies::CopyCounts;
use super::row::Row;
use crate::portals::{Error, Portals};
use draft::Draft;
use fields::{drafts, is_sure};
use profile::{ColumnProfile, profiles};
use serde_json::Value;
use toml::Value as Toml;

/// Maximum number of rows that a suggestion reads.
pub const ROWS_MAX: usize = 2_000;
/// Maximum depth at which lists of records are searched in a document.
const RECORDS_DEPTH_MAX: usize = 5;
/// The first rows of a file and its format.
#[derive(Debug, Default)]
pub struct SampledFile {
    /// Name of the file without folder and extension; used as the name of an unknown portal.
    pub name: String,
    /// Names of its columns; empty for JSON.
    pub header: Vec<String>,
    /// Its first rows, at most [`ROWS_MAX`].
    pub rows: Vec<Row>,
    /// Path of the rows in a JSON document; `None` if they are at the top.
    pub records: Option<String>,
    /// Encoding and delimiter that the user gave.
    pub dialect: [(&'static str, Option<String>); 2],
}

/// A suggested mapping.
#[derive(Clone, Debug)]
pub struct Suggestion {
    /// The text of the mapping file, in TOML.
    pub text: String,
    /// The mapping parsed from the text.
    pub mapping: Mapping,
    /// Fields that no rule reads reliably, and how to add a rule.
    pub missing: Vec<String>,
}

impl SampledFile {
    /// Returns a made-up host for the portal of a file without URLs. No real host has its ending.
    fn host(&self) -> String {
        let name = toise_contract::columns::folded(&self.name);
        if name.is_empty() {
            "adverts.invalid".into()
        } else {
            format!("{name}.invalid")
        }
    }

    /// Returns whether the header looks like a row of values: a number, a price or a URL is not the name of a column.
    pub fn has_no_header(&self) -> bool {
        let is_value = |name: &&String| {
            let digits = name.chars().filter(char::is_ascii_digit).count();
            name.starts_with("http") || digits * 2 > name.chars().count()
        };
        let values = self.header.iter().filter(is_value).count();
        let named = self.header.iter().filter(|name| !name.is_empty()).count();
        values * 3 >= named && values > 0
    }

    /// Suggests a mapping.
    ///
    /// # Errors
    /// The generated text is not a valid mapping; the checks of names and values should prevent this.
    pub fn suggest(&self) -> Result<Suggestion, Error> {
        let columns = profiles(&self.header, &self.rows);
        let mut drafts = drafts(&columns, &self.rows, &self.host());
        let suggestion = self.suggestion(&columns, &drafts)?;
        // Maps the rows with the draft to find columns that repeat others.
        let mut counts = CopyCounts::default();
        for row in &self.rows {
            counts.add(&suggestion.mapping.read(row, &Portals::default()).advert);
        }
        let copied = counts.found();
        if copied.is_empty() {
            return Ok(suggestion);
        }
        for copy in copied {
            for draft in drafts.iter_mut().filter(|draft| draft.field == copy.field) {
                draft.confidence = 0.0;
                draft.reason = format!(
                    "It equals {} in {} of {} rows, so it looks copied.",
                    copy.of, copy.equal, copy.rows
                );
            }
        }
        self.suggestion(&columns, &drafts)
    }

    fn suggestion(&self, columns: &[ColumnProfile], drafts: &[Draft]) -> Result<Suggestion, Error> {
        let text = self.text(columns, drafts);
        let mapping = Mapping::parse("the suggestion", &text)?;
        let missing = missing(drafts).collect();
        Ok(Suggestion {
            text,
            mapping,
            missing,
        })
    }

    fn text(&self, columns: &[ColumnProfile], drafts: &[Draft]) -> String {
        let mut text = String::new();
        let mut key = |key: &str, value: Toml| {
            let _ = writeln!(text, "{key} = {value}");
        };
        if let Some(records) = &self.records {
            key("records", Toml::String(records.clone()));
        }
        for (name, value) in &self.dialect {
            if let Some(value) = value {
                key(name, Toml::String(value.clone()));
            }
        }
        let unknown: BTreeSet<&str> = columns
            .iter()
            .flat_map(|column| column.unknown.iter().copied())
            .collect();
        if !unknown.is_empty() {
            let unknown = unknown.into_iter().map(Toml::from);
            key("empty", Toml::Array(unknown.collect()));
        }
        text.push('\n');
        for draft in drafts {
            let samples = match draft.columns.as_slice() {
                [column] => columns.iter().find(|one| one.path == *column),
                _ => None,
            };
            text += &draft.to_text(samples.map_or(&[], |column| &column.samples));
        }
        for missing in missing(drafts) {
            let _ = writeln!(text, "# MISSING {missing}");
        }
        let is_read = |column: &&ColumnProfile| {
            let mut drafts = drafts.iter();
            drafts.any(|draft| draft.columns.contains(&column.path))
        };
        let mut unread = columns.iter().filter(|column| !is_read(column)).peekable();
        if unread.peek().is_some() {
            text.push_str("# Columns that no rule reads, with sample values:\n");
        }
        for column in unread {
            let (path, filled, rows) = (&column.path, column.filled, self.rows.len());
            let values = column.samples.join(" | ");
            let line = format!("#   {path:?} ({filled} of {rows} rows): {values}");
            let _ = writeln!(text, "{}", line.trim_end());
        }
        text
    }
}

/// The needs of an advert, and the area, which every comparison uses. Each entry has its name, the fields of which a
/// certain rule must read one, and advice if none does.
const NEEDED: [(&str, &[&str], &str); 5] = [
    (
        "type",
        &["type"],
        "no column says what is offered. If it is the same for all rows: --set type=CLASS_FLAT (or CLASS_HOUSE, CLASS_LAND…)",
    ),
    (
        "offer.type",
        &["offer.type"],
        "nothing says whether these are sales or rentals: --set offer.type=OFFER_BUY (or OFFER_RENT)",
    ),
    (
        "currentPrice.value",
        &["currentPrice.value"],
        "no column is certain to be the price, and without a rule for it new adverts are rejected. Name it: --map \
         currentPrice.value=COLUMN",
    ),
    (
        "habitation.surface.total",
        &["habitation.surface.total", "land.surface"],
        "no column or title is certain to have the area, without which homes are not valued. Name it: --map \
         habitation.surface.total=COLUMN",
    ),
    (
        "location",
        &[
            "location.postalCode",
            "location.city",
            "location.inseeCode",
            "location.address",
            "location.locationCoordinate.location",
        ],
        "no column says where the homes are. If it is one town: --set location.city=Lyon or --set location.postalCode=69003",
    ),
];

/// Returns what no sure rule reads, with how to add it.
fn missing(drafts: &[Draft]) -> impl Iterator<Item = String> {
    let needed = NEEDED.into_iter();
    let missing =
        needed.filter(move |(_, fields, _)| !fields.iter().any(|field| is_sure(drafts, field)));
    missing.map(|(name, _, how)| format!("{name}: {how}"))
}

/// Returns whether a word in the name of a column names a field, and no other word says that it holds another value:
/// `Prix de vente FAI`, but not `Prix moyen`.
pub fn may_name(column: &str, field: &str) -> bool {
    fields::has_part(column, field) && !fields::is_of_other_value(column)
}

/// Returns whether a column's name has a unit from which a suggested mapping converts: `Prix (k€)`, but not `Prix CHF`.
pub fn converts_unit(column: &str, field: &str) -> bool {
    units::is_converted(column, field)
}

/// Finds the records in a document that is not a list: the path of its largest list of objects, and the first
/// [`ROWS_MAX`] records. `None` if the document has more fields than the first object of the list: it is a record itself,
/// and the list one of its fields, such as its pictures.
pub fn records_in(document: &Value) -> Option<(String, Vec<Row>)> {
    let mut best: Option<(String, &Vec<Value>)> = None;
    look("", document, 0, &mut best);
    let (path, items) = best?;
    let others = document.as_object()?.len().saturating_sub(1);
    if fields_of(items.iter().find(|item| item.is_object())?) < others {
        return None;
    }
    let rows = items.iter().take(ROWS_MAX).filter_map(Value::as_object);
    Some((path, rows.cloned().collect()))
}

/// Returns the number of fields of a value and of the objects in it.
fn fields_of(value: &Value) -> usize {
    match value {
        Value::Object(fields) => fields.len() + fields.values().map(fields_of).sum::<usize>(),
        Value::Array(items) => items.iter().map(fields_of).sum(),
        _ => 0,
    }
}

fn look<'d>(
    path: &str,
    value: &'d Value,
    depth: usize,
    best: &mut Option<(String, &'d Vec<Value>)>,
) {
    match value {
        Value::Array(items) if items.iter().any(Value::is_object) && !path.is_empty() => {
            let most = best.as_ref().map_or(0, |(_, items)| items.len());
            if items.len() > most {
                *best = Some((path.to_owned(), items));
            }
        }
        Value::Object(fields) if depth < RECORDS_DEPTH_MAX => {
            for (key, inner) in fields {
                let path = match path {
                    "" => key.clone(),
                    path => format!("{path}.{key}"),
                };
                look(&path, inner, depth + 1, best);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests;
