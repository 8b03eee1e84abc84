//! A filter as the contract states it, past validation: clauses that all must hold.
//!
//! The wire layer builds it, [`toise_engine::predicate`] compiles it to one DataFusion expression, and pruning reads it
//! to skip rows that cannot match. A row whose column is missing matches no clause on that column, and a row whose list
//! is empty none on the list.

use std::borrow::Cow;

use toise_geo::columns::{LATITUDE, LONGITUDE};

/// The position of a row, where it has one of its own.
pub const POSITION: &str = "location";

/// Clauses that all must hold; none constrains nothing.
pub type Filter = Vec<Clause>;

/// One condition on one column.
#[derive(Clone, Debug, PartialEq)]
pub struct Clause {
    /// Column of the table; a position for the tests of places (see [`position_columns`]), empty for [`Test::Any`].
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
    /// A moment between two, both included, in milliseconds since 1970-01-01 UTC.
    Moment {
        /// First moment.
        from: Option<i64>,
        /// Last moment.
        to: Option<i64>,
    },
    /// A text equal to one of these; of a list of texts, at least one of them. The list is never empty.
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
    /// A position in a box, edges included.
    InBox {
        /// Northern edge, degrees.
        top: f64,
        /// Western edge, degrees.
        left: f64,
        /// Southern edge, degrees.
        bottom: f64,
        /// Eastern edge, degrees.
        right: f64,
    },
    /// At least one of these filters holds; none of them is empty. Stands on no column of its own.
    Any(Vec<Filter>),
    /// Of a list of structs: at least one of them fulfils all of this filter, which is not empty and names fields.
    SomeItem(Filter),
}

impl Clause {
    /// A clause on a named column.
    pub fn new(column: impl Into<Cow<'static, str>>, test: Test) -> Self {
        Self {
            column: column.into(),
            test,
        }
    }

    /// What must hold so that at least one of these filters does: nothing where there are none, or where one of them
    /// does not constrain.
    ///
    /// Filters that only ask for one text of the same column become one clause, so that hundreds of communes cost what
    /// one does.
    pub fn any(filters: Vec<Filter>) -> Filter {
        if filters.is_empty() || filters.iter().any(Vec::is_empty) {
            return Filter::new();
        }
        let mut kept: Vec<Filter> = Vec::new();
        for filter in filters {
            let Some((column, texts)) = lone_texts(&filter) else {
                kept.push(filter);
                continue;
            };
            let same = kept.iter_mut().find(|kept| {
                lone_texts(kept).is_some_and(|(known_column, _)| known_column == column)
            });
            match same.and_then(|kept| kept.first_mut()) {
                Some(Clause {
                    test: Test::OneOf(known),
                    ..
                }) => {
                    for text in texts {
                        if !known.contains(text) {
                            known.push(text.clone());
                        }
                    }
                }
                _ => kept.push(filter),
            }
        }
        if kept.len() == 1 {
            return kept.pop().unwrap_or_default();
        }
        vec![Self::new("", Test::Any(kept))]
    }
}

/// Column and texts of a filter that asks for nothing else.
fn lone_texts(filter: &Filter) -> Option<(&str, &[String])> {
    match filter.as_slice() {
        [
            Clause {
                column,
                test: Test::OneOf(texts),
            },
        ] => Some((column, texts)),
        _ => None,
    }
}

/// The columns of a position: `lat` and `lon` of `location`, those with its name before them of any other.
pub fn position_columns(position: &str) -> [Cow<'static, str>; 2] {
    match position {
        POSITION => [LATITUDE.into(), LONGITUDE.into()],
        other => [
            format!("{other}_{LATITUDE}").into(),
            format!("{other}_{LONGITUDE}").into(),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(column: &'static str, text: &str) -> Clause {
        Clause::new(column, Test::OneOf(vec![text.into()]))
    }

    #[test]
    fn alternatives_of_one_column_become_one_clause() {
        let alternatives = ["48095", "48140", "48095"].map(|code| vec![text("insee_code", code)]);
        let expected = Test::OneOf(vec!["48095".into(), "48140".into()]);
        assert_eq!(
            Clause::any(alternatives.to_vec()),
            vec![Clause::new("insee_code", expected)]
        );
    }

    #[test]
    fn an_alternative_that_does_not_constrain_frees_all_of_them() {
        let alternatives = vec![vec![text("insee_code", "48095")], Filter::new()];
        assert_eq!(Clause::any(alternatives), Filter::new());
        assert_eq!(Clause::any(Vec::new()), Vec::new());
    }

    #[test]
    fn different_alternatives_stay_apart() {
        let both = vec![text("insee_code", "48095"), text("department", "48")];
        assert_eq!(Clause::any(vec![both.clone()]), both);
        let alternatives = vec![both.clone(), vec![text("department", "13")]];
        assert_eq!(
            Clause::any(alternatives.clone()),
            vec![Clause::new("", Test::Any(alternatives))]
        );
    }
}
