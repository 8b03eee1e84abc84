//! SQL statements that exceed their limits, while the machine fails.

use std::time::Duration;

use reqwest::Method;
use serde_json::json;

use super::model::Client;
use crate::support::statements;

/// Pause between two statements, so that faults matter and not the load.
const BETWEEN: Duration = Duration::from_millis(100);
/// One statement in this many has a known answer.
const KNOWN_ONCE_IN: usize = 4;
const KNOWN: &str = "select sum(value) as total from range(1, 1001)";
const KNOWN_TOTAL: u64 = 500_500;

impl Client {
    /// Sends statements from the grammar, and sometimes one with a known answer.
    pub async fn query(mut self) {
        while self.goes_on() {
            tokio::time::sleep(BETWEEN).await;
            let is_known = self.draw.once_in(KNOWN_ONCE_IN);
            let statement = if is_known {
                KNOWN.to_owned()
            } else {
                statements::drawn(&mut self.draw)
            };
            let body = json!({"query": statement});
            let asked = self.ask(Method::POST, "sql", &body, None).await;
            let mut model = self.model();
            model.statements += 1;
            if let Some((200, _, answer)) = asked
                && is_known
                && answer["data"][0]["total"] != KNOWN_TOTAL
            {
                model
                    .violations
                    .push(format!("a wrong answer to {KNOWN}: {answer}"));
            }
        }
    }
}
