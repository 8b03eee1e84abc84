//! The columns held against the filters and the records of the samples.

use super::*;
use crate::lake::schema::Kind;
use crate::wire::listings::filters::model::{Leaf, Takes, leaves};
use crate::wire::listings::filters::{Listing, Part};

fn kind_of(schema: &TableSchema, leaf: &Leaf, column: &str) -> Kind {
    let (_, found) = schema
        .column(column)
        .unwrap_or_else(|| panic!("{}: no column {column}", leaf.path));
    assert!(found.filterable, "{column}");
    found.kind
}

#[test]
fn every_leaf_of_a_filter_has_a_column_of_its_kind() {
    for (listing, schema) in [
        (Listing::Property, properties()),
        (Listing::Advert, adverts()),
    ] {
        let leaves = leaves(listing.filter_model(), Part::Whole);
        assert!(leaves.len() > 100, "{} leaves", leaves.len());
        for leaf in &leaves {
            let allowed: &[Kind] = match leaf.takes {
                Takes::Flag => &[Kind::Flag],
                Takes::Range => &[Kind::Number, Kind::SmallInteger],
                Takes::Year => &[Kind::SmallInteger],
                Takes::Moments | Takes::AnyMoments => &[Kind::Moment],
                Takes::OneOf(_) | Takes::AnyOf(_) => &[Kind::Category, Kind::CategoryList],
                Takes::AnyText => &[Kind::CategoryList],
                Takes::Text | Takes::Code(_) | Takes::AnyCode(_) => &[Kind::Text, Kind::Category],
                Takes::LatLng(_) | Takes::Point(_) => {
                    let (list, position) = match leaf.column.rsplit_once('.') {
                        Some((list, position)) => (format!("{list}."), position),
                        None => (String::new(), leaf.column.as_str()),
                    };
                    for name in crate::engine::filter::position_columns(position) {
                        let kind = kind_of(schema, leaf, &format!("{list}{name}"));
                        assert_eq!(kind, Kind::Number, "{}", leaf.path);
                    }
                    continue;
                }
                Takes::Model(_) | Takes::AnyModel(_) | Takes::SomeItem(_) | Takes::Ignored => {
                    panic!("{} is no leaf", leaf.path)
                }
            };
            let kind = kind_of(schema, leaf, &leaf.column);
            assert!(allowed.contains(&kind), "{}: {kind:?}", leaf.path);
        }
    }
}

#[test]
fn sort_keys_and_the_clustering_order_are_columns() {
    use crate::wire::enums::{EnumSearchRequestSortBy, WireEnum};
    for (listing, schema) in [
        (Listing::Property, properties()),
        (Listing::Advert, adverts()),
    ] {
        assert_eq!(schema.name, listing.table());
        for sort_by in EnumSearchRequestSortBy::ALL {
            assert!(schema.column(listing.sort_column(*sort_by)).is_some());
        }
        for name in [
            schema.id,
            schema.department,
            schema.commune,
            schema.class,
            schema.date,
        ] {
            assert!(schema.column(name).is_some(), "{name}");
        }
    }
}
