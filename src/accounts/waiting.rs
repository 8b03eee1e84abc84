//! Keeps rows of free calls in memory while the ledger cannot be written, for example because the disk is full.
//!
//! A free call is answered although its row is not written yet, because nothing is owed for it.
//! [`Ledger::write_waiting`] writes the rows later, each once. A process that is killed before that loses them. At most
//! [`ROWS_WAITING_MAX`] rows wait; further rows are dropped and counted.
//!
//! [`Ledger::write_waiting`]: crate::ledger::Ledger::write_waiting

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use chrono::{DateTime, Datelike, Utc};
use parking_lot::Mutex;
use uuid::Uuid;

use crate::entry::LedgerEntry;

/// Maximum rows that wait: about 10 MB.
pub const ROWS_WAITING_MAX: usize = 100_000;

/// A key and a month, as year and month.
type KeyMonth = (Uuid, i32, u32);

/// The rows that wait. Cheap to clone.
#[derive(Clone, Debug)]
pub struct WaitingRows {
    rows_max: usize,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    rows: VecDeque<LedgerEntry>,
    /// Number of rows that wait for each key and month.
    counts: HashMap<KeyMonth, u64>,
    left_out: u64,
    /// Whether a row was dropped since rows began to wait.
    is_overflowing: bool,
}

impl Default for WaitingRows {
    fn default() -> Self {
        Self::bounded(ROWS_WAITING_MAX)
    }
}

impl WaitingRows {
    /// Creates an empty queue for at most `rows_max` rows.
    pub(crate) fn bounded(rows_max: usize) -> Self {
        Self {
            rows_max,
            state: Arc::default(),
        }
    }

    /// Adds a row, or drops and counts it if the queue is full. Logs the first row that waits and the first that is
    /// dropped.
    pub(crate) fn add(&self, entry: LedgerEntry, reason: &dyn std::error::Error) {
        let mut state = self.state.lock();
        if state.rows.len() >= self.rows_max {
            state.left_out += 1;
            if !std::mem::replace(&mut state.is_overflowing, true) {
                let rows_max = self.rows_max;
                tracing::error!(
                    rows_max,
                    "too many rows of free calls are waiting; further rows are left out of the ledger"
                );
            }
            return;
        }
        if state.rows.is_empty() {
            tracing::warn!(error = %reason, "rows of free calls wait until the ledger can be written");
        }
        *state
            .counts
            .entry(key_month(entry.key_id, entry.at))
            .or_default() += 1;
        state.rows.push_back(entry);
    }

    /// Returns the oldest rows, at most `count_max`; they keep waiting until they are removed.
    pub(crate) fn oldest(&self, count_max: usize) -> Vec<LedgerEntry> {
        let state = self.state.lock();
        state.rows.iter().take(count_max).cloned().collect()
    }

    /// Removes the oldest `count` rows after they were written.
    pub(crate) fn remove_oldest(&self, count: usize) {
        let mut state = self.state.lock();
        let count = count.min(state.rows.len());
        let removed: Vec<LedgerEntry> = state.rows.drain(..count).collect();
        for entry in removed {
            let key = key_month(entry.key_id, entry.at);
            if let Some(waiting) = state.counts.get_mut(&key) {
                *waiting -= 1;
                if *waiting == 0 {
                    state.counts.remove(&key);
                }
            }
        }
        if state.rows.is_empty() {
            state.is_overflowing = false;
            state.rows = VecDeque::new();
            tracing::info!("the rows of free calls that waited are in the ledger");
        }
    }

    /// Returns the number of rows that wait.
    pub fn len(&self) -> usize {
        self.state.lock().rows.len()
    }

    /// Returns whether no row waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of rows dropped since the process started.
    pub fn left_out(&self) -> u64 {
        self.state.lock().left_out
    }

    /// Returns the number of waiting rows of a key in the month of `now`.
    pub fn calls_of_month(&self, key_id: Uuid, now: DateTime<Utc>) -> u64 {
        let state = self.state.lock();
        state
            .counts
            .get(&key_month(key_id, now))
            .copied()
            .unwrap_or(0)
    }
}

fn key_month(key_id: Uuid, at: DateTime<Utc>) -> KeyMonth {
    (key_id, at.year(), at.month())
}
