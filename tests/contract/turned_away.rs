//! What a client without a key makes the server do when it sends more than it may: its bytes are read at a pace, it is
//! turned away at the door, and few connections of it are served for a while. A key goes on working meanwhile.

use std::time::{Duration, Instant};

use futures::future::join_all;
use reqwest::Method;
use serde_json::json;
use toise::base::clock::Clock;
use toise::http::pace::Pace;
use toise::http::server::ServerLimits;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::{InMemoryTables, Service};

const ASK: &[u8] = b"GET /v2/nowhere HTTP/1.1\r\nhost: localhost\r\n\r\n";
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
/// A frame of HTTP/2 of a type that nobody knows, which is to be ignored: 16 KiB.
const UNKNOWN: [u8; 9] = [0, 0x40, 0, 0x42, 0, 0, 0, 0, 0];
/// What sockets hold that nobody has read, on both sides.
const BUFFERED_BYTES: u64 = 16 << 20;
/// Bytes that an address may send a second without a key.
const UNPAID_PER_S: u64 = 2 << 20;

/// Sends frames that are to be ignored for a while; how many bytes were taken, and in what time.
async fn flooded(service: &Service, head: &[u8]) -> (u64, Duration) {
    let mut connection = TcpStream::connect(service.address).await.unwrap();
    connection.write_all(PREFACE).await.unwrap();
    connection.write_all(head).await.unwrap();
    let frame = [UNKNOWN.as_slice(), &[0; 16 << 10]].concat();
    let (mut sent, begun) = (0, Instant::now());
    let sending = async {
        while connection.write_all(&frame).await.is_ok() {
            sent += frame.len() as u64;
        }
    };
    let _ = tokio::time::timeout(Duration::from_secs(3), sending).await;
    (sent, begun.elapsed())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_never_becomes_a_request_is_read_at_a_pace() {
    let service = Service::start().await;
    let (sent, took) = flooded(&service, &[]).await;
    let most = BUFFERED_BYTES + UNPAID_PER_S * (took.as_secs() + 1);
    assert!(sent <= most, "{sent} bytes in {took:?}");
}

async fn service_at_10_a_second() -> Service {
    Service::start_with(InMemoryTables::default(), ServerLimits::default(), |app| {
        app.pace = Pace::new(10, Clock::system(), app.metrics.clone());
    })
    .await
}

/// Asks for what is not there on a connection of its own; whether that was answered.
async fn is_answered(service: &Service) -> bool {
    let asking = async {
        let mut connection = TcpStream::connect(service.address).await?;
        connection.write_all(ASK).await?;
        let mut answer = [0; 12];
        connection.read_exact(&mut answer).await?;
        Ok::<_, std::io::Error>(&answer == b"HTTP/1.1 404")
    };
    asking.await.unwrap_or(false)
}

#[tokio::test(flavor = "multi_thread")]
async fn few_connections_of_a_client_that_is_cut_off_are_served_and_its_key_works() {
    let service = service_at_10_a_second().await;
    // Its connection is kept from here on.
    let search = async || {
        let request = service.ask(Method::POST, "/v2/protected/opendata/dvf/search");
        let request = request.header("x-api-key", &service.key).json(&json!({}));
        request.send().await.unwrap().status().as_u16()
    };
    assert_eq!(search().await, 200);

    // Ten at once and those of two seconds, then the end of the connection.
    let answered = join_all((0..60).map(|_| is_answered(&service))).await;
    let answered = answered.into_iter().filter(|answered| *answered).count();
    assert!((10..=45).contains(&answered), "{answered}");
    // Ten connections at once and those of the seconds that it is held, whose requests have the pace as before.
    let begun = Instant::now();
    let asking = join_all((0..300).map(|_| is_answered(&service)));
    let (asked, searched) = tokio::join!(asking, search());
    assert_eq!(searched, 200);
    let answered = asked.into_iter().filter(|answered| *answered).count();
    let most = 10 + 10 * (begun.elapsed().as_secs() as usize + 3);
    assert!((1..=most).contains(&answered), "{answered} of {most}");
    let metrics = service.ask(Method::GET, "/metrics").send().await.unwrap();
    let metrics = metrics.text().await.unwrap();
    let refusals = r#"toise_refusals_total{reason="connections"}"#;
    assert!(metrics.contains(refusals), "{metrics}");
}
