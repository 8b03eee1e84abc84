//! A disk that does not return from syncs: the server names the workers that hang, acknowledges nothing meanwhile, and is
//! ready again by itself once the disk answers.
//!
//! Needs a build with debug assertions, where `TOISE_WORK_MAX_MS` makes workers hang sooner, and a C compiler for the
//! library that holds syncs up.

use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::http_client;
use crate::support::process::{Server, run, toise};
use crate::torture::faults::{Faults, Word};

/// How long a worker may be at one piece of work here.
const WORK_MAX_MS: &str = "1500";
/// Maximum wait for the server to notice a change of its disk.
const NOTICED_WITHIN: Duration = Duration::from_secs(60);

/// Waits until a path answers with this status and text.
async fn becomes(server: &Server, path: &str, status: u16, text: &str) {
    let asked = Instant::now();
    loop {
        let response = http_client().get(format!("{}{path}", server.address));
        let response = response.send().await.unwrap();
        let found = response.status().as_u16();
        let said = response.text().await.unwrap();
        if found == status && said.contains(text) {
            return;
        }
        assert!(asked.elapsed() < NOTICED_WITHIN, "{found} {said}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Asks for an account to be made; the identifier, if that was acknowledged.
async fn make_account(address: String, key: String, name: &'static str) -> Option<String> {
    let url = format!("{address}/v2/protected/admin/accounts");
    let request = http_client().post(url).header("x-api-key", key);
    let response = request.json(&json!({"name": name})).send().await.unwrap();
    let made: Value = response.json().await.unwrap();
    made["data"]["account_id"].as_str().map(str::to_owned)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disk_that_hangs_is_not_ready_by_name_and_ready_again_once_it_answers() {
    let folder = tempfile::tempdir().unwrap();
    let outer = folder.path().canonicalize().unwrap();
    let data = outer.join("data");
    let Some(faults) = Faults::compile(&outer, 1) else {
        return;
    };
    let made = run(&data, &["keys", "create", "--scopes", "admin"]);
    let key = made["key"].as_str().unwrap().to_owned();
    let mut command = toise(&data, &["serve", "--listen", "127.0.0.1:0"]);
    command
        .env("TOISE_WORK_MAX_MS", WORK_MAX_MS)
        .stderr(Stdio::null());
    faults.preload(&mut command, &data);
    let server = Server::ready(&mut command);
    let make = |name| make_account(server.address.clone(), key.clone(), name);
    becomes(&server, "/healthz", 200, "").await;
    let before = make("before").await;

    faults.set(Word::Hang, 1);
    let during = tokio::spawn(make("during"));
    becomes(&server, "/healthz", 503, "store-writer").await;
    // Nobody writes to the data folder, and yet it is noticed.
    becomes(&server, "/healthz", 503, "disk-look").await;
    becomes(
        &server,
        "/metrics",
        200,
        "toise_worker_hung{worker=\"store-writer\"} 1",
    )
    .await;
    becomes(&server, "/livez", 200, "").await;
    assert!(!during.is_finished(), "acknowledged without a sync");

    faults.set(Word::Hang, 0);
    becomes(&server, "/healthz", 200, "").await;
    becomes(
        &server,
        "/metrics",
        200,
        "toise_worker_hung{worker=\"store-writer\"} 0",
    )
    .await;
    let acknowledged = [before, during.await.unwrap(), make("after").await];
    assert_eq!(server.terminate(), Some(0));
    let accounts = run(&data, &["accounts", "list"]).to_string();
    for id in acknowledged {
        let id = id.expect("answered with success once the disk answers");
        assert!(accounts.contains(&id), "{id} is lost");
    }
}
