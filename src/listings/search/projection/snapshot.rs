//! Search snapshots: rows and text index from the same moment, and a cache of the ones that cursors refer to.
//!
//! A follow-up page is cut from the same snapshot as the page before it, so rows that change in between are neither
//! skipped nor returned twice, and text scores stay the same. Snapshots share nearly all they hold: with two million
//! properties, each takes half a megabyte more than its predecessor (one bit for each row and each document of the text
//! index), in addition to copies of the changed rows. The least recently used are evicted first.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::view::ProjectionView;
use crate::search::texts;
use toise_base::clock::Clock;

/// How long a snapshot is cached after a page of it was returned.
const SNAPSHOT_TTL: Duration = Duration::from_secs(5 * 60);
/// Maximum cached snapshots. Ingestion creates four a second, so a client that requests the next page within half a
/// minute is sure to get the same snapshot.
const SNAPSHOTS_MAX: usize = 128;

/// Rows and text index from the same moment.
pub struct SearchSnapshot {
    /// Identifies the snapshot; other processes and other runs use different numbers.
    pub(super) number: u64,
    /// The rows.
    pub view: Arc<ProjectionView>,
    /// The text index; `None` while it cannot be kept up to date with the store.
    pub words: Option<texts::TextSnapshot>,
}

impl SearchSnapshot {
    /// Returns the number of the snapshot, for cursors.
    pub fn number(&self) -> u64 {
        self.number
    }
}

/// Snapshots of recently returned pages. Shared by all queries.
pub(super) struct SnapshotCache {
    clock: Clock,
    /// With the time of last use, in that order.
    states: Mutex<Vec<(Duration, Arc<SearchSnapshot>)>>,
}

impl SnapshotCache {
    /// Creates an empty cache.
    pub fn new(clock: Clock) -> Self {
        Self {
            clock,
            states: Mutex::default(),
        }
    }

    /// Caches a snapshot of which a page was returned.
    pub fn keep(&self, state: &Arc<SearchSnapshot>) {
        let mut states = self.states.lock();
        states.retain(|(_, cached)| cached.number != state.number);
        states.push((self.clock.monotonic(), Arc::clone(state)));
        if states.len() > SNAPSHOTS_MAX {
            states.remove(0);
        }
    }

    /// Returns the snapshot with a number, if it is still cached.
    pub fn find(&self, number: u64) -> Option<Arc<SearchSnapshot>> {
        let states = self.states.lock();
        let mut states = states.iter();
        let found = states.find(|(_, cached)| cached.number == number);
        found.map(|(_, state)| Arc::clone(state))
    }

    /// Evicts the snapshots that were not used recently.
    pub fn evict_idle(&self) {
        let now = self.clock.monotonic();
        self.states
            .lock()
            .retain(|(used_at, _)| now.saturating_sub(*used_at) <= SNAPSHOT_TTL);
    }
}
