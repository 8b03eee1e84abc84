//! Alert preview: recent listings that an alert would have matched.
//!
//! It finds listings that were first seen within the last `days` and whose current record passes the filter. The result
//! approximates what the alert would have sent: an alert tests each version of a listing when it is written, so it also
//! sends an older listing when a change makes it match.

use std::sync::Arc;

use arrow::array::AsArray;
use arrow::datatypes::{Int64Type, TimestampMillisecondType};
use chrono::{DateTime, Days, NaiveDate};
use rayon::prelude::*;

use crate::columns::{ID, RECORD_KEY, table_of};
use crate::properties::record_key::RecordKey;
use crate::records::percolation::advert_texts;
use crate::search::page::fits;
use crate::search::projection::view::ProjectionView;
use crate::search::projection::{Error, Projection, Result};
use toise_contract::enums::EnumSearchRequestSortBy;
use toise_contract::filter::{Clause, ClauseTest, Filter};
use toise_contract::listings::Advert;
use toise_contract::listings::codes::FlxId;
use toise_contract::listings::filters::{ListingKind, ListingSearch};
use toise_engine::cancellation::Interrupt;
use toise_engine::predicate::Predicate;
use toise_engine::texts::TextPredicate;
use toise_engine::topk::{SortColumn, TopPage};

/// Maximum listings shown by a preview.
pub const ITEMS_MAX: usize = 10;
/// Maximum adverts whose texts a preview reads: there is no index of their texts, and reading a thousand takes tens of
/// milliseconds.
pub const ADVERTS_READ_MAX: usize = 100_000;
/// Adverts read at a time.
const READ_AT_ONCE: usize = 512;
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
    /// Builds a preview of listings, each with the time it was first seen, for `days` from `first` on.
    fn of(mut found: Vec<(i64, FlxId)>, first: NaiveDate, days: usize) -> Self {
        let mut counts = vec![0; days];
        for (moment, _) in &found {
            let date = DateTime::from_timestamp_millis(*moment).map(|at| at.date_naive());
            let day = date.map(|date| (date - first).num_days());
            if let Some(count) = day.and_then(|day| counts.get_mut(day as usize)) {
                *count += 1;
            }
        }
        found.sort_unstable_by(|one, other| other.cmp(one));
        found.truncate(ITEMS_MAX);
        Self {
            per_day: first.iter_days().zip(counts).collect(),
            items: found.into_iter().map(|(_, id)| id).collect(),
        }
    }

    /// Returns the total number of listings.
    pub fn count(&self) -> u64 {
        self.per_day.iter().map(|(_, count)| count).sum()
    }
}

/// Builds the clause that a timestamp is within `days` from `start_ms` on.
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
    /// Finds the listings that match a search and were first seen within the last `days`, including today. CPU work on
    /// the calling thread and its rayon pool; searching words in the records of adverts blocks.
    ///
    /// # Errors
    /// A column, a record or the text index cannot be read, the search has words and selects more than
    /// [`ADVERTS_READ_MAX`] adverts, the table of adverts lags too far behind, or the query is cancelled.
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
        let predicate = Predicate::compile(table, &filter).map_err(toise_engine::Error::from)?;
        let column = |name: &str| {
            let found = table.column(name).map(|(index, _)| index);
            found.ok_or_else(|| toise_engine::Error::UnknownTable(format!("{}.{name}", table.name)))
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
        if let (ListingKind::Advert, Some(words)) = (
            listing,
            TextPredicate::compile(&search.keywords, &search.full_texts),
        ) {
            let candidates = candidates(self, &view, &predicate, (seen, id), interrupt)?;
            let found = with_words(self, candidates, &words, interrupt)?;
            return Ok(Preview::of(found, first, days));
        }
        // Only properties have record keys, by which text matches are looked up.
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

/// Returns the rows that pass a predicate: the time each was first seen, and its identifier.
fn candidates(
    projection: &Projection,
    view: &ProjectionView,
    predicate: &Predicate,
    (seen, id): (usize, usize),
    interrupt: &Interrupt,
) -> Result<Vec<(i64, FlxId)>> {
    let states = view.scan(
        projection.engine(),
        predicate,
        interrupt,
        Vec::new,
        |found, rows| {
            let (moments, ids) = (rows.column(seen)?, rows.column(id)?);
            let moments = moments.values.as_primitive::<TimestampMillisecondType>();
            let ids = ids.values.as_string::<i32>();
            // One more than the maximum, to detect that there are more.
            let mut left = (ADVERTS_READ_MAX + 1).saturating_sub(found.len());
            rows.selected.for_each(|row| {
                if left > 0 {
                    left -= 1;
                    let id = FlxId::parse(ids.value(row));
                    found.extend(id.map(|id| (moments.value(row), id)));
                }
            });
            Ok(())
        },
    )?;
    let found: Vec<(i64, FlxId)> = states.into_iter().flatten().collect();
    match found.len() {
        count if count > ADVERTS_READ_MAX => Err(Error::TooManyTexts),
        _ => Ok(found),
    }
}

/// Keeps the adverts whose texts match, with the same result as in percolation.
fn with_words(
    projection: &Projection,
    adverts: Vec<(i64, FlxId)>,
    words: &TextPredicate,
    interrupt: &Interrupt,
) -> Result<Vec<(i64, FlxId)>> {
    let mut found = Vec::new();
    for group in adverts.chunks(READ_AT_ONCE) {
        interrupt.check()?;
        let ids: Vec<FlxId> = group.iter().map(|(_, id)| *id).collect();
        let records = projection.listings().adverts(&ids)?;
        let matching = group.par_iter().zip(records).map(|(advert, record)| {
            // An advert that was removed since the scan has no record.
            let Some(record) = record else {
                return Ok(None);
            };
            let record = serde_json::from_slice::<Advert>(&record);
            let record = record.map_err(|error| Error::Record {
                id: advert.1.to_string(),
                error,
            })?;
            Ok(words.matches(&advert_texts(&record)).then_some(*advert))
        });
        let matching = matching.collect::<Result<Vec<_>>>()?;
        found.extend(matching.into_iter().flatten());
    }
    Ok(found)
}
