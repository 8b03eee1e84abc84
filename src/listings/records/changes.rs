//! What changed in listings after a number, so that tables and indexes are kept from the store.
//!
//! Every change of a record takes the next number of one sequence, in the order of commits; a record that changed again
//! comes once, with its later number.

use rayon::iter::{IntoParallelIterator, ParallelIterator};
use rusqlite::Connection;

use super::read::append_property;
use super::rows::{self, failed, flx_id};
use crate::properties::record_key::RecordKey;
use crate::{Error, Listings, Result};
use toise_contract::listings::codes::FlxId;
use toise_contract::listings::filters::ListingKind;
use toise_store::document;

/// Changes one call gives at most.
pub const CHANGES_MAX: usize = 10_000;

/// A record that changed, as it is now.
#[derive(Clone, Debug, PartialEq)]
pub struct ListingChange {
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
pub struct ListingChanges {
    /// The records, in order of their last change. One that changed again comes once, with its later number.
    pub records: Vec<ListingChange>,
    /// Number they reach through: what changed after it is still to be asked for, nothing else is.
    pub through: i64,
}

impl Listings {
    /// Number of the last change; 0 when there is none. Blocks.
    pub fn last_sequence(&self) -> Result<i64> {
        Ok(self.store.read(rows::last_sequence)?)
    }

    /// The adverts or properties that changed after a number; see [`ListingsSnapshot::changes_since`]. Blocks.
    pub fn changes_since(
        &self,
        of: ListingKind,
        sequence: i64,
        limit: usize,
    ) -> Result<ListingChanges> {
        self.with_snapshot(|moment| moment.changes_since(of, sequence, limit))
    }

    /// How many adverts or properties changed after a number; counts to `limit` and no further. Blocks: milliseconds for
    /// 100,000.
    pub fn count_since(&self, of: ListingKind, sequence: i64, limit: usize) -> Result<usize> {
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
    pub fn with_snapshot<T, E: From<Error>>(
        &self,
        reading: impl FnOnce(&ListingsSnapshot<'_>) -> std::result::Result<T, E>,
    ) -> std::result::Result<T, E> {
        let all = self.store.read(|connection| {
            let transaction = connection.unchecked_transaction()?;
            Ok(reading(&ListingsSnapshot {
                connection: &transaction,
            }))
        });
        all.map_err(Error::from)?
    }
}

/// The listings as one reading sees them.
pub struct ListingsSnapshot<'c> {
    connection: &'c Connection,
}

impl ListingsSnapshot<'_> {
    /// The adverts or properties that changed after a number, the earliest `limit` of them (and at most
    /// [`CHANGES_MAX`]).
    ///
    /// A projection that starts at 0 and goes on from the last number it was given misses nothing: numbers are given in
    /// the order of commits, under the store's one write lock.
    pub fn changes_since(
        &self,
        of: ListingKind,
        sequence: i64,
        limit: usize,
    ) -> Result<ListingChanges> {
        let limit = limit.min(CHANGES_MAX);
        let changes = self.read_changes(of, sequence, limit);
        Ok(changes.map_err(toise_store::Error::from)?)
    }

    fn read_changes(
        &self,
        of: ListingKind,
        after: i64,
        limit: usize,
    ) -> rusqlite::Result<ListingChanges> {
        let stored = match of {
            ListingKind::Advert => changed_adverts(self.connection, after, limit)?,
            ListingKind::Property => changed_properties(self.connection, after, limit)?,
        };
        let through = match stored.last() {
            Some(last) if stored.len() == limit => last.sequence,
            _ => rows::last_sequence(self.connection)?.max(after),
        };
        let records = stored.into_par_iter().map(StoredChange::read);
        Ok(ListingChanges {
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
    fn read(self) -> rusqlite::Result<ListingChange> {
        let text = self.document.as_deref().map(document::decode).transpose();
        let mut record = text.map_err(failed)?;
        if let (Some(text), Some(property)) = (&mut record, self.property) {
            append_property(text, property)?;
        }
        Ok(ListingChange {
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
