//! Removes contacts from stored adverts and from the records of their properties.
//!
//! The adverts are read in order, a batch at a time, and decoded on all cores: about a minute for a million. Those that
//! change are written with new fingerprints and block keys and stay in their property: no event, notification or merge
//! follows. Their changes have new sequence numbers, so the tables and the text index follow.

use std::collections::BTreeSet;
use std::sync::Arc;

use rayon::iter::{IntoParallelIterator, ParallelIterator};
use rusqlite::{Connection, Transaction};
use serde_json::Value;

use super::percolation::PercolationBuffer;
use super::rows::{self, flx_id};
use super::tables::ListingsWriter;
use crate::adverts::prepare::without;
use crate::{Listings, Result};
use toise_alerts::percolate::PropertyTrigger;
use toise_contract::listings::codes::FlxId;
use toise_dedup::Fingerprint;
use toise_store::document;

/// Adverts that are read together.
const BATCH_SIZE: usize = 2_048;
/// Maximum adverts that are written in one transaction.
const GROUP_MAX: usize = 64;

/// Removes something from the JSON of a record, and returns whether there was anything.
pub type Removal = Arc<dyn Fn(&mut Value) -> bool + Send + Sync>;

/// Which adverts are searched.
#[derive(Clone, Copy, Debug)]
pub enum SearchedAdverts {
    /// All.
    All,
    /// Those that went offline from the first time until before the second, Unix milliseconds.
    OfflineBetween(i64, i64),
}

/// An advert that contains something to remove.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundAdvert {
    number: i64,
    /// Its identifier.
    pub flx_id: FlxId,
    /// The identifier of its property.
    pub property_flx_id: FlxId,
}

/// A batch of searched adverts.
#[derive(Clone, Debug, Default)]
pub struct SearchedBatch {
    /// Number of the last one: the next batch continues after it.
    pub last: i64,
    /// Those that contain something to remove.
    pub found: Vec<FoundAdvert>,
    /// Records that cannot be read and may contain something to remove.
    pub damaged: u64,
}

/// An advert as it was read.
struct ReadAdvert {
    about: FoundAdvert,
    document: Vec<u8>,
}

impl Listings {
    /// Returns the number of the last advert; 0 without any.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn last_advert_number(&self) -> Result<i64> {
        Ok(self.store.read(rows::last_advert)?)
    }

    /// Searches the next adverts after a number; `None` if there are no more. Blocks.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn search_adverts(
        &self,
        which: SearchedAdverts,
        after: i64,
        removal: &Removal,
    ) -> Result<Option<SearchedBatch>> {
        let read = self
            .store
            .read(|connection| read_after(connection, which, after))?;
        let Some(last) = read.last() else {
            return Ok(None);
        };
        let mut batch = SearchedBatch {
            last: last.about.number,
            ..SearchedBatch::default()
        };
        let searched: Vec<Option<Option<FoundAdvert>>> = read
            .into_par_iter()
            .map(|advert| {
                let text = document::decode(&advert.document).ok()?;
                let mut record: Value = serde_json::from_slice(&text).ok()?;
                Some(removal(&mut record).then_some(advert.about))
            })
            .collect();
        batch.damaged = searched.iter().filter(|one| one.is_none()).count() as u64;
        batch.found = searched.into_iter().flatten().flatten().collect();
        Ok(Some(batch))
    }

    /// Removes what `removal` finds from adverts, and rebuilds their properties. `note` is called in the transaction of
    /// each group. Returns once durable. Blocks.
    ///
    /// # Errors
    /// The store fails. Groups before the failed one stay written; repeating the call does no harm.
    pub fn clear_adverts(
        &self,
        found: &[FoundAdvert],
        removal: &Removal,
        note: impl Fn(&Transaction<'_>, &[FoundAdvert]) -> rusqlite::Result<()> + Clone + Send + 'static,
    ) -> Result<()> {
        for group in found.chunks(GROUP_MAX) {
            let (group, note, removal) = (group.to_vec(), note.clone(), Arc::clone(removal));
            let places = self.places()?;
            self.store.write_with(move |transaction| -> Result<()> {
                let mut tables = ListingsWriter::begin(transaction, PercolationBuffer::none())?;
                let mut properties = BTreeSet::new();
                for advert in &group {
                    let stored = rows::adverts_after(transaction, advert.number - 1, 1)?;
                    let Some(stored) = stored.first().filter(|one| one.advert == advert.number)
                    else {
                        continue;
                    };
                    let Some(draft) = without(stored, &*removal, places.sources())? else {
                        continue;
                    };
                    let former = rows::fingerprint_of(transaction, stored.advert)?;
                    forget_marks(transaction, &former, &draft.fingerprint)?;
                    tables.update_advert(stored.advert, &draft)?;
                    properties.insert(stored.property);
                }
                for property in properties {
                    tables.rebuild(property, PropertyTrigger::Sighted)?;
                }
                tables.end()?;
                Ok(note(transaction, &group)?)
            })?;
        }
        Ok(())
    }
}

/// Forgets the marks of a seller that an advert no longer shows: they are digests of its number, address and name.
fn forget_marks(
    transaction: &Transaction<'_>,
    former: &Fingerprint,
    present: &Fingerprint,
) -> rusqlite::Result<()> {
    let kept: Vec<i64> = present.seller_marks().collect();
    for mark in former.seller_marks().filter(|mark| !kept.contains(mark)) {
        for sql in [
            "DELETE FROM marks WHERE mark = ?1",
            "DELETE FROM common_marks WHERE mark = ?1",
        ] {
            transaction.prepare_cached(sql)?.execute([mark])?;
        }
    }
    Ok(())
}

fn read_after(
    connection: &Connection,
    which: SearchedAdverts,
    after: i64,
) -> rusqlite::Result<Vec<ReadAdvert>> {
    let (condition, from, before) = match which {
        SearchedAdverts::All => ("?2 = ?3", 0, 0),
        SearchedAdverts::OfflineBetween(from, before) => {
            ("offline_at_ms >= ?2 AND offline_at_ms < ?3", from, before)
        }
    };
    let sql = format!(
        "SELECT advert, advert_id, property_id, adverts.document FROM adverts JOIN properties USING (property)
         WHERE advert > ?1 AND {condition} ORDER BY advert LIMIT {BATCH_SIZE}"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let rows = statement.query_map((after, from, before), |row| {
        Ok(ReadAdvert {
            about: FoundAdvert {
                number: row.get(0)?,
                flx_id: flx_id(row, 1)?,
                property_flx_id: flx_id(row, 2)?,
            },
            document: row.get(3)?,
        })
    })?;
    rows.collect()
}
