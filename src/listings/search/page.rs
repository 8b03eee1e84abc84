//! Searches of properties: the rows a filter selects, sorted, a page at a time, with their exact number.
//!
//! Only columns are looked at here; the records of a page are then read from the store by their keys, as they are at
//! that moment.

use std::sync::Arc;

use arrow::array::AsArray;
use arrow::datatypes::Int64Type;

use crate::columns::{ID, RECORD_KEY, properties};
use crate::properties::record_key::RecordKey;
use crate::search::projection::snapshot::SearchSnapshot;
use crate::search::projection::view::{ProjectionView, SelectedRows};
use crate::search::projection::{self, Projection, Result};
use crate::search::texts::TextMatches;
use toise_contract::enums::EnumSearchRequestSortBy;
use toise_contract::listings::codes::FlxId;
use toise_contract::listings::filters::{ListingKind, ListingSearch, PropertySearchRequest};
use toise_contract::position::{CursorPosition, SortValue};
use toise_engine::Error;
use toise_engine::cancellation::Interrupt;
use toise_engine::predicate::Predicate;
use toise_engine::topk::{Hit, SortColumn, SortKey, TopPage, number_key};

/// A property that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundProperty {
    /// Its identifier.
    pub id: FlxId,
    /// Key of its record in the store.
    pub key: RecordKey,
}

/// A page of properties.
#[derive(Clone, Debug, PartialEq)]
pub struct PropertyPage {
    /// What was found, in order.
    pub items: Vec<FoundProperty>,
    /// All properties that match, whatever the page.
    pub count: u64,
    /// Where the next page starts, when there is one.
    pub next: Option<CursorPosition>,
}

/// What is asked, ready to be looked for in one state of the properties.
pub(crate) struct PreparedSearch {
    state: Arc<SearchSnapshot>,
    predicate: Predicate,
    /// How well properties fit the texts; `None` without texts.
    fits: Option<TextMatches>,
}

impl Projection {
    /// Prepares a search of the present state.
    pub(crate) fn prepare_search(
        &self,
        search: &ListingSearch,
        interrupt: &Interrupt,
    ) -> Result<PreparedSearch> {
        self.prepare_search_on(self.state(), search, false, interrupt)
    }

    /// Prepares a search of a state; whether its texts are to be compared is whether they order what is found.
    fn prepare_search_on(
        &self,
        state: Arc<SearchSnapshot>,
        search: &ListingSearch,
        is_compared: bool,
        interrupt: &Interrupt,
    ) -> Result<PreparedSearch> {
        let has_texts = !search.keywords.is_empty() || !search.full_texts.is_empty();
        let fits = match (&state.words, has_texts) {
            (_, false) => None,
            (Some(words), true) => words.find(search, is_compared, interrupt)?,
            (None, true) => return Err(projection::Error::TextIndexUnavailable),
        };
        Ok(PreparedSearch {
            predicate: Predicate::compile(properties(), &search.filter).map_err(Error::from)?,
            state,
            fits,
        })
    }

    /// Visits the rows that are found, chunk by chunk.
    pub(crate) fn visit_found<S: Send>(
        &self,
        asked: &PreparedSearch,
        interrupt: &Interrupt,
        start: impl Fn() -> S + Sync,
        visit: impl Fn(&mut S, &SelectedRows<'_>) -> std::result::Result<(), Error> + Sync,
    ) -> Result<Vec<S>> {
        let key = column(RECORD_KEY)?;
        let among_fits = |state: &mut S, rows: SelectedRows<'_>| {
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
    pub fn search(
        &self,
        request: &PropertySearchRequest,
        interrupt: &Interrupt,
    ) -> Result<PropertyPage> {
        let is_by_relevance = request.sort_by == EnumSearchRequestSortBy::Relevance;
        let after = request.after.as_ref();
        let state = self.state_of(after.and_then(|position| position.state));
        let asked = self.prepare_search_on(state, &request.search, is_by_relevance, interrupt)?;
        let fits = asked.fits.as_ref().filter(|_| is_by_relevance);
        let (sort, id, key) = (
            column(ListingKind::Property.sort_column(request.sort_by))?,
            column(ID)?,
            column(RECORD_KEY)?,
        );
        let after = after.map(|position| SortKey::from_position(position, request.descending));
        let page = TopPage::new(request.size, after);
        let parts = self.visit_found(
            &asked,
            interrupt,
            || page.part(),
            |part, rows| {
                let ids = rows.column(id)?;
                let ids = ids.values.as_string::<i32>();
                let Some(fits) = fits else {
                    let values = rows.column(sort)?;
                    let sort = SortColumn::new(&values, ids, request.descending);
                    part.offer_sorted(rows.index, &rows.selected, &sort);
                    return Ok(());
                };
                let keys = rows.column(key)?;
                let keys = keys.values.as_primitive::<Int64Type>();
                rows.selected.for_each(|row| {
                    match fits.score(RecordKey(keys.value(row)).number()) {
                        Some(score) => {
                            let key = number_key(f64::from(score), request.descending);
                            part.offer_scored(rows.index, row, key, ids);
                        }
                        None => part.count_unplaced(1),
                    }
                });
                Ok(())
            },
        )?;
        let page = page.finish(parts);
        if page.has_next {
            self.keep(&asked.state);
        }
        let value = |last: &Hit| self.sort_value(&asked, fits, sort, last);
        let next = page.next(Some(asked.state.number()), value)?;
        let items = page.hits.iter();
        let items = items.filter_map(|hit| self.found(&asked.state.view, hit).transpose());
        Ok(PropertyPage {
            items: items.collect::<Result<Vec<FoundProperty>>>()?,
            count: page.total,
            next,
        })
    }

    /// How many properties a search finds.
    ///
    /// # Errors
    /// A column or the index of words cannot be read, or nobody waits any more.
    pub fn count(&self, search: &ListingSearch, interrupt: &Interrupt) -> Result<u64> {
        let asked = self.prepare_search(search, interrupt)?;
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

    /// The key of the record of a hit.
    pub(super) fn key_of(&self, view: &ProjectionView, hit: &Hit) -> Result<RecordKey> {
        let keys = view.column(self.engine(), hit.chunk, column(RECORD_KEY)?)?;
        let key = keys.values.as_primitive::<Int64Type>().value(hit.row);
        Ok(RecordKey(key))
    }

    /// What a hit is; `None` for an identifier that is none.
    fn found(&self, view: &ProjectionView, hit: &Hit) -> Result<Option<FoundProperty>> {
        let key = self.key_of(view, hit)?;
        Ok(FlxId::parse(hit.id()).map(|id| FoundProperty { id, key }))
    }

    /// What a property is sorted by, as a cursor carries it.
    fn sort_value(
        &self,
        asked: &PreparedSearch,
        fits: Option<&TextMatches>,
        sort: usize,
        hit: &Hit,
    ) -> Result<Option<SortValue>> {
        let column = |number| {
            let view = &asked.state.view;
            view.column(self.engine(), hit.chunk, number)
        };
        if let Some(fits) = fits {
            let key = self.key_of(&asked.state.view, hit)?;
            let score = fits.score(key.number());
            return Ok(score.map(|score| SortValue::Number(f64::from(score))));
        }
        let (values, ids) = (column(sort)?, column(self::column(ID)?)?);
        // The direction only orders rows.
        Ok(SortColumn::new(&values, ids.values.as_string::<i32>(), false).value(hit.row))
    }
}

/// Number of a column of the table.
pub(crate) fn column(name: &str) -> Result<usize> {
    let found = properties().column(name).map(|(index, _)| index);
    Ok(found.ok_or_else(|| Error::UnknownTable(format!("{}.{name}", properties().name)))?)
}
