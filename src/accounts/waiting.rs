//! Rows of free calls that are not in the ledger yet.
//!
//! A free call is answered before its row is in the ledger, because nothing is owed for it. [`Ledger::write_waiting`]
//! writes the rows later, each once. Until then, a server also keeps them in a journal (`journal.rs`), which
//! survives the end of the process unless the disk is full. At most [`ROWS_WAITING_MAX`] rows wait; further rows are
//! dropped and counted.
//!
//! [`Ledger::write_waiting`]: crate::ledger::Ledger::write_waiting

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use chrono::{DateTime, Datelike, Utc};
use parking_lot::{Mutex, MutexGuard};
use uuid::Uuid;

use crate::entry::LedgerEntry;
use crate::journal::Journal;

/// Maximum rows that wait: about 10 MB.
pub const ROWS_WAITING_MAX: usize = 100_000;

/// A key and a month, as year and month.
type KeyMonth = (Uuid, i32, u32);

/// The rows that wait. Cheap to clone.
#[derive(Clone, Debug)]
pub struct WaitingRows(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    rows_max: usize,
    state: Mutex<State>,
    /// Held while rows are written, so that each is written once.
    writing: Mutex<()>,
}

#[derive(Debug, Default)]
struct State {
    rows: VecDeque<LedgerEntry>,
    /// Number of rows that wait for each key and month.
    counts: HashMap<KeyMonth, u64>,
    left_out: u64,
    /// Whether a row was dropped since rows began to wait.
    is_overflowing: bool,
    /// Whether the last attempt to write to the ledger failed.
    is_failing: bool,
    /// `None` if rows are written to the ledger immediately.
    journal: Option<Journal>,
}

impl Default for WaitingRows {
    fn default() -> Self {
        Self::bounded(ROWS_WAITING_MAX)
    }
}

impl WaitingRows {
    /// Creates an empty queue for at most `rows_max` rows.
    pub(crate) fn bounded(rows_max: usize) -> Self {
        Self(Arc::new(Shared {
            rows_max,
            state: Mutex::default(),
            writing: Mutex::default(),
        }))
    }

    /// Keeps further rows in a journal until they are written.
    pub(crate) fn keep_in(&self, journal: Journal) {
        self.0.state.lock().journal = Some(journal);
    }

    /// Returns the journal, from which no row is missing; `None` if there is none, or if rows still wait.
    pub(crate) fn take_journal(&self) -> Option<Journal> {
        let mut state = self.0.state.lock();
        let is_needed = !state.rows.is_empty();
        state.journal.take_if(|_| !is_needed)
    }

    /// Returns whether a row should wait rather than be written immediately: there is a journal, and the queue is less
    /// than half full or cannot be written anyway.
    pub(crate) fn takes_rows(&self) -> bool {
        let state = self.0.state.lock();
        state.journal.is_some() && (state.is_failing || state.rows.len() < self.0.rows_max / 2)
    }

    /// Adds a row, or drops and counts it if the queue is full. Logs the first that is dropped.
    pub(crate) fn add(&self, entry: LedgerEntry) {
        let rows_max = self.0.rows_max;
        let mut state = self.0.state.lock();
        if state.rows.len() >= rows_max {
            state.left_out += 1;
            if !std::mem::replace(&mut state.is_overflowing, true) {
                tracing::error!(
                    rows_max,
                    "too many rows of free calls are waiting; further rows are left out of the ledger"
                );
            }
            return;
        }
        if let Some(journal) = &mut state.journal {
            // On a full disk the row waits in memory only.
            let _ = journal.append(&entry);
        }
        *state
            .counts
            .entry(key_month(entry.key_id, entry.at))
            .or_default() += 1;
        state.rows.push_back(entry);
    }

    /// Notes that the ledger cannot be written; logs it once.
    pub(crate) fn note_failure(&self, reason: &dyn std::error::Error) {
        if !std::mem::replace(&mut self.0.state.lock().is_failing, true) {
            tracing::warn!(error = %reason, "rows of free calls wait until the ledger can be written");
        }
    }

    /// Begins to write the rows that wait now, and returns their number. No other thread writes rows while the guard
    /// lives.
    pub(crate) fn begin_writing(&self) -> (MutexGuard<'_, ()>, usize) {
        let writing = self.0.writing.lock();
        let mut state = self.0.state.lock();
        if let Some(journal) = &mut state.journal {
            journal.rotate();
        }
        let count = state.rows.len();
        drop(state);
        (writing, count)
    }

    /// Returns the oldest rows, at most `count_max`; they keep waiting until they are removed.
    pub(crate) fn oldest(&self, count_max: usize) -> Vec<LedgerEntry> {
        let state = self.0.state.lock();
        state.rows.iter().take(count_max).cloned().collect()
    }

    /// Removes the oldest `count` rows after they were written.
    pub(crate) fn remove_oldest(&self, count: usize) {
        let mut state = self.0.state.lock();
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
        state.is_overflowing = false;
        if std::mem::take(&mut state.is_failing) {
            tracing::info!("rows of free calls are written to the ledger again");
        }
    }

    /// Notes that all rows are in the ledger that waited when writing began.
    pub(crate) fn end_writing(&self) {
        if let Some(journal) = &mut self.0.state.lock().journal {
            // If the file cannot be emptied, its rows are found in the ledger and not written again.
            let _ = journal.empty_previous();
        }
    }

    /// Returns the number of rows that wait.
    pub fn len(&self) -> usize {
        self.0.state.lock().rows.len()
    }

    /// Returns whether no row waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of rows that wait because the ledger cannot be written.
    pub fn unwritable(&self) -> usize {
        let state = self.0.state.lock();
        if state.is_failing {
            state.rows.len()
        } else {
            0
        }
    }

    /// Returns the number of rows dropped since the process started.
    pub fn left_out(&self) -> u64 {
        self.0.state.lock().left_out
    }

    /// Returns the number of waiting rows of a key in the month of `now`.
    pub fn calls_of_month(&self, key_id: Uuid, now: DateTime<Utc>) -> u64 {
        let state = self.0.state.lock();
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
