//! A disk that does not return from syncs: the server names the workers that hang, acknowledges nothing meanwhile, and is
//! ready again by itself once the disk answers.
//!
//! Needs a build with debug assertions, where `TOISE_WORK_MAX_MS` makes workers hang sooner, and a C compiler for the
//! library that holds syncs up.

use std::process::Stdio;
use std::sync::Arc;

use crate::support::process::{Server, run, toise};
use crate::torture::faults::{Faults, Word};

/// How long a worker may be at one piece of work here.
const WORK_MAX_MS: &str = "1500";

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
    let server = Arc::new(Server::ready(&mut command));
    let make = |name| {
        let (server, key) = (server.clone(), key.clone());
        async move { server.make_account(&key, name).await }
    };
    server.becomes("/healthz", 200, "").await;
    let before = make("before").await;

    faults.set(Word::Hang, 1);
    let during = tokio::spawn(make("during"));
    server.becomes("/healthz", 503, "store-writer").await;
    // Nobody writes to the data folder, and yet it is noticed.
    server.becomes("/healthz", 503, "disk-look").await;
    server
        .becomes(
            "/metrics",
            200,
            "toise_worker_hung{worker=\"store-writer\"} 1",
        )
        .await;
    server.becomes("/livez", 200, "").await;
    assert!(!during.is_finished(), "acknowledged without a sync");

    faults.set(Word::Hang, 0);
    server.becomes("/healthz", 200, "").await;
    server
        .becomes(
            "/metrics",
            200,
            "toise_worker_hung{worker=\"store-writer\"} 0",
        )
        .await;
    let acknowledged = [before, during.await.unwrap(), make("after").await];
    let server = Arc::into_inner(server).unwrap();
    assert_eq!(server.terminate(), Some(0));
    let accounts = run(&data, &["accounts", "list"]).to_string();
    for id in acknowledged {
        let id = id.expect("answered with success once the disk answers");
        assert!(accounts.contains(&id), "{id} is lost");
    }
}
