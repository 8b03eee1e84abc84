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
