//! Listings as they stand: records by identifier, changes by number, and the one thing a person decides about them.
//!
//! Records come as JSON texts ready to be spliced into an answer: they are decompressed, never parsed. An identifier
//! of a property that was joined to another answers with that other.

use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension, Row};

use super::percolation::Percolation;
use super::rows::{self, failed, flx_id};
use super::tables::Tables;
use super::{Error, Listings, Result, document};
use crate::wire::listings::codes::FlxId;

/// Changes one call gives at most.
pub const CHANGES_MAX: usize = 10_000;

/// A record that changed, as it is now.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// Number of its last change; every change of any record has its own, in order of commit.
    pub sequence: i64,
    /// The record.
    pub record: Changed,
}

/// What changed.
#[derive(Clone, Debug, PartialEq)]
pub enum Changed {
    /// An advert.
    Advert {
        /// Its identifier.
        id: FlxId,
        /// Its record, JSON text.
        record: Vec<u8>,
    },
    /// A property.
    Property {
        /// Its identifier.
        id: FlxId,
        /// Its record, JSON text; `None` once it was joined to another: it is no property of its own any more.
        record: Option<Vec<u8>>,
    },
}

/// The columns of an advert's record: document, then the identifier of its property.
const ADVERT_RECORD: &str = "adverts.document, properties.property_id";

impl Listings {
    /// The record of a property, or of the one it was joined to. Blocks: one or two indexed rows.
    pub fn property(&self, id: FlxId) -> Result<Option<Vec<u8>>> {
        Ok(self.store.read(|connection| property(connection, id))?)
    }

    /// The records of many properties, in the order of their identifiers; `None` for those there are not. Blocks.
    pub fn properties(&self, ids: &[FlxId]) -> Result<Vec<Option<Vec<u8>>>> {
        let all =
            |connection: &Connection| ids.iter().map(|id| property(connection, *id)).collect();
        Ok(self.store.read(all)?)
    }

    /// The record of the property an advert belongs to. Blocks.
    pub fn property_of_advert(&self, advert: FlxId) -> Result<Option<Vec<u8>>> {
        let sql = "SELECT properties.document FROM adverts JOIN properties USING (property) WHERE advert_id = ?1";
        let reading = |connection: &Connection| {
            let mut statement = connection.prepare_cached(sql)?;
            statement
                .query_row([advert.0.as_bytes()], |row| text(row, 0))
                .optional()
        };
        Ok(self.store.read(reading)?)
    }

    /// The record of an advert. Blocks.
    pub fn advert(&self, id: FlxId) -> Result<Option<Vec<u8>>> {
        let sql = format!(
            "SELECT {ADVERT_RECORD} FROM adverts JOIN properties USING (property) WHERE advert_id = ?1"
        );
        let reading = |connection: &Connection| {
            let mut statement = connection.prepare_cached(&sql)?;
            statement
                .query_row([id.0.as_bytes()], |row| advert_text(row, 0))
                .optional()
        };
        Ok(self.store.read(reading)?)
    }

    /// Number of the last change; 0 when there is none. Blocks.
    pub fn last_sequence(&self) -> Result<i64> {
        Ok(self.store.read(rows::last_sequence)?)
    }

    /// The records that changed after a number, in order of their last change, at most `limit` of them (and at most
    /// [`CHANGES_MAX`]). A record that changed again comes once, with its later number. Blocks.
    ///
    /// A projection that starts at 0 and goes on from the last number it was given misses nothing: numbers are given in
    /// the order of commits, under the store's one write lock.
    pub fn changes_since(&self, sequence: i64, limit: usize) -> Result<Vec<Change>> {
        let limit = limit.min(CHANGES_MAX);
        let reading = |connection: &Connection| {
            // One transaction: both tables are seen at the same moment.
            let transaction = connection.unchecked_transaction()?;
            let mut changes = changed_adverts(&transaction, sequence, limit)?;
            changes.extend(changed_properties(&transaction, sequence, limit)?);
            changes.sort_by_key(|change| change.sequence);
            changes.truncate(limit);
            Ok(changes)
        };
        Ok(self.store.read(reading)?)
    }

    /// Moves adverts out of a property into one of their own, whose identifier is given; they are never joined to those
    /// they leave again. Durable on return. Blocks.
    ///
    /// # Errors
    /// [`Error::Refused`] when the property is not there, does not hold an advert, or none would stay.
    pub fn split(&self, property: FlxId, adverts: &[FlxId]) -> Result<FlxId> {
        let adverts = adverts.to_vec();
        let percolator = Arc::clone(&self.percolator);
        let now_ms = self.clock.now().timestamp_millis();
        self.load_alerts()?;
        let parted = self.store.write(move |transaction| {
            let number = transaction
                .prepare_cached(
                    "SELECT coalesce(merged_into, property) FROM properties WHERE property_id = ?1",
                )?
                .query_row([property.0.as_bytes()], |row| row.get(0))
                .optional()?;
            let Some(number) = number else {
                return Ok(Err(format!("no property {property}")));
            };
            let members = rows::members(transaction, number)?;
            let mut leaving = Vec::with_capacity(adverts.len());
            for id in &adverts {
                match members
                    .iter()
                    .find(|(_, member)| member.advert.flx_id == Some(*id))
                {
                    Some((advert, _)) => leaving.push(*advert),
                    None => return Ok(Err(format!("property {property} holds no advert {id}"))),
                }
            }
            leaving.sort_unstable();
            leaving.dedup();
            if leaving.is_empty() || leaving.len() == members.len() {
                let rule = "name some of the property's adverts, but not all";
                return Ok(Err(format!("nothing to split: {rule}")));
            }
            let percolation = Percolation::begin(&percolator, transaction, now_ms)?;
            let mut tables = Tables::begin(transaction, percolation)?;
            let id = tables.split(number, &leaving)?;
            tables.end()?;
            Ok(Ok(id))
        });
        if parted.is_err() {
            self.percolator.forget();
        }
        parted?.map_err(Error::Refused)
    }
}

fn property(connection: &Connection, id: FlxId) -> rusqlite::Result<Option<Vec<u8>>> {
    let sql = "SELECT coalesce(own.document, survivor.document) FROM properties own
         LEFT JOIN properties survivor ON survivor.property = own.merged_into WHERE own.property_id = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    statement
        .query_row([id.0.as_bytes()], |row| text(row, 0))
        .optional()
}

/// The text of a document.
fn text(row: &Row<'_>, column: usize) -> rusqlite::Result<Vec<u8>> {
    document::decode(row.get_ref(column)?.as_blob()?).map_err(failed)
}

/// The text of an advert's record: its document with the property's identifier at the end.
fn advert_text(row: &Row<'_>, column: usize) -> rusqlite::Result<Vec<u8>> {
    let mut record = text(row, column)?;
    let property = flx_id(row, column + 1)?;
    if record.pop() != Some(b'}') {
        return Err(failed("a stored advert is no JSON object"));
    }
    let end = format!(r#","mainPropertyAdFlxId":"{property}","propertyFlxId":"{property}"}}"#);
    record.extend_from_slice(end.as_bytes());
    Ok(record)
}

fn changed_adverts(
    connection: &Connection,
    after: i64,
    limit: usize,
) -> rusqlite::Result<Vec<Change>> {
    let sql = format!(
        "SELECT {ADVERT_RECORD}, adverts.sequence, advert_id FROM adverts JOIN properties USING (property)
         WHERE adverts.sequence > ?1 ORDER BY adverts.sequence LIMIT ?2"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let rows = statement.query_map((after, limit as i64), |row| {
        Ok(Change {
            sequence: row.get(2)?,
            record: Changed::Advert {
                id: flx_id(row, 3)?,
                record: advert_text(row, 0)?,
            },
        })
    })?;
    rows.collect()
}

fn changed_properties(
    connection: &Connection,
    after: i64,
    limit: usize,
) -> rusqlite::Result<Vec<Change>> {
    let sql = "SELECT sequence, property_id, document FROM properties
         WHERE sequence > ?1 ORDER BY sequence LIMIT ?2";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map((after, limit as i64), |row| {
        let document = row.get_ref(2)?.as_blob_or_null()?;
        Ok(Change {
            sequence: row.get(0)?,
            record: Changed::Property {
                id: flx_id(row, 1)?,
                record: document.map(document::decode).transpose().map_err(failed)?,
            },
        })
    })?;
    rows.collect()
}
