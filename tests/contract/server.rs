//! The service as a process: probes, stalled connections, shutdown.

use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::Value;
use toise::transport::server::ServerLimits;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::{InMemoryTables, Service, error_of};

#[tokio::test]
async fn probes_and_the_document_need_no_key() {
    let service = Service::start().await;
    let get = async |path| service.ask(Method::GET, path).send().await.unwrap();
    let health = get("/healthz").await;
    assert_eq!(health.status(), 200);
    assert!(health.headers().contains_key("x-request-id"));
    assert_eq!(health.text().await.unwrap(), "");
    let version: Value = get("/version").await.json().await.unwrap();
    assert_eq!(version["data"]["version"], env!("CARGO_PKG_VERSION"));
    let document: Value = get("/openapi.json").await.json().await.unwrap();
    assert_eq!(document["openapi"], "3.1.0");
    service.readiness.set_draining();
    let (status, code, _) = error_of(get("/healthz").await).await;
    assert_eq!((status, code), (503, 10000));
}

#[tokio::test]
async fn head_returns_the_same_as_get_without_a_body_where_get_is_free() {
    let service = Service::start().await;
    let response = service.ask(Method::HEAD, "/version").send().await.unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(response.text().await.unwrap(), "");
    // A property costs a credit, so a HEAD request for one is refused.
    let property = "/v2/protected/properties/0190a3f0-0000-7000-8000-000000000000";
    let refused = service.ask(Method::HEAD, property).send().await.unwrap();
    assert_eq!(refused.status(), 405);
    assert_eq!(refused.headers()["allow"], "GET");
}

#[tokio::test]
async fn a_connection_that_never_finishes_its_request_head_is_closed() {
    let limits = ServerLimits {
        header_read_timeout: Duration::from_millis(200),
        ..ServerLimits::default()
    };
    let service = Service::start_limited(limits).await;
    for start in ["", "PR", "GET /version HTTP/1.1\r\nhost: x\r\n"] {
        let mut connection = TcpStream::connect(service.address).await.unwrap();
        connection.write_all(start.as_bytes()).await.unwrap();
        let mut rest = Vec::new();
        let closed =
            tokio::time::timeout(Duration::from_secs(3), connection.read_to_end(&mut rest));
        assert!(closed.await.is_ok(), "{start:?} is still open");
    }
}

#[tokio::test]
async fn connections_beyond_the_maximum_wait() {
    let limits = ServerLimits {
        connections_max: 1,
        ..ServerLimits::default()
    };
    let service = Service::start_limited(limits).await;
    let holding = TcpStream::connect(service.address).await.unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    let waiting = service.ask(Method::GET, "/version").send();
    tokio::pin!(waiting);
    let early = tokio::time::timeout(Duration::from_millis(300), &mut waiting).await;
    assert!(
        early.is_err(),
        "answered although the maximum of connections was open"
    );
    drop(holding);
    assert_eq!(waiting.await.unwrap().status(), 200);
}

#[tokio::test]
async fn stopping_finishes_running_requests_and_accepts_no_new_ones() {
    let rows = InMemoryTables {
        delay: Duration::from_millis(400),
        ..InMemoryTables::default()
    };
    let mut service = Service::start_with(rows, ServerLimits::default(), |_| {}).await;
    let path = "/v2/protected/opendata/dvf/search";
    let request = service.keyed(Method::POST, path, &service.key).body("{}");
    let running = tokio::spawn(request.send());
    tokio::time::sleep(Duration::from_millis(150)).await;
    let ended = service.stop();
    assert_eq!(running.await.unwrap().unwrap().status(), 200);
    ended.await.unwrap();
    assert!(TcpStream::connect(service.address).await.is_err());
}

#[tokio::test]
async fn stopping_waits_no_longer_than_the_drain_timeout() {
    let limits = ServerLimits {
        drain_timeout: Duration::from_millis(200),
        ..ServerLimits::default()
    };
    let rows = InMemoryTables {
        delay: Duration::from_secs(3),
        ..InMemoryTables::default()
    };
    let mut service = Service::start_with(rows, limits, |_| {}).await;
    let path = "/v2/protected/opendata/dvf/search";
    let request = service.keyed(Method::POST, path, &service.key).body("{}");
    let running = tokio::spawn(request.send());
    tokio::time::sleep(Duration::from_millis(150)).await;
    let asked = Instant::now();
    service.stop().await.unwrap();
    assert!(asked.elapsed() < Duration::from_secs(2));
    running.abort();
}
