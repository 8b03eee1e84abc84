//! Percolation: what is new or changed is tested against every active alert, in the transaction that writes it.
//!
//! A [`Percolator`] keeps the active alerts compiled, as searches are, in one [`index::Index`] a table. It follows the
//! number of the alerts' last change: [`Percolator::catch_up`] loads what changed before a transaction,
//! [`Percolator::begin`] looks again inside it, so an alert counts from its commit on, whichever process made it.
//! Listings then hand over what they wrote ([`Turn::properties`], [`Turn::adverts`]), in order; first matches and what
//! follows them go to `matches` and the [`super::outbox`] in the same transaction.

mod clauses;
pub mod index;
mod keys;
mod load;
mod turn;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;

use super::alert::last_change;
use index::Index;
use toise_lake::schema::TableSchema;
pub use turn::{AdvertWritten, Occasion, PropertyWritten, Turn};

/// The active alerts of a store, compiled. One per process and store is enough; every call blocks its thread.
#[derive(Debug)]
pub struct Percolator {
    state: Mutex<State>,
    seen: Seen,
}

/// How many alerts are active.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Active {
    /// On properties, compiled.
    pub on_properties: usize,
    /// On adverts, compiled.
    pub on_adverts: usize,
    /// Of either, not readable by this version: they match nothing until they are changed.
    pub unreadable: usize,
}

/// What is told of the state without waiting for whoever percolates.
#[derive(Debug, Default)]
struct Seen {
    change: AtomicI64,
    on_properties: AtomicUsize,
    on_adverts: AtomicUsize,
    unreadable: AtomicUsize,
}

/// The active alerts as of a change.
#[derive(Debug)]
struct State {
    /// Number of the last change taken in; 0 for none.
    change: i64,
    properties: Index,
    adverts: Index,
    /// Active alerts that this version cannot read: they match nothing until they are changed.
    unreadable: BTreeSet<i64>,
}

impl State {
    fn new(properties: &'static TableSchema, adverts: &'static TableSchema) -> Self {
        Self {
            change: 0,
            properties: Index::new(properties),
            adverts: Index::new(adverts),
            unreadable: BTreeSet::new(),
        }
    }

    /// The same tables, and nothing known of alerts.
    fn forget(&mut self) {
        *self = Self::new(self.properties.schema(), self.adverts.schema());
    }
}

impl Percolator {
    /// Knows no alert yet; they are loaded when first asked for.
    pub fn new(properties: &'static TableSchema, adverts: &'static TableSchema) -> Self {
        Self {
            state: Mutex::new(State::new(properties, adverts)),
            seen: Seen::default(),
        }
    }

    /// Takes in the alerts that changed. One indexed look-up when none did; 100,000 alerts take seconds, so this
    /// is called before a transaction rather than inside it.
    pub fn catch_up(&self, connection: &Connection) -> rusqlite::Result<()> {
        if last_change(connection)? <= self.seen.change.load(Ordering::Acquire) {
            return Ok(());
        }
        let mut state = self.state();
        let outcome = load::catch_up(&mut state, connection);
        self.tell(&state);
        outcome
    }

    /// The alerts as they are inside a transaction; `None` when none is active. Nobody else percolates until the turn
    /// is dropped.
    pub fn begin(&self, connection: &Connection) -> rusqlite::Result<Option<Turn<'_>>> {
        let mut state = self.state();
        if last_change(connection)? < state.change {
            // The store was put back to what it was. Outside a transaction it may only seem so.
            state.forget();
        }
        let outcome = load::catch_up(&mut state, connection);
        self.tell(&state);
        outcome?;
        let is_idle = state.properties.is_empty() && state.adverts.is_empty();
        Ok((!is_idle).then(|| Turn::new(state)))
    }

    /// Forgets every alert, to load them again: for whoever saw a transaction fail after [`Self::begin`], for what was
    /// seen in it may never have been.
    pub fn forget(&self) {
        let mut state = self.state();
        state.forget();
        self.tell(&state);
    }

    /// Active alerts, as of the last call that took changes in.
    pub fn active(&self) -> Active {
        let count = |counter: &AtomicUsize| counter.load(Ordering::Relaxed);
        Active {
            on_properties: count(&self.seen.on_properties),
            on_adverts: count(&self.seen.on_adverts),
            unreadable: count(&self.seen.unreadable),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A lock of the standard library, because this is the one place that acts on a panic of whoever held it.
        self.state
            .lock()
            .unwrap_or_else(|poisoned: PoisonError<_>| {
                // Whoever panicked may have left half a change: all of it is loaded again.
                let mut state = poisoned.into_inner();
                state.forget();
                self.state.clear_poison();
                state
            })
    }

    fn tell(&self, state: &State) {
        let seen = &self.seen;
        seen.change.store(state.change, Ordering::Release);
        seen.on_properties
            .store(state.properties.len(), Ordering::Relaxed);
        seen.on_adverts
            .store(state.adverts.len(), Ordering::Relaxed);
        seen.unreadable
            .store(state.unreadable.len(), Ordering::Relaxed);
    }
}
