//! Checks the columns against the filters and the sample records.

use arrow::array::RecordBatch;

use super::*;
use crate::properties::record_key::RecordKey;
use toise_contract::listings::filters::model::{FieldType, FilterLeaf, leaves};
use toise_contract::listings::filters::{FieldSubset, ListingKind};
use toise_lake::schema::ColumnKind;

fn kind_of(schema: &TableSchema, leaf: &FilterLeaf, column: &str) -> ColumnKind {
    let (_, found) = schema
        .column(column)
        .unwrap_or_else(|| panic!("{}: no column {column}", leaf.path));
    assert!(found.filterable, "{column}");
    found.kind
}

#[test]
fn every_leaf_of_a_filter_has_a_column_of_its_kind() {
    for (listing, schema) in [
        (ListingKind::Property, properties()),
        (ListingKind::Advert, adverts()),
    ] {
        let leaves = leaves(listing.filter_model(), FieldSubset::Whole);
        assert!(leaves.len() > 100, "{} leaves", leaves.len());
        for leaf in &leaves {
            let allowed: &[ColumnKind] = match leaf.takes {
                FieldType::Flag => &[ColumnKind::Flag],
                FieldType::Range => &[ColumnKind::Number, ColumnKind::SmallInteger],
                FieldType::Year => &[ColumnKind::SmallInteger],
                FieldType::Moments | FieldType::AnyMoments => &[ColumnKind::Moment],
                FieldType::OneOf(_) | FieldType::AnyOf(_) => {
                    &[ColumnKind::Category, ColumnKind::CategoryList]
                }
                FieldType::AnyText => &[ColumnKind::CategoryList],
                FieldType::Text | FieldType::Code(_) | FieldType::AnyCode(_) => {
                    &[ColumnKind::Text, ColumnKind::Category]
                }
                FieldType::LatLng(_) | FieldType::Point(_) => {
                    let (list, position) = match leaf.column.rsplit_once('.') {
                        Some((list, position)) => (format!("{list}."), position),
                        None => (String::new(), leaf.column.as_str()),
                    };
                    for name in toise_contract::filter::position_columns(position) {
                        let kind = kind_of(schema, leaf, &format!("{list}{name}"));
                        assert_eq!(kind, ColumnKind::Number, "{}", leaf.path);
                    }
                    continue;
                }
                FieldType::Model(_)
                | FieldType::AnyModel(_)
                | FieldType::SomeItem(_)
                | FieldType::TownName => {
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
    use toise_contract::enums::{EnumSearchRequestSortBy, WireEnum};
    for (listing, schema) in [
        (ListingKind::Property, properties()),
        (ListingKind::Advert, adverts()),
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

fn samples<T: serde::de::DeserializeOwned>(text: &str) -> Vec<(serde_json::Value, T)> {
    let response: serde_json::Value = serde_json::from_str(text).unwrap();
    let records = response["data"].as_array().unwrap();
    records
        .iter()
        .map(|record| (record.clone(), toise_contract::read::read(record).unwrap()))
        .collect()
}

/// A cell as JSON, written by the JSON writer that SQL uses.
fn cell(rows: &RecordBatch, row: usize, column: &str) -> serde_json::Value {
    let one = rows.slice(row, 1);
    let index = one.schema_ref().index_of(column).unwrap();
    let one = one.project(&[index]).unwrap();
    let mut writer = arrow::json::LineDelimitedWriter::new(Vec::new());
    writer.write(&one).unwrap();
    writer.finish().unwrap();
    let text = String::from_utf8(writer.into_inner()).unwrap();
    serde_json::from_str::<serde_json::Value>(&text).unwrap()[column].take()
}

#[test]
fn a_property_is_a_row_with_its_adverts_as_a_list() {
    let samples = samples(include_str!("../../../data/samples/properties.json"));
    let mut rows = PropertyRows::default();
    for (_, property) in &samples {
        rows.push(RecordKey(7), property).unwrap();
    }
    let batch = rows.finish().unwrap();
    assert_eq!(batch.num_rows(), samples.len());
    assert_eq!(rows.finish().unwrap().num_rows(), 0);
    for (row, (record, _)) in samples.iter().enumerate() {
        let cell = |column| cell(&batch, row, column);
        assert_eq!(cell("flx_id"), record["flxId"]);
        assert_eq!(cell("record_key"), 7);
        assert_eq!(cell("type"), record["type"]);
        assert_eq!(
            cell("location_department"),
            record["location"]["department"]
        );
        let position = &record["location"]["locationCoordinate"]["location"];
        assert_eq!(
            [cell("lon"), cell("lat")],
            [position[0].clone(), position[1].clone()]
        );
        assert_eq!(
            cell("price_latest_value").as_f64(),
            record["price"]["latest"]["value"].as_f64()
        );
        let first_seen_at = record["meta"]["firstSeenAt"].as_str().unwrap();
        let written = cell("meta_first_seen_at");
        let parse = |text: &str| chrono::DateTime::parse_from_rfc3339(text).unwrap();
        assert_eq!(parse(written.as_str().unwrap()), parse(first_seen_at));
        let adverts = cell("adverts");
        let expected = record["adverts"].as_array().unwrap();
        assert_eq!(adverts.as_array().unwrap().len(), expected.len());
        for (advert, expected) in adverts.as_array().unwrap().iter().zip(expected) {
            assert_eq!(advert["flx_id"], expected["flxId"]);
            assert_eq!(advert["source"], expected["source"]);
            assert_eq!(advert["is_online"], expected["isOnline"]);
        }
    }
}

#[test]
fn an_advert_is_a_row_and_one_without_an_identifier_is_refused() {
    use toise_contract::listings::Advert;
    let samples = samples::<Advert>(include_str!("../../../data/samples/adverts.json"));
    let mut rows = AdvertRows::default();
    for (_, advert) in &samples {
        rows.push(advert).unwrap();
    }
    let mut nameless = samples[0].1.clone();
    nameless.flx_id = None;
    assert_eq!(rows.push(&nameless), Err(Error::NoId));
    let batch = rows.finish().unwrap();
    assert_eq!(batch.num_rows(), samples.len());
    for (row, (record, _)) in samples.iter().enumerate() {
        let cell = |column| cell(&batch, row, column);
        assert_eq!(cell("url"), record["url"]);
        assert_eq!(cell("property_flx_id"), record["propertyFlxId"]);
        assert_eq!(
            cell("current_price_value").as_f64(),
            record["currentPrice"]["value"].as_f64()
        );
        assert_eq!(cell("is_online"), record["isOnline"]);
        assert_eq!(cell("seller_siren"), record["seller"]["siren"]);
    }
}
