//! Alerts on sales with the executable: a second edition of real sales, a corrected one, and servers killed while an
//! edition that was published without them is compared with the alerts.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::assertions::pick;
use crate::support::client::Client;
use crate::support::draw::Draw;
use crate::support::process::{Server, new_key, run, sql_number, toise, variable, write_sales};
use crate::support::receiver::{Act, Receiver};
use crate::support::skip::skipped;

const ROOT: &str = "opendata/dvf/search/alerts";
const BOTH: [&str; 2] = ["ALERT_MATCH_CREATED", "ALERT_MATCH_CHANGED"];
const ALLOWED: [&str; 2] = ["--allow-webhook-hosts", "127.0.0.1"];
/// Maximum wait for deliveries.
const WAIT_MAX: Duration = Duration::from_secs(120);
/// Time without a delivery after which none is expected: longer than a pass takes to begin.
const QUIET: Duration = Duration::from_secs(4);
/// Kills of the server, unless `TOISE_KILLS` overrides it.
const KILLS: usize = 6;

/// How often an alert was told of each record, by branch.
type Told = BTreeMap<(String, String, String), usize>;

/// A key of a client. All pages of a search are read one after the other, which a fast machine does within a second.
fn key_of(data: &Path) -> String {
    new_key(data, &["--scopes", "search,alerts", "--rate", "1000"])
}

impl Client {
    /// Creates an alert on sales.
    async fn alert(&self, receiver: &Receiver, filters: &Value, kinds: &[&str]) -> String {
        let body = json!({"search_query": {"filters": filters}, "match": kinds, "search_name": "ventes",
            "webhook_url": receiver.url(), "context": {"metadata": {"of": "sales"}}});
        let made = self.ask(Method::PUT, ROOT, body).await;
        made["data"]["alert_id"].as_str().unwrap().to_owned()
    }

    /// Identifiers of all sales that a search finds.
    async fn found(&self, filters: &Value) -> BTreeSet<String> {
        let mut body = json!({"filters": filters, "size": 100});
        let mut found = BTreeSet::new();
        loop {
            let page = self.ask(Method::POST, "opendata/dvf/search", &body).await;
            let records = page["data"].as_array().unwrap().iter();
            found.extend(records.map(|record| record["id"].as_str().unwrap().to_owned()));
            if page["hasMore"] == false {
                return found;
            }
            body["cursor"] = page["cursor"].clone();
        }
    }
}

/// What a receiver was told. A delivery that arrived twice under one identifier counts once.
fn told(receiver: &Receiver) -> Told {
    let received = receiver.received();
    let deliveries: HashMap<&str, Value> =
        received.iter().map(|one| (one.id(), one.json())).collect();
    let mut told = Told::new();
    for delivery in deliveries.values() {
        for branch in ["created", "updated"] {
            for entry in delivery["data"][branch].as_array().unwrap() {
                for sale in entry["dvf"].as_array().unwrap() {
                    let text = |value: &Value| value.as_str().unwrap().to_owned();
                    let key = (
                        text(&entry["alert_id"]),
                        branch.to_owned(),
                        text(&sale["id"]),
                    );
                    *told.entry(key).or_default() += 1;
                }
            }
        }
    }
    told
}

/// Waits until a receiver was told of as many records as expected and then of no more, and compares.
async fn receives(receiver: &Receiver, expected: &BTreeSet<(String, String, String)>) {
    let started = Instant::now();
    while told(receiver).values().sum::<usize>() < expected.len() {
        assert!(
            started.elapsed() < WAIT_MAX,
            "{} of {}",
            told(receiver).len(),
            expected.len()
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    tokio::time::sleep(QUIET).await;
    let told = told(receiver);
    let twice: Vec<_> = told.iter().filter(|(_, times)| **times > 1).collect();
    assert!(twice.is_empty(), "told twice: {twice:?}");
    let told: BTreeSet<_> = told.into_keys().collect();
    assert_eq!(told.len(), expected.len());
    assert!(told == *expected);
}

fn serve(data: &Path, key: &str) -> (Server, Client) {
    let server = Server::start_with(data, "serve", &ALLOWED, Stdio::null());
    let client = Client::new(&server, key);
    (server, client)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_edition_of_real_sales_is_sent_once_and_a_correction_as_a_change() {
    let Some(real) = std::env::var_os("TOISE_REAL_DATA").map(PathBuf::from) else {
        return skipped("TOISE_REAL_DATA");
    };
    let sales = |year: &str| real.join(format!("dvf/geodvf_toulon_{year}.csv.gz"));
    let import = |data: &Path, file: &Path| run(data, &["import", "dvf", file.to_str().unwrap()]);
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let receiver = Receiver::always(Act::Status(200)).await;
    import(data, &sales("2023"));
    let (server, client) = serve(data, &key_of(data));
    let mut alerts = Vec::new();
    for filters in [
        json!({"property_type": ["Appartement"], "price_eur": {"max": 150_000}}),
        json!({"location": {"lat": 43.1242, "lon": 5.928, "distance": "800m"}}),
        json!({}),
    ] {
        let before = client.found(&filters).await;
        let query = json!({"search_query": {"filters": filters}});
        let preview = client
            .ask(Method::POST, &format!("{ROOT}/preview"), query)
            .await;
        assert_eq!(preview["data"]["count"], before.len());
        let id = client.alert(&receiver, &filters, &BOTH).await;
        alerts.push((id, filters, before));
    }
    let imported = import(data, &sales("2024"));
    assert!(
        imported["outcome"]["added"].as_u64().unwrap() > 100,
        "{imported}"
    );
    // The server needs a moment to see the new version.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let mut expected = BTreeSet::new();
    for (id, filters, before) in &alerts {
        let new = client.found(filters).await;
        let new: Vec<&String> = new.difference(before).collect();
        assert!(!new.is_empty(), "{filters}");
        println!("{} new sales for {filters}", new.len());
        expected.extend(
            new.into_iter()
                .map(|sale| (id.clone(), "created".to_owned(), sale.clone())),
        );
    }
    receives(&receiver, &expected).await;
    // The same facts again notify nobody.
    let again = import(data, &sales("2024"));
    assert_eq!(again["outcome"]["added"], 0);
    receives(&receiver, &expected).await;

    // One sale is corrected: a room more.
    let (all, _, _) = alerts.last().unwrap();
    let history = client.get(&format!("{ROOT}/history/{all}?take=1")).await;
    assert!(history["data"][0]["id"].is_string(), "{history}");
    let corrected = folder.path().join("corrected.csv");
    std::fs::write(&corrected, with_a_room_more(&sales("2024"))).unwrap();
    let outcome = import(data, &corrected)["outcome"].clone();
    assert_eq!(
        pick(&outcome, ["added", "replaced"]),
        json!([0, 1]),
        "{outcome}"
    );
    let started = Instant::now();
    let changed = loop {
        let told = told(&receiver);
        let changed: Vec<_> = told
            .keys()
            .filter(|(_, branch, _)| branch == "updated")
            .cloned()
            .collect();
        if changed.iter().any(|(alert, ..)| alert == all) {
            break changed;
        }
        assert!(started.elapsed() < WAIT_MAX);
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    let sales: BTreeSet<&String> = changed.iter().map(|(_, _, sale)| sale).collect();
    assert_eq!(sales.len(), 1);
    expected.extend(changed);
    receives(&receiver, &expected).await;
    assert_eq!(server.terminate(), Some(0));
}

/// The rows of a file of sales, in which the first flat that is the only dwelling of its sale has a room more.
fn with_a_room_more(file: &Path) -> String {
    let mut text = String::new();
    let reader = flate2::read::GzDecoder::new(std::fs::File::open(file).unwrap());
    std::io::Read::read_to_string(&mut { reader }, &mut text).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let names: Vec<&str> = lines[0].split(',').collect();
    let column = |name: &str| names.iter().position(|known| *known == name).unwrap();
    let (mutation, kind, rooms) = (
        column("id_mutation"),
        column("type_local"),
        column("nombre_pieces_principales"),
    );
    let cells: Vec<Vec<&str>> = lines.iter().map(|line| line.split(',').collect()).collect();
    let of_sale = |id: &str| cells.iter().filter(|row| row[mutation] == id).count();
    let chosen = (1..cells.len()).find(|row| {
        let row = &cells[*row];
        row.len() == names.len() && row[kind] == "Appartement" && of_sale(row[mutation]) == 1
    });
    let chosen = chosen.unwrap();
    let mut row: Vec<String> = cells[chosen]
        .iter()
        .map(|cell| (*cell).to_owned())
        .collect();
    row[rooms] = (row[rooms].parse::<u32>().unwrap() + 1).to_string();
    let mut lines: Vec<String> = lines.into_iter().map(str::to_owned).collect();
    lines[chosen] = row.join(",");
    lines.join("\n") + "\n"
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edition_published_without_a_server_is_sent_once_however_often_the_server_is_killed() {
    let outer = tempfile::tempdir().unwrap();
    let data = outer.path().join("data");
    let edition = |seed: &str| write_sales(&outer.path().join(seed), "4000", seed);
    let (old, new) = (edition("1"), edition("2"));
    run(&data, &["import", "dvf", &old]);
    let receiver = Receiver::always(Act::Status(200)).await;
    let key = key_of(&data);
    let (server, client) = serve(&data, &key);
    let everything = json!({});
    let before = client.found(&everything).await;
    let mut alerts = Vec::new();
    for _ in 0..3 {
        alerts.push(client.alert(&receiver, &everything, &BOTH).await);
    }
    // Killed with SIGKILL, so nothing is written down. The import is killed too, at once after its publication.
    drop(server);
    let count = "select count(*) from dvf";
    let rows = sql_number(&data, count);
    let snapshot = data.join("lake/_dvf/snapshot.json");
    let published = std::fs::metadata(&snapshot).unwrap().modified().unwrap();
    let mut import = toise(&data, &["import", "dvf", &new])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let started = Instant::now();
    while std::fs::metadata(&snapshot).unwrap().modified().unwrap() == published {
        assert!(started.elapsed() < WAIT_MAX);
        std::thread::sleep(Duration::from_millis(1));
    }
    import.kill().unwrap();
    import.wait().unwrap();
    assert!(sql_number(&data, count) > rows);

    let mut draw = Draw::new(std::process::id().into());
    let mut told_before = Vec::new();
    for _ in 0..variable("TOISE_KILLS", KILLS) {
        let (server, _) = serve(&data, &key);
        tokio::time::sleep(Duration::from_millis(draw.below(900) as u64)).await;
        drop(server);
        told_before.push(told(&receiver).len());
    }
    println!("told before each kill: {told_before:?}");
    let (server, client) = serve(&data, &key);
    let after = client.found(&everything).await;
    let new_sales: Vec<&String> = after.difference(&before).collect();
    let expected: BTreeSet<(String, String, String)> = alerts
        .iter()
        .flat_map(|alert| {
            let sales = new_sales.iter();
            sales.map(|sale| (alert.clone(), "created".to_owned(), (*sale).clone()))
        })
        .collect();
    receives(&receiver, &expected).await;
    assert_eq!(server.terminate(), Some(0));
}
