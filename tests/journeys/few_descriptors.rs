//! A limit on open files that is lower than the connections that are configured: connections take what is left of it, and a
//! client that is connected goes on being answered.

use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::json;

use crate::support::http_client;
use crate::support::process::{Server, run, toise};

/// Limit on open files; 256 of them are kept for tables, the store and other sockets.
const DESCRIPTORS: &str = "320";
/// Connections that it leaves.
const CONNECTIONS: f64 = 64.0;
/// Connections that somebody opens and says nothing on.
const OPENED: usize = 200;

#[tokio::test(flavor = "multi_thread")]
async fn connections_leave_descriptors_for_those_who_are_served() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let made = run(data, &["keys", "create", "--scopes", "search"]);
    let key = made["key"].as_str().unwrap();
    let serving = toise(data, &["serve", "--listen", "127.0.0.1:0"]);
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -n \"$0\" && exec \"$@\"", DESCRIPTORS]);
    limited.arg(serving.get_program()).args(serving.get_args());
    let server = Server::ready(limited.stdin(Stdio::null()).stderr(Stdio::null()));
    let client = http_client();
    let search = async || {
        let url = format!("{}/v2/protected/opendata/dvf/search", server.address);
        let request = client.post(url).header("x-api-key", key).json(&json!({}));
        let response = request.send().await.unwrap();
        let status = response.status();
        // Read to its end, so that the next question comes over the same connection: another one would wait for a place.
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
