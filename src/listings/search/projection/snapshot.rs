//! Search snapshots: rows and text index as of the same sequence, and a cache of the snapshots that cursors refer to.
//!
//! A follow-up page is cut from the same snapshot as the page before it, so rows that change in between are neither
//! skipped nor returned twice, and text scores stay the same. Snapshots share nearly all of their data. With two
//! million properties, each snapshot adds half a megabyte (one bit for each row and each document of the text index)
//! and copies of the changed rows. The least recently used snapshots are evicted first.

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

/// Bit of a cursor's state that marks a page sorted by relevance.
const BY_RELEVANCE: u64 = 1 << 63;

/// Rows and text index as of the same sequence.
pub struct SearchSnapshot {
    /// Identifies the snapshot in this run of the process; other runs use different numbers.
    pub(super) number: u64,
    /// The rows.
    pub view: Arc<ProjectionView>,
    /// The text index; `None` while it cannot be kept up to date with the store.
    pub words: Option<texts::TextSnapshot>,
}

impl SearchSnapshot {
    /// The part of a cursor that identifies the snapshot of its page. Rows in the order of a column are the same in
    /// every snapshot that holds the same changes, in another process and after a restart too. Scores also depend on
    /// the segments of the text index, so pages sorted by relevance need exactly this snapshot.
    pub(crate) fn cursor_state(&self, is_by_relevance: bool) -> u64 {
        if is_by_relevance {
            self.number | BY_RELEVANCE
        } else {
            self.view.through().unsigned_abs() & !BY_RELEVANCE
        }
    }

    /// Whether the next page can be cut from this snapshot, given what [`Self::cursor_state`] returned for the previous
    /// page.
    fn continues(&self, state: u64) -> bool {
        self.cursor_state(state & BY_RELEVANCE != 0) == state
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

    /// Caches a snapshot from which a page was returned.
    pub fn keep(&self, state: &Arc<SearchSnapshot>) {
        let mut states = self.states.lock();
        states.retain(|(_, cached)| cached.number != state.number);
        states.push((self.clock.monotonic(), Arc::clone(state)));
        if states.len() > SNAPSHOTS_MAX {
            states.remove(0);
        }
    }

    /// A snapshot from which the next page can be cut: the current one, or one that is still cached.
    pub fn find(&self, state: u64, current: Arc<SearchSnapshot>) -> Option<Arc<SearchSnapshot>> {
        if current.continues(state) {
            return Some(current);
        }
        let states = self.states.lock();
        let found = states.iter().find(|(_, cached)| cached.continues(state));
        found.map(|(_, cached)| Arc::clone(cached))
    }

    /// Evicts the snapshots that were not used recently.
    pub fn evict_idle(&self) {
        let now = self.clock.monotonic();
        self.states
            .lock()
            .retain(|(used_at, _)| now.saturating_sub(*used_at) <= SNAPSHOT_TTL);
    }
}
