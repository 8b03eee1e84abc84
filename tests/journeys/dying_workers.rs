//! A background thread or task of the server dies: the server logs which one, is no longer ready, drains and exits
//! with an error, so that its service manager restarts it.
//!
//! Needs a build with debug assertions: only there do workers panic when `TOISE_PANIC_WORKER` names them.

use std::io::Read;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::json;
use toise::contract::listings::filters::ListingKind;

use crate::support::alerts::body;
use crate::support::http_client;
use crate::support::process::{Server, new_key, toise};

/// Maximum time from readiness to the end of the process: a worker's turn, the drain, the stop of the others.
const ENDS_WITHIN: Duration = Duration::from_secs(60);

/// Exit code and log of a server.
struct End {
    code: Option<i32>,
    log: String,
}

/// Runs a server with a worker that dies, calls `provoke` and waits for the end.
fn served_with(data: &Path, worker: &str, provoke: impl FnOnce(&Server)) -> End {
    let mut log = tempfile::tempfile().unwrap();
    let mut command = toise(data, &["serve", "--listen", "127.0.0.1:0"]);
    command
        .env("TOISE_PANIC_WORKER", worker)
        .stderr(Stdio::from(log.try_clone().unwrap()));
    let server = Server::ready(&mut command);
    provoke(&server);
    let address = format!("{}/healthz", server.address);
    let began = Instant::now();
    let code = server.ends_within(ENDS_WITHIN, || {
        // Once it drains, it accepts no more connections. Until it notices the failure, it is healthy.
        let Ok(answer) = status_of(&address) else {
            return;
        };
        let patience = Duration::from_secs(30);
        assert!(
            answer != 200 || began.elapsed() < patience,
            "{worker}: healthz {answer}"
        );
    });
    let mut text = String::new();
    std::io::Seek::rewind(&mut log).unwrap();
    log.read_to_string(&mut text).unwrap();
    End { code, log: text }
}

/// Status of a response, over a new connection.
fn status_of(address: &str) -> Result<u16, reqwest::Error> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async { Ok(http_client().get(address).send().await?.status().as_u16()) })
}

fn assert_named(worker: &str, end: &End) {
    assert_eq!(end.code, Some(1), "{worker}: {}", end.log);
    let named = |line: &&str| line.contains("a worker died") && line.contains(worker);
    assert!(
        end.log.lines().any(|line| named(&line)),
        "{worker}: {}",
        end.log
    );
    // Other threads of the same kind may still print their backtraces after this line.
    let message = format!("worker {worker}");
    let ends = |line: &str| line.contains(&message) && line.contains("died: ");
    assert!(end.log.lines().any(ends), "{worker}: {}", end.log);
}

#[test]
fn a_dead_worker_ends_the_server_with_an_error_that_names_it() {
    let folder = tempfile::tempdir().unwrap();
    for worker in [
        "store-writer",
        "store-checkpoint",
        "ledger-writer",
        "ledger-checkpoint",
        "ledger-flusher",
        "dispatcher",
        "collector",
        "page-reader",
        "projection",
        "compaction",
        "text-index",
        "model",
        "metrics-upkeep",
        "key-uses",
        "certificate-reload",
        "disk-look",
        "readiness-log",
    ] {
        let end = served_with(folder.path(), worker, |_| {});
        assert_named(worker, &end);
    }
    // Leftovers do not prevent the next server from starting.
    let server = Server::start(folder.path(), "serve");
    assert_eq!(
        status_of(&format!("{}/healthz", server.address)).unwrap(),
        200
    );
    assert_eq!(server.terminate(), Some(0));
}

#[test]
fn a_name_lookup_that_panics_ends_the_server_too() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let key = new_key(data, &["--scopes", "alerts"]);
    let end = served_with(data, "lookup", |server| {
        let filter = json!({"type": ["CLASS_FLAT"]});
        let body = body(ListingKind::Advert, &filter, &["ALERT_MATCH_CREATED"]);
        let asking = async {
            let url = format!("{}/v2/protected/adverts/search/alerts", server.address);
            let request = http_client().put(url).header("x-api-key", key);
            // The server may be gone before it responds.
            let _ = request.json(&body).send().await;
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(asking);
    });
    assert_named("lookup", &end);
}
