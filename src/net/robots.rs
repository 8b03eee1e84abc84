//! The rules of portals' `robots.txt` files, cached for a day (RFC 9309).
//!
//! A missing or refused file allows everything. A file that is temporarily unavailable forbids everything until it can
//! be fetched.

use std::sync::Arc;
use std::time::{Duration, Instant};

use moka::Expiry;
use moka::policy::EvictionPolicy;
use moka::sync::Cache;
use reqwest::Url;
use robotxt::Robots;
use tokio::sync::OnceCell;

/// How long a file is cached.
const CACHE_TTL: Duration = Duration::from_secs(24 * 3600);
/// Time for which a failed fetch of a file is not repeated. It is shorter than any pause between two attempts at a
/// page; otherwise the second attempt would fail without a request.
const FAILURE_TTL: Duration = Duration::from_secs(4);
/// Maximum size of all cached files together, in bytes as received; beyond it the least recently used are evicted.
/// Parsed rules take about four times as much memory.
const BYTES_MAX: u64 = 32 << 20;
/// Minimum bytes that a file counts as, so that about 10,000 are cached at most.
const FILE_BYTES_MIN: u32 = 3_355;
/// Maximum delay between requests that is honoured.
const CRAWL_DELAY_MAX: Duration = Duration::from_secs(60);

/// The rules for a host.
#[derive(Clone, Debug)]
pub(super) enum RobotsRules {
    /// Rules of a file, or the default.
    Known(Arc<ParsedRobots>),
    /// The file is temporarily unavailable.
    Unavailable {
        /// The reason.
        reason: String,
        /// Whether not even a connection could be made.
        is_unreachable: bool,
    },
}

/// Parsed rules, and the size of their file in bytes.
#[derive(Debug)]
pub(super) struct ParsedRobots {
    robots: Robots,
    bytes: usize,
}

impl ParsedRobots {
    pub(super) fn allow(&self, url: &Url) -> bool {
        self.robots.is_url_allowed(url)
    }
}

impl RobotsRules {
    /// Parses the rules of a file.
    pub(super) fn parse(text: &[u8], agent: &str) -> Self {
        let (robots, bytes) = (Robots::parse(text, agent), text.len());
        RobotsRules::Known(Arc::new(ParsedRobots { robots, bytes }))
    }

    /// Rules for a host without robots.txt (everything allowed).
    pub(super) fn none() -> Self {
        let (robots, bytes) = (Robots::allow_all(), 0);
        RobotsRules::Known(Arc::new(ParsedRobots { robots, bytes }))
    }

    /// Returns the pause between requests that the file demands, limited to [`CRAWL_DELAY_MAX`].
    pub(super) fn crawl_delay(&self) -> Option<Duration> {
        match self {
            RobotsRules::Known(known) => known
                .robots
                .crawl_delay()
                .map(|delay| delay.min(CRAWL_DELAY_MAX)),
            RobotsRules::Unavailable { .. } => None,
        }
    }

    fn bytes(&self) -> u32 {
        let bytes = match self {
            RobotsRules::Known(known) => known.bytes,
            RobotsRules::Unavailable { reason, .. } => reason.len(),
        };
        u32::try_from(bytes).unwrap_or(u32::MAX)
    }
}

/// A file, empty while it is being fetched; other requests for it wait for the same fetch.
type RobotsSlot = Arc<OnceCell<RobotsRules>>;

/// The files of all portals. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct RobotsCache(Cache<String, RobotsSlot>);

impl Default for RobotsCache {
    fn default() -> Self {
        let cache = Cache::builder()
            .max_capacity(BYTES_MAX)
            .weigher(|_, slot: &RobotsSlot| {
                let bytes = slot.get().map_or(0, RobotsRules::bytes);
                bytes.max(FILE_BYTES_MIN)
            })
            .eviction_policy(EvictionPolicy::lru())
            .expire_after(RobotsExpiry);
        Self(cache.build())
    }
}

impl RobotsCache {
    /// Returns the rules for the host of an address; fetches them if they are not cached.
    pub(super) async fn rules<F>(&self, url: &Url, fetch: impl FnOnce(Url) -> F) -> RobotsRules
    where
        F: Future<Output = RobotsRules>,
    {
        let origin = url.origin().ascii_serialization();
        let slot = self.0.get_with_by_ref(&origin, RobotsSlot::default);
        let mut is_fetched = false;
        let rules = slot.get_or_init(async || {
            is_fetched = true;
            match robotxt::robots_url(url) {
                Ok(address) => fetch(address).await,
                Err(_) => RobotsRules::none(),
            }
        });
        let rules = rules.await.clone();
        if is_fetched {
            // Its weight and its lifetime are known only now.
            self.0.insert(origin, Arc::clone(&slot));
        }
        rules
    }
}

/// Lifetime of cached files.
struct RobotsExpiry;

impl Expiry<String, RobotsSlot> for RobotsExpiry {
    fn expire_after_create(&self, _: &String, slot: &RobotsSlot, _: Instant) -> Option<Duration> {
        Some(lasting(slot))
    }

    fn expire_after_update(
        &self,
        _: &String,
        slot: &RobotsSlot,
        _: Instant,
        _: Option<Duration>,
    ) -> Option<Duration> {
        Some(lasting(slot))
    }
}

fn lasting(slot: &RobotsSlot) -> Duration {
    match slot.get() {
        Some(RobotsRules::Unavailable { .. }) => FAILURE_TTL,
        Some(RobotsRules::Known(_)) | None => CACHE_TTL,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn files_are_fetched_once_and_the_oldest_forgotten_when_they_are_too_much() {
        const LONG: usize = 400_000;
        let files = RobotsCache::default();
        let rules_of = async |host: usize| {
            let url = Url::parse(&format!("https://p{host}.example/annonce/1")).unwrap();
            let mut fetched = None;
            let fetch = |address: Url| {
                fetched = Some(address.to_string());
                let rules = "User-agent: *\nCrawl-delay: 900\nDisallow: /private\n";
                let text = format!("{rules}#{}", "a".repeat(LONG));
                std::future::ready(RobotsRules::parse(text.as_bytes(), "toise"))
            };
            let rules = files.rules(&url, fetch).await;
            assert_eq!(rules.crawl_delay(), Some(CRAWL_DELAY_MAX));
            assert!(matches!(&rules, RobotsRules::Known(known) if known.allow(&url)));
            fetched
        };
        let first = rules_of(0).await;
        assert_eq!(first.as_deref(), Some("https://p0.example/robots.txt"));
        assert_eq!(rules_of(0).await, None);
        for host in 1..=BYTES_MAX as usize / LONG + 1 {
            rules_of(host).await;
        }
        files.0.run_pending_tasks();
        assert!(files.0.weighted_size() <= BYTES_MAX);
        assert!(rules_of(0).await.is_some(), "the first was forgotten");
    }

    proptest::proptest! {
        #[test]
        fn any_file_gives_rules_that_answer(
            lines in proptest::collection::vec(
                ("(?i)user-agent|allow|disallow|crawl-delay|sitemap|.{0,6}", "[ :]{0,2}", "[a-z/*$?%\\x00-\\xff]{0,60}"),
                0..40,
            ),
            path in "[a-z/%]{0,60}",
        ) {
            let text: String = lines.iter().map(|(key, mark, value)| format!("{key}{mark}{value}\n")).collect();
            let RobotsRules::Known(known) = RobotsRules::parse(text.as_bytes(), "toise") else {
                return Ok(());
            };
            known.allow(&format!("https://portal.example/{path}").parse().unwrap());
            let rules = RobotsRules::Known(known);
            proptest::prop_assert!(rules.crawl_delay().is_none_or(|delay| delay <= CRAWL_DELAY_MAX));
        }
    }
}
