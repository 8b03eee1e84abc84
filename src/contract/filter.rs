//! A validated filter: clauses that must all be true.
//!
//! The wire layer builds it, `toise_engine::predicate` compiles it to one DataFusion expression, and pruning uses it
//! to skip rows that cannot match. A row whose column is null matches no clause on that column; a row whose list is
//! empty matches no clause on the list.

mod layer;

use std::borrow::Cow;
use std::sync::Arc;

use toise_geo::area::Area;
use toise_geo::columns::{LATITUDE, LONGITUDE};

pub use layer::{
    LAYER_METERS_MAX, LAYER_RELATIONS, LayerError, LayerRelation, LayerShape, LayerSource,
    LayerTest, layer_tests, resolve,
};

/// Name of the position of a row.
pub const POSITION: &str = "location";

/// Clauses that must all be true; an empty filter matches every row.
pub type Filter = Vec<Clause>;

/// One condition on one column.
#[derive(Clone, Debug, PartialEq)]
pub struct Clause {
    /// Column of the table; for tests of places the name of a position (see [`position_columns`]); empty for
    /// [`ClauseTest::Any`].
    pub column: Cow<'static, str>,
    /// The test.
    pub test: ClauseTest,
}

/// The test of a clause.
#[derive(Clone, Debug, PartialEq)]
pub enum ClauseTest {
    /// A number between two bounds, both included; an absent bound does not constrain, but the value must be present.
    Number {
        /// Minimum.
        min: Option<f64>,
        /// Maximum.
        max: Option<f64>,
    },
    /// A day between two days, both included, in days since 1970-01-01.
    Day {
        /// First day.
        from: Option<i32>,
        /// Last day.
        to: Option<i32>,
    },
    /// A time between two times, both included, in milliseconds since 1970-01-01 UTC.
    Moment {
        /// First time.
        from: Option<i64>,
        /// Last time.
        to: Option<i64>,
    },
    /// A text equal to one of these; for a list of texts, at least one of its texts. Never empty.
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
    /// A position in an area, border included.
    InArea(Arc<Area>),
    /// A position with a relation to a layer.
    InLayer(LayerTest),
    /// At least one of these filters holds; none of them is empty. The clause has no column.
    Any(Vec<Filter>),
    /// For a list of structs: at least one struct satisfies this filter, which is not empty and names fields of the
    /// struct.
    SomeItem(Filter),
}

impl Clause {
    /// Creates a clause on a named column.
    pub fn new(column: impl Into<Cow<'static, str>>, test: ClauseTest) -> Self {
        Self {
            column: column.into(),
            test,
        }
    }

    /// Returns a filter that holds if at least one of these filters does: empty if there are none, or if one of them is
    /// empty.
    ///
    /// Filters that only test texts of the same column become one clause, so hundreds of communes cost the same as one.
    pub fn any(filters: Vec<Filter>) -> Filter {
        if filters.is_empty() || filters.iter().any(Vec::is_empty) {
            return Filter::new();
        }
        let mut kept: Vec<Filter> = Vec::new();
        for filter in filters {
            let Some((column, texts)) = single_text_test(&filter) else {
                kept.push(filter);
                continue;
            };
            let same = kept.iter_mut().find(|kept| {
                single_text_test(kept).is_some_and(|(known_column, _)| known_column == column)
            });
            match same.and_then(|kept| kept.first_mut()) {
                Some(Clause {
                    test: ClauseTest::OneOf(known),
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
        vec![Self::new("", ClauseTest::Any(kept))]
    }
}

/// Returns the column and texts of a filter that consists of a single text test.
fn single_text_test(filter: &Filter) -> Option<(&str, &[String])> {
    match filter.as_slice() {
        [
            Clause {
                column,
                test: ClauseTest::OneOf(texts),
            },
        ] => Some((column, texts)),
        _ => None,
    }
}

/// Returns the columns of a position: `lat` and `lon` for `location`, otherwise prefixed with the name of the position.
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
        Clause::new(column, ClauseTest::OneOf(vec![text.into()]))
    }

    #[test]
    fn alternatives_of_one_column_become_one_clause() {
        let alternatives = ["48095", "48140", "48095"].map(|code| vec![text("insee_code", code)]);
        let expected = ClauseTest::OneOf(vec!["48095".into(), "48140".into()]);
        assert_eq!(
            Clause::any(alternatives.to_vec()),
            vec![Clause::new("insee_code", expected)]
        );
    }

    #[test]
    fn an_empty_alternative_makes_the_filter_empty() {
        let alternatives = vec![vec![text("insee_code", "48095")], Filter::new()];
        assert_eq!(Clause::any(alternatives), Filter::new());
        assert_eq!(Clause::any(Vec::new()), Vec::new());
    }

    #[test]
    fn alternatives_on_different_columns_are_not_merged() {
        let both = vec![text("insee_code", "48095"), text("department", "48")];
        assert_eq!(Clause::any(vec![both.clone()]), both);
        let alternatives = vec![both.clone(), vec![text("department", "13")]];
        assert_eq!(
            Clause::any(alternatives.clone()),
            vec![Clause::new("", ClauseTest::Any(alternatives))]
        );
    }
}
