//! Parses homes to be valued from request bodies, portfolio rows and SQL arguments.
//!
//! All three are checked against one table ([`fields`]) and become the same [`Home`], so a home gets the same value, or
//! is rejected for the same reason, however it is sent. A body must contain what the contract requires; a portfolio row
//! needs only position, class and surface.

mod draft;
pub mod fields;
pub mod located;
pub mod rent;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use chrono::NaiveDate;
use serde_json::{Number, Value};

pub use located::{HomeRequest, LocatedHome};

use crate::Home;
use draft::{HomeDraft, MISSING};
use fields::{
    ESTIMATE, ESTIMATE_MANY, FIELDS, HomeField, HomeInput, LOCATION, POSITION_COLUMNS,
    REQUIRED_COLUMNS,
};
use located::HomePlace;
use toise_contract::fault::Fault;
use toise_contract::fields::{FieldKind, Taken, Values, read, read_part, read_value};
use toise_contract::walk::JsonPath;
use toise_geo::plausible::check_position;
use toise_input::day;
use toise_input::number::{self, LoneSeparator};
use toise_input::words::{self, HomeClass};
use toise_opendata::portfolio::RowFault;

/// The name of the position in messages about a row.
const POSITION_PATH: &str = "longitude, latitude";
/// Advice for a row without a position.
const POSITION_ADVICE: &str = "; `toise geocode` finds the positions of addresses";
/// Advice for a row whose class is neither flat nor house.
const CLASS_ADVICE: &str = ", or a word for one such as Appartement or Maison";

/// Parses the body of an estimate; `today` is the default valuation date. Does not locate its address yet.
///
/// # Errors
/// The first fault in document order; missing required fields are reported after all others.
pub fn parse_estimate(body: &Value, today: NaiveDate) -> Result<HomeRequest, Fault> {
    home(body, today, JsonPath::Body)
}

/// Parses the body of a `_many` call: `{items: [body…]}`. A fault in one item affects only that item.
///
/// # Errors
/// The body is not such a list, or has too many items.
pub fn parse_estimate_many(
    body: &Value,
    today: NaiveDate,
) -> Result<Vec<Result<HomeRequest, Fault>>, Fault> {
    let at = JsonPath::Body;
    let here = JsonPath::Key(&at, "items");
    let items: Vec<&Value> = read(body, &ESTIMATE_MANY, at)?.require("items")?;
    let read = items.into_iter().enumerate();
    Ok(read
        .map(|(index, item)| home(item, today, JsonPath::Index(&here, index)))
        .collect())
}

fn home(body: &Value, today: NaiveDate, at: JsonPath<'_>) -> Result<HomeRequest, Fault> {
    // Missing values are reported by `finish`, after the whole body has been read, with their own path.
    let values = read_part(body, &ESTIMATE, at)?;
    home_of(&values, |field| field.field.is_required, today, at)
}

/// Builds a home from the values of a body.
fn home_of(
    values: &Values<'_>,
    is_required: fn(&HomeField) -> bool,
    today: NaiveDate,
    at: JsonPath<'_>,
) -> Result<HomeRequest, Fault> {
    let mut draft = HomeDraft::default();
    for field in &FIELDS {
        if let Some(taken) = value_for(field, values) {
            draft.set(field.input, taken);
        }
    }
    let address = values.at(["location", "address"].into_iter());
    let place = match address {
        Some(Taken::Text(_)) if draft.has_position() => HomePlace::CoordinateAndAddress,
        Some(Taken::Text(address)) => {
            // A placeholder, replaced by the position of the address before the home is valued.
            draft.set_position((0.0, 0.0));
            HomePlace::Address((*address).to_owned())
        }
        _ => HomePlace::Coordinate,
    };
    let has_list = matches!(values.at(LOCATION.into_iter()), Some(Taken::List(_)));
    let name_of: fn(&'static HomeField) -> Cow<'static, str> = if has_list {
        |field| Cow::Owned(field.path_in_body())
    } else {
        |field| match field.input {
            HomeInput::Longitude | HomeInput::Latitude => Cow::Owned(LOCATION.join(".")),
            _ => Cow::Owned(field.path_in_body()),
        }
    };
    let home = draft.finish(today, name_of, is_required, at)?;
    Ok(HomeRequest::new(home, place))
}

/// Returns the value that a body gives for a field.
fn value_for<'a>(field: &HomeField, values: &'a Values<'_>) -> Option<&'a Taken<'a>> {
    let place = match field.input {
        HomeInput::Longitude => 0,
        HomeInput::Latitude => 1,
        HomeInput::Date | HomeInput::Address => return None,
        _ => return values.at(field.path.iter().copied()),
    };
    match values.at(LOCATION.into_iter())? {
        Taken::List(position) => position.get(place),
        _ => None,
    }
}

/// Parses a home from the cells of a row, given as pairs of field and text; an empty string means unknown. `position`,
/// latitude and longitude in degrees, is used if the cells give none.
///
/// # Errors
/// The first fault in the order of the cells, with the column name, then a position that cannot be that of a home in
/// France.
pub fn parse_cells<'c>(
    cells: impl Iterator<Item = (&'static HomeField, &'c str)>,
    position: Option<(f64, f64)>,
    today: NaiveDate,
) -> Result<Home, RowFault> {
    let home = read_cells(cells, position, today);
    let home = home.map_err(|fault| {
        let is_position = POSITION_COLUMNS.contains(&fault.path.as_str());
        let is_missing = fault.message == MISSING;
        let advice = match fault.path.as_str() {
            _ if is_position && is_missing => POSITION_ADVICE,
            "type" if !is_missing => CLASS_ADVICE,
            _ => "",
        };
        RowFault::Other(format!("{fault}{advice}"))
    })?;
    match check_position(home.latitude, home.longitude) {
        Ok(()) => Ok(home),
        Err(fault) => Err(RowFault::Position {
            path: POSITION_PATH,
            fault,
        }),
    }
}

/// Parses a home from parameters named like the columns of a row; see [`parse_cells`].
///
/// # Errors
/// Those of [`parse_cells`], with the parameter as path. In addition, a letter that is not a class of a diagnostic is
/// an error; a row leaves it out and reports it.
pub fn parse_parameters<'c>(
    parameters: impl Iterator<Item = (&'static HomeField, &'c str)> + Clone,
    position: Option<(f64, f64)>,
    today: NaiveDate,
) -> Result<Home, Fault> {
    let is_no_class =
        |(field, cell): &(&HomeField, &str)| cell.len() == 1 && is_without_class(field, cell);
    if let Some((field, _)) = parameters.clone().find(is_no_class) {
        return Err(Fault::new(field.column, "must be a class from A to G"));
    }
    let home = read_cells(parameters, position, today)?;
    check_position(home.latitude, home.longitude)
        .map_err(|fault| Fault::new(POSITION_PATH, fault.to_string()))?;
    Ok(home)
}

fn read_cells<'c>(
    cells: impl Iterator<Item = (&'static HomeField, &'c str)>,
    position: Option<(f64, f64)>,
    today: NaiveDate,
) -> Result<Home, Fault> {
    let at = JsonPath::Body;
    let mut draft = HomeDraft::default();
    if let Some(position) = position {
        draft.set_position(position);
    }
    for (field, cell) in cells {
        let cell = cell.trim();
        if !cell.is_empty() {
            let value = value(field, cell);
            let here = JsonPath::Key(&at, field.column);
            draft.set(field.input, &read_value(&value, field.field.kind, here)?);
        }
    }
    let is_required = |field: &HomeField| REQUIRED_COLUMNS.contains(&field.column);
    draft.finish(today, |field| Cow::Borrowed(field.column), is_required, at)
}

/// Converts a cell to the value a body would have. A cell that cannot be converted stays text, which the validation
/// rejects.
fn value(field: &HomeField, cell: &str) -> Value {
    let text = |text: &str| Value::String(text.to_owned());
    match field.field.kind {
        FieldKind::Between(..) | FieldKind::Integer(..) => {
            let number = number::read(cell, LoneSeparator::Decimals);
            let number = match field.input {
                HomeInput::Floor => words::storey(cell).map(|storey| storey as f64).or(number),
                HomeInput::Rooms => number.or_else(|| words::room_count(cell).map(f64::from)),
                _ => number,
            };
            number
                .and_then(Number::from_f64)
                .map_or_else(|| text(cell), Value::Number)
        }
        FieldKind::Flag => words::flag(cell).map_or_else(|| text(cell), Value::Bool),
        FieldKind::OneOf(_) => text(&word(field.input, cell)),
        FieldKind::List(_) => Value::Array(vec![text(cell)]),
        _ => text(&day::iso(cell).unwrap_or_else(|| cell.to_owned())),
    }
}

/// Returns whether a cell says that a diagnostic has no class, so that it is read as an unknown one.
pub fn is_without_class(field: &HomeField, cell: &str) -> bool {
    matches!(field.input, HomeInput::Energy | HomeInput::Climate)
        && words::energy_class(cell) == Some("")
}

/// Translates spellings that are common in files to those of the contract: the energy or climate class of a diagnostic,
/// and the class of a home in French or English.
fn word(input: HomeInput, cell: &str) -> String {
    let graded = |start: &str| match words::energy_class(cell) {
        Some("") => format!("{start}_NC"),
        Some(class) => format!("{start}_{class}"),
        None => cell.to_owned(),
    };
    match input {
        HomeInput::Energy => graded("ENERGY_CLASSIFICATION"),
        HomeInput::Climate => graded("GREENHOUSE_CLASSIFICATION"),
        HomeInput::Class => match words::home_class(cell) {
            Some(HomeClass::Flat) => "CLASS_FLAT".into(),
            Some(HomeClass::House) => "CLASS_HOUSE".into(),
            None => cell.to_owned(),
        },
        _ => cell.to_owned(),
    }
}
