//! Searches of properties: the rows a filter selects, sorted, a page at a time, with their exact number.
//!
//! Only columns are looked at here; the records of a page are then read from the store by their identifiers, as they
//! are at that moment.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use arrow::array::AsArray;
use uuid::Uuid;

use super::columns::{ID, properties};
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

/// A page of properties.
#[derive(Clone, Debug, PartialEq)]
pub struct Page {
    /// Identifiers, in order.
    pub ids: Vec<FlxId>,
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
    pub(super) fn asked(&self, search: &Search) -> Result<Asked> {
        Ok(Asked {
            view: self.view(),
            predicate: Predicate::compile(properties(), &search.filter).map_err(Error::from)?,
            fits: self.texts().find(search)?,
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
        let id = column(ID)?;
        let among_fits = |state: &mut S, rows: Rows<'_>| {
            let Some(fits) = &asked.fits else {
                return visit(state, &rows);
            };
            let ids = rows.column(id)?;
            let ids = ids.values.as_string::<i32>();
            let fits = |row| Uuid::try_parse(ids.value(row)).is_ok_and(|id| fits.contains_key(&id));
            let rows = rows.only(fits);
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
        let asked = self.asked(&request.search)?;
        match &asked.fits {
            Some(fits) if request.sort_by == EnumSearchRequestSortBy::Relevance => {
                self.by_relevance(request, &asked, fits, interrupt)
            }
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
        Ok(Page {
            ids: hits
                .iter()
                .take(request.size)
                .filter_map(|hit| FlxId::parse(hit.id()))
                .collect(),
            count,
            next: next.transpose()?,
        })
    }

    /// The page of what fits the texts best, or worst when ascending; ties by identifier.
    fn by_relevance(
        &self,
        request: &SearchRequest,
        asked: &Asked,
        fits: &Fits,
        interrupt: &Interrupt,
    ) -> Result<Page> {
        let id = column(ID)?;
        let states = self.visit_found(asked, interrupt, Vec::new, |found, rows| {
            let ids = rows.column(id)?;
            let ids = ids.values.as_string::<i32>();
            rows.selected.for_each(|row| {
                let id = Uuid::try_parse(ids.value(row)).ok();
                found.extend(id.and_then(|id| Some((f64::from(*fits.get(&id)?), id))));
            });
            Ok(())
        })?;
        let mut found: Vec<(f64, Uuid)> = states.into_iter().flatten().collect();
        let order = |one: &(f64, Uuid), other: &(f64, Uuid)| {
            let scores = one.0.total_cmp(&other.0);
            let scores = match request.descending {
                true => scores.reverse(),
                false => scores,
            };
            scores.then(one.1.cmp(&other.1))
        };
        found.sort_unstable_by(order);
        let count = found.len() as u64;
        let after = request.after.as_ref().and_then(|position| {
            let Some(SortValue::Number(score)) = position.value else {
                return None;
            };
            Some((score, Uuid::try_parse(&position.id).ok()?))
        });
        let passed = after.map_or(0, |after| {
            found.partition_point(|place| order(place, &after).is_le())
        });
        let rest = found.get(passed..).unwrap_or_default();
        let page = rest.get(..request.size).unwrap_or(rest);
        let next = page.last().filter(|_| rest.len() > page.len());
        Ok(Page {
            ids: page.iter().map(|(_, id)| FlxId(*id)).collect(),
            count,
            next: next.map(|(score, id)| Position {
                value: Some(SortValue::Number(*score)),
                id: id.to_string(),
            }),
        })
    }

    /// How many properties a search finds.
    ///
    /// # Errors
    /// A column or the index of words cannot be read, or nobody waits any more.
    pub fn count(&self, search: &Search, interrupt: &Interrupt) -> Result<u64> {
        let asked = self.asked(search)?;
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

/// Number of a column of the table.
pub(super) fn column(name: &str) -> Result<usize> {
    let found = properties().column(name).map(|(index, _)| index);
    Ok(found.ok_or_else(|| Error::UnknownTable(format!("{}.{name}", properties().name)))?)
}
