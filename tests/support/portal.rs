//! A portal on loopback that serves pages of all kinds and counts requests.

use std::collections::HashMap;
use std::io::Write;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// A host name shared by all portals.
pub const PORTAL_NAME: &str = "portal.example";
/// Unpacked size of a page that is sent as a few kilobytes: several times the maximum.
const UNPACKED_BYTES: usize = 16 << 20;

/// Response of a portal at a path.
#[derive(Clone, Debug)]
pub enum Act {
    /// A page in UTF-8.
    Page(String),
    /// A body of some content type.
    Body(&'static str, Vec<u8>),
    /// A status, and one more header line.
    Status(u16, &'static str),
    /// Another response after a delay.
    After(Duration, Box<Act>),
    /// A redirect.
    Redirect(String),
    /// A body without end.
    Endless,
    /// A few kilobytes that unpack to [`UNPACKED_BYTES`].
    Bomb,
    /// A page sent byte by byte.
    Drip,
    /// A page that ends before its declared length.
    Cut,
}

#[derive(Default)]
struct State {
    acts: HashMap<String, Act>,
    asked: HashMap<String, usize>,
    at_once: usize,
    at_once_most: usize,
}

/// A running portal; it stops when dropped. Unknown paths are answered with 404.
pub struct Portal {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
    accepting: JoinHandle<()>,
}

impl Portal {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let state: Arc<Mutex<State>> = Arc::default();
        let shared = Arc::clone(&state);
        let accepting = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&shared)));
            }
        });
        Self {
            address,
            state,
            accepting,
        }
    }

    /// The URL of a path.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// The URL of a path under [`PORTAL_NAME`].
    pub fn named(&self, path: &str) -> String {
        format!("http://{PORTAL_NAME}:{}{path}", self.address.port())
    }

    pub fn set(&self, path: &str, act: Act) {
        self.state.lock().unwrap().acts.insert(path.to_owned(), act);
    }

    /// How often a path was requested.
    pub fn asked(&self, path: &str) -> usize {
        self.state
            .lock()
            .unwrap()
            .asked
            .get(path)
            .copied()
            .unwrap_or_default()
    }

    /// Maximum number of concurrent requests so far.
    pub fn at_once_most(&self) -> usize {
        self.state.lock().unwrap().at_once_most
    }
}

impl Drop for Portal {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn serve(stream: TcpStream, state: Arc<Mutex<State>>) {
    let mut stream = BufReader::new(stream);
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).await.unwrap_or(0) == 0 {
            return;
        }
        let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
        loop {
            let mut header = String::new();
            match stream.read_line(&mut header).await {
                Ok(count) if count > 2 => {}
                _ => break,
            }
        }
        let act = {
            let mut state = state.lock().unwrap();
            *state.asked.entry(path.clone()).or_default() += 1;
            state.at_once += 1;
            state.at_once_most = state.at_once_most.max(state.at_once);
            state
                .acts
                .get(&path)
                .cloned()
                .unwrap_or(Act::Status(404, ""))
        };
        let answered = answer(&mut stream, act).await;
        state.lock().unwrap().at_once -= 1;
        if answered.is_err() {
            return;
        }
    }
}

async fn answer(stream: &mut BufReader<TcpStream>, mut act: Act) -> std::io::Result<()> {
    while let Act::After(wait, then) = act {
        tokio::time::sleep(wait).await;
        act = *then;
    }
    let broken = || std::io::Error::other("closed on purpose");
    match act {
        Act::Page(html) => body(stream, "text/html; charset=utf-8", "", html.as_bytes()).await,
        Act::Body(content_type, bytes) => body(stream, content_type, "", &bytes).await,
        Act::Status(status, header) => {
            let head = format!("HTTP/1.1 {status} Said\r\n{header}content-length: 0\r\n\r\n");
            stream.write_all(head.as_bytes()).await
        }
        Act::Redirect(to) => {
            let head = format!("HTTP/1.1 302 Found\r\nlocation: {to}\r\ncontent-length: 0\r\n\r\n");
            stream.write_all(head.as_bytes()).await
        }
        Act::Endless => {
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ntransfer-encoding: chunked\r\n\r\n").await?;
            let chunk = format!("10000\r\n{}\r\n", "a".repeat(0x10000));
            for _ in 0..800 {
                stream.write_all(chunk.as_bytes()).await?;
            }
            Err(broken())
        }
        Act::Bomb => {
            // Compression takes seconds and would block the other tasks of this thread.
            let packed = tokio::task::spawn_blocking(|| {
                let mut packed = GzEncoder::new(Vec::new(), Compression::best());
                packed.write_all(&vec![b'a'; UNPACKED_BYTES])?;
                packed.finish()
            });
            let packed = packed.await??;
            body(stream, "text/html", "content-encoding: gzip\r\n", &packed).await
        }
        Act::Drip => {
            stream
                .write_all(
                    b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 100000\r\n\r\n",
                )
                .await?;
            for _ in 0..100_000 {
                stream.write_all(b"a").await?;
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            Ok(())
        }
        Act::Cut => {
            stream
                .write_all(
                    b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 900\r\n\r\n<p>",
                )
                .await?;
            Err(broken())
        }
        Act::After(..) => Ok(()),
    }
}

async fn body(
    stream: &mut BufReader<TcpStream>,
    content_type: &str,
    header: &str,
    bytes: &[u8],
) -> std::io::Result<()> {
    let length = bytes.len();
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\n{header}content-length: {length}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(bytes).await
}

/// The page of a flat with a price, in JSON-LD.
pub fn flat_page(number: usize, price: u64) -> Act {
    let node: Value = json!({"@type": "RealEstateListing", "name": format!("Appartement {number} à vendre"),
        "about": {"@type": "Apartment", "floorSize": {"value": 30 + number % 60, "unitCode": "MTK"}, "numberOfRooms": 3,
            "address": {"postalCode": "69003", "addressLocality": "Lyon"},
            "geo": {"latitude": 45.75 + (number % 97) as f64 / 1_000.0, "longitude": 4.85}},
        "offers": {"price": price, "priceCurrency": "EUR"}});
    Act::Page(format!(
        "<script type=\"application/ld+json\">{node}</script><h1>Appartement {number}</h1>"
    ))
}

/// The query string with a URL.
pub fn query(url: &str) -> String {
    url::form_urlencoded::Serializer::new(String::new())
        .append_pair("url", url)
        .finish()
}
