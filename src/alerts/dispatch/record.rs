//! Writes one turn of the dispatcher in one transaction: outcomes of attempts, new deliveries, charges.

use rusqlite::Transaction;
use uuid::Uuid;

use super::LEASE;
use super::look::{Buried, INACTIVE, Parcel};
use super::state::Key;
use super::verdict::{Judged, Verdict};
use crate::alert::Reason;
use crate::payload::{Counts, Item};
use crate::registry;
use toise_accounts::ledger::{self, Entry, NO_KEY};
use toise_accounts::prices::{Consumption, Prices};
use toise_base::clock::Clock;
use toise_contract::listings::filters::Listing;

/// How long all attempts at an endpoint may fail, however rare they are, before its alerts are deactivated: 5 days, in
/// milliseconds.
const FAILING_MS_MAX: i64 = 5 * 24 * 3_600_000;

/// A delivery that was sent.
#[derive(Clone, Debug)]
pub(super) struct SentParcel {
    /// Row number in the store.
    pub delivery: i64,
    pub delivery_id: Uuid,
    pub alert: i64,
    pub listing: Listing,
    pub receiver: Key,
    pub counts: Counts,
    /// Number of attempts, including this one.
    pub attempts: u32,
}

/// A delivery whose attempt ended.
#[derive(Clone, Debug)]
pub(super) struct Settlement {
    pub parcel: SentParcel,
    pub judged: Judged,
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
pub(super) struct Written {
    /// Row numbers of the new deliveries, in the order of their batches.
    pub deliveries: Vec<i64>,
    pub charges: Vec<Charge>,
    /// Endpoints that failed for so long that their alerts were deactivated, with the number of alerts.
    pub ended: Vec<(Key, usize)>,
}

/// Writes a turn.
pub(super) struct Turn<'t> {
    transaction: &'t Transaction<'t>,
    clock: &'t Clock,
    prices: &'t Prices,
    now_ms: i64,
    written: Written,
}

impl<'t> Turn<'t> {
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
            written: Written::default(),
        }
    }

    /// Returns what was written.
    pub(super) fn written(self) -> Written {
        self.written
    }

    /// Writes the outcome of an attempt; a delivery that has been settled otherwise meanwhile is left unchanged.
    pub(super) fn settle(&mut self, settlement: &Settlement) -> rusqlite::Result<()> {
        let Settlement { parcel, judged, .. } = settlement;
        let (status, next) = match judged.verdict {
            Verdict::Delivered => ("delivered", None),
            Verdict::Retry(at_ms) => ("failed", Some(at_ms)),
            // The alert's new receiver has not been tried yet.
            Verdict::Dead | Verdict::Gone if self.has_moved(parcel)? => {
                ("failed", Some(self.now_ms))
            }
            Verdict::Dead | Verdict::Gone => ("dead", None),
        };
        let delivered_at = (judged.verdict == Verdict::Delivered).then_some(self.now_ms);
        let changed = self
            .transaction
            .prepare_cached(
                "UPDATE deliveries SET status = ?2, attempts = ?3, next_attempt_at_ms = ?4, leased_until_ms = NULL,
                     delivered_at_ms = ?5, last_status = ?6, last_error = ?7
                 WHERE delivery = ?1 AND next_attempt_at_ms IS NOT NULL",
            )?
            .execute((
                parcel.delivery,
                status,
                parcel.attempts,
                next,
                delivered_at,
                judged.status,
                &judged.error,
            ))?;
        match judged.verdict {
            Verdict::Delivered => {
                if changed == 1 {
                    self.charge(parcel)?;
                }
                if settlement.was_failing {
                    self.recovered(&parcel.receiver)?;
                }
            }
            Verdict::Retry(_) | Verdict::Dead => self.note_failure(&parcel.receiver)?,
            Verdict::Gone => self.deactivate(parcel.alert, &parcel.receiver.url, Reason::Gone)?,
        }
        Ok(())
    }

    /// Whether an alert is active and its URL has changed since the delivery was sent.
    fn has_moved(&self, parcel: &SentParcel) -> rusqlite::Result<bool> {
        self.transaction
            .prepare_cached(
                "SELECT EXISTS (SELECT 1 FROM alerts WHERE alert = ?1 AND activated = 1 AND webhook_url <> ?2)",
            )?
            .query_row((parcel.alert, &parcel.receiver.url), |row| row.get(0))
    }

    /// Adds one row to the ledger for each kind of match delivered.
    fn charge(&mut self, parcel: &SentParcel) -> rusqlite::Result<()> {
        let Counts { created, updated } = parcel.counts;
        let parts = match parcel.listing {
            Listing::Advert => vec![(Consumption::WebhookAlertAdverts, created + updated)],
            Listing::Property => vec![
                (Consumption::WebhookAlertPropertiesMatchCreated, created),
                (Consumption::WebhookAlertPropertiesMatchMerged, updated),
            ],
        };
        for (consumption, items) in parts.into_iter().filter(|(_, items)| *items > 0) {
            let credits = items * u64::from(self.prices.of(consumption));
            let entry = Entry {
                request_id: charge_id(parcel.delivery_id, consumption),
                account_id: parcel.receiver.account_id,
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

    fn recovered(&self, receiver: &Key) -> rusqlite::Result<()> {
        self.transaction
            .prepare_cached(
                "DELETE FROM failing_endpoints WHERE account_id = ?1 AND webhook_url = ?2",
            )?
            .execute((receiver.account_id.to_string(), &receiver.url))?;
        Ok(())
    }

    /// Records a failure of an endpoint, and deactivates its alerts if it has only failed for days.
    fn note_failure(&mut self, receiver: &Key) -> rusqlite::Result<()> {
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
            self.deactivate(*alert, &receiver.url, Reason::Failing)?;
        }
        let ended = alerts.len();
        if ended > 0 {
            self.written.ended.push((Key::clone(receiver), ended));
        }
        self.recovered(receiver)
    }

    /// Deactivates an alert, unless it is already inactive or its URL has changed.
    fn deactivate(&self, alert: i64, url: &str, reason: Reason) -> rusqlite::Result<()> {
        registry::deactivate(self.transaction, alert, Some(url), reason, self.now_ms)
    }

    /// Stores a new delivery with its first lease, or leases one that is retried.
    pub(super) fn begin(&mut self, parcel: &Parcel) -> rusqlite::Result<()> {
        let until_ms = self.now_ms + LEASE.as_millis() as i64;
        if let Some(delivery) = parcel.delivery {
            self.transaction
                .prepare_cached("UPDATE deliveries SET leased_until_ms = ?2 WHERE delivery = ?1")?
                .execute((delivery, until_ms))?;
            return Ok(());
        }
        let delivery = self.insert(
            parcel.delivery_id,
            parcel.alert,
            &parcel.items,
            Some(until_ms),
        )?;
        self.written.deliveries.push(delivery);
        Ok(())
    }

    /// Stores the notifications of an inactive alert as a dead letter.
    pub(super) fn bury(&mut self, buried: &Buried) -> rusqlite::Result<()> {
        let delivery = self.insert(Uuid::now_v7(), buried.alert, &buried.items, None)?;
        self.lapse(delivery, INACTIVE)
    }

    /// Marks a delivery that cannot be sent as dead.
    pub(super) fn lapse(&self, delivery: i64, reason: &str) -> rusqlite::Result<()> {
        self.transaction
            .prepare_cached(
                "UPDATE deliveries SET status = 'dead', next_attempt_at_ms = NULL, leased_until_ms = NULL,
                     last_error = ?2 WHERE delivery = ?1",
            )?
            .execute((delivery, reason))?;
        Ok(())
    }

    /// Delays a delivery until its endpoint may have capacity.
    pub(super) fn put_off(&self, delivery: i64, until_ms: i64) -> rusqlite::Result<()> {
        self.transaction
            .prepare_cached("UPDATE deliveries SET next_attempt_at_ms = ?2 WHERE delivery = ?1")?
            .execute((delivery, until_ms))?;
        Ok(())
    }

    fn insert(
        &self,
        delivery_id: Uuid,
        alert: i64,
        items: &[Item],
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

/// Releases the leases of a process that has ended: its deliveries in flight are due at once, with the same
/// identifiers.
pub(super) fn void_leases(transaction: &Transaction<'_>) -> rusqlite::Result<usize> {
    transaction.execute(
        "UPDATE deliveries SET leased_until_ms = NULL
         WHERE next_attempt_at_ms IS NOT NULL AND leased_until_ms IS NOT NULL",
        [],
    )
}
