//! Stores the items whose writes reached the alerts of only one account, with the last record that all other alerts
//! saw.
//!
//! A page that an account collected, and that others do not have to trust, reaches only the alerts of that account; the
//! other alerts are not tested. The next write that reaches all alerts is compared with the record that the others last
//! saw, so they are notified of exactly what is new to them.

use rusqlite::{Connection, OptionalExtension, Transaction};
use uuid::Uuid;

use toise_contract::listings::codes::FlxId;

/// A record as it was before a write; parsed only if an alert needs it.
#[derive(Clone, Debug)]
pub struct FormerRecord {
    /// The record as stored ([`toise_store::document`]).
    pub document: Vec<u8>,
    /// For an advert, the property it belonged to.
    pub property: Option<FlxId>,
}

/// The kind of an item.
#[derive(Clone, Copy, Debug)]
pub(super) enum ItemKind {
    Property = 0,
    Advert = 1,
}

/// Returns whether anything is withheld. Costs one lookup in a table that is nearly always empty.
pub(super) fn is_any(connection: &Connection) -> rusqlite::Result<bool> {
    let mut statement = connection.prepare_cached("SELECT 1 FROM withheld LIMIT 1")?;
    Ok(statement.query_row([], |_| Ok(())).optional()?.is_some())
}

/// Stores the last record of an item that the other alerts saw, before a write that does not reach them. `former` is
/// empty for a new item. Keeps what is already stored.
pub(super) fn withhold(
    transaction: &Transaction<'_>,
    kind: ItemKind,
    item: i64,
    former: &[FormerRecord],
) -> rusqlite::Result<()> {
    let known = "SELECT 1 FROM withheld WHERE kind = ?1 AND item = ?2";
    if transaction
        .prepare_cached(known)?
        .exists((kind as i64, item))?
    {
        return Ok(());
    }
    let sql = "INSERT INTO withheld (kind, item, document, property) VALUES (?1, ?2, ?3, ?4)";
    let mut statement = transaction.prepare_cached(sql)?;
    if former.is_empty() {
        statement.execute((kind as i64, item, None::<&[u8]>, None::<&[u8]>))?;
    }
    for record in former {
        let property = record.property.map(|property| property.0);
        let property = property.as_ref().map(Uuid::as_bytes);
        statement.execute((kind as i64, item, &record.document, property))?;
    }
    Ok(())
}

/// Ends the withholding of an item and returns the records that the other alerts last saw; `None` if it was not
/// withheld.
pub(super) fn release(
    transaction: &Transaction<'_>,
    kind: ItemKind,
    item: i64,
) -> rusqlite::Result<Option<Vec<FormerRecord>>> {
    let sql = "DELETE FROM withheld WHERE kind = ?1 AND item = ?2 RETURNING document, property";
    let mut statement = transaction.prepare_cached(sql)?;
    let mut rows = statement.query((kind as i64, item))?;
    let mut known = None;
    while let Some(row) = rows.next()? {
        let known: &mut Vec<FormerRecord> = known.get_or_insert_default();
        if let Some(document) = row.get(0)? {
            let property: Option<[u8; 16]> = row.get(1)?;
            known.push(FormerRecord {
                document,
                property: property.map(|bytes| FlxId(Uuid::from_bytes(bytes))),
            });
        }
    }
    Ok(known)
}
