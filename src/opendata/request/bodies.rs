//! The open-data bodies as field tables: every filter, sort key and scoring target with its kind and allowed values.
//!
//! These tables alone define what a body may hold: `super::parse` validates with them, and the OpenAPI document is
//! generated from them. A filter has the name of the column that it constrains; `location` stands for the pair of
//! position columns.

mod tables;

use crate::Dataset;
use tables::{DPE, DVF};
use toise_contract::fields::{DefaultValue, Field, FieldKind, ListOf};

/// Maximum rows per search page.
pub const SEARCH_SIZE_MAX: usize = 100;
/// Default rows per search page.
pub const SEARCH_SIZE_DEFAULT: usize = 20;
/// Maximum candidates in a match response.
pub const MATCH_SIZE_MAX: usize = 20;
/// Default candidates in a match response.
pub const MATCH_SIZE_DEFAULT: usize = 5;
/// Maximum match bodies in one `_many` call.
pub const MATCH_ITEMS_MAX: usize = 1_000;

/// Maximum parcels or buildings in a filter.
pub const PLACE_IDS_MAX: usize = 100;

/// The two values of `sortOrder`.
pub const SORT_ORDERS: [&str; 2] = ["asc", "desc"];

/// Filter for positions in an area.
pub const AREA: &str = "area";
/// Filter for the relation of positions to a layer.
pub const LAYER: &str = "layer";

/// Values of `iris_type`: residential, business, other, and communes without contours.
pub const IRIS_TYPES: [&str; 4] = ["H", "A", "D", "Z"];

/// The bodies of one table.
#[derive(Debug)]
pub struct DatasetBodies {
    /// The body of a search.
    pub search: &'static [Field],
    /// The search of an alert.
    pub saved: &'static [Field],
    /// The body of a match.
    pub matching: &'static [Field],
    /// Match bodies in one call.
    pub matching_many: &'static [Field],
    /// Filters of search.
    pub search_filters: &'static [Field],
    /// Values of `sortBy`; the first is the default.
    pub sort_keys: &'static [&'static str],
    /// Filters of match.
    pub match_filters: &'static [Field],
    /// Scoring targets of match.
    pub targets: &'static [Field],
}

/// Returns the request bodies of a table.
pub fn bodies(dataset: Dataset) -> &'static DatasetBodies {
    match dataset {
        Dataset::Dpe => &DPE,
        Dataset::Dvf => &DVF,
    }
}

const fn filter(name: &'static str, kind: FieldKind, about: &'static str) -> Field {
    Field::optional(name, kind, about)
}

/// Builds the search of an alert with these filters.
const fn saved(filters: &'static [Field]) -> [Field; 1] {
    [Field::optional(
        "filters",
        FieldKind::Object(filters),
        "Filters; a record must match all of them",
    )]
}

/// Builds the body of a search with these filters and sort keys.
const fn search(filters: &'static [Field], sort_keys: &'static [&'static str]) -> [Field; 5] {
    let [filters] = saved(filters);
    [
        filters,
        Field::optional(
            "sortBy",
            FieldKind::OneOf(sort_keys),
            "Records without the value come last in both orders; ties are sorted by identifier",
        )
        .or(DefaultValue::Word(sort_keys[0])),
        Field::optional(
            "sortOrder",
            FieldKind::OneOf(&SORT_ORDERS),
            "Sort direction",
        )
        .or(DefaultValue::Word("desc")),
        size(SEARCH_SIZE_MAX, SEARCH_SIZE_DEFAULT),
        Field::optional(
            "cursor",
            FieldKind::Text,
            "Cursor from a previous answer to the same filters and order; the size may differ",
        ),
    ]
}

/// Builds the body of a match with these filters and targets.
const fn matching(filters: &'static [Field], targets: &'static [Field]) -> [Field; 3] {
    [
        Field::optional(
            "filters",
            FieldKind::Object(filters),
            "Filters; a candidate must match all of them",
        ),
        size(MATCH_SIZE_MAX, MATCH_SIZE_DEFAULT),
        Field::optional(
            "scoring_targets",
            FieldKind::Object(targets),
            "Characteristics of the record sought; each target given counts towards the score",
        ),
    ]
}

const fn size(size_max: usize, default: usize) -> Field {
    let kind = FieldKind::Integer(1, size_max as i64);
    Field::optional("size", kind, "Maximum number of records")
        .or(DefaultValue::Integer(default as i64))
}

/// Builds the list of items of a `_many` call.
const fn items(item: FieldKind) -> ListOf {
    ListOf {
        item,
        least: 1,
        most: Some(MATCH_ITEMS_MAX),
    }
}

/// Builds the list of parcels or buildings of a filter; an empty one filters nothing.
const fn place_ids(item: FieldKind) -> ListOf {
    ListOf {
        item,
        least: 0,
        most: Some(PLACE_IDS_MAX),
    }
}

const fn many(items: &'static ListOf) -> [Field; 1] {
    let about = "Match requests; a fault in one of them refuses the whole call";
    [Field::required("items", FieldKind::List(items), about)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use FieldKind::{
        AnyOf, Area, Code, Dates, Flag, Layer, List, OneOf, Place, Range, Text, Words,
    };
    use toise_lake::schema::ColumnKind;

    #[test]
    fn every_filter_sort_key_and_target_is_a_filterable_column() {
        for dataset in [Dataset::Dpe, Dataset::Dvf] {
            let bodies = bodies(dataset);
            let check = |name: &str, kinds: &[ColumnKind]| {
                let (_, column) = dataset
                    .schema()
                    .column(name)
                    .unwrap_or_else(|| panic!("{name} is not a column"));
                assert!(column.filterable, "{name}");
                assert!(kinds.contains(&column.kind), "{name}: {:?}", column.kind);
            };
            for field in bodies.search_filters.iter().chain(bodies.match_filters) {
                match field.kind {
                    Text | Code(_) | OneOf(_) | AnyOf(_) => {
                        check(field.name, &[ColumnKind::Text, ColumnKind::Category])
                    }
                    List(_) => check(field.name, &[ColumnKind::Text, ColumnKind::TextList]),
                    Range => check(field.name, &[ColumnKind::Number, ColumnKind::Integer]),
                    Dates => check(field.name, &[ColumnKind::Date]),
                    Flag => check(field.name, &[ColumnKind::Flag]),
                    Place | Area | Layer => {
                        check("lat", &[ColumnKind::Number]);
                        check("lon", &[ColumnKind::Number]);
                    }
                    // An address is used to filter by position or commune.
                    Words(_) => assert_eq!(field.name, "address"),
                    other => panic!("{other:?} is no filter"),
                }
            }
            for name in bodies.sort_keys {
                check(
                    name,
                    &[
                        ColumnKind::Text,
                        ColumnKind::Category,
                        ColumnKind::Number,
                        ColumnKind::Date,
                    ],
                );
            }
            for field in bodies.targets {
                match field.kind {
                    OneOf(_) => check(field.name, &[ColumnKind::Category, ColumnKind::Text]),
                    Flag => check(field.name, &[ColumnKind::Flag]),
                    _ => check(field.name, &[ColumnKind::Number, ColumnKind::Integer]),
                }
            }
        }
    }

    #[test]
    fn searches_sort_by_date_by_default() {
        assert_eq!(bodies(Dataset::Dpe).sort_keys[0], "date_etablissement_dpe");
        assert_eq!(bodies(Dataset::Dvf).sort_keys[0], "transaction_date");
    }
}
