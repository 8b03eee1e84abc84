//! A data folder whose master key is elsewhere: what a thief of the folder can read, the error of a command without the
//! key, the rotation of keys on the command line, and the entries of the audit log.

use std::path::Path;
use std::process::Output;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::Method;
use serde_json::{Value, json};
use toise::store::Store;

use crate::support::assertions::assert_has;
use crate::support::client::Client;
use crate::support::process::{Server, errors, new_key, run, toise, try_run};

const MASTER_KEY: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
const OTHER_KEY: &str = "ff112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

/// Runs a command with an environment variable; returns its output as JSON, or its error.
fn run_with((name, value): (&str, &str), data: &Path, arguments: &[&str]) -> Result<Value, String> {
    let output = toise(data, arguments).env(name, value).output().unwrap();
    if output.status.success() {
        Ok(serde_json::from_slice(&output.stdout).unwrap_or(Value::Null))
    } else {
        Err(errors(&output))
    }
}

/// The bytes that a thief would look for: secrets as they are shown, and as they may be stored.
fn secrets_of(answer: &Value) -> Vec<(String, Vec<u8>)> {
    let mut secrets = Vec::new();
    for name in ["webhook_key", "next_webhook_key", "signing_secret", "key"] {
        let Some(text) = answer[name].as_str() else {
            continue;
        };
        secrets.push((name.to_owned(), text.as_bytes().to_vec()));
        if let Some(base64) = text.strip_prefix("whsec_") {
            secrets.push((format!("{name}, bytes"), STANDARD.decode(base64).unwrap()));
        }
    }
    secrets
}

/// Returns which of these secrets the files of a folder contain.
fn shown<'s>(folder: &Path, secrets: &'s [(String, Vec<u8>)]) -> Vec<&'s str> {
    let files: Vec<Vec<u8>> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file())
        .map(|path| std::fs::read(path).unwrap())
        .collect();
    assert!(!files.is_empty());
    let is_in = |secret: &[u8]| {
        let mut files = files.iter();
        files.any(|file| file.windows(secret.len()).any(|part| part == secret))
    };
    let shown = secrets.iter().filter(|(_, secret)| is_in(secret));
    shown.map(|(name, _)| name.as_str()).collect()
}

/// Performs all operations on an account; returns all secrets that it had.
fn whole_life(data: &Path, key: (&str, &str)) -> Vec<(String, Vec<u8>)> {
    let act = |arguments: &[&str]| run_with(key, data, arguments).unwrap();
    let mut secrets = secrets_of(&act(&["accounts", "create", "partner"]));
    secrets.extend(secrets_of(&act(&["accounts", "rotate", "partner"])));
    let rotated = act(&["accounts", "rotate-webhook-key", "partner"]);
    assert_ne!(rotated["webhook_key"], rotated["next_webhook_key"]);
    secrets.extend(secrets_of(&rotated));
    secrets.extend(secrets_of(&act(&[
        "keys", "create", "--account", "partner",
    ])));
    assert_eq!(secrets.len(), 9);
    secrets
}

#[test]
fn a_stolen_folder_shows_no_secret_wherever_its_master_key_comes_from() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("key");
    std::fs::write(&file, format!("{MASTER_KEY}\n")).unwrap();
    let command = format!("cat {}", file.display());
    for key in [
        ("TOISE_MASTER_KEY", MASTER_KEY),
        ("TOISE_MASTER_KEY_FILE", file.to_str().unwrap()),
        ("TOISE_MASTER_KEY_COMMAND", command.as_str()),
    ] {
        let data = folder.path().join(key.0);
        let secrets = whole_life(&data, key);
        assert_eq!(shown(&data, &secrets), [""; 0], "{}", key.0);
        let copy = folder.path().join(format!("{}-copy", key.0));
        run_with(key, &data, &["backup", copy.to_str().unwrap()]).unwrap();
        assert_eq!(shown(&copy, &secrets), [""; 0], "{}", key.0);

        let refused = try_run(&data, &["accounts", "list"]);
        assert_eq!(refused.status.code(), Some(1));
        assert_has(&errors(&refused), "TOISE_MASTER_KEY");
        let wrong = ("TOISE_MASTER_KEY", OTHER_KEY);
        let refused = run_with(wrong, &data, &["accounts", "list"]).unwrap_err();
        assert_has(&refused, "does not belong to this store");
        // The same key opens it, however it is given.
        let listed = run_with(
            ("TOISE_MASTER_KEY", MASTER_KEY),
            &data,
            &["accounts", "list"],
        );
        assert_eq!(listed.unwrap()[0]["name"], "partner");
    }
    let file = folder.path().join("broken key");
    std::fs::write(&file, "short").unwrap();
    let file = file.to_str().unwrap();
    let (command, rule) = ("TOISE_MASTER_KEY_COMMAND", "must be 64 hexadecimal digits");
    for (name, value, place, expected) in [
        ("TOISE_MASTER_KEY", "short", "TOISE_MASTER_KEY:", rule),
        ("TOISE_MASTER_KEY_FILE", file, file, rule),
        ("TOISE_MASTER_KEY_FILE", "/nowhere/key", "/nowhere/key", ""),
        (command, "echo short", command, rule),
        (command, "exit 3", command, "failed: exit status: 3"),
    ] {
        let data = folder.path().join("other");
        std::fs::create_dir_all(&data).unwrap();
        let refused = run_with((name, value), &data, &["accounts", "list"]).unwrap_err();
        assert!(refused.contains(place), "{refused}");
        assert!(refused.contains(expected), "{refused}");
    }
}

#[test]
fn secrets_from_before_the_master_key_are_sealed_once_it_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let secrets = whole_life(&data, ("UNUSED", ""));
    let (of_keys, of_account): (Vec<_>, Vec<_>) =
        secrets.into_iter().partition(|(name, _)| name == "key");
    // Of a key only a digest is stored, with a master key or without.
    assert_eq!(shown(&data, &of_keys), [""; 0]);
    assert!(shown(&data, &of_account).len() >= 3);
    let key = ("TOISE_MASTER_KEY", MASTER_KEY);
    let account = run_with(key, &data, &["accounts", "show", "partner"]).unwrap();
    assert!(account["signing_secret"].is_string());
    assert_eq!(shown(&data, &of_account), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_a_server_has_open_without_the_key_is_not_encrypted() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let operator = new_key(&data, &["--scopes", "admin"]);
    let server = Server::start(&data, "serve");
    let key = ("TOISE_MASTER_KEY", MASTER_KEY);
    let refused = run_with(key, &data, &["accounts", "list"]).unwrap_err();
    for said in ["another process has", "store.sqlite", "Stop the server"] {
        assert!(refused.contains(said), "{refused}");
    }
    let client = Client::new(&server, &operator);
    let partner = json!({"name": "partner"});
    let made = client.data(Method::POST, "admin/accounts", partner).await;
    let secrets = secrets_of(&made);
    assert_eq!(secrets.len(), 3);
    assert_eq!(server.terminate(), Some(0));
    run_with(key, &data, &["accounts", "list"]).unwrap();
    let copy = folder.path().join("copy");
    run_with(key, &data, &["backup", copy.to_str().unwrap()]).unwrap();
    for folder in [&data, &copy] {
        assert_eq!(shown(folder, &secrets), [""; 0]);
    }
    // With the key, commands and the server share the store.
    let server =
        Server::ready(toise(&data, &["serve", "--listen", "127.0.0.1:0"]).env(key.0, key.1));
    run_with(key, &data, &["accounts", "show", "partner"]).unwrap();
    assert_eq!(server.terminate(), Some(0));
}

#[test]
fn the_log_of_acts_tells_of_backups_shown_secrets_and_master_keys() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let made = run(&data, &["accounts", "create", "partner"]);
    let id = made["account_id"].as_str().unwrap();
    run(&data, &["accounts", "show", "partner"]);
    let unknown = toise(&data, &["accounts", "rotate", "zzz"]).output();
    assert_eq!(unknown.unwrap().status.code(), Some(1));
    let [backup, copy] = ["backup.tar", "copy"].map(|name| folder.path().join(name));
    let backup = backup.to_str().unwrap();
    run(&data, &["backup", backup]);
    let own = acts(&data).into_iter().map(|act| act.join(" | "));
    let own: Vec<String> = own.collect();
    let plain = [
        "accounts create |  | begun".to_owned(),
        format!("accounts create | account {id} | done"),
        format!("accounts show | account {id} | begun"),
        format!("accounts show | account {id} | done"),
        "accounts rotate | account \"zzz\" | begun".to_owned(),
        "accounts rotate | account \"zzz\" | failed: no account \"zzz\"; create it with `toise accounts create`"
            .to_owned(),
        format!("backup | to {backup} | begun"),
        format!("backup | to {backup} | done"),
    ];
    assert_eq!(own, plain);

    run(&copy, &["restore", backup]);
    let told = acts(&copy).into_iter().map(|act| act.join(" | "));
    let told: Vec<String> = told.skip(7).collect();
    let restore = format!("restore | from {backup}");
    assert_eq!(
        told,
        [format!("{restore} | begun"), format!("{restore} | done")]
    );

    let both = [
        ("TOISE_MASTER_KEY", OTHER_KEY),
        ("TOISE_MASTER_KEY_PREVIOUS", MASTER_KEY),
    ];
    run_with(("TOISE_MASTER_KEY", MASTER_KEY), &data, &["keys", "list"]).unwrap();
    let changed = toise(&data, &["audit"]).envs(both).output().unwrap();
    assert!(changed.status.success(), "{}", errors(&changed));
    let told: Value = serde_json::from_slice(&changed.stdout).unwrap();
    let entries = told["entries"].as_array().unwrap().iter().take(4).rev();
    let told: Vec<(&str, &str)> = entries
        .map(|entry| {
            (
                entry["action"].as_str().unwrap(),
                entry["outcome"].as_str().unwrap(),
            )
        })
        .collect();
    let (encrypt, change) = (
        "master key: encrypt the secrets of the store",
        "master key: change it",
    );
    let expected = [
        (encrypt, "begun"),
        (encrypt, "done"),
        (change, "begun"),
        (change, "done"),
    ];
    assert_eq!(told, expected);
}

#[test]
fn a_webhook_key_is_replaced_in_a_day_or_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let made = run(&data, &["accounts", "create", "partner"]);
    let later = run(&data, &["accounts", "rotate-webhook-key", "partner"]);
    assert_eq!(later["webhook_key"], made["webhook_key"]);
    assert!(later["next_webhook_key"].is_string());
    assert!(later["next_webhook_key_from"].is_string());
    let at_once = run(
        &data,
        &["accounts", "rotate-webhook-key", "partner", "--now"],
    );
    assert!(at_once["next_webhook_key"].is_null(), "{at_once}");
    for former in [&made["webhook_key"], &later["next_webhook_key"]] {
        assert_ne!(&at_once["webhook_key"], former);
    }
    let shown = run(&data, &["accounts", "show", "partner"]);
    assert_eq!(shown["webhook_key"], at_once["webhook_key"]);
    let unknown = toise(&data, &["accounts", "rotate-webhook-key", "nobody"]).output();
    let unknown = unknown.unwrap();
    assert_eq!(unknown.status.code(), Some(1));
    assert!(errors(&unknown).contains("no account \"nobody\""));
}

/// The acts listed by `toise audit`, oldest first: act, subject and outcome.
fn acts(data: &Path) -> Vec<[String; 3]> {
    let told = run(data, &["audit", "--take", "1000"]);
    assert_eq!(told["broken_at"], Value::Null);
    let text = |entry: &Value, name: &str| entry[name].as_str().unwrap_or_default().to_owned();
    let entries = told["entries"].as_array().unwrap().iter().rev();
    entries
        .map(|entry| ["action", "subject", "outcome"].map(|name| text(entry, name)))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_of_acts_tells_a_keys_whole_life_at_the_command_line_and_over_http() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let operator = new_key(&data, &["--scopes", "admin,search"]);
    let made = run(&data, &["keys", "create", "--name", "first"]);
    let id = made["key_id"].as_str().unwrap();
    run(&data, &["keys", "set-limit", id, "--rate", "7"]);
    run(&data, &["keys", "grant", id, "alerts.list"]);
    run(&data, &["keys", "restrict", id, "--expires", "2099-12-31"]);
    run(&data, &["keys", "rotate", id]);
    let (server, client) = Client::start(&data, &operator);
    let path = format!("admin/keys/{id}");
    let ask = async |method: Method, body: Value| client.send(method, &path, body).await.0;
    assert_eq!(ask(Method::PATCH, json!({"rate": 9})).await, 200);
    assert_eq!(ask(Method::PATCH, json!({"rate": 0})).await, 422);
    assert_eq!(ask(Method::DELETE, Value::Null).await, 200);
    assert_eq!(server.terminate(), Some(0));

    let own = acts(&data)
        .into_iter()
        .filter(|[action, subject, _]| action.contains(id) || subject.contains(id));
    let plain = |text: String| text.replace(id, "ID");
    let own: Vec<String> = own.map(|act| plain(act.join(" | "))).collect();
    let path = "/v2/protected/admin/keys/ID";
    assert_eq!(
        own,
        [
            "keys create | key ID | done".to_owned(),
            "keys set-limit | key ID | begun".to_owned(),
            "keys set-limit | key ID | done".to_owned(),
            "keys grant alerts.list | key ID | begun".to_owned(),
            "keys grant alerts.list | key ID | done".to_owned(),
            "keys restrict | key ID | begun".to_owned(),
            "keys restrict | key ID | done".to_owned(),
            "keys rotate | key ID | begun".to_owned(),
            "keys rotate | key ID | done".to_owned(),
            format!("PATCH {path} |  | begun"),
            format!("PATCH {path} | key ID | 200"),
            format!("PATCH {path} |  | begun"),
            format!("PATCH {path} |  | 422"),
            format!("DELETE {path} |  | begun"),
            format!("DELETE {path} | key ID | 200"),
        ]
    );
}

/// The exit status and the output of `toise audit`.
fn verified(data: &Path) -> (Output, Value) {
    let output = try_run(data, &["audit"]);
    let told = serde_json::from_slice(&output.stdout).unwrap();
    (output, told)
}

#[test]
fn a_log_of_acts_that_was_tampered_with_says_where() {
    let tampered = |sql: &'static str| {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        for name in ["one", "two", "three"] {
            run(&data, &["accounts", "create", name]);
        }
        let (output, told) = verified(&data);
        assert_eq!(
            (output.status.code(), &told["broken_at"]),
            (Some(0), &Value::Null)
        );
        assert_eq!(told["count"], 6);
        // As a person with access to the file would do it.
        let store = Store::open(&data).unwrap();
        let tamper = |transaction: &rusqlite::Transaction<'_>| {
            transaction.execute_batch(
                "DROP TRIGGER audit_is_not_changed; DROP TRIGGER audit_is_not_deleted;",
            )?;
            transaction.execute(sql, [])
        };
        assert_eq!(store.write(tamper).unwrap(), 1, "{sql}");
        drop(store);
        let (output, told) = verified(&data);
        assert_eq!(output.status.code(), Some(1), "{sql}");
        let broken_at = told["broken_at"].as_i64().unwrap();
        let said = format!("tampered with: entry {broken_at} does not follow");
        assert!(errors(&output).contains(&said), "{}", errors(&output));
        broken_at
    };
    assert_eq!(
        tampered("UPDATE audit SET outcome = 'x' WHERE entry = 2"),
        2
    );
    assert_eq!(tampered("DELETE FROM audit WHERE entry = 3"), 4);
    assert_eq!(tampered("DELETE FROM audit WHERE entry = 6"), 6);
    assert_eq!(
        tampered("UPDATE audit SET actor = 'nobody', digest = zeroblob(32) WHERE entry = 4"),
        4
    );
}
