//! A server killed during ingestion: every acknowledged advert is stored once, with its property.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use reqwest::Method;
use rusqlite::Connection;
use serde_json::{Value, json};
use toise::store::Store;

use crate::support::client::Client;
use crate::support::crashes::kill_under_load;
use crate::support::draw::Draw;
use crate::support::process::{Server, new_key, variable};

/// Number of kills, unless `TOISE_KILLS` overrides it.
const KILLS: usize = 6;
/// Clients, each with one call in flight.
const CLIENTS: usize = 4;
/// Adverts per call.
const BATCH: u64 = 7;
const PATH: &str = "/v2/protected/admin/adverts";

/// A sighting of a listing; consecutive numbers show one asset on two portals.
fn sighting(number: u64, round: u64) -> Value {
    let asset = number / 2;
    let portal = if number.is_multiple_of(2) {
        "un"
    } else {
        "deux"
    };
    json!({
        "url": format!("https://{portal}.example/annonce/{asset}"), "source": format!("{portal}.example"),
        "type": "CLASS_FLAT", "offer": {"type": "OFFER_BUY"}, "currentPrice": {"value": 90_000 + asset * 1_300 + round},
        "description": format!("Appartement numero {asset} de la rue {}", asset * 7919 % 10_007),
        "location": {"inseeCode": "69383", "locationCoordinate": {"location": [
            4.85 + (asset % 97) as f64 / 1_000.0, 45.75 + (asset % 89) as f64 / 1_000.0]}},
        "habitation": {"roomCount": 3, "surface": {"total": 30 + asset % 100}},
    })
}

/// Acknowledged adverts: identifier by URL.
type Acknowledged = Arc<Mutex<HashMap<String, String>>>;

/// Sends batches of new and known listings continuously until the server is gone.
async fn load(url: String, key: String, next: Arc<AtomicU64>, acknowledged: Acknowledged) {
    let client = crate::support::http_client();
    let mut draw = Draw::new(next.load(Ordering::SeqCst));
    loop {
        let first = next.fetch_add(BATCH - 2, Ordering::SeqCst);
        let known = (0..2).map(|_| draw.below(first as usize + 1) as u64);
        let adverts: Vec<Value> = (first..first + BATCH - 2)
            .chain(known)
            .map(|number| sighting(number, first))
            .collect();
        let request = client
            .post(&url)
            .header("x-api-key", &key)
            .json(&json!({"adverts": adverts}));
        let Ok(response) = request.timeout(Duration::from_secs(20)).send().await else {
            return;
        };
        let is_taken = response.status() == 200;
        let Ok(answer) = response.json::<Value>().await else {
            return;
        };
        if !is_taken {
            tokio::time::sleep(Duration::from_millis(5)).await;
            continue;
        }
        let mut acknowledged = acknowledged.lock().unwrap();
        for (advert, item) in adverts.iter().zip(answer["data"].as_array().unwrap()) {
            let id = item["flxId"]
                .as_str()
                .unwrap_or_else(|| panic!("{item}"))
                .to_owned();
            let address = advert["url"].as_str().unwrap().to_owned();
            let known = acknowledged.insert(address, id.clone());
            assert!(
                known.is_none_or(|known| known == id),
                "a listing changed its identifier"
            );
        }
    }
}

fn texts(data: &Path, sql: &str) -> Vec<String> {
    let reading = |connection: &Connection| {
        connection
            .prepare(sql)?
            .query_map([], |row| row.get(0))?
            .collect()
    };
    Store::open(data).unwrap().read(reading).unwrap()
}

fn assert_whole(data: &Path, acknowledged: &HashMap<String, String>) -> usize {
    assert_eq!(texts(data, "PRAGMA integrity_check"), ["ok"]);
    let ids = texts(data, "SELECT lower(hex(advert_id)) FROM adverts");
    let there: HashSet<&String> = ids.iter().collect();
    assert_eq!(there.len(), ids.len(), "an advert is stored twice");
    for id in acknowledged.values() {
        assert!(
            there.contains(&id.replace('-', "")),
            "acknowledged but missing: {id}"
        );
    }
    // An advert, its fingerprint, its keys and its property are stored together or not at all.
    for torn in [
        "SELECT 'advert' FROM adverts WHERE advert NOT IN (SELECT advert FROM fingerprints)",
        "SELECT 'keys' FROM adverts WHERE advert NOT IN (SELECT advert FROM blocks)",
        "SELECT 'moved' FROM adverts JOIN fingerprints USING (advert) WHERE adverts.property <> fingerprints.property",
        "SELECT 'property' FROM adverts JOIN properties USING (property) WHERE merged_into IS NOT NULL",
        "SELECT 'record' FROM properties LEFT JOIN records USING (record) WHERE merged_into IS NULL AND document IS NULL",
        "SELECT 'left over' FROM records WHERE record NOT IN (SELECT record FROM properties WHERE record IS NOT NULL)",
        "SELECT 'empty' FROM properties WHERE merged_into IS NULL AND property NOT IN (SELECT property FROM adverts)",
    ] {
        assert!(texts(data, torn).is_empty(), "{torn}");
    }
    ids.len()
}

/// A server started after the last kill finds every property in the store, page by page and by keyword.
async fn assert_searched(data: &Path, key: &str) {
    let server = Server::start(data, "serve");
    let mut stored = texts(
        data,
        "SELECT lower(hex(property_id)) FROM properties WHERE merged_into IS NULL",
    );
    stored.sort_unstable();
    let client = Client::new(&server, key);
    for (sort_by, keywords) in [("PRICE", json!([])), ("RELEVANCE", json!(["appartement"]))] {
        let mut body = json!({"size": 100, "sortBy": sort_by, "orderBy": "ASC",
            "search": {"filterProperty": {}, "keywords": keywords}});
        let mut found = Vec::new();
        loop {
            let path = "properties/search";
            let mut page = client.data(Method::POST, path, &body).await;
            assert_eq!(page["count"], stored.len());
            let items = page["items"].as_array().unwrap();
            found.extend(
                items
                    .iter()
                    .map(|item| item["flxId"].as_str().unwrap().replace('-', "")),
            );
            match page["searchAfterHash"].take() {
                Value::Null => break,
                next => body["searchAfterHash"] = next,
            }
        }
        found.sort_unstable();
        assert_eq!(found, stored, "by {sort_by}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_acknowledged_advert_is_stored_exactly_once() {
    let kills = variable("TOISE_KILLS", KILLS);
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let key = new_key(data, &["--scopes", "admin,search", "--rate", "100000"]);
    let acknowledged = Acknowledged::default();
    let next = Arc::new(AtomicU64::new(0));
    let mut draw = Draw::new(std::process::id().into());
    let (mut before, mut stored) = (0, 0);
    for _ in 0..kills {
        let server = Server::start(data, "serve");
        let url = format!("{}{PATH}", server.address);
        let clients = (0..CLIENTS)
            .map(|_| {
                tokio::spawn(load(
                    url.clone(),
                    key.clone(),
                    Arc::clone(&next),
                    Arc::clone(&acknowledged),
                ))
            })
            .collect();
        let is_answered = || acknowledged.lock().unwrap().len() > before;
        kill_under_load(server, clients, &mut draw, is_answered).await;
        let acknowledged = acknowledged.lock().unwrap();
        assert!(acknowledged.len() > before, "nothing was acknowledged");
        before = acknowledged.len();
        stored = assert_whole(data, &acknowledged);
    }
    assert_searched(data, &key).await;
    println!("{kills} kills: {before} adverts acknowledged, each stored once among {stored}");
}
