//! Listings as they stand: records by identifier, by key and by address.
//!
//! Records come as JSON texts ready to be spliced into an answer: they are decompressed, never parsed. An identifier
//! of a property that was joined to another answers with that other.

use rusqlite::{Connection, OptionalExtension, Row};

use crate::adverts::identity::UrlDigest;
use crate::properties::record_key::RecordKey;
use crate::records::rows::{self, failed, flx_id};
use crate::{Listings, Result};
use toise_contract::listings::codes::FlxId;
use toise_store::document;

/// Records that are moved in one transaction: others who write wait so long.
const MOVE_BATCH_SIZE: usize = 256;

/// An advert that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownAdvert {
    /// Its identifier.
    pub advert: FlxId,
    /// When it was seen last, Unix milliseconds.
    pub observed_at_ms: i64,
}

impl Listings {
    /// The record of a property, or of the one it was joined to. Blocks: one or two indexed rows.
    pub fn property(&self, id: FlxId) -> Result<Option<Vec<u8>>> {
        Ok(self.store.read(|connection| property(connection, id))?)
    }

    /// The records of many properties, in the order of their identifiers; `None` for those there are not. Blocks.
    pub fn properties(&self, ids: &[FlxId]) -> Result<Vec<Option<Vec<u8>>>> {
        Ok(self.store.read_snapshot(|connection| {
            let all = ids.iter().map(|id| property(connection, *id));
            all.collect()
        })?)
    }

    /// The records of properties that stand for themselves, by their keys and in their order; the others are left
    /// out. Blocks: one row each.
    pub fn properties_by_key(&self, keys: &[RecordKey]) -> Result<Vec<Vec<u8>>> {
        let documents = self.documents(keys)?;
        let there = documents.iter().flatten();
        Ok(there
            .map(|document| document::decode(document))
            .collect::<std::result::Result<_, _>>()?)
    }

    /// Writes the records of properties that stand for themselves, by their keys and in their order, separated by
    /// commas; the others are left out. Blocks: one row each.
    pub fn write_properties(&self, keys: &[RecordKey], to: &mut Vec<u8>) -> Result<()> {
        let start = to.len();
        for document in self.documents(keys)?.iter().flatten() {
            if to.len() > start {
                to.push(b',');
            }
            document::decode_into(document, to)?;
        }
        Ok(())
    }

    /// The record of the property an advert belongs to. Blocks.
    pub fn property_of_advert(&self, advert: FlxId) -> Result<Option<Vec<u8>>> {
        let sql = "SELECT records.document FROM adverts JOIN properties USING (property) JOIN records USING (record)
             WHERE advert_id = ?1";
        let reading = |connection: &Connection| {
            let mut statement = connection.prepare_cached(sql)?;
            statement
                .query_row([advert.0.as_bytes()], |row| text(row, 0))
                .optional()
        };
        Ok(self.store.read(reading)?)
    }

    /// The advert under the digest of an address. Blocks: one indexed row.
    pub fn known(&self, digest: &UrlDigest) -> Result<Option<KnownAdvert>> {
        let sql = "SELECT advert_id, observed_at_ms FROM adverts WHERE url_digest = ?1";
        let found = self.store.read(|connection| {
            let mut statement = connection.prepare_cached(sql)?;
            let known = |row: &rusqlite::Row<'_>| {
                Ok(KnownAdvert {
                    advert: rows::flx_id(row, 0)?,
                    observed_at_ms: row.get(1)?,
                })
            };
            statement.query_row([digest], known).optional()
        })?;
        Ok(found)
    }

    /// The record of an advert. Blocks.
    pub fn advert(&self, id: FlxId) -> Result<Option<Vec<u8>>> {
        Ok(self.store.read(|connection| advert(connection, id))?)
    }

    /// The records of many adverts, in the order of their identifiers; `None` for those there are not. Blocks.
    pub fn adverts(&self, ids: &[FlxId]) -> Result<Vec<Option<Vec<u8>>>> {
        Ok(self.store.read_snapshot(|connection| {
            let all = ids.iter().map(|id| advert(connection, *id));
            all.collect()
        })?)
    }

    /// Moves records of properties, by their numbers, to keys of the same numbers, where they are not there already; those
    /// of properties that were joined to another are left alone. Durable on return. Blocks: tens of milliseconds for each
    /// group, which others who write wait for.
    pub fn move_records(&self, to: &[RecordKey]) -> Result<()> {
        for group in to.chunks(MOVE_BATCH_SIZE) {
            let group = group.to_vec();
            self.store.write(move |transaction| {
                let mut copy = transaction.prepare_cached(
                    "INSERT INTO records SELECT ?2, document FROM properties JOIN records USING (record)
                     WHERE property = ?1 AND record <> ?2",
                )?;
                let mut delete = transaction.prepare_cached(
                    "DELETE FROM records WHERE record = (SELECT record FROM properties WHERE property = ?1)",
                )?;
                let mut point = transaction
                    .prepare_cached("UPDATE properties SET record = ?2 WHERE property = ?1")?;
                for key in group {
                    if copy.execute((key.number(), key.0))? == 1 {
                        delete.execute([key.number()])?;
                        point.execute((key.number(), key.0))?;
                    }
                }
                Ok(())
            })?;
        }
        Ok(())
    }
}

fn property(connection: &Connection, id: FlxId) -> rusqlite::Result<Option<Vec<u8>>> {
    let sql = "SELECT document FROM properties own
         LEFT JOIN properties survivor ON survivor.property = own.merged_into
         JOIN records ON records.record = coalesce(own.record, survivor.record) WHERE own.property_id = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    statement
        .query_row([id.0.as_bytes()], |row| text(row, 0))
        .optional()
}

/// The text of an advert's record: its document with the property's identifier at the end.
fn advert(connection: &Connection, id: FlxId) -> rusqlite::Result<Option<Vec<u8>>> {
    let sql = "SELECT adverts.document, property_id FROM adverts JOIN properties USING (property) WHERE advert_id = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    let record = |row: &Row<'_>| {
        let mut record = text(row, 0)?;
        append_property(&mut record, flx_id(row, 1)?)?;
        Ok(record)
    };
    statement.query_row([id.0.as_bytes()], record).optional()
}

/// The text of a document.
fn text(row: &Row<'_>, column: usize) -> rusqlite::Result<Vec<u8>> {
    document::decode(row.get_ref(column)?.as_blob()?).map_err(failed)
}

/// Puts the property's identifier at the end of an advert's document.
pub(super) fn append_property(document: &mut Vec<u8>, property: FlxId) -> rusqlite::Result<()> {
    if document.pop() != Some(b'}') {
        return Err(failed("a stored advert is no JSON object"));
    }
    let end = format!(r#","mainPropertyAdFlxId":"{property}","propertyFlxId":"{property}"}}"#);
    document.extend_from_slice(end.as_bytes());
    Ok(())
}
