//! Field tables: the single definition of what a body or a query string may contain.
//!
//! A request is a static table of [`Field`]s: name, kind with its bounds, whether it is required, and its meaning.
//! [`read`] checks a body against a table, in document order up to the first fault, and returns its [`Values`];
//! [`schema`] writes the same table as JSON schema for the OpenAPI document. The crate that handles a request maps the
//! values to its own type. A value that only this crate can validate has the kind [`FieldKind::Own`].
//!
//! Reading costs one allocation per object and list and none per field; texts are borrowed from the body.

mod read;
pub mod schema;
#[cfg(test)]
mod tests;
mod values;

use std::fmt;

use serde_json::{Map, Value};

use crate::enums::Enumeration;
use crate::fault::Fault;
use crate::walk::JsonPath;

pub use read::{
    area, bounds, given, moment, read, read_change, read_part, read_query, read_value, refuse_long,
};
pub use values::{FromTaken, Taken, Values};

/// One field of a table.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Key of the object, or name of the query parameter.
    pub name: &'static str,
    /// The values it accepts.
    pub kind: FieldKind,
    /// Whether a request without it is rejected.
    pub is_required: bool,
    /// The value assumed if it is absent, for the reference.
    pub default: Option<DefaultValue>,
    /// Meaning and unit, for the reference.
    pub about: About,
    /// An example value, for the reference.
    pub example: Option<&'static str>,
}

/// Description of a field in the reference.
#[derive(Clone, Copy, Debug)]
pub enum About {
    /// A text; empty for none.
    Text(&'static str),
    /// A text that repeats a limit, built when the reference is written.
    Made(fn() -> String),
}

/// The default of an absent field, for the reference; the reader of the request applies it.
#[derive(Clone, Copy, Debug)]
pub enum DefaultValue {
    /// A whole number.
    Integer(i64),
    /// A value of a closed set.
    Word(&'static str),
}

/// The values that a field accepts. Bounds are inclusive.
#[derive(Clone, Copy, Debug)]
pub enum FieldKind {
    /// A string.
    Text,
    /// A string with a maximum length, in characters.
    TextUpTo(usize),
    /// A string of 1 to the given number of characters that are not all spaces.
    Words(usize),
    /// A string that a function validates.
    Named(&'static Naming),
    /// A code with a fixed format.
    Code(&'static CodeFormat),
    /// A URL with a maximum length, in characters. The caller decides whether it may be called.
    Address(usize),
    /// One of a closed set of strings, listed in place.
    OneOf(&'static [&'static str]),
    /// A list from a closed set of strings, of any length.
    AnyOf(&'static [&'static str]),
    /// A value of an enumeration in any of its spellings, by reference.
    Enum(&'static Enumeration),
    /// A UUID.
    Uuid,
    /// A date or date-time.
    Moment,
    /// A finite number.
    Number,
    /// A number between two bounds.
    Between(f64, f64),
    /// An integer between two bounds.
    Integer(i64, i64),
    /// An integer between two bounds, or `null` for none.
    IntegerOrNull(i64, i64),
    /// `true` or `false`.
    Flag,
    /// `{min?, max?}`: numbers.
    Range,
    /// `{from?, to?}`: dates or date-times.
    Dates,
    /// `{lat, lon, distance}`.
    Place,
    /// A GeoJSON Polygon or MultiPolygon.
    Area,
    /// `{name, relation?, meters?}`: a relation to a layer.
    Layer,
    /// A list.
    List(&'static ListOf),
    /// An object, with its schema in place.
    Object(&'static [Field]),
    /// An object, by reference to a schema of this name.
    Model(&'static str, &'static [Field]),
    /// A list of two numbers; the fields' names appear in error messages.
    Pair(&'static [Field; 2]),
    /// Any object with a maximum length in bytes of JSON, passed on as sent.
    Free(usize),
    /// A value that is read later, by reference to a schema of this name.
    Later(&'static str),
    /// A value that only the owner of the table can read.
    Own(&'static Own),
}

/// Kind and number of a list's items.
#[derive(Clone, Copy, Debug)]
pub struct ListOf {
    /// Kind of an item.
    pub item: FieldKind,
    /// Minimum number of items.
    pub least: usize,
    /// Maximum number of items.
    pub most: Option<usize>,
}

/// A text that a function validates.
#[derive(Clone, Copy, Debug)]
pub struct Naming {
    /// Maximum length, in characters; the minimum is one.
    pub chars_max: usize,
    /// Whether a text is valid.
    pub is: fn(&str) -> bool,
    /// The rule, used as the message for an invalid text.
    pub rule: &'static str,
}

/// The format of a code.
#[derive(Clone, Copy, Debug)]
pub struct CodeFormat {
    /// Regular expression, for the reference.
    pub pattern: &'static str,
    /// Returns the message for an invalid text; `None` for a valid one.
    pub refusal: fn(&str) -> Option<String>,
}

/// Reads a value at its path.
pub type ReadOwn = for<'v> fn(&'v Value, JsonPath<'_>) -> Result<Taken<'v>, Fault>;

/// A kind defined by the owner of a table.
#[derive(Clone, Copy)]
pub struct Own {
    /// Reads it.
    pub read: ReadOwn,
    /// Writes its schema and adds the components it refers to to the map.
    pub schema: fn(&mut Map<String, Value>) -> Value,
}

impl fmt::Debug for Own {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Own")
    }
}

impl Field {
    /// An optional field.
    pub const fn optional(name: &'static str, kind: FieldKind, about: &'static str) -> Self {
        Self {
            name,
            kind,
            is_required: false,
            default: None,
            about: About::Text(about),
            example: None,
        }
    }

    /// A required field.
    pub const fn required(name: &'static str, kind: FieldKind, about: &'static str) -> Self {
        Self {
            is_required: true,
            ..Self::optional(name, kind, about)
        }
    }

    /// Sets a description that is built when the reference is written.
    pub const fn about(self, about: fn() -> String) -> Self {
        Self {
            about: About::Made(about),
            ..self
        }
    }

    /// Sets the default.
    pub const fn or(self, default: DefaultValue) -> Self {
        Self {
            default: Some(default),
            ..self
        }
    }

    /// Sets an example.
    pub const fn with_example(self, example: &'static str) -> Self {
        Self {
            example: Some(example),
            ..self
        }
    }
}

/// Returns the names of a table's fields, in order.
pub fn names(table: &'static [Field]) -> impl Iterator<Item = &'static str> {
    table.iter().map(|field| field.name)
}
