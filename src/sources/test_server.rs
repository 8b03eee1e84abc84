//! A local server with scripted answers for tests of downloads, and helpers for these tests.

use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use toise_net::{Client, RetryPolicy};

/// The answer to one request.
pub struct Reply {
    bytes: Vec<u8>,
    /// Whether the connection then stays open without sending more.
    stalls: bool,
}

impl Reply {
    /// Sends bytes, then leaves the connection open without sending more.
    pub fn stalling(bytes: Vec<u8>) -> Self {
        Self {
            bytes,
            stalls: true,
        }
    }
}

impl From<Vec<u8>> for Reply {
    fn from(bytes: Vec<u8>) -> Self {
        Self {
            bytes,
            stalls: false,
        }
    }
}

/// A server that answers each request with the raw bytes that a script returns for (request head, request number), then
/// closes the connection.
pub struct Server {
    pub base: String,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Server {
    pub async fn start<R: Into<Reply>>(script: impl Fn(&str, usize) -> R + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let heads: Arc<Mutex<Vec<String>>> = Arc::default();
        let seen = heads.clone();
        tokio::spawn(async move {
            let mut open = Vec::new();
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    let Ok(byte) = stream.read_u8().await else {
                        break;
                    };
                    head.push(byte);
                }
                let head = String::from_utf8(head).unwrap();
                let number = seen.lock().unwrap().len();
                let reply: Reply = script(&head, number).into();
                seen.lock().unwrap().push(head);
                let _ = stream.write_all(&reply.bytes).await;
                if reply.stalls {
                    open.push(stream);
                } else {
                    let _ = stream.shutdown().await;
                }
            }
        });
        Self { base, heads }
    }

    /// The heads of all requests so far.
    pub fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }

    /// The paths of all requests so far.
    pub fn paths(&self) -> Vec<String> {
        let heads = self.heads();
        heads.iter().map(|head| path(head).to_owned()).collect()
    }
}

/// The path that a request asks for.
pub fn path(head: &str) -> &str {
    head.split(' ').nth(1).unwrap()
}

/// An HTTP response as bytes. `length` is its `content-length`, which may differ from the length of `body`.
pub fn answer(status: &str, headers: &str, length: usize, body: &[u8]) -> Vec<u8> {
    let mut bytes = format!(
        "HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {length}\r\n{headers}\r\n"
    )
    .into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

/// The answer to a request for a file: all of it, or the rest if the request has the header `range`.
pub fn file_answer(head: &str, headers: &str, whole: &[u8]) -> Vec<u8> {
    let range = head
        .lines()
        .find_map(|line| line.strip_prefix("range: bytes="));
    let Some(start) = range.and_then(|range| range.trim_end_matches('-').parse::<usize>().ok())
    else {
        return answer("200 OK", headers, whole.len(), whole);
    };
    let range = format!(
        "{headers}content-range: bytes {start}-{}/{}\r\n",
        whole.len() - 1,
        whole.len()
    );
    let rest = &whole[start..];
    answer("206 Partial Content", &range, rest.len(), rest)
}

/// A client with short pauses between attempts.
pub fn client() -> Client {
    client_with(RetryPolicy::default().read_timeout)
}

/// As [`client`], with its own maximum pause between two reads.
pub fn client_with(read_timeout: Duration) -> Client {
    Client::new(RetryPolicy {
        backoff_first: Duration::from_millis(5),
        retry_after_max: Duration::from_secs(2),
        read_timeout,
        ..RetryPolicy::default()
    })
    .unwrap()
}

/// Compresses a text with gzip.
pub fn gzip(text: &[u8]) -> Vec<u8> {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(text).unwrap();
    gzip.finish().unwrap()
}
