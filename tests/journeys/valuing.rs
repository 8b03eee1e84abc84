//! Estimates with the executable: train, serve, query, value a portfolio, train again while the server is running.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::assertions::{assert_has, assert_refused, pick};
use crate::support::client::Client;
use crate::support::files::json_lines;
use crate::support::homes::{IN_PARIS, body};
use crate::support::process::{Server, errors, new_key, run, try_run};

/// Maximum time for a server to use a newly trained model.
const RELOAD_TIMEOUT: Duration = Duration::from_secs(10);

async fn ask(client: &Client) -> (u16, Value) {
    let flat = body(IN_PARIS, "CLASS_FLAT", 45.0);
    client.post("estimate/property/lite", flat).await
}

fn version(answer: &Value) -> &Value {
    &answer["data"]["metadata"]["model"]["version"]
}

#[tokio::test]
async fn a_server_loads_a_model_as_soon_as_it_is_trained() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    run(data, &["synth", "--lake", "--dvf", "2000"]);
    let server = Server::start(data, "serve");
    let client = Client::new(&server, &new_key(data, &[]));
    let (status, answer) = ask(&client).await;
    assert_eq!(status, 503);
    assert!(
        answer["error"]["message"]
            .as_str()
            .unwrap()
            .contains("toise train"),
        "{answer}"
    );
    for arguments in [
        &["estimate", "--input", "x.csv", "--output", "y.csv"][..],
        &["sql", "select estimate_price(2.38, 48.86, 'flat', 45)"],
    ] {
        let refused = try_run(data, arguments);
        assert_refused(&refused, "toise train");
    }

    let trained = run(data, &["train"]);
    let steps = trained["funnel"].as_array().unwrap();
    assert_eq!(
        steps.last().unwrap()["left"],
        trained["model"]["sales"],
        "{trained}"
    );
    let card = run(data, &["evaluate", "estimate"]);
    assert!(card["report"]["all"]["sales"].as_u64().unwrap() > 0);
    for file in card["files"].as_array().unwrap() {
        assert!(Path::new(file.as_str().unwrap()).is_file(), "{file}");
    }
    let first = until_model_is_live(&client, |status, _| status == 200).await;

    // The same home in SQL and in a portfolio, valued as of today.
    let price = &first["data"]["price"];
    let [longitude, latitude] = IN_PARIS;
    let arguments = format!("{longitude}, {latitude}, 'flat', 45, 3, 2");
    let sql = run(
        data,
        &[
            "sql",
            &format!("select cast(estimate_price({arguments}) as bigint) as price"),
        ],
    );
    assert_eq!(sql[0]["price"], *price);
    assert_eq!(portfolio_price(data), *price);

    run(data, &["train", "--until", "2024-06-30"]);
    let second = until_model_is_live(&client, |status, answer| {
        assert_eq!(status, 200, "{answer}");
        version(answer) != version(&first)
    });
    let second = second.await;

    // A model that cannot be opened leaves the previous one in use; a command that needs it reports the file.
    std::fs::write(data.join("models/current.json"), "{").unwrap();
    tokio::time::sleep(Duration::from_secs(2)).await;
    let (status, answer) = ask(&client).await;
    assert_eq!((status, version(&answer)), (200, version(&second)));
    let refused = try_run(
        data,
        &["sql", "select estimate_price(2.38, 48.86, 'flat', 45)"],
    );
    assert_has(&errors(&refused), "current.json: damaged");
    assert_eq!(server.terminate(), Some(0));
}

#[test]
fn training_without_sales_says_what_is_missing_and_how_to_import_it() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |arguments: &[&str]| {
        let output = try_run(folder.path(), arguments);
        assert_eq!(output.status.code(), Some(1));
        let said = errors(&output);
        for part in ["no recorded sales", "toise import dvf", "toise demo"] {
            assert!(said.contains(part), "{said}");
        }
    };
    refused(&["train"]);
    refused(&["evaluate", "estimate"]);
    // A lake with diagnostics only has no sales either.
    run(folder.path(), &["synth", "--lake", "--dpe", "50"]);
    refused(&["train"]);
    refused(&["evaluate", "estimate"]);
}

#[tokio::test]
async fn a_backup_restores_a_model_with_its_report_cards() {
    let outer = tempfile::tempdir().unwrap();
    let (data, restored) = (outer.path().join("data"), outer.path().join("restored"));
    run(&data, &["synth", "--lake", "--dvf", "2000"]);
    let version = run(&data, &["train"])["model"]["version"].clone();
    let cards = data.join("models/reports");
    std::fs::create_dir(&cards).unwrap();
    std::fs::write(cards.join("card.md"), "# Estimates judged").unwrap();
    assert_eq!(run(&data, &["check"])["model"], json!({"version": version}));

    let backup = outer.path().join("backup.tar");
    let backup = backup.to_str().unwrap();
    run(&data, &["backup", backup]);
    run(&restored, &["restore", backup]);
    assert!(restored.join("models/reports/card.md").is_file());
    assert_eq!(
        run(&restored, &["check"])["model"],
        json!({"version": version})
    );
    let key = new_key(&restored, &[]);
    let server = Server::start(&restored, "serve");
    let (status, answer) = ask(&Client::new(&server, &key)).await;
    assert_eq!((status, self::version(&answer)), (200, &version));
    assert_eq!(server.terminate(), Some(0));

    // One damaged byte of the model is reported by the check, which fails.
    let trees = restored
        .join("models")
        .join(version.as_str().unwrap())
        .join("own.json");
    let mut bytes = std::fs::read(&trees).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&trees, bytes).unwrap();
    let checked = try_run(&restored, &["check"]);
    assert_eq!(checked.status.code(), Some(1));
    assert_has(&errors(&checked), "own.json");
}

/// Imports the synthetic sales except those of houses.
fn import_flats(data: &Path) {
    let files = data.join("files");
    let output = files.to_str().unwrap();
    run(data, &["synth", "--dvf", "2000", "--output", output]);
    let mut reader = csv::Reader::from_path(files.join("dvf-synth.csv")).unwrap();
    let header = reader.headers().unwrap().clone();
    let kind = header.iter().position(|name| name == "type_local").unwrap();
    let flats = files.join("flats.csv");
    let mut writer = csv::Writer::from_path(&flats).unwrap();
    writer.write_record(&header).unwrap();
    for row in reader.records().map(Result::unwrap) {
        if &row[kind] != "Maison" {
            writer.write_record(&row).unwrap();
        }
    }
    drop(writer);
    run(data, &["import", "dvf", flats.to_str().unwrap()]);
}

#[tokio::test]
async fn a_class_without_sales_is_rejected_with_its_path() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    import_flats(data);
    run(data, &["train"]);
    let key = new_key(data, &[]);
    let (server, client) = Client::start(data, &key);
    let ask = async |path: &str, body: Value| -> (u16, Value) {
        let path = format!("estimate/property/{path}");
        client.post(&path, body).await
    };
    let [flat, house] = ["CLASS_FLAT", "CLASS_HOUSE"].map(|class| body(IN_PARIS, class, 90.0));
    let (status, answer) = ask("lite", house.clone()).await;
    let message = answer["error"]["message"].as_str().unwrap();
    assert_eq!(status, 422, "{answer}");
    assert!(
        message.starts_with("type: the model knows no sale of a house"),
        "{answer}"
    );
    let (status, answer) = ask("lite/_many", json!({"items": [flat, house]})).await;
    assert_eq!(status, 200, "{answer}");
    let faulty = answer["data"][1]["error"]["message"].as_str().unwrap();
    assert!(faulty.starts_with("items[1].type: "), "{answer}");
    assert!(answer["data"][0]["price"].as_i64().unwrap() > 0, "{answer}");

    // A portfolio also gives the valuation date: before the first sale nothing is known.
    let (input, output) = (data.join("homes.csv"), data.join("valued.ndjson"));
    let text = "longitude,latitude,type,surface_m2,valuation_date\n\
                2.38,48.86,house,90,\n2.38,48.86,flat,45,1999-12-31\n2.38,48.86,flat,45,\n";
    std::fs::write(&input, text).unwrap();
    let (input, output) = (input.to_str().unwrap(), output.to_str().unwrap());
    run(data, &["estimate", "--input", input, "--output", output]);
    let rows = std::fs::read_to_string(output).unwrap();
    let rows: Vec<Value> = json_lines(&rows);
    let said = |row: usize| rows[row]["error"].as_str().unwrap_or_default();
    assert!(said(0).starts_with("type: no sale of a house"), "{rows:?}");
    assert!(
        said(1).starts_with("valuation_date: must be after "),
        "{rows:?}"
    );
    assert_eq!(said(2), "", "{rows:?}");
    assert_eq!(server.terminate(), Some(0));
}

/// Requests estimates until a response passes `is_it`.
async fn until_model_is_live(client: &Client, is_it: impl Fn(u16, &Value) -> bool) -> Value {
    let asked = Instant::now();
    loop {
        let (status, answer) = ask(client).await;
        if is_it(status, &answer) {
            return answer;
        }
        assert!(asked.elapsed() < RELOAD_TIMEOUT, "{answer}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// The price of the same home, valued as the single row of a portfolio with other column names.
fn portfolio_price(data: &Path) -> Value {
    let (input, output) = (data.join("homes.csv"), data.join("valued.ndjson"));
    let [longitude, latitude] = IN_PARIS;
    let text = format!(
        "lng,latitude,type,area,room_count,bedroom_count\n{longitude},{latitude},flat,45,3,2\n"
    );
    std::fs::write(&input, text).unwrap();
    let (input, output) = (input.to_str().unwrap(), output.to_str().unwrap());
    let maps = ["--map", "longitude=lng", "--map", "surface_m2=area"];
    let report = run(
        data,
        &[
            &["estimate", "--input", input, "--output", output][..],
            &maps,
        ]
        .concat(),
    );
    assert_eq!(pick(&report, ["rows", "valued"]), json!([1, 1]));
    let row: Value = serde_json::from_str(&std::fs::read_to_string(output).unwrap()).unwrap();
    row["price"].clone()
}
