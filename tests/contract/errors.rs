//! Every row of the contract's table of errors that the open-data endpoints can return.

use std::time::Duration;

use reqwest::Method;
use toise::transport::server::ServerLimits;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::assertions::assert_has;
use crate::support::{InMemoryTables, Service, error_of};

const SEARCH: &str = "/v2/protected/opendata/dvf/search";
const MANY: &str = "/v2/protected/opendata/dvf/match/_many";

#[tokio::test]
async fn an_unknown_route_is_404() {
    let service = Service::start().await;
    for path in ["/nowhere", "/v2/protected/opendata/dvf", "/version/"] {
        let response = service.ask(Method::GET, path).send().await.unwrap();
        let (status, code, _) = error_of(response).await;
        assert_eq!((status, code), (404, 10003), "{path}");
    }
}

#[tokio::test]
async fn a_path_with_broken_percent_encoding_is_400() {
    let service = Service::start().await;
    for path in ["/v2/%zz", "/version%", "/%e", "/v2/sample/adverts?x=%zz"] {
        let response = service.ask(Method::GET, path).send().await.unwrap();
        let (status, code, _) = error_of(response).await;
        assert_eq!((status, code), (400, 10002), "{path}");
    }
}

#[tokio::test]
async fn a_parameter_of_an_endpoint_without_parameters_is_422_without_a_key_too() {
    let service = Service::start().await;
    for path in ["/v2/sample/properties?limit=3", "/openapi.json?limit=1"] {
        let response = service.ask(Method::GET, path).send().await.unwrap();
        let (status, code, message) = error_of(response).await;
        assert_eq!((status, code), (422, 10002), "{path}");
        assert!(message.starts_with("limit: unknown parameter"), "{message}");
    }
}

#[tokio::test]
async fn a_wrong_method_is_405_with_the_allowed_methods() {
    let service = Service::start().await;
    for (method, path, allow) in [
        (Method::GET, SEARCH, "POST"),
        (Method::DELETE, SEARCH, "POST"),
        (Method::POST, "/version", "GET, HEAD"),
        (Method::OPTIONS, "/healthz", "GET, HEAD"),
    ] {
        let response = service.ask(method, path).send().await.unwrap();
        assert_eq!(response.headers()["allow"], allow);
        let (status, code, _) = error_of(response).await;
        assert_eq!((status, code), (405, 10007));
    }
}

#[tokio::test]
async fn a_body_that_is_not_json_is_400() {
    let service = Service::start().await;
    for body in ["", "{", "{} {}", "nope", "{\"size\": 1,}"] {
        let (status, code, _) = error_of(service.post(SEARCH, body).await).await;
        assert_eq!((status, code), (400, 10002), "{body:?}");
    }
}

#[tokio::test]
async fn another_media_type_is_415() {
    let service = Service::start().await;
    for (name, value) in [("content-type", "text/plain"), ("content-encoding", "gzip")] {
        let request = service.keyed(Method::POST, SEARCH, &service.key);
        let response = request.header(name, value).body("{}").send().await.unwrap();
        let (status, code, _) = error_of(response).await;
        assert_eq!((status, code), (415, 10007), "{name}");
    }
    let request = service.keyed(Method::POST, SEARCH, &service.key);
    let with_charset = request.header("content-type", "Application/JSON; charset=utf-8");
    assert_eq!(with_charset.body("{}").send().await.unwrap().status(), 200);
}

#[tokio::test]
async fn a_body_over_the_limit_is_413_and_the_client_receives_it() {
    let service = Service::start().await;
    let over = " ".repeat(1024 * 1024) + "{}";
    let (status, code, message) = error_of(service.post(SEARCH, over.clone()).await).await;
    assert_eq!((status, code), (413, 10007));
    assert_eq!(message, "body: must not exceed 1048576 bytes");
    assert_eq!(
        service.post(MANY, over + " ").await.status(),
        422,
        "another fault at 4 MiB"
    );
    let over_many = " ".repeat(6 * 1024 * 1024);
    assert_eq!(service.post(MANY, over_many).await.status(), 413);
}

#[tokio::test]
async fn a_body_some_mebibytes_over_a_high_limit_is_413_and_the_client_receives_it() {
    let service = Service::start().await;
    let long = vec![b' '; 23 << 20];
    let head = format!(
        "POST /v2/protected/admin/adverts HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nx-api-key: {}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n",
        service.key_with("admin"),
        long.len()
    );
    // Most clients do not read before they have sent everything.
    let mut connection = TcpStream::connect(service.address).await.unwrap();
    connection.write_all(head.as_bytes()).await.unwrap();
    connection.write_all(&long).await.unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
    assert_has(
        &answer,
        r#""message":"body: must not exceed 16777216 bytes""#,
    );
}

#[tokio::test]
async fn a_chunked_body_over_the_limit_is_413_too() {
    let service = Service::start().await;
    let chunks = (0..40).map(|_| Ok::<_, std::io::Error>(vec![b' '; 64 * 1024]));
    let body = reqwest::Body::wrap_stream(futures::stream::iter(chunks));
    let request = service.keyed(Method::POST, SEARCH, &service.key);
    let response = request.body(body).send().await.unwrap();
    assert_eq!(error_of(response).await.0, 413);
}

#[tokio::test]
async fn a_client_with_a_long_body_receives_the_401() {
    let service = Service::start().await;
    let body = " ".repeat(1024 * 1024);
    let response = service
        .ask(Method::POST, SEARCH)
        .body(body)
        .send()
        .await
        .unwrap();
    assert_eq!(error_of(response).await.0, 401);
}

#[tokio::test]
async fn the_first_fault_in_document_order_is_422_with_its_path() {
    let service = Service::start().await;
    let body = r#"{"filters": {"surface_m2": {"min": "a"}}, "size": 0}"#;
    let (status, code, message) = error_of(service.post(SEARCH, body).await).await;
    assert_eq!((status, code), (422, 10002));
    assert_eq!(message, "filters.surface_m2.min: must be a number");
    let body = r#"{"size": 0, "filters": {"surface_m2": {"min": "a"}}}"#;
    let (_, _, message) = error_of(service.post(SEARCH, body).await).await;
    assert_eq!(message, "size: must be an integer between 1 and 100");
    for body in ["[]", "null", "3", r#"{"size": 1e999}"#, r#"{"page": 1}"#] {
        assert_eq!(
            error_of(service.post(SEARCH, body).await).await.0,
            422,
            "{body}"
        );
    }
}

#[tokio::test]
async fn an_internal_failure_is_500_and_reveals_only_the_request_id() {
    let rows = InMemoryTables {
        delay: Duration::ZERO,
        fail: true,
        ..InMemoryTables::default()
    };
    let service = Service::start_with(rows, ServerLimits::default(), |_| {}).await;
    let response = service.post(SEARCH, "{}").await;
    let id = response.headers()["x-request-id"]
        .to_str()
        .unwrap()
        .to_owned();
    let (status, code, message) = error_of(response).await;
    assert_eq!((status, code), (500, 10000));
    assert_eq!(message, format!("internal error (request {id})"));
}

#[tokio::test]
async fn a_request_that_takes_too_long_is_503() {
    let rows = InMemoryTables {
        delay: Duration::from_millis(500),
        ..InMemoryTables::default()
    };
    let service = Service::start_with(rows, ServerLimits::default(), |app| {
        app.capacity.request_timeout = Duration::from_millis(50);
    })
    .await;
    let response = service.post(SEARCH, "{}").await;
    assert_eq!(response.headers()["retry-after"], "1");
    assert_eq!(error_of(response).await.0, 503);
}

#[tokio::test]
async fn more_queries_than_the_pool_admits_are_503() {
    let rows = InMemoryTables {
        delay: Duration::from_millis(300),
        ..InMemoryTables::default()
    };
    let mut metrics = None;
    let service = Service::start_with(rows, ServerLimits::default(), |app| {
        app.capacity.pool = toise::engine::pool::QueryPool::new(1, 0).unwrap();
        metrics = Some(app.metrics.clone());
    })
    .await;
    // One for each of the pool's two lanes, and one more.
    let calls = (0..3).map(|_| service.post(SEARCH, "{}"));
    let answers = futures::future::join_all(calls).await;
    let mut statuses: Vec<u16> = answers
        .iter()
        .map(|answer| answer.status().as_u16())
        .collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 200, 503]);
    let numbers = metrics.unwrap().render();
    let refused = "toise_refusals_total{reason=\"overload\"} 1";
    assert!(numbers.contains(refused), "{numbers}");
}

#[tokio::test]
async fn a_query_parameter_where_none_is_read_is_422_with_its_name() {
    let service = Service::start().await;
    let path = format!("{SEARCH}?limit=3&page=2");
    let (status, code, message) = error_of(service.post(&path, "{}").await).await;
    assert_eq!((status, code), (422, 10002));
    assert_eq!(message, "limit: unknown parameter; this endpoint has none");
    let twice = format!("{SEARCH}?a=1&a=1");
    let (_, _, message) = error_of(service.post(&twice, "{}").await).await;
    assert_eq!(message, "a: must be given once");
    assert_eq!(
        service.post(&format!("{SEARCH}?"), "{}").await.status(),
        200
    );
}
