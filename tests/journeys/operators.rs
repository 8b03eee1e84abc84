//! Accounts, keys, limits, consumption and demos at the command line.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::assertions::pick;
use crate::support::process::{Server, errors, run, try_run};

/// Runs a command that must fail and returns its error output.
fn refused(data: &Path, arguments: &[&str]) -> String {
    let output = try_run(data, arguments);
    assert!(!output.status.success(), "{arguments:?}");
    assert!(output.stdout.is_empty(), "{arguments:?}");
    errors(&output)
}

fn text<'v>(value: &'v Value, field: &str) -> &'v str {
    value[field].as_str().unwrap()
}

async fn search(address: &str, key: &str) -> u16 {
    let url = format!("{address}/v2/protected/opendata/dvf/search");
    let request = crate::support::http_client()
        .post(url)
        .header("x-api-key", key)
        .body("{}");
    request.send().await.unwrap().status().as_u16()
}

/// Waits up to a second for a status.
async fn becomes(address: &str, key: &str, expected: u16) -> bool {
    let asked = Instant::now();
    while asked.elapsed() < Duration::from_secs(1) {
        if search(address, key).await == expected {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    false
}

#[test]
fn an_account_is_shown_with_its_secrets_including_a_rotated_one() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let first = run(data, &["accounts", "show"]);
    assert_eq!(first["name"], "default");
    assert!(text(&first, "signing_secret").starts_with("whsec_"));
    assert!(text(&first, "webhook_key").starts_with("whk_"));
    assert_eq!(run(data, &["accounts", "show"]), first, "created once");
    let key = run(data, &["keys", "create"]);
    assert_eq!(key["account_id"], first["account_id"]);

    let rotated = run(data, &["accounts", "rotate"]);
    assert_ne!(rotated["signing_secret"], first["signing_secret"]);
    let shown = run(data, &["accounts", "show"]);
    assert_eq!(shown["signing_secret"], rotated["signing_secret"]);
    let former = &shown["former_signing_secrets"];
    assert_eq!(former.as_array().unwrap().len(), 1);
    assert_eq!(former[0]["signing_secret"], first["signing_secret"]);

    let made = run(data, &["accounts", "create", "Agence"]);
    assert_eq!(run(data, &["accounts", "show", "Agence"]), made);
    assert_eq!(
        run(data, &["accounts", "show", text(&made, "account_id")]),
        made
    );
    let listed = run(data, &["accounts", "list"]);
    assert_eq!(listed.as_array().unwrap().len(), 2);
    assert!(!listed.to_string().contains("whsec_"));
    assert!(refused(data, &["accounts", "create", "Agence"]).contains("another account"));
    assert!(refused(data, &["accounts", "show", "Agense"]).contains("accounts create"));
}

#[tokio::test]
async fn a_running_server_applies_key_changes_of_the_command_line() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let server = Server::start(data, "serve");
    let made = run(
        data,
        &[
            "keys",
            "create",
            "--kind",
            "test",
            "--scopes",
            "ai,opendata.dvf.match",
            "--account",
            "Agence",
            "--rate",
            "20",
            "--monthly-quota",
            "none",
            "--name",
            "trial",
        ],
    );
    let expected = json!({
        "kind": "test", "grants": ["ai", "opendata.dvf.match"], "rate": 20, "name": "trial",
        "max_concurrent_estimates": 2, "account": "Agence",
    });
    for (field, value) in expected.as_object().unwrap() {
        assert_eq!(&made[field], value, "{field}");
    }
    assert!(made.get("monthly_quota").is_none());
    let (key, id) = (text(&made, "key"), text(&made, "key_id"));
    assert!(
        becomes(&server.address, key, 403).await,
        "a key without search"
    );
    let granted = run(data, &["keys", "grant", id, "search"]);
    assert_eq!(
        granted["grants"],
        json!(["search", "ai", "opendata.dvf.match"])
    );
    assert!(becomes(&server.address, key, 200).await, "granted search");

    let limited = run(
        data,
        &[
            "keys",
            "set-limit",
            key,
            "--rate",
            "30",
            "--monthly-quota",
            "9",
            "--sql-rows",
            "1000",
            "--sql-concurrent",
            "1",
        ],
    );
    assert_eq!(pick(&limited, ["rate", "monthly_quota"]), json!([30, 9]));
    assert_eq!(
        limited["sql_limits"],
        json!({"rows": 1000, "concurrent": 1})
    );
    let lifted = run(data, &["keys", "set-limit", key, "--sql-rows", "none"]);
    assert_eq!(lifted["sql_limits"], json!({"concurrent": 1}));
    assert_eq!(limited["grants"], granted["grants"]);

    let rotated = run(data, &["keys", "rotate", id]);
    assert_eq!(rotated["key_id"], made["key_id"]);
    assert_eq!(rotated["expires_at"], made["expires_at"]);
    assert!(becomes(&server.address, key, 401).await, "the old text");
    assert_eq!(search(&server.address, text(&rotated, "key")).await, 200);

    let only = run(data, &["keys", "grant", id, "geocoding", "--only"]);
    assert_eq!(only["grants"], json!(["geocoding"]));
    run(data, &["keys", "revoke", text(&rotated, "key")]);
    assert!(becomes(&server.address, text(&rotated, "key"), 401).await);
    assert!(refused(data, &["keys", "rotate", id]).contains("revoked or expired"));
    assert_eq!(server.terminate(), Some(0));
}

#[test]
fn invalid_key_settings_are_rejected_with_the_rule() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let id = run(data, &["keys", "create", "--kind", "test"]);
    let id = text(&id, "key_id");
    for (arguments, said) in [
        (
            &["keys", "create", "--kind", "test", "--scopes", "admin"][..],
            "test key",
        ),
        (&["keys", "grant", id, "admin.usage"], "test key"),
        (
            &["keys", "create", "--scopes", "everything"],
            "must be one of the scopes: search,",
        ),
        (&["keys", "create", "--scopes", ","], "at least one"),
        (&["keys", "create", "--name", "demo"], "demo"),
        (&["keys", "create", "--account", ""], "1 to 100 characters"),
        (&["keys", "create", "--rate", "0"], "1..="),
        (&["keys", "set-limit", id], "required"),
        (
            &["keys", "set-limit", id, "--monthly-quota", "-1"],
            "monthly-quota",
        ),
        (
            &["keys", "set-limit", "nothing", "--rate", "3"],
            "no such key",
        ),
        (
            &["keys", "usage", "--from", "yesterday"],
            "--from must be an ISO 8601 date",
        ),
        (
            &[
                "accounts", "usage", "--from", "2024-02-02", "--to", "2024-02-01",
            ],
            "must not be after to",
        ),
    ] {
        let message = refused(data, arguments);
        assert!(message.contains(said), "{arguments:?}: {message}");
    }
    assert_eq!(run(data, &["keys", "list"]).as_array().unwrap().len(), 1);
}

#[test]
fn consumption_is_reported_by_account_and_by_key() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let [first, second] =
        ["a", "b"].map(|account| run(data, &["keys", "create", "--account", account]));
    let store = toise::store::Store::open(data).unwrap();
    for (key, day, credits) in [
        (&first, "2026-03-01", 1),
        (&first, "2026-03-31", 2),
        (&first, "2026-04-01", 40),
        (&second, "2026-03-15", 500),
    ] {
        let [account_id, key_id] =
            ["account_id", "key_id"].map(|field| text(key, field).to_owned());
        store
            .write(move |transaction| {
                transaction.execute(
                    "INSERT INTO consumption (account_id, key_id, type, day, credits, calls)
                     VALUES (?1, ?2, 'API_ADVERTS_CHECK', ?3, ?4, ?4)",
                    (account_id, key_id, day, credits),
                )
            })
            .unwrap();
    }
    let march = ["--from", "2026-03-01", "--to", "2026-03-31"];
    let report = |arguments: &[&str]| run(data, &[arguments, march.as_slice()].concat());
    let all = report(&["accounts", "usage"]);
    assert_eq!(all["from_date"], "2026-03-01");
    let totals = |report: &Value| -> Vec<u64> {
        let parts = report["usage"].as_array().unwrap().iter();
        parts
            .map(|part| part["total_credits"].as_u64().unwrap())
            .collect()
    };
    assert_eq!(totals(&all), [3, 500]);
    assert_eq!(totals(&report(&["accounts", "usage", "a"])), [3]);
    assert_eq!(totals(&report(&["keys", "usage"])), [3, 500]);
    let own = report(&["keys", "usage", text(&first, "key_id")]);
    let consumed = json!([{"type": "API_ADVERTS_CHECK", "credits": 3, "calls": 3}]);
    assert_eq!(own["usage"][0]["consumption_per_type"], consumed);
}

#[tokio::test]
async fn a_demo_that_listens_revokes_only_the_keys_of_earlier_demos() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    run(data, &["synth", "--lake", "--dvf", "200"]);
    let own = run(data, &["keys", "create"]);
    let first = Server::start(data, "demo");
    let old = text(&first.ready, "key").to_owned();
    assert!(becomes(&first.address, &old, 200).await);
    let taken = first.address.trim_start_matches("http://");
    let message = refused(data, &["demo", "--listen", taken]);
    assert!(message.contains("cannot listen"), "{message}");
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(
        search(&first.address, &old).await,
        200,
        "no other demo replaced it"
    );
    assert_eq!(first.terminate(), Some(0));

    let second = Server::start(data, "demo");
    assert!(becomes(&second.address, text(&second.ready, "key"), 200).await);
    assert_eq!(search(&second.address, &old).await, 401);
    assert_eq!(search(&second.address, text(&own, "key")).await, 200);
    assert_eq!(second.terminate(), Some(0));
    let acts = run(data, &["audit"]);
    let made = acts["entries"].as_array().unwrap().iter();
    let made = made.filter(|act| act["action"] == "demo: create a key" && act["outcome"] == "done");
    assert_eq!(made.count(), 8);
}
