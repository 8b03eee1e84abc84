//! The tables of listings as SQL sees them: every change committed before the question, folded or not.
//!
//! A command opens the files, then reads from the store what changed since they were written, of both tables at one
//! moment. Those rows lie in memory, so what would be many is folded first.

use super::memtable::Memtable;
use super::{Result, compaction};
use crate::Listings;
use crate::columns::table_of;
use crate::records::changes::CHANGES_MAX;
use toise_contract::listings::filters::ListingKind;
use toise_engine::Engine;
use toise_engine::session::MergeOnReadTable;
use toise_lake::Lake;

/// Changed records from which they are folded, at least: laid out in memory they cost each query what a fold costs once.
const COMPACTION_ROWS_MIN: usize = 16_384;

/// Folds what waits for some tables where it is much, so that the rest fits in memory; `before` is told which table is
/// written. Blocks; waits for another process that writes the table.
///
/// # Errors
/// A table cannot be written, or is not of this store.
pub fn compact_pending(
    listings: &Listings,
    lake: &Lake,
    wanted: &[ListingKind],
    before: impl Fn(ListingKind),
) -> Result<()> {
    for listing in wanted {
        compaction::retry_while_locked(|| {
            if compaction::is_due(listings, lake, *listing, COMPACTION_ROWS_MIN)? {
                before(*listing);
                compaction::compact(listings, lake, *listing, &|_| {})?;
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// Some tables with what changed since their files were written, all at one moment. Blocks.
///
/// # Errors
/// Files or store cannot be read, or a table is not of this store.
pub fn tables(
    listings: &Listings,
    engine: &Engine,
    wanted: &[ListingKind],
) -> Result<Vec<MergeOnReadTable>> {
    // Before the moment: files reach no further than the store as it is seen then.
    let mut tails = Vec::with_capacity(wanted.len());
    for listing in wanted {
        let view = engine.view(table_of(*listing))?;
        compaction::reaches(listings, *listing, view.snapshot().through)?;
        tails.push((*listing, Memtable::new(*listing, view)));
    }
    listings.with_snapshot(|moment| {
        let tables = tails.into_iter().map(|(listing, mut memtable)| {
            loop {
                let changes = moment.changes_since(listing, memtable.through(), CHANGES_MAX)?;
                if changes.through == memtable.through() {
                    return Ok(memtable.view().into_merge_on_read()?);
                }
                memtable.take(&changes)?;
            }
        });
        tables.collect()
    })
}
