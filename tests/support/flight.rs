//! Flight SQL in this process, and its handshake written as frames of HTTP/2.

use std::net::SocketAddr;

use toise::service::App;
use toise::transport::server::ServerLimits;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Status of a call without a valid key.
pub const UNAUTHENTICATED: Option<u8> = Some(16);
/// Status of a call that its key may not make.
pub const PERMISSION_DENIED: Option<u8> = Some(7);
/// Status of a call that exceeds a limit.
pub const RESOURCE_EXHAUSTED: Option<u8> = Some(8);

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
/// Length of the head of a frame, bytes.
const HEAD_BYTES: usize = 9;

/// A frame of HTTP/2.
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    let stream = stream.to_be_bytes();
    [&length[1..], &[kind, flags], &stream, payload].concat()
}

/// Serves Flight SQL for a service while the test runs.
pub async fn start(app: App) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let limits = ServerLimits::default();
    let never = std::future::pending();
    tokio::spawn(toise::flight::run(listener, None, app, limits, never));
    address
}

/// Sends a handshake with these headers. The error is the status of a refusal; `None` if it is unknown.
pub async fn handshake(address: SocketAddr, headers: &[(&str, &str)]) -> Result<(), Option<u8>> {
    let text = |text: &str| [&[u8::try_from(text.len()).unwrap()][..], text.as_bytes()].concat();
    // POST http://a in HPACK, the path, and headers without an index in HPACK.
    let begin = b"\x83\x86\x01\x01a\x04".to_vec();
    let path = text("/arrow.flight.protocol.FlightService/Handshake");
    let always = [("te", "trailers"), ("content-type", "application/grpc")];
    let named = always.iter().chain(headers);
    let named = named.flat_map(|(name, value)| [vec![0], text(name), text(value)].concat());
    let head = [begin, path, named.collect()].concat();
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    let request = [
        preface,
        frame(SETTINGS, 0, 0, &[]),
        frame(HEADERS, END_HEADERS, 1, &head),
        // An empty message: neither compressed, nor of any length.
        frame(DATA, END_STREAM, 1, &[0; 5]),
    ];
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(&request.concat()).await.unwrap();
    loop {
        let mut head = [0; HEAD_BYTES];
        stream.read_exact(&mut head).await.unwrap();
        let mut payload = vec![0; usize::from(head[1]) << 8 | usize::from(head[2])];
        stream.read_exact(&mut payload).await.unwrap();
        match (head[3], head[4] & END_STREAM) {
            (HEADERS, 0) => return Ok(()),
            // A refusal is headers alone.
            (HEADERS, _) => return Err(refusal(&payload)),
            _ => {}
        }
    }
}

/// The status in the headers of a refusal, whose texts are Huffman-coded.
fn refusal(headers: &[u8]) -> Option<u8> {
    let holds = |coded: &[u8]| headers.windows(coded.len()).any(|found| found == coded);
    let known = [
        (UNAUTHENTICATED, &[0x82, 0x0b, 0x9f][..]),
        (PERMISSION_DENIED, &[0x81, 0x77][..]),
        (RESOURCE_EXHAUSTED, &[0x81, 0x7b][..]),
    ];
    let found = known.iter().find(|(_, coded)| holds(coded));
    found.and_then(|(status, _)| *status)
}
