//! Addresses with the executable: a synthetic base is imported and searched while the server runs, and a server that is
//! killed geocodes a large file in the background.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use reqwest::{Client, Method};
use serde_json::{Value, json};

use crate::support::http_client;
use crate::support::process::{Server, new_key, run};

/// Rows of the file: some blocks of the runner.
const ROWS: usize = 30_000;
/// Times the server is killed.
const KILLS: usize = 3;
/// Longest wait for the file.
const FILE_TIMEOUT: Duration = Duration::from_secs(240);

/// Imports a made-up base of a department; the lines of its file.
fn import(data: &Path, folder: &Path) -> Vec<String> {
    let output = folder.display().to_string();
    run(
        data,
        &[
            "synth", "--ban", "1500", "--departments", "48", "--seed", "7", "--output", &output,
        ],
    );
    let packed = folder.join("adresses-48.csv.gz");
    run(data, &["import", "ban", &packed.display().to_string()]);
    let mut reader =
        csv::ReaderBuilder::new()
            .delimiter(b';')
            .from_reader(flate2::read::MultiGzDecoder::new(
                fs::File::open(packed).unwrap(),
            ));
    let header = reader.headers().unwrap().clone();
    let column = |name: &str| header.iter().position(|column| column == name).unwrap();
    let wanted = ["numero", "rep", "nom_voie", "code_postal", "nom_commune"].map(column);
    let line = |row: csv::StringRecord| {
        let cells: Vec<&str> = wanted.iter().map(|at| &row[*at]).collect();
        format!(
            "{}{} {} {} {}",
            cells[0], cells[1], cells[2], cells[3], cells[4]
        )
    };
    reader.records().map(|row| line(row.unwrap())).collect()
}

struct Door {
    client: Client,
    key: String,
}

impl Door {
    async fn ask(
        &self,
        server: &Server,
        method: Method,
        path: &str,
        body: &str,
    ) -> Option<Vec<u8>> {
        let url = format!("{}/geocoding/{path}", server.address);
        let request = self
            .client
            .request(method, url)
            .header("x-api-key", &self.key);
        let response = request.body(body.to_owned()).send().await.ok()?;
        assert!(
            response.status().is_success(),
            "{path}: {}",
            response.status()
        );
        Some(response.bytes().await.ok()?.to_vec())
    }

    async fn json(&self, server: &Server, method: Method, path: &str, body: &str) -> Value {
        let body = self.ask(server, method, path, body).await.unwrap();
        serde_json::from_slice(&body).unwrap()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_follows_an_import_and_finds_its_addresses() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let key = new_key(&data, &["--scopes", "geocoding"]);
    let door = Door {
        client: http_client(),
        key,
    };
    let server = Server::start(&data, "serve");
    let lines = import(&data, folder.path());
    let asked = lines[lines.len() / 2].clone();
    let body = json!({"requests": [{"operation": "search", "q": asked, "limit": 1, "autocomplete": false, "with": "parcel"}]});
    let url = format!("{}/geocoding/batch", server.address);
    let begun = Instant::now();
    let feature = loop {
        let request = door.client.post(&url).header("x-api-key", &door.key);
        let answer = request.json(&body).send().await.unwrap();
        let answer: Value = answer.json().await.unwrap();
        let feature = answer["data"][0]["features"][0].clone();
        // The server looks for another index every second.
        if feature["properties"]["type"] == "housenumber" {
            break feature;
        }
        assert!(begun.elapsed() < Duration::from_secs(30), "{answer}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    };
    let properties = &feature["properties"];
    assert_eq!(properties["confidence"], "HIGH", "{asked}: {feature}");
    assert!(properties["parcels"].is_array());
    let [lon, lat] = [0, 1].map(|at| feature["geometry"]["coordinates"][at].as_f64().unwrap());
    let near = door
        .json(
            &server,
            Method::GET,
            &format!("reverse?lat={lat}&lon={lon}&limit=5"),
            "",
        )
        .await;
    let near = near["features"].as_array().unwrap();
    assert_eq!(near[0]["properties"]["distance"], 0);
    assert!(
        near.iter()
            .any(|one| one["properties"]["id"] == properties["id"])
    );
    // The parts one by one: the street needs no town, and a town that does not exist is a conflict.
    let parts = |city: Option<&str>| {
        let part = |name: &str| properties[name].as_str().unwrap().to_owned();
        let mut given = vec![
            ("housenumber", part("housenumber")),
            ("street", part("street")),
            ("lat", lat.to_string()),
            ("lon", lon.to_string()),
        ];
        given.extend(city.map(|city| ("city", city.to_owned())));
        let url = reqwest::Url::parse_with_params("http://127.0.0.1/", given).unwrap();
        format!("search?{}", url.query().unwrap())
    };
    for (city, agreement) in [(None, "missing"), (Some("Xqzzyville"), "conflict")] {
        let answer = door.json(&server, Method::GET, &parts(city), "").await;
        let found = &answer["features"][0]["properties"];
        assert_eq!(found["id"], properties["id"], "{answer}");
        assert_eq!(found["matched"]["city"], agreement, "{answer}");
        assert_eq!(found["matched"]["housenumber"], "exact", "{answer}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_survives_kills_without_a_row_lost_or_written_twice() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let lines = import(&data, folder.path());
    let mut file = String::from("row;address\r\n");
    for row in 0..ROWS {
        let line = &lines[row % lines.len()];
        // Each one is a different query, so that the server has work to do.
        file.push_str(&format!("{row};\"{line} bat {row}\"\r\n"));
    }
    let input = folder.path().join("file.csv");
    fs::write(&input, &file).unwrap();
    let key = new_key(&data, &["--scopes", "geocoding", "--rate", "10000"]);
    let door = Door {
        client: http_client(),
        key,
    };
    let mut server = Server::start_with(&data, "serve", &[], Stdio::null());
    let project = door.json(&server, Method::POST, "async/projects", "").await;
    let path = format!("async/projects/{}", project["data"]["id"].as_str().unwrap());
    let pipeline = r#"{"operation": "search", "columns": ["address"]}"#;
    door.json(&server, Method::PUT, &format!("{path}/pipeline"), pipeline)
        .await;
    door.json(&server, Method::PUT, &format!("{path}/input-file"), &file)
        .await;
    door.json(&server, Method::POST, &format!("{path}/start"), "")
        .await;
    let (begun, mut killed, mut done_before) = (Instant::now(), 0, 0);
    loop {
        let state = door.json(&server, Method::GET, &path, "").await;
        let done = state["data"]["rows_done"].as_u64().unwrap();
        match state["data"]["status"].as_str().unwrap() {
            "completed" => break,
            "waiting" | "processing" => {}
            other => panic!("{other}: {state}"),
        }
        if killed < KILLS && done > done_before {
            server.signal("-KILL");
            drop(server);
            (killed, done_before) = (killed + 1, done);
            server = Server::start_with(&data, "serve", &[], Stdio::null());
            let again = door.json(&server, Method::GET, &path, "").await;
            assert!(
                again["data"]["rows_done"].as_u64().unwrap() >= done,
                "{again}"
            );
        }
        assert!(begun.elapsed() < FILE_TIMEOUT, "{state}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(
        killed > 0,
        "the file was done before the server could be killed"
    );
    let token = project["data"]["token"].as_str().unwrap();
    let output = format!("{path}/output-file/{token}");
    let served = door.ask(&server, Method::GET, &output, "").await.unwrap();
    // The same bytes as from the command line: no row is lost or repeated.
    let beside = folder.path().join("beside.csv");
    let [input, beside_text] = [&input, &beside].map(|path| path.display().to_string());
    let report = run(
        &data,
        &[
            "geocode", &input, "--columns", "address", "-o", &beside_text,
        ],
    );
    assert_eq!(report["rows"], ROWS as u64);
    assert!(served == fs::read(&beside).unwrap(), "the results differ");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_has_no_token_of_a_project() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let key = new_key(&data, &["--scopes", "geocoding"]);
    let door = Door {
        client: http_client(),
        key,
    };
    let log = folder.path().join("log");
    let stderr = fs::File::create(&log).unwrap().into();
    let server = Server::start_with(&data, "serve", &[], stderr);
    let project = door.json(&server, Method::POST, "async/projects", "").await;
    let [id, token] = ["id", "token"].map(|name| project["data"][name].as_str().unwrap());
    let path = format!("async/projects/{id}/output-file/{token}");
    for (method, path) in [
        (Method::GET, path.clone()),
        // Neither is an endpoint.
        (Method::DELETE, path.clone()),
        (Method::GET, format!("{path}/")),
        (Method::GET, path.replace("output-file", "output%2Dfile")),
    ] {
        let url = format!("{}/geocoding/{path}", server.address);
        let request = door.client.request(method, url);
        let response = request.header("x-api-key", &door.key).send().await.unwrap();
        assert!(response.status().is_client_error());
    }
    assert_eq!(server.terminate(), Some(0));
    let text = fs::read_to_string(&log).unwrap();
    assert!(text.matches("/output-file/{token}").count() >= 3, "{text}");
    assert!(!text.contains(token), "{text}");
}
