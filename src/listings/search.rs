//! Searches of properties: the rows a filter selects, sorted, a page at a time, with their exact number.
//!
//! Only columns are looked at here; the records of a page are then read from the store by their identifiers, as they
//! are at that moment.

use std::sync::atomic::AtomicU64;

use arrow::array::AsArray;

use super::columns::{ID, properties};
use super::projection::view::View;
use super::projection::{Projection, Result};
use crate::engine::Error;
use crate::engine::filter::Filter;
use crate::engine::interrupt::Interrupt;
use crate::engine::position::Position;
use crate::engine::predicate::Predicate;
use crate::engine::topk::{Hit, Place, SortColumn, TopK};
use crate::wire::listings::codes::FlxId;
use crate::wire::listings::filters::{Listing, SearchRequest};

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

impl Projection {
    /// The page of a search. CPU work on the calling thread and its rayon pool.
    ///
    /// # Errors
    /// A column cannot be read, or nobody waits any more.
    pub fn search(&self, request: &SearchRequest, interrupt: &Interrupt) -> Result<Page> {
        let view = self.view();
        let predicate =
            Predicate::compile(properties(), &request.search.filter).map_err(Error::from)?;
        let (sort, id) = (
            column(Listing::Property.sort_column(request.sort_by))?,
            column(ID)?,
        );
        let after = request.after.as_ref();
        let after = after.map(|position| Place::of(position, request.descending));
        // One more than the page, to know whether there is one.
        let limit = request.size + 1;
        let threshold = AtomicU64::new(u64::MAX);
        let states = view.scan(
            self.engine(),
            &predicate,
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
                .map(|last| self.position(&view, sort, last, request.descending)),
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

    /// How many properties a filter selects.
    ///
    /// # Errors
    /// A column cannot be read, or nobody waits any more.
    pub fn count(&self, filter: &Filter, interrupt: &Interrupt) -> Result<u64> {
        let predicate = Predicate::compile(properties(), filter).map_err(Error::from)?;
        let counts = self.view().scan(
            self.engine(),
            &predicate,
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
