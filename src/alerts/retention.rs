//! What the outbox keeps, and for how long: notifications leave oldest first, whatever became of them.
//!
//! They are kept after delivery so that a window of the past can be sent again. Age and number bound them; snapshots
//! and deliveries leave with the last notification that needs them. What had not been delivered by then is counted, and
//! gauges of age and number tell before it comes to that. Numbers run without gaps, so counting costs nothing.

use rusqlite::{Connection, OptionalExtension, Transaction};

use crate::config::Webhooks;

/// Notifications that leave in one transaction at most.
const SWEEP_MAX: usize = 1_000;
/// Notifications that wait are counted up to here.
const WAITING_COUNTED_MAX: i64 = 100_000;
const DAY_MS: i64 = 24 * 3_600_000;
/// What deliveries end with whose notifications leave.
const EXPIRED: &str = "not delivered before it had to leave the outbox";

/// Bounds of the outbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// Age, in milliseconds.
    pub age_ms: i64,
    /// Notifications.
    pub notifications: i64,
}

impl From<&Webhooks> for Retention {
    fn from(settings: &Webhooks) -> Self {
        Self {
            age_ms: i64::try_from(settings.retention_days).map_or(i64::MAX, |days| days * DAY_MS),
            notifications: i64::try_from(settings.outbox_max).unwrap_or(i64::MAX),
        }
    }
}

/// What left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Notifications.
    pub notifications: usize,
    /// Of these, those that were never delivered.
    pub undelivered: usize,
    /// Whether more may have to leave.
    pub more: bool,
}

/// How full the outbox is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Depth {
    /// Notifications kept.
    pub kept: i64,
    /// Those that wait for a delivery, counted up to 100,000.
    pub waiting: i64,
    /// When the oldest was written, Unix milliseconds; `None` when there is none.
    pub oldest_at_ms: Option<i64>,
    /// Deliveries not tried yet, or under way.
    pub pending: i64,
    /// Deliveries that are to be tried again.
    pub failed: i64,
    /// Dead deliveries.
    pub dead: i64,
}

/// Reads how full the outbox is; costs a walk over what waits.
pub fn depth(connection: &Connection) -> rusqlite::Result<Depth> {
    let count = |sql: &str| {
        connection
            .prepare_cached(sql)?
            .query_row([], |row| row.get(0))
    };
    let oldest: Option<(i64, i64)> = connection
        .prepare_cached(
            "SELECT notification, created_at_ms FROM outbox ORDER BY notification LIMIT 1",
        )?
        .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let last: i64 = count("SELECT coalesce(max(notification), 0) FROM outbox")?;
    Ok(Depth {
        kept: oldest.map_or(0, |(first, _)| last - first + 1),
        waiting: count(&format!(
            "SELECT count(*) FROM (SELECT 1 FROM outbox WHERE delivery IS NULL LIMIT {WAITING_COUNTED_MAX})"
        ))?,
        oldest_at_ms: oldest.map(|(_, at_ms)| at_ms),
        pending: count(
            "SELECT count(*) FROM deliveries WHERE next_attempt_at_ms IS NOT NULL AND status = 'pending'",
        )?,
        failed: count(
            "SELECT count(*) FROM deliveries WHERE next_attempt_at_ms IS NOT NULL AND status = 'failed'",
        )?,
        dead: count("SELECT count(*) FROM deliveries WHERE status = 'dead'")?,
    })
}

/// Whether something has to leave. Two rows.
pub(super) fn is_due(
    connection: &Connection,
    retention: Retention,
    now_ms: i64,
) -> rusqlite::Result<bool> {
    let oldest: Option<(i64, i64)> = connection
        .prepare_cached(
            "SELECT notification, created_at_ms FROM outbox ORDER BY notification LIMIT 1",
        )?
        .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let Some((first, at_ms)) = oldest else {
        return Ok(false);
    };
    Ok(at_ms < now_ms.saturating_sub(retention.age_ms)
        || first <= last_to_leave(connection, retention)?)
}

/// The last notification that leaves for the sake of number.
fn last_to_leave(connection: &Connection, retention: Retention) -> rusqlite::Result<i64> {
    let last: i64 = connection
        .prepare_cached("SELECT coalesce(max(notification), 0) FROM outbox")?
        .query_row([], |row| row.get(0))?;
    Ok(last.saturating_sub(retention.notifications))
}

/// A notification about to leave.
struct Leaving {
    notification: i64,
    delivery: Option<i64>,
    snapshot: Option<i64>,
}

/// Lets go of the oldest notifications that have to leave, some of them at a time.
pub(super) fn sweep(
    transaction: &Transaction<'_>,
    retention: Retention,
    now_ms: i64,
) -> rusqlite::Result<Swept> {
    let last = last_to_leave(transaction, retention)?;
    let before_ms = now_ms.saturating_sub(retention.age_ms);
    let oldest: Vec<(Leaving, i64)> = transaction
        .prepare_cached(
            "SELECT notification, delivery, snapshot, created_at_ms FROM outbox ORDER BY notification LIMIT ?1",
        )?
        .query_map([SWEEP_MAX as i64], |row| {
            let leaving = Leaving {
                notification: row.get(0)?,
                delivery: row.get(1)?,
                snapshot: row.get(2)?,
            };
            Ok((leaving, row.get(3)?))
        })?
        .collect::<rusqlite::Result<_>>()?;
    let leaving: Vec<Leaving> = oldest
        .into_iter()
        .take_while(|(leaving, at_ms)| leaving.notification <= last || *at_ms < before_ms)
        .map(|(leaving, _)| leaving)
        .collect();
    let mut undelivered = 0;
    for leaving in &leaving {
        undelivered += usize::from(!let_go(transaction, leaving)?);
    }
    Ok(Swept {
        notifications: leaving.len(),
        undelivered,
        more: leaving.len() == SWEEP_MAX,
    })
}

/// Lets one notification go, with what only it needed; whether it had been delivered.
fn let_go(transaction: &Transaction<'_>, leaving: &Leaving) -> rusqlite::Result<bool> {
    let execute = |sql: &str, number: i64| transaction.prepare_cached(sql)?.execute([number]);
    execute(
        "DELETE FROM outbox WHERE notification = ?1",
        leaving.notification,
    )?;
    if let Some(snapshot) = leaving.snapshot {
        let sql = "DELETE FROM snapshots WHERE snapshot = ?1
                   AND NOT EXISTS (SELECT 1 FROM outbox WHERE outbox.snapshot = ?1)";
        execute(sql, snapshot)?;
    }
    let Some(delivery) = leaving.delivery else {
        return Ok(false);
    };
    transaction
        .prepare_cached(
            "UPDATE deliveries SET status = 'dead', next_attempt_at_ms = NULL, leased_until_ms = NULL, last_error = ?2
             WHERE delivery = ?1 AND next_attempt_at_ms IS NOT NULL",
        )?
        .execute((delivery, EXPIRED))?;
    let delivered = transaction
        .prepare_cached("SELECT status = 'delivered' FROM deliveries WHERE delivery = ?1")?
        .query_row([delivery], |row| row.get(0))
        .optional()?;
    let sql = "DELETE FROM deliveries WHERE delivery = ?1
               AND NOT EXISTS (SELECT 1 FROM outbox WHERE outbox.delivery = ?1)";
    execute(sql, delivery)?;
    Ok(delivered.unwrap_or(false))
}
