//! Property search: the rows a filter selects, sorted, one page at a time, with the exact count.
//!
//! Only columns are read here. The caller then reads the current records of a page from the store by their keys.

use std::sync::Arc;

use arrow::array::AsArray;
use arrow::datatypes::Int64Type;

use crate::columns::{ID, RECORD_KEY, properties};
use crate::properties::record_key::RecordKey;
use crate::search::projection::snapshot::SearchSnapshot;
use crate::search::projection::view::{ProjectionView, SelectedRows};
use crate::search::projection::{self, Projection, Result};
use crate::search::texts::{self, TextMatches};
use toise_contract::enums::EnumSearchRequestSortBy;
use toise_contract::listings::codes::FlxId;
use toise_contract::listings::filters::{ListingKind, ListingSearch, PropertySearchRequest};
use toise_contract::position::{CursorPosition, SortValue};
use toise_engine::Error;
use toise_engine::cancellation::Interrupt;
use toise_engine::predicate::Predicate;
use toise_engine::topk::{Hit, SortColumn, SortKey, TopPage, number_key};

/// A property in a search result.
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
    /// The properties of the page, in order.
    pub items: Vec<FoundProperty>,
    /// Number of properties that match, on all pages.
    pub count: u64,
    /// Where the next page starts; `None` on the last page.
    pub next: Option<CursorPosition>,
}

/// A search compiled against one search snapshot.
pub(crate) struct PreparedSearch {
    state: Arc<SearchSnapshot>,
    predicate: Predicate,
    /// The properties that match the texts, with their scores; `None` for a search without texts.
    fits: Option<TextMatches>,
}

impl Projection {
    /// Prepares a search on the current snapshot.
    pub(crate) fn prepare_search(
        &self,
        search: &ListingSearch,
        interrupt: &Interrupt,
    ) -> Result<PreparedSearch> {
        self.prepare_search_on(self.state(), search, false, interrupt)
    }

    /// Prepares a search on a snapshot. `is_compared` says that results are sorted by relevance, which needs scores.
    fn prepare_search_on(
        &self,
        state: Arc<SearchSnapshot>,
        search: &ListingSearch,
        is_compared: bool,
        interrupt: &Interrupt,
    ) -> Result<PreparedSearch> {
        let fits = fits(&state, search, is_compared, interrupt)?;
        Ok(PreparedSearch {
            predicate: Predicate::compile(properties(), &search.filter).map_err(Error::from)?,
            state,
            fits,
        })
    }

    /// Visits the rows that the search finds, chunk by chunk.
    pub(crate) fn visit_found<S: Send>(
        &self,
        prepared: &PreparedSearch,
        interrupt: &Interrupt,
        start: impl Fn() -> S + Sync,
        visit: impl Fn(&mut S, &SelectedRows<'_>) -> std::result::Result<(), Error> + Sync,
    ) -> Result<Vec<S>> {
        let key = column(RECORD_KEY)?;
        let in_matches = |state: &mut S, rows: SelectedRows<'_>| {
            let Some(fits) = &prepared.fits else {
                return visit(state, &rows);
            };
            let keys = rows.column(key)?;
            let keys = keys.values.as_primitive::<Int64Type>();
            let rows = rows.only(|row| fits.contains(RecordKey(keys.value(row)).number()));
            if rows.selected.runs.is_empty() {
                Ok(())
            } else {
                visit(state, &rows)
            }
        };
        let (engine, view) = (self.engine(), &prepared.state.view);
        Ok(view.scan(engine, &prepared.predicate, interrupt, start, in_matches)?)
    }

    /// Returns one page of a search. Pages after the first show the rows of the snapshot of the first. Ties are ordered
    /// by identifier, ascending. CPU work on the calling thread and its rayon pool.
    ///
    /// # Errors
    /// A column or the text index cannot be read, or the query is cancelled; [`projection::Error::CursorExpired`] if
    /// the snapshot of the previous page is no longer cached.
    pub fn search(
        &self,
        request: &PropertySearchRequest,
        interrupt: &Interrupt,
    ) -> Result<PropertyPage> {
        let is_by_relevance = request.sort_by == EnumSearchRequestSortBy::Relevance;
        let after = request.after.as_ref();
        let state = self.state_after(after)?;
        let prepared =
            self.prepare_search_on(state, &request.search, is_by_relevance, interrupt)?;
        let fits = prepared.fits.as_ref().filter(|_| is_by_relevance);
        let (sort, id, key) = (
            column(ListingKind::Property.sort_column(request.sort_by))?,
            column(ID)?,
            column(RECORD_KEY)?,
        );
        let after = after.map(|position| SortKey::from_position(position, request.descending));
        let page = TopPage::new(request.size, after);
        let parts = self.visit_found(
            &prepared,
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
            self.keep(&prepared.state);
        }
        let value = |last: &Hit| self.sort_value(&prepared, fits, sort, last);
        let next = page.next(Some(prepared.state.cursor_state(is_by_relevance)), value)?;
        let items = page.hits.iter();
        let items = items.filter_map(|hit| self.found(&prepared.state.view, hit).transpose());
        Ok(PropertyPage {
            items: items.collect::<Result<Vec<FoundProperty>>>()?,
            count: page.total,
            next,
        })
    }

    /// Counts the properties that a search finds.
    ///
    /// # Errors
    /// A column or the text index cannot be read, or the query is cancelled.
    pub fn count(&self, search: &ListingSearch, interrupt: &Interrupt) -> Result<u64> {
        let prepared = self.prepare_search(search, interrupt)?;
        let counts = self.visit_found(
            &prepared,
            interrupt,
            || 0u64,
            |count, rows| {
                *count += rows.selected.count();
                Ok(())
            },
        )?;
        Ok(counts.into_iter().sum())
    }

    /// Returns the record key of a hit.
    pub(super) fn key_of(&self, view: &ProjectionView, hit: &Hit) -> Result<RecordKey> {
        let keys = view.column(self.engine(), hit.chunk, column(RECORD_KEY)?)?;
        let key = keys.values.as_primitive::<Int64Type>().value(hit.row);
        Ok(RecordKey(key))
    }

    /// Returns the property of a hit; `None` if its identifier does not parse.
    fn found(&self, view: &ProjectionView, hit: &Hit) -> Result<Option<FoundProperty>> {
        let key = self.key_of(view, hit)?;
        Ok(FlxId::parse(hit.id()).map(|id| FoundProperty { id, key }))
    }

    /// Returns the sort value of a hit, as stored in a cursor.
    fn sort_value(
        &self,
        prepared: &PreparedSearch,
        fits: Option<&TextMatches>,
        sort: usize,
        hit: &Hit,
    ) -> Result<Option<SortValue>> {
        let column = |number| {
            let view = &prepared.state.view;
            view.column(self.engine(), hit.chunk, number)
        };
        if let Some(fits) = fits {
            let key = self.key_of(&prepared.state.view, hit)?;
            let score = fits.score(key.number());
            return Ok(score.map(|score| SortValue::Number(f64::from(score))));
        }
        let (values, ids) = (column(sort)?, column(self::column(ID)?)?);
        // The value does not depend on the direction.
        Ok(SortColumn::new(&values, ids.values.as_string::<i32>(), false).value(hit.row))
    }
}

/// Finds the properties of a snapshot that match the texts of a search; `None` for a search without texts.
pub(super) fn fits(
    state: &SearchSnapshot,
    search: &ListingSearch,
    is_compared: bool,
    interrupt: &Interrupt,
) -> Result<Option<TextMatches>> {
    let has_texts = !search.keywords.is_empty() || !search.full_texts.is_empty();
    match (&state.words, has_texts) {
        (_, false) => Ok(None),
        (Some(words), true) => match words.find(search, is_compared, interrupt) {
            Err(texts::Error::Unavailable) => Err(projection::Error::TextIndexUnavailable),
            found => Ok(found?),
        },
        (None, true) => Err(projection::Error::TextIndexUnavailable),
    }
}

/// Returns the index of a column in the table of properties.
pub(crate) fn column(name: &str) -> Result<usize> {
    let found = properties().column(name).map(|(index, _)| index);
    Ok(found.ok_or_else(|| Error::UnknownTable(format!("{}.{name}", properties().name)))?)
}
