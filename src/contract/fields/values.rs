//! Values that a table read from a request and validated; the caller maps them to its own type.

use std::sync::Arc;

use uuid::Uuid;

use super::Field;
use crate::dates::DateOrInstant;
use crate::enums::WireEnum;
use crate::fault::Fault;
use crate::filter::{Filter, LayerTest};
use serde_json::Value;
use toise_geo::area::Area;

/// A valid value.
#[derive(Clone, Debug, PartialEq)]
pub enum Taken<'v> {
    /// A text of the body.
    Text(&'v str),
    /// A value of a closed set, in its wire spelling.
    Word(&'static str),
    /// A number; whole if the field is an integer.
    Number(f64),
    /// `true` or `false`.
    Flag(bool),
    /// An identifier.
    Uuid(Uuid),
    /// A date or date-time.
    Moment(DateOrInstant),
    /// `null`, if the field accepts it.
    Null,
    /// Bounds of numbers; the minimum is not above the maximum.
    Range {
        /// Minimum.
        min: Option<f64>,
        /// Maximum.
        max: Option<f64>,
    },
    /// Bounds of times; the first is not after the last.
    Dates {
        /// First time.
        from: Option<DateOrInstant>,
        /// Last time.
        to: Option<DateOrInstant>,
    },
    /// A circle.
    Place {
        /// Latitude of its centre, degrees.
        lat: f64,
        /// Longitude of its centre, degrees.
        lon: f64,
        /// Radius, metres.
        radius_m: f64,
    },
    /// An area.
    Area(Arc<Area>),
    /// A relation to a layer.
    Layer(LayerTest),
    /// Items in order.
    List(Vec<Taken<'v>>),
    /// Fields of an object.
    Object(Values<'v>),
    /// A value as sent.
    Json(&'v Value),
    /// A filter of listings.
    Filter(Filter),
}

/// The fields given in an object, in document order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Values<'v> {
    found: Vec<(&'static str, Taken<'v>)>,
}

impl<'v> Values<'v> {
    pub(super) fn with_capacity(fields: usize) -> Self {
        Self {
            found: Vec::with_capacity(fields),
        }
    }

    pub(super) fn push(&mut self, field: &'static Field, taken: Taken<'v>) {
        self.found.push((field.name, taken));
    }

    /// Returns the value of a field.
    pub fn get(&self, name: &str) -> Option<&Taken<'v>> {
        // If a parameter is given twice, the last value counts, as for a duplicate key.
        let mut found = self.found.iter().rev();
        let field = found.find(|(known, _)| *known == name);
        field.map(|(_, taken)| taken)
    }

    /// Returns how often a parameter was given.
    pub fn count(&self, name: &str) -> usize {
        let found = self.found.iter();
        found.filter(|(known, _)| *known == name).count()
    }

    /// Returns the value of a field in nested objects, by its path.
    pub fn at<'p>(&self, mut path: impl Iterator<Item = &'p str>) -> Option<&Taken<'v>> {
        let first = self.get(path.next()?)?;
        path.try_fold(first, |taken, key| match taken {
            Taken::Object(values) => values.get(key),
            _ => None,
        })
    }

    /// Removes and returns the value of a field.
    pub fn take<T: FromTaken<'v>>(&mut self, name: &str) -> Option<T> {
        let place = self.found.iter().rposition(|(known, _)| *known == name)?;
        T::from_taken(self.found.remove(place).1)
    }

    /// Removes and returns the value of a required field.
    ///
    /// # Errors
    /// It is absent.
    pub fn require<T: FromTaken<'v>>(&mut self, name: &str) -> Result<T, Fault> {
        self.take(name)
            .ok_or_else(|| Fault::new(name, "is required"))
    }

    /// Returns the value of a closed set, in its wire spelling.
    pub fn word(&mut self, name: &str) -> Option<&'static str> {
        match self.get(name)? {
            Taken::Word(word) => Some(word),
            _ => None,
        }
    }

    /// Returns the value of a required enumeration.
    ///
    /// # Errors
    /// It is absent.
    pub fn one<E: WireEnum>(&mut self, name: &str) -> Result<E, Fault> {
        let word = self.word(name).and_then(E::parse);
        word.ok_or_else(|| Fault::new(name, "is required"))
    }
}

impl<'v> IntoIterator for Values<'v> {
    type Item = (&'static str, Taken<'v>);
    type IntoIter = std::vec::IntoIter<Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.found.into_iter()
    }
}

/// Conversion from a value; `None` if the field has another kind.
pub trait FromTaken<'v>: Sized {
    /// Converts it.
    fn from_taken(taken: Taken<'v>) -> Option<Self>;
}

macro_rules! from_taken {
    ($($type:ty: $pattern:pat => $value:expr),+ $(,)?) => {$(
        impl<'v> FromTaken<'v> for $type {
            fn from_taken(taken: Taken<'v>) -> Option<Self> {
                match taken {
                    $pattern => Some($value),
                    _ => None,
                }
            }
        }
    )+};
}

from_taken! {
    &'v str: Taken::Text(text) => text,
    String: Taken::Text(text) => text.to_owned(),
    f64: Taken::Number(number) => number,
    // Fields taken as these types have non-negative bounds.
    usize: Taken::Number(number) => number as usize,
    u32: Taken::Number(number) => number as u32,
    u64: Taken::Number(number) => number as u64,
    bool: Taken::Flag(flag) => flag,
    Uuid: Taken::Uuid(id) => id,
    DateOrInstant: Taken::Moment(moment) => moment,
    Values<'v>: Taken::Object(values) => values,
    &'v Value: Taken::Json(value) => value,
    Filter: Taken::Filter(filter) => filter,
    Arc<Area>: Taken::Area(area) => area,
    LayerTest: Taken::Layer(test) => test,
}

impl<'v> FromTaken<'v> for Taken<'v> {
    fn from_taken(taken: Taken<'v>) -> Option<Self> {
        Some(taken)
    }
}

/// A value that may be `null`, which is `Some(None)`.
impl<'v> FromTaken<'v> for Option<u64> {
    fn from_taken(taken: Taken<'v>) -> Option<Self> {
        match taken {
            Taken::Null => Some(None),
            taken => u64::from_taken(taken).map(Some),
        }
    }
}

/// Items of one kind; items of other kinds are skipped.
impl<'v, T: FromTaken<'v> + Item> FromTaken<'v> for Vec<T> {
    fn from_taken(taken: Taken<'v>) -> Option<Self> {
        match taken {
            Taken::List(items) => Some(items.into_iter().filter_map(T::from_taken).collect()),
            _ => None,
        }
    }
}

/// Types that a list's items may be taken as.
pub trait Item {}
impl Item for Taken<'_> {}
impl Item for String {}
impl Item for Uuid {}
impl Item for &Value {}
impl Item for Values<'_> {}
