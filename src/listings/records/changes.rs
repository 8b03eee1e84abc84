//! Changes of listings since a sequence; tables and indexes are kept up to date from them.
//!
//! Every change of a record takes the next number of one sequence, in commit order. A record that changed more than
//! once is returned once, with its last sequence.

use rusqlite::Connection;

use super::read::append_property;
use super::rows::{self, flx_id};
use crate::properties::record_key::RecordKey;
use crate::{Error, Listings, Result};
use toise_base::parallel::map_chunks;
use toise_contract::listings::codes::FlxId;
use toise_contract::listings::filters::ListingKind;
use toise_store::document;

/// Maximum changes returned by one call.
pub const CHANGES_MAX: usize = 10_000;

/// Records that a thread decodes at least, so that a few records are decoded on one thread.
const RECORDS_PER_THREAD_MIN: usize = 1_024;

/// A changed record in its current form.
#[derive(Clone, Debug, PartialEq)]
pub struct ListingChange {
    /// Sequence of its last change; every change of any record has its own, in commit order.
    pub sequence: i64,
    /// Its number in its table, which never changes.
    pub number: i64,
    /// For a property: the key under which its record is stored.
    pub key: RecordKey,
    /// Its identifier.
    pub id: FlxId,
    /// Its record, as JSON text; `None` for a property that was merged into another and so no longer has a record, and
    /// for a damaged record.
    pub record: Option<Vec<u8>>,
}

/// The adverts, or the properties, that changed after a sequence.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ListingChanges {
    /// The records, in order of their last change. A record that changed more than once is included once.
    pub records: Vec<ListingChange>,
    /// The sequence up to which changes are included; only later ones remain to be read.
    pub through: i64,
    /// Descriptions of the damaged records. Tables and searches omit such a record until its adverts are ingested
    /// again, so that it does not block the others.
    pub damaged: Vec<String>,
}

impl Listings {
    /// Returns the sequence of the last change; 0 if there is none. Blocks.
    pub fn last_sequence(&self) -> Result<i64> {
        Ok(self.store.read(rows::last_sequence)?)
    }

    /// Returns the adverts or properties that changed after a sequence; see [`ListingsSnapshot::changes_since`].
    /// Blocks.
    pub fn changes_since(
        &self,
        of: ListingKind,
        sequence: i64,
        limit: usize,
    ) -> Result<ListingChanges> {
        self.with_snapshot(|snapshot| snapshot.changes_since(of, sequence, limit))
    }

    /// Counts the adverts or properties that changed after a sequence, up to `limit`. Blocks: milliseconds for 100,000.
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

    /// Runs several reads on one snapshot of the store, unaffected by later commits. The write-ahead log grows until
    /// they end. Blocks.
    pub fn with_snapshot<T, E: From<Error>>(
        &self,
        read: impl FnOnce(&ListingsSnapshot<'_>) -> std::result::Result<T, E>,
    ) -> std::result::Result<T, E> {
        let all = self
            .store
            .read_snapshot(|connection| Ok(read(&ListingsSnapshot { connection })));
        all.map_err(Error::from)?
    }
}

/// The listings as of one read transaction.
pub struct ListingsSnapshot<'c> {
    connection: &'c Connection,
}

impl ListingsSnapshot<'_> {
    /// Returns the earliest `limit` adverts or properties that changed after a sequence, up to [`CHANGES_MAX`].
    ///
    /// A projection that starts at 0 and continues from the last sequence it received misses nothing: sequences are
    /// assigned in commit order, under the store's single write lock.
    pub fn changes_since(
        &self,
        of: ListingKind,
        sequence: i64,
        limit: usize,
    ) -> Result<ListingChanges> {
        let limit = limit.min(CHANGES_MAX);
        let stored = match of {
            ListingKind::Advert => changed_adverts(self.connection, sequence, limit)?,
            ListingKind::Property => changed_properties(self.connection, sequence, limit)?,
        };
        let through = match stored.last() {
            Some(last) if stored.len() == limit => last.sequence,
            _ => rows::last_sequence(self.connection)?.max(sequence),
        };
        let read = map_chunks(&stored, RECORDS_PER_THREAD_MIN, |changes| {
            changes
                .iter()
                .map(StoredChange::read)
                .collect::<Result<Vec<_>>>()
        });
        let read = read.into_iter().collect::<Result<Vec<_>>>()?;
        let (records, damaged): (Vec<_>, Vec<_>) = read.into_iter().flatten().unzip();
        Ok(ListingChanges {
            records,
            through,
            damaged: damaged.into_iter().flatten().collect(),
        })
    }
}

/// A changed record as stored.
struct StoredChange {
    sequence: i64,
    number: i64,
    key: RecordKey,
    id: FlxId,
    document: Option<Vec<u8>>,
    /// The property of an advert; `None` for a property.
    property: Option<FlxId>,
}

impl StoredChange {
    /// Decodes the change, and describes the damage if its record is damaged.
    fn read(&self) -> Result<(ListingChange, Option<String>)> {
        let text = self.document.as_deref().map(document::decode);
        let (mut record, damage) = match text.transpose() {
            Ok(record) => (record, None),
            Err(error) => (None, Some(error.of(self.id).to_string())),
        };
        if let (Some(text), Some(property)) = (&mut record, self.property) {
            append_property(text, property)?;
        }
        let change = ListingChange {
            sequence: self.sequence,
            number: self.number,
            key: self.key,
            id: self.id,
            record,
        };
        Ok((change, damage))
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
