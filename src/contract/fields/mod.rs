//! Field tables: what a body or a query string may hold, stated once.
//!
//! A request is a static table of [`Field`]s: name, kind with its bounds, whether it is required, what it means.
//! [`read`] walks a body against a table, in document order up to the first fault, and hands the room its [`Values`];
//! [`schema`] writes the same table as JSON schema for the OpenAPI document. A room keeps its own request type and maps
//! the values to it; what only the room can judge is a kind of its own, [`FieldKind::Own`].
//!
//! Cost of reading: one allocation per object and list, none per field; texts are borrowed from the body.

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

pub use read::{bounds, moment, read, read_part, read_query, read_value, refuse_long};
pub use values::{FromTaken, Taken, Values};

/// One field of a table.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Key of the object, or parameter of the query string.
    pub name: &'static str,
    /// What it takes.
    pub kind: FieldKind,
    /// Whether a request without it is refused.
    pub is_required: bool,
    /// The value that stands for an absent one, for the reference.
    pub default: Option<DefaultValue>,
    /// Meaning and unit, for the reference.
    pub about: About,
    /// A value, for the reference.
    pub example: Option<&'static str>,
}

/// What the reference says of a field.
#[derive(Clone, Copy, Debug)]
pub enum About {
    /// A text; none where it is empty.
    Text(&'static str),
    /// A text that repeats a limit.
    Made(fn() -> String),
}

/// The value of an absent field, for the reference: who reads the request puts it there.
#[derive(Clone, Copy, Debug)]
pub enum DefaultValue {
    /// A whole number.
    Integer(i64),
    /// A value of a closed set.
    Word(&'static str),
}

/// What a field takes. Bounds are included.
#[derive(Clone, Copy, Debug)]
pub enum FieldKind {
    /// A string.
    Text,
    /// A string of at most so many characters.
    TextUpTo(usize),
    /// A string of 1 to so many characters that are not all blanks.
    Words(usize),
    /// A string of which a rule decides.
    Named(&'static Naming),
    /// An address of at most so many characters. Who calls it decides whether it may be called.
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
    /// A list.
    List(&'static ListOf),
    /// An object, written out in place.
    Object(&'static [Field]),
    /// An object, by reference to a schema of this name.
    Model(&'static str, &'static [Field]),
    /// A list of two numbers, named for the reader of the message.
    Pair(&'static [Field; 2]),
    /// Any object of at most so many bytes of JSON, kept as it was sent.
    Free(usize),
    /// A value that is read later, by reference to a schema of this name.
    Later(&'static str),
    /// What only the owner of the table can read.
    Own(&'static Own),
}

/// Items of a list, and how many.
#[derive(Clone, Copy, Debug)]
pub struct ListOf {
    /// What an item is.
    pub item: FieldKind,
    /// Fewest items.
    pub least: usize,
    /// Most items.
    pub most: Option<usize>,
}

/// A text of which a function decides.
#[derive(Clone, Copy, Debug)]
pub struct Naming {
    /// Most characters; the fewest is one.
    pub chars_max: usize,
    /// Whether a text is one.
    pub is: fn(&str) -> bool,
    /// What it must be; the message of a refused one.
    pub rule: &'static str,
}

/// Reads a value where it stands.
pub type ReadOwn = for<'v> fn(&'v Value, JsonPath<'_>) -> Result<Taken<'v>, Fault>;

/// A kind that the owner of a table brings.
#[derive(Clone, Copy)]
pub struct Own {
    /// Reads it.
    pub read: ReadOwn,
    /// Writes its schema; components it refers to are added to the map.
    pub schema: fn(&mut Map<String, Value>) -> Value,
}

impl fmt::Debug for Own {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Own")
    }
}

impl Field {
    /// A field a request may leave out.
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

    /// A field a request must have.
    pub const fn required(name: &'static str, kind: FieldKind, about: &'static str) -> Self {
        Self {
            is_required: true,
            ..Self::optional(name, kind, about)
        }
    }

    /// The same with a meaning that is made when it is asked for.
    pub const fn about(self, about: fn() -> String) -> Self {
        Self {
            about: About::Made(about),
            ..self
        }
    }

    /// The same with the value of an absent one.
    pub const fn or(self, default: DefaultValue) -> Self {
        Self {
            default: Some(default),
            ..self
        }
    }

    /// The same with an example.
    pub const fn such_as(self, example: &'static str) -> Self {
        Self {
            example: Some(example),
            ..self
        }
    }
}

/// The names of a table, in order.
pub fn names(table: &'static [Field]) -> impl Iterator<Item = &'static str> {
    table.iter().map(|field| field.name)
}
