//! Credits: response headers, ledger and reports contain the same numbers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};
use toise::accounts::keys::KeyKind;
use toise::accounts::prices::{Consumption, Prices};
use toise::transport::server::ServerLimits;

use crate::support::assertions::assert_begins;
use crate::support::{InMemoryTables, Service, error_of};

const PATHS: [&str; 2] = [
    "/v2/protected/opendata/dvf/search",
    "/v2/protected/opendata/dpe/match",
];

async fn priced() -> Service {
    let rows = InMemoryTables {
        delay: Duration::from_millis(3),
        ..InMemoryTables::default()
    };
    Service::start_with(rows, ServerLimits::default(), |app| {
        let mut prices = Prices::default();
        prices.set(Consumption::OpendataDvfSearch, 3);
        prices.set(Consumption::OpendataDpeMatch, 2);
        app.billing.prices = Arc::new(prices);
    })
    .await
}

async fn report(service: &Service, key: &str, path: &str) -> Value {
    let response = service.keyed(Method::GET, path, key).send().await.unwrap();
    assert_eq!(response.headers()["x-credits"], "0");
    response.json().await.unwrap()
}

#[tokio::test]
async fn credits_in_headers_ledger_and_reports_agree_under_concurrency_and_disconnects() {
    let service = priced().await;
    let keys: Vec<String> = (0..8).map(|_| service.key_with("search")).collect();
    let calls = (0..240).map(|number| {
        let (service, key) = (&service, &keys[number % 8]);
        async move {
            let body = if number % 5 == 0 {
                r#"{"size":0}"#
            } else {
                "{}"
            };
            let request = service
                .keyed(Method::POST, PATHS[number % 2], key)
                .body(body);
            if number % 7 == 0 {
                // Disconnects at some moment of the call, possibly after the response was charged.
                let patience = Duration::from_millis(number as u64 % 6);
                return tokio::time::timeout(patience, request.send()).await.ok();
            }
            Some(request.send().await)
        }
    });
    let mut told = BTreeMap::new();
    let mut hung_up = 0;
    for outcome in join_all(calls).await {
        let Some(response) = outcome else {
            hung_up += 1;
            continue;
        };
        let response = response.unwrap();
        let header = |name| response.headers()[name].to_str().unwrap().to_owned();
        let credits: i64 = header("x-credits").parse().unwrap();
        if response.status() == 200 {
            told.insert(header("x-request-id").replace('-', ""), credits);
        } else {
            assert_eq!((response.status().as_u16(), credits), (422, 0));
        }
    }
    let rows: Vec<(String, i64)> = service
        .store
        .ledger()
        .read(|connection| {
            connection
                .prepare("SELECT lower(hex(request_id)), credits FROM ledger")?
                .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
                .collect()
        })
        .unwrap();
    let stored: BTreeMap<String, i64> = rows.iter().cloned().collect();
    assert_eq!(stored.len(), rows.len());
    for (request_id, credits) in &told {
        assert_eq!(stored.get(request_id), Some(credits), "{request_id}");
    }
    let extra = stored.len() - told.len();
    assert!(
        extra <= hung_up,
        "{extra} rows beyond {hung_up} disconnected calls"
    );
    let answer = report(&service, &service.key, "/v2/protected/consumption").await;
    let total: i64 = stored.values().sum();
    assert_eq!(answer["data"]["total_credits"], json!(total));
    let per_type = answer["data"]["consumption_per_type"].as_array().unwrap();
    let calls: u64 = per_type
        .iter()
        .map(|of| of["calls"].as_u64().unwrap())
        .sum();
    assert_eq!(calls, stored.len() as u64);
    assert_eq!(
        answer,
        report(&service, &keys[0], "/v2/protected/admin/consumption").await
    );
}

#[tokio::test]
async fn accounts_do_not_see_each_others_consumption() {
    let service = priced().await;
    let other = service.new_key(KeyKind::Production, "search", "other").key;
    assert_eq!(
        service.post(PATHS[0], "{}").await.headers()["x-credits"],
        "3"
    );
    let path = "/v2/protected/consumption";
    let own = report(&service, &service.key, path).await;
    let expected = json!({"data": {"total_credits": 3, "consumption_per_type": [
        {"type": "API_OPENDATA_DVF_SEARCH", "credits": 3, "calls": 1},
    ]}});
    assert_eq!(own, expected);
    let nothing = json!({"data": {"total_credits": 0, "consumption_per_type": []}});
    assert_eq!(report(&service, &other, path).await, nothing);
    let day = service.clock.now().date_naive();
    let before = day - chrono::Days::new(1);
    let of = |from, to| format!("{path}?from_date={from}&to_date={to}");
    assert_eq!(
        report(&service, &service.key, &of(day, day)).await,
        expected
    );
    assert_eq!(
        report(&service, &service.key, &of(before, before)).await,
        nothing
    );
    // Day by day, for the same account.
    let days = report(&service, &service.key, &format!("{path}/days")).await;
    let row = json!({"day": day.to_string(), "type": "API_OPENDATA_DVF_SEARCH", "credits": 3, "calls": 1});
    assert_eq!(days, json!({"data": [row]}));
    let nothing = json!({"data": []});
    assert_eq!(
        report(&service, &other, &format!("{path}/days")).await,
        nothing
    );
    let long = format!("{path}/days?from_date=2020-01-01");
    let refused = service.get(&long).await;
    assert_eq!(error_of(refused).await.0, 422);
    let refused = service.get(&format!("{path}?from_date=soon")).await;
    let (status, code, message) = error_of(refused).await;
    assert_eq!((status, code), (422, 10002));
    assert_begins(&message, "from_date: must be an ISO 8601 date");
}

#[tokio::test]
async fn errors_are_not_charged() {
    let service = priced().await;
    for body in ["{", r#"{"size": 1000}"#] {
        let response = service.post(PATHS[0], body).await;
        assert!(response.status().is_client_error());
        assert_eq!(response.headers()["x-credits"], "0");
    }
    assert_eq!(service.charged("SELECT count(*) FROM ledger"), [0]);
}
