//! Helpers for walking through a body: the current path, and typed reading of one value.

use std::fmt::Display;

use serde_json::{Map, Value};

use super::fault::Fault;

/// Maximum length of the caller's text that a message repeats, in characters.
const ECHO_CHARS_MAX: usize = 60;

/// The current path: a chain of borrowed steps, formatted only when there is a fault.
#[derive(Clone, Copy)]
pub enum JsonPath<'a> {
    /// The body.
    Body,
    /// A key of an object.
    Key(&'a JsonPath<'a>, &'a str),
    /// An element of a list.
    Index(&'a JsonPath<'a>, usize),
}

impl JsonPath<'_> {
    fn write(&self, path: &mut String) {
        match self {
            JsonPath::Body => {}
            JsonPath::Key(outer, key) => {
                outer.write(path);
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(&echo(key));
            }
            JsonPath::Index(outer, index) => {
                outer.write(path);
                path.push_str(&format!("[{index}]"));
            }
        }
    }

    /// Creates a fault at this path.
    pub fn fault(&self, message: impl Display) -> Fault {
        let mut path = String::new();
        self.write(&mut path);
        Fault::new(path, message.to_string())
    }

    /// Creates the fault for an unknown key of the object at this path.
    pub fn unknown_key<'k>(&self, key: &str, known: impl IntoIterator<Item = &'k str>) -> Fault {
        let known: Vec<&str> = known.into_iter().collect();
        JsonPath::Key(self, key).fault(format!(
            "unknown field; must be one of: {}",
            known.join(", ")
        ))
    }
}

/// Shortens the caller's text and removes control characters, so that a message may repeat it.
pub fn echo(text: &str) -> String {
    text.chars()
        .filter(|character| !character.is_control())
        .take(ECHO_CHARS_MAX)
        .collect()
}

/// Reads a value as an object.
///
/// # Errors
/// The value has another type.
pub fn object<'v>(value: &'v Value, at: JsonPath<'_>) -> Result<&'v Map<String, Value>, Fault> {
    value
        .as_object()
        .ok_or_else(|| at.fault("must be an object"))
}

/// Reads a value as an array.
///
/// # Errors
/// The value has another type.
pub fn list<'v>(value: &'v Value, at: JsonPath<'_>) -> Result<&'v Vec<Value>, Fault> {
    value.as_array().ok_or_else(|| at.fault("must be an array"))
}

/// Reads a value as a string.
///
/// # Errors
/// The value has another type.
pub fn text<'v>(value: &'v Value, at: JsonPath<'_>) -> Result<&'v str, Fault> {
    value.as_str().ok_or_else(|| at.fault("must be a string"))
}

/// Reads `true` or `false`.
///
/// # Errors
/// The value has another type.
pub fn flag(value: &Value, at: JsonPath<'_>) -> Result<bool, Fault> {
    value
        .as_bool()
        .ok_or_else(|| at.fault("must be true or false"))
}

/// Reads a finite number.
///
/// # Errors
/// The value has another type.
pub fn number(value: &Value, at: JsonPath<'_>) -> Result<f64, Fault> {
    value
        .as_f64()
        .filter(|number| number.is_finite())
        .ok_or_else(|| at.fault("must be a number"))
}

/// Reads a number between two bounds, both included; `whole` requires an integer.
///
/// # Errors
/// The value has another type or is out of bounds.
pub fn number_between(
    value: &Value,
    least: f64,
    greatest: f64,
    whole: bool,
    at: JsonPath<'_>,
) -> Result<f64, Fault> {
    let kind = if whole { "an integer" } else { "a number" };
    value
        .as_f64()
        .filter(|number| (least..=greatest).contains(number))
        .filter(|number| !whole || number.fract() == 0.0)
        .ok_or_else(|| at.fault(format!("must be {kind} between {least} and {greatest}")))
}

/// The directions of a sorted list; they are also read in capitals.
const ORDERS: [&str; 2] = ["asc", "desc"];

/// Returns the word of a closed set that equals a text; `asc` and `desc` in either case.
pub fn word_of(text: &str, allowed: &[&'static str]) -> Option<&'static str> {
    let is_in_capitals = |known: &str| {
        allowed == ORDERS
            && text.eq_ignore_ascii_case(known)
            && text.bytes().all(|letter| letter.is_ascii_uppercase())
    };
    let mut known = allowed.iter().copied();
    known.find(|known| *known == text || is_in_capitals(known))
}

/// Reads one of a closed set of strings.
///
/// # Errors
/// The value is not in the set.
pub fn one_of(
    value: &Value,
    allowed: &[&'static str],
    at: JsonPath<'_>,
) -> Result<&'static str, Fault> {
    value
        .as_str()
        .and_then(|text| word_of(text, allowed))
        .ok_or_else(|| at.fault(format!("must be one of: {}", allowed.join(", "))))
}
/// Parses `{lat, lon}` to latitude and longitude.
pub fn degrees(value: &Value, at: JsonPath<'_>) -> Result<(f64, f64), Fault> {
    let (mut lat, mut lon) = (None, None);
    for (key, value) in object(value, at)? {
        let here = JsonPath::Key(&at, key);
        match key.as_str() {
            "lat" => lat = Some(number_between(value, -90.0, 90.0, false, here)?),
            "lon" => lon = Some(number_between(value, -180.0, 180.0, false, here)?),
            _ => return Err(at.unknown_key(key, ["lat", "lon"])),
        }
    }
    let missing = |key| JsonPath::Key(&at, key).fault("is required");
    Ok((
        lat.ok_or_else(|| missing("lat"))?,
        lon.ok_or_else(|| missing("lon"))?,
    ))
}
