//! The contents of one transaction of the dispatcher, prepared before it starts.

use std::sync::Arc;

use rusqlite::Transaction;

use super::leftovers;
use super::look::Plan;
use super::record::{Settlement, Turn, Written};
use super::state::Key;
use crate::retention::{self, Due, Retention, Swept};
use toise_accounts::prices::Prices;
use toise_base::clock::Clock;

/// What one transaction writes.
pub(super) struct Work {
    pub plan: Plan,
    pub settlements: Vec<Settlement>,
    /// What has to be deleted from the outbox, part of it in this transaction.
    pub due: Due,
    pub retention: Retention,
    /// Whether the store contains orphans.
    pub untidy: bool,
    pub clock: Clock,
    pub prices: Arc<Prices>,
}

/// What one transaction deleted.
#[derive(Default)]
pub(super) struct Tidied {
    pub swept: Swept,
    /// Endpoints whose recorded failures were deleted.
    pub forgotten: Vec<Key>,
}

impl Work {
    /// Writes everything.
    pub fn write(&self, transaction: &Transaction<'_>) -> rusqlite::Result<(Written, Tidied)> {
        let mut turn = Turn::new(transaction, &self.clock, &self.prices);
        for settlement in &self.settlements {
            turn.settle(settlement)?;
        }
        for parcel in &self.plan.parcels {
            turn.begin(parcel)?;
        }
        for buried in &self.plan.buried {
            turn.bury(buried)?;
        }
        for (delivery, reason) in &self.plan.lapsed {
            turn.lapse(*delivery, reason)?;
        }
        for (delivery, until_ms) in &self.plan.put_off {
            turn.put_off(*delivery, *until_ms)?;
        }
        let mut tidied = Tidied::default();
        if !self.due.is_empty() {
            let now_ms = self.clock.now().timestamp_millis();
            tidied.swept = retention::sweep(transaction, self.retention, self.due.clone(), now_ms)?;
        }
        if self.untidy {
            tidied.forgotten = leftovers::delete(transaction)?;
        }
        Ok((turn.written(), tidied))
    }
}
