//! The contents of one transaction of the dispatcher, prepared before it starts.

use std::sync::Arc;

use rusqlite::Transaction;

use super::orphans;
use super::plan::DispatchPlan;
use super::recorder::{DispatchRecorder, DispatchWrites, SettledAttempt};
use super::state::SharedReceiverKey;
use crate::retention::{self, PendingEvictions, Retention, SweepOutcome};
use toise_accounts::prices::Prices;
use toise_base::clock::Clock;

/// The writes of one transaction.
pub(super) struct DispatchTransaction {
    pub plan: DispatchPlan,
    pub settlements: Vec<SettledAttempt>,
    /// The outbox entries that have to be deleted; this transaction deletes some of them.
    pub due: PendingEvictions,
    pub retention: Retention,
    /// Whether the store contains orphans.
    pub has_orphans: bool,
    pub clock: Clock,
    pub prices: Arc<Prices>,
}

/// The deletions of one transaction.
#[derive(Default)]
pub(super) struct CleanupOutcome {
    pub swept: SweepOutcome,
    /// Endpoints whose recorded failures were deleted.
    pub forgotten: Vec<SharedReceiverKey>,
}

impl DispatchTransaction {
    /// Writes everything.
    pub fn write(
        &self,
        transaction: &Transaction<'_>,
    ) -> rusqlite::Result<(DispatchWrites, CleanupOutcome)> {
        let mut turn = DispatchRecorder::new(transaction, &self.clock, &self.prices);
        for settlement in &self.settlements {
            turn.settle(settlement)?;
        }
        for batch in &self.plan.batches {
            turn.begin(batch)?;
        }
        for dead_letters in &self.plan.dead_letters {
            turn.write_dead_letter(dead_letters)?;
        }
        for (delivery, reason) in &self.plan.unsendable {
            turn.fail_unsendable(*delivery, reason)?;
        }
        for (delivery, until_ms) in &self.plan.postponed {
            turn.postpone(*delivery, *until_ms)?;
        }
        let mut cleanup = CleanupOutcome::default();
        let now_ms = self.clock.now().timestamp_millis();
        if !self.due.is_empty() {
            cleanup.swept =
                retention::sweep(transaction, self.retention, self.due.clone(), now_ms)?;
        }
        if self.has_orphans {
            cleanup.forgotten = orphans::delete(transaction, now_ms)?;
        }
        Ok((turn.written(), cleanup))
    }
}
