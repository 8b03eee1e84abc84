//! Whether receivers may be posted to, asked of the name service for a few addresses at a time.
//!
//! The system's name service holds a thread for each question, for seconds where a name's servers do not answer, and
//! the whole service shares those threads. So all calls together ask [`LOOKUPS_MAX`] questions at once; more wait.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use futures::StreamExt;
use futures::stream;
use tokio::sync::Semaphore;

use crate::net::receiver::{Gate, Refused};

/// Addresses looked up at once, by all calls together.
const LOOKUPS_MAX: usize = 32;
/// Addresses one call looks up at once.
const LOOKUPS_PER_CALL_MAX: usize = 16;

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
        let checks = stream::iter(urls).map(|url| async move {
            let refused = self.check(&url).await.err()?;
            Some((url, refused))
        });
        let checked = checks.buffer_unordered(LOOKUPS_PER_CALL_MAX);
        checked.filter_map(std::future::ready).collect().await
    }

    async fn check(&self, url: &str) -> Result<(), Refused> {
        // What its form tells needs no turn.
        self.gate.check_form(url)?;
        // Nobody closes the semaphore.
        let _turn = self.turns.acquire().await;
        self.gate.check(url).await.map(drop)
    }
}
