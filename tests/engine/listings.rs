//! Any filter over any listings gives the result of the contract, both with the engine's loops and with its expression.

use std::sync::Arc;

use arrow::array::{Array, AsArray, RecordBatch};
use datafusion::common::DFSchema;
use datafusion::logical_expr::execution_props::ExecutionProps;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::physical_expr::create_physical_expr;
use serde_json::{Value, json};
use toise::base::clock::Clock;
use toise::contract::filter::{Filter, position_columns};
use toise::contract::listings::filters::model::{FieldType, FilterLeaf, FilterModel, leaves};
use toise::contract::listings::filters::{FieldSubset, ListingKind, parse_search_query};
use toise::contract::listings::{Advert, Property};
use toise::contract::read::read;
use toise::engine::batch::DecodedBatch;
use toise::engine::cancellation::Interrupt;
use toise::engine::decoded::ZONE_ROWS;
use toise::engine::predicate::{Predicate, filter_expr};
use toise::engine::{Budget, Engine};
use toise::lake::schema::TableSchema;
use toise::lake::{Lake, RowSink};
use toise::listings::columns::{AdvertRows, PropertyRows, adverts, properties};
use toise::listings::properties::record_key::RecordKey;
use toise::store::Store;

use crate::support::draw::Draw;
use crate::support::sql::session_over;
use crate::support::{listings, reference_listings};

/// Listings as in responses, and as columns.
struct Listings {
    listing: ListingKind,
    schema: &'static TableSchema,
    records: Vec<Value>,
    rows: RecordBatch,
    batch: DecodedBatch,
}

impl Listings {
    fn new(listing: ListingKind, count: usize, draw: &mut Draw) -> Self {
        let mut drawn: Vec<Value> = (0..count)
            .map(|number| listings::record(listing, number, draw))
            .collect();
        // As in files: so that zones of rows differ.
        let latitude = |record: &Value| {
            let position = &record["location"]["locationCoordinate"]["location"];
            position[1].as_f64().unwrap_or_default()
        };
        if count > ZONE_ROWS {
            drawn.sort_by(|one, other| latitude(one).total_cmp(&latitude(other)));
        }
        Self::of(listing, drawn)
    }

    fn of(listing: ListingKind, written: Vec<Value>) -> Self {
        let (mut property_rows, mut advert_rows) = (PropertyRows::default(), AdvertRows::default());
        let mut records = Vec::new();
        for record in written {
            let written = match listing {
                ListingKind::Property => {
                    let property: Property =
                        read(&record).unwrap_or_else(|fault| panic!("{fault}: {record}"));
                    property_rows.push(RecordKey(0), &property).unwrap();
                    serde_json::to_value(property).unwrap()
                }
                ListingKind::Advert => {
                    let advert: Advert =
                        read(&record).unwrap_or_else(|fault| panic!("{fault}: {record}"));
                    advert_rows.push(&advert).unwrap();
                    serde_json::to_value(advert).unwrap()
                }
            };
            records.push(reference_listings::with_both_floors(written));
        }
        let (schema, rows) = match listing {
            ListingKind::Property => (properties(), property_rows.finish().unwrap()),
            ListingKind::Advert => (adverts(), advert_rows.finish().unwrap()),
        };
        let batch = DecodedBatch::new(schema, rows.clone()).unwrap();
        Self {
            listing,
            schema,
            records,
            rows,
            batch,
        }
    }

    /// Rows on which the filter's expression is true.
    fn by_expression(&self, filter: &Filter) -> Vec<usize> {
        let df_schema = DFSchema::try_from(Arc::clone(self.schema.arrow())).unwrap();
        let expression = create_physical_expr(
            &filter_expr(self.schema, filter).unwrap(),
            &df_schema,
            &ExecutionProps::new(),
            &PhysicalPlanningContext::default(),
        )
        .unwrap();
        let rows = self.rows.num_rows();
        let truth = expression
            .evaluate(&self.rows)
            .unwrap()
            .into_array(rows)
            .unwrap();
        let truth = truth.as_boolean().iter().enumerate();
        truth
            .filter(|(_, holds)| *holds == Some(true))
            .map(|(row, _)| row)
            .collect()
    }

    /// Compares the three evaluations of a filter; returns the number of rows that match.
    fn compare(&self, filter: &Value) -> usize {
        let query = json!({ (self.listing.filter_key()): filter });
        let parsed = parse_search_query(self.listing, &query)
            .unwrap_or_else(|fault| panic!("{fault}: {filter}"));
        let predicate = Predicate::compile(self.schema, &parsed).unwrap();
        let found = listings::selected(&self.batch, &predicate);
        let expected: Vec<usize> = (0..self.records.len())
            .filter(|row| reference_listings::matches(&self.records[*row], filter))
            .collect();
        assert_eq!(found, expected, "{filter}");
        assert_eq!(
            self.by_expression(&parsed),
            expected,
            "by expression: {filter}"
        );
        expected.len()
    }
}

fn check(listing: ListingKind, sizes: &[usize], questions: usize, seed: u64) {
    let mut draw = Draw::new(seed);
    for size in sizes {
        let listings = Listings::new(listing, *size, &mut draw);
        let (mut some, mut narrowed) = (0, 0);
        for _ in 0..questions {
            let filter = listings::filter(listing.filter_model(), &mut draw);
            let count = listings.compare(&filter);
            some += usize::from(count > 0);
            narrowed += usize::from(count < *size);
        }
        assert!(
            some > questions / 4 && narrowed > questions / 4,
            "{some}, {narrowed}"
        );
    }
}

#[test]
fn any_filter_of_properties_answers_as_the_contract_reads() {
    check(ListingKind::Property, &[40, 2_500], 120, 61);
}

#[test]
fn any_filter_of_adverts_answers_as_the_contract_reads() {
    check(ListingKind::Advert, &[40, 2_500], 120, 62);
}

/// A leaf of a filter, with the keys that lead to it and whether each holds a list.
struct SingleLeaf {
    takes: FieldType,
    steps: Vec<(&'static str, bool)>,
}

fn lone_leaves(model: &'static FilterModel, outer: &[(&'static str, bool)]) -> Vec<SingleLeaf> {
    let mut found = Vec::new();
    for field in model.fields {
        let steps = |is_list| [outer, &[(field.key, is_list)]].concat();
        match field.takes {
            FieldType::Model(inner) => found.extend(lone_leaves(inner, &steps(false))),
            FieldType::AnyModel(inner) | FieldType::SomeItem(inner) => {
                found.extend(lone_leaves(inner, &steps(true)));
            }
            // Refused where it stands alone.
            FieldType::TownName => {}
            takes => found.push(SingleLeaf {
                takes,
                steps: steps(false),
            }),
        }
    }
    found
}

#[test]
fn every_leaf_of_every_filter_selects_some_listings_and_not_others() {
    let mut draw = Draw::new(63);
    for (listing, least) in [(ListingKind::Property, 120), (ListingKind::Advert, 110)] {
        let listings = Listings::new(listing, 120, &mut draw);
        let leaves = lone_leaves(listing.filter_model(), &[]);
        assert!(leaves.len() >= least, "{} leaves", leaves.len());
        for SingleLeaf { takes, steps } in leaves {
            let (mut some, mut narrowed) = (0, 0);
            for draws in 0..40 {
                if draws >= 3 && some > 0 && narrowed > 0 {
                    break;
                }
                let mut filter = listings::asked(takes, &mut draw);
                for (key, is_list) in steps.iter().rev() {
                    filter = if *is_list {
                        json!({ (*key): [filter] })
                    } else {
                        json!({ (*key): filter })
                    };
                }
                let found = listings.compare(&filter);
                some += usize::from(found > 0);
                narrowed += usize::from(found < listings.records.len());
            }
            assert!(some > 0 && narrowed > 0, "{steps:?}: {some}, {narrowed}");
        }
    }
}

/// Adverts with all fields, seen twice: at another price the second time, when every second one is offline.
fn full_adverts(draw: &mut Draw) -> Vec<Value> {
    let mut sightings = Vec::new();
    for number in 0..60 {
        let mut advert = listings::record(ListingKind::Advert, number, draw);
        let property = listings::record(ListingKind::Property, number, draw);
        for part in ["habitation", "land", "parking", "process", "tags"] {
            if let Some(part_of_property) = property.get(part) {
                advert[part] = part_of_property.clone();
            }
        }
        for own in [
            "flxId",
            "propertyFlxId",
            "mainPropertyAdFlxId",
            "meta",
            "hasAnomaly",
        ] {
            advert.as_object_mut().unwrap().remove(own);
        }
        advert["url"] = json!(format!("https://un.example/{number}"));
        advert["source"] = json!("un.example");
        advert["type"] = json!("CLASS_FLAT");
        advert["offer"]["type"] = json!("OFFER_BUY");
        advert["location"]["postalCode"] = json!("48000");
        for (day, price, is_online) in [(1, 200_000, true), (2, 190_000, number % 2 == 0)] {
            let mut seen = advert.clone();
            let moment = json!(format!("2026-01-{day:02}T08:00:00Z"));
            seen["firstSeenAt"] = json!("2026-01-01T08:00:00Z");
            seen["lastSeenAt"] = moment;
            seen["currentPrice"] = json!({"value": price});
            seen["isOnline"] = json!(is_online);
            sightings.push(seen);
        }
    }
    sightings
}

/// Whether a leaf's column, or field of a list of structs, holds anything.
fn is_there(rows: &RecordBatch, leaf: &FilterLeaf) -> bool {
    let (list, name) = match leaf.column.split_once('.') {
        Some((list, name)) => (Some(list), name),
        None => (None, leaf.column.as_str()),
    };
    let name = match leaf.takes {
        FieldType::LatLng(_) | FieldType::Point(_) => position_columns(name)[0].to_string(),
        _ => name.to_owned(),
    };
    let values = match list {
        None => rows.column_by_name(&name),
        Some(list) => {
            let items = rows.column_by_name(list).unwrap().as_list::<i32>().values();
            items.as_struct().column_by_name(&name)
        }
    };
    let values = values.unwrap_or_else(|| panic!("{name}"));
    match values.as_list_opt::<i32>() {
        Some(lists) => !lists.values().is_empty(),
        None => values.null_count() < values.len(),
    }
}

#[test]
fn every_leaf_of_every_filter_has_a_value_in_some_listing_that_was_ingested() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let clock = Clock::steered("2026-01-05T12:00:00Z".parse().unwrap());
    let stored = toise::listings::Listings::new(store, clock);
    for outcome in stored.ingest(full_adverts(&mut Draw::new(64))).unwrap() {
        outcome.unwrap();
    }
    for listing in [ListingKind::Property, ListingKind::Advert] {
        let changes = stored.changes_since(listing, 0, 10_000).unwrap();
        let records = changes.records.into_iter().filter_map(|one| one.record);
        let records = records.map(|record| serde_json::from_slice(&record).unwrap());
        let rows = Listings::of(listing, records.collect()).rows;
        let missing = leaves(listing.filter_model(), FieldSubset::Whole).into_iter();
        let missing: Vec<String> = missing
            .filter(|leaf| !is_there(&rows, leaf))
            .map(|leaf| leaf.path)
            .collect();
        assert_eq!(missing, [""; 0], "{listing:?}");
    }
}

/// Listings in a lake from several imports, some of them with changed values.
struct LakeListings {
    listings: Listings,
    engine: Engine,
    _folder: tempfile::TempDir,
}

impl LakeListings {
    fn new(listing: ListingKind, count: usize, draw: &mut Draw) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let lake = Lake::open(folder.path()).unwrap();
        let former = Listings::new(listing, count / 3, draw);
        let listings = Listings::new(listing, count, draw);
        let last = listings.rows.slice(count / 2, count - count / 2);
        for rows in [former.rows, listings.rows.slice(0, count / 2), last] {
            let mut import = lake.import(listings.schema).unwrap();
            import.push(rows).unwrap();
            import.publish(Vec::new(), Vec::new()).unwrap();
        }
        let engine = Engine::open(folder.path(), &[listings.schema], Budget::default()).unwrap();
        Self {
            listings,
            engine,
            _folder: folder,
        }
    }

    /// Identifiers of the listings a filter selects, in their order.
    fn found(&self, filter: &Filter) -> Vec<String> {
        let schema = self.listings.schema;
        let view = self.engine.view(schema).unwrap();
        let predicate = Predicate::compile(schema, filter).unwrap();
        let (id, _) = schema.column(schema.id).unwrap();
        let states = self
            .engine
            .scan(
                &view,
                &predicate,
                &Interrupt::default(),
                Vec::new,
                |found, visited| {
                    let ids = visited.column(id)?;
                    let ids = ids.values.as_string::<i32>();
                    visited.selected.for_each(|row| {
                        found.push(ids.value(row).to_owned());
                    });
                    Ok(())
                },
            )
            .unwrap();
        let mut found: Vec<String> = states.into_iter().flatten().collect();
        found.sort_unstable();
        found
    }
}

async fn check_in_lake(listing: ListingKind, seed: u64) {
    let mut draw = Draw::new(seed);
    let lake = LakeListings::new(listing, 1_500, &mut draw);
    let session = session_over(&lake.engine, Vec::new(), Vec::new()).unwrap();
    for question in 0..60 {
        let filter = listings::filter(listing.filter_model(), &mut draw);
        let query = json!({ (listing.filter_key()): filter });
        let parsed = parse_search_query(listing, &query).unwrap();
        let records = lake.listings.records.iter();
        let mut expected: Vec<&str> = records
            .filter(|record| reference_listings::matches(record, &filter))
            .map(|record| record["flxId"].as_str().unwrap())
            .collect();
        expected.sort_unstable();
        assert_eq!(lake.found(&parsed), expected, "{filter}");
        if question % 6 == 0 {
            let rows = session
                .context()
                .table(lake.listings.schema.name)
                .await
                .unwrap();
            let expression = filter_expr(lake.listings.schema, &parsed).unwrap();
            let count = rows.filter(expression).unwrap().count().await.unwrap();
            assert_eq!(count, expected.len(), "in SQL: {filter}");
        }
    }
}

#[tokio::test]
async fn properties_in_files_answer_as_those_in_memory_and_sql_as_both() {
    check_in_lake(ListingKind::Property, 64).await;
}

#[tokio::test]
async fn adverts_in_files_answer_as_those_in_memory_and_sql_as_both() {
    check_in_lake(ListingKind::Advert, 65).await;
}

#[test]
fn files_without_a_fitting_advert_are_not_looked_into() {
    let folder = tempfile::tempdir().unwrap();
    let lake = Lake::open(folder.path()).unwrap();
    // The second import is too small to be merged with the first.
    for (first, count, portal, price) in [(0, 30, "un.example", 100), (30, 10, "deux.example", 900)]
    {
        let mut rows = PropertyRows::default();
        for number in first..first + count {
            let adverts = match number % 3 {
                0 => json!([]),
                _ => {
                    json!([{"isOnline": true}, {"source": portal, "price": {"latest": {"value": price}}}])
                }
            };
            let id = format!("019a53c0-7a55-7c40-8a11-{number:012x}");
            rows.push(
                RecordKey(0),
                &read(&json!({"flxId": id, "adverts": adverts})).unwrap(),
            )
            .unwrap();
        }
        let mut import = lake.import(properties()).unwrap();
        import.push(rows.finish().unwrap()).unwrap();
        import.publish(Vec::new(), Vec::new()).unwrap();
    }
    let engine = Engine::open(folder.path(), &[properties()], Budget::default()).unwrap();
    let view = engine.view(properties()).unwrap();
    let looked_into = |advert: Value| -> Vec<u32> {
        let query = json!({"filterProperty": {"adverts": [advert]}});
        let filter = parse_search_query(ListingKind::Property, &query).unwrap();
        let predicate = Predicate::compile(properties(), &filter).unwrap();
        let chunks = view.chunks().iter();
        chunks
            .filter(|chunk| predicate.may_match(chunk))
            .map(|chunk| chunk.rows)
            .collect()
    };
    assert_eq!(
        looked_into(json!({"source": {"website": "deux.example"}})),
        [10]
    );
    assert_eq!(
        looked_into(json!({"price": {"latest": {"value": {"max": 500}}}})),
        [30]
    );
    assert_eq!(looked_into(json!({"isOnline": true})), [30, 10]);
    assert_eq!(looked_into(json!({"hasAnomaly": true})), [0; 0]);
}

#[test]
fn conditions_of_one_entry_hold_on_the_same_advert() {
    let advert = |source: &str, is_online: bool| json!({"source": source, "isOnline": is_online});
    let records = [
        json!({"flxId": "019a53c0-7a55-7c40-8a11-000000000001",
            "adverts": [advert("un.example", true), advert("deux.example", false)]}),
        json!({"flxId": "019a53c0-7a55-7c40-8a11-000000000002", "adverts": [advert("deux.example", true)]}),
        json!({"flxId": "019a53c0-7a55-7c40-8a11-000000000003", "adverts": []}),
    ];
    let mut rows = PropertyRows::default();
    for record in &records {
        rows.push(RecordKey(0), &read(record).unwrap()).unwrap();
    }
    let batch = DecodedBatch::new(properties(), rows.finish().unwrap()).unwrap();
    let found = |adverts: Value| -> Vec<usize> {
        let query = json!({"filterProperty": {"adverts": adverts}});
        let filter = parse_search_query(ListingKind::Property, &query).unwrap();
        let predicate = Predicate::compile(properties(), &filter).unwrap();
        listings::selected(&batch, &predicate)
    };
    let both = |website: &str| json!({"source": {"website": website}, "isOnline": true});
    assert_eq!(found(json!([both("deux.example")])), [1]);
    assert_eq!(
        found(json!([both("un.example"), both("deux.example")])),
        [0, 1]
    );
    assert_eq!(found(json!([{"isOnline": false}])), [0]);
    assert_eq!(found(json!([])), [0, 1, 2]);
}
