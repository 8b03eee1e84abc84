//! Listings as they stand: records by identifier, changes by number, and the one thing a person decides about them.
//!
//! Records come as JSON texts ready to be spliced into an answer: they are decompressed, never parsed. An identifier
//! of a property that was joined to another answers with that other.

use std::sync::Arc;

use rayon::iter::{IntoParallelIterator, ParallelIterator};
use rusqlite::{Connection, OptionalExtension, Row};

use super::percolation::Percolation;
use super::record_key::RecordKey;
use super::rows::{self, failed, flx_id};
use super::tables::Tables;
use super::{Error, Listings, Result, document};
use toise_contract::listings::codes::FlxId;
use toise_contract::listings::filters::Listing;

/// Changes one call gives at most.
pub const CHANGES_MAX: usize = 10_000;
/// Records that are moved in one transaction: others who write wait so long.
const MOVED_TOGETHER: usize = 256;

/// A record that changed, as it is now.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// Number of its last change; every change of any record has its own, in order of commit.
    pub sequence: i64,
    /// Its number in its table, the same for life.
    pub number: i64,
    /// Of a property: the key its record is kept under.
    pub key: RecordKey,
    /// Its identifier.
    pub id: FlxId,
    /// Its record, JSON text; `None` of a property that was joined to another: it is none of its own any more.
    pub record: Option<Vec<u8>>,
}

/// The adverts, or the properties, that changed after a number.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Changes {
    /// The records, in order of their last change. One that changed again comes once, with its later number.
    pub records: Vec<Change>,
    /// Number they reach through: what changed after it is still to be asked for, nothing else is.
    pub through: i64,
}

impl Listings {
    /// The record of a property, or of the one it was joined to. Blocks: one or two indexed rows.
    pub fn property(&self, id: FlxId) -> Result<Option<Vec<u8>>> {
        Ok(self.store.read(|connection| property(connection, id))?)
    }

    /// The records of many properties, in the order of their identifiers; `None` for those there are not. Blocks.
    pub fn properties(&self, ids: &[FlxId]) -> Result<Vec<Option<Vec<u8>>>> {
        Ok(self.store.read_at_once(|connection| {
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
            document::decode_onto(document, to)?;
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

    /// The record of an advert. Blocks.
    pub fn advert(&self, id: FlxId) -> Result<Option<Vec<u8>>> {
        Ok(self.store.read(|connection| advert(connection, id))?)
    }

    /// The records of many adverts, in the order of their identifiers; `None` for those there are not. Blocks.
    pub fn adverts(&self, ids: &[FlxId]) -> Result<Vec<Option<Vec<u8>>>> {
        Ok(self.store.read_at_once(|connection| {
            let all = ids.iter().map(|id| advert(connection, *id));
            all.collect()
        })?)
    }

    /// Number of the last change; 0 when there is none. Blocks.
    pub fn last_sequence(&self) -> Result<i64> {
        Ok(self.store.read(rows::last_sequence)?)
    }

    /// The adverts or properties that changed after a number; see [`Moment::changes_since`]. Blocks.
    pub fn changes_since(&self, of: Listing, sequence: i64, limit: usize) -> Result<Changes> {
        self.at_one_moment(|moment| moment.changes_since(of, sequence, limit))
    }

    /// How many adverts or properties changed after a number; counts to `limit` and no further. Blocks: milliseconds for
    /// 100,000.
    pub fn count_since(&self, of: Listing, sequence: i64, limit: usize) -> Result<usize> {
        let sql = format!(
            "SELECT count(*) FROM (SELECT 1 FROM {} WHERE sequence > ?1 LIMIT ?2)",
            of.table()
        );
        let counting = |connection: &Connection| {
            let mut statement = connection.prepare_cached(&sql)?;
            statement.query_row((sequence, limit as i64), |row| row.get::<_, i64>(0))
        };
        Ok(self.store.read(counting)? as usize)
    }

    /// Runs several readings that see the same state, whatever is committed meanwhile. The store's log of writes grows
    /// until they end. Blocks.
    pub fn at_one_moment<T, E: From<Error>>(
        &self,
        reading: impl FnOnce(&Moment<'_>) -> std::result::Result<T, E>,
    ) -> std::result::Result<T, E> {
        let all = self.store.read(|connection| {
            let transaction = connection.unchecked_transaction()?;
            Ok(reading(&Moment {
                connection: &transaction,
            }))
        });
        all.map_err(Error::from)?
    }

    /// Moves records of properties, by their numbers, to keys of the same numbers, where they are not there already; those
    /// of properties that were joined to another are left alone. Durable on return. Blocks: tens of milliseconds for each
    /// group, which others who write wait for.
    pub fn move_records(&self, to: &[RecordKey]) -> Result<()> {
        for group in to.chunks(MOVED_TOGETHER) {
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
fn append_property(document: &mut Vec<u8>, property: FlxId) -> rusqlite::Result<()> {
    if document.pop() != Some(b'}') {
        return Err(failed("a stored advert is no JSON object"));
    }
    let end = format!(r#","mainPropertyAdFlxId":"{property}","propertyFlxId":"{property}"}}"#);
    document.extend_from_slice(end.as_bytes());
    Ok(())
}

/// The listings as one reading sees them.
pub struct Moment<'c> {
    connection: &'c Connection,
}

impl Moment<'_> {
    /// The adverts or properties that changed after a number, the earliest `limit` of them (and at most
    /// [`CHANGES_MAX`]).
    ///
    /// A projection that starts at 0 and goes on from the last number it was given misses nothing: numbers are given in
    /// the order of commits, under the store's one write lock.
    pub fn changes_since(&self, of: Listing, sequence: i64, limit: usize) -> Result<Changes> {
        let limit = limit.min(CHANGES_MAX);
        let changes = self.read_changes(of, sequence, limit);
        Ok(changes.map_err(toise_store::Error::from)?)
    }

    fn read_changes(&self, of: Listing, after: i64, limit: usize) -> rusqlite::Result<Changes> {
        let stored = match of {
            Listing::Advert => changed_adverts(self.connection, after, limit)?,
            Listing::Property => changed_properties(self.connection, after, limit)?,
        };
        let through = match stored.last() {
            Some(last) if stored.len() == limit => last.sequence,
            _ => rows::last_sequence(self.connection)?.max(after),
        };
        let records = stored.into_par_iter().map(StoredChange::read);
        Ok(Changes {
            records: records.collect::<rusqlite::Result<_>>()?,
            through,
        })
    }
}

/// A changed record as the store keeps it.
struct StoredChange {
    sequence: i64,
    number: i64,
    key: RecordKey,
    id: FlxId,
    document: Option<Vec<u8>>,
    /// Of an advert: its property.
    property: Option<FlxId>,
}

impl StoredChange {
    fn read(self) -> rusqlite::Result<Change> {
        let text = self.document.as_deref().map(document::decode).transpose();
        let mut record = text.map_err(failed)?;
        if let (Some(text), Some(property)) = (&mut record, self.property) {
            append_property(text, property)?;
        }
        Ok(Change {
            sequence: self.sequence,
            number: self.number,
            key: self.key,
            id: self.id,
            record,
        })
    }
}

fn changed_adverts(
    connection: &Connection,
    after: i64,
    limit: usize,
) -> rusqlite::Result<Vec<StoredChange>> {
    let sql = "SELECT adverts.sequence, advert, advert_id, adverts.document, property_id
         FROM adverts JOIN properties USING (property)
         WHERE adverts.sequence > ?1 ORDER BY adverts.sequence LIMIT ?2";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map((after, limit as i64), |row| {
        Ok(StoredChange {
            sequence: row.get(0)?,
            number: row.get(1)?,
            key: RecordKey::unplaced(row.get(1)?),
            id: flx_id(row, 2)?,
            document: row.get(3)?,
            property: Some(flx_id(row, 4)?),
        })
    })?;
    rows.collect()
}

fn changed_properties(
    connection: &Connection,
    after: i64,
    limit: usize,
) -> rusqlite::Result<Vec<StoredChange>> {
    let sql = "SELECT sequence, property, property_id, document, record FROM properties LEFT JOIN records USING (record)
         WHERE sequence > ?1 ORDER BY sequence LIMIT ?2";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map((after, limit as i64), |row| {
        Ok(StoredChange {
            sequence: row.get(0)?,
            number: row.get(1)?,
            id: flx_id(row, 2)?,
            document: row.get(3)?,
            key: RecordKey(row.get::<_, Option<i64>>(4)?.unwrap_or_default()),
            property: None,
        })
    })?;
    rows.collect()
}
