//! A disk on which syncs hang: the server names the workers that hang, acknowledges nothing during that time, and is
//! ready again by itself once the disk responds.
//!
//! Needs a build with debug assertions, in which `TOISE_WORK_MAX_MS` shortens the time after which a worker hangs, and
//! a C compiler for the library that delays syncs.

use std::process::Stdio;
use std::sync::Arc;

use crate::support::process::{Server, new_key, run, toise};
use crate::torture::faults::{Faults, Word};

/// Maximum time of a worker for one piece of work in this test.
const WORK_MAX_MS: &str = "1500";

#[tokio::test(flavor = "multi_thread")]
async fn a_disk_that_hangs_is_not_ready_by_name_and_ready_again_once_it_answers() {
    let Some((_folder, data, faults)) = Faults::in_new_folder() else {
        return;
    };
    let key = new_key(&data, &["--scopes", "admin"]);
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
    // It is noticed although nobody writes to the data folder.
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
