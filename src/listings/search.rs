//! Searches of properties: the rows a filter selects, sorted, a page at a time, with their exact number.
//!
//! Only columns are looked at here; the records of a page are then read from the store by their keys, as they are at
//! that moment.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use arrow::array::AsArray;
use arrow::datatypes::Int64Type;

use super::columns::{ID, RECORD_KEY, properties};
use super::projection::state::State;
use super::projection::view::{Rows, View};
use super::projection::{self, Projection, Result};
use super::record_key::RecordKey;
use super::texts::Fits;
use toise_contract::enums::EnumSearchRequestSortBy;
use toise_contract::listings::codes::FlxId;
use toise_contract::listings::filters::{Listing, Search, SearchRequest};
use toise_contract::position::{Position, SortValue};
use toise_engine::Error;
use toise_engine::interrupt::Interrupt;
use toise_engine::predicate::Predicate;
use toise_engine::topk::{Hit, Place, SortColumn, TopK, number_key};

/// A property that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its identifier.
    pub id: FlxId,
    /// Key of its record in the store.
    pub key: RecordKey,
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
    state: Arc<State>,
    predicate: Predicate,
    /// How well properties fit the texts; `None` without texts.
    fits: Option<Fits>,
}

impl Projection {
    /// Prepares a search of the present state.
    pub(super) fn asked(&self, search: &Search, interrupt: &Interrupt) -> Result<Asked> {
        self.asked_of(self.state(), search, false, interrupt)
    }

    /// Prepares a search of a state; whether its texts are to be compared is whether they order what is found.
    fn asked_of(
        &self,
        state: Arc<State>,
        search: &Search,
        is_compared: bool,
        interrupt: &Interrupt,
    ) -> Result<Asked> {
        let has_texts = !search.keywords.is_empty() || !search.full_texts.is_empty();
        let fits = match (&state.words, has_texts) {
            (_, false) => None,
            (Some(words), true) => words.find(search, is_compared, interrupt)?,
            (None, true) => return Err(projection::Error::NoWords),
        };
        Ok(Asked {
            predicate: Predicate::compile(properties(), &search.filter).map_err(Error::from)?,
            state,
            fits,
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
        let key = column(RECORD_KEY)?;
        let among_fits = |state: &mut S, rows: Rows<'_>| {
            let Some(fits) = &asked.fits else {
                return visit(state, &rows);
            };
            let keys = rows.column(key)?;
            let keys = keys.values.as_primitive::<Int64Type>();
            let rows = rows.only(|row| fits.contains(RecordKey(keys.value(row)).number()));
            match rows.selected.runs.is_empty() {
                true => Ok(()),
                false => visit(state, &rows),
            }
        };
        let (engine, view) = (self.engine(), &asked.state.view);
        Ok(view.scan(engine, &asked.predicate, interrupt, start, among_fits)?)
    }

    /// The page of a search: of the state that the page before was of while that is kept, else of the present one. Of two
    /// that are alike the lesser identifier comes first. CPU work on the calling thread and its rayon pool.
    ///
    /// # Errors
    /// A column or the index of words cannot be read, or nobody waits any more.
    pub fn search(&self, request: &SearchRequest, interrupt: &Interrupt) -> Result<Page> {
        let is_by_relevance = request.sort_by == EnumSearchRequestSortBy::Relevance;
        let after = request.after.as_ref();
        let state = self.state_of(after.and_then(|position| position.state));
        let asked = self.asked_of(state, &request.search, is_by_relevance, interrupt)?;
        let fits = asked.fits.as_ref().filter(|_| is_by_relevance);
        let (sort, id, key) = (
            column(Listing::Property.sort_column(request.sort_by))?,
            column(ID)?,
            column(RECORD_KEY)?,
        );
        let after = after.map(|position| Place::of(position, request.descending));
        // One more than the page, to know whether there is one.
        let limit = request.size + 1;
        let threshold = AtomicU64::new(u64::MAX);
        let states = self.visit_found(
            &asked,
            interrupt,
            || (0u64, TopK::new(limit, after.as_ref(), &threshold)),
            |(count, top), rows| {
                *count += rows.selected.count();
                let ids = rows.column(id)?;
                let ids = ids.values.as_string::<i32>();
                let Some(fits) = fits else {
                    let values = rows.column(sort)?;
                    let sort = SortColumn::new(&values, ids, request.descending);
                    for run in &rows.selected.runs {
                        top.consider(rows.index, run, &sort);
                    }
                    return Ok(());
                };
                let keys = rows.column(key)?;
                let keys = keys.values.as_primitive::<Int64Type>();
                rows.selected.for_each(|row| {
                    if let Some(score) = fits.score(RecordKey(keys.value(row)).number()) {
                        let key = number_key(f64::from(score), request.descending);
                        top.consider_one(rows.index, row, key, ids);
                    }
                });
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
            Some([.., last]) if hits.len() > request.size => {
                self.keep(&asked.state);
                Some(self.position(&asked, fits, sort, last, request.descending)?)
            }
            _ => None,
        };
        let items = hits.iter().take(request.size);
        let items = items.filter_map(|hit| self.found(&asked.state.view, hit).transpose());
        Ok(Page {
            items: items.collect::<Result<Vec<Found>>>()?,
            count,
            next,
        })
    }

    /// How many properties a search finds.
    ///
    /// # Errors
    /// A column or the index of words cannot be read, or nobody waits any more.
    pub fn count(&self, search: &Search, interrupt: &Interrupt) -> Result<u64> {
        let asked = self.asked(search, interrupt)?;
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
        let keys = view.column(self.engine(), hit.chunk, column(RECORD_KEY)?)?;
        let key = RecordKey(keys.values.as_primitive::<Int64Type>().value(hit.row));
        Ok(FlxId::parse(hit.id()).map(|id| Found { id, key }))
    }

    /// Where a page ends with a hit.
    fn position(
        &self,
        asked: &Asked,
        fits: Option<&Fits>,
        sort: usize,
        hit: &Hit,
        descending: bool,
    ) -> Result<Position> {
        let column = |number| {
            let view = &asked.state.view;
            view.column(self.engine(), hit.chunk, number)
        };
        let value = match fits {
            Some(fits) => {
                let keys = column(self::column(RECORD_KEY)?)?;
                let key = RecordKey(keys.values.as_primitive::<Int64Type>().value(hit.row));
                let score = fits.score(key.number());
                score.map(|score| SortValue::Number(f64::from(score)))
            }
            None => {
                let (values, ids) = (column(sort)?, column(self::column(ID)?)?);
                let sort = SortColumn::new(&values, ids.values.as_string::<i32>(), descending);
                sort.value(hit.row)
            }
        };
        Ok(Position {
            value,
            id: hit.id().to_owned(),
            state: Some(asked.state.number()),
        })
    }
}

/// Number of a column of the table.
pub(super) fn column(name: &str) -> Result<usize> {
    let found = properties().column(name).map(|(index, _)| index);
    Ok(found.ok_or_else(|| Error::UnknownTable(format!("{}.{name}", properties().name)))?)
}
