//! Two servers on a data folder. Clients send the same call to both at once, as behind a load balancer that retries on
//! another server: it is executed once, charged once, and both give the same response. If one of them is killed, no call
//! is missing from the consumption.

use std::path::Path;
use std::process::Stdio;

use reqwest::{Response, StatusCode};
use serde_json::{Value, json};

use crate::support::client::Client;
use crate::support::collecting::until;
use crate::support::http_client;
use crate::support::process::{Server, new_key, run};

/// Number of keys requested, each from both servers at once.
const ROUNDS: usize = 12;
/// Number of free calls before a server is killed.
const FREE_CALLS: usize = 20;
const SEARCH: &str = "/v2/protected/opendata/dvf/search";
const KEYS: &str = "/v2/protected/admin/keys";

async fn ask(server: &Server, path: &str, key: &str, name: &str, body: Value) -> Response {
    let request = http_client().post(format!("{}{path}", server.address));
    let request = request.header("x-api-key", key);
    let request = request.header("idempotency-key", name);
    request.json(&body).send().await.unwrap()
}

/// The answers of both servers to the same call, sent to both at once.
async fn ask_both(
    servers: &[Server; 2],
    path: &str,
    key: &str,
    name: &str,
    body: Value,
) -> [Response; 2] {
    let [first, second] = servers;
    let (first, second) = tokio::join!(
        ask(first, path, key, name, body.clone()),
        ask(second, path, key, name, body)
    );
    assert_eq!([first.status(), second.status()], [StatusCode::OK; 2]);
    [first, second]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_reaches_both_at_once_is_made_and_charged_once() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let operator = &new_key(data, &["--scopes", "admin,search"]);
    let agency = run(data, &["accounts", "create", "Agence"]);
    let agency = &agency["account_id"];
    let price = ["--price", "API_OPENDATA_DVF_SEARCH=1"];
    let servers = [(); 2].map(|()| Server::start_with(data, "serve", &price, Stdio::null()));
    for round in 0..ROUNDS {
        let name = format!("round {round}");
        let body = json!({"account_id": agency, "kind": "production", "grants": ["search"]});
        let answers = ask_both(&servers, KEYS, operator, &name, body).await;
        let [first, second] = answers.map(|answer| answer.json::<Value>());
        let (first, second) = (first.await.unwrap(), second.await.unwrap());
        assert_eq!(first, second);

        // The returned key works on both servers, and is charged once.
        let key = first["data"]["key"].as_str().unwrap();
        let answers = ask_both(&servers, SEARCH, key, &name, json!({})).await;
        let mut credits = answers
            .each_ref()
            .map(|answer| &answer.headers()["x-credits"]);
        credits.sort();
        assert_eq!(credits, ["0", "1"]);
    }
    let keys = run(data, &["keys", "list"]);
    assert_eq!(keys.as_array().unwrap().len(), 1 + ROUNDS);
    let usage = run(data, &["accounts", "usage", "Agence"]);
    assert_eq!(usage["usage"][0]["total_credits"], ROUNDS);
}

async fn make_free_calls(server: &Server, key: &str) {
    let client = Client::new(server, key);
    for _ in 0..FREE_CALLS {
        let (status, answer) = client.post("opendata/dvf/search", json!({})).await;
        assert_eq!(status, 200, "{answer}");
    }
}

/// Makes free calls and kills the server before it has written all of them to the ledger.
async fn make_free_calls_and_kill(server: Server, key: &str) {
    make_free_calls(&server, key).await;
    drop(server);
}

/// Returns the calls in the first account of a report of a command.
fn reported(data: &Path, command: &str) -> Value {
    run(data, &[command, "usage"])["usage"][0]["consumption_per_type"][0]["calls"].clone()
}

#[tokio::test]
async fn free_calls_of_a_killed_server_are_reported_by_the_other_one_and_by_commands() {
    let folder = tempfile::tempdir().unwrap();
    let [data, restored] = &["data", "restored"].map(|name| folder.path().join(name));
    let key = &new_key(data, &["--scopes", "search"]);
    let [first, second] = [(); 2].map(|()| Server::start(data, "serve"));
    let client = Client::new(&second, key);
    make_free_calls_and_kill(first, key).await;
    until("the other server reports the calls", async || {
        let report = client.get("consumption").await;
        report["data"]["consumption_per_type"][0]["calls"] == FREE_CALLS
    })
    .await;

    make_free_calls_and_kill(second, key).await;
    let backup = folder.path().join("backup").display().to_string();
    run(data, &["backup", &backup]);
    run(restored, &["restore", &backup]);
    assert_eq!(reported(restored, "keys"), 2 * FREE_CALLS);

    make_free_calls_and_kill(Server::start(data, "serve"), key).await;
    assert_eq!(reported(data, "accounts"), 3 * FREE_CALLS);
}

#[tokio::test]
async fn commands_report_the_free_calls_of_a_running_server() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let key = &new_key(data, &["--scopes", "search"]);
    let server = Server::start(data, "serve");
    for round in 1..=2 {
        make_free_calls(&server, key).await;
        assert_eq!(reported(data, "keys"), round * FREE_CALLS);
        assert_eq!(reported(data, "accounts"), round * FREE_CALLS);
    }
    let client = Client::new(&server, key);
    let report = client.get("consumption").await;
    let counted = &report["data"]["consumption_per_type"][0]["calls"];
    assert_eq!(*counted, 2 * FREE_CALLS);
}
