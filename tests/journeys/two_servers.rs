//! Two servers on a data folder. Clients send the same call to both at once, as behind a load balancer that retries on
//! another server: it is executed once, charged once, and both give the same response.

use std::process::Stdio;

use reqwest::{Response, StatusCode};
use serde_json::{Value, json};

use crate::support::http_client;
use crate::support::process::{Server, new_key, run};

/// Number of keys requested, each from both servers at once.
const ROUNDS: usize = 12;
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
