//! Deliveries on the command line: a receiver for trials, the list of deliveries, and retries.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Stdio};

use serde_json::{Value, json};
use toise::accounts::DEFAULT_ACCOUNT;
use toise::accounts::account::find_or_create;
use toise::alerts::outbox::{Branch, enqueue};
use toise::base::clock::Clock;
use toise::contract::listings::codes::FlxId;
use toise::store::Store;
use uuid::Uuid;

use crate::support::assertions::pick;
use crate::support::dispatching::{TestAlert, insert_alert};
use crate::support::process::{Server, errors, run, toise, try_run};

/// Commits a notification and returns its item.
fn tell(store: &Store, alert: TestAlert) -> FlxId {
    let item = FlxId(Uuid::now_v7());
    let at_ms = Clock::system().now().timestamp_millis();
    store
        .write(move |transaction| {
            enqueue(
                transaction,
                alert.number,
                Branch::Created,
                item,
                None,
                at_ms,
            )
        })
        .unwrap();
    item
}

/// A receiver on its own port that accepts a number of deliveries, its output, and its address.
fn listen(data: &Path, arguments: &[&str]) -> (Child, impl FnMut() -> Value + use<>, String) {
    let arguments = [&["webhook", "listen", "--port", "0"], arguments].concat();
    let mut listening = toise(data, &arguments)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(listening.stdout.take().unwrap()).lines();
    let mut line = move || serde_json::from_str::<Value>(&lines.next().unwrap().unwrap()).unwrap();
    let url = line()["address"].as_str().unwrap().to_owned();
    (listening, line, url)
}

/// A server that may deliver to this machine.
fn serve(data: &Path) -> Server {
    let allowed = ["--allow-webhook-hosts", "127.0.0.1"];
    Server::start_with(data, "serve", &allowed, Stdio::null())
}

#[test]
fn a_delivery_is_received_verified_listed_and_sent_again() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let store = Store::open(data).unwrap();
    let account = find_or_create(&store, &Clock::system(), DEFAULT_ACCOUNT).unwrap();
    let (mut listening, mut line, url) = listen(data, &["--count", "2"]);
    let alert = insert_alert(&store, &account, "PROPERTY", &url, None);
    let server = serve(data);
    let item = tell(&store, alert);
    let came = line();
    assert_eq!(
        pick(&came, ["verified", "repeated", "answered"]),
        json!([true, false, 200])
    );
    assert_eq!(
        came["body"]["data"]["created"][0]["properties"],
        json!([item])
    );

    let alert_id = alert.id.to_string();
    let listed = || run(data, &["alerts", "deliveries", &alert_id]);
    let started = std::time::Instant::now();
    while listed()[0]["status"] != "delivered" {
        assert!(started.elapsed().as_secs() < 10, "{}", listed());
    }
    assert_eq!(listed()[0]["delivery_id"], came["webhook_id"]);
    assert_eq!(
        run(
            data,
            &["alerts", "deliveries", &alert_id, "--status", "dead"]
        ),
        json!([])
    );
    assert_eq!(run(data, &["alerts", "dead-letters"]), json!([]));

    let replayed = run(
        data,
        &[
            "alerts", "replay", &alert_id, "--from", "2020-01-01", "--to", "2100-01-01",
        ],
    );
    assert_eq!(replayed["items"], 1);
    let acts = run(data, &["audit"]);
    let act = |place: usize| {
        let act = &acts["entries"][place];
        (act["action"].clone(), act["outcome"].clone())
    };
    let replay = || json!("alerts replay");
    assert_eq!(act(0), (replay(), json!("done")));
    assert_eq!(act(1), (replay(), json!("begun")));
    assert_eq!(acts["entries"][0]["subject"], format!("alert {alert_id}"));
    let again = line();
    assert_eq!(again["body"], came["body"]);
    assert_ne!(again["webhook_id"], came["webhook_id"]);
    assert!(listening.wait().unwrap().success());
    assert_eq!(server.terminate(), Some(0));

    let unknown = Uuid::now_v7().to_string();
    for (arguments, complaint) in [
        (vec!["alerts", "deliveries", &unknown], "no alert"),
        (
            vec![
                "alerts", "replay", &unknown, "--from", "2020-01-01", "--to", "2020-01-02",
            ],
            "no alert",
        ),
        (
            vec![
                "alerts", "replay", &alert_id, "--from", "2020-01-02", "--to", "2020-01-01",
            ],
            "--from must not be after --to",
        ),
        (
            vec!["alerts", "dead-letters", "--retry", &unknown],
            "no such delivery",
        ),
        (
            vec!["alerts", "dead-letters", "--retry", "x"],
            "expected a UUID",
        ),
        (
            vec!["webhook", "listen", "--secret", "abc"],
            "must be whsec_",
        ),
        (
            vec!["webhook", "listen", "--answer", "99"],
            "must be an HTTP status",
        ),
        (
            vec!["serve", "--allow-webhook-hosts", "http://x"],
            "must be host names or addresses",
        ),
    ] {
        let output = try_run(data, &arguments);
        assert!(
            !output.status.success() && errors(&output).contains(complaint),
            "{arguments:?}: {}",
            errors(&output)
        );
    }
    let acts = run(data, &["audit"]);
    let last = &acts["entries"][0];
    assert_eq!(last["action"], "alerts dead-letters --retry");
    let outcome = last["outcome"].as_str().unwrap();
    assert!(outcome.starts_with("failed: "), "{outcome}");
}

#[test]
fn no_proxy_of_the_environment_stands_between_a_delivery_and_its_receiver() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let store = Store::open(data).unwrap();
    let account = find_or_create(&store, &Clock::system(), DEFAULT_ACCOUNT).unwrap();
    let (mut listening, mut line, url) = listen(data, &["--count", "1"]);
    let alert = insert_alert(&store, &account, "PROPERTY", &url, None);
    let proxy = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", proxy.local_addr().unwrap());
    let arguments = [
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--allow-webhook-hosts",
        "127.0.0.1",
    ];
    let mut command = toise(data, &arguments);
    for name in ["http_proxy", "https_proxy", "all_proxy"] {
        command
            .env(name, &address)
            .env(name.to_uppercase(), &address);
    }
    command
        .env_remove("no_proxy")
        .env_remove("NO_PROXY")
        .stderr(Stdio::null());
    let server = Server::ready(&mut command);
    let item = tell(&store, alert);
    let came = line();
    assert_eq!(
        came["body"]["data"]["created"][0]["properties"],
        json!([item])
    );
    assert!(listening.wait().unwrap().success());
    assert_eq!(server.terminate(), Some(0));
    proxy.set_nonblocking(true).unwrap();
    assert!(proxy.accept().is_err(), "the proxy was asked");
}

#[test]
fn a_listener_turns_down_what_it_cannot_verify() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let store = Store::open(data).unwrap();
    let account = find_or_create(&store, &Clock::system(), DEFAULT_ACCOUNT).unwrap();
    let once = ["--count", "1", "--secret", "whsec_AAAA"];
    let (mut listening, mut line, url) = listen(data, &once);
    let alert = insert_alert(&store, &account, "PROPERTY", &url, None);
    tell(&store, alert);
    let _server = serve(data);
    let came = line();
    assert_eq!(pick(&came, ["verified", "answered"]), json!([false, 401]));
    assert!(
        came["problem"]
            .as_str()
            .unwrap()
            .starts_with("no signature matches")
    );
    assert!(listening.wait().unwrap().success());
}
