//! Retention of the outbox: limits it by age and number.
//!
//! Notifications are retained after delivery so that a past window can be replayed. Above the age limit, the oldest are
//! deleted regardless of their status. Above the number limit, delivered ones are deleted first, then dead letters,
//! oldest first. If only undelivered ones remain, the accounts that have the most lose some, until these accounts have
//! the same number. Within an account, the alert that has the most loses its oldest first. So an account with few
//! undelivered notifications does not lose them because of another account. A delivery is deleted as a whole, and a
//! snapshot with the last notification that uses it. Undelivered notifications that are evicted are counted, and gauges
//! of age and number give an early warning.

use std::collections::{HashMap, HashSet};

use rusqlite::{Connection, OptionalExtension, Params, Transaction};

use super::outbox::last_notification;
use crate::settings::WebhookSettings;

/// Maximum notifications deleted per transaction, except to complete a delivery.
const SWEEP_MAX: usize = 1_000;
/// Number of deliveries selected for deletion at once.
const PICKED_MAX: usize = 100;
/// Limit up to which waiting notifications are counted.
const WAITING_COUNTED_MAX: i64 = 100_000;
const DAY_MS: i64 = 24 * 3_600_000;

/// Limits of the outbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// Maximum age, in milliseconds.
    pub age_ms: i64,
    /// Maximum number of notifications.
    pub notifications: i64,
}

impl From<&WebhookSettings> for Retention {
    fn from(settings: &WebhookSettings) -> Self {
        Self {
            age_ms: i64::try_from(settings.retention_days).map_or(i64::MAX, |days| days * DAY_MS),
            notifications: i64::try_from(settings.outbox_max).unwrap_or(i64::MAX),
        }
    }
}

/// How full the outbox is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OutboxDepth {
    /// Number of notifications.
    pub kept: i64,
    /// Number of notifications waiting for a delivery, counted up to 100,000.
    pub waiting: i64,
    /// Time of the oldest notification, Unix milliseconds; `None` if there is none.
    pub oldest_at_ms: Option<i64>,
    /// Number of deliveries not attempted yet, or in flight for the first time.
    pub pending: i64,
    /// Number of failed deliveries that will be retried.
    pub failed: i64,
    /// Number of dead letters.
    pub dead: i64,
}

/// Reads how full the outbox is. Scans the waiting notifications and the pages of an index.
pub fn depth(connection: &Connection) -> rusqlite::Result<OutboxDepth> {
    let open = "SELECT count(*) FROM deliveries WHERE next_attempt_at_ms IS NOT NULL AND status";
    Ok(OutboxDepth {
        kept: kept(connection)?,
        waiting: number(
            connection,
            &format!(
                "SELECT count(*) FROM (SELECT 1 FROM outbox WHERE delivery IS NULL LIMIT {WAITING_COUNTED_MAX})"
            ),
        )?,
        oldest_at_ms: oldest(connection)?.map(|(_, at_ms)| at_ms),
        pending: number(connection, &format!("{open} = 'pending'"))?,
        failed: number(connection, &format!("{open} = 'failed'"))?,
        dead: number(
            connection,
            "SELECT count(*) FROM deliveries WHERE next_attempt_at_ms IS NULL AND status = 'dead'",
        )?,
    })
}

fn number(connection: &Connection, sql: &str) -> rusqlite::Result<i64> {
    connection
        .prepare_cached(sql)?
        .query_row([], |row| row.get(0))
}

/// Returns the number of notifications. Takes about 30 ms for five million.
fn kept(connection: &Connection) -> rusqlite::Result<i64> {
    number(connection, "SELECT count(*) FROM outbox")
}

/// Returns the number and time (Unix milliseconds) of the oldest notification.
fn oldest(connection: &Connection) -> rusqlite::Result<Option<(i64, i64)>> {
    connection
        .prepare_cached(
            "SELECT notification, created_at_ms FROM outbox ORDER BY notification LIMIT 1",
        )?
        .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()
}

/// The notifications that have to be deleted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PendingEvictions {
    /// Whether some notifications are too old.
    aged: bool,
    /// Number of notifications above the limit.
    excess: usize,
    /// Undelivered notifications to evict, by alert; used when no others can be deleted.
    undelivered: Vec<(i64, usize)>,
}

impl PendingEvictions {
    /// Returns whether nothing has to be deleted.
    pub(super) fn is_empty(&self) -> bool {
        !self.aged && self.excess == 0
    }
}

/// Determines what has to be deleted. Reads two rows while the outbox is within its limits. Otherwise it counts, and if
/// undelivered notifications have to be evicted, it scans all that wait: half a second for millions.
pub(super) fn due(
    connection: &Connection,
    retention: Retention,
    now_ms: i64,
) -> rusqlite::Result<PendingEvictions> {
    let Some((first, at_ms)) = oldest(connection)? else {
        return Ok(PendingEvictions::default());
    };
    let aged = at_ms < now_ms.saturating_sub(retention.age_ms);
    // The numbers have gaps only where notifications were deleted out of order.
    let mut excess = last_notification(connection)? - first + 1 - retention.notifications;
    if excess > 0 {
        excess = kept(connection)? - retention.notifications;
    }
    let excess = usize::try_from(excess).unwrap_or_default();
    // A delivery contains at least one notification.
    let settled: i64 = connection
        .prepare_cached(
            "SELECT coalesce(sum(items), 0)
             FROM (SELECT items FROM deliveries WHERE next_attempt_at_ms IS NULL LIMIT ?1)",
        )?
        .query_row([excess as i64], |row| row.get(0))?;
    let missing = excess.saturating_sub(usize::try_from(settled).unwrap_or_default());
    Ok(PendingEvictions {
        aged,
        excess,
        undelivered: match missing {
            0 => Vec::new(),
            missing => evictions_by_alert(undelivered(connection)?, missing),
        },
    })
}

/// Returns the number of undelivered notifications of each alert, with its account.
fn undelivered(connection: &Connection) -> rusqlite::Result<Vec<(String, i64, usize)>> {
    connection
        .prepare_cached(
            "SELECT account_id, alert, sum(items) FROM (
                 SELECT alert, count(*) AS items FROM outbox WHERE delivery IS NULL GROUP BY alert
                 UNION ALL SELECT alert, items FROM deliveries WHERE next_attempt_at_ms IS NOT NULL)
             JOIN alerts USING (alert) GROUP BY alert",
        )?
        .query_map([], |row| {
            let items: i64 = row.get(2)?;
            let items = usize::try_from(items).unwrap_or_default();
            Ok((row.get(0)?, row.get(1)?, items))
        })?
        .collect()
}

/// Returns the number of evictions of each alert, which sum to `missing`. Reduces the accounts with the most to one
/// common number.
fn evictions_by_alert(mut held: Vec<(String, i64, usize)>, missing: usize) -> Vec<(i64, usize)> {
    let mut of_account: HashMap<&str, usize> = HashMap::new();
    for (account, _, items) in &held {
        *of_account.entry(account).or_default() += items;
    }
    let mut sums: Vec<usize> = of_account.values().copied().collect();
    sums.sort_unstable_by(|one, other| other.cmp(one));
    let mut level = 0;
    let mut sum = 0;
    for (place, own) in sums.iter().enumerate() {
        sum += own;
        let next = sums.get(place + 1).copied().unwrap_or_default();
        if sum - next * (place + 1) >= missing {
            level = (sum - missing) / (place + 1);
            break;
        }
    }
    let mut losses: HashMap<String, usize> = of_account
        .into_iter()
        .map(|(account, sum)| (account.to_owned(), sum.saturating_sub(level)))
        .collect();
    held.sort_unstable_by_key(|(_, _, items)| std::cmp::Reverse(*items));
    let of_alert = held.into_iter().filter_map(|(account, alert, items)| {
        let left = losses.get_mut(&account)?;
        let loss = items.min(*left);
        *left -= loss;
        (loss > 0).then_some((alert, loss))
    });
    of_alert.collect()
}

/// The deletions of one transaction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SweepOutcome {
    /// Number of notifications that were never delivered.
    pub undelivered: usize,
    /// The notifications that still have to be deleted.
    pub left: PendingEvictions,
}

/// Deletes part of what is due.
pub(super) fn sweep(
    transaction: &Transaction<'_>,
    retention: Retention,
    due: PendingEvictions,
    now_ms: i64,
) -> rusqlite::Result<SweepOutcome> {
    let mut sweep = Sweep {
        transaction,
        left: due,
        gone: 0,
        undelivered: 0,
    };
    if sweep.left.aged {
        sweep.by_age(now_ms.saturating_sub(retention.age_ms))?;
    }
    sweep.by_number()?;
    Ok(SweepOutcome {
        undelivered: sweep.undelivered,
        left: sweep.left,
    })
}

struct Sweep<'t> {
    transaction: &'t Transaction<'t>,
    left: PendingEvictions,
    gone: usize,
    undelivered: usize,
}

impl Sweep<'_> {
    /// Deletes the notifications older than a time.
    fn by_age(&mut self, before_ms: i64) -> rusqlite::Result<()> {
        let aged: Vec<(i64, Option<i64>, i64)> = self
            .transaction
            .prepare_cached(
                "SELECT notification, delivery, created_at_ms FROM outbox ORDER BY notification LIMIT ?1",
            )?
            .query_map([SWEEP_MAX as i64], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?))
            })?
            .collect::<rusqlite::Result<_>>()?;
        let aged: Vec<_> = aged
            .into_iter()
            .take_while(|(_, _, at_ms)| *at_ms < before_ms)
            .collect();
        self.left.aged = aged.len() == SWEEP_MAX;
        let mut left = HashSet::new();
        for (notification, delivery, _) in aged {
            match delivery {
                None => self.delete_notification(notification)?,
                Some(delivery) if left.insert(delivery) => self.delete_delivery(delivery)?,
                Some(_) => {}
            }
        }
        Ok(())
    }

    /// Deletes notifications above the limit.
    fn by_number(&mut self) -> rusqlite::Result<()> {
        while self.left.excess > 0 && self.gone < SWEEP_MAX {
            let mut settled = self.settled("delivered")?;
            if settled.is_empty() {
                settled = self.settled("dead")?;
            }
            for delivery in &settled {
                if self.left.excess > 0 {
                    self.delete_delivery(*delivery)?;
                }
            }
            if settled.is_empty() && !self.evict_undelivered()? {
                // If more were written in the meantime, the next check counts them.
                self.left.excess = 0;
            }
        }
        Ok(())
    }

    /// Evicts undelivered notifications of the next alert; returns `false` if there is none.
    fn evict_undelivered(&mut self) -> rusqlite::Result<bool> {
        let Some((alert, loss)) = self.left.undelivered.pop() else {
            return Ok(false);
        };
        let before = self.gone;
        let waiting = self.picked(
            "SELECT notification FROM outbox WHERE delivery IS NULL AND alert = ?1 ORDER BY notification LIMIT ?2",
            (alert, loss.min(SWEEP_MAX) as i64),
        )?;
        for notification in &waiting {
            self.delete_notification(*notification)?;
        }
        if waiting.is_empty() {
            let oldest = self.picked(
                "SELECT min(delivery) FROM deliveries WHERE next_attempt_at_ms IS NOT NULL AND alert = ?1
                 HAVING min(delivery) IS NOT NULL",
                [alert],
            )?;
            for delivery in oldest {
                self.delete_delivery(delivery)?;
            }
        }
        let gone = self.gone - before;
        if gone > 0 && gone < loss {
            self.left.undelivered.push((alert, loss - gone));
        }
        Ok(true)
    }

    /// Returns the oldest deliveries with a final status.
    fn settled(&self, status: &str) -> rusqlite::Result<Vec<i64>> {
        self.picked(
            "SELECT delivery FROM deliveries WHERE next_attempt_at_ms IS NULL AND status = ?1
             ORDER BY delivery LIMIT ?2",
            (status, PICKED_MAX as i64),
        )
    }

    fn picked(&self, sql: &str, parameters: impl Params) -> rusqlite::Result<Vec<i64>> {
        let mut statement = self.transaction.prepare_cached(sql)?;
        statement.query_map(parameters, |row| row.get(0))?.collect()
    }

    /// Deletes a notification that is not in a delivery.
    fn delete_notification(&mut self, notification: i64) -> rusqlite::Result<()> {
        let gone = self.forget(
            "DELETE FROM outbox WHERE notification = ?1 AND delivery IS NULL RETURNING snapshot",
            notification,
        )?;
        self.undelivered += gone;
        Ok(())
    }

    /// Deletes a delivery with all its notifications.
    fn delete_delivery(&mut self, delivery: i64) -> rusqlite::Result<()> {
        let gone = self.forget(
            "DELETE FROM outbox WHERE delivery = ?1 RETURNING snapshot",
            delivery,
        )?;
        let delivered: Option<bool> = self
            .transaction
            .prepare_cached(
                "DELETE FROM deliveries WHERE delivery = ?1 RETURNING status = 'delivered'",
            )?
            .query_row([delivery], |row| row.get(0))
            .optional()?;
        if delivered != Some(true) {
            self.undelivered += gone;
        }
        Ok(())
    }

    /// Deletes notifications and the snapshots that only they use; returns the number of notifications.
    fn forget(&mut self, sql: &str, number: i64) -> rusqlite::Result<usize> {
        let snapshots: Vec<Option<i64>> = self
            .transaction
            .prepare_cached(sql)?
            .query_map([number], |row| row.get(0))?
            .collect::<rusqlite::Result<_>>()?;
        for snapshot in snapshots.iter().flatten() {
            self.transaction
                .prepare_cached(
                    "DELETE FROM snapshots WHERE snapshot = ?1
                     AND NOT EXISTS (SELECT 1 FROM outbox WHERE outbox.snapshot = ?1)",
                )?
                .execute([snapshot])?;
        }
        let gone = snapshots.len();
        self.gone += gone;
        self.left.excess = self.left.excess.saturating_sub(gone);
        Ok(gone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_with_the_most_notifications_lose_them_down_to_one_level() {
        let held = |items: &[(&str, usize)]| {
            let rows = (1..)
                .zip(items)
                .map(|(alert, (account, items))| ((*account).to_owned(), alert, *items));
            rows.collect::<Vec<_>>()
        };
        let accounts = [("a", 60), ("a", 40), ("b", 50), ("c", 10), ("b", 1)];
        let lost = |missing| {
            let mut lost = evictions_by_alert(held(&accounts), missing);
            lost.sort_unstable();
            lost
        };
        assert_eq!(lost(49), [(1, 49)]);
        assert_eq!(lost(70), [(1, 60), (3, 11)], "a and b keep 40");
        assert_eq!(lost(161), [(1, 60), (2, 40), (3, 50), (4, 10), (5, 1)]);
        assert_eq!(lost(1_000).len(), 5, "no more than there is");
    }
}
