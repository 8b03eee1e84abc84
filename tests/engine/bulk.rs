//! Loading empty listings in bulk gives the same result as ingesting every sighting, and is ready for queries.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use chrono::DateTime;
use rusqlite::Connection;
use rusqlite::types::Value as Cell;
use serde_json::{Value, json};
use toise::base::clock::Clock;
use toise::base::progress::Progress;
use toise::contract::cursor::CursorKey;
use toise::contract::listings::codes::FlxId;
use toise::contract::listings::filters::{FieldSubset, ListingKind, parse_search};
use toise::engine::cancellation::Interrupt;
use toise::lake::Lake;
use toise::listings::Listings;
use toise::listings::adverts::identity::IdentityRules;
use toise::listings::columns::{adverts, properties};
use toise::listings::load::bulk::{self, BulkLoadSummary};
use toise::listings::search::projection::Projection;
use toise::listings::search::projection::compaction::compact;
use toise::listings::search::texts::TextSearch;
use toise::store::Store;
use toise::synth::adverts::{AdvertsRequest, DistortionLevel, MarketDensity, MarketGenerator};
use toise::synth::listings::generate_into_listings;

use crate::support::draw::Draw;
use crate::support::sql::{answered, session};
use crate::support::{listings, projection};

/// The listings of a folder after all sightings of a market.
struct ListingsFixture {
    folder: tempfile::TempDir,
    store: Store,
    listings: Listings,
}

/// A property without identifiers: its adverts and sources are named by their URLs.
type Anonymous = Value;

impl ListingsFixture {
    fn open(folder: tempfile::TempDir, request: AdvertsRequest) -> Self {
        let end = DateTime::from_timestamp(request.until_s, 0).unwrap();
        let store = Store::open(folder.path()).unwrap();
        Self {
            listings: Listings::new(store.clone(), Clock::steered(end)),
            store,
            folder,
        }
    }

    /// Ingests every sighting of a market, in order of arrival.
    fn ingested(request: AdvertsRequest) -> Self {
        let desk = Self::open(tempfile::tempdir().unwrap(), request);
        let market = MarketGenerator::new(request);
        let sightings: Vec<Value> = market
            .observations()
            .map(|seen| serde_json::to_value(seen.advert).unwrap())
            .collect();
        for outcome in desk.listings.ingest(sightings).unwrap() {
            outcome.unwrap();
        }
        desk
    }

    /// The same market at once.
    fn filled(request: AdvertsRequest) -> (Self, BulkLoadSummary) {
        let folder = tempfile::tempdir().unwrap();
        let filled = generate_into_listings(
            folder.path(),
            request,
            None,
            &IdentityRules::default(),
            Progress::silent(),
        )
        .unwrap();
        (Self::open(folder, request), filled)
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Rows of a query, sorted.
    fn rows(&self, sql: &str) -> Vec<String> {
        let reading = |connection: &Connection| {
            let mut statement = connection.prepare(sql)?;
            let width = statement.column_count();
            let rows = statement.query_map([], |row| {
                let cells = (0..width).map(|column| row.get(column));
                let cells: Vec<Cell> = cells.collect::<rusqlite::Result<_>>()?;
                Ok(format!("{cells:?}"))
            })?;
            rows.collect::<rusqlite::Result<Vec<String>>>()
        };
        let mut rows = self.store.read(reading).unwrap();
        rows.sort();
        rows
    }

    /// Every record of the store: adverts by address, and properties.
    fn records(&self) -> (BTreeMap<String, Value>, Vec<Value>) {
        let every = |of: ListingKind| {
            let (mut records, mut through) = (Vec::<Value>::new(), 0);
            loop {
                let changes = self.listings.changes_since(of, through, 1_000).unwrap();
                if changes.through == through {
                    return records;
                }
                through = changes.through;
                let texts = changes
                    .records
                    .into_iter()
                    .filter_map(|change| change.record);
                records.extend(texts.map(|text| serde_json::from_slice::<Value>(&text).unwrap()));
            }
        };
        let adverts = every(ListingKind::Advert).into_iter();
        let by_address = |advert: Value| (advert["url"].as_str().unwrap().to_owned(), advert);
        (
            adverts.map(by_address).collect(),
            every(ListingKind::Property),
        )
    }

    /// Every property by the URLs of its adverts.
    fn properties(&self) -> BTreeMap<BTreeSet<String>, Anonymous> {
        let (adverts, properties) = self.records();
        let addresses: HashMap<&str, &str> = adverts
            .iter()
            .map(|(url, advert)| (advert["flxId"].as_str().unwrap(), url.as_str()))
            .collect();
        let anonymous = properties.into_iter().map(|mut property| {
            name_by_address(&mut property, &addresses);
            let adverts = property["adverts"].as_array().unwrap().iter();
            let urls = adverts.map(|advert| advert["url"].as_str().unwrap().to_owned());
            (urls.collect(), property)
        });
        anonymous.collect()
    }
}

/// Replaces the identifier of an advert by its URL, and that of a property by the URL of its first advert.
fn name_by_address(record: &mut Value, addresses: &HashMap<&str, &str>) {
    match record {
        Value::String(text) => {
            if let Some(url) = addresses.get(text.as_str()) {
                *text = (*url).to_owned();
            }
        }
        Value::Array(items) => items
            .iter_mut()
            .for_each(|item| name_by_address(item, addresses)),
        Value::Object(fields) => fields
            .values_mut()
            .for_each(|value| name_by_address(value, addresses)),
        _ => {}
    }
}

fn markets() -> Vec<AdvertsRequest> {
    let mut draw = Draw::new(23);
    DistortionLevel::ALL
        .into_iter()
        .map(|level| {
            let adverts = 100 + draw.below(250) as u64;
            let seed = draw.below(10_000) as u64;
            AdvertsRequest {
                spread: *draw.one_of(&[MarketDensity::Country, MarketDensity::Dense]),
                ..AdvertsRequest::new(adverts, seed, level)
            }
        })
        .collect()
}

/// Data of adverts that the store keeps in addition to their records.
const ADVERTS: &str =
    "SELECT url_digest, observed_at_ms, first_seen_at_ms, modified_at_ms, published_at_ms,
    online_at_ms, offline_at_ms, initial_price, previous_price, derived, anomalies FROM adverts";
/// Data by which adverts are found and compared.
const FINGERPRINTS: &str =
    "SELECT url_digest, keys, fingerprint FROM adverts JOIN fingerprints USING (advert)";
const BLOCKS: &str = "SELECT url_digest, key FROM adverts JOIN blocks USING (advert)";
/// Events of adverts, in order.
const EVENTS: &str = "SELECT url_digest, row_number() OVER (PARTITION BY advert ORDER BY event), type, occurred_at_ms,
    advert_events.previous_price, previous_is_online FROM adverts JOIN advert_events USING (advert)";

#[test]
fn filling_at_once_comes_to_what_ingesting_every_sighting_comes_to() {
    let (mut assets, mut found) = (0, 0);
    for request in markets() {
        let ingested = ListingsFixture::ingested(request);
        let (filled, report) = ListingsFixture::filled(request);
        for (name, sql) in [
            ("adverts", ADVERTS),
            ("fingerprints", FINGERPRINTS),
            ("blocks", BLOCKS),
            ("events", EVENTS),
        ] {
            let rows = filled.rows(sql);
            // Thin adverts are seen once, so they have no events.
            let is_eventless = request.level == DistortionLevel::Thin && name == "events";
            assert!(!rows.is_empty() || is_eventless);
            assert!(rows == ingested.rows(sql), "{name} of {request:?}");
        }
        let same_but_for_ids = |mut advert: Value| {
            let fields = advert.as_object_mut().unwrap();
            for id in ["flxId", "propertyFlxId", "mainPropertyAdFlxId"] {
                assert!(fields.shift_remove(id).is_some());
            }
            advert
        };
        let (adverts, expected) = (filled.records().0, ingested.records().0);
        assert_eq!(adverts.len() as u64, request.adverts);
        assert_eq!(report.adverts, request.adverts);
        assert_eq!(adverts.len(), expected.len());
        for ((url, advert), (_, expected)) in adverts.into_iter().zip(expected) {
            assert_eq!(
                same_but_for_ids(advert),
                same_but_for_ids(expected),
                "{url}"
            );
        }

        // Each property is an asset of the market. If ingestion recognises the asset, its record is the same.
        let mut truth: BTreeMap<u64, BTreeSet<String>> = BTreeMap::new();
        for seen in MarketGenerator::new(request).observations() {
            let urls = truth.entry(seen.asset).or_default();
            urls.insert(seen.advert.url.unwrap());
        }
        let (at_once, one_by_one) = (filled.properties(), ingested.properties());
        assert_eq!(at_once.len() as u64, report.properties);
        assert!(at_once.keys().eq(truth.values().collect::<BTreeSet<_>>()));
        for (urls, property) in &at_once {
            assets += 1;
            if let Some(expected) = one_by_one.get(urls) {
                found += 1;
                assert_eq!(property, expected);
            }
        }
        agree_in_searches(&filled, &ingested, &at_once, &one_by_one);
    }
    assert!(found * 10 > assets * 9, "{found} of {assets}");
}

/// Runs random queries on both folders: of the properties in both, they find the same.
fn agree_in_searches(
    filled: &ListingsFixture,
    ingested: &ListingsFixture,
    at_once: &BTreeMap<BTreeSet<String>, Anonymous>,
    one_by_one: &BTreeMap<BTreeSet<String>, Anonymous>,
) {
    let shared: BTreeSet<&str> = at_once
        .keys()
        .filter(|urls| one_by_one.contains_key(*urls))
        .map(|urls| urls.first().unwrap().as_str())
        .collect();
    let filled_view = projection(filled.path(), filled.listings.clone());
    let ingested_view = projection(ingested.path(), ingested.listings.clone());
    let names = |desk: &ListingsFixture| -> HashMap<String, String> {
        let properties = desk.records().1.into_iter();
        let named = properties.map(|property| {
            let adverts = property["adverts"].as_array().unwrap().iter();
            let first = adverts.map(|advert| advert["url"].as_str().unwrap()).min();
            let id = property["flxId"].as_str().unwrap().to_owned();
            (id, first.unwrap().to_owned())
        });
        named.collect()
    };
    let (filled_names, ingested_names) = (names(filled), names(ingested));
    let found = |view: &Projection, names: &HashMap<String, String>, body: &Value| {
        let ids = ask(view, body).into_iter();
        let urls: BTreeSet<String> = ids.map(|id| names[&id.to_string()].clone()).collect();
        let shared = urls.iter().filter(|url| shared.contains(url.as_str()));
        shared.cloned().collect::<Vec<String>>()
    };
    let mut draw = Draw::new(at_once.len() as u64);
    let mut hits = 0;
    for _ in 0..60 {
        let body = question(&mut draw);
        let here = found(&filled_view, &filled_names, &body);
        let there = found(&ingested_view, &ingested_names, &body);
        hits += here.len();
        assert_eq!(here, there, "{body}");
    }
    assert!(hits > 0);
}

/// A search with a few filters and words.
fn question(draw: &mut Draw) -> Value {
    let mut filter = if draw.once_in(2) {
        listings::filter(ListingKind::Property.filter_model(), draw)
    } else {
        json!({})
    };
    if draw.once_in(2) {
        filter = json!({"type": [*draw.one_of(&["CLASS_FLAT", "CLASS_HOUSE"])]});
    }
    let one_word = [json!([]), json!(["balcon"]), json!(["cuisine"])];
    let words = [json!([]), json!(["jardins"]), json!(["lumineux", "vue"])];
    let (keywords, texts) = (draw.one_of(&one_word), draw.one_of(&words));
    let order = *draw.one_of(&["ASC", "DESC"]);
    let sort_by = *draw.one_of(&["PRICE", "FIRST_SEEN_AT", "LAST_UPDATED_AT"]);
    json!({"size": 100, "sortBy": sort_by, "orderBy": order,
        "search": {"filterProperty": filter, "keywords": keywords, "fullTexts": texts}})
}

fn everything() -> Value {
    json!({"size": 100, "sortBy": "PRICE", "orderBy": "ASC", "search": {"filterProperty": {}}})
}

/// All results of a search, page by page.
fn ask(view: &Projection, body: &Value) -> Vec<FlxId> {
    let cursors = CursorKey::new([7; 32]);
    let mut body = body.clone();
    let mut found = Vec::new();
    loop {
        let request = parse_search(FieldSubset::Whole, &body, &cursors).unwrap();
        let page = view.search(&request, &Interrupt::default()).unwrap();
        found.extend(page.items.into_iter().map(|found| found.id));
        let Some(next) = page.next else {
            assert_eq!(page.count, found.len() as u64, "{body}");
            return found;
        };
        let cursor = cursors.encode(&next, &request.digest(ListingKind::Property));
        body["searchAfterHash"] = json!(cursor);
    }
}

#[test]
fn table_and_words_are_those_made_from_the_store_and_reach_its_last_change() {
    let request = AdvertsRequest::new(700, 4, DistortionLevel::Middle);
    let (filled, report) = ListingsFixture::filled(request);
    let last = filled.listings.last_sequence().unwrap();
    assert_eq!(last as u64, report.adverts + report.properties);
    let table = Lake::open(filled.path()).unwrap();
    let snapshot = table.snapshot(properties()).unwrap();
    assert_eq!(
        (snapshot.through, snapshot.rows()),
        (Some(last), report.properties)
    );
    assert_eq!(TextSearch::open(filled.path()).through(), last);
    let snapshot = table.snapshot(adverts()).unwrap();
    assert_eq!(
        (snapshot.through, snapshot.rows()),
        (Some(last), report.adverts)
    );

    let written = projection(filled.path(), filled.listings.clone());
    let elsewhere = tempfile::tempdir().unwrap();
    let made_anew = projection(elsewhere.path(), filled.listings.clone());
    let mut draw = Draw::new(9);
    let mut found = 0;
    for _ in 0..150 {
        let body = question(&mut draw);
        let (one, other) = (ask(&written, &body), ask(&made_anew, &body));
        assert_eq!(one, other, "{body}");
        found += one.len();
    }
    assert!(found > 5_000, "{found}");
    let every_advert = |data: &Path| {
        let session = session(data, &filled.listings);
        answered(&session, "select * from adverts order by flx_id").unwrap()
    };
    // No rows wait in memory: one was written with the adverts, and the other folds them first.
    let lake = Lake::open(elsewhere.path()).unwrap();
    compact(&filled.listings, &lake, ListingKind::Advert, &|_| {}).unwrap();
    assert_eq!(every_advert(filled.path()), every_advert(elsewhere.path()));
}

#[test]
fn a_filled_folder_goes_on_as_any_other() {
    let request = AdvertsRequest::new(300, 6, DistortionLevel::Middle);
    let (filled, _) = ListingsFixture::filled(request);
    let view = projection(filled.path(), filled.listings.clone());
    let before = ask(&view, &everything());
    // What came in is known.
    let again: Vec<Value> = MarketGenerator::new(request)
        .observations()
        .map(|seen| serde_json::to_value(seen.advert).unwrap())
        .collect();
    for outcome in filled.listings.ingest(again.clone()).unwrap() {
        assert_eq!(outcome.unwrap().change.as_str(), "unchanged");
    }
    // A copy on another portal joins the property of the original.
    let mut copy = again[0].clone();
    let url = copy["url"].as_str().unwrap().to_owned();
    copy["url"] = json!("https://cinquieme.example/annonce/1");
    copy["source"] = json!("cinquieme.example");
    let receipt = filled.listings.ingest(vec![copy]).unwrap().remove(0);
    let receipt = receipt.unwrap();
    let advert = &filled.records().0[&url];
    assert_eq!(
        json!(receipt.property_flx_id),
        advert["propertyFlxId"],
        "{url}"
    );
    view.refresh().unwrap();
    let after = ask(&view, &everything());
    assert_eq!(after.len(), before.len());
}

#[test]
fn listings_that_hold_adverts_are_refused_and_stay_as_they_are() {
    let request = AdvertsRequest::new(64, 8, DistortionLevel::Light);
    let (filled, _) = ListingsFixture::filled(request);
    let ListingsFixture { folder, store, .. } = filled;
    drop((store, filled.listings));
    let again = generate_into_listings(
        folder.path(),
        request,
        None,
        &IdentityRules::default(),
        Progress::silent(),
    );
    let error = again.unwrap_err();
    assert!(
        matches!(
            error.downcast_ref::<bulk::Error>(),
            Some(bulk::Error::NotEmpty(_))
        ),
        "{error}"
    );
    let desk = ListingsFixture::open(folder, request);
    let view = projection(desk.path(), desk.listings.clone());
    let all = ask(&view, &everything());
    assert_eq!(all.len(), desk.records().1.len());
    assert_eq!(desk.records().0.len(), 64);
}

#[test]
fn records_come_to_their_places_when_they_are_folded_and_stay_the_same() {
    let desk = ListingsFixture::ingested(AdvertsRequest::new(150, 8, DistortionLevel::Middle));
    let count = |of: &str| -> i64 {
        let reading = |connection: &Connection| connection.query_row(of, [], |row| row.get(0));
        desk.store.read(reading).unwrap()
    };
    let unplaced = "SELECT count(*) FROM properties WHERE record = property";
    let standing = "SELECT count(*) FROM properties WHERE merged_into IS NULL";
    let pairs = "SELECT count(*) FROM properties JOIN records USING (record)";
    assert_eq!(count(unplaced), count(standing));
    let (records, view) = (
        desk.records(),
        projection(desk.path(), desk.listings.clone()),
    );
    let found = ask(&view, &everything());

    let lake = Lake::open(desk.path()).unwrap();
    let folded = compact(&desk.listings, &lake, ListingKind::Property, &|_| {})
        .unwrap()
        .records;
    assert!(folded >= 100, "{folded}");
    assert_eq!(count(unplaced), 0);
    assert_eq!(count(pairs), count(standing));
    assert_eq!(count("SELECT count(*) FROM records"), count(standing));
    assert_eq!(desk.records(), records);
    // With rows from before the fold, and with those after it.
    assert_eq!(ask(&view, &everything()), found);
    let after = projection(desk.path(), desk.listings.clone());
    assert_eq!(ask(&after, &everything()), found);
    let page = |view: &Projection| {
        let request =
            parse_search(FieldSubset::Whole, &everything(), &CursorKey::new([7; 32])).unwrap();
        let page = view.search(&request, &Interrupt::default()).unwrap();
        let keys: Vec<_> = page.items.iter().map(|found| found.key).collect();
        desk.listings.properties_by_key(&keys).unwrap()
    };
    assert!(page(&view).len() > 20);
    assert_eq!(page(&view), page(&after));
}
