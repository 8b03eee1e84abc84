//! What searches ask: the rows and the words of one moment, and the moments of which pages were given lately.
//!
//! A page that goes on another is cut from the same state, so rows that change in between are neither skipped nor given
//! twice, and texts fit as well as they did. States share nearly all they hold: of two million properties one takes half
//! a megabyte more than the one before (a bit for each row and word document), beside copies of the rows that changed.
//! Those least lately asked for go first.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::view::ProjectionView;
use crate::search::texts;
use toise_base::clock::Clock;

/// How long a state is kept after a page of it was given.
const SNAPSHOT_TTL: Duration = Duration::from_secs(5 * 60);
/// States kept at most. While adverts come in there are four new ones a second, so whoever asks for one page after the
/// other within half a minute is sure to go on with the same.
const SNAPSHOTS_MAX: usize = 128;

/// Rows and words of one moment.
pub struct SearchSnapshot {
    /// Names it; other processes and other runs give other numbers.
    pub(super) number: u64,
    /// The rows.
    pub view: Arc<ProjectionView>,
    /// The words; `None` while they cannot be kept up with the store.
    pub words: Option<texts::TextSnapshot>,
}

impl SearchSnapshot {
    /// Its number, for cursors.
    pub fn number(&self) -> u64 {
        self.number
    }
}

/// States of which pages were given lately. Shared by all questions.
pub(super) struct SnapshotCache {
    clock: Clock,
    /// With the time each was last asked for, in that order.
    states: Mutex<Vec<(Duration, Arc<SearchSnapshot>)>>,
}

impl SnapshotCache {
    /// None yet.
    pub fn new(clock: Clock) -> Self {
        Self {
            clock,
            states: Mutex::default(),
        }
    }

    /// Keeps a state of which a page was given.
    pub fn keep(&self, state: &Arc<SearchSnapshot>) {
        let mut states = self.states.lock();
        states.retain(|(_, kept)| kept.number != state.number);
        states.push((self.clock.monotonic(), Arc::clone(state)));
        if states.len() > SNAPSHOTS_MAX {
            states.remove(0);
        }
    }

    /// The state of a number, if it is still kept.
    pub fn find(&self, number: u64) -> Option<Arc<SearchSnapshot>> {
        let states = self.states.lock();
        let mut states = states.iter();
        let found = states.find(|(_, kept)| kept.number == number);
        found.map(|(_, state)| Arc::clone(state))
    }

    /// Lets go of what nobody asked for lately.
    pub fn evict_idle(&self) {
        let now = self.clock.monotonic();
        self.states
            .lock()
            .retain(|(asked_at, _)| now.saturating_sub(*asked_at) <= SNAPSHOT_TTL);
    }
}
