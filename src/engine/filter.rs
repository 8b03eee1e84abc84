//! A filter as the contract states it, past validation: clauses that all must hold.
//!
//! The wire layer builds it, [`super::predicate`] compiles it to one DataFusion expression, and pruning reads it
//! to skip rows that cannot match. A row whose column is missing matches no clause on that column.

use std::borrow::Cow;

/// Clauses that all must hold; none constrains nothing.
pub type Filter = Vec<Clause>;

/// One condition on one column.
#[derive(Clone, Debug, PartialEq)]
pub struct Clause {
    /// Column of the table; for [`Test::Within`] the pair of position columns is meant and this is `location`.
    pub column: Cow<'static, str>,
    /// What must hold.
    pub test: Test,
}

/// What must hold of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Test {
    /// A number between two bounds, both included; an absent bound does not constrain, but the value must exist.
    Number {
        /// Least value.
        min: Option<f64>,
        /// Greatest value.
        max: Option<f64>,
    },
    /// A day between two days, both included, in days since 1970-01-01.
    Day {
        /// First day.
        from: Option<i32>,
        /// Last day.
        to: Option<i32>,
    },
    /// A text equal to one of these; the list is never empty.
    OneOf(Vec<String>),
    /// A flag with this value.
    Is(bool),
    /// A position within a planar distance of a pin, boundary included.
    Within {
        /// Latitude of the pin, degrees.
        lat: f64,
        /// Longitude of the pin, degrees.
        lon: f64,
        /// Radius, metres.
        radius_m: f64,
    },
}

impl Clause {
    /// A clause on a named column.
    pub fn new(column: impl Into<Cow<'static, str>>, test: Test) -> Self {
        Self {
            column: column.into(),
            test,
        }
    }
}
