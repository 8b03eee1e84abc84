//! Rate limits, quotas, their headers, and cancelled queries.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use reqwest::{Method, Response, StatusCode};
use toise::accounts::DEFAULT_ACCOUNT;
use toise::accounts::key::KeyChange;
use toise::accounts::keys::{self, KeyKind};
use toise::accounts::secret;
use toise::service::App;
use toise::service::address_rates::AddressRates;
use toise::service::replica::{AsOf, ReplicaStatus};
use toise::transport::body_budget::BodyBudget;
use toise::transport::client_address::Networks;
use toise::transport::server::ServerLimits;

use crate::support::flight;
use crate::support::{InMemoryTables, START, Service, error_of};

const PATH: &str = "/v2/protected/opendata/dvf/search";

async fn ask(service: &Service, key: &str) -> Response {
    service
        .keyed(Method::POST, PATH, key)
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
    // Only this process says that a call has been counted.
    let forged = service.ask(Method::POST, &format!("{PATH}?admitted=true"));
    let forged = forged
        .header("admitted", "true")
        .header("x-admitted", "true");
    let forged = forged.header("x-api-key", &key).body("{}").send().await;
    assert_eq!(forged.unwrap().status(), 429);
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
    let request = service.keyed(Method::POST, PATH, &service.key).body("{}");
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
    let free = service.get("/v2/protected/consumption").await;
    assert_eq!(free.status(), 200);
    service.clock.advance_ms(wait_s as i64 * 1_000);
    assert_eq!(asked().await.status(), 200);
}

#[tokio::test]
async fn without_a_valid_key_the_headers_tell_the_rate_of_the_address() {
    let service = Service::start().await;
    let mut remaining = Vec::new();
    for path in ["/v2/protected/consumption", "/v2/protected/nowhere"] {
        for key in [None, Some("toise_live_of_nobody")] {
            let mut request = service.ask(Method::GET, path);
            if let Some(key) = key {
                request = request.header("x-api-key", key);
            }
            let refused = request.send().await.unwrap();
            assert!(refused.status().is_client_error());
            assert_eq!(number(&refused, "ratelimit-limit"), 1_000, "{path} {key:?}");
            assert!(number(&refused, "ratelimit-reset") <= 1);
            remaining.push(number(&refused, "ratelimit-remaining"));
        }
    }
    assert_eq!(remaining, [999, 998, 997, 996]);
}

/// Sends the head of a request and half of its body, and nothing more.
async fn half_sent(service: &Service, key: &str, bytes: usize) -> tokio::net::TcpStream {
    use tokio::io::AsyncWriteExt;
    let mut stream = tokio::net::TcpStream::connect(service.address)
        .await
        .unwrap();
    let head = format!(
        "POST {PATH} HTTP/1.1\r\nhost: a\r\nx-api-key: {key}\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n",
        2 * bytes
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(&vec![b' '; bytes]).await.unwrap();
    stream
}

#[tokio::test]
async fn half_sent_bodies_of_a_key_hold_no_more_than_its_share() {
    half_sent_bodies_hold_no_more_than_a_share(false).await;
}

#[tokio::test]
async fn half_sent_bodies_of_an_address_with_many_keys_hold_no_more_than_its_share() {
    half_sent_bodies_hold_no_more_than_a_share(true).await;
}

async fn half_sent_bodies_hold_no_more_than_a_share(is_key_each: bool) {
    let budget = BodyBudget::new(4 << 20);
    let bodies = budget.clone();
    let service = Service::start_changed(move |app| app.capacity.bodies = bodies).await;
    let mut sending = Vec::new();
    for _ in 0..20 {
        let key = if is_key_each {
            service.key_with("search")
        } else {
            service.key.clone()
        };
        sending.push(half_sent(&service, &key, 400 << 10).await);
    }
    let since = Instant::now();
    while budget.held() == 0 && since.elapsed() < Duration::from_secs(10) {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let mut most = 0;
    for _ in 0..20 {
        most = most.max(budget.held());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(most > 0 && most <= 2 << 20, "{most} bytes");
    drop(sending);
    let since = Instant::now();
    while budget.held() > 0 {
        assert!(
            since.elapsed() < Duration::from_secs(10),
            "never given back"
        );
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(ask(&service, &service.key).await.status(), 200);
}

#[tokio::test]
async fn a_body_that_takes_longer_than_its_request_may_is_408() {
    use tokio::io::AsyncReadExt;
    let limits = ServerLimits::default();
    let service = Service::start_with(InMemoryTables::default(), limits, |app| {
        app.capacity.request_timeout = Duration::from_millis(300);
    })
    .await;
    let mut stalled = half_sent(&service, &service.key, 100).await;
    let mut answer = Vec::new();
    // The body was not read to its end, so the connection ends with the response.
    stalled.read_to_end(&mut answer).await.unwrap();
    let answer = String::from_utf8(answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.contains("content-type: application/json"), "{head}");
    let body: serde_json::Value = serde_json::from_str(body).unwrap();
    assert_eq!(body["error"]["code"], 10007, "{body}");
}

#[tokio::test]
async fn refusals_of_route_method_size_and_type_say_what_is_left_of_the_rate() {
    let service = Service::start().await;
    let large = vec![b' '; (1 << 20) + 1];
    let requests = [
        (404, service.ask(Method::GET, "/v2/protected/nowhere")),
        (405, service.ask(Method::PUT, PATH)),
        (413, service.ask(Method::POST, PATH).body(large)),
        (
            415,
            service
                .ask(Method::POST, PATH)
                .header("content-type", "text/plain")
                .body("x"),
        ),
    ];
    for (status, request) in requests {
        let request = request.header("x-api-key", &service.key);
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), status);
        assert!(number(&response, "ratelimit-limit") > number(&response, "ratelimit-remaining"));
        assert_eq!(number(&response, "x-credits"), 0);
    }
}

/// The value of a metric.
async fn metric(service: &Service, name: &str) -> Option<u64> {
    let metrics = service.ask(Method::GET, "/metrics").send().await.unwrap();
    let text = metrics.text().await.unwrap();
    let mut lines = text.lines();
    lines.find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
}

/// A service that an address may call three times a second without a key. Its clock stands still.
async fn slow_without_a_key(change: impl FnOnce(&mut App)) -> Service {
    Service::start_changed(|app| {
        app.access.addresses = AddressRates::new(3, app.clock.clone());
        change(app);
    })
    .await
}

const REFUSALS: &str = "toise_refusals_total{reason=\"unkeyed\"}";

/// Asserts that a response refuses an address that has exceeded its rate.
async fn assert_address_is_limited(refused: Response) {
    assert_eq!(number(&refused, "retry-after"), 1);
    assert!(refused.headers().contains_key("x-request-id"));
    let (status, code, message) = error_of(refused).await;
    assert_eq!((status, code), (429, 10005));
    assert!(message.contains("without a valid key"), "{message}");
}

#[tokio::test]
async fn an_address_that_asks_much_without_a_valid_key_is_limited_and_its_key_is_not() {
    let service = slow_without_a_key(|_| {}).await;
    let nowhere = async || {
        let asked = service.ask(Method::GET, "/nowhere").send().await;
        asked.unwrap()
    };
    let forged = secret::generate_with_hash(KeyKind::Production).0;
    let unkeyed = async || {
        let asked = service.ask(Method::POST, PATH).body("{}").send().await;
        asked.unwrap()
    };
    assert_eq!(nowhere().await.status(), 404);
    let refused = ask(&service, &forged).await;
    assert_eq!(number(&refused, "ratelimit-limit"), 3);
    assert_eq!(number(&refused, "ratelimit-remaining"), 1);
    assert_eq!(refused.status(), 401);
    assert_eq!(unkeyed().await.status(), 401);
    assert_address_is_limited(nowhere().await).await;
    assert_address_is_limited(ask(&service, "not like a key").await).await;
    let asked = Instant::now();
    let refused = unkeyed().await;
    // The pause keeps an address from being refused a hundred thousand times a second.
    assert!(asked.elapsed() >= Duration::from_millis(100));
    assert_eq!(number(&refused, "ratelimit-remaining"), 0);
    assert_address_is_limited(refused).await;
    assert_eq!(metric(&service, REFUSALS).await, Some(3));
    for _ in 0..10 {
        assert_eq!(ask(&service, &service.key).await.status(), 200);
        let health = service.ask(Method::GET, "/healthz").send().await;
        assert_eq!(health.unwrap().status(), 200);
    }
    service.clock.advance_ms(400);
    assert_eq!(ask(&service, &forged).await.status(), 401);
    assert_address_is_limited(ask(&service, &forged).await).await;
}

#[tokio::test]
async fn an_agent_without_a_valid_key_is_limited() {
    let service = slow_without_a_key(|_| {}).await;
    let unkeyed = async || {
        let asked = service.ask(Method::POST, "/mcp").body("{}").send().await;
        asked.unwrap()
    };
    let forged = async || {
        let key = secret::generate_with_hash(KeyKind::Production).0;
        let request = service.ask(Method::POST, "/mcp").bearer_auth(key);
        let request = request.header("content-type", "application/json");
        request.body("{}").send().await.unwrap()
    };
    let statuses = [
        unkeyed().await.status(),
        forged().await.status(),
        unkeyed().await.status(),
    ];
    assert_eq!(statuses, [StatusCode::UNAUTHORIZED; 3]);
    assert_address_is_limited(unkeyed().await).await;
    assert_address_is_limited(forged().await).await;
}

#[tokio::test]
async fn a_client_of_flight_sql_without_a_valid_key_is_limited() {
    let mut shared = None;
    let service = slow_without_a_key(|app| shared = Some(app.clone())).await;
    let flight = flight::start(shared.unwrap()).await;
    let forged = secret::generate_with_hash(KeyKind::Production).0;
    let forged = [("x-api-key", forged.as_str())];
    for headers in [&[], &forged[..], &[]] {
        let refused = flight::handshake(flight, headers).await;
        assert_eq!(refused, Err(flight::UNAUTHENTICATED));
    }
    for headers in [&[], &forged[..]] {
        let refused = flight::handshake(flight, headers).await;
        assert_eq!(refused, Err(flight::RESOURCE_EXHAUSTED));
    }
    let key = service.key_with("sql");
    let valid = [("x-api-key", key.as_str())];
    assert_eq!(flight::handshake(flight, &valid).await, Ok(()));
}

#[tokio::test]
async fn clients_behind_a_proxy_are_limited_apart() {
    let service = slow_without_a_key(|app| {
        app.access.proxies = Arc::new(Networks::parse("127.0.0.1").unwrap());
    })
    .await;
    let nowhere = async |client: &str| {
        let asked = service.ask(Method::GET, "/nowhere");
        asked
            .header("x-forwarded-for", client)
            .send()
            .await
            .unwrap()
    };
    for _ in 0..3 {
        assert_eq!(nowhere("192.0.2.1").await.status(), 404);
    }
    assert_address_is_limited(nowhere("192.0.2.1").await).await;
    assert_eq!(nowhere("192.0.2.2").await.status(), 404);
}

#[tokio::test]
async fn what_a_key_may_not_ask_counts_against_its_rate() {
    let service = Service::start().await;
    let key = service
        .new_key(KeyKind::Test, "geocoding", DEFAULT_ACCOUNT)
        .key;
    for status in [403, 403, 403, 403, 403, 429] {
        let refused = ask(&service, &key).await;
        assert!(refused.headers().contains_key("ratelimit-remaining"));
        assert_eq!(refused.status(), status);
    }
}

#[tokio::test]
async fn a_replica_says_what_is_left_of_the_rate_also_where_it_names_its_writer() {
    let shown = AsOf {
        number: 7,
        created_at: START.into(),
        writer: Some("https://writer.example".into()),
    };
    let limits = ServerLimits::default();
    let service = Service::start_with(InMemoryTables::default(), limits, |app| {
        app.replica = Some(ReplicaStatus::new(shown));
    })
    .await;
    let key = service
        .new_key(KeyKind::Test, "search", DEFAULT_ACCOUNT)
        .key;
    let alerts = "/v2/protected/properties/search/alerts";
    for (status, left, method, path) in [
        (421, 4, Method::PUT, alerts),
        (421, 3, Method::GET, "/v2/protected/adverts/url"),
        (421, 2, Method::POST, "/v2/protected/admin/adverts"),
        (404, 1, Method::GET, "/v2/protected/nowhere"),
        (200, 0, Method::POST, PATH),
        (429, 0, Method::PUT, alerts),
    ] {
        let request = service.keyed(method, path, &key);
        let response = request.body("{}").send().await.unwrap();
        assert_eq!(response.status(), status, "{path}");
        assert_eq!(number(&response, "ratelimit-limit"), 5);
        assert_eq!(number(&response, "ratelimit-remaining"), left, "{path}");
        assert_eq!(number(&response, "x-credits"), 0);
        assert!(response.headers().contains_key("x-toise-as-of"), "{path}");
    }
    let unkeyed = service.ask(Method::PUT, alerts).body("{}").send().await;
    let unkeyed = unkeyed.unwrap();
    // That of the address.
    assert_eq!(number(&unkeyed, "ratelimit-limit"), 1_000);
    assert_eq!(error_of(unkeyed).await.0, 421);
}

#[tokio::test]
async fn a_body_that_would_unfold_to_much_is_refused_before_it_is_parsed() {
    let service = Service::start().await;
    let many = format!("[{}0]", "0,".repeat(1_200_000));
    let refused = service.post("/v2/protected/properties/_many", many).await;
    let (status, code, message) = error_of(refused).await;
    assert_eq!((status, code), (422, 10002));
    assert!(message.contains("1000000 values"), "{message}");
}

#[tokio::test]
async fn a_client_that_does_not_read_long_answers_gets_no_more_of_them() {
    let tables = InMemoryTables {
        padding: 1 << 20,
        ..InMemoryTables::default()
    };
    let memory = BodyBudget::new(4 << 20);
    let answers = memory.clone();
    let service = Service::start_with(tables, ServerLimits::default(), move |app| {
        app.capacity.bodies = answers;
    })
    .await;
    let long = r#"{"size": 20}"#;
    let head = format!(
        "POST {PATH} HTTP/1.1\r\nhost: a\r\nx-api-key: {}\r\ncontent-length: {}\r\n\r\n{long}",
        service.key,
        long.len()
    );
    use tokio::io::AsyncWriteExt;
    let stream = tokio::net::TcpStream::connect(service.address).await;
    let mut unread = stream.unwrap();
    unread.write_all(head.repeat(3).as_bytes()).await.unwrap();
    // The request's own body is charged first; the response is what the client leaves unread.
    while memory.held() < 20 << 20 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let refused = service.post(PATH, long).await;
    assert_eq!(number(&refused, "x-credits"), 0);
    let (status, code, message) = error_of(refused).await;
    assert_eq!((status, code), (429, 10005));
    assert!(message.contains("in progress for this client"), "{message}");
    drop(unread);
    while memory.held() > 0 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let whole = service.post(PATH, long).await.bytes().await.unwrap();
    assert!(whole.len() > 20 << 20);
}
