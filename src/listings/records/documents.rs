//! Bulk reads of the stored records of properties, in storage order.
//!
//! Called for the page of a search: a hundred records. A record in memory takes microseconds. On disk, each record that
//! is not next to another costs a separate read; if the first records came from disk, several readers share the rest.

use std::time::{Duration, Instant};

use rusqlite::{CachedStatement, Connection, OptionalExtension};

use crate::properties::record_key::RecordKey;
use crate::{Listings, Result};
use toise_store::{self as store, Store};

/// Records read first, to measure how long one takes.
const FIRST: usize = 4;
/// A record that takes longer was read from disk; one in memory takes at most a third of this.
const FROM_DISK: Duration = Duration::from_micros(50);
/// Readers that share the rest: a disk that served 8,400 pages a second to one reader served 13,700 to four and
/// 15,000 to eight.
const READERS: usize = 4;

/// A stored record, compressed; `None` if it no longer exists.
type StoredDocument = Option<Vec<u8>>;

impl Listings {
    /// Returns the stored records of these keys, in the given order; `None` for properties that were merged into
    /// another. The records are not read from one snapshot: if two of them change during the call, one may be old and
    /// the other new. Blocks.
    pub(crate) fn documents(&self, keys: &[RecordKey]) -> Result<Vec<StoredDocument>> {
        let mut order: Vec<usize> = (0..keys.len()).collect();
        order.sort_unstable_by_key(|place| keys[*place]);
        let sorted: Vec<RecordKey> = order.iter().map(|place| keys[*place]).collect();
        let read = read_sorted(&self.store, &sorted, FROM_DISK)?;
        let mut documents = vec![None; keys.len()];
        for (place, document) in order.into_iter().zip(read) {
            documents[place] = document;
        }
        Ok(documents)
    }
}

/// Reads records in ascending order of their keys, with several readers if the first records took longer than
/// `from_disk` each.
fn read_sorted(
    store: &Store,
    keys: &[RecordKey],
    from_disk: Duration,
) -> store::Result<Vec<StoredDocument>> {
    let (first, rest) = keys.split_at(keys.len().min(FIRST));
    let (mut documents, is_shared) = store.read_snapshot(|connection| {
        let mut reader = RecordReader::over(connection)?;
        let started = Instant::now();
        let mut documents = reader.read(first)?;
        let is_shared = rest.len() >= READERS && started.elapsed() > from_disk * FIRST as u32;
        if !is_shared {
            documents.extend(reader.read(rest)?);
        }
        Ok((documents, is_shared))
    })?;
    if !is_shared {
        return Ok(documents);
    }
    let shares = std::thread::scope(|scope| {
        let readers: Vec<_> = rest
            .chunks(rest.len().div_ceil(READERS))
            .map(|share| {
                scope.spawn(move || {
                    store.read_snapshot(|connection| RecordReader::over(connection)?.read(share))
                })
            })
            .collect();
        let shares = readers.into_iter().map(|reader| reader.join());
        shares
            .map(|share| share.unwrap_or(Err(store::Error::Closed)))
            .collect::<store::Result<Vec<_>>>()
    })?;
    documents.extend(shares.into_iter().flatten());
    Ok(documents)
}

/// Reads records inside one transaction.
struct RecordReader<'c> {
    by_key: CachedStatement<'c>,
    by_number: CachedStatement<'c>,
}

impl<'c> RecordReader<'c> {
    fn over(connection: &'c Connection) -> rusqlite::Result<Self> {
        Ok(Self {
            by_key: connection.prepare_cached("SELECT document FROM records WHERE record = ?1")?,
            by_number: connection.prepare_cached(
                "SELECT document FROM properties JOIN records USING (record) WHERE property = ?1",
            )?,
        })
    }

    fn read(&mut self, keys: &[RecordKey]) -> rusqlite::Result<Vec<StoredDocument>> {
        let documents = keys.iter().map(|key| {
            let found = self.by_key.query_row([key.0], |row| row.get(0));
            match found.optional()? {
                Some(document) => Ok(Some(document)),
                // The record was moved since the key was read, or its property was merged into another.
                None => {
                    let found = self.by_number.query_row([key.number()], |row| row.get(0));
                    found.optional()
                }
            }
        });
        documents.collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Records of properties 1 to 400 under keys with gaps; every seventh property was merged into another, every fifth
    /// record is stored under a key other than the given one.
    fn store(folder: &std::path::Path) -> (Store, Vec<(RecordKey, StoredDocument)>) {
        let store = Store::open(folder).unwrap();
        let key = |number: i64| RecordKey((number * number % 401) << 26 | number);
        let mut expected = Vec::new();
        for number in 1..=400 {
            let is_merged = number % 7 == 0;
            let document = vec![number as u8; 900];
            expected.push((key(number), (!is_merged).then_some(document)));
        }
        let rows = expected.clone();
        store
            .write(move |transaction| {
                for (key, document) in rows {
                    let number = key.number();
                    let stored_at = match number % 5 {
                        0 => number,
                        _ => key.0,
                    };
                    let (merged_into, record) = match &document {
                        Some(_) => (None, Some(stored_at)),
                        None => (Some(1), None),
                    };
                    transaction.execute(
                        "INSERT INTO properties VALUES (?1, ?2, ?3, ?4, ?5)",
                        (number, number.to_le_bytes(), number, merged_into, record),
                    )?;
                    if let Some(document) = document {
                        transaction.execute(
                            "INSERT INTO records VALUES (?1, ?2)",
                            (stored_at, document),
                        )?;
                    }
                }
                Ok(())
            })
            .unwrap();
        (store, expected)
    }

    #[test]
    fn records_are_returned_in_the_requested_order_wherever_they_are_stored() {
        let folder = tempfile::tempdir().unwrap();
        let (store, rows) = store(folder.path());
        let ranks = prop::collection::vec(0..rows.len(), 0..120);
        proptest!(|(mut ranks in ranks)| {
            ranks.sort_unstable_by_key(|rank| rows[*rank].0);
            let keys: Vec<RecordKey> = ranks.iter().map(|rank| rows[*rank].0).collect();
            let expected: Vec<StoredDocument> = ranks.iter().map(|rank| rows[*rank].1.clone()).collect();
            for from_disk in [Duration::ZERO, Duration::from_secs(60)] {
                let read = read_sorted(&store, &keys, from_disk).unwrap();
                prop_assert_eq!(&read, &expected);
            }
        });
    }
}
