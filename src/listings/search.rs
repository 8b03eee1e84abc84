//! Searches of properties: the rows a filter selects, sorted, a page at a time, with their exact number.
//!
//! Only columns are looked at here; the records of a page are then read from the store by their identifiers, as they
//! are at that moment.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use arrow::array::AsArray;
use arrow::datatypes::Int64Type;

use super::columns::{ID, NUMBER, properties};
use super::projection::view::{Rows, View};
use super::projection::{Projection, Result};
use super::texts::Fits;
use crate::engine::Error;
use crate::engine::interrupt::Interrupt;
use crate::engine::position::{Position, SortValue};
use crate::engine::predicate::Predicate;
use crate::engine::topk::{Hit, Place, SortColumn, TopK};
use crate::wire::enums::EnumSearchRequestSortBy;
use crate::wire::listings::codes::FlxId;
use crate::wire::listings::filters::{Listing, Search, SearchRequest};

/// A property that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its identifier.
    pub id: FlxId,
    /// Its number in the store.
    pub number: i64,
}

/// A page of properties.
#[derive(Clone, Debug, PartialEq)]
pub struct Page {
    /// What was found, in order.
    pub items: Vec<Found>,
    /// All properties that match, whatever the page.
    pub count: u64,
    /// Where the next page starts, when there is one.
    pub next: Option<Position>,
}

/// What is asked, ready to be looked for in one state of the properties.
pub(super) struct Asked {
    view: Arc<View>,
    predicate: Predicate,
    /// How well properties fit the texts; `None` without texts.
    fits: Option<Fits>,
}

impl Projection {
    /// Prepares a search; whether its texts are to be compared is whether they order what is found.
    pub(super) fn asked(&self, search: &Search, is_compared: bool) -> Result<Asked> {
        Ok(Asked {
            view: self.view(),
            predicate: Predicate::compile(properties(), &search.filter).map_err(Error::from)?,
            fits: self.texts().find(search, is_compared)?,
        })
    }

    /// Visits the rows that are found, chunk by chunk.
    pub(super) fn visit_found<S: Send>(
        &self,
        asked: &Asked,
        interrupt: &Interrupt,
        start: impl Fn() -> S + Sync,
        visit: impl Fn(&mut S, &Rows<'_>) -> std::result::Result<(), Error> + Sync,
    ) -> Result<Vec<S>> {
        let number = column(NUMBER)?;
        let among_fits = |state: &mut S, rows: Rows<'_>| {
            let Some(fits) = &asked.fits else {
                return visit(state, &rows);
            };
            let numbers = rows.column(number)?;
            let numbers = numbers.values.as_primitive::<Int64Type>();
            let rows = rows.only(|row| fits.contains(numbers.value(row)));
            match rows.selected.runs.is_empty() {
                true => Ok(()),
                false => visit(state, &rows),
            }
        };
        let (engine, view) = (self.engine(), &asked.view);
        Ok(view.scan(engine, &asked.predicate, interrupt, start, among_fits)?)
    }

    /// The page of a search. CPU work on the calling thread and its rayon pool.
    ///
    /// # Errors
    /// A column or the index of words cannot be read, or nobody waits any more.
    pub fn search(&self, request: &SearchRequest, interrupt: &Interrupt) -> Result<Page> {
        let is_by_relevance = request.sort_by == EnumSearchRequestSortBy::Relevance;
        let asked = self.asked(&request.search, is_by_relevance)?;
        match &asked.fits {
            Some(fits) if is_by_relevance => self.by_relevance(request, &asked, fits, interrupt),
            _ => self.by_column(request, &asked, interrupt),
        }
    }

    fn by_column(
        &self,
        request: &SearchRequest,
        asked: &Asked,
        interrupt: &Interrupt,
    ) -> Result<Page> {
        let (sort, id) = (
            column(Listing::Property.sort_column(request.sort_by))?,
            column(ID)?,
        );
        let after = request.after.as_ref();
        let after = after.map(|position| Place::of(position, request.descending));
        // One more than the page, to know whether there is one.
        let limit = request.size + 1;
        let threshold = AtomicU64::new(u64::MAX);
        let states = self.visit_found(
            asked,
            interrupt,
            || (0u64, TopK::new(limit, after.as_ref(), &threshold)),
            |(count, top), rows| {
                *count += rows.selected.count();
                let (values, ids) = (rows.column(sort)?, rows.column(id)?);
                let sort =
                    SortColumn::new(&values, ids.values.as_string::<i32>(), request.descending);
                for run in &rows.selected.runs {
                    top.consider(rows.index, run, &sort);
                }
                Ok(())
            },
        )?;
        let (mut count, mut hits) = (0, Vec::new());
        for (counted, top) in states {
            count += counted;
            hits.extend(top.into_hits());
        }
        hits.sort_unstable();
        hits.truncate(limit);
        let next = match hits.get(..request.size) {
            Some(page) if hits.len() > request.size => page
                .last()
                .map(|last| self.position(&asked.view, sort, last, request.descending)),
            _ => None,
        };
        let items = hits.iter().take(request.size);
        let items = items.filter_map(|hit| self.found(&asked.view, hit).transpose());
        Ok(Page {
            items: items.collect::<Result<Vec<Found>>>()?,
            count,
            next: next.transpose()?,
        })
    }

    /// The page of what fits the texts best, or worst when ascending; of two that fit alike the first that came.
    fn by_relevance(
        &self,
        request: &SearchRequest,
        asked: &Asked,
        fits: &Fits,
        interrupt: &Interrupt,
    ) -> Result<Page> {
        let number = column(NUMBER)?;
        let after = request.after.as_ref();
        let after = after.and_then(|position| Fit::of(position, request.descending));
        let states = self.visit_found(
            asked,
            interrupt,
            || (0u64, Vec::new()),
            |(count, rest), rows| {
                let numbers = rows.column(number)?;
                let numbers = numbers.values.as_primitive::<Int64Type>();
                rows.selected.for_each(|row| {
                    let number = numbers.value(row);
                    let Some(score) = fits.score(number) else {
                        return;
                    };
                    *count += 1;
                    let fit = Fit::new(score, number, request.descending);
                    if after.is_none_or(|after| after < fit) {
                        rest.push((fit, rows.index, row));
                    }
                });
                Ok(())
            },
        )?;
        let (mut count, mut rest) = (0, Vec::new());
        for (counted, found) in states {
            count += counted;
            rest.extend(found);
        }
        let has_more = rest.len() > request.size;
        if has_more {
            // Only the page is sorted, not all there is.
            rest.select_nth_unstable(request.size);
            rest.truncate(request.size);
        }
        rest.sort_unstable();
        let items = rest.iter().map(|(fit, chunk, row)| {
            let ids = asked.view.column(self.engine(), *chunk, column(ID)?)?;
            let id = FlxId::parse(ids.values.as_string::<i32>().value(*row));
            let number = fit.number;
            Ok(id.map(|id| Found { id, number }))
        });
        Ok(Page {
            items: items.filter_map(Result::transpose).collect::<Result<_>>()?,
            count,
            next: rest
                .last()
                .filter(|_| has_more)
                .map(|(fit, ..)| fit.position()),
        })
    }

    /// How many properties a search finds.
    ///
    /// # Errors
    /// A column or the index of words cannot be read, or nobody waits any more.
    pub fn count(&self, search: &Search, interrupt: &Interrupt) -> Result<u64> {
        let asked = self.asked(search, false)?;
        let counts = self.visit_found(
            &asked,
            interrupt,
            || 0u64,
            |count, rows| {
                *count += rows.selected.count();
                Ok(())
            },
        )?;
        Ok(counts.into_iter().sum())
    }

    /// What a hit is; `None` for an identifier that is none.
    fn found(&self, view: &View, hit: &Hit) -> Result<Option<Found>> {
        let numbers = view.column(self.engine(), hit.chunk, column(NUMBER)?)?;
        let number = numbers.values.as_primitive::<Int64Type>().value(hit.row);
        Ok(FlxId::parse(hit.id()).map(|id| Found { id, number }))
    }

    fn position(&self, view: &View, sort: usize, hit: &Hit, descending: bool) -> Result<Position> {
        let values = view.column(self.engine(), hit.chunk, sort)?;
        let ids = view.column(self.engine(), hit.chunk, column(ID)?)?;
        let sort = SortColumn::new(&values, ids.values.as_string::<i32>(), descending);
        Ok(Position {
            value: sort.value(hit.row),
            id: hit.id().to_owned(),
        })
    }
}

/// How well a property fits, ordered as asked.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Fit {
    /// The bits of the score, which is never negative, turned over when the best come first.
    rank: u32,
    number: i64,
    bits: u32,
}

impl Fit {
    fn new(score: f32, number: i64, is_descending: bool) -> Self {
        let bits = score.to_bits();
        let rank = if is_descending { !bits } else { bits };
        Self { rank, number, bits }
    }

    /// Where a page ended.
    fn of(position: &Position, is_descending: bool) -> Option<Self> {
        let Some(SortValue::Number(score)) = position.value else {
            return None;
        };
        let number = position.id.parse().ok()?;
        Some(Self::new(score as f32, number, is_descending))
    }

    fn position(&self) -> Position {
        Position {
            value: Some(SortValue::Number(f64::from(f32::from_bits(self.bits)))),
            id: self.number.to_string(),
        }
    }
}

/// Number of a column of the table.
pub(super) fn column(name: &str) -> Result<usize> {
    let found = properties().column(name).map(|(index, _)| index);
    Ok(found.ok_or_else(|| Error::UnknownTable(format!("{}.{name}", properties().name)))?)
}
