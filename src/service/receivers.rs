//! Checks whether receivers may be called, resolving a few addresses at a time.
//!
//! All calls together have a bounded number of look-ups ([`toise_net::resolver`]); further ones wait, but no call
//! waits longer than [`CALL_TIMEOUT`].

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use futures::StreamExt;
use futures::stream;
use tokio::time::{Instant, timeout_at};

use toise_net::egress::{EgressGuard, UrlRefusal};
use toise_net::resolver::CHECKS_MAX;
use toise_net::webhook_client::WebhookClient;

/// Maximum concurrent look-ups of one call: half of the maximum of all calls together.
const LOOKUPS_PER_CALL_MAX: usize = CHECKS_MAX / 2;
/// Maximum time for all look-ups of a call; an address that is not resolved in time counts as one that does not
/// resolve.
pub const CALL_TIMEOUT: Duration = Duration::from_secs(8);

/// Checks addresses of receivers, with the client that calls them. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ReceiverChecker {
    gate: EgressGuard,
    client: WebhookClient,
}

impl ReceiverChecker {
    /// Returns a checker that allows the same addresses as an egress guard.
    ///
    /// # Errors
    /// TLS is not available on this machine.
    pub fn new(gate: EgressGuard) -> Result<Self, toise_net::Error> {
        let client = WebhookClient::new(gate.clone())?;
        Ok(Self { gate, client })
    }

    /// Returns the client that calls receivers.
    pub fn client(&self) -> &WebhookClient {
        &self.client
    }

    /// Returns the addresses that may not be called, with the reason.
    pub async fn refused(&self, urls: HashSet<String>) -> HashMap<String, UrlRefusal> {
        self.refused_by(urls, Instant::now() + CALL_TIMEOUT).await
    }

    async fn refused_by(
        &self,
        urls: HashSet<String>,
        deadline: Instant,
    ) -> HashMap<String, UrlRefusal> {
        let checks = stream::iter(urls).map(|url| async move {
            let refused = self.check(&url, deadline).await.err()?;
            Some((url, refused))
        });
        let checked = checks.buffer_unordered(LOOKUPS_PER_CALL_MAX);
        checked.filter_map(std::future::ready).collect().await
    }

    async fn check(&self, url: &str, deadline: Instant) -> Result<(), UrlRefusal> {
        // The syntax is checked without a look-up.
        let parsed = self.gate.check_syntax(url)?;
        match timeout_at(deadline, self.gate.check(url)).await {
            Ok(checked) => checked.map(drop),
            Err(_) => Err(UrlRefusal::Unresolved(
                parsed.host_str().unwrap_or_default().to_owned(),
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;
    use std::sync::{Arc, Mutex};
    use toise_net::egress::AllowedHosts;

    #[tokio::test]
    async fn names_that_do_not_resolve_delay_a_call_only_up_to_its_timeout() {
        let (release, held) = channel::<()>();
        let held = Arc::new(Mutex::new(held));
        let gate = EgressGuard::asking(AllowedHosts::default(), move |name| {
            if name.starts_with("silent") {
                // Blocks until the other end is dropped.
                let _ = held.lock().unwrap().recv();
            }
            Ok(vec![[93, 184, 216, 34].into()])
        });
        let addresses = ReceiverChecker::new(gate).unwrap();
        let silent = (0..200).map(|number| format!("https://silent{number}.example/"));
        let deadline = Instant::now() + Duration::from_millis(100);
        let refused = addresses.refused_by(silent.collect(), deadline).await;
        assert!(deadline.elapsed() < Duration::from_secs(2));
        assert_eq!(refused.len(), 200);
        let unresolved = |refused: &UrlRefusal| matches!(refused, UrlRefusal::Unresolved(_));
        assert!(refused.values().all(unresolved));
        drop(release);
        let urls = HashSet::from(["https://client.example/".to_owned()]);
        assert!(
            addresses.refused(urls).await.is_empty(),
            "every look-up slot is free again"
        );
    }
}
