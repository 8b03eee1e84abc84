//! The stored records of a page of properties, read in the order they lie in.
//!
//! A page is a hundred records. In memory each takes microseconds; from the disk each that lies alone is waited for, so
//! when the first ones had to be, several readers wait for the rest at once.

use std::time::{Duration, Instant};

use rusqlite::{CachedStatement, Connection, OptionalExtension};

use super::record_key::RecordKey;
use super::{Listings, Result};
use crate::store::{self, Store};

/// Records read before it is known how long they take.
const FIRST: usize = 8;
/// A record that takes longer comes from the disk: one in memory takes a tenth of it.
const FROM_DISK: Duration = Duration::from_micros(50);
/// Readers of the rest then: what a disk serves at once without each waiting much longer.
const READERS: usize = 4;

/// A stored record, compressed; `None` where there is none any more.
type Document = Option<Vec<u8>>;

impl Listings {
    /// The stored records under keys, in their order; `None` for properties that were joined to another. Of two that
    /// change meanwhile one may be from before and one from after. Blocks.
    pub(super) fn documents(&self, keys: &[RecordKey]) -> Result<Vec<Document>> {
        let mut order: Vec<usize> = (0..keys.len()).collect();
        order.sort_unstable_by_key(|place| keys[*place]);
        let sorted: Vec<RecordKey> = order.iter().map(|place| keys[*place]).collect();
        let read = read_sorted(&self.store, &sorted)?;
        let mut documents = vec![None; keys.len()];
        for (place, document) in order.into_iter().zip(read) {
            documents[place] = document;
        }
        Ok(documents)
    }
}

fn read_sorted(store: &Store, keys: &[RecordKey]) -> store::Result<Vec<Document>> {
    let (first, rest) = keys.split_at(keys.len().min(FIRST));
    let (mut documents, is_from_disk) = store.read_at_once(|connection| {
        let mut reader = Reader::over(connection)?;
        let started = Instant::now();
        let mut documents = reader.read(first)?;
        let is_from_disk = started.elapsed() > FROM_DISK * first.len() as u32;
        if !is_from_disk || rest.len() < READERS {
            documents.extend(reader.read(rest)?);
        }
        Ok((documents, is_from_disk))
    })?;
    if !is_from_disk || rest.len() < READERS {
        return Ok(documents);
    }
    let shares = std::thread::scope(|scope| {
        let readers: Vec<_> = rest
            .chunks(rest.len().div_ceil(READERS))
            .map(|share| {
                scope.spawn(move || {
                    store.read_at_once(|connection| Reader::over(connection)?.read(share))
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
struct Reader<'c> {
    by_key: CachedStatement<'c>,
    by_number: CachedStatement<'c>,
}

impl<'c> Reader<'c> {
    fn over(connection: &'c Connection) -> rusqlite::Result<Self> {
        Ok(Self {
            by_key: connection.prepare_cached("SELECT document FROM records WHERE record = ?1")?,
            by_number: connection.prepare_cached(
                "SELECT document FROM properties JOIN records USING (record) WHERE property = ?1",
            )?,
        })
    }

    fn read(&mut self, keys: &[RecordKey]) -> rusqlite::Result<Vec<Document>> {
        let documents = keys.iter().map(|key| {
            let found = self
                .by_key
                .query_row([key.0], |row| row.get(0))
                .optional()?;
            match found {
                Some(document) => Ok(Some(document)),
                // It lies elsewhere than when the key was made, or is joined to another.
                None => self
                    .by_number
                    .query_row([key.number()], |row| row.get(0))
                    .optional(),
            }
        });
        documents.collect()
    }
}
