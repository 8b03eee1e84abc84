//! Reads a request against a table, in document order, up to the first fault.
//!
//! A missing required field is reported at the end of its object, in the order of the table. A null stands for an
//! absent optional field, in every body and at every depth, because many clients send null for fields that they do not
//! set. Only [`is_absent`] and [`given`] decide that.

use std::sync::Arc;

use serde_json::Value;
use uuid::Uuid;

use super::values::{Taken, Values};
use super::{Field, FieldKind, ListOf, names};
use crate::dates::{DATE_RULE, DateOrInstant};
use crate::distances::{DISTANCE_RULE, parse_metres};
use crate::fault::Fault;
use crate::filter::LayerTest;
use crate::walk::{JsonPath, flag, list, number, number_between, object, one_of, text, word_of};
use toise_geo::area::Area;
use toise_geo::code_hints::{PlaceCode, hint};

/// Keys under which a town may be named by mistake; records of open data have the first two.
const TOWN_KEYS: [&str; 6] = [
    "city",
    "nom_commune_ban",
    "commune",
    "nom_commune",
    "town",
    "ville",
];
/// The rule for an identifier.
const UUID_RULE: &str = "must be a UUID";
/// The message for an area that is a text: before this, names of stored areas were replaced by their polygons.
const AREA_NAME_RULE: &str =
    "must be GeoJSON or the name of a stored area; there is none with this name";

/// The message for an isochrone in a request that takes none.
const ISOCHRONE_RULE: &str =
    "isochrones cannot be used here: give the polygon that GET /v2/protected/isochrones returns";

/// Reads an object.
///
/// # Errors
/// The first fault in document order; a missing required field is reported at the end of its object.
pub fn read<'v>(
    value: &'v Value,
    table: &'static [Field],
    at: JsonPath<'_>,
) -> Result<Values<'v>, Fault> {
    walk(value, table, Missing::Fault, at)
}

/// Reads an object in which required fields may be absent, also in nested objects, because the caller checks later
/// which ones are missing. A null in their place is a fault.
///
/// # Errors
/// The first fault in document order.
pub fn read_part<'v>(
    value: &'v Value,
    table: &'static [Field],
    at: JsonPath<'_>,
) -> Result<Values<'v>, Fault> {
    walk(value, table, Missing::FoundLater, at)
}

/// Reads the fields that change in a record; those that are absent or null stay as they are.
///
/// # Errors
/// The first fault in document order.
pub fn read_change<'v>(
    value: &'v Value,
    table: &'static [Field],
    at: JsonPath<'_>,
) -> Result<Values<'v>, Fault> {
    walk(value, table, Missing::Unchanged, at)
}

/// Reads a query string.
///
/// # Errors
/// The first fault in the order of the query; missing required parameters are reported last.
pub fn read_query<'v, K: AsRef<str>, V: AsRef<str>>(
    query: &'v [(K, V)],
    table: &'static [Field],
) -> Result<Values<'v>, Fault> {
    let at = JsonPath::Body;
    let mut values = Values::with_capacity(query.len());
    for (name, value) in query {
        let here = JsonPath::Key(&at, name.as_ref());
        let Some(field) = table.iter().find(|field| field.name == name.as_ref()) else {
            let known: Vec<&str> = names(table).collect();
            let known = known.join(", ");
            return Err(here.fault(format!("unknown parameter; must be one of: {known}")));
        };
        values.push(field, of_text(value.as_ref(), field.kind, here)?);
    }
    refuse_missing(&values, table, at)?;
    Ok(values)
}

/// The treatment of a missing required field.
#[derive(Clone, Copy, PartialEq)]
enum Missing {
    Fault,
    FoundLater,
    Unchanged,
}

fn walk<'v>(
    value: &'v Value,
    table: &'static [Field],
    missing: Missing,
    at: JsonPath<'_>,
) -> Result<Values<'v>, Fault> {
    let fields = object(value, at)?;
    let mut values = Values::with_capacity(fields.len());
    for (key, value) in fields {
        let Some(field) = table.iter().find(|field| field.name == key) else {
            let fault = at.unknown_key(key, names(table));
            return Err(with_code(fault, key, value, table));
        };
        if is_absent(value, field, missing) {
            continue;
        }
        values.push(
            field,
            taken(value, field.kind, missing, JsonPath::Key(&at, key))?,
        );
    }
    if missing == Missing::Fault {
        refuse_missing(&values, table, at)?;
    }
    Ok(values)
}

/// Returns whether a null stands for an absent field: for any field in a change, otherwise for optional fields.
fn is_absent(value: &Value, field: &Field, missing: Missing) -> bool {
    let means_itself = matches!(field.kind, FieldKind::IntegerOrNull(..));
    let is_optional = !field.is_required || missing == Missing::Unchanged;
    value.is_null() && is_optional && !means_itself
}

/// Iterates over the fields of an object that has no table, without those that are null. An unknown key is returned as
/// a fault at its place, so that the caller reports faults in document order.
///
/// # Errors
/// The value is not an object.
pub fn given<'v>(
    value: &'v Value,
    known: &[&'static str],
    at: JsonPath<'_>,
) -> Result<impl Iterator<Item = Result<(&'v str, &'v Value), Fault>>, Fault> {
    let fields = object(value, at)?.iter();
    Ok(fields.filter_map(move |(key, value)| {
        if !known.contains(&key.as_str()) {
            return Some(Err(at.unknown_key(key, known.iter().copied())));
        }
        (!value.is_null()).then_some(Ok((key.as_str(), value)))
    }))
}

/// Adds the INSEE code of a town to the fault, if an unknown key names the town and the table has fields for codes.
fn with_code(fault: Fault, key: &str, value: &Value, table: &'static [Field]) -> Fault {
    let asks_for_codes = || {
        let mut kinds = table.iter().map(|field| field.kind);
        kinds.any(|kind| matches!(kind, FieldKind::Code(_)))
    };
    let hint = value
        .as_str()
        .filter(|_| TOWN_KEYS.contains(&key) && asks_for_codes())
        .and_then(|text| hint(text, PlaceCode::Insee));
    match hint {
        Some(hint) => Fault::new(fault.path, format!("{}; {hint}", fault.message)),
        None => fault,
    }
}

fn refuse_missing(values: &Values<'_>, table: &[Field], at: JsonPath<'_>) -> Result<(), Fault> {
    let mut required = table.iter().filter(|field| field.is_required);
    match required.find(|field| values.get(field.name).is_none()) {
        Some(field) => Err(JsonPath::Key(&at, field.name).fault("is required")),
        None => Ok(()),
    }
}

/// Reads the value of one field.
///
/// # Errors
/// The first fault in document order.
pub fn read_value<'v>(
    value: &'v Value,
    kind: FieldKind,
    at: JsonPath<'_>,
) -> Result<Taken<'v>, Fault> {
    taken(value, kind, Missing::Fault, at)
}

fn taken<'v>(
    value: &'v Value,
    kind: FieldKind,
    missing: Missing,
    at: JsonPath<'_>,
) -> Result<Taken<'v>, Fault> {
    match kind {
        FieldKind::Number => number(value, at).map(Taken::Number),
        FieldKind::Between(least, greatest) => {
            number_between(value, least, greatest, false, at).map(Taken::Number)
        }
        FieldKind::Integer(least, greatest) => {
            number_between(value, least as f64, greatest as f64, true, at).map(Taken::Number)
        }
        FieldKind::IntegerOrNull(..) if value.is_null() => Ok(Taken::Null),
        FieldKind::IntegerOrNull(least, greatest) => {
            taken(value, FieldKind::Integer(least, greatest), missing, at).map_err(|fault| {
                Fault::new(fault.path, format!("{}, or null for none", fault.message))
            })
        }
        FieldKind::Flag => flag(value, at).map(Taken::Flag),
        FieldKind::OneOf(allowed) => one_of(value, allowed, at).map(Taken::Word),
        FieldKind::AnyOf(allowed) => items(value, at, |item, at| {
            one_of(item, allowed, at).map(Taken::Word)
        }),
        FieldKind::Enum(enumeration) => {
            let word = value.as_str().and_then(|text| enumeration.value(text));
            word.map(Taken::Word).ok_or_else(|| {
                at.fault(format!("must be one of: {}", enumeration.values.join(", ")))
            })
        }
        FieldKind::Moment => moment(value, at).map(Taken::Moment),
        FieldKind::Range => range(value, at),
        FieldKind::Dates => dates(value, at),
        FieldKind::Place => place(value, at),
        FieldKind::Area => area(value, at).map(Taken::Area),
        FieldKind::Layer => LayerTest::read(value, at).map(Taken::Layer),
        FieldKind::List(of) => {
            bounded(list(value, at)?.len(), of, at)?;
            items(value, at, |item, at| taken(item, of.item, missing, at))
        }
        FieldKind::Object(table) | FieldKind::Model(_, table) => {
            walk(value, table, missing, at).map(Taken::Object)
        }
        FieldKind::Pair(fields) => pair(value, fields, at),
        FieldKind::Free(bytes_max) => {
            object(value, at)?;
            refuse_long(value, bytes_max, at)?;
            Ok(Taken::Json(value))
        }
        FieldKind::Later(_) => Ok(Taken::Json(value)),
        FieldKind::Own(own) => (own.read)(value, at),
        FieldKind::Text
        | FieldKind::TextUpTo(_)
        | FieldKind::Words(_)
        | FieldKind::Named(_)
        | FieldKind::Code(_)
        | FieldKind::Address(_)
        | FieldKind::Uuid => of_text(text(value, at)?, kind, at),
    }
}

/// Reads a text: a string in a body, or a query parameter of any kind.
fn of_text<'v>(text: &'v str, kind: FieldKind, at: JsonPath<'_>) -> Result<Taken<'v>, Fault> {
    let refuse = |rule: String| Err(at.fault(rule));
    let length = || text.chars().count();
    match kind {
        FieldKind::TextUpTo(most) if length() > most => {
            refuse(format!("must not exceed {most} characters"))
        }
        FieldKind::Words(most) if text.trim().is_empty() || length() > most => {
            refuse(format!("must hold 1 to {most} characters, not only spaces"))
        }
        FieldKind::Named(naming) if !(naming.is)(text) => refuse(naming.rule.to_owned()),
        FieldKind::Code(code) => match (code.refusal)(text) {
            Some(refusal) => refuse(refusal),
            None => Ok(Taken::Text(text)),
        },
        FieldKind::Uuid => Uuid::try_parse(text)
            .map(Taken::Uuid)
            .map_err(|_| at.fault(UUID_RULE)),
        FieldKind::OneOf(allowed) => match word_of(text, allowed) {
            Some(word) => Ok(Taken::Word(word)),
            None => refuse(format!("must be one of: {}", allowed.join(", "))),
        },
        FieldKind::Moment => DateOrInstant::parse(text)
            .map(Taken::Moment)
            .ok_or_else(|| at.fault(DATE_RULE)),
        FieldKind::Integer(least, greatest) => {
            let number = text.parse::<i64>().ok();
            match number.filter(|number| (least..=greatest).contains(number)) {
                Some(number) => Ok(Taken::Number(number as f64)),
                None => refuse(format!("must be an integer between {least} and {greatest}")),
            }
        }
        _ => Ok(Taken::Text(text)),
    }
}

fn bounded(length: usize, of: &ListOf, at: JsonPath<'_>) -> Result<(), Fault> {
    let least = of.least;
    let rule = match of.most {
        _ if length >= least && of.most.is_none_or(|most| length <= most) => return Ok(()),
        Some(most) if least == 0 => format!("must hold at most {most} items"),
        Some(most) => format!("must hold {least} to {most} items"),
        None if least == 1 => "must hold at least one item".to_owned(),
        None => format!("must hold at least {least} items"),
    };
    Err(at.fault(rule))
}

fn items<'v>(
    value: &'v Value,
    at: JsonPath<'_>,
    read: impl Fn(&'v Value, JsonPath<'_>) -> Result<Taken<'v>, Fault>,
) -> Result<Taken<'v>, Fault> {
    let items = list(value, at)?.iter().enumerate();
    let items = items.map(|(index, item)| read(item, JsonPath::Index(&at, index)));
    items.collect::<Result<_, _>>().map(Taken::List)
}

fn pair<'v>(value: &'v Value, fields: &[Field; 2], at: JsonPath<'_>) -> Result<Taken<'v>, Fault> {
    let given = list(value, at)?;
    let [first, second] = fields;
    if given.len() != fields.len() {
        let rule = format!("must be two numbers: {}, {}", first.name, second.name);
        return Err(at.fault(rule));
    }
    let given = given.iter().zip(fields).enumerate();
    let read = given.map(|(index, (value, field))| {
        taken(
            value,
            field.kind,
            Missing::Fault,
            JsonPath::Index(&at, index),
        )
    });
    read.collect::<Result<_, _>>().map(Taken::List)
}

/// Rejects a value whose JSON text is longer than `bytes_max`.
///
/// # Errors
/// The text is longer.
pub fn refuse_long(value: &Value, bytes_max: usize, at: JsonPath<'_>) -> Result<(), Fault> {
    // Serialising a JSON value does not fail.
    let bytes = serde_json::to_vec(value).map_or(usize::MAX, |text| text.len());
    if bytes > bytes_max {
        Err(at.fault(format!("must not exceed {bytes_max} bytes of JSON")))
    } else {
        Ok(())
    }
}

/// Reads the two bounds of a range, each with `read`.
pub fn bounds<T: Copy>(
    value: &Value,
    [least, greatest]: [&'static str; 2],
    at: JsonPath<'_>,
    read: impl Fn(&Value, JsonPath<'_>) -> Result<T, Fault>,
) -> Result<(Option<T>, Option<T>), Fault> {
    let (mut min, mut max) = (None, None);
    for field in given(value, &[least, greatest], at)? {
        let (key, value) = field?;
        let bound = if key == least { &mut min } else { &mut max };
        *bound = Some(read(value, JsonPath::Key(&at, key))?);
    }
    Ok((min, max))
}

/// Reads a date or date-time.
///
/// # Errors
/// The value is not a date or date-time.
pub fn moment(value: &Value, at: JsonPath<'_>) -> Result<DateOrInstant, Fault> {
    let moment = value.as_str().and_then(DateOrInstant::parse);
    moment.ok_or_else(|| at.fault(DATE_RULE))
}

fn range(value: &Value, at: JsonPath<'_>) -> Result<Taken<'static>, Fault> {
    match bounds(value, ["min", "max"], at, number)? {
        (Some(least), Some(greatest)) if least > greatest => {
            Err(JsonPath::Key(&at, "min").fault("must not be above max"))
        }
        (min, max) => Ok(Taken::Range { min, max }),
    }
}

fn dates(value: &Value, at: JsonPath<'_>) -> Result<Taken<'static>, Fault> {
    match bounds(value, ["from", "to"], at, moment)? {
        (Some(first), Some(last)) if first.is_after(last) => {
            Err(JsonPath::Key(&at, "from").fault("must not be after to"))
        }
        (from, to) => Ok(Taken::Dates { from, to }),
    }
}

/// Reads a GeoJSON Polygon or MultiPolygon.
///
/// # Errors
/// The value is not a valid area; the fault is at the faulty vertex.
pub fn area(value: &Value, at: JsonPath<'_>) -> Result<Arc<Area>, Fault> {
    if value.is_string() {
        return Err(at.fault(AREA_NAME_RULE));
    }
    // Requests that take isochrones have polygons in their place by now.
    if value.get("isochrone").is_some() {
        return Err(at.fault(ISOCHRONE_RULE));
    }
    Area::from_geojson(value).map(Arc::new).map_err(|fault| {
        if fault.path.is_empty() {
            at.fault(fault.rule)
        } else {
            JsonPath::Key(&at, &fault.path).fault(fault.rule)
        }
    })
}

fn place(value: &Value, at: JsonPath<'_>) -> Result<Taken<'static>, Fault> {
    let (mut lat, mut lon, mut radius_m) = (None, None, None);
    for (key, value) in object(value, at)? {
        let here = JsonPath::Key(&at, key);
        match key.as_str() {
            "lat" => lat = Some(number_between(value, -90.0, 90.0, false, here)?),
            "lon" => lon = Some(number_between(value, -180.0, 180.0, false, here)?),
            "distance" => {
                let metres = value.as_str().and_then(parse_metres);
                radius_m = Some(metres.ok_or_else(|| here.fault(DISTANCE_RULE))?);
            }
            _ => return Err(at.unknown_key(key, ["lat", "lon", "distance"])),
        }
    }
    let missing = |key| JsonPath::Key(&at, key).fault("is required");
    Ok(Taken::Place {
        lat: lat.ok_or_else(|| missing("lat"))?,
        lon: lon.ok_or_else(|| missing("lon"))?,
        radius_m: radius_m.ok_or_else(|| missing("distance"))?,
    })
}
