//! Parses homes to be valued from request bodies, portfolio rows and SQL arguments.
//!
//! All three are checked against one table ([`fields`]) and become the same [`Home`], so a home gets the same value, or
//! is rejected for the same reason, however it is sent. A body must contain what the contract requires; a portfolio row
//! only position, class and surface.

mod draft;
pub mod fields;
#[cfg(test)]
mod tests;

use chrono::NaiveDate;
use serde_json::{Number, Value};

use crate::Home;
use draft::Draft;
use fields::{FIELDS, Field, Input, Kind, POSITION_PATH, REQUIRED_COLUMNS};
use toise_contract::fault::Fault;
use toise_contract::walk::{At, list, object};

/// Maximum homes in one `_many` call.
pub const ESTIMATE_ITEMS_MAX: usize = 1_000;

/// Parses the body of an estimate; `today` is the default valuation date.
///
/// # Errors
/// The first fault in document order; missing required fields are reported after all others.
pub fn parse_estimate(body: &Value, today: NaiveDate) -> Result<Home, Fault> {
    home(body, today, At::Body)
}

/// Parses the body of a `_many` call: `{items: [body…]}`. A fault in one item concerns only that item.
///
/// # Errors
/// The body is not such a list, or has too many items.
pub fn parse_estimate_many(
    body: &Value,
    today: NaiveDate,
) -> Result<Vec<Result<Home, Fault>>, Fault> {
    let at = At::Body;
    let mut homes = None;
    for (key, value) in object(body, at)? {
        if key != "items" {
            return Err(at.unknown_key(key, ["items"]));
        }
        let here = At::Key(&at, key);
        let items = list(value, here)?;
        if items.is_empty() || items.len() > ESTIMATE_ITEMS_MAX {
            return Err(here.fault(format!("must hold 1 to {ESTIMATE_ITEMS_MAX} items")));
        }
        let read = items.iter().enumerate();
        homes = Some(
            read.map(|(index, item)| home(item, today, At::Index(&here, index)))
                .collect(),
        );
    }
    homes.ok_or_else(|| At::Key(&at, "items").fault("is required"))
}

fn home(body: &Value, today: NaiveDate, at: At<'_>) -> Result<Home, Fault> {
    let mut draft = Draft::default();
    read_object(body, "", &mut draft, at)?;
    draft.finish(today, |field| field.path, |field| field.is_required, at)
}

/// Reads an object at `path` of the body.
fn read_object(value: &Value, path: &str, draft: &mut Draft, at: At<'_>) -> Result<(), Fault> {
    for (key, value) in object(value, at)? {
        let here = At::Key(&at, key);
        let inner = match path.is_empty() {
            true => key.clone(),
            false => format!("{path}.{key}"),
        };
        if inner == POSITION_PATH {
            read_position(value, draft, here)?;
        } else if let Some(field) = FIELDS.iter().find(|field| field.path == inner) {
            draft.set(field, value, here)?;
        } else if FIELDS.iter().any(|field| is_within(field.path, &inner)) {
            read_object(value, &inner, draft, here)?;
        } else {
            return Err(at.unknown_key(key, keys_of(path)));
        }
    }
    Ok(())
}

/// Reads longitude and latitude, in this order.
fn read_position(value: &Value, draft: &mut Draft, at: At<'_>) -> Result<(), Fault> {
    let numbers = list(value, at)?;
    if numbers.len() != 2 {
        return Err(at.fault("must be two numbers: longitude, latitude"));
    }
    let fields = FIELDS
        .iter()
        .filter(|field| is_within(field.path, POSITION_PATH));
    for (index, (field, number)) in fields.zip(numbers).enumerate() {
        draft.set(field, number, At::Index(&at, index))?;
    }
    Ok(())
}

/// Whether `path` lies inside the value at `outer`.
fn is_within(path: &str, outer: &str) -> bool {
    path.strip_prefix(outer)
        .is_some_and(|rest| rest.starts_with(['.', '[']))
}

/// The keys of an object at a path.
pub fn keys_of(path: &str) -> Vec<&'static str> {
    let mut keys: Vec<&'static str> = Vec::new();
    for field in &FIELDS {
        let rest = match path.is_empty() {
            true => Some(field.path),
            false => field
                .path
                .strip_prefix(path)
                .and_then(|rest| rest.strip_prefix('.')),
        };
        let key = rest.and_then(|rest| rest.split(['.', '[']).next());
        if let Some(key) = key.filter(|key| !key.is_empty() && !keys.contains(key)) {
            keys.push(key);
        }
    }
    keys
}

/// Parses a home from the cells of a row, given as pairs of field and text; an empty text means unknown.
///
/// # Errors
/// The first fault in the order of the cells; its path is the column name.
pub fn parse_cells<'c>(
    cells: impl Iterator<Item = (&'static Field, &'c str)>,
    today: NaiveDate,
) -> Result<Home, Fault> {
    let at = At::Body;
    let mut draft = Draft::default();
    for (field, cell) in cells {
        let cell = cell.trim();
        if !cell.is_empty() {
            draft.set(field, &value(field, cell), At::Key(&at, field.column))?;
        }
    }
    let is_required = |field: &Field| REQUIRED_COLUMNS.contains(&field.column);
    draft.finish(today, |field| field.column, is_required, at)
}

/// Converts a cell to the JSON value a body would hold; an unreadable cell stays text, which validation rejects.
fn value(field: &Field, cell: &str) -> Value {
    let text = |text: &str| Value::String(text.to_owned());
    match field.kind {
        Kind::Number(..) | Kind::Whole(..) => {
            let number = cell.parse::<f64>().ok().and_then(Number::from_f64);
            number.map_or_else(|| text(cell), Value::Number)
        }
        Kind::Flag if cell.eq_ignore_ascii_case("true") || cell == "1" => Value::Bool(true),
        Kind::Flag if cell.eq_ignore_ascii_case("false") || cell == "0" => Value::Bool(false),
        Kind::Flag | Kind::Day => text(cell),
        Kind::OneOf(_) => text(&word(field.input, cell)),
        Kind::Some(_) => Value::Array(vec![text(cell)]),
    }
}

/// Translates words common in other files to the contract's word: a bare letter, a class in French or English.
fn word(input: Input, cell: &str) -> String {
    let is_letter = cell.len() == 1 && cell.as_bytes()[0].is_ascii_alphabetic();
    match input {
        Input::Energy if is_letter => {
            format!("ENERGY_CLASSIFICATION_{}", cell.to_ascii_uppercase())
        }
        Input::Climate if is_letter => {
            format!("GREENHOUSE_CLASSIFICATION_{}", cell.to_ascii_uppercase())
        }
        Input::Class => match cell.to_ascii_lowercase().as_str() {
            "flat" | "appartement" => "CLASS_FLAT".into(),
            "house" | "maison" => "CLASS_HOUSE".into(),
            _ => cell.to_owned(),
        },
        _ => cell.to_owned(),
    }
}
