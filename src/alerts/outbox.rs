//! The outbox: what receivers are to be told, written in the transaction that caused it.
//!
//! A notification is one item of one alert. Its number gives the order in which an alert's receiver learns of things.
//! Adverts are told as they were at that moment, so their text is kept beside, once for all alerts that matched.

use rusqlite::{Connection, Error, Transaction};

use toise_contract::listings::codes::FlxId;
use toise_store::document;

/// Which array of a delivery's body tells of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Branch {
    /// A first match.
    Created,
    /// What happened to an item that the alert matched before.
    Updated,
}

impl Branch {
    /// The name of the array.
    pub fn as_str(self) -> &'static str {
        match self {
            Branch::Created => "created",
            Branch::Updated => "updated",
        }
    }

    /// The branch of a name.
    pub fn parse(text: &str) -> Option<Self> {
        [Branch::Created, Branch::Updated]
            .into_iter()
            .find(|branch| branch.as_str() == text)
    }
}

/// Puts an item in the outbox of an alert; durable with the caller's transaction.
///
/// `item` identifies the property or advert. Advert alerts give the number of a [`snapshot`]: the whole record for
/// [`Branch::Created`], the reduced one with its event for [`Branch::Updated`].
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

/// Number of the last notification; 0 when there is none.
pub(super) fn last_notification(connection: &Connection) -> rusqlite::Result<i64> {
    connection
        .prepare_cached("SELECT coalesce(max(notification), 0) FROM outbox")?
        .query_row([], |row| row.get(0))
}

/// Keeps the JSON text of a record as it is told, and gives its number; durable with the caller's transaction.
///
/// One snapshot serves every alert that is told of the same occurrence. The text goes into a body as it is.
pub fn snapshot(transaction: &Transaction<'_>, record: &[u8]) -> rusqlite::Result<i64> {
    let document = document::compress(record)
        .map_err(|error| Error::ToSqlConversionFailure(Box::new(error)))?;
    transaction
        .prepare_cached("INSERT INTO snapshots (document) VALUES (?1)")?
        .execute([document])?;
    Ok(transaction.last_insert_rowid())
}
