//! Compaction and rebuild of the tables of listings from the store.
//!
//! Called by the projection's compaction worker and by `toise compact`. A compaction holds the table's lock and reads
//! the sequence that the table has reached. It converts the records changed since, up to a sequence fixed at the start,
//! and publishes them together: if the process dies midway, the previous table stays. A record that changes during the
//! compaction gets a later sequence, so the next reader that continues from the table's sequence sees it again. Records
//! of converted properties are also moved to their full keys in the store ([`RecordKey`]). The import's sort buffers
//! bound the memory, however many changes are pending.

use std::time::{Duration, Instant};

use arrow::array::AsArray;
use arrow::datatypes::Int64Type;

use super::rows::{RecordKeyMode, RowDelta, build_rows};
use super::{Error, Result};
use crate::Listings;
use crate::columns::{RECORD_KEY, table_of};
use crate::properties::record_key::RecordKey;
use crate::records::changes::{CHANGES_MAX, ListingChanges};
use toise_contract::listings::filters::ListingKind;
use toise_lake::import::TableImport;
use toise_lake::{self as lake, Lake, RowSink};

/// A compaction is due once 1 in this many of the table's rows has changed: each one rewrites files.
const COMPACTION_SHARE: usize = 16;
/// Changed records that make a compaction due regardless of the size of the table: three quarters of the changed
/// adverts that one query may convert.
const COMPACTION_ROWS_MAX: usize = super::ADVERT_ROWS_MAX / 4 * 3;
/// Maximum wait for a table that another process is writing.
const FREE_WAIT_MAX: Duration = Duration::from_secs(60);
/// Pause between two attempts to lock such a table.
const FREE_EVERY: Duration = Duration::from_millis(200);

/// Returns whether enough records changed since a table was written to justify a compaction: at least `rows_min` and a
/// share of the table, or `COMPACTION_ROWS_MAX`. Costs milliseconds.
///
/// # Errors
/// The store or snapshot cannot be read, or the table belongs to another store.
pub fn is_due(
    listings: &Listings,
    lake: &Lake,
    listing: ListingKind,
    rows_min: usize,
) -> Result<bool> {
    let snapshot = lake.snapshot(table_of(listing))?;
    let through = check_reached(listings, listing, snapshot.through)?;
    let limit = rows_min
        .max(snapshot.rows() as usize / COMPACTION_SHARE)
        .min(COMPACTION_ROWS_MAX);
    Ok(listings.count_since(listing, through, limit)? >= limit)
}

/// The records that a compaction handled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Compacted {
    /// Number of records written.
    pub records: u64,
    /// Descriptions of damaged records, which the table omits.
    pub damaged: Vec<String>,
}

/// Writes the records changed since the last compaction into a table, without damaged ones; `progress` is called
/// with the number of records read. Blocks; returns once the write is durable.
///
/// # Errors
/// The table cannot be written, another process is writing it, or it belongs to another store.
pub fn compact(
    listings: &Listings,
    lake: &Lake,
    listing: ListingKind,
    progress: &dyn Fn(u64),
) -> Result<Compacted> {
    let table = table_of(listing);
    let import = lake.import(table)?;
    // Read after locking, so that no other process can publish in between.
    let after = check_reached(listings, listing, lake.snapshot(table)?.through)?;
    let mut damaged = Vec::new();
    let leave_out = |found: Vec<String>| {
        damaged.extend(found);
        Ok(())
    };
    let (import, records) = gather(listings, listing, import, after, leave_out, progress)?;
    if records > 0 {
        import.publish(Vec::new(), Vec::new())?;
    }
    Ok(Compacted { records, damaged })
}

/// Rebuilds a table from the store, regardless of its current contents, and returns its number of rows; `progress` is
/// called with the number of records read and with the number of rows written. Blocks; returns once the write is
/// durable.
///
/// # Errors
/// The table cannot be written, or another process is writing it; a record is damaged and would be missing from the
/// rebuilt table.
pub fn rebuild(
    listings: &Listings,
    lake: &Lake,
    listing: ListingKind,
    progress: &dyn Fn(u64),
) -> Result<u64> {
    let import = lake.import_replacing(table_of(listing))?;
    let refuse = |damaged: Vec<String>| match damaged.into_iter().next() {
        Some(damaged) => Err(Error::Damaged(damaged)),
        None => Ok(()),
    };
    let (import, _) = gather(listings, listing, import, 0, refuse, progress)?;
    Ok(import.publish_with_progress(progress)?.total)
}

/// Retries while another process is writing the table, for up to a minute.
///
/// # Errors
/// The error of the last attempt.
pub fn retry_while_locked<T>(attempt: impl Fn() -> Result<T>) -> Result<T> {
    let started = Instant::now();
    loop {
        match attempt() {
            Err(Error::Lake(lake::Error::Busy { .. })) if started.elapsed() < FREE_WAIT_MAX => {
                std::thread::sleep(FREE_EVERY);
            }
            result => return result,
        }
    }
}

/// Returns the sequence that a table has reached; fails if it is past the last sequence of the store.
pub(super) fn check_reached(
    listings: &Listings,
    listing: ListingKind,
    through: Option<i64>,
) -> Result<i64> {
    let (table, store) = (through.unwrap_or(0), listings.last_sequence()?);
    if table > store {
        Err(Error::Ahead {
            name: listing.table(),
            table,
            store,
        })
    } else {
        Ok(table)
    }
}

/// Returns, in order, the keys to which records must be moved because they are not stored under their full keys.
fn misplaced_keys(delta: &RowDelta, changes: &ListingChanges) -> Result<Vec<RecordKey>> {
    let column = delta.rows.schema_ref().index_of(RECORD_KEY)?;
    let placed = delta.rows.column(column).as_primitive::<Int64Type>();
    let present = changes
        .records
        .iter()
        .filter(|change| change.record.is_some());
    let mut keys: Vec<RecordKey> = (placed.values().iter().map(|key| RecordKey(*key)))
        .zip(present)
        .filter(|(placed, change)| *placed != change.key)
        .map(|(placed, _)| placed)
        .collect();
    keys.sort_unstable();
    Ok(keys)
}

/// Pushes the records that changed after a sequence into an import, and moves records of properties to their full keys.
/// Calls `on_damaged` with the damaged records of each block; they are skipped unless it fails. Returns the import with
/// the number of records.
fn gather(
    listings: &Listings,
    listing: ListingKind,
    mut import: TableImport,
    mut after: i64,
    mut on_damaged: impl FnMut(Vec<String>) -> Result<()>,
    progress: &dyn Fn(u64),
) -> Result<(TableImport, u64)> {
    let through = listings.last_sequence()?;
    let mut count = 0;
    while after < through {
        let mut changes = listings.changes_since(listing, after, CHANGES_MAX)?;
        on_damaged(std::mem::take(&mut changes.damaged))?;
        after = changes.through;
        changes.records.retain(|change| change.sequence <= through);
        let delta = build_rows(listing, RecordKeyMode::Placed, &changes.records)?;
        if listing == ListingKind::Property {
            listings.move_records(&misplaced_keys(&delta, &changes)?)?;
        }
        import.push(delta.rows)?;
        for (id, _) in delta.gone {
            import.remove(&id.to_string());
        }
        count += changes.records.len() as u64;
        progress(changes.records.len() as u64);
    }
    import.set_through(through);
    Ok((import, count))
}
