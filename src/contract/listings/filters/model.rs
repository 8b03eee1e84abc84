//! How a filter of listings is stated: models of fields, each with what it takes and the column it constrains.
//!
//! The tables made of these are the only statement of the filters: [`super::parse`] validates with them, the OpenAPI
//! document is written from them, and [`leaves`] lists what they constrain. A field's column is its path in snake case
//! unless it says otherwise, as the columns of the tables are named after the paths of records.

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::enums::Enumeration;
use crate::fault::Fault;
use crate::read::read;

/// An object of a filter: its fields are combined with AND.
#[derive(Debug)]
pub struct Model {
    /// Name in the contract and in the OpenAPI document.
    pub name: &'static str,
    /// What it constrains, for the reference.
    pub about: &'static str,
    /// Its fields; other keys are refused.
    pub fields: &'static [Field],
}

/// A field of a filter.
#[derive(Debug)]
pub struct Field {
    /// Key in the object.
    pub key: &'static str,
    /// What it takes.
    pub takes: Takes,
    /// Meaning and unit, for the reference.
    pub about: &'static str,
    /// Its step of the column's name, where that is not the key in snake case.
    column: Option<&'static str>,
    /// Whether lite searches take it.
    pub lite: Lite,
}

/// What of a field lite searches take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lite {
    /// Nothing: they refuse the key.
    Nothing,
    /// Those of its fields that say so themselves.
    Part,
    /// All of it.
    Whole,
}

/// What a field takes. Lists are combined with OR; an empty list and a range without bounds do not constrain.
#[derive(Clone, Copy, Debug)]
pub enum Takes {
    /// `true` or `false`.
    Flag,
    /// `{min?, max?}`: numbers, both included.
    Range,
    /// `{min?, max?}`: moments, both included; a bare date as `max` includes that day.
    Moments,
    /// A list of ranges of moments.
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
    /// A text of a certain form, compared exactly.
    Code(Code),
    /// A list of texts of a certain form.
    AnyCode(Code),
    /// An object.
    Model(&'static Model),
    /// A list of objects.
    AnyModel(&'static Model),
    /// A list of objects, each of which asks for one item of a list that fulfils all of it.
    SomeItem(&'static Model),
    /// A box or a circle around the position of this name.
    LatLng(&'static str),
    /// An object with a `location` that is such a box or circle.
    Point(&'static str),
    /// Whatever it holds is ignored.
    Ignored,
}

/// A text whose form a type of records checks.
#[derive(Clone, Copy)]
pub struct Code {
    /// Name of the type in the OpenAPI document.
    pub name: &'static str,
    /// Reads a text, as records write it.
    pub read: fn(&Value) -> Result<String, Fault>,
}

impl Code {
    /// The form of a type of records.
    pub const fn of<T: DeserializeOwned + ToString>(name: &'static str) -> Self {
        Self {
            name,
            read: |value| read::<T>(value).map(|code| code.to_string()),
        }
    }
}

impl std::fmt::Debug for Code {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.name)
    }
}

pub(super) const fn field(key: &'static str, takes: Takes, about: &'static str) -> Field {
    Field {
        key,
        takes,
        about,
        column: None,
        lite: Lite::Nothing,
    }
}

impl Field {
    /// Lite searches take all of it.
    pub(super) const fn lite(self) -> Self {
        Self {
            lite: Lite::Whole,
            ..self
        }
    }

    /// Lite searches take some of its fields.
    pub(super) const fn partly_lite(self) -> Self {
        Self {
            lite: Lite::Part,
            ..self
        }
    }

    /// Its step of the column's name; empty for none.
    pub(super) const fn on(self, column: &'static str) -> Self {
        Self {
            column: Some(column),
            ..self
        }
    }

    /// The column it constrains, or the start of the names of those its fields do; `outer` comes before it.
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

    /// Whether a model that is taken in part or whole has it.
    pub(super) fn is_in(&self, part: Part) -> bool {
        part == Part::Whole || self.lite != Lite::Nothing
    }

    /// How much of its model is taken where the field is in a model taken in part or whole.
    pub(super) fn part(&self, outer: Part) -> Part {
        match (outer, self.lite) {
            (Part::Lite, Lite::Part | Lite::Nothing) => Part::Lite,
            _ => Part::Whole,
        }
    }
}

/// How much of a model a body takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// All of it.
    Whole,
    /// What lite searches take.
    Lite,
}

impl Part {
    /// The fields of a model that are taken.
    pub fn fields(self, model: &'static Model) -> impl Iterator<Item = &'static Field> {
        model.fields.iter().filter(move |field| field.is_in(self))
    }
}

/// A leaf of a filter.
#[derive(Clone, Debug)]
pub struct Leaf {
    /// Keys from the model down; those of lists end in `[]`.
    pub path: String,
    /// What it takes.
    pub takes: Takes,
    /// The column it constrains; of a place, its position. Fields of items come after their list: `adverts.is_online`.
    pub column: String,
}

/// Every leaf of a model, in the order of the tables.
pub fn leaves(model: &'static Model, part: Part) -> Vec<Leaf> {
    let mut found = Vec::new();
    gather(model, part, "", "", "", &mut found);
    found
}

fn gather(
    model: &'static Model,
    part: Part,
    path: &str,
    outer: &str,
    list: &str,
    found: &mut Vec<Leaf>,
) {
    for field in part.fields(model) {
        let column = field.column(outer);
        let path = match path {
            "" => field.key.to_owned(),
            _ => format!("{path}.{}", field.key),
        };
        let inner = field.part(part);
        match field.takes {
            Takes::Model(model) => gather(model, inner, &path, &column, list, found),
            Takes::AnyModel(model) => {
                gather(model, inner, &format!("{path}[]"), &column, list, found);
            }
            Takes::SomeItem(model) => {
                gather(
                    model,
                    inner,
                    &format!("{path}[]"),
                    "",
                    &format!("{column}."),
                    found,
                );
            }
            Takes::Ignored => {}
            takes => {
                let column = match takes {
                    Takes::LatLng(position) | Takes::Point(position) => position,
                    _ => &column,
                };
                found.push(Leaf {
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
