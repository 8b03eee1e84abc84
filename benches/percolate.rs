//! "Which of 100,000 alerts does this match?": adverts per second against alerts of realistic shape, compared with a
//! plain loop over all alerts in the same run; the time and memory to load the alerts; and full ingestion with 10,000
//! alerts.
//!
//! `TOISE_BENCH_ALERTS` sets the number of alerts (default 100,000).

mod support;

use std::hint::black_box;
use std::time::{Duration, Instant};

use arrow::array::RecordBatch;
use chrono::Utc;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use serde_json::Value;
use toise::accounts::account;
use toise::alerts::AlertRegistry;
use toise::alerts::percolate::index::{AlertIndex, ROWS_MAX, Subscription};
use toise::alerts::request::{parse_alert, parse_alerts};
use toise::alerts::settings::AlertLimits;
use toise::base::clock::Clock;
use toise::contract::listings::filters::{ListingKind, ListingSearch};
use toise::engine::batch::DecodedBatch;
use toise::engine::predicate::Predicate;
use toise::listings::Listings;
use toise::listings::adverts::identity::IdentityRules;
use toise::listings::adverts::incoming::IncomingAdvert;
use toise::listings::adverts::prepare::{IngestDecision, prepare};
use toise::listings::columns::{AdvertRows, PropertyRows, adverts, properties};
use toise::listings::properties::property::build_property;
use toise::listings::properties::record_key::RecordKey;
use toise::store::Store;
use toise::store::new_id::NewId;
use toise::synth::adverts::{AdvertsRequest, DistortionLevel, MarketGenerator};
use toise::synth::alerts;

/// Batches used in rotation.
const BATCHES: usize = 16;
/// Alerts in the ingestion benchmark that has alerts.
const INGEST_ALERTS: u64 = 10_000;
/// Sightings per call: the endpoint's maximum.
const CALL: usize = 1_000;
/// Sightings in the store before the measurement.
const BEFORE: usize = 5_000;
/// Webhook URL of the alerts.
const HOOK: &str = "https://client.example/hook";
const WANTS: Subscription = Subscription {
    created: true,
    followed: false,
};

fn alert_count() -> u64 {
    let text = std::env::var("TOISE_BENCH_ALERTS").unwrap_or_default();
    text.replace('_', "").parse().unwrap_or(100_000)
}

/// New adverts as rows, and the properties that they form on their own.
fn batches() -> (Vec<RecordBatch>, Vec<RecordBatch>) {
    let market = MarketGenerator::new(AdvertsRequest::new(1_000_000, 3, DistortionLevel::Middle));
    let mut seen = market.observations().filter(|seen| seen.first);
    let (mut of_properties, mut of_adverts) = (Vec::new(), Vec::new());
    for _ in 0..BATCHES {
        let (mut property_rows, mut advert_rows) = (PropertyRows::default(), AdvertRows::default());
        for seen in seen.by_ref().take(ROWS_MAX) {
            let advert = serde_json::to_value(seen.advert).unwrap();
            let incoming =
                IncomingAdvert::read(advert, Utc::now(), &IdentityRules::default()).unwrap();
            let IngestDecision::Write(draft) =
                prepare(&incoming, None, Default::default()).unwrap()
            else {
                panic!("a new advert is written");
            };
            advert_rows.push(&draft.member.advert).unwrap();
            let id = draft.member.advert.flx_id.unwrap();
            let property = build_property(id, [&draft.member]);
            property_rows.push(RecordKey(0), &property).unwrap();
        }
        of_properties.push(property_rows.finish().unwrap());
        of_adverts.push(advert_rows.finish().unwrap());
    }
    (of_properties, of_adverts)
}

/// Resident memory, in bytes; 0 if the system does not report it.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = status
        .split(' ')
        .nth(1)
        .and_then(|pages| pages.parse().ok());
    pages.map_or(0, |pages: usize| pages * 4_096)
}

fn percolate(criterion: &mut Criterion) {
    let (of_properties, of_adverts) = batches();
    let count = alert_count();
    for (listing, schema, batches) in [
        (ListingKind::Property, properties(), of_properties),
        (ListingKind::Advert, adverts(), of_adverts),
    ] {
        let saved = alerts::AlertGenerator::new(listing, 1, HOOK);
        let bodies: Vec<Value> = (0..count).map(|number| saved.body(number)).collect();
        let mut index = AlertIndex::new(schema, None);
        let (started, before) = (Instant::now(), resident());
        for (number, body) in bodies.iter().enumerate() {
            let filter = parse_alert(listing, body).unwrap().search.filter;
            let search = ListingSearch {
                filter,
                ..ListingSearch::default()
            };
            index.upsert(number as i64, WANTS, &search).unwrap();
        }
        println!(
            "{count} alerts on {}: read and compiled in {:.2} s on one core, {} distinct clauses, {} bytes an alert",
            schema.name,
            started.elapsed().as_secs_f64(),
            index.clause_count(),
            resident().saturating_sub(before) as u64 / count.max(1),
        );
        let decoded = |rows: &RecordBatch| DecodedBatch::new(schema, rows.clone()).unwrap();
        let mut group = criterion.benchmark_group(format!("percolate_{}", schema.name));
        let mut turn = batches.iter().cycle();
        group.throughput(Throughput::Elements(ROWS_MAX as u64));
        group.bench_function(format!("indexed_{count}"), |bench| {
            bench.iter(|| {
                let batch = turn.next().map(decoded);
                batch.map(|batch| black_box(index.matches(&batch).unwrap()))
            });
        });
        let matches = batches
            .iter()
            .map(|rows| index.matches(&decoded(rows)).unwrap().len());
        let matches: usize = matches.sum();
        let matches = matches as f64 / (ROWS_MAX * batches.len()) as f64;
        println!("{matches:.2} matches an item");
        let id = format!("percolate_{}/matches", schema.name);
        support::figures::record(&id, "mean", matches, "alerts");
        group.throughput(Throughput::Elements(1));
        let lone: Vec<RecordBatch> = batches.iter().map(|rows| rows.slice(7, 1)).collect();
        let mut turn = lone.iter().cycle();
        group.bench_function(format!("one_at_a_time_{count}"), |bench| {
            bench.iter(|| {
                let batch = turn.next().map(decoded);
                batch.map(|batch| black_box(index.matches(&batch).unwrap()))
            });
        });
        drop(group);
        plain_loop(listing, &bodies, &mut index, &batches[0]);
    }
}

/// Evaluates every alert in sequence, timed against the index.
fn plain_loop(listing: ListingKind, bodies: &[Value], index: &mut AlertIndex, rows: &RecordBatch) {
    let schema = index.schema();
    let predicates: Vec<Predicate> = bodies
        .iter()
        .map(|body| parse_alert(listing, body).unwrap().search.filter)
        .map(|filter| Predicate::compile(schema, &filter).unwrap())
        .collect();
    let batch = DecodedBatch::new(schema, rows.clone()).unwrap();
    let started = Instant::now();
    let found: u64 = predicates
        .iter()
        .map(|predicate| batch.select(predicate).unwrap().count())
        .sum();
    let plain = started.elapsed();
    let started = Instant::now();
    let indexed = index.matches(&DecodedBatch::new(schema, rows.clone()).unwrap());
    let elapsed = started.elapsed();
    assert_eq!(found, indexed.unwrap().len() as u64);
    println!(
        "{}: a plain loop over {} alerts takes {:.2} ms a batch, {:.0} times the index",
        schema.name,
        bodies.len(),
        plain.as_secs_f64() * 1e3,
        plain.as_secs_f64() / elapsed.as_secs_f64(),
    );
}

fn ingest(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("ingest");
    group.sample_size(10);
    group.throughput(Throughput::Elements(CALL as u64));
    for count in [0, INGEST_ALERTS] {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let store = Store::open(folder.path()).unwrap();
        let clock = Clock::system();
        let account = account::find_or_create(&store, &clock, "default")
            .unwrap()
            .account_id;
        let registry = AlertRegistry::new(store.clone(), clock.clone(), AlertLimits::default());
        for listing in [ListingKind::Property, ListingKind::Advert] {
            let saved = alerts::AlertGenerator::new(listing, 1, HOOK);
            for first in (0..count / 2).step_by(100) {
                let bodies: Vec<Value> = (first..first + 100)
                    .map(|number| saved.body(number))
                    .collect();
                let many = parse_alerts(listing, &serde_json::json!({"alerts": bodies})).unwrap();
                registry
                    .create_many(account, listing, many, NewId::Random)
                    .unwrap();
            }
        }
        let listings = Listings::new(store, clock);
        let market =
            MarketGenerator::new(AdvertsRequest::new(10_000_000, 1, DistortionLevel::Middle));
        let mut sightings = market
            .observations()
            .map(|seen| serde_json::to_value(seen.advert).unwrap());
        let mut call = || sightings.by_ref().take(CALL).collect::<Vec<Value>>();
        for _ in 0..BEFORE / CALL {
            listings.ingest(call()).unwrap();
        }
        group.bench_function(format!("sightings_with_{count}_alerts"), |bench| {
            bench.iter_custom(|calls| {
                let mut elapsed = Duration::ZERO;
                for _ in 0..calls {
                    let adverts = call();
                    let started = Instant::now();
                    listings.ingest(adverts).unwrap();
                    elapsed += started.elapsed();
                }
                elapsed
            });
        });
    }
    group.finish();
}

criterion_group!(benches, percolate, ingest);
criterion_main!(benches);
