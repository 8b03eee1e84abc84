//! The server from start to end: synthetic data, keys, queries and an import while it is running.

use std::path::Path;
use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::assertions::{assert_has, pick};
use crate::support::client::Client;
use crate::support::process::{Server, errors, import_sales, run, sql_number, try_run};

impl Client {
    /// The answer to a call about open data.
    async fn ok(&self, path: &str, body: Value) -> Value {
        let path = format!("opendata/{path}");
        self.ask(Method::POST, &path, body).await
    }

    /// Waits up to a second for a status.
    async fn becomes(&self, expected: u16) -> bool {
        let asked = Instant::now();
        while asked.elapsed() < Duration::from_secs(1) {
            if self.post("opendata/dvf/search", json!({"size": 1})).await.0 == expected {
                return true;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        false
    }
}

fn key_of_kind(data: &Path, kind: &str) -> (String, String) {
    let made = run(data, &["keys", "create", "--kind", kind]);
    let text = |name: &str| made[name].as_str().unwrap().to_owned();
    assert!(!text("account_id").is_empty());
    (text("key"), text("key_id"))
}

fn filled() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    run(
        folder.path(),
        &["synth", "--lake", "--dvf", "3000", "--dpe", "1500"],
    );
    folder
}

#[tokio::test]
async fn synthetic_data_is_searched_matched_and_paged_over_http() {
    let folder = filled();
    let data = folder.path();
    let server = Server::start(data, "serve");
    assert_eq!(
        server.ready.as_object().unwrap().len(),
        1,
        "serve prints only its address"
    );
    let client = Client::new(&server, &key_of_kind(data, "production").0);

    for (table, id, sort) in [
        ("dvf", "id", "price_eur"),
        ("dpe", "numero_dpe", "surface_habitable_logement"),
    ] {
        let total = sql_number(data, &format!("select count(*) from {table}"));
        let search = format!("{table}/search");
        let page = client.ok(&search, json!({})).await;
        assert_eq!(pick(&page, ["total", "size"]), json!([total, 20]));
        assert_eq!(
            (page["data"].as_array().unwrap().len(), &page["hasMore"]),
            (20, &true.into())
        );

        // Every row once, in order, over all pages.
        let mut body = json!({"sortBy": sort, "sortOrder": "asc", "size": 100});
        let (mut ids, mut values) = (Vec::new(), Vec::new());
        loop {
            let page = client.ok(&search, body.clone()).await;
            for record in page["data"].as_array().unwrap() {
                ids.push(record[id].as_str().unwrap().to_owned());
                values.push(record[sort].as_f64().unwrap_or(f64::INFINITY));
            }
            assert_eq!(page["hasMore"], page.get("cursor").is_some());
            let Some(cursor) = page.get("cursor") else {
                break;
            };
            body["cursor"] = cursor.clone();
        }
        assert_eq!(ids.len() as i64, total);
        assert!(values.is_sorted());
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len() as i64, total, "a row twice in {table}");

        // One by its id, and one that does not exist.
        let one = client.ok(&search, json!({"filters": {id: ids[7]}})).await;
        assert_eq!(
            (&one["total"], &one["data"][0][id]),
            (&1.into(), &ids[7].as_str().into())
        );
        let none = client
            .ok(&search, json!({"filters": {id: "nothing"}}))
            .await;
        assert_eq!(pick(&none, ["total", "hasMore"]), json!([0, false]));
        let (status, refused) = client
            .post(&format!("opendata/{search}"), json!({"size": 101}))
            .await;
        assert_eq!((status, &refused["error"]["code"]), (422, &10002.into()));
        let (status, _) = client
            .post(&format!("opendata/{search}"), json!({"cursor": "AAAA"}))
            .await;
        assert_eq!(status, 422);
    }

    // A sale described by its own values is the best match; single and `_many` calls return the same.
    let sale = &client
        .ok(
            "dvf/search",
            json!({"filters": {"property_type": ["Maison"], "price_eur": {"min": 1}}, "size": 1}),
        )
        .await["data"][0];
    let surface = sale["surface_m2"].as_f64().unwrap();
    let body = json!({
        "filters": {
            "insee_code": sale["insee_code"], "property_type": "Maison",
            "surface_m2": {"min": surface - 2.0, "max": surface + 2.0},
        },
        "scoring_targets": {"price_eur": sale["price_eur"]},
    });
    let single = client.ok("dvf/match", body.clone()).await;
    assert_eq!(single["data"][0]["dvf"], *sale);
    assert_eq!(single["data"][0]["score"], 100);
    let items = json!({"items": [{"size": 2}, body, {"filters": {"postal_code": "00000"}}]});
    let many = client.ok("dvf/match/_many", items).await;
    let many = many["data"].as_array().unwrap();
    assert_eq!(many[0]["data"].as_array().unwrap().len(), 2);
    assert_eq!(many[1], single);
    assert_eq!(
        many[2],
        json!({"data": [], "meta": {"ambiguous": false, "total": 0}})
    );

    assert_eq!(server.terminate(), Some(0));
}

#[tokio::test]
async fn key_changes_and_imports_apply_to_a_running_server_within_a_second() {
    let folder = filled();
    let data = folder.path();
    let server = Server::start(data, "serve");
    let stranger = Client::new(&server, "toise_live_0000");
    let (status, _) = stranger.post("opendata/dvf/search", json!({})).await;
    assert_eq!(status, 401);

    let (key, key_id) = key_of_kind(data, "test");
    let client = Client::new(&server, &key);
    assert!(client.becomes(200).await, "a new key is not accepted");
    let (other_key, _) = key_of_kind(data, "production");
    let other = Client::new(&server, &other_key);
    assert!(other.becomes(200).await);
    run(data, &["keys", "revoke", &key_id]);
    assert!(client.becomes(401).await, "a revoked key is still accepted");
    let (status, _) = other.post("opendata/dvf/search", json!({"size": 1})).await;
    assert_eq!(status, 200);
    let listed = run(data, &["keys", "list"]);
    assert_eq!(listed.as_array().unwrap().len(), 2);
    assert!(
        !listed.to_string().contains(&key),
        "a key is listed in full"
    );

    // An import while the server is running.
    let total = async || {
        other.ok("dvf/search", json!({"size": 1})).await["total"]
            .as_i64()
            .unwrap()
    };
    let before = total().await;
    let report = import_sales(data, "500", "9");
    let imported = Instant::now();
    let expected = report["outcome"]["total"].as_i64().unwrap();
    assert!(expected > before);
    while total().await != expected {
        assert!(
            imported.elapsed() < Duration::from_secs(1),
            "the import is not visible"
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(server.terminate(), Some(0));
}

#[tokio::test]
async fn a_demo_on_existing_data_adds_none_and_its_keys_work() {
    let folder = tempfile::tempdir().unwrap();
    run(folder.path(), &["synth", "--lake", "--dvf", "200"]);
    let server = Server::start(folder.path(), "demo");
    let ready = server.ready.as_object().unwrap();
    assert_eq!(
        ready.keys().collect::<Vec<_>>(),
        ["address", "key", "admin_key", "sql_key", "console"]
    );
    let key = |name: &str| Client::new(&server, ready[name].as_str().unwrap());
    let page = key("key").ok("dvf/search", json!({})).await;
    assert_eq!(
        page["total"],
        sql_number(folder.path(), "select count(*) from dvf")
    );
    assert_eq!(key("key").ok("dpe/search", json!({})).await["total"], 0);
    // The admin key has no other scope.
    let (status, _) = key("admin_key")
        .post("opendata/dvf/search", json!({}))
        .await;
    assert_eq!(status, 403);
    assert_eq!(server.terminate(), Some(0));
}

#[test]
fn two_servers_share_a_folder_and_a_port_in_use_is_one_clear_error() {
    let folder = tempfile::tempdir().unwrap();
    let first = Server::start(folder.path(), "serve");
    let second = Server::start(folder.path(), "serve");
    let port = first.address.trim_start_matches("http://");
    let output = try_run(folder.path(), &["serve", "--listen", port]);
    assert_eq!(output.status.code(), Some(1));
    assert_has(&errors(&output), &format!("error: cannot listen on {port}"));
    assert!(output.stdout.is_empty());
    assert_eq!((first.terminate(), second.terminate()), (Some(0), Some(0)));
}

#[test]
fn an_invalid_file_is_one_error_and_leaves_the_lake_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    run(
        data,
        &[
            "synth",
            "--dvf",
            "300",
            "--output",
            data.to_str().unwrap(),
            "--gzip",
        ],
    );
    let whole = data.join("dvf-synth.csv.gz");
    run(data, &["import", "dvf", whole.to_str().unwrap()]);
    let before = std::fs::read(data.join("lake/_dvf/snapshot.json")).unwrap();
    let bytes = std::fs::read(&whole).unwrap();
    let cut = data.join("cut.csv.gz");
    std::fs::write(&cut, &bytes[..bytes.len() / 2]).unwrap();
    let text = data.join("notes.csv");
    std::fs::write(&text, "hello\nworld\n").unwrap();
    let json = data.join("broken.ndjson");
    std::fs::write(&json, "{\"id_mutation\": \"1\",\n").unwrap();
    for file in [&cut, &text, &json, &data.join("missing.csv")] {
        // The valid file of the same import is not applied either.
        let file = file.to_str().unwrap();
        let output = try_run(data, &["import", "dvf", whole.to_str().unwrap(), file]);
        assert_eq!(output.status.code(), Some(1), "{file}");
        let said = errors(&output);
        assert!(said.contains("error: ") && said.contains(file), "{said}");
        assert_eq!(said.matches("error:").count(), 1, "{said}");
        assert_eq!(
            std::fs::read(data.join("lake/_dvf/snapshot.json")).unwrap(),
            before,
            "{file}"
        );
    }
    let output = try_run(data, &["sql", "insert into dvf select * from dvf"]);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0));
}
