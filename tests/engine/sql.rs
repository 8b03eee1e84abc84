//! Behaviour of SQL, from text files: a query, then its rows, or a word that its error must contain.

use std::path::Path;

use serde_json::{Value, json};
use toise::base::clock::Clock;
use toise::contract::listings::filters::ListingKind;
use toise::engine::Budget;
use toise::lake::Lake;
use toise::listings::Listings;
use toise::listings::columns::table_of;
use toise::listings::search::projection::{compaction, sql_tables};
use toise::opendata::{Dataset, OpenData};
use toise::store::Store;

use crate::support::rows::{self, Record};
use crate::support::sql::{answered, holds, session, session_over};

/// Three sales near a pin, one far away and one without a position.
fn sales() -> Vec<Record> {
    let places = [
        ("a", Some((44.5, 3.5)), Some(100_000)),
        ("b", Some((44.51, 3.5)), Some(250_000)),
        ("c", Some((44.5, 3.51)), None),
        ("d", Some((48.8566, 2.3522)), Some(900_000)),
        ("e", None, Some(50_000)),
    ];
    places
        .into_iter()
        .map(|(id, place, price)| {
            let mut record = Record::new();
            record.insert("id".into(), id.into());
            record.insert("property_type".into(), "Maison".into());
            if let Some(price) = price {
                record.insert("price_eur".into(), json!(price));
            }
            if let Some((lat, lon)) = place {
                record.insert("location".into(), json!({"lat": lat, "lon": lon}));
            }
            record
        })
        .collect()
}

#[test]
fn sales_and_functions_answer_as_written_and_nothing_is_written_or_defined() {
    let folder = tempfile::tempdir().unwrap();
    let lake = Lake::open(folder.path()).unwrap();
    rows::import(&lake, Dataset::Dvf, &sales(), Vec::new());
    let open_data = OpenData::open(folder.path(), Budget::default()).unwrap();
    let session = session_over(open_data.engine(), Vec::new(), Vec::new()).unwrap();
    let blocks = holds(&session, "geo_distance.slt") + holds(&session, "read_only.slt");
    assert!(blocks >= 20, "{blocks} blocks");
    // Refused statements have no effect.
    assert_eq!(
        answered(&session, "select count(*) from dvf").unwrap(),
        ["5"]
    );
    assert!(!Path::new("/tmp/toise-refused.csv").exists());
}

const BOTH: [ListingKind; 2] = [ListingKind::Property, ListingKind::Advert];

/// An advert of a portal as seen on a day of March 2026.
fn advert(portal: &str, number: u32, day: u32, fields: Value) -> Value {
    let mut advert = json!({
        "url": format!("https://{portal}.example/annonce/{number}"), "source": format!("{portal}.example"),
        "type": "CLASS_FLAT", "offer": {"type": "OFFER_BUY"}, "title": format!("Bien {number}"),
        "lastSeenAt": format!("2026-03-{day:02}T08:00:00Z"),
    });
    for (field, value) in fields.as_object().unwrap() {
        advert[field] = value.clone();
    }
    advert
}

fn in_mende(price: u32, area: f64) -> Value {
    json!({
        "currentPrice": {"value": price}, "habitation": {"roomCount": 3, "floor": 2, "surface": {"total": area}},
        "description": "Au coeur de la ville haute, trois pieces traversant refait a neuf, cuisine ouverte, deux \
            chambres sur jardin, cave voutee et grenier. Reference AB1234.", "tags": ["cave", "grenier"],
        "location": {"postalCode": "48000", "city": "Mende", "locationCoordinate": {"location": [3.49871, 44.51823]}},
        "seller": {"name": "Agence de la Tour", "siren": "123456780"},
    })
}

fn in_lyon(price: u32, area: f64) -> Value {
    json!({
        "currentPrice": {"value": price}, "habitation": {"roomCount": 2, "surface": {"total": area}},
        "location": {"postalCode": "69003", "city": "Lyon", "locationCoordinate": {"location": [4.8512, 45.7598]}},
    })
}

#[test]
fn listings_answer_as_written_whether_in_memory_folded_compacted_or_made_anew() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let clock = Clock::steered("2026-03-31T12:00:00Z".parse().unwrap());
    let listings = Listings::new(Store::open(data).unwrap(), clock);
    let take = |adverts: Vec<Value>| {
        let outcomes = listings.ingest(adverts).unwrap();
        assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
    };
    let lake = Lake::open(data).unwrap();
    let none = session(data, &listings);
    for table in ["properties", "adverts"] {
        let sql = format!("select count(*) from {table}");
        assert_eq!(answered(&none, &sql).unwrap(), ["0"]);
    }
    let first = vec![
        advert("un", 1, 1, in_mende(98_000, 67.4)),
        advert("deux", 1, 2, in_mende(98_000, 67.4)),
        advert("un", 3, 2, in_lyon(305_000, 61.0)),
        advert("un", 5, 2, in_lyon(150_000, 30.0)),
    ];
    take(first);
    for listing in BOTH {
        assert!(
            compaction::compact(&listings, &lake, listing, &|_| {})
                .unwrap()
                .records
                > 0
        );
        assert_eq!(
            compaction::compact(&listings, &lake, listing, &|_| {})
                .unwrap()
                .records,
            0
        );
    }
    take(vec![
        advert("un", 1, 9, json!({"currentPrice": {"value": 95_500}})),
        advert("un", 5, 9, json!({"isOnline": false})),
        advert("deux", 4, 9, in_lyon(240_000, 48.0)),
    ]);
    let as_written = |state: &str| {
        let blocks = holds(&session(data, &listings), "listings.slt");
        assert!(blocks >= 8, "{state}: {blocks} blocks");
    };
    as_written("changed");
    compaction::compact(&listings, &lake, ListingKind::Property, &|_| {}).unwrap();
    as_written("one table folded");
    for listing in BOTH {
        compaction::compact(&listings, &lake, listing, &|_| {}).unwrap();
        lake.compact(table_of(listing), &|_| {}).unwrap();
    }
    as_written("compacted");
    for listing in BOTH {
        let rows = compaction::rebuild(&listings, &lake, listing, &|_| {}).unwrap();
        assert_eq!(rows, if listing == ListingKind::Advert { 5 } else { 4 });
    }
    as_written("made anew");
    // Damaged and missing files are errors, until the tables are rebuilt.
    let broken = lake
        .folder(table_of(ListingKind::Property))
        .join("snapshot.json");
    std::fs::write(broken, "{").unwrap();
    std::fs::remove_dir_all(lake.folder(table_of(ListingKind::Advert))).unwrap();
    assert!(compaction::compact(&listings, &lake, ListingKind::Property, &|_| {}).is_err());
    for listing in BOTH {
        compaction::rebuild(&listings, &lake, listing, &|_| {}).unwrap();
        assert!(
            lake.check(table_of(listing))
                .run(&|_| {})
                .damaged
                .is_empty()
        );
    }
    as_written("healed");
}

#[test]
fn a_table_of_another_store_is_refused_with_what_helps() {
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let open = |folder: &tempfile::TempDir| {
        Listings::new(Store::open(folder.path()).unwrap(), Clock::system())
    };
    let (listings, nobody) = (open(&one), open(&other));
    let outcomes = listings.ingest(vec![advert("un", 3, 2, in_lyon(305_000, 61.0))]);
    assert!(outcomes.unwrap()[0].is_ok());
    let lake = Lake::open(one.path()).unwrap();
    compaction::compact(&listings, &lake, ListingKind::Advert, &|_| {}).unwrap();
    let ready = sql_tables::compact_pending(&nobody, &lake, &BOTH, |_| {});
    let error = ready.unwrap_err().to_string();
    assert!(error.contains("lake/adverts"), "{error}");
    assert!(error.contains("toise compact --rebuild"), "{error}");
    assert_eq!(
        compaction::rebuild(&nobody, &lake, ListingKind::Advert, &|_| {}).unwrap(),
        0
    );
    assert!(sql_tables::compact_pending(&nobody, &lake, &BOTH, |_| {}).is_ok());
}
