//! Homes to be valued, as bodies, rows of a portfolio and arguments in SQL say them.
//!
//! All three are read against one table ([`fields`]) into the same [`Home`], so a home has one value whichever way it
//! comes, and is refused for the same reasons. A body must say what the contract requires; a portfolio only position,
//! class and surface.

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

/// Most homes of one `_many` call.
pub const ESTIMATE_ITEMS_MAX: usize = 1_000;

/// Reads the body of an estimate; `today` is the day it is asked for.
///
/// # Errors
/// The first fault in document order; a required field that is missing counts at the end.
pub fn parse_estimate(body: &Value, today: NaiveDate) -> Result<Home, Fault> {
    home(body, today, At::Body)
}

/// Reads the body of a `_many` call: `{items: [body…]}`. A fault of one item is that item's own.
///
/// # Errors
/// A body that is no such list.
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

/// Reads an object of which `path` is where it stands in the body.
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

/// Longitude and latitude, in this order.
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

/// Whether a path leads into the value that stands at another.
fn is_within(path: &str, outer: &str) -> bool {
    path.strip_prefix(outer)
        .is_some_and(|rest| rest.starts_with(['.', '[']))
}

/// The keys an object at a path takes.
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

/// Reads a home from the cells of a row: fields and their texts, of which empty ones say nothing.
///
/// # Errors
/// The first fault in the order of the cells, its path the name of a column.
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

/// A cell as the body would have it; one that cannot be read stays text, for the check to refuse.
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

/// What stands for the contract's word in files of others: a bare letter, a class in French or English.
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
