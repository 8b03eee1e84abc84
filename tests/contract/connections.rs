//! Connections: idle timeout, maximum number, TLS and its negotiation.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::pki_types::ServerName;
use toise::transport::server::ServerLimits;
use toise::transport::tls::{Tls, TlsError};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::support::{Service, certificate, trusting};

const ASK: &[u8] = b"GET /version HTTP/1.1\r\nhost: localhost\r\n\r\n";

fn limits(head_ms: u64, idle_ms: u64) -> ServerLimits {
    ServerLimits {
        header_read_timeout: Duration::from_millis(head_ms),
        keep_alive_idle: Duration::from_millis(idle_ms),
        ..ServerLimits::default()
    }
}

/// Requests the version and reads the response, which arrives in one piece.
async fn ask(stream: &mut (impl AsyncReadExt + AsyncWriteExt + Unpin)) -> String {
    stream.write_all(ASK).await.unwrap();
    let mut answer = vec![0; 4_096];
    let read = stream.read(&mut answer).await.unwrap();
    String::from_utf8_lossy(&answer[..read]).into_owned()
}

/// Time until the service closes a connection.
async fn closes_after(stream: &mut (impl AsyncReadExt + Unpin)) -> Duration {
    let start = Instant::now();
    let mut rest = Vec::new();
    let closed = tokio::time::timeout(Duration::from_secs(10), stream.read_to_end(&mut rest));
    // A reset counts as closed too.
    let _ = closed.await.expect("still open after ten seconds");
    start.elapsed()
}

#[tokio::test]
async fn a_connection_may_be_idle_between_requests_for_longer_than_the_head_timeout() {
    let service = Service::start_limited(limits(300, 3_000)).await;
    let mut stream = TcpStream::connect(service.address).await.unwrap();
    for _ in 0..2 {
        assert!(ask(&mut stream).await.starts_with("HTTP/1.1 200"));
        tokio::time::sleep(Duration::from_millis(900)).await;
    }
    // A head that has begun has its own, shorter timeout, also on a connection used before.
    stream.write_all(b"GET /ver").await.unwrap();
    assert!(closes_after(&mut stream).await < Duration::from_millis(1_500));
}

#[tokio::test]
async fn a_connection_that_is_idle_too_long_is_closed() {
    let service = Service::start_limited(limits(5_000, 400)).await;
    let mut stream = TcpStream::connect(service.address).await.unwrap();
    assert!(ask(&mut stream).await.starts_with("HTTP/1.1 200"));
    let idled = closes_after(&mut stream).await;
    assert!(idled >= Duration::from_millis(300), "{idled:?}");
    assert!(idled < Duration::from_secs(3), "{idled:?}");
}

async fn over_tls(name: &str, limits: ServerLimits) -> (Service, Tls) {
    let tls = Tls::load(&certificate(name), &certificate(&format!("{name}.key"))).unwrap();
    let service = Service::start_over_tls(&tls, limits).await;
    (service, tls)
}

async fn connect(
    service: &Service,
    trusted: &str,
    protocols: &[&str],
) -> std::io::Result<TlsStream<TcpStream>> {
    let mut config = trusting(&certificate(trusted));
    config.alpn_protocols = protocols
        .iter()
        .map(|name| name.as_bytes().to_vec())
        .collect();
    let stream = TcpStream::connect(service.address).await?;
    let name = ServerName::try_from("localhost").unwrap();
    TlsConnector::from(Arc::new(config))
        .connect(name, stream)
        .await
}

#[tokio::test]
async fn responses_over_tls_are_the_same_as_without() {
    let (service, _) = over_tls("one", ServerLimits::default()).await;
    let mut stream = connect(&service, "one", &["http/1.1"]).await.unwrap();
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"http/1.1"[..]));
    for _ in 0..2 {
        let answer = ask(&mut stream).await;
        assert!(
            answer.starts_with("HTTP/1.1 200") && answer.contains("version"),
            "{answer}"
        );
    }
    // A certificate that the client does not trust, and no TLS at all.
    assert!(connect(&service, "two", &[]).await.is_err());
    let mut plain = TcpStream::connect(service.address).await.unwrap();
    plain.write_all(ASK).await.unwrap();
    let mut answer = Vec::new();
    let _ = plain.read_to_end(&mut answer).await;
    assert!(!answer.starts_with(b"HTTP"));
}

#[tokio::test]
async fn http2_is_preferred_over_tls() {
    let (service, _) = over_tls("one", ServerLimits::default()).await;
    let mut stream = connect(&service, "one", &["http/1.1", "h2"]).await.unwrap();
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
    let empty_settings = [0, 0, 0, 4, 0, 0, 0, 0, 0];
    stream
        .write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        .await
        .unwrap();
    stream.write_all(&empty_settings).await.unwrap();
    let mut frame = [0; 9];
    stream.read_exact(&mut frame).await.unwrap();
    let kind = frame[3];
    assert_eq!(
        kind, 4,
        "the first frame of a server is its settings: {frame:?}"
    );
}

#[tokio::test]
async fn a_stalled_handshake_times_out_and_counts_as_a_connection_until_then() {
    let limits = ServerLimits {
        connections_max: 1,
        tls_handshake_timeout: Duration::from_millis(600),
        ..ServerLimits::default()
    };
    let (service, _) = over_tls("one", limits).await;
    let mut stalled = TcpStream::connect(service.address).await.unwrap();
    let waiting = Instant::now();
    tokio::time::sleep(Duration::from_millis(100)).await;
    let mut stream = connect(&service, "one", &[]).await.unwrap();
    assert!(waiting.elapsed() >= Duration::from_millis(400));
    assert!(ask(&mut stream).await.starts_with("HTTP/1.1 200"));
    assert!(closes_after(&mut stalled).await < Duration::from_secs(1));
}

#[tokio::test]
async fn a_renewed_certificate_is_used_after_a_reload_and_a_broken_one_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    let put = |name: &str| {
        std::fs::copy(certificate(name), file("certificate.pem")).unwrap();
        std::fs::copy(certificate(&format!("{name}.key")), file("key.pem")).unwrap();
    };
    put("one");
    let tls = Tls::load(&file("certificate.pem"), &file("key.pem")).unwrap();
    let service = Service::start_over_tls(&tls, ServerLimits::default()).await;
    let mut before = connect(&service, "one", &[]).await.unwrap();
    put("two");
    tls.reload().unwrap();
    assert!(connect(&service, "two", &[]).await.is_ok());
    assert!(connect(&service, "one", &[]).await.is_err());
    assert!(
        ask(&mut before).await.starts_with("HTTP/1.1 200"),
        "open connections continue"
    );
    std::fs::write(file("key.pem"), "no key").unwrap();
    assert!(tls.reload().is_err());
    assert!(connect(&service, "two", &[]).await.is_ok());
}

#[test]
fn unusable_certificates_are_rejected_with_the_name_of_the_file() {
    let missing = Path::new("/nowhere/c.pem");
    let refused = |certificate: &Path, key: &Path| Tls::load(certificate, key).unwrap_err();
    let error = refused(missing, &certificate("one.key"));
    assert!(error.to_string().starts_with("/nowhere/c.pem: "), "{error}");
    let error = refused(&certificate("one.key"), &certificate("one.key"));
    assert!(matches!(error, TlsError::NoCertificate { .. }), "{error}");
    let error = refused(&certificate("one"), &certificate("two.key"));
    assert!(matches!(error, TlsError::Refused { .. }), "{error}");
}

#[tokio::test]
async fn one_address_cannot_take_all_connections() {
    let limits = ServerLimits {
        connections_per_address_max: 2,
        ..ServerLimits::default()
    };
    let service = Service::start_limited(limits).await;
    let mut first = TcpStream::connect(service.address).await.unwrap();
    let mut second = TcpStream::connect(service.address).await.unwrap();
    assert!(ask(&mut first).await.starts_with("HTTP/1.1 200"));
    assert!(ask(&mut second).await.starts_with("HTTP/1.1 200"));
    let mut third = TcpStream::connect(service.address).await.unwrap();
    assert!(closes_after(&mut third).await < Duration::from_secs(5));
    drop(second);
    // The service sees the end of a connection a little later than its client.
    for _ in 0..100 {
        let mut next = TcpStream::connect(service.address).await.unwrap();
        if next.write_all(ASK).await.is_ok() {
            let mut answer = vec![0; 4_096];
            if next.read(&mut answer).await.is_ok_and(|read| read > 0) {
                return;
            }
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("an address does not get its connections back");
}

#[tokio::test]
async fn requests_that_http_forbids_are_refused_with_our_body() {
    let service = Service::start().await;
    for head in [
        "CONNECT example.com:443 HTTP/1.1\r\nhost: example.com\r\n",
        "OPTIONS * HTTP/1.1\r\nhost: localhost\r\n",
        "GET /version HTTP/1.1\r\n",
        "GET /version HTTP/1.1\r\nhost: a\r\nhost: b\r\n",
        "POST /version HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n",
    ] {
        let mut stream = TcpStream::connect(service.address).await.unwrap();
        let request = format!("{head}connection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 400"), "{head}: {answer}");
    }
    assert!(service.readiness.is_ready());
}

#[tokio::test]
async fn a_body_in_broken_chunks_is_malformed() {
    let service = Service::start().await;
    for (chunks, status, code) in [
        ("zz\r\n{}\r\n0\r\n\r\n", 400, 10002),
        ("2\r\n{}zz0\r\n\r\n", 400, 10002),
        ("fffffffffffffffff\r\n{}\r\n0\r\n\r\n", 400, 10002),
    ] {
        let mut stream = TcpStream::connect(service.address).await.unwrap();
        let request = format!(
            "POST /v2/protected/properties/search/count HTTP/1.1\r\nhost: a\r\nx-api-key: {}\r\n\
             content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n{chunks}",
            service.key
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await;
        assert_refused(&answer, status, code, chunks);
    }
}

#[tokio::test]
async fn what_the_library_cannot_parse_is_refused() {
    let service = Service::start().await;
    let long = "x".repeat(1 << 20);
    for (request, status) in [
        ("nonsense\r\n\r\n".to_owned(), 400),
        ("GET /version SMTP\r\nhost: a\r\n\r\n".to_owned(), 400),
        ("GET /version HTTP/1.1\r\nhost a\r\n\r\n".to_owned(), 400),
        (
            format!("GET /{} HTTP/1.1\r\nhost: a\r\n\r\n", &long[..70_000]),
            414,
        ),
        (
            format!("GET /version HTTP/1.1\r\nhost: a\r\nx: {long}\r\n\r\n"),
            431,
        ),
    ] {
        let shown = &request[..request.len().min(60)];
        let mut stream = TcpStream::connect(service.address).await.unwrap();
        // The service may close before it has read all of it.
        let _ = stream.write_all(request.as_bytes()).await;
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await;
        let answer = String::from_utf8_lossy(&answer);
        let first = format!("HTTP/1.1 {status} ");
        assert!(answer.starts_with(&first), "{shown}: {answer}");
    }
    assert!(service.readiness.is_ready());
}

/// Asserts that an answer is a refusal with the body of every error.
fn assert_refused(answer: &[u8], status: u16, code: u32, request: &str) {
    let answer = String::from_utf8_lossy(answer);
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_default();
    let first = format!("HTTP/1.1 {status} ");
    assert!(head.starts_with(&first), "{request}: {answer}");
    let has = |header: &str| head.lines().any(|line| line.starts_with(header));
    assert!(has("x-request-id: "), "{request}: {head}");
    assert!(has("content-type: application/json"), "{request}: {head}");
    assert!(
        has(&format!("content-length: {}", body.len())),
        "{request}: {head}"
    );
    let body: serde_json::Value = serde_json::from_str(body).unwrap();
    assert_eq!(body["error"]["code"], code, "{request}: {body}");
}
