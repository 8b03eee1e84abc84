//! Deliveries in the store: listing them, and retrying dead ones.
//!
//! Callers check that the requesting account owns the alert. Every call blocks; calls that change something return once
//! the change is durable. The dispatcher, in whichever process it runs, picks the change up shortly after.

use chrono::{DateTime, Utc};
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Row};
use uuid::Uuid;

use crate::delivery::{Delivery, DeliveryStatus};
pub use crate::request::queries::PageParams;
use crate::request::queries::TAKE_MAX;
use toise_base::clock::Clock;
use toise_contract::listings::codes::{FlxId, Timestamp};
use toise_store::{self as store, Store};

/// The reason why a dead delivery cannot be retried.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// There is no such delivery.
    #[error("no such delivery; it may have left the outbox")]
    NoDelivery,
    /// The delivery is not dead.
    #[error("the delivery is {}: only dead ones are sent again", .0.as_str())]
    NotDead(DeliveryStatus),
    /// The alert of the delivery is not active.
    #[error("the alert is not active: activate it first")]
    Inactive,
}

impl PageParams {
    /// Returns the SQL limit and offset of the page.
    pub(super) fn bounds(self) -> (i64, i64) {
        let bound = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        (bound(self.take.min(TAKE_MAX)), bound(self.skip))
    }
}

const SELECT: &str = "SELECT delivery_id, alert_id, status, attempts, next_attempt_at_ms, last_status, last_error, \
                      deliveries.created_at_ms, delivered_at_ms, items FROM deliveries JOIN alerts USING (alert)";

/// Returns whether an alert exists.
pub fn alert_exists(store: &Store, alert_id: FlxId) -> store::Result<bool> {
    store.read(|connection| Ok(find_alert(connection, alert_id)?.is_some()))
}

/// Returns the deliveries of an alert, newest first, with one status or all.
pub fn list_for_alert(
    store: &Store,
    alert_id: FlxId,
    status: Option<DeliveryStatus>,
    page: PageParams,
) -> store::Result<Vec<Delivery>> {
    let (take, skip) = page.bounds();
    let status = status.map(DeliveryStatus::as_str);
    let sql = format!(
        "{SELECT} WHERE alert = (SELECT alert FROM alerts WHERE alert_id = ?1) AND (?2 IS NULL OR status = ?2)
         ORDER BY delivery DESC LIMIT ?3 OFFSET ?4"
    );
    store.read(|connection| {
        connection
            .prepare_cached(&sql)?
            .query_map((alert_id.0.as_bytes(), status, take, skip), delivery)?
            .collect()
    })
}

/// Returns the dead letters of all alerts, newest first.
pub fn dead(store: &Store, page: PageParams) -> store::Result<Vec<Delivery>> {
    let (take, skip) = page.bounds();
    let sql = format!("{SELECT} WHERE {IS_DEAD} ORDER BY delivery DESC LIMIT ?1 OFFSET ?2");
    store.read(|connection| {
        connection
            .prepare_cached(&sql)?
            .query_map((take, skip), delivery)?
            .collect()
    })
}

/// Restarts the schedule of a dead delivery, under the same identifier.
///
/// # Errors
/// There is no such delivery, it is not dead, or its alert is not active.
pub fn retry(store: &Store, clock: &Clock, delivery_id: Uuid) -> Result<(), Error> {
    let now_ms = clock.now().timestamp_millis();
    let found = store.write(move |transaction| {
        let found: Option<(i64, String, bool)> = transaction
            .query_row(
                "SELECT delivery, status, activated FROM deliveries JOIN alerts USING (alert) WHERE delivery_id = ?1",
                [delivery_id.as_bytes()],
                |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
            )
            .optional()?;
        if let Some((delivery, status, true)) = &found
            && status == DeliveryStatus::Dead.as_str()
        {
            let sql = format!("{REVIVE} WHERE delivery = ?2");
            transaction.execute(&sql, (now_ms, delivery))?;
        }
        Ok(found)
    })?;
    let (_, status, is_active) = found.ok_or(Error::NoDelivery)?;
    match DeliveryStatus::parse(&status) {
        Some(DeliveryStatus::Dead) if is_active => Ok(()),
        Some(DeliveryStatus::Dead) | None => Err(Error::Inactive),
        Some(status) => Err(Error::NotDead(status)),
    }
}

/// Restarts the schedule of all dead deliveries of active alerts; returns their number.
pub fn retry_all(store: &Store, clock: &Clock) -> store::Result<usize> {
    let now_ms = clock.now().timestamp_millis();
    store.write(move |transaction| {
        let sql = format!(
            "{REVIVE} WHERE {IS_DEAD} AND alert IN (SELECT alert FROM alerts WHERE activated = 1)"
        );
        transaction.execute(&sql, [now_ms])
    })
}

/// SQL condition for a dead letter, as in the index of settled deliveries.
const IS_DEAD: &str = "status = 'dead' AND next_attempt_at_ms IS NULL";

const REVIVE: &str =
    "UPDATE deliveries SET status = 'pending', attempts = 0, next_attempt_at_ms = ?1";

fn delivery(row: &Row<'_>) -> rusqlite::Result<Delivery> {
    let status: String = row.get(2)?;
    let status = DeliveryStatus::parse(&status)
        .ok_or_else(|| rusqlite::Error::InvalidColumnType(2, status, Type::Text))?;
    let next_attempt_at: Option<i64> = row.get(4)?;
    Ok(Delivery {
        delivery_id: FlxId(Uuid::from_bytes(row.get(0)?)),
        alert_id: FlxId(Uuid::from_bytes(row.get(1)?)),
        status,
        attempts: row.get(3)?,
        next_attempt_at: next_attempt_at
            .filter(|_| status == DeliveryStatus::Failed)
            .map(timestamp),
        last_status: row.get(5)?,
        last_error: row.get(6)?,
        created_at: timestamp(row.get(7)?),
        delivered_at: row.get::<_, Option<i64>>(8)?.map(timestamp),
        items: row.get(9)?,
    })
}

fn timestamp(ms: i64) -> Timestamp {
    Timestamp::new(DateTime::<Utc>::from_timestamp_millis(ms).unwrap_or_default())
}

/// Returns the row number of an alert and whether it is active; `None` if there is none.
pub(super) fn find_alert(
    connection: &Connection,
    alert_id: FlxId,
) -> rusqlite::Result<Option<(i64, bool)>> {
    connection
        .prepare_cached("SELECT alert, activated FROM alerts WHERE alert_id = ?1")?
        .query_row([alert_id.0.as_bytes()], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .optional()
}
