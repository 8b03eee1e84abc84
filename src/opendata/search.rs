//! Search: the rows that a filter selects, sorted and paged, with their exact number.

use std::sync::atomic::AtomicU64;

use arrow::array::AsArray;

use super::{Dataset, OpenData, Position, SearchAnswer, SearchRequest};
use toise_contract::filter::Test;
use toise_engine::predicate::Predicate;
use toise_engine::topk::{Hit, Place, SortColumn, TopK};
use toise_engine::view::{RowRef, TableView};
use toise_engine::{Engine, Error};

impl OpenData {
    /// Runs a search. CPU-bound, on the calling thread and its rayon pool.
    pub fn search(&self, dataset: Dataset, request: &SearchRequest) -> Result<SearchAnswer, Error> {
        let schema = dataset.schema();
        let view = self.engine().view(schema)?;
        if let Some(answer) = by_id_alone(&view, request)? {
            return Ok(answer);
        }
        let predicate = Predicate::compile(schema, &request.filter)?;
        let after = request
            .after
            .as_ref()
            .map(|position| Place::of(position, request.descending));
        let (total, hits) = best(self, &view, &predicate, request, after.as_ref())?;
        let rows: Vec<RowRef> = hits
            .iter()
            .take(request.size)
            .map(|hit| row_of(&view, hit))
            .collect();
        let records = view.records(&rows)?;
        let next = match hits.get(..request.size) {
            Some(page) if hits.len() > request.size => page
                .last()
                .map(|last| position(self.engine(), &view, request.sort_by, last)),
            _ => None,
        };
        Ok(SearchAnswer {
            records,
            total,
            next: next.transpose()?,
        })
    }
}

/// Answers a filter on ids alone from the id indexes, without reading a column.
fn by_id_alone(view: &TableView, request: &SearchRequest) -> Result<Option<SearchAnswer>, Error> {
    let [clause] = request.filter.as_slice() else {
        return Ok(None);
    };
    let (true, Test::OneOf(ids)) = (clause.column == view.schema().id, &clause.test) else {
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

/// The number of selected rows and the best of them in order: one more than the page holds, to know whether another
/// page follows.
fn best(
    open_data: &OpenData,
    view: &TableView,
    predicate: &Predicate,
    request: &SearchRequest,
    after: Option<&Place>,
) -> Result<(u64, Vec<Hit>), Error> {
    let limit = request.size + 1;
    let (sort, id) = (
        column(view, request.sort_by)?,
        column(view, view.schema().id)?,
    );
    let threshold = AtomicU64::new(u64::MAX);
    let states = open_data.engine().scan(
        view,
        predicate,
        open_data.interrupt(),
        || (0u64, TopK::new(limit, after, &threshold)),
        |(total, top), visited| {
            *total += visited.selected.count();
            let (sort, ids) = (visited.column(sort)?, visited.column(id)?);
            let sort = SortColumn::new(&sort, ids.values.as_string::<i32>(), request.descending);
            for run in &visited.selected.runs {
                top.consider(visited.index, run, &sort);
            }
            Ok(())
        },
    )?;
    let mut total = 0;
    let mut hits = Vec::new();
    for (count, top) in states {
        total += count;
        hits.extend(top.into_hits());
    }
    hits.sort_unstable();
    hits.truncate(limit);
    Ok((total, hits))
}

fn column(view: &TableView, name: &str) -> Result<usize, Error> {
    let found = view.schema().column(name).map(|(index, _)| index);
    found.ok_or_else(|| Error::UnknownTable(format!("{}.{name}", view.schema().name)))
}

fn row_of(view: &TableView, hit: &Hit) -> RowRef {
    let chunk = &view.chunks()[hit.chunk];
    RowRef {
        part: chunk.part,
        row: chunk.first_row + hit.row as u32,
    }
}

fn position(
    engine: &Engine,
    view: &TableView,
    sort_by: &str,
    hit: &Hit,
) -> Result<Position, Error> {
    let chunk = &view.chunks()[hit.chunk];
    let sort = view.column(engine.cache(), chunk, column(view, sort_by)?)?;
    let ids = view.column(engine.cache(), chunk, column(view, view.schema().id)?)?;
    let value = SortColumn::new(&sort, ids.values.as_string::<i32>(), false).value(hit.row);
    Ok(Position {
        value,
        id: hit.id().to_owned(),
        state: None,
    })
}
