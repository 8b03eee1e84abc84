//! A field of the advert that a rule fills: its path and its type.
//!
//! The type is found by probing the wire type itself, so there is no second list of fields and types here.

use serde_json::{Map, Value, json};

use crate::fault::Fault;
use crate::listings::Advert;
use crate::read::read;

/// Maximum index of an item in a field's path.
const INDEX_MAX: usize = 99;

/// One step of a field's path.
#[derive(Clone, Debug, PartialEq, Eq)]
enum FieldStep {
    Field(String),
    Item(usize),
}

/// Type of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdvertFieldKind {
    /// A text, a code or a value of an enumeration.
    Text,
    /// A number.
    Number,
    /// Yes or no.
    Flag,
    /// A timestamp.
    Date,
    /// A list.
    List,
    /// A pair of longitude and latitude.
    Position,
}

/// A field of the advert.
#[derive(Clone, Debug)]
pub struct AdvertField {
    /// Its path, such as `habitation.surface.total` or `location.locationCoordinate.location[0]`.
    pub name: String,
    /// Its type.
    pub kind: AdvertFieldKind,
    steps: Vec<FieldStep>,
}

impl AdvertField {
    /// Finds the field with a path, and its type.
    ///
    /// # Errors
    /// There is no such field; the fault lists the existing ones.
    pub fn parse(name: &str) -> Result<Self, Fault> {
        let mut field = Self {
            name: name.to_owned(),
            kind: AdvertFieldKind::Text,
            steps: steps(name)?,
        };
        let mut fault = Fault::new(name, "no such field");
        for (kind, probe) in [
            (AdvertFieldKind::Number, json!(1)),
            (AdvertFieldKind::Flag, json!(true)),
            (AdvertFieldKind::Position, json!([2.5, 48.5])),
            (AdvertFieldKind::List, json!([])),
            (AdvertFieldKind::Text, json!("")),
            (AdvertFieldKind::Date, json!("2026-11-21")),
        ] {
            match field.check(&probe) {
                Ok(()) => {
                    field.kind = kind;
                    return Ok(field);
                }
                Err(refused) => fault = refused,
            }
        }
        // A fault of the value itself: it takes a specific form of text, a code or a value of an enumeration.
        if fault.path == name && !fault.message.contains("unknown field") {
            Ok(field)
        } else {
            Err(fault)
        }
    }

    /// Returns whether the contract's advert accepts a value at the field. Takes one or two microseconds.
    pub fn fits(&self, value: &Value) -> bool {
        self.check(value).is_ok()
    }

    fn check(&self, value: &Value) -> Result<(), Fault> {
        let mut record = Value::Object(Map::new());
        put_at(&mut record, &self.steps, value.clone());
        // If the path ends in a list item, the other items must be valid too.
        if let [outer @ .., FieldStep::Item(_)] = self.steps.as_slice()
            && let Some(Value::Array(items)) = value_at(&mut record, outer)
        {
            items.resize(items.len().max(2), value.clone());
            items.fill(value.clone());
        }
        read::<Advert>(&record).map(drop)
    }

    /// Returns whether an advert has the field, even if its value is null.
    pub fn is_in(&self, advert: &Value) -> bool {
        self.value_in(advert).is_some()
    }

    /// Returns the field's value in an advert.
    pub fn value_in<'a>(&self, advert: &'a Value) -> Option<&'a Value> {
        let mut steps = self.steps.iter();
        steps.try_fold(advert, |value, step| match step {
            FieldStep::Field(name) => value.get(name),
            FieldStep::Item(index) => value.get(index),
        })
    }

    /// Sets the field of an advert, creating the objects and arrays on the way.
    pub fn put(&self, advert: &mut Value, value: Value) {
        put_at(advert, &self.steps, value);
    }
}

fn steps(name: &str) -> Result<Vec<FieldStep>, Fault> {
    let mut path = Vec::new();
    for part in name.split('.') {
        let mut pieces = part.split('[');
        let key = pieces.next().unwrap_or_default();
        path.push(FieldStep::Field(key.to_owned()));
        for piece in pieces {
            let index = piece
                .strip_suffix(']')
                .and_then(|digits| digits.parse().ok());
            let index = index.filter(|index| *index <= INDEX_MAX);
            path.push(FieldStep::Item(
                index.ok_or_else(|| Fault::new(name, "no such field"))?,
            ));
        }
    }
    Ok(path)
}

fn value_at<'v>(record: &'v mut Value, path: &[FieldStep]) -> Option<&'v mut Value> {
    path.iter().try_fold(record, |value, step| match step {
        FieldStep::Field(name) => value.get_mut(name),
        FieldStep::Item(index) => value.get_mut(index),
    })
}

fn put_at(record: &mut Value, path: &[FieldStep], value: Value) {
    let mut here = record;
    for step in path {
        match step {
            FieldStep::Field(name) => {
                if !here.is_object() {
                    *here = Value::Object(Map::new());
                }
                here = &mut here[name.as_str()];
            }
            FieldStep::Item(index) => {
                if !here.is_array() {
                    *here = Value::Array(Vec::new());
                }
                let Value::Array(items) = here else {
                    return;
                };
                if items.len() <= *index {
                    items.resize(index + 1, Value::Null);
                }
                here = &mut items[*index];
            }
        }
    }
    *here = value;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_type_of_a_field_is_that_of_the_contract() {
        for (name, kind) in [
            ("title", AdvertFieldKind::Text),
            ("type", AdvertFieldKind::Text),
            ("location.postalCode", AdvertFieldKind::Text),
            ("habitation.surface.total", AdvertFieldKind::Number),
            ("habitation.roomCount", AdvertFieldKind::Number),
            ("isPro", AdvertFieldKind::Flag),
            ("tags", AdvertFieldKind::List),
            ("habitation.heatings", AdvertFieldKind::List),
            ("lastSeenAt", AdvertFieldKind::Date),
            (
                "location.locationCoordinate.location",
                AdvertFieldKind::Position,
            ),
            (
                "location.locationCoordinate.location[0]",
                AdvertFieldKind::Number,
            ),
        ] {
            assert_eq!(AdvertField::parse(name).unwrap().kind, kind, "{name}");
        }
        let fault = AdvertField::parse("currentPrice.amount")
            .unwrap_err()
            .to_string();
        assert!(
            fault.contains("unknown field; must be one of: value"),
            "{fault}"
        );
        for name in ["tags[x]", "title.x", ""] {
            assert!(AdvertField::parse(name).is_err(), "{name}");
        }
    }
}
