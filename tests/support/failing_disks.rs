//! Helpers for tests of failing disks: requests to a server.

use std::time::{Duration, Instant};

use serde_json::json;

use super::client::Client;
use super::http_client;
use super::process::Server;

/// Maximum wait for a server to notice a change of its environment.
pub const NOTICED_WITHIN: Duration = Duration::from_secs(60);

impl Server {
    /// Waits until a path is answered with a status and a text.
    pub async fn becomes(&self, path: &str, status: u16, text: &str) {
        let asked = Instant::now();
        loop {
            let response = http_client().get(format!("{}{path}", self.address));
            let response = response.send().await.unwrap();
            let found = response.status().as_u16();
            let said = response.text().await.unwrap();
            if found == status && said.contains(text) {
                return;
            }
            let waited = asked.elapsed();
            assert!(
                waited < NOTICED_WITHIN,
                "{found} {said}, not {status} {text}"
            );
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Creates an account, which changes the store; returns its identifier, or the status of a refusal.
    pub async fn make_account(&self, key: &str, name: &str) -> Result<String, u16> {
        let client = Client::new(self, key);
        let (status, made) = client.post("admin/accounts", json!({"name": name})).await;
        if (200..300).contains(&status) {
            Ok(made["data"]["account_id"].as_str().unwrap().to_owned())
        } else {
            Err(status)
        }
    }
}
