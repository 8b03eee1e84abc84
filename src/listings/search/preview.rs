//! Alert preview: recent listings that an alert would have matched.
//!
//! It finds listings first seen within the last days whose current record passes the filter. The result approximates
//! what the alert would have sent: an alert tests each version of a listing as it is written, so it also matches one
//! that a later change brings into the filter.

use std::sync::Arc;

use arrow::array::AsArray;
use arrow::datatypes::{Int64Type, TimestampMillisecondType};
use chrono::{Days, NaiveDate};

use crate::columns::{ID, RECORD_KEY, table_of};
use crate::properties::record_key::RecordKey;
use crate::search::page::fits;
use crate::search::projection::{Projection, Result};
use toise_contract::enums::EnumSearchRequestSortBy;
use toise_contract::filter::{Clause, ClauseTest, Filter};
use toise_contract::listings::codes::FlxId;
use toise_contract::listings::filters::{ListingKind, ListingSearch};
use toise_engine::Error;
use toise_engine::cancellation::Interrupt;
use toise_engine::predicate::Predicate;
use toise_engine::topk::{SortColumn, TopPage};

/// Listings shown by a preview.
pub const ITEMS_MAX: usize = 10;
const DAY_MS: i64 = 86_400_000;

/// The listings that an alert would have matched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preview {
    /// Number of listings first seen on each day (UTC), earliest first; days without any are included.
    pub per_day: Vec<(NaiveDate, u64)>,
    /// The latest listings, newest first.
    pub items: Vec<FlxId>,
}

impl Preview {
    /// Total number of listings.
    pub fn count(&self) -> u64 {
        self.per_day.iter().map(|(_, count)| count).sum()
    }
}

/// Makes the clause that a moment lies within some days from `start_ms` on.
fn within(column: &'static str, start_ms: i64, days: usize) -> Clause {
    Clause {
        column: column.into(),
        test: ClauseTest::Moment {
            from: Some(start_ms),
            to: Some(start_ms + days as i64 * DAY_MS - 1),
        },
    }
}

impl Projection {
    /// Finds the listings first seen within the last `days`, today included, that a search finds; the texts of one on
    /// adverts are not looked at. CPU work on the calling thread and its rayon pool.
    ///
    /// # Errors
    /// A column or the text index cannot be read, the table of adverts lags too far behind, or the query is cancelled.
    pub fn preview(
        &self,
        listing: ListingKind,
        search: &ListingSearch,
        days: usize,
        interrupt: &Interrupt,
    ) -> Result<Preview> {
        let today = self.listings().clock().now().date_naive();
        let first = today - Days::new(days.saturating_sub(1) as u64);
        let start_ms = first.signed_duration_since(NaiveDate::default()).num_days() * DAY_MS;
        let seen = listing.sort_column(EnumSearchRequestSortBy::FirstSeenAt);
        let first_seen = within(seen, start_ms, days);
        let filter: Filter = search.filter.iter().cloned().chain([first_seen]).collect();
        let table = table_of(listing);
        let predicate = Predicate::compile(table, &filter).map_err(Error::from)?;
        let column = |name: &str| {
            let found = table.column(name).map(|(index, _)| index);
            found.ok_or_else(|| Error::UnknownTable(format!("{}.{name}", table.name)))
        };
        let (seen, id) = (column(seen)?, column(ID)?);
        let (view, fits) = match listing {
            ListingKind::Property => {
                let state = self.state();
                (
                    Arc::clone(&state.view),
                    fits(&state, search, false, interrupt)?,
                )
            }
            ListingKind::Advert => (Arc::new(self.adverts()?), None),
        };
        // Adverts have no such column, and are not looked up.
        let key = table.column(RECORD_KEY).map(|(index, _)| index);
        let page = TopPage::new(ITEMS_MAX, None);
        let states = view.scan(
            self.engine(),
            &predicate,
            interrupt,
            || (vec![0u64; days], page.part()),
            |(per_day, part), rows| {
                let rows = match (&fits, key) {
                    (Some(fits), Some(key)) => {
                        let keys = rows.column(key)?;
                        let keys = keys.values.as_primitive::<Int64Type>();
                        rows.only(|row| fits.contains(RecordKey(keys.value(row)).number()))
                    }
                    _ => rows,
                };
                let (moments, ids) = (rows.column(seen)?, rows.column(id)?);
                let sort = SortColumn::new(&moments, ids.values.as_string::<i32>(), true);
                part.offer_sorted(rows.index, &rows.selected, &sort);
                let moments = moments.values.as_primitive::<TimestampMillisecondType>();
                rows.selected.for_each(|row| {
                    let day = (moments.value(row) - start_ms) / DAY_MS;
                    if let Some(count) = per_day.get_mut(day as usize) {
                        *count += 1;
                    }
                });
                Ok(())
            },
        )?;
        let (mut counts, mut parts) = (vec![0; days], Vec::new());
        for (per_day, part) in states {
            for (count, more) in counts.iter_mut().zip(per_day) {
                *count += more;
            }
            parts.push(part);
        }
        let page = page.finish(parts);
        let items = page.hits.iter();
        Ok(Preview {
            per_day: first.iter_days().zip(counts).collect(),
            items: items.filter_map(|hit| FlxId::parse(hit.id())).collect(),
        })
    }
}
