//! The index of alerts finds exactly what the predicate of each alert selects: no key excludes a match.

use serde_json::json;
use toise::alerts::percolate::index::{AlertIndex, AlertMatch, ROWS_MAX, Subscription};
use toise::contract::filter::Filter;
use toise::contract::listings::filters::{ListingKind, ListingSearch, parse_search_query};
use toise::contract::read::read;
use toise::engine::batch::DecodedBatch;
use toise::engine::predicate::Predicate;
use toise::lake::schema::TableSchema;
use toise::listings::columns::{AdvertRows, PropertyRows, adverts, properties};
use toise::listings::properties::record_key::RecordKey;

use crate::support::draw::Draw;
use crate::support::listings;

const WANTS: Subscription = Subscription {
    created: true,
    followed: false,
};

fn table(listing: ListingKind) -> &'static TableSchema {
    match listing {
        ListingKind::Property => properties(),
        ListingKind::Advert => adverts(),
    }
}

fn batch(listing: ListingKind, count: usize, draw: &mut Draw) -> DecodedBatch {
    let (mut property_rows, mut advert_rows) = (PropertyRows::default(), AdvertRows::default());
    for number in 0..count {
        let record = listings::record(listing, number, draw);
        match listing {
            ListingKind::Property => property_rows
                .push(RecordKey(0), &read(&record).unwrap())
                .unwrap(),
            ListingKind::Advert => advert_rows.push(&read(&record).unwrap()).unwrap(),
        }
    }
    let rows = match listing {
        ListingKind::Property => property_rows.finish().unwrap(),
        ListingKind::Advert => advert_rows.finish().unwrap(),
    };
    DecodedBatch::new(table(listing), rows).unwrap()
}

fn filter(listing: ListingKind, draw: &mut Draw) -> Filter {
    let filter = listings::filter(listing.filter_model(), draw);
    parse_search_query(listing, &json!({ (listing.filter_key()): filter })).unwrap()
}

/// The search of an alert without texts.
fn search(filter: &Filter) -> ListingSearch {
    ListingSearch {
        filter: filter.clone(),
        ..ListingSearch::default()
    }
}

/// The selections of the predicates of all alerts, evaluated one by one.
fn plainly(
    listing: ListingKind,
    batch: &DecodedBatch,
    alerts: &[(i64, Filter)],
) -> Vec<AlertMatch> {
    let mut found = Vec::new();
    for (alert, filter) in alerts {
        let predicate = Predicate::compile(table(listing), filter).unwrap();
        let rows = listings::selected(batch, &predicate).into_iter();
        found.extend(rows.map(|row| AlertMatch { row, alert: *alert }));
    }
    found.sort_unstable();
    found
}

fn check(listing: ListingKind, seed: u64) {
    let mut draw = Draw::new(seed);
    let mut index = AlertIndex::new(table(listing), None);
    let mut alerts: Vec<(i64, Filter)> = (0..400)
        .map(|alert| (alert, filter(listing, &mut draw)))
        .collect();
    for (alert, filter) in &alerts {
        index.upsert(*alert, WANTS, &search(filter)).unwrap();
    }
    let mut matched = 0;
    for round in 0..12 {
        let count = *draw.one_of(&[0, 1, 30, ROWS_MAX]);
        let batch = batch(listing, count, &mut draw);
        let found = index.matches(&batch).unwrap();
        assert_eq!(found, plainly(listing, &batch, &alerts), "round {round}");
        matched += found.len();
        // Some alerts are removed and some change; clauses that they share with others remain.
        draw.shuffle(&mut alerts);
        for (alert, _) in alerts.drain(..20) {
            index.remove(alert);
            assert_eq!(index.subscription(alert), None);
        }
        for (alert, own) in &mut alerts[..20] {
            *own = filter(listing, &mut draw);
            index.upsert(*alert, WANTS, &search(own)).unwrap();
        }
        assert_eq!(index.len(), alerts.len());
    }
    assert!(matched > 10_000, "{matched}");
    for (alert, _) in alerts {
        index.remove(alert);
    }
    assert!(index.is_empty() && index.clause_count() == 0);
}

#[test]
fn alerts_on_properties_are_found_by_what_they_cannot_match_without() {
    check(ListingKind::Property, 91);
}

#[test]
fn alerts_on_adverts_are_found_by_what_they_cannot_match_without() {
    check(ListingKind::Advert, 92);
}

#[test]
fn more_rows_than_a_word_has_bits_are_refused() {
    let mut draw = Draw::new(93);
    let batch = batch(ListingKind::Advert, ROWS_MAX + 1, &mut draw);
    let error = AlertIndex::new(adverts(), None)
        .matches(&batch)
        .unwrap_err();
    assert!(error.to_string().contains("at most 128"), "{error}");
}
