//! Reads of current records: by identifier, by key and by URL.
//!
//! Records are returned as JSON texts ready to be spliced into a response: they are decompressed, never parsed. The
//! identifier of a merged property returns the surviving one.

use rusqlite::{Connection, OptionalExtension, Row};

use crate::adverts::identity::UrlDigest;
use crate::properties::record_key::RecordKey;
use crate::records::rows::{blob, first_row, flx_id};
use crate::{Error, Listings, Result};
use toise_contract::listings::codes::FlxId;
use toise_store::document;

/// Records moved per transaction; other writers wait for each one.
const MOVE_BATCH_SIZE: usize = 256;

/// A known advert.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownAdvert {
    /// Its identifier.
    pub advert: FlxId,
    /// Time of its last sighting, Unix milliseconds.
    pub observed_at_ms: i64,
}

impl Listings {
    /// Returns the record of a property, or of the one it was merged into. Blocks: one or two indexed rows.
    pub fn property(&self, id: FlxId) -> Result<Option<Vec<u8>>> {
        self.store.read_with(|connection| property(connection, id))
    }

    /// Returns the records of many properties, in the order of `ids`; `None` for unknown identifiers. Blocks.
    pub fn properties(&self, ids: &[FlxId]) -> Result<Vec<Option<Vec<u8>>>> {
        self.store.read_snapshot_with(|connection| {
            let all = ids.iter().map(|id| property(connection, *id));
            all.collect()
        })
    }

    /// Returns the records of properties by key, in the order of `keys`; properties merged into another are skipped.
    /// Blocks: one row each.
    pub fn properties_by_key(&self, keys: &[RecordKey]) -> Result<Vec<Vec<u8>>> {
        let documents = self.documents(keys)?;
        let present = keys.iter().zip(&documents);
        let texts = present.filter_map(|(key, document)| {
            let text = document::decode(document.as_deref()?);
            Some(text.map_err(|error| named(error, *key)))
        });
        texts.collect()
    }

    /// Appends the records of properties by key to `to`, in the order of `keys`, separated by commas; properties merged
    /// into another are skipped. Blocks: one row each.
    pub fn write_properties(&self, keys: &[RecordKey], to: &mut Vec<u8>) -> Result<()> {
        let start = to.len();
        for (key, document) in keys.iter().zip(self.documents(keys)?) {
            let Some(document) = document else { continue };
            if to.len() > start {
                to.push(b',');
            }
            document::decode_into(&document, to).map_err(|error| named(error, *key))?;
        }
        Ok(())
    }

    /// Returns the record of the property an advert belongs to. Blocks.
    pub fn property_of_advert(&self, advert: FlxId) -> Result<Option<Vec<u8>>> {
        let sql = "SELECT records.document FROM adverts JOIN properties USING (property) JOIN records USING (record)
             WHERE advert_id = ?1";
        self.store.read_with(|connection| {
            let mut statement = connection.prepare_cached(sql)?;
            first_row(&mut statement, [advert.0.as_bytes()], |row| {
                text(row, 0, advert)
            })
        })
    }

    /// Returns the advert with a URL digest. Blocks: one indexed row.
    pub fn known(&self, digest: &UrlDigest) -> Result<Option<KnownAdvert>> {
        let sql = "SELECT advert_id, observed_at_ms FROM adverts WHERE url_digest = ?1";
        let found = self.store.read(|connection| {
            let mut statement = connection.prepare_cached(sql)?;
            let known = |row: &rusqlite::Row<'_>| {
                Ok(KnownAdvert {
                    advert: flx_id(row, 0)?,
                    observed_at_ms: row.get(1)?,
                })
            };
            statement.query_row([digest], known).optional()
        })?;
        Ok(found)
    }

    /// Returns the record of an advert. Blocks.
    pub fn advert(&self, id: FlxId) -> Result<Option<Vec<u8>>> {
        self.store.read_with(|connection| advert(connection, id))
    }

    /// Returns the records of many adverts, in the order of `ids`; `None` for unknown identifiers. Blocks.
    pub fn adverts(&self, ids: &[FlxId]) -> Result<Vec<Option<Vec<u8>>>> {
        self.store.read_snapshot_with(|connection| {
            let all = ids.iter().map(|id| advert(connection, *id));
            all.collect()
        })
    }

    /// Moves the records of properties to the given keys. Each key contains the property's number. Records already
    /// under their key, and properties merged into another, are skipped. Returns once the write is durable. Blocks:
    /// tens of milliseconds for each group, during which other writers wait.
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

fn property(connection: &Connection, id: FlxId) -> Result<Option<Vec<u8>>> {
    let sql = "SELECT document FROM properties own
         LEFT JOIN properties survivor ON survivor.property = own.merged_into
         JOIN records ON records.record = coalesce(own.record, survivor.record) WHERE own.property_id = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    first_row(&mut statement, [id.0.as_bytes()], |row| text(row, 0, id))
}

/// Returns the JSON text of an advert's record: its document with the property's identifier appended.
fn advert(connection: &Connection, id: FlxId) -> Result<Option<Vec<u8>>> {
    let sql = "SELECT adverts.document, property_id FROM adverts JOIN properties USING (property) WHERE advert_id = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    first_row(&mut statement, [id.0.as_bytes()], |row| {
        let mut record = text(row, 0, id)?;
        append_property(&mut record, flx_id(row, 1)?)?;
        Ok(record)
    })
}

/// Decompresses a document column of the requested record.
fn text(row: &Row<'_>, column: usize, id: FlxId) -> Result<Vec<u8>> {
    Ok(document::decode(blob(row, column)?).map_err(|error| error.of(id))?)
}

/// Adds the property's number in the store to the error of its record.
fn named(error: document::Error, key: RecordKey) -> Error {
    error
        .of(format_args!("property number {}", key.number()))
        .into()
}

/// Appends the property's identifier to an advert's document.
pub(super) fn append_property(document: &mut Vec<u8>, property: FlxId) -> Result<()> {
    if document.pop() != Some(b'}') {
        return Err(Error::NotAnObject);
    }
    let end = format!(r#","mainPropertyAdFlxId":"{property}","propertyFlxId":"{property}"}}"#);
    document.extend_from_slice(end.as_bytes());
    Ok(())
}
