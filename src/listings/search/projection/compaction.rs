//! The tables of listings written from the store: what changed folded into them, or all of it anew.
//!
//! Whoever folds holds the table's lock, reads through which change the table reaches, lays out what changed up to a
//! number fixed at the start, and publishes at once: killed midway, the former table stays. A record that changes
//! meanwhile has a later number, so whoever goes on from the table's number meets it again. Records of properties that
//! are laid out are moved to their places in the store on the way. Memory is bounded by the import's sort buffers,
//! however much waits.

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

/// Share of the table's rows that may have changed before they are folded: each fold rewrites files.
const COMPACTION_SHARE: usize = 16;
/// Changed records from which they are folded however large the table is: three quarters of the adverts that are laid out
/// for one question.
const COMPACTION_ROWS_MAX: usize = super::ADVERT_ROWS_MAX / 4 * 3;
/// How long a table that another process writes is waited for.
const FREE_WAIT_MAX: Duration = Duration::from_secs(60);
/// How often it is looked whether it is free.
const FREE_EVERY: Duration = Duration::from_millis(200);

/// Whether so many records changed since a table was written that a fold pays: `rows_min` and a share of the table, or
/// `COMPACTION_ROWS_MAX`.
/// Costs milliseconds.
///
/// # Errors
/// Store or snapshot cannot be read, or the table is not of this store.
pub fn is_due(
    listings: &Listings,
    lake: &Lake,
    listing: ListingKind,
    rows_min: usize,
) -> Result<bool> {
    let snapshot = lake.snapshot(table_of(listing))?;
    let through = reaches(listings, listing, snapshot.through)?;
    let limit = rows_min
        .max(snapshot.rows() as usize / COMPACTION_SHARE)
        .min(COMPACTION_ROWS_MAX);
    Ok(listings.count_since(listing, through, limit)? >= limit)
}

/// Writes what changed since a table was written into it, and gives the number of records that did; `progress` is told
/// of records as they are read. Blocks; durable on return.
///
/// # Errors
/// The table cannot be written, another process writes it, or it is not of this store.
pub fn compact(
    listings: &Listings,
    lake: &Lake,
    listing: ListingKind,
    progress: &dyn Fn(u64),
) -> Result<u64> {
    let table = table_of(listing);
    let import = lake.import(table)?;
    // Known for certain only now that nobody else can publish.
    let after = reaches(listings, listing, lake.snapshot(table)?.through)?;
    let (import, count) = gather(listings, listing, import, after, progress)?;
    if count > 0 {
        import.publish(Vec::new(), Vec::new())?;
    }
    Ok(count)
}

/// Makes a table anew from the store, whatever it was, and gives its rows; `progress` is told of each record as it is
/// read and of each row as it is written. Blocks; durable on return.
///
/// # Errors
/// The table cannot be written, or another process writes it.
pub fn rebuild(
    listings: &Listings,
    lake: &Lake,
    listing: ListingKind,
    progress: &dyn Fn(u64),
) -> Result<u64> {
    let import = lake.import_replacing(table_of(listing))?;
    let (import, _) = gather(listings, listing, import, 0, progress)?;
    Ok(import.publish_with_progress(progress)?.total)
}

/// Tries again while another process writes the table, for a minute at most.
///
/// # Errors
/// What the last attempt ended with.
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

/// The change a table reaches through, which must be one of the store's.
pub(super) fn reaches(
    listings: &Listings,
    listing: ListingKind,
    through: Option<i64>,
) -> Result<i64> {
    let (table, store) = (through.unwrap_or(0), listings.last_sequence()?);
    match table > store {
        true => Err(Error::Ahead {
            name: listing.table(),
            table,
            store,
        }),
        false => Ok(table),
    }
}

/// Keys of the records that are kept elsewhere than at the places of their properties, in order.
fn misplaced_keys(delta: &RowDelta, changes: &ListingChanges) -> Result<Vec<RecordKey>> {
    let column = delta.rows.schema_ref().index_of(RECORD_KEY)?;
    let placed = delta.rows.column(column).as_primitive::<Int64Type>();
    let there = changes
        .records
        .iter()
        .filter(|change| change.record.is_some());
    let mut keys: Vec<RecordKey> = (placed.values().iter().map(|key| RecordKey(*key)))
        .zip(there)
        .filter(|(placed, change)| *placed != change.key)
        .map(|(placed, _)| placed)
        .collect();
    keys.sort_unstable();
    Ok(keys)
}

/// Pushes what changed after a number and until now into an import, and has records of properties be moved to their
/// places; gives the import back with the number of records.
fn gather(
    listings: &Listings,
    listing: ListingKind,
    mut import: TableImport,
    mut after: i64,
    progress: &dyn Fn(u64),
) -> Result<(TableImport, u64)> {
    let through = listings.last_sequence()?;
    let mut count = 0;
    while after < through {
        let mut changes = listings.changes_since(listing, after, CHANGES_MAX)?;
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
