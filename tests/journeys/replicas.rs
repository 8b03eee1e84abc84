//! Replicas as processes: from an empty folder to responses, switching to new snapshots without a failed request,
//! killed and restarted.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};

use super::publishing::{content, url_of};
use crate::support::draw::Draw;
use crate::support::process::{
    Server, import_sales, new_key, run, toise, try_run, variable, write_file,
};

/// Maximum wait for a new snapshot on a busy machine.
const LONG: Duration = Duration::from_secs(60);

/// Status, `x-toise-as-of` and body of an answer.
async fn call(
    server: &Server,
    method: Method,
    path: &str,
    key: &str,
    body: Option<Value>,
) -> (u16, String, Value) {
    let url = format!("{}{path}", server.address);
    let mut request = crate::support::http_client()
        .request(method, url)
        .header("x-api-key", key);
    if let Some(body) = body {
        request = request.json(&body);
    }
    let response = request.send().await.unwrap();
    let as_of = response.headers().get("x-toise-as-of");
    let as_of = as_of.map_or("", |value| value.to_str().unwrap()).to_owned();
    let status = response.status().as_u16();
    (status, as_of, response.json().await.unwrap_or(Value::Null))
}

/// Number of sales that a search counts, with the snapshot that the answer names.
async fn sales(server: &Server, key: &str) -> (u64, String) {
    let path = "/v2/protected/opendata/dvf/search";
    let (status, as_of, body) = call(server, Method::POST, path, key, Some(json!({}))).await;
    assert_eq!(status, 200, "{body}");
    (body["total"].as_u64().unwrap(), as_of)
}

fn replica(data: &Path, url: &str) -> Server {
    Server::start_with(data, "serve", &["--replica", url], Stdio::inherit())
}

fn ingest(data: &Path, portals: &[&str]) {
    let adverts = portals.iter().enumerate().map(|(number, portal)| {
        json!({
            "url": format!("https://www.{portal}.example/annonce/1"), "source": format!("{portal}.example"),
            "type": "CLASS_FLAT", "offer": {"type": "OFFER_BUY"}, "currentPrice": {"value": 98_000 + number * 50_000},
            "title": format!("Appartement {portal}"), "description": "Un appartement traversant refait",
            "location": {"postalCode": "48000", "city": "Mende",
                "locationCoordinate": {"location": [3.49 + number as f64 / 50.0, 44.51]}},
            "habitation": {"roomCount": 1 + number, "surface": {"total": 30.0 + number as f64 * 40.0}},
            "lastSeenAt": "2026-03-01T08:00:00Z",
        })
        .to_string()
    });
    std::fs::create_dir_all(data).unwrap();
    let file = write_file(
        data,
        "adverts.ndjson",
        adverts.collect::<Vec<_>>().join("\n"),
    );
    let report = run(data, &["ingest", &file]);
    assert_eq!(report["created"], json!(portals.len()), "{report}");
}

/// A search of properties, by a word if one is given.
fn page(word: Option<&str>) -> Value {
    let mut page =
        json!({"size": 20, "sortBy": "PRICE", "orderBy": "ASC", "search": {"filterProperty": {}}});
    if let Some(word) = word {
        page["search"]["keywords"] = json!([word]);
    }
    page
}

/// The properties whose texts contain a word.
async fn properties(server: &Server, key: &str, word: &str) -> Vec<Value> {
    let path = "/v2/protected/properties/search";
    let body = page(Some(word));
    let (status, _, body) = call(server, Method::POST, path, key, Some(body)).await;
    assert_eq!(status, 200, "{body}");
    body["data"]["items"].as_array().unwrap().clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replica_answers_as_its_writer_does_and_goes_over_to_news_without_failing_a_request() {
    let outer = tempfile::tempdir().unwrap();
    let (data, bucket) = (outer.path().join("data"), outer.path().join("bucket"));
    let url = url_of(&bucket);
    import_sales(&data, "600", "1");
    ingest(&data, &["un", "deux"]);
    let key = new_key(&data, &[]);
    run(
        &data,
        &["publish", &url, "--writer", "https://writer.example"],
    );
    let at = outer.path().join("replica");
    let server = replica(&at, &url);
    let (before, as_of) = sales(&server, &key).await;
    assert_eq!(i64::try_from(before).unwrap(), content(&data)[0]);
    assert!(as_of.ends_with("; snapshot=1"), "{as_of}");
    let writer = Server::start(&data, "serve");
    for (method, path, body) in [
        (
            Method::POST,
            "/v2/protected/opendata/dvf/search",
            Some(json!({"size": 50})),
        ),
        (
            Method::POST,
            "/v2/protected/opendata/dvf/match",
            Some(json!({})),
        ),
        (
            Method::POST,
            "/v2/protected/properties/search",
            Some(page(None)),
        ),
        (
            Method::POST,
            "/v2/protected/properties/search",
            Some(page(Some("traversant"))),
        ),
        (Method::GET, "/geocoding/search?q=mende", None),
        (Method::GET, "/healthz", None),
    ] {
        let ours = call(&server, method.clone(), path, &key, body.clone()).await;
        let theirs = call(&writer, method, path, &key, body).await;
        // Cursors are signed by the server that issues them.
        let of = |body: &Value| {
            (
                body["data"].clone(),
                body["total"].clone(),
                body["features"].clone(),
            )
        };
        assert_eq!(ours.0, 200, "{path}: {}", ours.2);
        assert!(
            theirs.0 == 200 && of(&ours.2) == of(&theirs.2),
            "{path} differs"
        );
        assert!(theirs.1.is_empty());
    }
    drop(writer);
    for (method, path) in [
        (Method::PUT, "/v2/protected/properties/search/alerts"),
        (Method::GET, "/v2/protected/adverts/url"),
        (Method::POST, "/v2/protected/admin/adverts"),
    ] {
        let (status, as_of, body) = call(&server, method, path, &key, None).await;
        assert_eq!(status, 421, "{path}: {body}");
        assert!(
            body["error"]["message"]
                .as_str()
                .unwrap()
                .ends_with("https://writer.example")
        );
        assert!(!as_of.is_empty());
    }
    let (status, ..) = call(
        &server,
        Method::POST,
        "/v2/protected/opendata/dvf/search",
        "nobody",
        None,
    )
    .await;
    assert_eq!(status, 401);

    // News under load.
    import_sales(&data, "600", "2");
    ingest(&data, &["quatre", "cinq", "trois"]);
    let later_key = new_key(&data, &[]);
    run(
        &data,
        &["publish", &url, "--writer", "https://writer.example"],
    );
    let after = u64::try_from(content(&data)[0]).unwrap();
    assert!(after > before);
    let (started, mut calls) = (Instant::now(), 0);
    loop {
        let (total, as_of) = sales(&server, &key).await;
        calls += 1;
        let is_new = as_of.ends_with("; snapshot=2");
        assert!(
            total == after || (total == before && !is_new),
            "{total} as of {as_of}"
        );
        if is_new {
            break;
        }
        assert!(started.elapsed() < LONG, "no news after {calls} calls");
    }
    assert_eq!(sales(&server, &later_key).await.0, after);
    assert_eq!(properties(&server, &key, "trois").await.len(), 1);
    assert_eq!(server.terminate(), Some(0));

    // The folder of a replica is not an ordinary data folder.
    let output = try_run(&at, &["serve"]);
    assert!(!output.status.success());
    assert!(crate::support::process::errors(&output).contains("holds a replica"));

    // Without the object store, the installed snapshot is served.
    std::fs::rename(&bucket, outer.path().join("away")).unwrap();
    let server = replica(&at, &url);
    assert_eq!(sales(&server, &key).await.0, after);
}

/// Clients that call at the same time.
const CLIENTS: usize = 8;
/// Publications while they call.
const PUBLICATIONS: usize = 4;

#[tokio::test(flavor = "multi_thread")]
async fn no_request_of_many_at_once_fails_while_a_replica_goes_over_to_news() {
    let outer = tempfile::tempdir().unwrap();
    let (data, bucket) = (outer.path().join("data"), outer.path().join("bucket"));
    let url = url_of(&bucket);
    import_sales(&data, "600", "1");
    ingest(&data, &["un", "deux"]);
    let key = new_key(&data, &["--rate", "100000"]);
    run(&data, &["publish", &url]);
    let server = Arc::new(replica(&outer.path().join("replica"), &url));
    let stop = Arc::<AtomicBool>::default();
    let clients = (0..CLIENTS).map(|number| {
        let (server, key, stop) = (Arc::clone(&server), key.clone(), Arc::clone(&stop));
        tokio::spawn(async move {
            let paths = [
                ("/v2/protected/opendata/dvf/search", json!({"size": 50})),
                ("/v2/protected/properties/search", page(Some("traversant"))),
            ];
            let mut seen = Vec::new();
            while !stop.load(Ordering::Relaxed) {
                let (path, body) = paths[number % paths.len()].clone();
                let (status, as_of, body) =
                    call(&server, Method::POST, path, &key, Some(body)).await;
                assert_eq!(status, 200, "{path} as of {as_of}: {body}");
                let (_, number) = as_of.split_once("snapshot=").unwrap();
                seen.push(number.parse::<usize>().unwrap());
            }
            seen
        })
    });
    let clients: Vec<_> = clients.collect();
    for round in 0..PUBLICATIONS {
        import_sales(&data, "200", &(round + 2).to_string());
        ingest(&data, &[["trois", "quatre", "cinq", "six"][round]]);
        run(&data, &["publish", &url]);
        let (started, wanted) = (Instant::now(), format!("snapshot={}", round + 2));
        while !sales(&server, &key).await.1.ends_with(&wanted) {
            assert!(started.elapsed() < LONG, "no {wanted}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
    stop.store(true, Ordering::Relaxed);
    for client in clients {
        let seen = client.await.unwrap();
        assert!(seen.is_sorted(), "went back: {seen:?}");
    }
}

#[tokio::test]
async fn a_replica_of_some_departments_answers_for_all_and_holds_little() {
    let outer = tempfile::tempdir().unwrap();
    let (data, bucket) = (outer.path().join("data"), outer.path().join("bucket"));
    let url = url_of(&bucket);
    import_sales(&data, "2000", "1");
    let key = new_key(&data, &[]);
    run(&data, &["publish", &url]);
    let at = outer.path().join("replica");
    // There are no recorded sales in Mayotte.
    let departments = "lake.replica_departments=976";
    let more = ["--replica", &url, "--set", departments];
    let server = Server::start_with(&at, "serve", &more, Stdio::inherit());
    let path = "/v2/protected/opendata/dvf/search";
    let held = || {
        let folder = std::fs::read_dir(at.join("lake/_dvf")).unwrap();
        let files = folder.map(|entry| entry.unwrap().metadata().unwrap().blocks());
        files.sum::<u64>() * 512
    };
    let whole = std::fs::read_dir(data.join("lake/_dvf")).unwrap();
    let whole: u64 = whole
        .map(|entry| entry.unwrap().metadata().unwrap().len())
        .sum();
    assert!(held() < whole / 2, "{} of {whole} bytes", held());
    let page = json!({"size": 50});
    let (status, _, ours) = call(&server, Method::POST, path, &key, Some(page.clone())).await;
    assert_eq!(status, 200, "{ours}");
    let writer = Server::start(&data, "serve");
    let (_, _, theirs) = call(&writer, Method::POST, path, &key, Some(page)).await;
    assert_eq!(ours["data"], theirs["data"]);
    assert_eq!(ours["total"], theirs["total"]);
    assert_eq!(server.terminate(), Some(0));

    let wrong = [
        "serve",
        "--replica",
        &url,
        "--set",
        "lake.replica_departments=20",
    ];
    let output = try_run(&at, &wrong);
    assert!(!output.status.success());
    let complaint = crate::support::process::errors(&output);
    assert!(complaint.contains("codes of departments"), "{complaint}");
}

#[tokio::test]
async fn a_running_writer_publishes_what_changes_and_replicas_follow() {
    let outer = tempfile::tempdir().unwrap();
    let (data, bucket) = (outer.path().join("data"), outer.path().join("bucket"));
    let url = url_of(&bucket);
    ingest(&data, &["un"]);
    let key = new_key(&data, &[]);
    let publish = format!("lake.publish={url}");
    let often = "lake.metering_every_s=1";
    let more = ["--set", &publish, "--set", often];
    let writer = Server::start_with(&data, "serve", &more, Stdio::inherit());
    let started = Instant::now();
    while !bucket.join("current.json").exists() {
        assert!(started.elapsed() < LONG, "nothing published");
        std::thread::sleep(Duration::from_millis(20));
    }
    let at = outer.path().join("replica");
    let more = ["--replica", &url, "--set", often];
    let server = Server::start_with(&at, "serve", &more, Stdio::inherit());
    assert_eq!(properties(&server, &key, "un").await.len(), 1);
    ingest(&data, &["deux", "trois"]);
    let (started, mut calls) = (Instant::now(), 2);
    while properties(&server, &key, "trois").await.is_empty() {
        assert!(started.elapsed() < LONG, "no news");
        tokio::time::sleep(Duration::from_millis(20)).await;
        calls += 1;
    }
    // The consumption that the replica metered is in the ledger of the writer, once.
    let ledger = toise::store::Store::open(&data).unwrap();
    let metered = || {
        let sql = "SELECT coalesce(sum(calls), 0) FROM consumption";
        let read = ledger
            .ledger()
            .read(|rows| rows.query_row(sql, [], |row| row.get::<_, i64>(0)));
        read.unwrap()
    };
    let started = Instant::now();
    while metered() < calls {
        assert!(started.elapsed() < LONG, "{} of {calls} calls", metered());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    tokio::time::sleep(Duration::from_millis(2_500)).await;
    assert_eq!(metered(), calls);
    drop(ledger);
    assert_eq!(writer.terminate(), Some(0));
    assert_eq!(server.terminate(), Some(0));
}

#[test]
fn a_replica_killed_at_any_moment_has_one_snapshot_or_none_and_goes_on() {
    let outer = tempfile::tempdir().unwrap();
    let (data, bucket) = (outer.path().join("data"), outer.path().join("bucket"));
    let url = url_of(&bucket);
    let mut published = Vec::new();
    let at = outer.path().join("replica");
    let mut draw = Draw::new(std::process::id().into());
    for round in 0..variable("TOISE_KILLS", 6_usize) {
        if round % 2 == 0 {
            import_sales(&data, "300", &round.to_string());
            run(&data, &["publish", &url]);
            published.push(content(&data));
        }
        let mut command = toise(
            &at,
            &["serve", "--listen", "127.0.0.1:0", "--replica", &url],
        );
        let mut child = command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(draw.below(1_500) as u64));
        child.kill().unwrap();
        child.wait().unwrap();
        if at.join("replica/installed.json").exists() {
            let shown = content(&at);
            assert!(
                published.contains(&shown),
                "{shown:?} is none of {published:?}"
            );
        }
    }
    let server = replica(&at, &url);
    assert_eq!(content(&at), *published.last().unwrap());
    drop(server);
}
