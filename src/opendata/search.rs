//! Search: the rows that a filter selects, sorted and paged, with their exact count.

use arrow::array::AsArray;

use super::{Dataset, DatasetSearchRequest, OpenData, SearchAnswer, column_index};
use toise_contract::filter::ClauseTest;
use toise_contract::position::SortValue;
use toise_engine::predicate::Predicate;
use toise_engine::topk::{FoundPage, Hit, SortColumn, SortKey, TopPage};
use toise_engine::view::{RowRef, TableView};
use toise_engine::{Engine, Error};

impl OpenData {
    /// Runs a search. CPU-bound, on the calling thread and its rayon pool.
    ///
    /// # Errors
    /// A table cannot be read, or [`Error::RowsChanged`].
    pub fn search(
        &self,
        dataset: Dataset,
        request: &DatasetSearchRequest,
    ) -> Result<SearchAnswer, Error> {
        let schema = dataset.schema();
        let view = self.engine().view(schema)?;
        refuse_moved_rows(&view, request)?;
        if let Some(answer) = by_id_alone(&view, request)? {
            return Ok(answer);
        }
        let predicate = Predicate::compile(schema, &request.filter)?;
        let page = page(self, &view, &predicate, request)?;
        let rows: Vec<RowRef> = page.hits.iter().map(|hit| hit.row_in(&view)).collect();
        let value = |last: &Hit| sort_value(self.engine(), &view, request.sort_by, last);
        Ok(SearchAnswer {
            records: view.records(&rows)?,
            next: page.next(Some(view.snapshot().sequence), value)?,
            total: page.total,
        })
    }
}

/// Refuses a page if rows were corrected since the version that the previous page was read from: a row whose sort value
/// changed may be on both pages or on none. Rows in the order of their identifiers do not move, and rows that were added
/// or removed in the meantime do not matter.
fn refuse_moved_rows(view: &TableView, request: &DatasetSearchRequest) -> Result<(), Error> {
    let former = request.after.as_ref().and_then(|after| after.state);
    let Some(version) = former.filter(|_| request.sort_by != view.schema().id) else {
        return Ok(());
    };
    let current = view.snapshot().sequence;
    // A later version than the current one is of a table that was restored from a backup.
    let may_have_moved =
        version > current || (version < current && view.has_corrections_since(version)?);
    if may_have_moved {
        Err(Error::RowsChanged)
    } else {
        Ok(())
    }
}

/// Uses the id indexes to answer a search whose only condition is one id, without reading a column.
fn by_id_alone(
    view: &TableView,
    request: &DatasetSearchRequest,
) -> Result<Option<SearchAnswer>, Error> {
    let [clause] = request.filter.as_slice() else {
        return Ok(None);
    };
    let (true, ClauseTest::OneOf(ids)) = (clause.column == view.schema().id, &clause.test) else {
        return Ok(None);
    };
    let [id] = ids.as_slice() else {
        return Ok(None);
    };
    let row = view.row_of(id)?;
    // The page contains the row unless the cursor is already past it.
    let passed = request.after.as_ref().is_some_and(|after| after.id == *id);
    let rows: Vec<RowRef> = row.into_iter().filter(|_| !passed).collect();
    let records = view.records(&rows)?;
    Ok(Some(SearchAnswer {
        records,
        total: u64::from(row.is_some()),
        next: None,
    }))
}

/// Returns the selected rows of the requested page.
fn page(
    open_data: &OpenData,
    view: &TableView,
    predicate: &Predicate,
    request: &DatasetSearchRequest,
) -> Result<FoundPage, Error> {
    let (sort, id) = (
        column(view, request.sort_by)?,
        column(view, view.schema().id)?,
    );
    let after = request.after.as_ref();
    let after = after.map(|position| SortKey::from_position(position, request.descending));
    let page = TopPage::new(request.size, after);
    let parts = open_data.engine().scan(
        view,
        predicate,
        open_data.interrupt(),
        || page.part(),
        |data_file, visited| {
            let (sort, ids) = (visited.column(sort)?, visited.column(id)?);
            let sort = SortColumn::new(&sort, ids.values.as_string::<i32>(), request.descending);
            data_file.offer_sorted(visited.index, visited.selected, &sort);
            Ok(())
        },
    )?;
    Ok(page.finish(parts))
}

fn column(view: &TableView, name: &str) -> Result<usize, Error> {
    column_index(view.schema(), name)
}

/// Returns the value that a row is sorted by, as a cursor carries it.
fn sort_value(
    engine: &Engine,
    view: &TableView,
    sort_by: &str,
    hit: &Hit,
) -> Result<Option<SortValue>, Error> {
    let chunk = &view.chunks()[hit.chunk];
    let sort = view.column(engine.cache(), chunk, column(view, sort_by)?)?;
    let ids = view.column(engine.cache(), chunk, column(view, view.schema().id)?)?;
    Ok(SortColumn::new(&sort, ids.values.as_string::<i32>(), false).value(hit.row))
}
