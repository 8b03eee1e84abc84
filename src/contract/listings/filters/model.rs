//! The description of a filter of listings: models of fields, each with its type and the column it constrains.
//!
//! These tables are the only definition of the filters: [`super::parse`] validates with them, the OpenAPI document is
//! generated from them, and [`leaves`] lists the columns they constrain. The column of a field is its path in snake
//! case unless specified otherwise, since table columns are named after the paths of records.

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::enums::Enumeration;
use crate::fault::Fault;
use crate::read::read;

/// An object of a filter; its fields are combined with AND.
#[derive(Debug)]
pub struct FilterModel {
    /// Name in the contract and in the OpenAPI document.
    pub name: &'static str,
    /// Description, for the reference.
    pub about: &'static str,
    /// Fields; other keys are refused.
    pub fields: &'static [ModelField],
}

/// A field of a filter.
#[derive(Debug)]
pub struct ModelField {
    /// Key in the object.
    pub key: &'static str,
    /// Type of value.
    pub takes: FieldType,
    /// Meaning and unit, for the reference.
    pub about: &'static str,
    /// Its component of the column name, if that is not the key in snake case.
    column: Option<&'static str>,
    /// Whether lite searches accept it.
    pub lite: LiteSupport,
}

/// The part of a field that lite searches accept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LiteSupport {
    /// Nothing; the key is refused.
    Nothing,
    /// Only the subfields that are marked themselves.
    Part,
    /// All of it.
    Whole,
}

/// Type of a field. Lists are combined with OR; an empty list and a range without bounds do not constrain.
#[derive(Clone, Copy, Debug)]
pub enum FieldType {
    /// `true` or `false`.
    Flag,
    /// `{min?, max?}` with numbers, both included.
    Range,
    /// `{min?, max?}` with times, both included; a bare date as `max` includes that day.
    Moments,
    /// A list of ranges of times.
    AnyMoments,
    /// A year, compared exactly.
    Year,
    /// One value of an enumeration.
    OneOf(&'static Enumeration),
    /// A list of values of an enumeration.
    AnyOf(&'static Enumeration),
    /// A text, compared exactly.
    Text,
    /// A list of texts, compared exactly.
    AnyText,
    /// A text of a certain format, compared exactly; the codes of Paris, Lyon and Marseille as a whole also match those
    /// of their arrondissements.
    Code(CodeType),
    /// A list of texts of a certain format.
    AnyCode(CodeType),
    /// An object.
    Model(&'static FilterModel),
    /// A list of objects.
    AnyModel(&'static FilterModel),
    /// A list of objects; each one matches if some item of the record's list satisfies all of it.
    SomeItem(&'static FilterModel),
    /// A box or a circle around the position of this name.
    LatLng(&'static str),
    /// An object whose `location` is such a box or circle.
    Point(&'static str),
    /// Name of a town: ignored if its object has other conditions, refused if it is the only one.
    TownName,
}

/// A text whose format is validated by a type of records.
#[derive(Clone, Copy)]
pub struct CodeType {
    /// Name of the type in the OpenAPI document.
    pub name: &'static str,
    /// Parses a text and normalises it as in records.
    pub read: fn(&Value) -> Result<String, Fault>,
    /// Returns the codes of the records that a code finds: itself, and those of the parts of its place.
    pub within: fn(&str) -> Vec<String>,
}

impl CodeType {
    /// Creates the format of a type of records.
    pub const fn of<T: DeserializeOwned + ToString>(name: &'static str) -> Self {
        Self {
            name,
            read: |value| read::<T>(value).map(|code| code.to_string()),
            within: |code| vec![code.to_owned()],
        }
    }

    /// Sets the function that returns the codes of the records that a code finds.
    pub const fn finding(self, within: fn(&str) -> Vec<String>) -> Self {
        Self { within, ..self }
    }
}

impl std::fmt::Debug for CodeType {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.name)
    }
}

pub(super) const fn field(key: &'static str, takes: FieldType, about: &'static str) -> ModelField {
    ModelField {
        key,
        takes,
        about,
        column: None,
        lite: LiteSupport::Nothing,
    }
}

impl ModelField {
    /// Marks the whole field as accepted by lite searches.
    pub(super) const fn lite(self) -> Self {
        Self {
            lite: LiteSupport::Whole,
            ..self
        }
    }

    /// Marks the field as accepted by lite searches with some of its subfields.
    pub(super) const fn partially_lite(self) -> Self {
        Self {
            lite: LiteSupport::Part,
            ..self
        }
    }

    /// Sets its component of the column name; empty for none.
    pub(super) const fn on(self, column: &'static str) -> Self {
        Self {
            column: Some(column),
            ..self
        }
    }

    /// Returns the column it constrains, or the prefix of its subfields' columns; `outer` is prepended.
    pub fn column(&self, outer: &str) -> String {
        let step = match self.column {
            Some(step) => step.to_owned(),
            None => snake_case(self.key),
        };
        match (outer, step.as_str()) {
            ("", _) => step,
            (_, "") => outer.to_owned(),
            _ => format!("{outer}_{step}"),
        }
    }

    /// Returns whether the field is accepted in this part of its model.
    pub(super) fn is_in(&self, part: FieldSubset) -> bool {
        part == FieldSubset::Whole || self.lite != LiteSupport::Nothing
    }

    /// Returns how much of the field's model is accepted in this part of the outer model.
    pub(super) fn part(&self, outer: FieldSubset) -> FieldSubset {
        match (outer, self.lite) {
            (FieldSubset::Lite, LiteSupport::Part | LiteSupport::Nothing) => FieldSubset::Lite,
            _ => FieldSubset::Whole,
        }
    }
}

/// The part of a model that a body accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldSubset {
    /// All fields.
    Whole,
    /// The fields that lite searches accept.
    Lite,
}

impl FieldSubset {
    /// Iterates over the accepted fields of a model.
    pub fn fields(self, model: &'static FilterModel) -> impl Iterator<Item = &'static ModelField> {
        model.fields.iter().filter(move |field| field.is_in(self))
    }
}

/// A leaf of a filter.
#[derive(Clone, Debug)]
pub struct FilterLeaf {
    /// Path of keys from the model; keys of lists end in `[]`.
    pub path: String,
    /// Type of value.
    pub takes: FieldType,
    /// The column it constrains; for a place, its position. Fields of items are prefixed with their list:
    /// `adverts.is_online`.
    pub column: String,
}

/// Lists every leaf of a model, in the order of the tables.
pub fn leaves(model: &'static FilterModel, part: FieldSubset) -> Vec<FilterLeaf> {
    let mut found = Vec::new();
    gather(model, part, "", "", "", &mut found);
    found
}

fn gather(
    model: &'static FilterModel,
    part: FieldSubset,
    path: &str,
    outer: &str,
    list: &str,
    found: &mut Vec<FilterLeaf>,
) {
    for field in part.fields(model) {
        let column = field.column(outer);
        let path = match path {
            "" => field.key.to_owned(),
            _ => format!("{path}.{}", field.key),
        };
        let inner = field.part(part);
        match field.takes {
            FieldType::Model(model) => gather(model, inner, &path, &column, list, found),
            FieldType::AnyModel(model) => {
                gather(model, inner, &format!("{path}[]"), &column, list, found);
            }
            FieldType::SomeItem(model) => {
                gather(
                    model,
                    inner,
                    &format!("{path}[]"),
                    "",
                    &format!("{column}."),
                    found,
                );
            }
            FieldType::TownName => {}
            takes => {
                let column = match takes {
                    FieldType::LatLng(position) | FieldType::Point(position) => position,
                    _ => &column,
                };
                found.push(FilterLeaf {
                    path,
                    takes,
                    column: format!("{list}{column}"),
                });
            }
        }
    }
}

fn snake_case(key: &str) -> String {
    let mut snake = String::with_capacity(key.len() + 4);
    for character in key.chars() {
        if character.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(character.to_ascii_lowercase());
    }
    snake
}
