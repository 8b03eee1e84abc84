//! Plans one turn of the dispatcher: reads new notifications and due deliveries, and builds delivery batches for free
//! slots.

use std::sync::Arc;

use bytes::Bytes;
use chrono::{DateTime, Utc};
use rusqlite::Connection;
use uuid::Uuid;

use super::destinations::{Credentials, Destination, DestinationCache, receiver};
use super::state::{DispatchState, SharedReceiverKey};
use crate::alert::last_change;
use crate::outbox::last_notification;
use crate::payload::{self, ITEM_COLUMNS, ITEMS_MAX, ItemCounts, OutboxItem};
use crate::subject::DeliverySubject;

/// Maximum notifications read in one turn.
const NOTIFICATIONS_READ_MAX: usize = 10_000;
/// Maximum new deliveries in one turn, for a commit of a few milliseconds.
const NEW_DELIVERIES_MAX: usize = 128;
/// Maximum due deliveries examined in one turn.
const DUE_DELIVERIES_MAX: usize = 128;
/// Maximum undelivered deliveries of an alert; above it, no new one is built. Building one examines the items of all of
/// them, which takes a few milliseconds at this limit.
const UNDELIVERED_MAX: usize = 50;
/// Maximum deliveries of inactive alerts in one turn, which become dead letters.
const DEAD_LETTERS_MAX: usize = 16;

/// Reason for not sending a delivery of an inactive alert.
pub(super) const INACTIVE: &str = "not sent: the alert is not active";
/// Reason for not sending a delivery without items or without an account.
const NOTHING: &str = "not sent: its items or its account no longer exist";

/// A delivery about to be sent.
pub(super) struct DeliveryBatch {
    pub delivery_id: Uuid,
    /// Row number in the store; `None` for a new delivery.
    pub delivery: Option<i64>,
    pub alert: i64,
    pub subject: DeliverySubject,
    pub receiver: SharedReceiverKey,
    pub credentials: Arc<Credentials>,
    /// Number of earlier attempts.
    pub attempts: u32,
    pub items: Vec<OutboxItem>,
    pub counts: ItemCounts,
    pub body: Bytes,
}

/// Notifications of an inactive alert, to be stored as a dead letter.
pub(super) struct DeadLetter {
    pub alert: i64,
    pub items: Vec<OutboxItem>,
}

/// The plan of one turn. It lists the picked alerts even if reading fails halfway, so that they can be requeued.
#[derive(Default)]
pub(super) struct DispatchPlan {
    /// Alerts that were dequeued and have no delivery batch yet.
    pub picked: Vec<i64>,
    pub batches: Vec<DeliveryBatch>,
    pub dead_letters: Vec<DeadLetter>,
    /// Due deliveries without capacity: row number and time of the next try, Unix milliseconds.
    pub postponed: Vec<(i64, i64)>,
    /// Due deliveries that cannot be sent, with the reason.
    pub unsendable: Vec<(i64, &'static str)>,
}

impl DispatchPlan {
    /// Returns whether there is nothing to write.
    pub(super) fn is_empty(&self) -> bool {
        self.batches.is_empty()
            && self.dead_letters.is_empty()
            && self.postponed.is_empty()
            && self.unsendable.is_empty()
    }
}

/// Result of building a delivery for a picked alert.
enum PickOutcome {
    /// A delivery, and whether notifications remain.
    Batch(DeliveryBatch, bool),
    /// No delivery now; whether notifications wait for other deliveries.
    Nothing(bool),
    /// The alert is no longer active.
    Inactive,
}

/// Reads the initial state once at the start: the contents of the outbox, and the positions from which changes are
/// followed. All reads must see one snapshot of the store.
pub(super) fn begin(
    connection: &Connection,
    state: &mut DispatchState,
    now: DateTime<Utc>,
) -> rusqlite::Result<()> {
    state.last_notification = last_notification(connection)?;
    state.last_change = last_change(connection)?;
    state.failing = connection
        .prepare("SELECT account_id, webhook_url FROM failing_endpoints")?
        .query_map([], receiver)?
        .collect::<rusqlite::Result<_>>()?;
    let waiting: Vec<i64> = connection
        .prepare("SELECT DISTINCT alert FROM outbox WHERE delivery IS NULL")?
        .query_map([], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    let mut look = Planner::new(connection, now);
    for alert in waiting {
        let receiver = look.addresses.active_receiver(alert)?;
        state.queue_waiting(alert, receiver);
    }
    Ok(())
}

/// Plans one turn.
pub(super) fn plan_round(
    connection: &Connection,
    state: &mut DispatchState,
    plan: &mut DispatchPlan,
    now: DateTime<Utc>,
) -> rusqlite::Result<()> {
    let mut look = Planner::new(connection, now);
    look.read_new_notifications(state)?;
    look.apply_alert_changes(state)?;
    look.plan_retries(state, plan)?;
    look.plan_new(state, plan)?;
    look.write_dead_letter(state, plan)
}

/// Reader of the data of one turn, with a cache of destinations.
struct Planner<'c> {
    connection: &'c Connection,
    now: DateTime<Utc>,
    addresses: DestinationCache<'c>,
}

impl<'c> Planner<'c> {
    fn new(connection: &'c Connection, now: DateTime<Utc>) -> Self {
        Self {
            connection,
            now,
            addresses: DestinationCache::new(connection, now),
        }
    }

    fn read_new_notifications(&mut self, state: &mut DispatchState) -> rusqlite::Result<()> {
        let new: Vec<(i64, i64)> = self
            .connection
            .prepare_cached(
                "SELECT notification, alert FROM outbox WHERE notification > ?1
                 ORDER BY notification LIMIT ?2",
            )?
            .query_map(
                (state.last_notification, NOTIFICATIONS_READ_MAX as i64),
                |row| Ok((row.get(0)?, row.get(1)?)),
            )?
            .collect::<rusqlite::Result<_>>()?;
        for (notification, alert) in new {
            let receiver = if state.is_waiting(alert) {
                None
            } else {
                self.addresses.active_receiver(alert)?
            };
            state.queue_waiting(alert, receiver);
            state.last_notification = notification;
        }
        Ok(())
    }

    fn apply_alert_changes(&mut self, state: &mut DispatchState) -> rusqlite::Result<()> {
        let changed: Vec<(i64, i64)> = self
            .connection
            .prepare_cached(
                "SELECT change, alert FROM alerts WHERE change > ?1 ORDER BY change LIMIT ?2",
            )?
            .query_map((state.last_change, NOTIFICATIONS_READ_MAX as i64), |row| {
                Ok((row.get(0)?, row.get(1)?))
            })?
            .collect::<rusqlite::Result<_>>()?;
        for (change, alert) in changed {
            if state.is_waiting(alert) {
                let receiver = self.addresses.active_receiver(alert)?;
                state.change_receiver(alert, receiver);
            }
            state.last_change = change;
        }
        Ok(())
    }

    /// Plans deliveries that are due: those that failed before, or that an ended process left behind.
    fn plan_retries(
        &mut self,
        state: &mut DispatchState,
        plan: &mut DispatchPlan,
    ) -> rusqlite::Result<()> {
        let now_ms = self.now.timestamp_millis();
        let due: Vec<(i64, Uuid, i64, u32)> = self
            .connection
            .prepare_cached(
                "SELECT delivery, delivery_id, alert, attempts FROM deliveries
                 WHERE next_attempt_at_ms <= ?1 AND coalesce(leased_until_ms, 0) <= ?1
                 ORDER BY next_attempt_at_ms LIMIT ?2",
            )?
            .query_map((now_ms, DUE_DELIVERIES_MAX as i64), |row| {
                let delivery_id = Uuid::from_bytes(row.get(1)?);
                Ok((row.get(0)?, delivery_id, row.get(2)?, row.get(3)?))
            })?
            .collect::<rusqlite::Result<_>>()?;
        for (delivery, delivery_id, alert, attempts) in due {
            if state.is_under_way(delivery_id) {
                continue;
            }
            let destination = self.addresses.destination(alert)?;
            let Some(destination) = destination.filter(|destination| destination.is_active) else {
                plan.unsendable.push((delivery, INACTIVE));
                continue;
            };
            let receiver = destination.receiver();
            if !state.may_retry(&receiver, now_ms) {
                plan.postponed
                    .push((delivery, now_ms + state.retry_delay_ms(&receiver, now_ms)));
                continue;
            }
            let items = self.delivery_items(delivery)?;
            let records = payload::records(self.connection, &items)?;
            let batch = self
                .batch(&destination, alert, items, &records)?
                .map(|batch| DeliveryBatch {
                    delivery: Some(delivery),
                    delivery_id,
                    attempts,
                    ..batch
                });
            match batch {
                Some(batch) => {
                    state.begin(delivery_id, alert, &receiver, None);
                    plan.batches.push(batch);
                }
                None => plan.unsendable.push((delivery, NOTHING)),
            }
        }
        Ok(())
    }

    /// Builds new deliveries for endpoints that have capacity.
    fn plan_new(
        &mut self,
        state: &mut DispatchState,
        plan: &mut DispatchPlan,
    ) -> rusqlite::Result<()> {
        let now_ms = self.now.timestamp_millis();
        for _ in 0..NEW_DELIVERIES_MAX {
            let Some((alert, _)) = state.pick(now_ms) else {
                break;
            };
            plan.picked.push(alert);
            match self.new_batch(alert)? {
                PickOutcome::Batch(batch, left) => {
                    state.begin(batch.delivery_id, alert, &batch.receiver, Some(left));
                    plan.batches.push(batch);
                }
                PickOutcome::Nothing(left) => state.mark_idle(alert, left),
                PickOutcome::Inactive => {
                    state.queue(alert);
                    state.change_receiver(alert, None);
                }
            }
            plan.picked.pop();
        }
        Ok(())
    }

    /// Builds dead letters from the remaining notifications of inactive alerts.
    fn write_dead_letter(
        &mut self,
        state: &mut DispatchState,
        plan: &mut DispatchPlan,
    ) -> rusqlite::Result<()> {
        for _ in 0..DEAD_LETTERS_MAX {
            let Some(alert) = state.pick_retired() else {
                break;
            };
            plan.picked.push(alert);
            let items: Vec<OutboxItem> = self
                .connection
                .prepare_cached(&format!(
                    "SELECT {ITEM_COLUMNS} FROM outbox WHERE delivery IS NULL AND alert = ?1
                     ORDER BY notification LIMIT {ITEMS_MAX}"
                ))?
                .query_map([alert], OutboxItem::read)?
                .collect::<rusqlite::Result<_>>()?;
            plan.picked.pop();
            if items.is_empty() {
                state.mark_idle(alert, false);
                continue;
            }
            plan.dead_letters.push(DeadLetter { alert, items });
        }
        Ok(())
    }

    fn new_batch(&mut self, alert: i64) -> rusqlite::Result<PickOutcome> {
        let destination = self.addresses.destination(alert)?;
        let Some(destination) = destination.filter(|destination| destination.is_active) else {
            return Ok(PickOutcome::Inactive);
        };
        if self.open(alert)? >= UNDELIVERED_MAX {
            return Ok(PickOutcome::Nothing(true));
        }
        let items = self.free_items(alert)?;
        let (items, records) = payload::fitting(self.connection, items)?;
        let taken = items.len();
        let left = self.waiting(alert, taken + 1)? > taken;
        Ok(match self.batch(&destination, alert, items, &records)? {
            Some(batch) => PickOutcome::Batch(batch, left),
            None => PickOutcome::Nothing(left),
        })
    }

    /// Returns the waiting notifications of an alert whose items are not in an undelivered delivery, as many as fit in
    /// one delivery.
    fn free_items(&self, alert: i64) -> rusqlite::Result<Vec<OutboxItem>> {
        let sql = format!(
            "SELECT {ITEM_COLUMNS} FROM outbox WHERE delivery IS NULL AND alert = ?1 AND item NOT IN (
                 SELECT held.item FROM deliveries JOIN outbox AS held ON held.delivery = deliveries.delivery
                 WHERE deliveries.alert = ?1 AND deliveries.next_attempt_at_ms IS NOT NULL)
             ORDER BY notification LIMIT {ITEMS_MAX}"
        );
        let mut statement = self.connection.prepare_cached(&sql)?;
        statement.query_map([alert], OutboxItem::read)?.collect()
    }

    /// Counts the waiting notifications of an alert, up to `bound`.
    fn waiting(&self, alert: i64, bound: usize) -> rusqlite::Result<usize> {
        let sql = "SELECT count(*) FROM (SELECT 1 FROM outbox WHERE delivery IS NULL AND alert = ?1 LIMIT ?2)";
        self.count(sql, alert, bound)
    }

    /// Counts the undelivered deliveries of an alert, up to [`UNDELIVERED_MAX`].
    fn open(&self, alert: i64) -> rusqlite::Result<usize> {
        let sql = "SELECT count(*) FROM (
             SELECT 1 FROM deliveries WHERE alert = ?1 AND next_attempt_at_ms IS NOT NULL LIMIT ?2)";
        self.count(sql, alert, UNDELIVERED_MAX)
    }

    fn count(&self, sql: &str, alert: i64, bound: usize) -> rusqlite::Result<usize> {
        let count: i64 = self
            .connection
            .prepare_cached(sql)?
            .query_row((alert, bound as i64), |row| row.get(0))?;
        Ok(usize::try_from(count).unwrap_or_default())
    }

    fn delivery_items(&self, delivery: i64) -> rusqlite::Result<Vec<OutboxItem>> {
        let sql =
            format!("SELECT {ITEM_COLUMNS} FROM outbox WHERE delivery = ?1 ORDER BY notification");
        let mut statement = self.connection.prepare_cached(&sql)?;
        statement.query_map([delivery], OutboxItem::read)?.collect()
    }

    /// Returns a new delivery batch; `None` if there are no items, or the account is gone.
    fn batch(
        &mut self,
        destination: &Destination,
        alert: i64,
        items: Vec<OutboxItem>,
        records: &[Vec<u8>],
    ) -> rusqlite::Result<Option<DeliveryBatch>> {
        let credentials = self.addresses.credentials(destination.account_id)?;
        let Some(credentials) = credentials.filter(|_| !items.is_empty()) else {
            return Ok(None);
        };
        let (body, counts) = payload::body(&destination.subject, &items, records);
        Ok(Some(DeliveryBatch {
            delivery_id: Uuid::now_v7(),
            delivery: None,
            alert,
            subject: destination.subject.subject,
            receiver: destination.receiver(),
            credentials,
            attempts: 0,
            items,
            counts,
            body: body.into(),
        }))
    }
}
