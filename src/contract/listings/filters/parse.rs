//! Parses a filter in document order up to its first fault, and translates it to the engine's filter.
//!
//! Fields are combined with AND, entries of a list with OR. An empty list, a range without bounds and an object without
//! keys produce no clause. An entry without keys matches everything, so its whole list produces no clause. An entry
//! that gives only the name of a town is refused, because names are not searched and it would match everything too.

use serde_json::Value;

use super::model::{CodeType, FieldSubset, FieldType, FilterModel, ModelField};
use super::place::lat_lng;
use crate::dates::DateOrInstant;
use crate::enums::Enumeration;
use crate::fault::Fault;
use crate::fields::{bounds, given, moment};
use crate::filter::{Clause, ClauseTest, Filter};
use crate::listings::scalars::Year;
use crate::read::read;
use crate::walk::{JsonPath, flag, list, number, object, text};
use toise_geo::code_hints::{PlaceCode, hint};

/// Maximum items in a list of a filter.
pub const ITEMS_MAX: usize = 1_000;
/// Maximum length of a text of a filter, in characters.
pub const TEXT_CHARS_MAX: usize = 2_048;

/// Parses an object of a filter; the columns of its fields are prefixed with `outer`.
pub(super) fn model(
    value: &Value,
    model: &'static FilterModel,
    part: FieldSubset,
    outer: &str,
    at: JsonPath<'_>,
) -> Result<Filter, Fault> {
    let mut filter = Filter::new();
    let mut town = None;
    for (key, value) in object(value, at)? {
        let Some(field) = part.fields(model).find(|field| field.key == key) else {
            return Err(at.unknown_key(key, part.fields(model).map(|field| field.key)));
        };
        // Some clients send null for fields that they do not set.
        if value.is_null() {
            continue;
        }
        if matches!(field.takes, FieldType::TownName) {
            town = Some((key, value));
        }
        let inner = field.part(part);
        filter.extend(read_field(
            value,
            field,
            inner,
            outer,
            JsonPath::Key(&at, key),
        )?);
    }
    match town {
        Some((key, name)) if filter.is_empty() => {
            Err(town_only_fault(name, JsonPath::Key(&at, key)))
        }
        _ => Ok(filter),
    }
}

/// Creates the fault for a place that is given only by the name of a town, with the code of the town if it is known.
fn town_only_fault(name: &Value, at: JsonPath<'_>) -> Fault {
    let code = name.as_str().and_then(|name| hint(name, PlaceCode::Insee));
    let code = code.map_or_else(String::new, |code| format!("; {code}"));
    at.fault(format!(
        "is not searched, and nothing else is given: use inseeCode{code}"
    ))
}

/// Parses the value of a field.
fn read_field(
    value: &Value,
    field: &'static ModelField,
    part: FieldSubset,
    outer: &str,
    at: JsonPath<'_>,
) -> Result<Filter, Fault> {
    let column = field.column(outer);
    let test = match field.takes {
        FieldType::Flag => Some(ClauseTest::Is(flag(value, at)?)),
        FieldType::Range => range(value, at)?,
        FieldType::Moments => moments(value, at)?,
        FieldType::AnyMoments => {
            return any(value, at, |entry, at| {
                let test = moments(entry, at)?;
                Ok(clauses(&column, test))
            });
        }
        FieldType::Year => {
            let year = read::<Year>(value).map_err(|fault| at.fault(fault.message))?;
            let year = Some(year.get());
            Some(ClauseTest::Number {
                min: year,
                max: year,
            })
        }
        FieldType::OneOf(enumeration) => Some(ClauseTest::OneOf(vec![
            value_of(value, enumeration, at)?.to_owned(),
        ])),
        FieldType::AnyOf(enumeration) => any_of(value, at, |item, at| {
            Ok(value_of(item, enumeration, at)?.to_owned())
        })?,
        FieldType::Text => Some(ClauseTest::OneOf(vec![bounded_text(value, at)?])),
        FieldType::AnyText => any_of(value, at, bounded_text)?,
        FieldType::Code(code) => Some(ClauseTest::OneOf((code.within)(&code_of(value, code, at)?))),
        FieldType::AnyCode(code) => any_of(value, at, |item, at| code_of(item, code, at))?,
        FieldType::Model(inner) => return model(value, inner, part, &column, at),
        FieldType::AnyModel(inner) => {
            return any(value, at, |entry, at| {
                model(entry, inner, part, &column, at)
            });
        }
        FieldType::SomeItem(inner) => {
            return any(value, at, |entry, at| {
                let filter = model(entry, inner, part, "", at)?;
                let test = (!filter.is_empty()).then_some(ClauseTest::SomeItem(filter));
                Ok(clauses(&column, test))
            });
        }
        FieldType::LatLng(position) => return lat_lng(value, position, at),
        FieldType::Point(position) => return point(value, position, at),
        FieldType::TownName => None,
    };
    Ok(clauses(&column, test))
}

fn clauses(column: &str, test: Option<ClauseTest>) -> Filter {
    let clause = test.map(|test| Clause::new(column.to_owned(), test));
    clause.into_iter().collect()
}

/// Parses the items of a list, each with its path.
fn items<T>(
    value: &Value,
    at: JsonPath<'_>,
    read: impl Fn(&Value, JsonPath<'_>) -> Result<T, Fault>,
) -> Result<Vec<T>, Fault> {
    let items = list(value, at)?;
    if items.len() > ITEMS_MAX {
        return Err(at.fault(format!("must hold at most {ITEMS_MAX} items")));
    }
    let items = items.iter().enumerate();
    items
        .map(|(index, item)| read(item, JsonPath::Index(&at, index)))
        .collect()
}

/// Parses a list of entries; at least one must match.
fn any(
    value: &Value,
    at: JsonPath<'_>,
    read: impl Fn(&Value, JsonPath<'_>) -> Result<Filter, Fault>,
) -> Result<Filter, Fault> {
    Ok(Clause::any(items(value, at, read)?))
}

/// Parses a list of texts; one must equal the record's text.
fn any_of(
    value: &Value,
    at: JsonPath<'_>,
    read: impl Fn(&Value, JsonPath<'_>) -> Result<String, Fault>,
) -> Result<Option<ClauseTest>, Fault> {
    let mut texts = items(value, at, read)?;
    let mut known = std::collections::HashSet::with_capacity(texts.len());
    texts.retain(|text| known.insert(text.clone()));
    Ok((!texts.is_empty()).then_some(ClauseTest::OneOf(texts)))
}

/// Parses a value of an enumeration in any of its spellings and returns its first one.
fn value_of(
    value: &Value,
    enumeration: &'static Enumeration,
    at: JsonPath<'_>,
) -> Result<&'static str, Fault> {
    let found = value.as_str().and_then(|text| enumeration.value(text));
    found.ok_or_else(|| {
        let allowed = enumeration.values.join(", ");
        at.fault(format!("must be one of: {allowed}"))
    })
}

fn bounded_text(value: &Value, at: JsonPath<'_>) -> Result<String, Fault> {
    let text = text(value, at)?;
    if text.chars().count() > TEXT_CHARS_MAX {
        return Err(at.fault(format!("must not exceed {TEXT_CHARS_MAX} characters")));
    }
    Ok(text.to_owned())
}

fn code_of(value: &Value, code: CodeType, at: JsonPath<'_>) -> Result<String, Fault> {
    (code.read)(value).map_err(|fault| at.fault(fault.message))
}

fn range(value: &Value, at: JsonPath<'_>) -> Result<Option<ClauseTest>, Fault> {
    match bounds(value, ["min", "max"], at, number)? {
        (None, None) => Ok(None),
        (Some(least), Some(greatest)) if least > greatest => {
            Err(JsonPath::Key(&at, "min").fault("must not be above max"))
        }
        (min, max) => Ok(Some(ClauseTest::Number { min, max })),
    }
}

fn moments(value: &Value, at: JsonPath<'_>) -> Result<Option<ClauseTest>, Fault> {
    match bounds(value, ["min", "max"], at, moment)? {
        (None, None) => Ok(None),
        (Some(first), Some(last)) if first.is_after(last) => {
            Err(JsonPath::Key(&at, "min").fault("must not be after max"))
        }
        (min, max) => Ok(Some(ClauseTest::Moment {
            from: min.map(DateOrInstant::first_millisecond),
            to: max.map(DateOrInstant::last_millisecond),
        })),
    }
}

/// Parses `{location: …}` around a position.
fn point(value: &Value, position: &'static str, at: JsonPath<'_>) -> Result<Filter, Fault> {
    let mut filter = Filter::new();
    for field in given(value, &["location"], at)? {
        let (key, value) = field?;
        filter.extend(lat_lng(value, position, JsonPath::Key(&at, key))?);
    }
    Ok(filter)
}
