//! Compares previews of alerts with a plain evaluation of the records in the store, with rows in memory and in files.

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use chrono::{DateTime, Days, NaiveDate, TimeZone, Utc};
use serde_json::{Value, json};
use toise::base::clock::Clock;
use toise::contract::listings::filters::{ListingKind, parse_saved_search};
use toise::engine::cancellation::Interrupt;
use toise::listings::Listings;
use toise::listings::search::preview::ITEMS_MAX;
use toise::store::Store;

use crate::support::alerts::{flat, with};
use crate::support::draw::Draw;
use crate::support::{projection, reference_listings};

const SIGHTINGS: usize = 40;

/// Every record, read from the store.
fn records(listings: &Listings, of: ListingKind) -> Vec<Value> {
    let changes = listings.changes_since(of, 0, 10_000).unwrap();
    let there = changes.records.into_iter();
    let texts = there.filter_map(|change| change.record);
    texts
        .map(|text| reference_listings::with_both_floors(serde_json::from_slice(&text).unwrap()))
        .collect()
}

fn first_seen(record: &Value) -> DateTime<Utc> {
    reference_listings::start(record["meta"]["firstSeenAt"].as_str().unwrap())
}

#[test]
fn a_preview_counts_what_a_plain_reading_counts_before_and_after_folds() {
    let folder = tempfile::tempdir().unwrap();
    let now = Utc.with_ymd_and_hms(2026, 11, 21, 12, 0, 0).unwrap();
    let store = Store::open(folder.path()).unwrap();
    let listings = Listings::new(store, Clock::steered(now));
    let projection = projection(folder.path(), listings.clone());
    let mut draw = Draw::new(29);
    let mut matched = 0;
    for round in 0..6 {
        let sightings = (0..SIGHTINGS).map(|_| {
            let number = draw.below(60) as u64;
            let hours = draw.below(24 * 20) as i64;
            let seen = (now - chrono::Duration::hours(hours)).to_rfc3339();
            let price = 200_000 + 10_000 * draw.below(20);
            let fields = json!({"lastSeenAt": seen, "firstSeenAt": seen, "isOnline": draw.once_in(2),
                "currentPrice": {"value": price}});
            with(flat("a", number, number / 2), fields)
        });
        for outcome in listings.ingest(sightings.collect()).unwrap() {
            outcome.unwrap();
        }
        for (listing, filters) in [
            (
                ListingKind::Property,
                [
                    json!({}),
                    json!({"meta": {"isTotallyOffline": false}, "price": {"latest": {"value": {"max": 300_000}}}}),
                ],
            ),
            (
                ListingKind::Advert,
                [
                    json!({}),
                    json!({"isOnline": true, "currentPrice": {"value": {"max": 300_000}}}),
                ],
            ),
        ] {
            if round % 3 == 1 {
                projection.compact(listing).unwrap();
            }
            projection.refresh().unwrap();
            let records = records(&listings, listing);
            for filter in filters {
                let days = 1 + draw.below(25);
                let query = json!({ (listing.filter_key()): filter });
                let parsed = parse_saved_search(listing, &query).unwrap();
                let found = projection.preview(listing, &parsed, days, &Interrupt::default());
                let found = found.unwrap();
                let first = now.date_naive() - Days::new(days as u64 - 1);
                let mut expected: Vec<&Value> = records
                    .iter()
                    .filter(|record| reference_listings::matches(record, &filter))
                    .filter(|record| first_seen(record).date_naive() >= first)
                    .collect();
                let on = |day: NaiveDate| {
                    let same = |record: &&&Value| first_seen(record).date_naive() == day;
                    expected.iter().filter(same).count() as u64
                };
                let per_day: Vec<_> = first
                    .iter_days()
                    .take(days)
                    .map(|day| (day, on(day)))
                    .collect();
                assert_eq!(found.per_day, per_day, "round {round}, {query}");
                assert_eq!(found.count(), expected.len() as u64);
                expected.sort_by_key(|record| {
                    (
                        std::cmp::Reverse(first_seen(record)),
                        record["flxId"].to_string(),
                    )
                });
                let ids = expected
                    .iter()
                    .take(ITEMS_MAX)
                    .map(|record| &record["flxId"]);
                assert_eq!(json!(found.items), json!(ids.collect::<Vec<_>>()));
                matched += expected.len();
            }
        }
    }
    assert!(matched > 150, "{matched}");
}

#[test]
fn previews_asked_at_once_on_a_pool_of_two_threads_all_end() {
    /// Several cores lay out parts at the same time, so threads wait for each other's parts.
    const ADVERTS: u64 = 1_400;
    const AT_ONCE: usize = 12;
    let folder = tempfile::tempdir().unwrap();
    let now = Utc.with_ymd_and_hms(2026, 11, 21, 12, 0, 0).unwrap();
    let store = Store::open(folder.path()).unwrap();
    let listings = Listings::new(store, Clock::steered(now));
    let projection = Arc::new(projection(folder.path(), listings.clone()));
    let sightings = (0..ADVERTS).map(|number| {
        json!({"url": format!("https://un.example/{number}"), "source": "un.example", "type": "CLASS_FLAT",
            "offer": {"type": "OFFER_BUY"}, "currentPrice": {"value": 50_000 + 1_000 * number},
            "location": {"postalCode": format!("{:05}", 1_000 + 50 * number)},
            "lastSeenAt": "2026-11-21T08:00:00Z"})
    });
    for outcome in listings.ingest(sightings.collect()).unwrap() {
        outcome.unwrap();
    }
    let query = json!({"filterAd": {}});
    let parsed = Arc::new(parse_saved_search(ListingKind::Advert, &query).unwrap());
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(2)
        .build()
        .unwrap();
    let (told, heard) = channel();
    for _ in 0..AT_ONCE {
        let (projection, parsed, told) = (projection.clone(), parsed.clone(), told.clone());
        pool.spawn(move || {
            let found = projection.preview(ListingKind::Advert, &parsed, 30, &Interrupt::default());
            told.send(found.unwrap().count()).unwrap();
        });
    }
    for _ in 0..AT_ONCE {
        let count = heard.recv_timeout(Duration::from_secs(60));
        assert_eq!(count, Ok(ADVERTS), "previews wait for each other");
    }
}
