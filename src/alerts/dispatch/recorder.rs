//! Writes one turn of the dispatcher in one transaction: outcomes of attempts, new deliveries, charges.

use rusqlite::Transaction;
use uuid::Uuid;

use super::LEASE;
use super::plan::{DeadLetter, DeliveryBatch, INACTIVE};
use super::state::SharedReceiverKey;
use super::verdict::{AttemptVerdict, JudgedAttempt};
use crate::alert::{AlertSubject, DeactivationReason};
use crate::payload::{ItemCounts, OutboxItem};
use crate::registry;
use crate::subject::DeliverySubject;
use toise_accounts::ledger::{self, LedgerEntry, NO_KEY};
use toise_accounts::prices::{Consumption, Prices};
use toise_base::clock::Clock;
use toise_contract::listings::filters::ListingKind;
use toise_opendata::Dataset;

/// Time for which all attempts at an endpoint may fail, however few they are, before its alerts are deactivated: 5
/// days, in milliseconds.
const FAILING_MS_MAX: i64 = 5 * 24 * 3_600_000;

/// A delivery that was sent.
#[derive(Clone, Debug)]
pub(super) struct SentBatch {
    /// Row number in the store.
    pub delivery: i64,
    pub delivery_id: Uuid,
    pub alert: i64,
    pub subject: DeliverySubject,
    pub receiver: SharedReceiverKey,
    pub counts: ItemCounts,
    /// Number of attempts, including this one.
    pub attempts: u32,
}

/// A delivery whose attempt ended.
#[derive(Clone, Debug)]
pub(super) struct SettledAttempt {
    pub batch: SentBatch,
    pub result: JudgedAttempt,
    /// Whether the endpoint is recorded as failing in the store.
    pub was_failing: bool,
}

/// A charge for a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Charge {
    pub consumption: Consumption,
    pub credits: u64,
}

/// Result of writing a turn.
#[derive(Debug, Default)]
pub(super) struct DispatchWrites {
    /// Row numbers of the new deliveries, in the order of their batches.
    pub deliveries: Vec<i64>,
    pub charges: Vec<Charge>,
    /// Endpoints that failed for so long that their alerts were deactivated, with the number of alerts.
    pub ended: Vec<(SharedReceiverKey, usize)>,
}

/// Writer of one turn.
pub(super) struct DispatchRecorder<'t> {
    transaction: &'t Transaction<'t>,
    clock: &'t Clock,
    prices: &'t Prices,
    now_ms: i64,
    written: DispatchWrites,
}

impl<'t> DispatchRecorder<'t> {
    pub(super) fn new(
        transaction: &'t Transaction<'t>,
        clock: &'t Clock,
        prices: &'t Prices,
    ) -> Self {
        Self {
            transaction,
            clock,
            prices,
            now_ms: clock.now().timestamp_millis(),
            written: DispatchWrites::default(),
        }
    }

    /// Returns the results of the turn.
    pub(super) fn written(self) -> DispatchWrites {
        self.written
    }

    /// Writes the outcome of an attempt. A delivery that was settled in another way in the meantime is left unchanged.
    pub(super) fn settle(&mut self, settlement: &SettledAttempt) -> rusqlite::Result<()> {
        let SettledAttempt { batch, result, .. } = settlement;
        let (status, next) = match result.verdict {
            AttemptVerdict::Delivered => ("delivered", None),
            AttemptVerdict::Retry(at_ms) => ("failed", Some(at_ms)),
            // The alert's new receiver has not been tried yet.
            AttemptVerdict::Dead | AttemptVerdict::Gone if self.has_moved(batch)? => {
                ("failed", Some(self.now_ms))
            }
            AttemptVerdict::Dead | AttemptVerdict::Gone => ("dead", None),
        };
        let delivered_at = (result.verdict == AttemptVerdict::Delivered).then_some(self.now_ms);
        let changed = self
            .transaction
            .prepare_cached(
                "UPDATE deliveries SET status = ?2, attempts = ?3, next_attempt_at_ms = ?4, leased_until_ms = NULL,
                     delivered_at_ms = ?5, last_status = ?6, last_error = ?7, waits_since_ms = ?8
                 WHERE delivery = ?1 AND next_attempt_at_ms IS NOT NULL",
            )?
            .execute((
                batch.delivery,
                status,
                batch.attempts,
                next,
                delivered_at,
                result.status,
                &result.error,
                self.now_ms,
            ))?;
        match result.verdict {
            AttemptVerdict::Delivered => {
                if changed == 1 {
                    self.charge(batch)?;
                }
                if settlement.was_failing {
                    self.recovered(&batch.receiver)?;
                }
            }
            AttemptVerdict::Retry(_) | AttemptVerdict::Dead => {
                self.note_failure(&batch.receiver)?
            }
            AttemptVerdict::Gone => {
                self.deactivate(batch.alert, &batch.receiver.url, DeactivationReason::Gone)?
            }
        }
        Ok(())
    }

    /// Returns whether an alert is active and its URL has changed since the delivery was sent.
    fn has_moved(&self, batch: &SentBatch) -> rusqlite::Result<bool> {
        self.transaction
            .prepare_cached(
                "SELECT EXISTS (SELECT 1 FROM alerts WHERE alert = ?1 AND activated = 1 AND webhook_url <> ?2)",
            )?
            .query_row((batch.alert, &batch.receiver.url), |row| row.get(0))
    }

    /// Adds one row to the ledger for each kind of match delivered.
    fn charge(&mut self, batch: &SentBatch) -> rusqlite::Result<()> {
        let ItemCounts { created, updated } = batch.counts;
        let all = created + updated;
        let parts = match batch.subject {
            DeliverySubject::Portfolio => vec![(Consumption::WebhookPortfolios, all)],
            DeliverySubject::Alert(subject) => match subject {
                AlertSubject::Listings(ListingKind::Advert) => {
                    vec![(Consumption::WebhookAlertAdverts, all)]
                }
                AlertSubject::OpenData(Dataset::Dvf) => vec![(Consumption::WebhookAlertDvf, all)],
                AlertSubject::OpenData(Dataset::Dpe) => vec![(Consumption::WebhookAlertDpe, all)],
                AlertSubject::Listings(ListingKind::Property) => vec![
                    (Consumption::WebhookAlertPropertiesMatchCreated, created),
                    (Consumption::WebhookAlertPropertiesMatchMerged, updated),
                ],
            },
        };
        for (consumption, items) in parts.into_iter().filter(|(_, items)| *items > 0) {
            let credits = items * u64::from(self.prices.of(consumption));
            let entry = LedgerEntry {
                request_id: charge_id(batch.delivery_id, consumption),
                account_id: batch.receiver.account_id,
                key_id: NO_KEY,
                consumption,
                credits,
                at: self.clock.now(),
            };
            ledger::insert_entry(self.transaction, &entry)?;
            self.written.charges.push(Charge {
                consumption,
                credits,
            });
        }
        Ok(())
    }

    fn recovered(&self, receiver: &SharedReceiverKey) -> rusqlite::Result<()> {
        self.transaction
            .prepare_cached(
                "DELETE FROM failing_endpoints WHERE account_id = ?1 AND webhook_url = ?2",
            )?
            .execute((receiver.account_id.to_string(), &receiver.url))?;
        Ok(())
    }

    /// Records a failure of an endpoint, and deactivates its alerts if all attempts have failed for days.
    fn note_failure(&mut self, receiver: &SharedReceiverKey) -> rusqlite::Result<()> {
        let account_id = receiver.account_id.to_string();
        let since_ms: i64 = self
            .transaction
            .prepare_cached(
                "INSERT INTO failing_endpoints VALUES (?1, ?2, ?3, ?3)
                 ON CONFLICT (account_id, webhook_url) DO UPDATE SET last_ms = excluded.last_ms
                 RETURNING since_ms",
            )?
            .query_row((&account_id, &receiver.url, self.now_ms), |row| row.get(0))?;
        if self.now_ms - since_ms < FAILING_MS_MAX {
            return Ok(());
        }
        let alerts: Vec<i64> = self
            .transaction
            .prepare_cached("SELECT alert FROM alerts WHERE account_id = ?1 AND webhook_url = ?2 AND activated = 1")?
            .query_map((&account_id, &receiver.url), |row| row.get(0))?
            .collect::<rusqlite::Result<_>>()?;
        for alert in &alerts {
            self.deactivate(*alert, &receiver.url, DeactivationReason::Failing)?;
        }
        let ended = alerts.len();
        if ended > 0 {
            self.written
                .ended
                .push((SharedReceiverKey::clone(receiver), ended));
        }
        self.recovered(receiver)
    }

    /// Deactivates an alert, unless it is already inactive or its URL has changed.
    fn deactivate(
        &self,
        alert: i64,
        url: &str,
        reason: DeactivationReason,
    ) -> rusqlite::Result<()> {
        registry::deactivate(self.transaction, alert, Some(url), reason, self.now_ms)
    }

    /// Stores a new delivery with its first lease, or leases one that is retried.
    pub(super) fn begin(&mut self, batch: &DeliveryBatch) -> rusqlite::Result<()> {
        let until_ms = self.now_ms + LEASE.as_millis() as i64;
        if let Some(delivery) = batch.delivery {
            self.transaction
                .prepare_cached("UPDATE deliveries SET leased_until_ms = ?2 WHERE delivery = ?1")?
                .execute((delivery, until_ms))?;
            return Ok(());
        }
        let delivery = self.insert(batch.delivery_id, batch.alert, &batch.items, Some(until_ms))?;
        self.written.deliveries.push(delivery);
        Ok(())
    }

    /// Stores the notifications of an inactive alert as a dead letter.
    pub(super) fn write_dead_letter(&mut self, dead_letters: &DeadLetter) -> rusqlite::Result<()> {
        let delivery = self.insert(
            Uuid::now_v7(),
            dead_letters.alert,
            &dead_letters.items,
            None,
        )?;
        self.fail_unsendable(delivery, INACTIVE)
    }

    /// Marks a delivery that cannot be sent as dead.
    pub(super) fn fail_unsendable(&self, delivery: i64, reason: &str) -> rusqlite::Result<()> {
        self.transaction
            .prepare_cached(
                "UPDATE deliveries SET status = 'dead', next_attempt_at_ms = NULL, leased_until_ms = NULL,
                     last_error = ?2 WHERE delivery = ?1",
            )?
            .execute((delivery, reason))?;
        Ok(())
    }

    /// Delays a delivery until its endpoint may have capacity.
    pub(super) fn postpone(&self, delivery: i64, until_ms: i64) -> rusqlite::Result<()> {
        self.transaction
            .prepare_cached(
                "UPDATE deliveries SET next_attempt_at_ms = ?2, waits_since_ms = ?3 WHERE delivery = ?1",
            )?
            .execute((delivery, until_ms, self.now_ms))?;
        Ok(())
    }

    fn insert(
        &self,
        delivery_id: Uuid,
        alert: i64,
        items: &[OutboxItem],
        leased_until_ms: Option<i64>,
    ) -> rusqlite::Result<i64> {
        self.transaction
            .prepare_cached(
                "INSERT INTO deliveries (delivery_id, alert, status, attempts, items, created_at_ms,
                     next_attempt_at_ms, leased_until_ms)
                 VALUES (?1, ?2, 'pending', 0, ?3, ?4, ?4, ?5)",
            )?
            .execute((
                delivery_id.as_bytes(),
                alert,
                items.len() as i64,
                self.now_ms,
                leased_until_ms,
            ))?;
        let delivery = self.transaction.last_insert_rowid();
        let mut group = self
            .transaction
            .prepare_cached("UPDATE outbox SET delivery = ?2 WHERE notification = ?1")?;
        for item in items {
            group.execute((item.notification, delivery))?;
        }
        Ok(delivery)
    }
}

/// Identifier of a charge in the ledger: derived from the delivery's identifier and the kind of match, so that no
/// charge is written twice.
fn charge_id(delivery_id: Uuid, consumption: Consumption) -> Uuid {
    if consumption != Consumption::WebhookAlertPropertiesMatchMerged {
        return delivery_id;
    }
    let mut hasher = blake3::Hasher::new();
    hasher.update(delivery_id.as_bytes());
    hasher.update(consumption.as_str().as_bytes());
    let mut bytes = [0; 16];
    hasher.finalize_xof().fill(&mut bytes);
    uuid::Builder::from_custom_bytes(bytes).into_uuid()
}

/// Releases the leases of a process that has ended. Its deliveries in flight are then due immediately, with the same
/// identifiers.
pub(super) fn release_leases(transaction: &Transaction<'_>) -> rusqlite::Result<usize> {
    transaction.execute(
        "UPDATE deliveries SET leased_until_ms = NULL
         WHERE next_attempt_at_ms IS NOT NULL AND leased_until_ms IS NOT NULL",
        [],
    )
}

/// Shifts the times that open deliveries wait for, and the times since which receivers have failed, after the clock was
/// set forward by `by_ms`.
pub(super) fn shift_waits(transaction: &Transaction<'_>, by_ms: i64) -> rusqlite::Result<usize> {
    transaction.execute(
        "UPDATE failing_endpoints SET since_ms = since_ms + ?1, last_ms = last_ms + ?1",
        [by_ms],
    )?;
    transaction.execute(
        "UPDATE deliveries SET next_attempt_at_ms = next_attempt_at_ms + ?1, leased_until_ms = leased_until_ms + ?1,
           waits_since_ms = waits_since_ms + ?1
         WHERE next_attempt_at_ms IS NOT NULL",
        [by_ms],
    )
}

/// Corrects waits in case the clock was set back while no process dispatched. A wait that began in the future starts
/// now with the same length, and no wait ends more than `longest_ms` from now.
pub(super) fn bound_waits(
    transaction: &Transaction<'_>,
    now_ms: i64,
    longest_ms: i64,
) -> rusqlite::Result<usize> {
    transaction.execute(
        "UPDATE deliveries SET next_attempt_at_ms = ?1 + max(next_attempt_at_ms - waits_since_ms, 0), waits_since_ms = ?1
         WHERE next_attempt_at_ms IS NOT NULL AND waits_since_ms > ?1",
        [now_ms],
    )?;
    let latest_ms = now_ms + longest_ms;
    transaction.execute(
        "UPDATE deliveries SET next_attempt_at_ms = ?1 WHERE next_attempt_at_ms > ?1",
        [latest_ms],
    )
}
