//! The rules of portals' `robots.txt` files, cached for a day (RFC 9309).
//!
//! A missing or refused file allows everything. A file that is temporarily unavailable forbids everything until it can
//! be fetched.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use reqwest::Url;
use robotxt::Robots;

/// How long a file is cached.
const KEPT_FOR: Duration = Duration::from_secs(24 * 3600);
/// How long a failed fetch of a file is not repeated.
const FAILED_FOR: Duration = Duration::from_secs(60);
/// Maximum cached files, and their total size in bytes; past either all are dropped. As parsed rules they take about
/// four times their size.
const FILES_MAX: usize = 10_000;
const BYTES_MAX: usize = 32 << 20;
/// Maximum crawl delay that is honoured.
const CRAWL_DELAY_MAX: Duration = Duration::from_secs(60);

/// The rules for a host.
#[derive(Clone, Debug)]
pub(super) enum Rules {
    /// Rules of a file, or the default.
    Known(Arc<Known>),
    /// The file is temporarily unavailable, with the reason.
    Unreachable(String),
}

/// Parsed rules, and the size of their file in bytes.
#[derive(Debug)]
pub(super) struct Known {
    robots: Robots,
    bytes: usize,
}

impl Known {
    pub(super) fn allow(&self, url: &Url) -> bool {
        self.robots.is_url_allowed(url)
    }
}

impl Rules {
    /// Parses the rules of a file.
    pub(super) fn parse(text: &[u8], agent: &str) -> Self {
        let (robots, bytes) = (Robots::parse(text, agent), text.len());
        Rules::Known(Arc::new(Known { robots, bytes }))
    }

    /// Rules for a host without robots.txt (everything allowed).
    pub(super) fn none() -> Self {
        let (robots, bytes) = (Robots::allow_all(), 0);
        Rules::Known(Arc::new(Known { robots, bytes }))
    }

    /// Pause between requests that the file demands, limited to [`CRAWL_DELAY_MAX`].
    pub(super) fn crawl_delay(&self) -> Option<Duration> {
        match self {
            Rules::Known(known) => known
                .robots
                .crawl_delay()
                .map(|delay| delay.min(CRAWL_DELAY_MAX)),
            Rules::Unreachable(_) => None,
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Rules::Known(known) => known.bytes,
            Rules::Unreachable(reason) => reason.len(),
        }
    }
}

/// A host's rules and when they expire; locked during the fetch, so that a file is fetched once.
type Slot = Arc<tokio::sync::Mutex<Option<(Rules, Instant)>>>;

/// The cached files of all portals.
#[derive(Clone, Debug, Default)]
pub(super) struct Files(Arc<Mutex<Held>>);

#[derive(Debug, Default)]
struct Held {
    slots: HashMap<String, Slot>,
    /// Total size of the files fetched since the cache was emptied.
    bytes: usize,
}

impl Files {
    /// Returns the rules for the host of an address; fetches them if they are not cached.
    pub(super) async fn of<F>(&self, url: &Url, fetch: impl FnOnce(Url) -> F) -> Rules
    where
        F: Future<Output = Rules>,
    {
        let slot = self.slot(url);
        let mut held = slot.lock().await;
        if let Some((rules, until)) = held.as_ref()
            && Instant::now() < *until
        {
            return rules.clone();
        }
        let rules = match robotxt::robots_url(url) {
            Ok(address) => fetch(address).await,
            Err(_) => Rules::none(),
        };
        let lasts = match rules {
            Rules::Known(_) => KEPT_FOR,
            Rules::Unreachable(_) => FAILED_FOR,
        };
        *held = Some((rules.clone(), Instant::now() + lasts));
        self.lock().bytes += rules.bytes();
        rules
    }

    fn slot(&self, url: &Url) -> Slot {
        let mut held = self.lock();
        if held.slots.len() >= FILES_MAX || held.bytes >= BYTES_MAX {
            *held = Held::default();
        }
        let slot = held.slots.entry(url.origin().ascii_serialization());
        Arc::clone(slot.or_default())
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        // A panic of another holder does not corrupt the map.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn files_are_fetched_once_and_dropped_past_the_size_limit() {
        const LONG: usize = 400_000;
        let files = Files::default();
        let rules_of = async |host: usize| {
            let url = Url::parse(&format!("https://p{host}.example/annonce/1")).unwrap();
            let mut fetched = None;
            let fetch = |address: Url| {
                fetched = Some(address.to_string());
                let rules = "User-agent: *\nCrawl-delay: 900\nDisallow: /private\n";
                let text = format!("{rules}#{}", "a".repeat(LONG));
                std::future::ready(Rules::parse(text.as_bytes(), "toise"))
            };
            let rules = files.of(&url, fetch).await;
            assert_eq!(rules.crawl_delay(), Some(CRAWL_DELAY_MAX));
            assert!(matches!(&rules, Rules::Known(known) if known.allow(&url)));
            fetched
        };
        let first = rules_of(0).await;
        assert_eq!(first.as_deref(), Some("https://p0.example/robots.txt"));
        assert_eq!(rules_of(0).await, None);
        for host in 1..=BYTES_MAX / LONG + 1 {
            rules_of(host).await;
        }
        assert!(rules_of(0).await.is_some(), "dropped with the others");
        assert!(files.lock().bytes <= BYTES_MAX);
    }
}
