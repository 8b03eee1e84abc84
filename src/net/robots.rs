//! What portals' `robots.txt` let be fetched, kept for a day (RFC 9309).
//!
//! No file, or one that is refused, allows everything; one that cannot be had just now forbids everything until it can.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use reqwest::Url;
use robotxt::Robots;

/// How long a file is kept.
const KEPT_FOR: Duration = Duration::from_secs(24 * 3600);
/// How long a file that cannot be had is not asked for again.
const FAILED_FOR: Duration = Duration::from_secs(60);
/// Files kept at once; past it all are forgotten.
const FILES_MAX: usize = 10_000;
/// Longest delay between requests that is honoured.
const CRAWL_DELAY_MAX: Duration = Duration::from_secs(60);

/// What a file says.
#[derive(Clone, Debug)]
pub(super) enum Rules {
    /// These rules.
    Known(Arc<Robots>),
    /// It cannot be had; why.
    Unreachable(String),
}

impl Rules {
    /// Those of a file.
    pub(super) fn parse(text: &[u8], agent: &str) -> Self {
        Rules::Known(Arc::new(Robots::parse(text, agent)))
    }

    /// Those of no file.
    pub(super) fn none() -> Self {
        Rules::Known(Arc::new(Robots::allow_all()))
    }

    /// Seconds between requests that the file asks for, within reason.
    pub(super) fn crawl_delay(&self) -> Option<Duration> {
        match self {
            Rules::Known(robots) => robots.crawl_delay().map(|delay| delay.min(CRAWL_DELAY_MAX)),
            Rules::Unreachable(_) => None,
        }
    }
}

/// A file and until when it counts; held while it is fetched, so that it is fetched once.
type Slot = Arc<tokio::sync::Mutex<Option<(Rules, Instant)>>>;

/// The files of all portals.
#[derive(Clone, Debug, Default)]
pub(super) struct Files(Arc<Mutex<HashMap<String, Slot>>>);

impl Files {
    /// The rules of an address's host, fetched when they are not known.
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
        rules
    }

    fn slot(&self, url: &Url) -> Slot {
        // A map whose holder panicked is still a map of files.
        let mut slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if slots.len() >= FILES_MAX {
            slots.clear();
        }
        Arc::clone(slots.entry(url.origin().ascii_serialization()).or_default())
    }
}
