//! "Which homes are for sale here?": a page of a hundred whole properties with the exact total, with and without a
//! place, by full text, and the total alone. Compared with DataFusion's SQL over the same files, which returns
//! identifiers only.

mod support;

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use serde_json::{Value, json};
use support::{Sql, compare};
use toise::base::clock::Clock;
use toise::base::progress::Progress;
use toise::contract::cursor::CursorKey;
use toise::contract::listings::filters::{FieldSubset, PropertySearchRequest, parse_search};
use toise::engine::cancellation::Interrupt;
use toise::engine::{Budget, Engine};
use toise::lake::Lake;
use toise::listings::Listings;
use toise::listings::adverts::identity::IdentityRules;
use toise::listings::columns::properties;
use toise::listings::properties::record_key::RecordKey;
use toise::listings::search::projection::{Compaction, Projection};
use toise::listings::search::texts::TextSearch;
use toise::store::Store;
use toise::synth::adverts::{AdvertsRequest, DistortionLevel};
use toise::synth::listings::generate_into_listings;

/// The data folder, created on first use. It has as many adverts as other benches have rows, and two thirds as many
/// properties.
fn data() -> PathBuf {
    let name = format!("bench-listings-{}", support::rows());
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let done = folder.join("done");
    if !done.exists() {
        let _ = std::fs::remove_dir_all(&folder);
        let request = AdvertsRequest::new(support::rows(), 1, DistortionLevel::Middle);
        generate_into_listings(
            &folder,
            request,
            None,
            &IdentityRules::default(),
            Progress::silent(),
        )
        .unwrap();
        std::fs::write(done, "").unwrap();
    }
    folder
}

fn open(data: &Path) -> (Projection, Arc<Engine>) {
    let listings = Listings::new(Store::open(data).unwrap(), Clock::system());
    let engine = Arc::new(Engine::open(data, &[properties()], Budget::default()).unwrap());
    let (lake, texts) = (Lake::open(data).unwrap(), TextSearch::open(data));
    let here = Compaction::Here;
    let opened = Projection::open(listings, Arc::clone(&engine), lake, texts, here);
    (opened.unwrap(), engine)
}

fn request(filter: Value, full_texts: &[&str]) -> PropertySearchRequest {
    let body = json!({
        "search": {"filterProperty": filter, "fullTexts": full_texts},
        "sortBy": "PRICE", "orderBy": "DESC", "size": 100,
    });
    parse_search(FieldSubset::Whole, &body, &CursorKey::new([7; 32])).unwrap()
}

/// A page with its records, as in the endpoint's response.
fn search(projection: &Projection, request: &PropertySearchRequest) -> u64 {
    let page = projection.search(request, &Interrupt::default()).unwrap();
    let keys: Vec<RecordKey> = page.items.iter().map(|found| found.key).collect();
    let mut records = Vec::new();
    let listings = projection.listings();
    listings.write_properties(&keys, &mut records).unwrap();
    assert!(!black_box(records).is_empty());
    page.count
}

/// A condition on the position.
fn place(kind: &str, shape: &Value) -> Value {
    json!({"locationCoordinate": {"location": {kind: shape}}})
}

/// An area of 200 vertices around a commune, and the box around it.
fn star(sql: &Sql, commune: &str) -> (Value, Value) {
    let middle = |column: &str| {
        let query =
            format!("select avg({column}) from properties where location_insee_code = '{commune}'");
        sql.text(&query).parse::<f64>().unwrap()
    };
    let (lat, lon) = (middle("lat"), middle("lon"));
    let mut ring: Vec<[f64; 2]> = (0..200)
        .map(|nth| {
            let angle = f64::from(nth) / 200.0 * std::f64::consts::TAU;
            let reach = if nth % 2 == 0 { 0.1 } else { 0.08 };
            [lon + reach * angle.cos(), lat + reach * angle.sin()]
        })
        .collect();
    ring.push(ring[0]);
    let corner = |lat: f64, lon: f64| json!({"lat": lat, "lon": lon});
    let around = json!({
        "topLeft": corner(lat + 0.1, lon - 0.1), "bottomRight": corner(lat - 0.1, lon + 0.1),
    });
    (around, json!({"type": "Polygon", "coordinates": [ring]}))
}

fn search_properties(criterion: &mut Criterion) {
    let (projection, engine) = open(&data());
    let sql = Sql::of(&engine);
    let commune = sql.text(
        "select location_insee_code from properties where location_insee_code is not null \
         group by 1 order by count(*) desc, 1 limit 1",
    );
    let ranges = json!({
        "habitation": {"surface": {"total": {"min": 40, "max": 90}}},
        "price": {"latest": {"value": {"max": 2_000_000}}},
    });
    let in_sql = "habitation_surface_total between 40 and 90 and price_latest_value <= 2000000";
    let mut in_commune = ranges.clone();
    in_commune["location"] = json!([{"inseeCode": commune}]);
    let (placed, unplaced) = (request(in_commune, &[]), request(ranges, &[]));
    let words = request(json!({}), &["gardien"]);

    let (centre, star) = star(&sql, &commune);
    let in_box = request(json!({"location": [place("geoBoundingBox", &centre)]}), &[]);
    let in_area = request(json!({"location": [place("area", &star)]}), &[]);

    let mut group = criterion.benchmark_group("search_properties");
    group.throughput(Throughput::Elements(1));
    for (name, asked) in [
        ("placed", &placed),
        ("unplaced", &unplaced),
        ("words", &words),
        ("box", &in_box),
        ("area", &in_area),
    ] {
        group.bench_function(name, |bench| bench.iter(|| search(&projection, asked)));
    }
    group.bench_function("count", |bench| {
        bench.iter(|| {
            projection
                .count(&unplaced.search, &Interrupt::default())
                .unwrap()
        });
    });
    group.finish();

    let ids = |condition: &str| {
        let page = "select flx_id from properties where";
        let order = "order by price_latest_value desc nulls last, flx_id limit 100";
        assert!(!sql.ask(&format!("{page} {condition} {order}")).is_empty());
        let total = format!("select count(*) from properties where {condition}");
        sql.text(&total).parse::<u64>().unwrap()
    };
    compare(
        "search_properties/placed",
        || search(&projection, &placed),
        || ids(&format!("location_insee_code = '{commune}' and {in_sql}")),
    );
    compare(
        "search_properties/unplaced",
        || search(&projection, &unplaced),
        || ids(in_sql),
    );
}

criterion_group!(benches, search_properties);
criterion_main!(benches);
