//! Calls repeated under one `Idempotency-Key`: one charge, one response.

use std::sync::Arc;

use futures::future::join_all;
use reqwest::{Method, Response};
use serde_json::{Value, json};
use toise::accounts::key::{KeyChange, KeyKind};
use toise::accounts::keys;
use toise::accounts::prices::{Consumption, Prices};

use super::alerts::{CREATED, KINDS, service as service_with_alerts};
use crate::support::alerts::body;
use crate::support::collecting::{get, service as collecting_service, told};
use crate::support::portal::{Portal, flat_page};
use crate::support::{Service, error_of};

const PATH: &str = "/v2/protected/opendata/dpe/search";

async fn priced() -> Service {
    Service::start_changed(|app| {
        let mut prices = Prices::default();
        prices.set(Consumption::OpendataDpeSearch, 1);
        app.billing.prices = Arc::new(prices);
    })
    .await
}

async fn ask(service: &Service, key: &str, name: &str, body: &str) -> Response {
    service
        .keyed(Method::POST, PATH, key)
        .header("idempotency-key", name)
        .body(body.to_owned())
        .send()
        .await
        .unwrap()
}

#[tokio::test]
async fn a_repeated_call_gets_the_stored_response_free_of_charge() {
    let service = priced().await;
    let first = ask(&service, &service.key, "a", r#"{"size":2}"#).await;
    assert_eq!(first.headers()["x-credits"], "1");
    assert!(!first.headers().contains_key("idempotent-replayed"));
    let answer = first.text().await.unwrap();
    let again = ask(&service, &service.key, "a", r#"{"size":2}"#).await;
    assert_eq!(again.headers()["x-credits"], "0");
    assert_eq!(again.headers()["idempotent-replayed"], "true");
    assert_eq!(again.headers()["content-type"], "application/json");
    assert_eq!(again.text().await.unwrap(), answer);
    let (status, code, _) = error_of(ask(&service, &service.key, "a", r#"{"size":3}"#).await).await;
    assert_eq!((status, code), (409, 10008));
    // The same idempotency key of another account is independent.
    let other = service.new_key(KeyKind::Production, "search", "other").key;
    let foreign = ask(&service, &other, "a", r#"{"size":3}"#).await;
    assert_eq!(foreign.headers()["x-credits"], "1");
    assert_eq!(
        service.charged("SELECT count(*), sum(credits) FROM ledger"),
        [2, 2]
    );
    service.clock.advance_ms(24 * 3_600_000);
    let next_day = ask(&service, &service.key, "a", r#"{"size":3}"#).await;
    assert_eq!(next_day.headers()["x-credits"], "1");
}

#[tokio::test]
async fn what_was_answered_is_given_again_past_the_quota() {
    let service = priced().await;
    let change = KeyChange {
        monthly_quota: Some(Some(1)),
        ..KeyChange::default()
    };
    keys::change(&service.store, &service.key, change).unwrap();
    let first = ask(&service, &service.key, "a", "{}").await;
    assert_eq!(first.status(), 200);
    let answer = first.text().await.unwrap();
    service.clock.advance_ms(1_000);
    let again = ask(&service, &service.key, "a", "{}").await;
    assert_eq!(again.headers()["idempotent-replayed"], "true");
    assert_eq!(again.text().await.unwrap(), answer);
    for (name, body) in [("b", "{}"), ("a", r#"{"size":2}"#)] {
        let refused = ask(&service, &service.key, name, body).await.status();
        assert_eq!(refused, if name == "a" { 409 } else { 429 });
    }
}

#[tokio::test]
async fn a_repeated_query_is_charged_once_and_answered_anew() {
    let service = Service::start_changed(|app| {
        let mut prices = Prices::default();
        prices.set(Consumption::Sql, 1);
        app.billing.prices = Arc::new(prices);
    })
    .await;
    let key = service.key_with("sql");
    let ask = async |query: &str| {
        let request = service.keyed(Method::POST, "/v2/protected/sql", &key);
        let request = request.header("idempotency-key", "a");
        request.json(&json!({"query": query})).send().await.unwrap()
    };
    let first = ask("select 1 as n").await;
    assert_eq!(first.headers()["x-credits"], "1", "{first:?}");
    let answer = first.bytes().await.unwrap();
    let again = ask("select 1 as n").await;
    assert_eq!(again.headers()["x-credits"], "0");
    assert_eq!(again.headers()["idempotent-recomputed"], "true");
    assert_eq!(again.bytes().await.unwrap(), answer);
    let (status, code, _) = error_of(ask("select 2 as n").await).await;
    assert_eq!((status, code), (409, 10008));
}

#[tokio::test]
async fn concurrent_calls_under_one_key_are_charged_once() {
    let service = priced().await;
    let calls = (0..20).map(|_| ask(&service, &service.key, "b", "{}"));
    let mut credits = 0;
    for response in join_all(calls).await {
        assert_eq!(response.status(), 200);
        credits += response.headers()["x-credits"]
            .to_str()
            .unwrap()
            .parse::<i64>()
            .unwrap();
    }
    assert_eq!(credits, 1);
    assert_eq!(
        service.charged("SELECT count(*), sum(credits) FROM ledger"),
        [1, 1]
    );
}

#[tokio::test]
async fn errors_are_not_stored_and_invalid_keys_are_rejected() {
    let service = priced().await;
    assert_eq!(
        ask(&service, &service.key, "c", r#"{"size":0}"#)
            .await
            .status(),
        422
    );
    assert_eq!(ask(&service, &service.key, "c", "{}").await.status(), 200);
    for name in ["a\tb", "", &"x".repeat(256)] {
        let (status, code, message) = error_of(ask(&service, &service.key, name, "{}").await).await;
        assert_eq!((status, code), (422, 10002));
        assert!(message.starts_with("idempotency-key: must be"), "{message}");
    }
}

#[tokio::test]
async fn a_repeated_call_whose_answer_is_not_kept_is_answered_anew_free_of_charge() {
    let service = priced().await;
    let first = ask(&service, &service.key, "a", r#"{"size":2}"#).await;
    let answer = first.text().await.unwrap();
    // As if other responses of the account had taken its space.
    forget_bodies(&service);
    let again = ask(&service, &service.key, "a", r#"{"size":2}"#).await;
    assert_eq!(again.status(), 200);
    assert_eq!(again.headers()["x-credits"], "0");
    assert_eq!(again.headers()["idempotent-recomputed"], "true");
    assert!(!again.headers().contains_key("idempotent-replayed"));
    assert_eq!(again.text().await.unwrap(), answer);
    let other = ask(&service, &service.key, "a", r#"{"size":3}"#).await;
    assert_eq!(error_of(other).await.0, 409);
    assert_eq!(
        service.charged("SELECT count(*), sum(credits) FROM ledger"),
        [1, 1]
    );
}

#[tokio::test]
async fn a_call_that_changed_something_is_not_made_again_when_its_answer_is_not_kept() {
    let service = priced().await;
    let operator = service.key_with("admin");
    let make = async || {
        let request = service
            .keyed(Method::POST, "/v2/protected/admin/accounts", &operator)
            .header("idempotency-key", "once");
        let body = serde_json::json!({"name": "partner"});
        request.json(&body).send().await.unwrap()
    };
    assert_eq!(make().await.status(), 200);
    forget_bodies(&service);
    let (status, code, message) = error_of(make().await).await;
    assert_eq!((status, code), (409, 10008));
    assert!(message.contains("answered with 200"), "{message}");
}

#[tokio::test]
async fn a_clock_that_is_set_forward_makes_no_repeated_call_cost_again() {
    let service = priced().await;
    ask(&service, &service.key, "a", "{}").await;
    service.clock.jump_ms(25 * 3_600_000);
    let again = ask(&service, &service.key, "a", "{}").await;
    assert_eq!(again.headers()["x-credits"], "0");
    assert_eq!(again.headers()["idempotent-replayed"], "true");
}

fn forget_bodies(service: &Service) {
    let change = |transaction: &rusqlite::Transaction<'_>| {
        let sql = "UPDATE stored_answers SET body = NULL,
                     checksum = answer_checksum(request_digest, status, content_type, bytes, x'')";
        transaction.execute(sql, [])
    };
    assert_eq!(service.store.ledger().write(change).unwrap(), 1);
}

/// Makes a call twice under one key: both responses are the same, and the second comes from the store, free of charge.
/// Returns the data of the response, and what the first call was charged.
async fn repeated(service: &Service, method: Method, path: &str, body: &Value) -> (Value, i64) {
    let make = async || {
        let request = service
            .keyed(method.clone(), path, &service.key)
            .header("idempotency-key", format!("{method} {path}"));
        request.json(body).send().await.unwrap()
    };
    let first = make().await;
    assert!(!first.headers().contains_key("idempotent-replayed"));
    let (credits, data) = told(first, 200).await;
    let again = make().await;
    assert_eq!(
        again
            .headers()
            .get("idempotent-replayed")
            .map(|value| value.as_bytes()),
        Some(&b"true"[..]),
        "{method} {path}"
    );
    assert_eq!(told(again, 200).await, (0, data.clone()));
    (data, credits)
}

#[tokio::test]
async fn a_repeated_call_of_an_alert_creates_changes_and_previews_it_once() {
    let service = service_with_alerts().await;
    for (listing, root) in KINDS {
        let filter = json!({"type": ["CLASS_FLAT"]});
        let wanted = body(listing, &filter, CREATED);
        let (made, _) = repeated(&service, Method::PUT, root, &wanted).await;
        let path = format!("{root}/{}", made["alert_id"].as_str().unwrap());
        let change = json!({"search_name": "autre"});
        repeated(&service, Method::PATCH, &path, &change).await;
        let query = json!({"search_query": {(listing.filter_key()): filter}, "days": 3});
        let path = format!("{root}/preview");
        repeated(&service, Method::POST, &path, &query).await;
    }
    assert_eq!(service.stored("SELECT count(*) FROM alerts"), [2]);
}

#[tokio::test]
async fn a_repeated_check_is_charged_once_and_a_repeated_report_is_one_report() {
    let portal = Portal::start().await;
    let service = collecting_service(|_| {}).await;
    portal.set("/1", flat_page(1, 350_000));
    let (_, advert) = told(get(&service, "adverts", &portal.url("/1")).await, 200).await;
    let advert = format!(
        "/v2/protected/adverts/{}",
        advert["flxId"].as_str().unwrap()
    );
    let charged = || service.charged("SELECT count(*), sum(credits) FROM ledger");
    let before = charged();
    let check = format!("{advert}/check");
    let (_, credits) = repeated(&service, Method::POST, &check, &Value::Null).await;
    assert_eq!(credits, 1);
    assert_eq!(charged(), [before[0] + 1, before[1] + 1]);
    let report = json!({"reason": "DUPLICATE"});
    let path = format!("{advert}/report");
    let (made, _) = repeated(&service, Method::POST, &path, &report).await;
    assert!(made["report_id"].is_string());
    assert_eq!(service.stored("SELECT count(*) FROM reports"), [1]);
}
