//! Parsers of the values of arguments.

use toise_contract::dates::{DATE_RULE, DateOrInstant};
use toise_contract::listings::codes::FlxId;

/// Parses an identifier.
pub(super) fn id(text: &str) -> Result<FlxId, String> {
    FlxId::parse(text).ok_or_else(|| "expected a UUID".into())
}

/// Parses a day or a time.
pub(super) fn moment(text: &str) -> Result<DateOrInstant, String> {
    DateOrInstant::parse(text).ok_or_else(|| DATE_RULE.into())
}

/// Parses `LAT,LON`.
pub(super) fn position(text: &str) -> Result<(f64, f64), String> {
    let read = |text: &str| text.trim().parse::<f64>().ok();
    let parts = text.split_once(',');
    let position = parts.and_then(|(lat, lon)| Some((read(lat)?, read(lon)?)));
    position.ok_or_else(|| "expected LAT,LON, such as 48.8566,2.3522".into())
}

/// Parses `FIELD=COLUMN` into the column and the field.
pub(super) fn rename(text: &str) -> Result<(String, String), String> {
    let (field, column) = pair(text, "expected FIELD=COLUMN")?;
    Ok((column, field))
}

/// Parses `COLUMN=VALUE`.
pub(super) fn characteristic(text: &str) -> Result<(String, String), String> {
    pair(text, "expected COLUMN=VALUE, such as has_lift=yes")
}

/// Parses the two sides of an equals sign. `expected` is the error without one.
fn pair(text: &str, expected: &str) -> Result<(String, String), String> {
    let sides = text.split_once('=').ok_or(expected)?;
    Ok((sides.0.trim().to_owned(), sides.1.trim().to_owned()))
}
