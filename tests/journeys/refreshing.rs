//! Open data kept up to date, with the executable: `refresh` over three editions of the sources, interrupted and resumed,
//! on a server's schedule, and `start`, from nothing to a served data folder.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::assertions::{assert_has, texts_of};
use crate::support::client::Client;
use crate::support::http_client;
use crate::support::process::{Server, errors, run, sql_number};
use crate::support::publisher::{Publisher, Rows};
use crate::support::receiver::{Act, Receiver};

/// Maximum wait for something that a server or a child does by itself.
const WAIT_MAX: Duration = Duration::from_secs(10 * 60);

/// A publisher with the first edition of all sources.
fn first_edition(rows: &Rows) -> Publisher {
    let publisher = Publisher::start();
    let mut world = publisher.world();
    for (year, text) in &rows.sales {
        world.publish_sales(*year, text, "2026-04-10");
    }
    world.publish_addresses("adresses-48.csv.gz", &rows.addresses, "2026-04-12");
    world.diagnostics.clone_from(&rows.diagnostics);
    drop(world);
    publisher
}

fn output_of(mut command: Command) -> (Option<i32>, Value, String) {
    let output: Output = command.output().unwrap();
    let result = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
    (output.status.code(), result, errors(&output))
}

/// Refreshes the departments of the test without a model.
fn refresh(publisher: &Publisher, data: &Path, more: &[&str]) -> (Option<i32>, Value, String) {
    let mut arguments = vec!["refresh", "--departments", "48,83", "--no-model"];
    arguments.extend(more);
    output_of(publisher.toise(data, &arguments))
}

/// Added, replaced and removed rows of each table.
fn changes(result: &Value) -> Value {
    let sources = result["sources"].as_array().unwrap().iter();
    let changes = sources.map(|source| {
        let changes = &source["changes"];
        let counts = json!([changes["added"], changes["replaced"], changes["removed"]]);
        (source["table"].as_str().unwrap().to_owned(), counts)
    });
    changes.collect::<serde_json::Map<_, _>>().into()
}

fn count(data: &Path, table: &str) -> i64 {
    sql_number(data, &format!("select count(*) from {table}"))
}

/// The lines of a text without the one at an index.
fn without_line(text: &str, index: usize) -> String {
    let lines = text.lines().enumerate().filter(|(at, _)| *at != index);
    lines.map(|(_, line)| format!("{line}\n")).collect()
}

#[test]
fn three_editions_are_followed_and_what_is_damaged_or_withdrawn_loses_nothing() {
    let rows = Rows::read();
    let publisher = first_edition(&rows);
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();

    // Without data, departments must be named; a dry run changes nothing.
    let (code, _, message) = output_of(publisher.toise(data, &["refresh"]));
    assert_eq!(code, Some(1));
    assert!(message.contains("name --departments"), "{message}");
    let (code, planned, _) = refresh(&publisher, data, &["--dry-run"]);
    assert_eq!(code, Some(0));
    let actions = planned["sources"].as_array().unwrap().iter();
    let actions: Vec<&Value> = actions.map(|source| &source["action"]).collect();
    assert_eq!(actions, ["import", "import", "import"], "{planned}");
    assert_eq!(count(data, "ban"), 0);

    // The first edition, and nothing new after it.
    let (code, first, message) = refresh(&publisher, data, &[]);
    assert_eq!(code, Some(0), "{message}");
    let held = ["ban", "dvf", "dpe"].map(|table| count(data, table));
    assert!(held.iter().all(|rows| *rows >= 40), "{held:?}: {first}");
    println!("rows of addresses, sales and diagnostics: {held:?}");
    publisher.world().forget();
    let (code, again, _) = output_of(publisher.toise(data, &["refresh", "--no-model"]));
    assert_eq!(code, Some(0));
    assert_eq!(again["departments"], json!(["48", "83"]));
    let nothing = json!({"ban": [0, 0, 0], "dvf": [0, 0, 0], "dpe": [0, 0, 0]});
    assert_eq!(changes(&again), nothing);
    let asked = publisher.world().asked();
    let is_download = |line: &&String| line.starts_with("GET") && line.ends_with(".gz");
    assert_eq!(asked.iter().filter(is_download).count(), 0, "{asked:?}");

    // The second: a withdrawn year, a sale less in the other, a moved address, a corrected and a withdrawn diagnostic.
    let [(first_year, _), (second_year, second_sales)] = &rows.sales;
    let (corrected, withdrawn) = (3, 5);
    {
        let mut world = publisher.world();
        world.withdraw_sales(*first_year);
        let fewer = without_last_mutation(second_sales);
        world.publish_sales(*second_year, &fewer, "2026-10-12");
        world.publish_addresses("adresses-48.csv.gz", &moved(&rows.addresses), "2026-10-14");
        let diagnostic = &mut world.diagnostics[corrected];
        diagnostic["etiquette_dpe"] = json!("G");
        diagnostic["date_derniere_modification_dpe"] = json!("2026-10-15");
        world.diagnostics.remove(withdrawn);
    }
    let (code, second, message) = refresh(&publisher, data, &[]);
    assert_eq!(code, Some(0), "{message}");
    let found = changes(&second);
    assert_eq!(found["ban"], json!([0, 1, 0]), "{second}");
    assert_eq!(
        (&found["dvf"][0], &found["dpe"]),
        (&json!(0), &json!([0, 1, 1])),
        "{second}"
    );
    assert!(found["dvf"][2].as_u64() >= Some(1), "{second}");
    assert_eq!(second["sources"][2]["withdrawn"], 1);
    let note = second["sources"][1]["notes"][0].as_str().unwrap();
    assert_has(note, &format!("83 {first_year}: no longer published"));
    let of_first = format!(
        "select count(*) from dvf where extract(year from transaction_date) = {first_year}"
    );
    assert!(
        sql_number(data, &of_first) > 0,
        "a year that is no longer published stays"
    );
    let number = rows.diagnostics[corrected]["numero_dpe"].as_str().unwrap();
    let label = format!("select etiquette_dpe from dpe where numero_dpe = '{number}'");
    assert_eq!(run(data, &["sql", &label])[0]["etiquette_dpe"], "G");
    let latitude = "select count(*) from ban where lat > 44.9989 and lat < 44.9991 and lon = 3.25";
    assert_eq!(sql_number(data, latitude), 1, "the moved address");

    // The third: both archives are damaged. Diagnostics are fine, and the tables stay as they are.
    let before = ["ban", "dvf"].map(|table| count(data, table));
    {
        let mut world = publisher.world();
        world.publish_sales(*second_year, second_sales, "2026-11-10");
        world.damage(&format!("full-{second_year}.csv.gz"), "2026-11-10");
        world.publish_addresses("adresses-48.csv.gz", &rows.addresses, "2026-11-12");
        world.damage("adresses-48.csv.gz", "2026-11-12");
        world.diagnostics[0]["etiquette_dpe"] = json!("F");
        world.diagnostics[0]["date_derniere_modification_dpe"] = json!("2026-11-15");
    }
    let (code, third, message) = refresh(&publisher, data, &[]);
    assert_eq!(code, Some(3), "{message}");
    for table in ["ban", "dvf"] {
        let start = format!("error: {table}: ");
        let line = message.lines().find(|line| line.starts_with(&start));
        assert!(
            line.unwrap().contains("the downloaded archive is damaged"),
            "{message}"
        );
    }
    assert_eq!(
        message.matches("error: ").count(),
        2,
        "each is reported once: {message}"
    );
    assert_eq!(changes(&third)["dpe"], json!([0, 1, 0]), "{third}");
    assert_eq!(["ban", "dvf"].map(|table| count(data, table)), before);

    // Repaired, they are imported.
    {
        let mut world = publisher.world();
        world.publish_sales(*second_year, second_sales, "2026-11-16");
        world.publish_addresses("adresses-48.csv.gz", &rows.addresses, "2026-11-16");
    }
    let (code, repaired, message) = refresh(&publisher, data, &[]);
    assert_eq!(code, Some(0), "{message}");
    assert_eq!(changes(&repaired)["ban"], json!([0, 1, 0]), "{repaired}");
    assert_eq!(count(data, "dvf"), held[1]);
    run(data, &["check"]);
}

#[test]
fn a_source_that_is_gone_or_sends_something_else_changes_nothing() {
    let rows = Rows::read();
    let publisher = first_edition(&rows);
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    assert_eq!(refresh(&publisher, data, &[]).0, Some(0));
    let held = ["ban", "dvf", "dpe"].map(|table| count(data, table));
    {
        let mut world = publisher.world();
        // The addresses are gone, sales are a page of text, and most diagnostics are missing.
        world.failing.insert("/ban".into(), 404);
        let (year, _) = rows.sales[1];
        world.publish_sales(year, "<html>Maintenance</html>", "2026-11-10");
        world.diagnostics.truncate(10);
    }
    let (code, result, message) = refresh(&publisher, data, &[]);
    assert_eq!(code, Some(3), "{message}");
    assert!(message.contains("has shrunk"), "{message}");
    assert!(message.contains("lists only 10 of"), "{message}");
    let note = result["sources"][0]["notes"][0].as_str().unwrap();
    assert_has(note, "adresses-48.csv.gz: no longer published");
    assert_eq!(["ban", "dvf", "dpe"].map(|table| count(data, table)), held);

    // Sales of another year and addresses of another department, under the names of the files before.
    {
        let mut world = publisher.world();
        world.failing.clear();
        let [(_, others), (year, _)] = &rows.sales;
        world.publish_sales(*year, others, "2026-11-11");
        let elsewhere = rows.addresses.replace(";48", ";12");
        world.publish_addresses("adresses-48.csv.gz", &elsewhere, "2026-11-11");
    }
    let (_, _, message) = refresh(&publisher, data, &[]);
    for table in ["ban", "dvf"] {
        let start = format!("{table}: the new edition has at most ");
        assert_eq!(message.matches(&start).count(), 1, "{message}");
    }
    assert_eq!(["ban", "dvf", "dpe"].map(|table| count(data, table)), held);

    // All of them refuse.
    for start in ["/ban", "/dpe", "/api", "/geo-dvf"] {
        publisher.world().failing.insert(start.into(), 403);
    }
    let (code, _, message) = refresh(&publisher, data, &[]);
    assert_eq!(code, Some(1), "{message}");
    assert_eq!(message.matches("error: ").count(), 3, "{message}");
    assert_eq!(["ban", "dvf", "dpe"].map(|table| count(data, table)), held);
}

#[test]
fn a_refresh_that_is_killed_resumes_where_it_stopped() {
    let rows = Rows::read();
    let publisher = first_edition(&rows);
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let (year, _) = rows.sales[1];
    let file = format!("full-{year}.csv.gz");
    publisher.world().set_stalling(&file, true);
    let arguments = ["refresh", "--departments", "48,83", "--no-model"];
    let mut child = publisher
        .toise(data, &arguments)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let started = Instant::now();
    let is_begun = || {
        let asked = publisher.world().heads_of(&file);
        asked.iter().any(|head| head.starts_with("GET"))
    };
    while !is_begun() {
        assert!(started.elapsed() < WAIT_MAX, "the file was never asked for");
        std::thread::sleep(Duration::from_millis(20));
    }
    // A second refresh cannot run at the same time.
    let (code, _, message) = refresh(&publisher, data, &[]);
    assert_eq!(code, Some(1));
    assert_has(&message, "another process is refreshing");
    std::thread::sleep(Duration::from_millis(500));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(count(data, "ban") > 0, "addresses were complete");
    assert_eq!(count(data, "dvf"), 0, "sales were not");
    publisher.world().set_stalling(&file, false);
    publisher.world().forget();
    let (code, result, message) = refresh(&publisher, data, &[]);
    assert_eq!(code, Some(0), "{message}");
    assert_eq!(
        changes(&result)["ban"],
        json!([0, 0, 0]),
        "finished steps are skipped"
    );
    assert!(count(data, "dvf") > 0 && count(data, "dpe") > 0);
    let world = publisher.world();
    let resumed = world.heads_of(&file);
    assert!(
        resumed.iter().any(|head| head.contains("range: bytes=")),
        "{resumed:?}"
    );
    let addresses = world.heads_of("adresses-48.csv.gz");
    assert!(
        addresses.iter().all(|head| head.starts_with("HEAD")),
        "{addresses:?}"
    );
}

/// Waits until an answer of a server has a text.
async fn wait_for(url: &str, wanted: &str) -> String {
    let client = http_client();
    let started = Instant::now();
    loop {
        let answer = client.get(url).send().await.unwrap();
        let headers = format!("{:?}", answer.headers());
        let text = headers + &answer.text().await.unwrap();
        if text.contains(wanted) {
            return text;
        }
        assert!(started.elapsed() < WAIT_MAX, "{wanted} is not in {text}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_refreshes_on_its_schedule_and_says_how_old_its_tables_are() {
    let rows = Rows::read();
    let publisher = first_edition(&rows);
    publisher.world().failing.insert("/dpe".into(), 403);
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let operator =
        Receiver::start(|index, _| Act::Status(if index == 0 { 503 } else { 200 })).await;
    let webhook = format!("refresh.webhook={}", operator.url());
    let arguments = [
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--set",
        "refresh.every_h=1",
        "--set",
        "refresh.departments=48,83",
        "--set",
        &webhook,
    ];
    let server = Server::ready(&mut publisher.toise(data, &arguments));
    let metrics = format!("{}/metrics", server.address);
    wait_for(&metrics, "toise_refresh_age_seconds").await;
    let text = wait_for(&metrics, "toise_refresh_failed{table=\"dpe\"} 1").await;
    for line in [
        "toise_refresh_failed{table=\"ban\"} 0",
        "toise_refresh_failed{table=\"dvf\"} 0",
        "toise_edition_timestamp_seconds{table=\"dvf\",state=\"held\"} 1775001600",
        "toise_edition_timestamp_seconds{table=\"dvf\",state=\"available\"} 1775001600",
        "toise_table_age_seconds{table=\"ban\"} ",
    ] {
        assert!(text.contains(line), "{line} is not in {text}");
    }
    let sales = count(data, "dvf");
    wait_for(
        &metrics,
        &format!("toise_lake_rows{{table=\"dvf\"}} {sales}"),
    )
    .await;
    let health = format!("{}/healthz", server.address);
    wait_for(&health, "\"x-toise-not-refreshed\": \"dpe\"").await;
    // The operator receives one message; its first attempt was refused.
    let started = Instant::now();
    while operator.count() < 2 {
        assert!(started.elapsed() < WAIT_MAX, "no report for the operator");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let message = operator.received()[1].json();
    let tables = texts_of(&message["changes"], "table");
    assert_eq!(tables, ["ban", "dvf"], "{message}");
    assert_eq!(message["changes"][1]["added"], sales);
    let text = message["text"].as_str().unwrap();
    assert!(
        text.contains(&format!("dvf 2026-04: {sales} new")) && text.contains("failed: "),
        "{text}"
    );
    assert_eq!(
        message["failures"].as_array().unwrap().len(),
        1,
        "{message}"
    );
    assert_eq!(server.terminate(), Some(0));
}

#[test]
fn start_refuses_an_address_in_use_before_it_downloads() {
    let publisher = first_edition(&Rows::read());
    let folder = tempfile::tempdir().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let arguments = ["start", "--departments", "48", "--listen", &*address];
    let (code, _, message) = output_of(publisher.toise(folder.path(), &arguments));
    assert_eq!(code, Some(1), "{message}");
    assert_has(&message, "cannot listen on");
    assert!(publisher.world().asked().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn start_goes_from_nothing_to_a_served_folder_and_skips_what_is_done() {
    let rows = Rows::read();
    let publisher = first_edition(&rows);
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let arguments = ["start", "--departments", "83,48", "--listen", "127.0.0.1:0"];
    let log = data.join("start.log");
    let stderr = std::fs::File::create(&log).unwrap();
    let server = Server::ready(publisher.toise(data, &arguments).stderr(stderr));
    let said = std::fs::read_to_string(&log).unwrap();
    for part in [
        "asking the official sources about 83, 48",
        " to download, about ",
        "addresses: ",
        "sales: ",
        "diagnostics: ",
        "model: ",
    ] {
        assert!(said.contains(part), "{part} is not in {said}");
    }
    let client = Client::new(&server, server.ready["key"].as_str().unwrap());
    for (dataset, least) in [("dvf", 40), ("dpe", 40)] {
        let path = format!("opendata/{dataset}/search");
        let (_, answer) = client.post(&path, json!({"size": 1})).await;
        assert!(answer["total"].as_u64() >= Some(least), "{answer}");
    }
    let console = server.ready["console"].as_str().unwrap();
    assert!(console.contains("/console/#code="), "{console}");
    assert_eq!(server.terminate(), Some(0));

    publisher.world().forget();
    let models = || std::fs::read(data.join("models/current.json")).ok();
    let model = models();
    let server = Server::ready(publisher.toise(data, &arguments).stderr(Stdio::null()));
    assert_eq!(server.terminate(), Some(0));
    assert_eq!(models(), model, "the model is that of the first run");
    let asked = publisher.world().asked();
    let is_download = |line: &&String| line.starts_with("GET") && line.ends_with(".gz");
    assert_eq!(asked.iter().filter(is_download).count(), 0, "{asked:?}");
}

/// The sales without the rows of the last mutation.
fn without_last_mutation(text: &str) -> String {
    let last = text.lines().last().unwrap().split(',').next().unwrap();
    let lines = text
        .lines()
        .filter(|line| line.split(',').next() != Some(last));
    lines.map(|line| format!("{line}\n")).collect()
}

/// The addresses with the first one elsewhere in the department.
fn moved(text: &str) -> String {
    let mut lines = text.lines();
    let header = lines.next().unwrap();
    let first = lines.next().unwrap();
    let at = |name: &str| header.split(';').position(|column| column == name).unwrap();
    let mut cells: Vec<&str> = first.split(';').collect();
    cells[at("lon")] = "3.25";
    cells[at("lat")] = "44.999";
    format!(
        "{header}\n{}\n{}",
        cells.join(";"),
        without_line(&without_line(text, 0), 0)
    )
}
