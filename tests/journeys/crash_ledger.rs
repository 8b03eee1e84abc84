//! A server killed under a load of free and charged calls: every response received was charged exactly once.

use std::collections::HashMap;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::support::crashes::{ids_in_ledger, kill_under_load};
use crate::support::draw::Draw;
use crate::support::process::{Server, new_key, variable};

/// Number of kills, unless `TOISE_KILLS` overrides it.
const KILLS: usize = 8;
/// Clients, each with one call in flight.
const CLIENTS: usize = 8;
const PATH: &str = "/v2/protected/opendata/dvf/search";

/// Calls continuously until the server is gone; records the request id of each response received.
async fn load(url: String, key: String, received: Arc<Mutex<Vec<String>>>) {
    let client = crate::support::http_client();
    loop {
        let request = client.post(&url).header("x-api-key", &key).body("{}");
        let Ok(response) = request.timeout(Duration::from_secs(5)).send().await else {
            return;
        };
        if response.status() != 200 {
            tokio::time::sleep(Duration::from_millis(5)).await;
            continue;
        }
        let request_id = response.headers()["x-request-id"]
            .to_str()
            .unwrap()
            .replace('-', "");
        received.lock().unwrap().push(request_id);
        if response.bytes().await.is_err() {
            return;
        }
    }
}

/// Number of ledger rows of each request id.
fn rows(data: &Path) -> HashMap<String, usize> {
    let mut rows = HashMap::new();
    for id in ids_in_ledger(data) {
        *rows.entry(id).or_default() += 1;
    }
    rows
}

#[tokio::test(flavor = "multi_thread")]
async fn every_response_received_has_one_row_and_few_rows_have_no_response() {
    let kills = variable("TOISE_KILLS", KILLS);
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let keys: Vec<String> = (0..CLIENTS)
        .map(|_| new_key(data, &["--scopes", "search"]))
        .collect();
    let received: Arc<Mutex<Vec<String>>> = Arc::default();
    let mut draw = Draw::new(std::process::id().into());
    let (mut answers_before, mut rows_before, mut unanswered_in_all) = (0, 0, 0);
    for kill in 0..kills {
        // Free and charged calls wait for their rows in different ways.
        let price = [
            "--price",
            ["API_OPENDATA_DVF_SEARCH=0", "API_OPENDATA_DVF_SEARCH=1"][kill % 2],
        ];
        let server = Server::start_with(data, "serve", &price, Stdio::null());
        let url = format!("{}{PATH}", server.address);
        let clients = keys
            .iter()
            .map(|key| tokio::spawn(load(url.clone(), key.clone(), Arc::clone(&received))))
            .collect();
        let enough = answers_before + CLIENTS;
        let is_answered = || received.lock().unwrap().len() >= enough;
        kill_under_load(server, clients, &mut draw, is_answered).await;
        let rows = rows(data);
        let received = received.lock().unwrap();
        for request_id in received.iter() {
            assert_eq!(rows.get(request_id), Some(&1), "{request_id}");
        }
        let unanswered = (rows.len() - rows_before) - (received.len() - answers_before);
        assert!(
            unanswered <= CLIENTS,
            "{unanswered} rows without a response"
        );
        unanswered_in_all += unanswered;
        (answers_before, rows_before) = (received.len(), rows.len());
    }
    assert!(answers_before >= kills * CLIENTS);
    println!(
        "{kills} kills: {answers_before} responses received, each with one row of {rows_before} in the ledger; \
         {unanswered_in_all} rows without a response, never more than the {CLIENTS} calls in flight"
    );
}
