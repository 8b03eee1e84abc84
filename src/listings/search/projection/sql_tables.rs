//! The tables of listings for SQL: every change committed before the query, compacted or not.
//!
//! Commands such as `toise sql` use these tables; a server has its own (`projection`). A command opens the data files,
//! then reads the later changes of both tables from one snapshot of the store. Changed rows stay in memory, so a large
//! number of them is compacted first.

use super::memtable::Memtable;
use super::view::ProjectionView;
use super::{Result, compaction};
use crate::Listings;
use crate::columns::table_of;
use crate::records::changes::CHANGES_MAX;
use toise_contract::listings::filters::ListingKind;
use toise_engine::Engine;
use toise_engine::session::MergeOnReadTable;
use toise_lake::Lake;

/// Minimum number of changed records that makes a compaction due. Reading that many from the store costs each query as
/// much as compacting them once.
const COMPACTION_ROWS_MIN: usize = 16_384;

/// Compacts the tables that have many pending changes, so that the rest fits in memory; `before` is called with each
/// table that is about to be written. Blocks; waits for another process that is writing the table.
///
/// # Errors
/// A table cannot be written, or belongs to another store.
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

/// Returns the wanted tables merged with the changes since their last compaction, all as of the same snapshot. Blocks.
///
/// # Errors
/// Data files or store cannot be read, or a table belongs to another store.
pub fn tables(
    listings: &Listings,
    engine: &Engine,
    wanted: &[ListingKind],
) -> Result<Vec<MergeOnReadTable>> {
    let views = views(listings, engine, wanted)?.into_iter();
    views.map(|view| Ok(view.into_merge_on_read()?)).collect()
}

/// Returns the wanted tables as views with the changes since their last compaction, all as of the same snapshot.
/// Blocks.
///
/// # Errors
/// As for [`tables`].
pub fn views(
    listings: &Listings,
    engine: &Engine,
    wanted: &[ListingKind],
) -> Result<Vec<ProjectionView>> {
    // Opened before the snapshot of the store, so that the files hold no change that the snapshot lacks.
    let mut memtables = Vec::with_capacity(wanted.len());
    for listing in wanted {
        let view = engine.view(table_of(*listing))?;
        compaction::check_reached(listings, *listing, view.snapshot().through)?;
        memtables.push((*listing, Memtable::new(*listing, view)));
    }
    listings.with_snapshot(|snapshot| {
        let views = memtables.into_iter().map(|(listing, mut memtable)| {
            loop {
                let changes = snapshot.changes_since(listing, memtable.through(), CHANGES_MAX)?;
                if changes.through == memtable.through() {
                    return Ok(memtable.view());
                }
                memtable.take(&changes)?;
            }
        });
        views.collect()
    })
}
