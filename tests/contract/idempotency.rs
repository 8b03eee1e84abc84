//! Calls repeated under one `Idempotency-Key`: one charge, one response.

use std::sync::Arc;

use futures::future::join_all;
use reqwest::{Method, Response};
use toise::accounts::keys::KeyKind;
use toise::accounts::prices::{Consumption, Prices};
use toise::http::server::ServerLimits;

use crate::support::{InMemoryTables, Service, error_of};

const PATH: &str = "/v2/protected/opendata/dpe/search";

async fn priced() -> Service {
    Service::start_with(InMemoryTables::default(), ServerLimits::default(), |app| {
        let mut prices = Prices::default();
        prices.set(Consumption::OpendataDpeSearch, 1);
        app.prices = Arc::new(prices);
    })
    .await
}

async fn ask(service: &Service, key: &str, name: &str, body: &str) -> Response {
    service
        .ask(Method::POST, PATH)
        .header("x-api-key", key)
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
    // As when other answers of the account took its room.
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
            .ask(Method::POST, "/v2/protected/admin/accounts")
            .header("x-api-key", &operator)
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
