//! A limit on open files below the configured number of connections: connections may use the rest of the limit, and
//! connected clients are still served. If the limit is too low, the server does not start.

use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::json;

use crate::support::http_client;
use crate::support::process::{Server, errors, new_key, toise};

/// Limit on open files; 256 of them are kept for tables, the store and other sockets.
const DESCRIPTORS: &str = "320";
/// Connections that it leaves.
const CONNECTIONS: f64 = 64.0;
/// Connections that are opened and stay silent.
const OPENED: usize = 200;

/// A command that serves a data folder with the given options of `ulimit`.
fn limited(data: &Path, limits: &str) -> Command {
    let serving = toise(data, &["serve", "--listen", "127.0.0.1:0"]);
    let mut limited = Command::new("sh");
    limited.args(["-c", &format!("{limits} && exec \"$@\""), "sh"]);
    limited.arg(serving.get_program()).args(serving.get_args());
    limited.stdin(Stdio::null()).stderr(Stdio::null());
    limited
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_raises_its_limit_and_does_not_start_below_the_minimum() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let refused = limited(data, "ulimit -n 48")
        .stderr(Stdio::piped())
        .output();
    let refused = refused.unwrap();
    assert_eq!(refused.status.code(), Some(1));
    let message = errors(&refused);
    assert!(
        message.contains("open files is 48") && message.contains("ulimit -n 65536"),
        "{message}"
    );

    let server = Server::ready(&mut limited(data, "ulimit -Sn 48 && ulimit -Hn 1000"));
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", server.id()));
    if let Ok(limits) = limits {
        let line = limits
            .lines()
            .find(|line| line.starts_with("Max open files"));
        let soft = line.unwrap().split_whitespace().nth(3);
        assert_eq!(soft, Some("1000"), "{limits}");
    }
    assert_eq!(server.terminate(), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_leave_descriptors_for_those_who_are_served() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let key = &new_key(data, &["--scopes", "search"]);
    let server = Server::ready(&mut limited(data, &format!("ulimit -n {DESCRIPTORS}")));
    let client = http_client();
    let search = async || {
        let url = format!("{}/v2/protected/opendata/dvf/search", server.address);
        let request = client.post(url).header("x-api-key", key).json(&json!({}));
        let response = request.send().await.unwrap();
        let status = response.status();
        // Read to its end, so that the next request uses the same connection: a new one would wait for a free slot.
        response.bytes().await.unwrap();
        status
    };
    assert_eq!(search().await, 200);

    let host = server.host().to_owned();
    let held: Vec<TcpStream> = (0..OPENED)
        .filter_map(|_| TcpStream::connect(&host).ok())
        .collect();
    assert!(held.len() as f64 > CONNECTIONS);
    tokio::time::sleep(Duration::from_millis(500)).await;
    for _ in 0..5 {
        assert_eq!(search().await, 200);
    }
    let metrics = client.get(format!("{}/metrics", server.address));
    let metrics = metrics.send().await.unwrap().text().await.unwrap();
    let open = metrics
        .lines()
        .find_map(|line| line.strip_prefix("toise_connections "));
    let open: f64 = open.unwrap().parse().unwrap();
    assert!(open <= CONNECTIONS, "{open} connections");
    drop(held);
    assert_eq!(server.terminate(), Some(0));
}
