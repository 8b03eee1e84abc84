//! After any changes of adverts, searches of properties and SQL find what the store contains, with rows in memory and
//! in files.

use chrono::{TimeZone, Utc};
use serde_json::{Value, json};
use toise::base::clock::Clock;
use toise::contract::cursor::CursorKey;
use toise::contract::listings::codes::FlxId;
use toise::contract::listings::filters::{FieldSubset, ListingKind, parse_count, parse_search};
use toise::engine::cancellation::Interrupt;
use toise::lake::Lake;
use toise::listings::columns::{properties, table_of};
use toise::listings::search::projection::{Error, Projection, compaction};
use toise::listings::{Listings, search::texts};
use toise::store::Store;
use toise::synth::adverts::level::DistortionLevel;
use toise::synth::adverts::{AdvertsRequest, MarketGenerator};

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use crate::support::draw::Draw;
use crate::support::sql::{answered, session};
use crate::support::{listings, projection, reference_listings};

const SORTS: [(&str, &str); 4] = [
    ("FIRST_SEEN_AT", "/meta/firstSeenAt"),
    ("LAST_SEEN_AT", "/meta/lastSeenAt"),
    ("LAST_UPDATED_AT", "/meta/lastUpdatedAt"),
    ("PRICE", "/price/latest/value"),
];

struct ProjectionFixture {
    folder: tempfile::TempDir,
    listings: Listings,
    projection: Projection,
    cursors: CursorKey,
}

impl ProjectionFixture {
    fn open() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let now = Utc.with_ymd_and_hms(2026, 11, 21, 12, 0, 0).unwrap();
        let listings = Listings::new(store, Clock::steered(now));
        let projection = projection(folder.path(), listings.clone());
        Self {
            folder,
            listings,
            projection,
            cursors: CursorKey::new([7; 32]),
        }
    }

    /// Every property, read from the store.
    fn records(&self) -> Vec<Value> {
        let mut records = Vec::new();
        let mut sequence = 0;
        loop {
            let of = ListingKind::Property;
            let changes = self.listings.changes_since(of, sequence, 1_000).unwrap();
            if changes.through == sequence {
                return records;
            }
            sequence = changes.through;
            let there = changes.records.into_iter();
            for record in there.filter_map(|change| change.record) {
                let record = serde_json::from_slice(&record).unwrap();
                records.push(reference_listings::with_both_floors(record));
            }
        }
    }

    /// Compares the tables in SQL with the store.
    fn compare_sql(&self, records: &[Value]) {
        let session = session(self.folder.path(), &self.listings);
        let mut ids: Vec<&str> = records
            .iter()
            .map(|record| record["flxId"].as_str().unwrap())
            .collect();
        ids.sort_unstable();
        let sql = "select flx_id from properties order by flx_id";
        assert_eq!(answered(&session, sql).unwrap(), ids);
        let sum = |values: &mut dyn Iterator<Item = &Value>| -> f64 {
            values.filter_map(Value::as_f64).sum()
        };
        let prices = sum(&mut records
            .iter()
            .map(|record| &record["price"]["latest"]["value"]));
        let sql = "select cast(coalesce(sum(price_latest_value), 0) as bigint) from properties";
        assert_eq!(
            answered(&session, sql).unwrap(),
            [(prices as i64).to_string()]
        );
        // The adverts in their own table are those inside the properties.
        let within: Vec<&Value> = records
            .iter()
            .flat_map(|record| record["adverts"].as_array().unwrap())
            .collect();
        let online = within.iter().filter(|advert| advert["isOnline"] == true);
        let sql = "select count(*), count(case when is_online then 1 end), count(distinct flx_id) from adverts";
        let counted = format!("{} {} {}", within.len(), online.count(), within.len());
        assert_eq!(answered(&session, sql).unwrap(), [counted]);
        let sql =
            "select count(*) from adverts join properties on property_flx_id = properties.flx_id";
        assert_eq!(answered(&session, sql).unwrap(), [within.len().to_string()]);
    }

    /// Runs a random query page by page, and compares the result with a plain evaluation of every record.
    fn compare(&self, records: &[Value], draw: &mut Draw) -> usize {
        let filter = listings::filter(ListingKind::Property.filter_model(), draw);
        let keywords: Vec<String> = if records.is_empty() || !draw.once_in(3) {
            Vec::new()
        } else {
            let words = words(draw.one_of(records));
            (0..1 + draw.below(2))
                .map(|_| draw.one_of(&words).clone())
                .collect()
        };
        let (sort_by, pointer) = *draw.one_of(&SORTS);
        let descending = draw.once_in(2);
        let size = 1 + draw.below(40);
        let mut expected: Vec<&Value> = records
            .iter()
            .filter(|record| reference_listings::matches(record, &filter))
            .filter(|record| {
                let words = words(record);
                keywords.iter().all(|keyword| words.contains(keyword))
            })
            .collect();
        let key = |record: &Value| match record.pointer(pointer) {
            Some(Value::Number(number)) => number.as_f64(),
            Some(Value::String(moment)) => {
                Some(reference_listings::start(moment).timestamp_millis() as f64)
            }
            _ => None,
        };
        expected.sort_by(|one, other| {
            let (first, second) = (key(one), key(other));
            let values = match (first, second) {
                (Some(first), Some(second)) if descending => second.total_cmp(&first),
                (Some(first), Some(second)) => first.total_cmp(&second),
                (first, second) => second.is_some().cmp(&first.is_some()),
            };
            values.then_with(|| one["flxId"].as_str().cmp(&other["flxId"].as_str()))
        });
        let expected: Vec<FlxId> = expected
            .iter()
            .map(|record| FlxId::parse(record["flxId"].as_str().unwrap()).unwrap())
            .collect();
        let order = if descending { "DESC" } else { "ASC" };
        let mut body = json!({"size": size, "sortBy": sort_by, "orderBy": order,
            "search": {"filterProperty": filter, "keywords": keywords}});
        let mut found = Vec::new();
        let count = loop {
            let request = parse_search(FieldSubset::Whole, &body, &self.cursors)
                .unwrap_or_else(|fault| panic!("{fault}: {body}"));
            let interrupt = Interrupt::default();
            let page = self.projection.search(&request, &interrupt).unwrap();
            let counted = self.projection.count(&request.search, &interrupt);
            assert_eq!(counted.unwrap(), page.count);
            assert!(page.items.len() <= size);
            found.extend(page.items.iter().map(|found| found.id));
            let Some(next) = page.next else {
                break page.count;
            };
            let cursor = self
                .cursors
                .encode(&next, &request.digest(ListingKind::Property));
            body["searchAfterHash"] = json!(cursor);
        };
        assert_eq!(count, expected.len() as u64, "{body}");
        assert_eq!(found, expected, "{body}");
        expected.len()
    }
}

/// The words of a record in lower case without accents.
fn words(record: &Value) -> Vec<String> {
    let texts = [&record["title"], &record["description"]].into_iter();
    let texts = texts.chain(record["tags"].as_array().into_iter().flatten());
    let folded = texts.filter_map(Value::as_str).map(|text| {
        let plain = text.to_lowercase().replace('œ', "oe");
        plain
            .nfd()
            .filter(|letter| !is_combining_mark(*letter))
            .collect::<String>()
    });
    let folded: Vec<String> = folded.collect();
    let words = folded
        .iter()
        .flat_map(|text| text.split(|letter: char| !letter.is_alphanumeric()));
    words
        .filter(|word| !word.is_empty() && word.is_ascii() && word.len() < 40)
        .map(str::to_owned)
        .collect()
}

#[test]
fn searches_find_what_the_store_holds_before_and_after_every_fold_and_restart() {
    let mut draw = Draw::new(11);
    let mut desk = ProjectionFixture::open();
    let market = MarketGenerator::new(AdvertsRequest::new(400, 5, DistortionLevel::Middle));
    let mut observations = market.observations();
    let mut matched = 0;
    for _ in 0..24 {
        let batch: Vec<Value> = observations
            .by_ref()
            .take(1 + draw.below(90))
            .map(|observation| serde_json::to_value(observation.advert).unwrap())
            .collect();
        // A fold may run during ingestion.
        let folds = draw.once_in(3);
        std::thread::scope(|scope| {
            if folds {
                scope.spawn(|| desk.projection.compact(ListingKind::Property).unwrap());
            }
            let (first, rest) = batch.split_at(batch.len() / 2);
            for part in [first, rest] {
                desk.listings.ingest(part.to_vec()).unwrap();
                desk.projection.refresh().unwrap();
            }
        });
        let records = desk.records();
        for _ in 0..4 {
            matched += desk.compare(&records, &mut draw);
        }
        desk.compare_sql(&records);
        let (data, lake) = (desk.folder.path(), Lake::open(desk.folder.path()).unwrap());
        let listing = *draw.one_of(&[ListingKind::Property, ListingKind::Advert]);
        match draw.below(6) {
            0 => desk.projection.compact(listing).unwrap(),
            1 => desk.projection = projection(data, desk.listings.clone()),
            2 => drop(lake.compact(table_of(listing), &|_| {}).unwrap()),
            3 => drop(compaction::rebuild(&desk.listings, &lake, listing, &|_| {}).unwrap()),
            4 => texts::rebuild(data, &desk.listings, &|_| {}).unwrap(),
            _ => {}
        }
        desk.projection.engine().refresh_now(properties()).unwrap();
        desk.projection.refresh().unwrap();
        for _ in 0..4 {
            matched += desk.compare(&records, &mut draw);
        }
        desk.compare_sql(&records);
    }
    assert!(matched > 1_000, "{matched}");
}

/// All properties that a search finds, page by page; adverts may change between two pages.
fn paged(desk: &ProjectionFixture, body: &Value, mut between: impl FnMut()) -> Vec<FlxId> {
    let mut body = body.clone();
    let mut found = Vec::new();
    loop {
        let request = parse_search(FieldSubset::Whole, &body, &desk.cursors).unwrap();
        let page = desk
            .projection
            .search(&request, &Interrupt::default())
            .unwrap();
        found.extend(page.items.iter().map(|found| found.id));
        let Some(next) = page.next else { return found };
        let cursor = desk
            .cursors
            .encode(&next, &request.digest(ListingKind::Property));
        body["searchAfterHash"] = json!(cursor);
        between();
    }
}

#[test]
fn pages_follow_each_other_whatever_comes_in_between() {
    let desk = ProjectionFixture::open();
    let market = MarketGenerator::new(AdvertsRequest::new(90, 6, DistortionLevel::Middle));
    let mut documents: Vec<Value> = market
        .observations()
        .map(|observation| serde_json::to_value(observation.advert).unwrap())
        .collect();
    desk.listings.ingest(documents.clone()).unwrap();
    desk.projection.refresh().unwrap();
    let mut draw = Draw::new(12);
    let sorts = SORTS.map(|(sort_by, _)| sort_by);
    for sort_by in sorts.into_iter().chain(["RELEVANCE"]) {
        for order in ["ASC", "DESC"] {
            let texts = ["appartement", "maison", "jardin", "terrasse"];
            let texts: &[&str] = if sort_by == "RELEVANCE" { &texts } else { &[] };
            let body = json!({"size": 6, "sortBy": sort_by, "orderBy": order,
                "search": {"filterProperty": {}, "fullTexts": texts}});
            let expected = paged(&desk, &body, || {});
            assert!(expected.len() > 12, "{body}: {}", expected.len());
            let found = paged(&desk, &body, || {
                // Existing adverts change the value they are sorted by, and new ones arrive.
                for _ in 0..8 {
                    let place = draw.below(documents.len());
                    let document = &mut documents[place];
                    document["currentPrice"] = json!({"value": 50_000 + 1_000 * draw.below(900)});
                    document["lastSeenAt"] =
                        json!(format!("2026-11-21T10:{:02}:00Z", draw.below(60)));
                    document["title"] = json!("Appartement ou maison avec jardin");
                    desk.listings.ingest(vec![document.clone()]).unwrap();
                }
                desk.projection.refresh().unwrap();
                if draw.once_in(4) {
                    desk.projection.compact(ListingKind::Property).unwrap();
                }
            });
            assert_eq!(found, expected, "{body}");
        }
    }
}

fn count(projection: &Projection, search: Value) -> Result<u64, Error> {
    let search = parse_count(&json!({ "search": search })).unwrap();
    projection.count(&search, &Interrupt::default())
}

/// A separate listing in a separate commune, with a word.
fn lone(number: u64, word: &str) -> Value {
    json!({"url": format!("https://un.example/{number}"), "source": "un.example", "type": "CLASS_FLAT",
        "offer": {"type": "OFFER_BUY"}, "currentPrice": {"value": 100_000 + 7_000 * number}, "title": word,
        "location": {"inseeCode": "48095"}, "habitation": {"surface": {"total": 20 + 9 * number}}})
}

#[test]
fn a_second_server_on_the_folder_goes_on_and_has_the_words_that_the_first_writes() {
    let desk = ProjectionFixture::open();
    let first = &desk.projection;
    let take = |numbers: std::ops::Range<u64>| {
        let adverts = numbers.map(|number| lone(number, "Loft")).collect();
        let outcomes = desk.listings.ingest(adverts).unwrap();
        assert!(outcomes.iter().all(Result::is_ok));
    };
    let all = || json!({"filterProperty": {}});
    let lofts = || json!({"filterProperty": {}, "keywords": ["loft"]});
    take(0..3);
    first.refresh().unwrap();
    // The first process may write the words, but has not written those of later adverts yet.
    take(3..5);
    let second = projection(desk.folder.path(), desk.listings.clone());
    assert_eq!(count(&second, all()).unwrap(), 5);
    assert_eq!(count(&second, lofts()).unwrap(), 3);
    first.refresh().unwrap();
    second.refresh().unwrap();
    assert_eq!(count(&second, lofts()).unwrap(), 5);
    take(5..9);
    second.refresh().unwrap();
    assert_eq!(count(&second, all()).unwrap(), 9);
    // The first ends: the second writes the words from then on.
    let ProjectionFixture {
        projection,
        listings,
        folder,
        ..
    } = desk;
    drop(projection);
    second.refresh().unwrap();
    assert_eq!(count(&second, lofts()).unwrap(), 9);
    listings.ingest(vec![lone(9, "Loft")]).unwrap();
    second.refresh().unwrap();
    assert_eq!(count(&second, lofts()).unwrap(), 10);
    drop(folder);
}

#[test]
fn words_that_cannot_be_written_stop_searches_for_words_alone() {
    let desk = ProjectionFixture::open();
    desk.listings.ingest(vec![lone(0, "Loft")]).unwrap();
    desk.projection.refresh().unwrap();
    std::fs::remove_dir_all(desk.folder.path().join(texts::FOLDER)).unwrap();
    desk.listings.ingest(vec![lone(1, "Loft")]).unwrap();
    desk.projection.refresh().unwrap();
    assert_eq!(
        count(&desk.projection, json!({"filterProperty": {}})).unwrap(),
        2
    );
    let lofts = json!({"filterProperty": {}, "keywords": ["loft"]});
    assert!(matches!(
        count(&desk.projection, lofts),
        Err(Error::TextIndexUnavailable)
    ));
}
