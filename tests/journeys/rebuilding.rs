//! Properties and adverts through the executable: SQL and HTTP return the same numbers at all times, whether rows
//! are in the store alone, in data files or in rebuilt ones; lost or damaged files are rebuilt from the store.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::assertions::{assert_has, assert_refused};
use crate::support::client::Client;
use crate::support::draw::Draw;
use crate::support::process::{
    Server, errors, new_key, run, sql_number, toise, try_run, write_file,
};

const KILLS: usize = 6;

/// Filters of the contract, each with its SQL equivalent.
const FILTERS: [(&str, &str); 7] = [
    ("{}", "true"),
    (r#"{"type": ["CLASS_FLAT"]}"#, "type = 'CLASS_FLAT'"),
    (
        r#"{"offer": [{"type": "OFFER_BUY"}], "price": {"latest": {"value": {"min": 100000, "max": 300000}}}}"#,
        "offer_type = 'OFFER_BUY' and price_latest_value between 100000 and 300000",
    ),
    (
        r#"{"habitation": {"roomCount": {"min": 3}, "surface": {"total": {"max": 80}}}}"#,
        "habitation_room_count >= 3 and habitation_surface_total <= 80",
    ),
    (
        r#"{"meta": {"isTotallyOffline": false}}"#,
        "not meta_is_totally_offline",
    ),
    (
        r#"{"adverts": [{"isOnline": true}]}"#,
        "flx_id in (select property_flx_id from adverts where is_online)",
    ),
    (r#"{"hasAnomaly": true}"#, "has_anomaly"),
];

/// A server over a data folder, with a key.
struct ServerFixture {
    data: PathBuf,
    server: Server,
    client: Client,
}

impl ServerFixture {
    fn open(data: &Path) -> Self {
        let key = new_key(data, &[]);
        let server = Server::start(data, "serve");
        Self {
            data: data.to_owned(),
            client: Client::new(&server, &key),
            server,
        }
    }

    async fn ask(&self, path: &str, body: &Value) -> Value {
        let path = format!("properties/search{path}");
        self.client.data(Method::POST, &path, body).await
    }

    /// The counts by SQL; searches must return the same soon after the last change.
    async fn agreed(&self) -> Vec<i64> {
        let until = Instant::now() + Duration::from_secs(10);
        let mut counts = Vec::new();
        for (filter, condition) in FILTERS {
            let filter: Value = serde_json::from_str(filter).unwrap();
            let body = json!({"search": {"filterProperty": filter}});
            let sql = format!("select count(*) from properties where {condition}");
            let count = sql_number(&self.data, &sql);
            while self.ask("/count", &body).await["count"] != count {
                assert!(Instant::now() < until, "{body}: not {count}");
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            counts.push(count);
        }
        counts
    }

    /// Complete pages: the cheapest properties, and those that match a keyword.
    async fn pages(&self) -> [Value; 2] {
        let cheapest = json!({"size": 100, "sortBy": "PRICE", "orderBy": "ASC", "search": {"filterProperty": {}}});
        let fitting = json!({"size": 100, "sortBy": "PRICE", "orderBy": "ASC",
            "search": {"filterProperty": {}, "keywords": ["cave"]}});
        let pages = [self.ask("", &cheapest).await, self.ask("", &fitting).await];
        for page in &pages {
            assert!(page["count"].as_u64().unwrap() > 10, "{page}");
        }
        pages.map(|mut page| page["items"].take())
    }
}

/// A number for each table that depends on all its rows.
fn digest(data: &Path) -> (i64, i64) {
    let of = |table: &str, price: &str| {
        let sql = format!(
            "select cast(sum(ascii(right(flx_id, 1)) * coalesce({price}, 1)) as bigint) + count(*) from {table}"
        );
        sql_number(data, &sql)
    };
    (
        of("properties", "price_latest_value"),
        of("adverts", "current_price_value"),
    )
}

fn index_file(data: &Path, name: &str) -> PathBuf {
    let indexes = fs::read_dir(data.join("index/properties")).unwrap();
    let folders = indexes.map(|entry| entry.unwrap().path());
    let index = folders.filter(|path| path.is_dir()).max().unwrap();
    index.join(name)
}

#[tokio::test]
async fn sql_and_searches_agree_through_compactions_rebuilds_kills_and_damage() {
    let folder = tempfile::tempdir().unwrap();
    let (made, data) = (folder.path().join("made"), folder.path().join("data"));
    run(
        &data,
        &[
            "synth",
            "--adverts",
            "300",
            "--output",
            made.to_str().unwrap(),
        ],
    );
    let text = fs::read_to_string(made.join("adverts-synth.ndjson")).unwrap();
    let (early, late) = text.split_at(text[..text.len() / 2].rfind('\n').unwrap() + 1);
    let ingest = |name: &str, lines: &str| {
        let file = write_file(&made, name, lines);
        let report = run(&data, &["ingest", &file]);
        assert_eq!(report["rejected"], 0);
        report["created"].as_i64().unwrap()
    };

    let desk = ServerFixture::open(&data);
    let before = ingest("early", early);
    assert_eq!(sql_number(&data, "select count(*) from adverts"), before);
    let (counts, pages) = (desk.agreed().await, desk.pages().await);
    let compacted = run(&data, &["compact"]);
    for table in [2, 3] {
        assert!(
            compacted["tables"][table]["compacted_records"]
                .as_u64()
                .unwrap()
                > 0,
            "{compacted}"
        );
    }
    assert_eq!(desk.agreed().await, counts);
    assert_eq!(desk.pages().await, pages);

    // Changes that one command commits are visible to the SQL of the next, compacted or not.
    let all = before + ingest("late", late);
    assert_eq!(sql_number(&data, "select count(*) from adverts"), all);
    let (counts, pages) = (desk.agreed().await, desk.pages().await);
    let whole = digest(&data);
    let started = Instant::now();
    let rebuilt = run(&data, &["compact", "--rebuild"]);
    let takes = started.elapsed();
    assert_eq!(rebuilt["tables"][1]["rows"], all, "{rebuilt}");
    assert_eq!(desk.agreed().await, counts);
    assert_eq!(desk.pages().await, pages);
    assert_eq!(digest(&data), whole);

    let mut draw = Draw::new(7);
    for _ in 0..KILLS {
        let mut rebuilding = toise(&data, &["compact", "--rebuild"]).spawn().unwrap();
        std::thread::sleep(takes.mul_f64(draw.below(100) as f64 / 100.0));
        rebuilding.kill().unwrap();
        rebuilding.wait().unwrap();
        assert_eq!(digest(&data), whole);
        assert_eq!(run(&data, &["check"])["damaged"], 0);
    }
    assert_eq!(desk.agreed().await, counts);
    assert_eq!(desk.pages().await, pages);
    assert_eq!(desk.server.terminate(), Some(0));

    fs::remove_dir_all(data.join("lake/_properties")).unwrap();
    for entry in fs::read_dir(data.join("lake/_adverts")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|end| end == "parquet") {
            let mut bytes = fs::read(&path).unwrap();
            let middle = bytes.len() / 2;
            bytes[middle] ^= 0x40;
            fs::write(&path, bytes).unwrap();
        }
    }
    fs::write(index_file(&data, "meta.json"), "{").unwrap();
    let checked = try_run(&data, &["check", "adverts"]);
    assert_eq!(checked.status.code(), Some(1));
    assert_has(&errors(&checked), "toise compact --rebuild");
    run(&data, &["compact", "--rebuild"]);
    assert_eq!(run(&data, &["check"])["damaged"], 0);
    assert_eq!(digest(&data), whole);
    let desk = ServerFixture::open(&data);
    assert_eq!(desk.agreed().await, counts);
    assert_eq!(desk.pages().await, pages);
}

#[test]
fn a_table_without_a_store_is_not_rebuilt() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let output = try_run(data, &["compact", "--rebuild"]);
    assert_refused(&output, "no store");
    run(data, &["keys", "create"]);
    let output = try_run(data, &["compact", "dvf", "--rebuild"]);
    assert_refused(&output, "import it again");
    // Without listings, both tables exist and are empty.
    run(data, &["compact", "--rebuild"]);
    for table in ["properties", "adverts"] {
        assert_eq!(
            sql_number(data, &format!("select count(*) from {table}")),
            0
        );
    }
}
