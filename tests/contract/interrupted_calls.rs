//! Calls that were executed but not answered, because the process ended or the client went away between the change and
//! the ledger's row. Repeated under their `Idempotency-Key`, they create nothing a second time.

use std::sync::mpsc;
use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};

use super::alerts::{CREATED, KINDS, service as service_with_alerts};
use crate::support::Service;
use crate::support::alerts::body;
use crate::support::collecting::{get, service as collecting_service, told};
use crate::support::portal::{Portal, flat_page};

/// A call under an idempotency key.
async fn make(service: &Service, key: &str, path: &str, body: &Value) -> Value {
    let method = if path.contains("/search/alerts") && !path.ends_with("/replay") {
        Method::PUT
    } else {
        Method::POST
    };
    let request = service
        .keyed(method, path, key)
        .header("idempotency-key", path);
    let answer = request.json(body).send().await.unwrap();
    let status = answer.status();
    let answer: Value = answer.json().await.unwrap();
    assert!(status.is_success(), "{path}: {status} {answer}");
    answer["data"].clone()
}

/// Makes a call, deletes the record of its response, and makes it again.
async fn interrupted(service: &Service, key: &str, path: &str, body: &Value) -> [Value; 2] {
    let made = make(service, key, path, body).await;
    let forget = |transaction: &rusqlite::Transaction<'_>| {
        transaction.execute("DELETE FROM stored_answers", [])
    };
    assert!(service.store.ledger().write(forget).unwrap() > 0);
    [made, make(service, key, path, body).await]
}

#[tokio::test]
async fn alerts_are_made_once_alone_or_many_at_once() {
    let service = service_with_alerts().await;
    for (listing, root) in KINDS {
        let wanted = body(listing, &json!({"type": ["CLASS_FLAT"]}), CREATED);
        let [made, again] = interrupted(&service, &service.key, root, &wanted).await;
        assert!(made["alert_id"].is_string());
        assert_eq!(made, again);
        let path = format!("{root}/many");
        let many = json!({"alerts": [wanted, {"webhook_url": 1}, wanted]});
        let [made, again] = interrupted(&service, &service.key, &path, &many).await;
        assert_ne!(made["alerts"][0]["success"], made["alerts"][2]["success"]);
        assert_eq!(made, again);
    }
    assert_eq!(service.stored("SELECT count(*) FROM alerts"), [6]);
    // A day later the key is forgotten, and the same request creates another alert.
    service.clock.advance_ms(24 * 3_600_000);
    let (listing, root) = KINDS[0];
    let wanted = body(listing, &json!({"type": ["CLASS_FLAT"]}), CREATED);
    make(&service, &service.key, root, &wanted).await;
    assert_eq!(service.stored("SELECT count(*) FROM alerts"), [7]);
}

#[tokio::test]
async fn a_replay_is_begun_once() {
    let service = service_with_alerts().await;
    let (listing, root) = KINDS[1];
    let wanted = body(listing, &json!({"type": ["CLASS_FLAT"]}), CREATED);
    let made = make(&service, &service.key, root, &wanted).await;
    let path = format!("{root}/{}/replay", made["alert_id"].as_str().unwrap());
    let day = service.clock.now().format("%Y-%m-%d").to_string();
    let window = json!({"from": day, "to": day});
    make(&service, &service.key, &path, &window).await;
    let forget = |transaction: &rusqlite::Transaction<'_>| {
        transaction.execute("DELETE FROM stored_answers", [])
    };
    service.store.ledger().write(forget).unwrap();
    make(&service, &service.key, &path, &window).await;
    assert_eq!(service.stored("SELECT count(*) FROM replays"), [1]);
}

#[tokio::test]
async fn a_report_is_one_report() {
    let portal = Portal::start().await;
    let service = collecting_service(|_| {}).await;
    portal.set("/1", flat_page(1, 350_000));
    let (_, advert) = told(get(&service, "adverts", &portal.url("/1")).await, 200).await;
    let path = format!(
        "/v2/protected/adverts/{}/report",
        advert["flxId"].as_str().unwrap()
    );
    let report = json!({"reason": "DUPLICATE"});
    let [made, again] = interrupted(&service, &service.key, &path, &report).await;
    assert_eq!(made, again);
    assert_eq!(service.stored("SELECT count(*) FROM reports"), [1]);
}

#[tokio::test]
async fn a_key_and_an_account_made_again_have_the_secrets_that_were_given() {
    let service = Service::start().await;
    let operator = service.key_with("admin");
    let path = "/v2/protected/admin/keys";
    let wanted = json!({"kind": "production", "grants": ["admin"]});
    let [lost, given] = interrupted(&service, &operator, path, &wanted).await;
    assert_eq!(lost["key_id"], given["key_id"]);
    assert_ne!(lost["key"], given["key"]);
    for (made, status) in [(&lost, 401), (&given, 200)] {
        let list = service.keyed(Method::GET, path, made["key"].as_str().unwrap());
        assert_eq!(list.send().await.unwrap().status(), status);
    }
    assert_eq!(
        given["prefix"],
        json!(given["key"].as_str().unwrap()[..given["prefix"].as_str().unwrap().len()])
    );

    let path = "/v2/protected/admin/accounts";
    let [lost, given] = interrupted(&service, &operator, path, &json!({"name": "partner"})).await;
    assert_eq!(lost["account_id"], given["account_id"]);
    assert_ne!(lost["signing_secret"], given["signing_secret"]);
    let counts = "SELECT count(*) FROM signing_secrets JOIN accounts USING (account_id) WHERE name = 'partner'";
    assert_eq!(service.stored(counts), [1]);
}

#[tokio::test]
async fn a_call_cut_off_while_it_is_billed_is_not_made_again_before_that_has_ended() {
    let service = Service::start_changed(|app| {
        app.capacity.request_timeout = Duration::from_secs(2);
    })
    .await;
    let operator = service.key_with("admin");
    let ((stands, stood), (go_on, goes_on)) = (mpsc::channel(), mpsc::channel::<()>());
    let ledger = service.store.ledger().clone();
    let writer = std::thread::spawn(move || {
        // The thread that writes the ledger waits here, as on a slow disk.
        let change = move |_: &rusqlite::Transaction<'_>| {
            stands.send(()).unwrap();
            Ok(goes_on.recv().is_ok())
        };
        ledger.write(change).unwrap()
    });
    stood.recv().unwrap();
    let path = "/v2/protected/admin/keys";
    let ask = || {
        let request = service.keyed(Method::POST, path, &operator);
        let request = request.header("idempotency-key", "slow");
        request.json(&json!({"kind": "production", "grants": ["admin"]}))
    };
    // The first call has created its key; the second call would replace its text.
    for _ in 0..2 {
        assert_eq!(ask().send().await.unwrap().status(), 503);
    }
    go_on.send(()).unwrap();
    assert!(writer.join().unwrap());
    let mut answer = ask().send().await.unwrap();
    while answer.status() == 503 {
        answer = ask().send().await.unwrap();
    }
    assert_eq!(answer.headers()["idempotent-replayed"], "true");
    let made: Value = answer.json().await.unwrap();
    let list = service.keyed(Method::GET, path, made["data"]["key"].as_str().unwrap());
    assert_eq!(list.send().await.unwrap().status(), 200);
}

#[tokio::test]
async fn a_project_made_again_is_read_with_the_token_that_was_given() {
    let service = Service::start().await;
    let key = service.key_with("geocoding");
    let [lost, given] = interrupted(&service, &key, "/geocoding/async/projects", &json!({})).await;
    assert_eq!(lost["id"], given["id"]);
    assert_ne!(lost["token"], given["token"]);
    assert_eq!(
        service.stored("SELECT count(*) FROM geocoding_projects"),
        [1]
    );
}
