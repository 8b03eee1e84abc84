//! Synthetic data written straight into a data folder: a demo without data, and adverts in one atomic step.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::assertions::pick;
use crate::support::client::Client;
use crate::support::process::{Server, errors, new_key, run, toise, try_run};

async fn count(client: &Client, filter: Value) -> u64 {
    let body = json!({"search": {"filterProperty": filter}});
    let path = "properties/search/count";
    let counted = client.data(Method::POST, path, body).await;
    counted["count"].as_u64().unwrap()
}

/// The error output of a command that fails.
fn refusal(data: &Path, arguments: &[&str]) -> String {
    let output = try_run(data, arguments);
    assert_eq!(output.status.code(), Some(1), "{arguments:?}");
    errors(&output)
}

#[tokio::test]
async fn a_demo_without_data_creates_sales_diagnostics_and_properties_in_the_same_places() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start_with(folder.path(), "demo", &["--small"], Stdio::null());
    let client = Client::new(&server, server.ready["key"].as_str().unwrap());
    let ask = async |path: &str, body: Value| client.ask(Method::POST, path, body).await;
    let total = async |path: &str| ask(path, json!({"size": 1})).await["total"].take();
    assert!(total("opendata/dvf/search").await.as_u64() > Some(1_500));
    assert_eq!(total("opendata/dpe/search").await, 1_500);
    let all = count(&client, json!({})).await;
    assert!((180..270).contains(&all), "{all}");
    for listings in ["properties", "adverts"] {
        let alerts = client.get(&format!("{listings}/search/alerts/all")).await;
        let alert = alerts["data"][0]["alert_id"].as_str().unwrap();
        let path = format!("{listings}/search/alerts/{alert}/deliveries?status=delivered");
        let sent = client.get(&path).await;
        assert!(
            !sent["data"].as_array().unwrap().is_empty(),
            "no {listings} were delivered"
        );
    }
    let online = count(&client, json!({"meta": {"isTotallyOffline": false}})).await;
    assert!((1..all / 2).contains(&online), "{online} of {all}");
    let cut = count(
        &client,
        json!({"price": {"variation": [{"sincePublished": {"max": -1}}]}}),
    )
    .await;
    assert!(cut > 0, "no price ever fell");

    // They are in the same places, except where sales or diagnostics are not published.
    let cheapest =
        json!({"search": {"filterProperty": {}}, "sortBy": "PRICE", "orderBy": "ASC", "size": 10});
    let page = ask("properties/search", cheapest).await;
    for property in page["data"]["items"].as_array().unwrap() {
        let department = &property["location"]["department"];
        let mut found = 0;
        for (path, field) in [
            ("opendata/dvf/search", "departement_code"),
            ("opendata/dpe/search", "code_departement_ban"),
        ] {
            let there = json!({"size": 1, "filters": {field: department}});
            found += ask(path, there).await["total"].as_u64().unwrap();
        }
        assert!(found > 0, "{department}");
    }
    assert_eq!(server.terminate(), Some(0));
}

#[tokio::test]
async fn adverts_are_written_only_into_a_folder_that_has_none_and_is_not_in_use() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let adverts = ["synth", "--adverts", "320", "--lake"];
    let server = Server::start(data, "serve");
    let message = refusal(data, &adverts);
    assert!(message.contains("store.sqlite is in use"), "{message}");
    assert_eq!(server.terminate(), Some(0));

    let report = run(data, &adverts);
    let made = &report["made"][0];
    assert_eq!(pick(made, ["items", "properties"]), json!([320, 210]));
    assert!(made["rows"].as_u64() > Some(500), "{made}");
    let key = new_key(data, &[]);
    let server = Server::start(data, "serve");
    assert_eq!(count(&Client::new(&server, &key), json!({})).await, 210);
    assert_eq!(server.terminate(), Some(0));

    let message = refusal(data, &adverts);
    assert!(message.contains("holds adverts already"), "{message}");
}

#[test]
fn a_killed_run_leaves_no_adverts_and_can_be_repeated() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let mut child = toise(data, &["synth", "--adverts", "200000", "--lake"])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    while !data.join("lake/_properties/incoming").exists() {
        assert!(
            begun.elapsed() < Duration::from_secs(60),
            "it has not started"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_secs(2));
    child.kill().unwrap();
    assert!(!child.wait().unwrap().success());

    let again = run(data, &["synth", "--adverts", "96", "--lake"]);
    assert_eq!(again["made"][0]["items"], 96);
    let checked = Command::new(env!("CARGO_BIN_EXE_toise"))
        .args(["check", "--data"])
        .arg(data)
        .output()
        .unwrap();
    assert!(checked.status.success(), "{}", errors(&checked));
}
