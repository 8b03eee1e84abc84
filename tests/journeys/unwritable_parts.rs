//! One part of the data folder accepts no writes, although the disk has space: the server names it, acknowledges
//! nothing that would be lost, and is ready again by itself. If a sync of the ledger fails, the server ends and names
//! it.
//!
//! Needs a C compiler for the library that makes writes and syncs fail.

use std::io::{Read, Seek};
use std::path::Path;
use std::process::Stdio;

use reqwest::Method;
use serde_json::json;

use crate::support::client::Client;
use crate::support::failing_disks::NOTICED_WITHIN;
use crate::support::process::{Server, new_key, toise};
use crate::torture::faults::{Faults, Word};

/// The price of a call here, so that it is answered only once its row is on disk.
const PRICE: [&str; 2] = ["--price", "API_OPENDATA_DVF_SEARCH=1"];

/// A server that ignores the free space of its folder, and whose files with names that begin with `part` fail.
fn served(data: &Path, part: &str, faults: &Faults, log: Stdio) -> Server {
    let mut command = toise(data, &["serve", "--listen", "127.0.0.1:0"]);
    command.args(["--set", "server.disk_free_min_mib=0"]);
    command.args(PRICE).stderr(log);
    faults.preload(&mut command, &data.join(part));
    Server::ready(&mut command)
}

/// A call that is charged in the ledger.
async fn search(server: &Server, key: &str) -> u16 {
    let request = Client::new(server, key).request(Method::POST, "opendata/dvf/search");
    let response = request.json(&json!({})).send().await.unwrap();
    response.status().as_u16()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_takes_no_writes_is_named_and_the_rest_goes_on() {
    let Some((_folder, data, faults)) = Faults::in_new_folder() else {
        return;
    };
    let key = &new_key(&data, &["--scopes", "admin,search"]);
    for (part, named) in [
        ("store.sqlite", "the store cannot be written"),
        ("ledger.sqlite", "the ledger cannot be written"),
        (".writabl", "the data folder cannot be written"),
    ] {
        let server = served(&data, part, &faults, Stdio::null());
        server.becomes("/healthz", 200, "").await;
        faults.set(Word::Full, 1);
        let account = server.make_account(key, &format!("{part} during")).await;
        let charged = search(&server, key).await;
        assert_eq!(
            account.is_err(),
            part == "store.sqlite",
            "{part}: {account:?}"
        );
        assert_eq!(charged >= 500, part == "ledger.sqlite", "{part}: {charged}");
        server.becomes("/healthz", 503, named).await;
        assert!(faults.get(Word::Made) > 0);
        faults.set(Word::Full, 0);
        server.becomes("/healthz", 200, "").await;
        let account = server.make_account(key, &format!("{part} after")).await;
        assert!(account.is_ok(), "{part}: {account:?}");
        assert_eq!(search(&server, key).await, 200);
        assert_eq!(server.terminate(), Some(0));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ledger_that_cannot_be_synced_ends_the_server_by_name() {
    let Some((_folder, data, faults)) = Faults::in_new_folder() else {
        return;
    };
    let key = &new_key(&data, &["--scopes", "search"]);
    let mut log = tempfile::tempfile().unwrap();
    let stderr = Stdio::from(log.try_clone().unwrap());
    let server = served(&data, "ledger.sqlite", &faults, stderr);
    assert_eq!(search(&server, key).await, 200);
    faults.set(Word::SyncErrors, 1);
    // It is unknown whether its row is on disk, so it is not answered.
    assert!(search(&server, key).await >= 500);
    assert_eq!(server.ends_within(NOTICED_WITHIN, || {}), Some(1));
    let mut said = String::new();
    log.rewind().unwrap();
    log.read_to_string(&mut said).unwrap();
    let named =
        |line: &str| line.contains("ledger-flusher") && line.contains("the log cannot be synced");
    assert!(said.lines().any(named), "{said}");

    faults.end();
    let server = Server::start(&data, "serve");
    server.becomes("/healthz", 200, "").await;
    assert_eq!(search(&server, key).await, 200);
    assert_eq!(server.terminate(), Some(0));
}
