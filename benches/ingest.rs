//! "How many adverts can be ingested per second?": sightings as portals send them (new adverts, price changes, ends).
//! Each is deduplicated, and durable when counted. The store grows from one measurement to the next.

use std::time::{Duration, Instant};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use serde_json::Value;
use toise::base::clock::Clock;
use toise::listings::Listings;
use toise::store::Store;
use toise::synth::adverts::{AdvertsRequest, DistortionLevel, MarketGenerator};

/// Sightings per call: the endpoint's maximum.
const CALL: usize = 1_000;
/// Sightings in the store before the measurement.
const BEFORE: usize = 20_000;
/// More adverts than any run needs.
const MARKET: u64 = 10_000_000;

fn ingest(criterion: &mut Criterion) {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let store = Store::open(folder.path()).unwrap();
    let listings = Listings::new(store, Clock::system());
    let market = MarketGenerator::new(AdvertsRequest::new(MARKET, 1, DistortionLevel::Middle));
    let mut sightings = market
        .observations()
        .map(|seen| serde_json::to_value(seen.advert).unwrap());
    let mut call = || sightings.by_ref().take(CALL).collect::<Vec<Value>>();
    for _ in 0..BEFORE / CALL {
        listings.ingest(call()).unwrap();
    }
    let mut group = criterion.benchmark_group("ingest");
    group.sample_size(10);
    group.throughput(Throughput::Elements(CALL as u64));
    group.bench_function("sightings_durable_with_dedup", |bench| {
        bench.iter_custom(|calls| {
            let mut elapsed = Duration::ZERO;
            for _ in 0..calls {
                let adverts = call();
                let started = Instant::now();
                let outcomes = listings.ingest(adverts).unwrap();
                elapsed += started.elapsed();
                assert!(outcomes.iter().all(|outcome| outcome.is_ok()));
            }
            elapsed
        });
    });
    group.finish();
}

criterion_group!(benches, ingest);
criterion_main!(benches);
