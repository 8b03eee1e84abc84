//! What was written for the alerts of one account alone, and what all others last knew of it.
//!
//! A page that somebody collected whom others need not believe reaches the alerts of that account only. For the alerts of
//! others nothing was written then: the next write for all is judged against the record that they knew, so that what is
//! news to them is announced, and nothing else.

use rusqlite::{Connection, OptionalExtension, Transaction};
use uuid::Uuid;

use toise_contract::listings::codes::FlxId;

/// A record as it was before a write, to be parsed only if an alert asks for it.
#[derive(Clone, Debug)]
pub struct FormerRecord {
    /// The record as stored ([`toise_store::document`]).
    pub document: Vec<u8>,
    /// For an advert, the property it belonged to.
    pub property: Option<FlxId>,
}

/// What an item is.
#[derive(Clone, Copy, Debug)]
pub(super) enum ItemKind {
    Property = 0,
    Advert = 1,
}

/// Whether anything is withheld. Costs one look at a table that is nearly always empty.
pub(super) fn is_any(connection: &Connection) -> rusqlite::Result<bool> {
    let mut statement = connection.prepare_cached("SELECT 1 FROM withheld LIMIT 1")?;
    Ok(statement.query_row([], |_| Ok(())).optional()?.is_some())
}

/// Notes what others know of an item, before a write that they are not told of; `former` is empty for a new one.
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

/// The records of an item as those last knew them from whom it was withheld, which ends; `None` if it was not withheld.
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
