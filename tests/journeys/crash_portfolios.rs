//! A server killed while it values a portfolio, or while it notifies of what changed: after a restart every home is valued,
//! charged once, and each of its changes is delivered once.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags};
use serde_json::{Value, json};
use toise::lake::Lake;
use toise::opendata::Dataset;

use crate::support::files::copy_folder;
use crate::support::homes::{IN_PARIS, trained};
use crate::support::http_client;
use crate::support::process::{Server, new_key};
use crate::support::receiver::{Act, Receiver};
use crate::support::rows::{self, Record};

/// Homes: five blocks of a valuation, so that a kill at its beginning interrupts it.
const HOMES: usize = 20_000;
/// Classes of the diagnostics, one after the other.
const CLASSES: [&str; 2] = ["D", "C"];
/// Maximum wait for a valuation and its deliveries.
const WAIT_MAX: Duration = Duration::from_secs(600);

/// Longitude and latitude of a home, 110 m from the next one.
fn position(home: usize) -> (f64, f64) {
    let step = |steps: usize| steps as f64 / 1_000.0;
    (
        IN_PARIS[0] + 1.5 * step(home % 70),
        IN_PARIS[1] + step(home / 70),
    )
}

fn diagnostics(round: usize) -> Vec<Record> {
    let one = |home: usize| {
        let (longitude, latitude) = position(home);
        let record = json!({
            "numero_dpe": format!("2175E{home:07}A"),
            "date_etablissement_dpe": "2024-03-01",
            "date_derniere_modification_dpe": format!("2025-0{}-01", round + 1),
            "type_batiment": "appartement",
            "surface_habitable_logement": 50,
            "etiquette_dpe": CLASSES[round],
            "location": {"lat": latitude, "lon": longitude},
        });
        serde_json::from_value(record).unwrap()
    };
    (0..HOMES).map(one).collect()
}

/// Reads a row of numbers from a database of the data folder; nulls are -1.
fn numbers<const COUNT: usize>(file: &Path, query: &str) -> Option<[i64; COUNT]> {
    let connection = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY).ok()?;
    let row = connection.query_row(query, [], |row| {
        let mut found = [0; COUNT];
        for (column, value) in found.iter_mut().enumerate() {
            *value = row.get::<_, Option<i64>>(column)?.unwrap_or(-1);
        }
        Ok(found)
    });
    row.ok()
}

/// The last valuation, and the row from which on changes have to be notified.
fn state(data: &Path) -> Option<[i64; 2]> {
    numbers(
        &data.join("store.sqlite"),
        "SELECT valuation, notify_from FROM portfolios",
    )
}

/// Returns the file of a valuation of the only portfolio.
fn values(data: &Path, valuation: i64) -> PathBuf {
    let folders = fs::read_dir(data.join("portfolios")).unwrap();
    let folder = folders
        .map(|entry| entry.unwrap().path())
        .find(|path| path.is_dir());
    folder.unwrap().join(format!("values-{valuation}.parquet"))
}

fn wait(what: &str, mut found: impl FnMut() -> bool) {
    let started = Instant::now();
    while !found() {
        assert!(started.elapsed() < WAIT_MAX, "{what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Waits until a valuation is being written, which nothing refers to yet, and kills the server. Returns whether the
/// valuation was interrupted.
fn kill_in_valuation(server: Server, data: &Path, next: i64) -> bool {
    let complete = values(data, next);
    let partial = complete.with_extension("parquet.part");
    wait("a valuation begins", || {
        partial.exists() || complete.exists()
    });
    drop(server);
    state(data).is_some_and(|state| state[0] < next)
}

/// Homes told of, by key, each delivery once: their classes in order. A repeated delivery must have the same body.
fn told(receiver: &Receiver) -> BTreeMap<String, Vec<String>> {
    let mut bodies: HashMap<String, Vec<u8>> = HashMap::new();
    let mut told: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for request in receiver.received() {
        if let Some(known) = bodies.get(request.id()) {
            assert_eq!(known, &request.body, "{} differs", request.id());
            continue;
        }
        bodies.insert(request.id().to_owned(), request.body.clone());
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let body = request.json();
        for home in body["data"]["updated"][0]["homes"].as_array().unwrap() {
            assert_eq!(home["changes"], json!(["diagnostic"]), "{home}");
            told.entry(text(&home["key"]))
                .or_default()
                .push(text(&home["dpe_class"]));
        }
    }
    told
}

#[tokio::test(flavor = "multi_thread")]
async fn a_valuation_that_is_killed_completes_without_lost_or_doubled_messages() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    copy_folder(trained().path(), data);
    let key = new_key(data, &["--scopes", "ai"]);
    let allowed = ["--allow-webhook-hosts", "127.0.0.1"];
    let serve = || Server::start_with(data, "serve", &allowed, Stdio::null());
    let receiver = Receiver::always(Act::Status(200)).await;
    let mut server = serve();
    let rows: String = (0..HOMES)
        .map(|home| {
            let (longitude, latitude) = position(home);
            format!("h{home},flat,50,{longitude},{latitude}\n")
        })
        .collect();
    let path = format!(
        "portfolios/mine?movedPercent=100&webhookUrl={}",
        receiver.url()
    );
    let request = http_client()
        .put(format!("{}/v2/protected/{path}", server.address))
        .header("x-api-key", &key)
        .header("content-type", "text/csv")
        .body(format!("key,type,surface_m2,longitude,latitude\n{rows}"));
    let answer: Value = request.send().await.unwrap().json().await.unwrap();
    assert_eq!(answer["data"]["faulty"], 0, "{answer}");

    let mut interrupted = usize::from(kill_in_valuation(server, data, 1));
    server = serve();
    wait("the first valuation", || {
        state(data).is_some_and(|state| state[0] >= 1 && state[1] < 0)
    });
    let charges = || {
        numbers::<2>(
            &data.join("store.sqlite"),
            "SELECT count(*), sum(credits) FROM ledger WHERE type = 'API_ESTIMATE_PROPERTY_LITE'",
        )
    };
    assert_eq!(charges(), Some([1, HOMES as i64]));
    assert_eq!(receiver.count(), 0);

    let lake = Lake::open(data).unwrap();
    let mut killed_notifying = 0;
    for (round, class) in CLASSES.iter().enumerate() {
        // The import runs without a server, so that the valuation begins after it.
        drop(server);
        let next = state(data).unwrap()[0] + 1;
        rows::import(&lake, Dataset::Dpe, &diagnostics(round), Vec::new());
        server = serve();
        interrupted += usize::from(kill_in_valuation(server, data, next));
        server = serve();
        // The second kill is between two blocks of notifications, if they are not too fast for that.
        let mut seen = [0, 0];
        wait("notifications begin", || {
            seen = state(data).unwrap_or(seen);
            seen[0] >= next && seen[1] != 0
        });
        killed_notifying += usize::from(seen[1] > 0);
        drop(server);
        server = serve();
        let is_complete = |told: &BTreeMap<String, Vec<String>>| {
            told.len() == HOMES && told.values().all(|classes| classes.len() > round)
        };
        wait("all deliveries", || {
            std::thread::sleep(Duration::from_secs(1));
            receiver.count() >= (round + 1) * HOMES / 100 && is_complete(&told(&receiver))
        });
        std::thread::sleep(Duration::from_secs(2));
        for (home, classes) in told(&receiver) {
            assert_eq!(classes, &CLASSES[..=round], "{home}, {class}");
        }
    }
    assert_eq!(charges(), Some([1, HOMES as i64]));
    assert_eq!(server.terminate(), Some(0));
    let [last, notify_from] = state(data).unwrap();
    assert_eq!(notify_from, -1);
    let left = [last - 2, last - 1, last].map(|number| values(data, number).exists());
    assert_eq!(left, [false, true, true]);
    assert!(interrupted > 0, "no kill interrupted a valuation");
    println!(
        "{} homes, {} kills, {interrupted} of them in a valuation, {killed_notifying} between notifications; {} requests",
        HOMES,
        1 + 3 * CLASSES.len(),
        receiver.count()
    );
}
