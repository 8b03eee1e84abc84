//! Files of addresses that would exhaust memory, disk or slots: refused through a real socket.

use std::time::{Duration, Instant};

use reqwest::{Method, Response};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use uuid::Uuid;

use crate::support::assertions::assert_begins;
use crate::support::{Service, error_of};
use toise::accounts::DEFAULT_ACCOUNT;
use toise::accounts::key::KeyKind;
use toise::transport::body_budget::BodyBudget;

const PATH: &str = "/geocoding/search/csv";
/// Maximum wait for the service to notice.
const WAIT: Duration = Duration::from_secs(10);
const PART: &str =
    "--frontier\r\nContent-Disposition: form-data; name=\"data\"; filename=\"a.csv\"\r\n\r\n";

async fn send(service: &Service, key: &str, body: Vec<u8>) -> Response {
    let request = service.keyed(Method::POST, PATH, key).body(body);
    let request = request.header("content-type", "multipart/form-data; boundary=frontier");
    request.send().await.unwrap()
}

fn form(file: &str, columns: &[&str]) -> Vec<u8> {
    let mut body = String::new();
    for column in columns {
        body.push_str("--frontier\r\nContent-Disposition: form-data; name=\"columns\"\r\n\r\n");
        body.push_str(column);
        body.push_str("\r\n");
    }
    format!("{body}{PART}{file}\r\n--frontier--\r\n").into_bytes()
}

#[tokio::test]
async fn columns_named_twice_and_too_many_columns_are_refused_by_name() {
    let service = Service::start().await;
    let wide = format!("town{}\nMende\n", ",".repeat(1 << 19));
    for (file, columns, named) in [
        ("a\nMende\n", &["a", "a"][..], "columns[1]: must not"),
        (&wide, &["town"], "data: has 524289 columns"),
        (&wide, &["nowhere"], "data: has 524289 columns"),
    ] {
        let refused = send(&service, &service.key, form(file, columns)).await;
        let (status, _, message) = error_of(refused).await;
        assert_eq!(status, 422, "{message}");
        assert!(message.starts_with(named), "{message}");
        assert!(message.len() < 1_000);
    }
    let long = format!("a\n{}\nMende\n", "x".repeat(100_000));
    let answered = send(&service, &service.key, form(&long, &["a"])).await;
    let text = answered.text().await.unwrap();
    let statuses = text.lines().skip(1).map(|line| line.rsplit(',').next());
    assert_eq!(statuses.collect::<Vec<_>>(), [Some("error"), Some("ok")]);
}

#[tokio::test]
async fn a_form_without_its_boundary_is_refused() {
    let service = Service::start().await;
    let refused = send(&service, &service.key, vec![b'a'; 2 << 20]).await;
    let (status, _, message) = error_of(refused).await;
    assert_eq!(status, 422, "{message}");
    assert_begins(&message, "body: must be a form: no boundary");
}

/// Sends the head of a request and the beginning of its file, and nothing more.
async fn half_sent(service: &Service, key: &str) -> TcpStream {
    let mut stream = TcpStream::connect(service.address).await.unwrap();
    let head = format!(
        "POST {PATH} HTTP/1.1\r\nhost: a\r\nx-api-key: {key}\r\ncontent-length: 100000\r\n\
         content-type: multipart/form-data; boundary=frontier\r\n\r\n{PART}town\nMende\n"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream
}

#[tokio::test]
async fn the_files_of_a_key_leave_places_to_others() {
    let places = BodyBudget::new(8);
    let held = places.clone();
    let service = Service::start_changed(move |app| app.capacity.geocoding_files = places).await;
    let sending = [
        half_sent(&service, &service.key).await,
        half_sent(&service, &service.key).await,
    ];
    let since = Instant::now();
    while held.held() < sending.len() {
        assert!(since.elapsed() < WAIT, "the files are not received");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let file = || form("town\nMende\n", &["town"]);
    let refused = send(&service, &service.key, file()).await;
    assert!(refused.headers().contains_key("retry-after"));
    let (status, _, message) = error_of(refused).await;
    assert_eq!(status, 429, "{message}");
    assert_begins(&message, "too many files of addresses");
    // The call that starts a project reads its file.
    let start = format!("/geocoding/async/projects/{}/start", Uuid::now_v7());
    let start = || service.keyed(Method::POST, &start, &service.key).send();
    assert_eq!(start().await.unwrap().status(), 429);
    let other = service.new_key(KeyKind::Production, "geocoding", DEFAULT_ACCOUNT);
    assert_eq!(send(&service, &other.key, file()).await.status(), 200);
    drop(sending);
    let since = Instant::now();
    while held.held() > 0 {
        assert!(since.elapsed() < WAIT, "the places are not given back");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(send(&service, &service.key, file()).await.status(), 200);
    assert_eq!(start().await.unwrap().status(), 404);
}
