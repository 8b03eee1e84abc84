//! Whether receivers may be posted to, asked of the name service for a few addresses at a time.
//!
//! The system's name service holds a thread for each question, for seconds where a name's servers do not answer, and
//! the whole service shares those threads. So all calls together ask [`LOOKUPS_MAX`] questions at once; more wait, but
//! no call longer than [`CALL_TIMEOUT`].

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::stream;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};

use crate::net::receiver::{Gate, Refused};

/// Addresses looked up at once, by all calls together.
pub const LOOKUPS_MAX: usize = 64;
/// Addresses one call looks up at once.
const LOOKUPS_PER_CALL_MAX: usize = 32;
/// Longest all look-ups of a call may take; what is not known by then counts as a name that does not resolve.
pub const CALL_TIMEOUT: Duration = Duration::from_secs(8);

/// Checks addresses of receivers. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Addresses {
    gate: Gate,
    turns: Arc<Semaphore>,
}

impl Addresses {
    /// Lets pass what a gate lets pass.
    pub fn new(gate: Gate) -> Self {
        Self {
            gate,
            turns: Arc::new(Semaphore::new(LOOKUPS_MAX)),
        }
    }

    /// Those of the addresses that may not be posted to, with the reason.
    pub async fn refused(&self, urls: HashSet<String>) -> HashMap<String, Refused> {
        self.refused_by(urls, Instant::now() + CALL_TIMEOUT).await
    }

    async fn refused_by(
        &self,
        urls: HashSet<String>,
        deadline: Instant,
    ) -> HashMap<String, Refused> {
        let checks = stream::iter(urls).map(|url| async move {
            let refused = self.check(&url, deadline).await.err()?;
            Some((url, refused))
        });
        let checked = checks.buffer_unordered(LOOKUPS_PER_CALL_MAX);
        checked.filter_map(std::future::ready).collect().await
    }

    async fn check(&self, url: &str, deadline: Instant) -> Result<(), Refused> {
        // What its form tells needs no turn.
        let form = self.gate.check_form(url)?;
        let in_turn = async {
            // Nobody closes the semaphore.
            let _turn = self.turns.acquire().await;
            self.gate.check(url).await
        };
        match timeout_at(deadline, in_turn).await {
            Ok(checked) => checked.map(drop),
            Err(_) => Err(Refused::Unresolved(
                form.host_str().unwrap_or_default().to_owned(),
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::receiver::Allowed;
    use futures::FutureExt;

    #[tokio::test]
    async fn names_that_nobody_answers_for_hold_a_call_no_longer_than_its_time() {
        let gate = Gate::asking(Allowed::default(), |name| {
            let answer = async move {
                if name.starts_with("silent") {
                    std::future::pending::<()>().await;
                }
                Ok(vec![[93, 184, 216, 34].into()])
            };
            answer.boxed()
        });
        let addresses = Addresses::new(gate);
        let silent = (0..200).map(|number| format!("https://silent{number}.example/"));
        let deadline = Instant::now() + Duration::from_millis(100);
        let refused = addresses.refused_by(silent.collect(), deadline).await;
        assert!(deadline.elapsed() < Duration::from_secs(2));
        assert_eq!(refused.len(), 200);
        let unresolved = |refused: &Refused| matches!(refused, Refused::Unresolved(_));
        assert!(refused.values().all(unresolved));
        // Nothing stays taken.
        let urls = HashSet::from(["https://client.example/".to_owned()]);
        assert!(addresses.refused(urls).await.is_empty());
    }
}
