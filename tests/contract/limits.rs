//! Rate limits, quotas, their headers, and cancelled queries.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use reqwest::{Method, Response};
use toise::accounts::DEFAULT_ACCOUNT;
use toise::accounts::key::KeyChange;
use toise::accounts::keys::{self, KeyKind};
use toise::http::server::ServerLimits;

use crate::support::{InMemoryTables, Service, error_of};

const PATH: &str = "/v2/protected/opendata/dvf/search";

async fn ask(service: &Service, key: &str) -> Response {
    service
        .ask(Method::POST, PATH)
        .header("x-api-key", key)
        .body("{}")
        .send()
        .await
        .unwrap()
}

fn number(response: &Response, header: &str) -> u64 {
    response.headers()[header]
        .to_str()
        .unwrap()
        .parse()
        .unwrap()
}

#[tokio::test]
async fn a_test_key_makes_five_calls_per_second_and_then_gets_retry_after() {
    let service = Service::start().await;
    let key = service
        .new_key(KeyKind::Test, "search", DEFAULT_ACCOUNT)
        .key;
    for left in (0..5).rev() {
        let response = ask(&service, &key).await;
        assert_eq!(response.status(), 200);
        assert_eq!(number(&response, "ratelimit-limit"), 5);
        assert_eq!(number(&response, "ratelimit-remaining"), left);
        assert_eq!(number(&response, "ratelimit-reset"), 1);
    }
    let refused = ask(&service, &key).await;
    assert_eq!(number(&refused, "retry-after"), 1);
    assert_eq!(number(&refused, "ratelimit-remaining"), 0);
    assert_eq!(number(&refused, "x-credits"), 0);
    let (status, code, _) = error_of(refused).await;
    assert_eq!((status, code), (429, 10005));
    // Another key of the same account has its own rate.
    assert_eq!(ask(&service, &service.key).await.status(), 200);
    service.clock.advance_ms(1_000);
    assert_eq!(ask(&service, &key).await.status(), 200);
}

#[tokio::test]
async fn a_disconnected_client_cancels_its_query() {
    let interrupted = Arc::new(AtomicUsize::new(0));
    let rows = InMemoryTables {
        delay: Duration::from_secs(10),
        interrupted: Arc::clone(&interrupted),
        ..InMemoryTables::default()
    };
    let service = Service::start_with(rows, ServerLimits::default(), |_| {}).await;
    let request = service
        .ask(Method::POST, PATH)
        .header("x-api-key", &service.key)
        .body("{}");
    let running = tokio::spawn(request.send());
    tokio::time::sleep(Duration::from_millis(300)).await;
    running.abort();
    let left = Instant::now();
    while interrupted.load(Ordering::SeqCst) == 0 && left.elapsed() < Duration::from_secs(5) {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(interrupted.load(Ordering::SeqCst), 1);
    assert_eq!(service.charged("SELECT count(*) FROM ledger"), [0]);
}

#[tokio::test]
async fn a_quota_warns_at_three_quarters_rejects_when_exhausted_and_resets_with_the_month() {
    let service = Service::start().await;
    let change = KeyChange {
        monthly_quota: Some(Some(20)),
        ..KeyChange::default()
    };
    keys::change(&service.store, &service.key, change).unwrap();
    let asked = async || {
        service.clock.advance_ms(1_000);
        ask(&service, &service.key).await
    };
    for call in 1..=20 {
        let response = asked().await;
        assert_eq!(response.status(), 200, "{call}");
        let warned = response.headers().contains_key("x-quota-used-percent");
        let used = warned.then(|| number(&response, "x-quota-used-percent"));
        assert_eq!(used, (call >= 15).then_some(call * 5), "{call}");
    }
    let refused = asked().await;
    assert_eq!(refused.status(), 429);
    let wait_s = number(&refused, "retry-after");
    // Free calls are not counted.
    let free = service
        .ask(Method::GET, "/v2/protected/consumption")
        .header("x-api-key", &service.key);
    assert_eq!(free.send().await.unwrap().status(), 200);
    service.clock.advance_ms(wait_s as i64 * 1_000);
    assert_eq!(asked().await.status(), 200);
}
