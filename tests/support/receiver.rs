//! Webhook receivers that follow a script and record their requests.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// Response of a receiver to a request.
#[derive(Clone, Debug)]
pub enum Act {
    /// Responds at once.
    Status(u16),
    /// Responds with one more header line.
    With(u16, &'static str),
    /// Responds after a delay.
    After(Duration, u16),
    /// Reads the request and never responds.
    Hang,
    /// Sends the head byte by byte, ten bytes per second.
    DripHead,
    /// Sends 200 and then the body byte by byte.
    DripBody,
    /// Sends 200 with a body without end.
    Flood,
    /// Closes the connection without a response.
    Close,
}

/// A received request.
#[derive(Clone, Debug)]
pub struct Received {
    /// Header values by name in lower case.
    pub headers: HashMap<String, String>,
    /// The body.
    pub body: Vec<u8>,
    /// When it was complete.
    pub at: Instant,
}

impl Received {
    /// The `webhook-id`.
    pub fn id(&self) -> &str {
        &self.headers["webhook-id"]
    }

    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    /// Identifiers of the items in a branch: properties, or `flxId` of adverts.
    pub fn items(&self, branch: &str) -> Vec<String> {
        let body = self.json();
        let entries = body["data"][branch].as_array().unwrap();
        let of_entry = |entry: &Value| -> Vec<String> {
            let items = entry.get("properties").or(entry.get("adverts")).unwrap();
            let id = |item: &Value| item.as_str().or(item["flxId"].as_str()).unwrap().to_owned();
            items.as_array().unwrap().iter().map(id).collect()
        };
        entries.iter().flat_map(of_entry).collect()
    }
}

type Script = Arc<dyn Fn(usize, &Received) -> Act + Send + Sync>;

/// A running receiver; it stops when dropped.
pub struct Receiver {
    address: SocketAddr,
    received: Arc<Mutex<Vec<Received>>>,
    accepting: JoinHandle<()>,
}

impl Receiver {
    /// Responds to every request in the same way.
    pub async fn always(act: Act) -> Self {
        Self::start(move |_, _| act.clone()).await
    }

    /// Responds to the first requests in turn and to all later ones with 200.
    pub async fn first(acts: Vec<Act>) -> Self {
        Self::start(move |index, _| acts.get(index).cloned().unwrap_or(Act::Status(200))).await
    }

    /// Responds by number, from 0, and content of a request.
    pub async fn start(script: impl Fn(usize, &Received) -> Act + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let received: Arc<Mutex<Vec<Received>>> = Arc::default();
        let (script, kept): (Script, _) = (Arc::new(script), Arc::clone(&received));
        let accepting = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&script), Arc::clone(&kept)));
            }
        });
        Self {
            address,
            received,
            accepting,
        }
    }

    /// Its URL.
    pub fn url(&self) -> String {
        format!("http://{}/hook", self.address)
    }

    /// Requests received so far.
    pub fn received(&self) -> Vec<Received> {
        self.received.lock().unwrap().clone()
    }

    /// Number of requests received so far.
    pub fn count(&self) -> usize {
        self.received.lock().unwrap().len()
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn serve(stream: TcpStream, script: Script, received: Arc<Mutex<Vec<Received>>>) {
    stream.set_nodelay(true).unwrap();
    let mut stream = BufReader::new(stream);
    while let Some(request) = read(&mut stream).await {
        let act = {
            let mut received = received.lock().unwrap();
            let act = script(received.len(), &request);
            received.push(request);
            act
        };
        if answer(stream.get_mut(), act).await.is_err() {
            return;
        }
    }
}

async fn read(stream: &mut BufReader<TcpStream>) -> Option<Received> {
    let mut line = String::new();
    stream
        .read_line(&mut line)
        .await
        .ok()
        .filter(|read| *read > 0)?;
    assert!(line.starts_with("POST /hook"), "{line}");
    let mut headers = HashMap::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await.ok()?;
        let Some((name, value)) = line.trim_end().split_once(": ") else {
            break;
        };
        headers.insert(name.to_lowercase(), value.to_owned());
    }
    let mut body = vec![0; headers["content-length"].parse().unwrap()];
    stream.read_exact(&mut body).await.ok()?;
    Some(Received {
        headers,
        body,
        at: Instant::now(),
    })
}

/// Sends the scripted response; an error closes the connection.
async fn answer(stream: &mut TcpStream, act: Act) -> std::io::Result<()> {
    let head = |status: u16, more: &str| {
        format!("HTTP/1.1 {status} Told\r\n{more}content-length: 2\r\n\r\nok")
    };
    match act {
        Act::Status(status) => stream.write_all(head(status, "").as_bytes()).await,
        Act::With(status, line) => {
            let more = format!("{line}\r\n");
            stream.write_all(head(status, &more).as_bytes()).await
        }
        Act::After(wait, status) => {
            tokio::time::sleep(wait).await;
            stream.write_all(head(status, "").as_bytes()).await
        }
        Act::Hang => std::future::pending().await,
        Act::DripHead => drip(stream, head(200, "").as_bytes()).await,
        Act::DripBody => {
            let head = b"HTTP/1.1 200 Told\r\ncontent-length: 1000\r\n\r\n";
            stream.write_all(head).await?;
            drip(stream, &[b'x'; 1_000]).await
        }
        Act::Flood => {
            stream.write_all(b"HTTP/1.1 200 Told\r\n\r\n").await?;
            loop {
                stream.write_all(&[b'x'; 65_536]).await?;
            }
        }
        Act::Close => Err(std::io::ErrorKind::ConnectionAborted.into()),
    }
}

async fn drip(stream: &mut TcpStream, bytes: &[u8]) -> std::io::Result<()> {
    for byte in bytes {
        stream.write_all(&[*byte]).await?;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Ok(())
}
