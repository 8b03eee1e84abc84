//! The outbox: notifications for receivers, written in the transaction that caused them.
//!
//! A notification is one item of one alert. Its number determines the order in which the alert's receiver gets the
//! items. An advert is delivered as it was at the time of the notification, so its text is stored as a snapshot, once
//! for all alerts that matched.

use rusqlite::{Connection, Transaction};

use toise_contract::listings::codes::FlxId;

toise_base::named! {
    /// The array of a delivery's body that an item belongs to.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Branch {
        /// A first match.
        Created = "created",
        /// An event on an item that the alert matched before.
        Updated = "updated",
    }
}

/// Puts an item in the outbox of an alert; durable with the caller's transaction.
///
/// `item` identifies the property or advert. For advert alerts `snapshot` is the number of a [`snapshot`]: the whole
/// record for [`Branch::Created`], the reduced record with its event for [`Branch::Updated`].
pub fn enqueue(
    transaction: &Transaction<'_>,
    alert: i64,
    branch: Branch,
    item: FlxId,
    snapshot: Option<i64>,
    at_ms: i64,
) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "INSERT INTO outbox (alert, branch, item, snapshot, created_at_ms) VALUES (?1, ?2, ?3, ?4, ?5)",
        )?
        .execute((
            alert,
            branch.as_str(),
            item.0.as_bytes(),
            snapshot,
            at_ms,
        ))?;
    Ok(())
}

/// Returns the number of the last notification; 0 if there is none.
pub(super) fn last_notification(connection: &Connection) -> rusqlite::Result<i64> {
    connection
        .prepare_cached("SELECT coalesce(max(notification), 0) FROM outbox")?
        .query_row([], |row| row.get(0))
}

/// Stores a record, compressed by [`toise_store::document`], and returns its number; durable with the caller's
/// transaction.
///
/// One snapshot serves every alert that is notified of the same event. Its text is copied into the body unchanged.
pub fn snapshot(transaction: &Transaction<'_>, document: &[u8]) -> rusqlite::Result<i64> {
    transaction
        .prepare_cached("INSERT INTO snapshots (document) VALUES (?1)")?
        .execute([document])?;
    Ok(transaction.last_insert_rowid())
}
