//! Receivers of portfolios: rows of `alerts` that search nothing, so that changes of homes are delivered like matches.
//!
//! A delivery has the homes in `updated`, under the receiver's `alert_id`, with the portfolio's name as its context.
//! All functions run in the caller's transaction.

use rusqlite::{Connection, Transaction};
use serde_json::json;
use uuid::Uuid;

use crate::alert::{DeactivationReason, PORTFOLIO, last_change};
use crate::outbox::{Branch, enqueue, snapshot};
use crate::registry::deactivate;
use toise_contract::listings::codes::FlxId;

/// Stores or changes the receiver of a portfolio, given its account and name, and activates it. Returns its row number.
///
/// # Errors
/// The store fails.
pub fn set(
    transaction: &Transaction<'_>,
    known: Option<i64>,
    (account, name): (&str, &str),
    url: &str,
    now_ms: i64,
) -> rusqlite::Result<i64> {
    let change = last_change(transaction)? + 1;
    if let Some(alert) = known {
        let sql = "UPDATE alerts SET webhook_url = ?2, activated = 1, deactivated_because = NULL, change = ?3, \
                   updated_at_ms = ?4 WHERE alert = ?1";
        transaction.execute(sql, (alert, url, change, now_ms))?;
        return Ok(alert);
    }
    let context = json!({"portfolio": name}).to_string();
    transaction.execute(
        "INSERT INTO alerts (alert_id, account_id, kind, activated, search_name, search_query, webhook_url, match_kinds,
           context, created_at_ms, updated_at_ms, change) VALUES (?1, ?2, ?3, 1, ?4, '{}', ?5, '[]', ?6, ?7, ?7, ?8)",
        (Uuid::now_v7().as_bytes(), account, PORTFOLIO, name, url, context, now_ms, change),
    )?;
    Ok(transaction.last_insert_rowid())
}

/// Deactivates the receiver of a portfolio. Waiting notifications are no longer sent.
///
/// # Errors
/// The store fails.
pub fn end(transaction: &Transaction<'_>, alert: i64, now_ms: i64) -> rusqlite::Result<()> {
    deactivate(
        transaction,
        alert,
        None,
        DeactivationReason::Deleted,
        now_ms,
    )
}

/// Returns whether the receiver is active: it is deactivated when it answers 410 or fails for days.
///
/// # Errors
/// The store fails.
pub fn is_active(connection: &Connection, alert: i64) -> rusqlite::Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM alerts WHERE alert = ?1 AND activated = 1)";
    connection
        .prepare_cached(sql)?
        .query_row([alert], |row| row.get(0))
}

/// Counts the notifications that wait for a receiver, up to `bound`.
///
/// # Errors
/// The store fails.
pub fn waiting(connection: &Connection, alert: i64, bound: usize) -> rusqlite::Result<usize> {
    let sql = "SELECT count(*) FROM (SELECT 1 FROM outbox WHERE delivery IS NULL AND alert = ?1 LIMIT ?2)";
    let count: i64 = connection
        .prepare_cached(sql)?
        .query_row((alert, bound as i64), |row| row.get(0))?;
    Ok(usize::try_from(count).unwrap_or_default())
}

/// Puts a changed home in the outbox, as compressed JSON. `item` identifies it: its notifications are sent in order.
///
/// # Errors
/// The store fails.
pub fn notify(
    transaction: &Transaction<'_>,
    alert: i64,
    item: Uuid,
    document: &[u8],
    at_ms: i64,
) -> rusqlite::Result<()> {
    let stored = snapshot(transaction, document)?;
    enqueue(
        transaction,
        alert,
        Branch::Updated,
        FlxId(item),
        Some(stored),
        at_ms,
    )
}
