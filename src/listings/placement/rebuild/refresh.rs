//! Derives the fingerprints, block keys and outlines of all adverts again from their records.

use rayon::iter::{IntoParallelIterator, ParallelIterator};

use crate::adverts::prepare::StoredAdvert;
use crate::records::percolation::PercolationBuffer;
use crate::records::rows;
use crate::records::tables::ListingsWriter;
use crate::{Listings, Result};
use toise_base::progress::Progress;
use toise_dedup::Fingerprint;

/// Adverts read at once, and written in one transaction.
const ADVERTS_PER_GROUP: usize = 1_000;

/// Updates the data for comparisons; returns the number of adverts, and how many of them changed.
pub(super) fn refresh(listings: &Listings, progress: Progress) -> Result<(u64, u64)> {
    let total = listings.store.read(|connection| {
        connection.query_row("SELECT count(*) FROM adverts", [], |row| {
            row.get::<_, i64>(0)
        })
    })?;
    let bar = progress.rows("reading adverts", total.unsigned_abs());
    let (mut last, mut adverts, mut changed) = (0, 0, 0);
    loop {
        let group = listings
            .store
            .read_with(|connection| rows::adverts_after(connection, last, ADVERTS_PER_GROUP))?;
        let Some(end) = group.last() else {
            break;
        };
        last = end.advert;
        let count = group.len() as u64;
        let stale = group
            .into_par_iter()
            .map(|advert| stale(listings, &advert))
            .collect::<Result<Vec<_>>>()?;
        let stale: Vec<_> = stale.into_iter().flatten().collect();
        changed += stale.len() as u64;
        if !stale.is_empty() {
            write(listings, stale)?;
        }
        adverts += count;
        bar.inc(count);
    }
    bar.finish_and_clear();
    Ok((adverts, changed))
}

/// Returns the number and sequence of an advert with its new fingerprint, if the stored fingerprint, keys or marks
/// differ.
fn stale(listings: &Listings, stored: &StoredAdvert) -> Result<Option<(i64, i64, Fingerprint)>> {
    let fingerprint = stored.fingerprint()?;
    let is_stored = listings.store.read_with(|connection| -> Result<bool> {
        Ok(
            rows::is_fingerprint_stored(connection, stored.advert, &fingerprint)?
                && rows::is_outline_stored(connection, stored.advert, &fingerprint)?
                && rows::are_marks_counted(connection, &fingerprint)?,
        )
    })?;
    Ok((!is_stored).then_some((stored.advert, stored.sequence, fingerprint)))
}

/// Writes the fingerprints of adverts that have not changed since they were read.
fn write(listings: &Listings, stale: Vec<(i64, i64, Fingerprint)>) -> Result<()> {
    listings.store.write_with(move |transaction| -> Result<()> {
        let mut tables = ListingsWriter::begin(transaction, PercolationBuffer::none())?;
        for (advert, sequence, fingerprint) in &stale {
            if tables.sequence_of_advert(*advert)? == *sequence {
                tables.update_fingerprint(*advert, fingerprint)?;
            }
        }
        tables.end()
    })
}
