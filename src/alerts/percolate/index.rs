//! The active alerts on one table, and the search for those that match the rows of a batch.
//!
//! Each alert is stored under the keys without which it cannot match (`keys`). A batch is grouped by key; for each key
//! its alerts are tested on the rows that have it, clause by clause (`clauses`), until no row is left. The cost
//! therefore depends on the alerts near the rows: with 100,000 realistic alerts, 128 rows meet 40,000 alerts and
//! evaluate 1,400 clauses; one row meets 700 alerts and evaluates 80. An alert takes about 360 bytes, including its
//! share of the compiled clauses.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{Array, AsArray};
use arrow::datatypes::{Float64Type, Int32Type};
use datafusion::error::DataFusionError;

pub use super::clauses::ROWS_MAX;
use super::clauses::{ClauseBits, ClauseId, ClauseTable, cost, tests_timestamp};
use super::keys::{CELL_DEGREES, GridCell, IndexKey, grid_cell, keys};
pub use crate::alert::Subscription;
use toise_contract::filter::{Clause, Filter, LayerSource};
use toise_contract::listings::filters::ListingSearch;
use toise_engine::Error;
use toise_engine::batch::DecodedBatch;
use toise_engine::select::ColumnSource;
use toise_engine::texts::{RecordTexts, TextPredicate};
use toise_lake::schema::{ColumnKind, TableSchema};

/// Position of an alert in an index.
type AlertSlot = u32;

/// The active alerts on one table.
#[derive(Debug)]
pub struct AlertIndex {
    schema: &'static TableSchema,
    clauses: ClauseTable,
    slots: Vec<Option<IndexedAlert>>,
    free: Vec<AlertSlot>,
    by_alert: HashMap<i64, AlertSlot>,
    /// Alerts by column and text.
    by_text: HashMap<usize, HashMap<Box<str>, Vec<AlertSlot>>>,
    /// Alerts by position, given by its two columns, and by cell.
    by_cell: HashMap<[usize; 2], CellIndex>,
    /// Alerts that may match any row.
    anywhere: Vec<AlertSlot>,
    words: ClauseBits,
    /// Number of alerts that have a condition on a timestamp.
    with_timestamp_tests: usize,
}

/// Alerts by grid cell.
#[derive(Debug, Default)]
struct CellIndex {
    /// Number of keys in each grid; empty grids are skipped.
    keys_of_grid: [usize; CELL_DEGREES.len()],
    slots: HashMap<GridCell, Vec<AlertSlot>>,
}

/// An alert in the index.
#[derive(Debug)]
struct IndexedAlert {
    alert: i64,
    wants: Subscription,
    /// Its clauses; all must be true.
    clauses: Box<[ClauseId]>,
    /// Its conditions on texts, which must hold too.
    texts: Option<Box<TextPredicate>>,
    /// Whether one of its clauses is on a timestamp.
    has_timestamp_test: bool,
}

/// An alert that matches a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AlertMatch {
    /// Index of the row in the batch.
    pub row: usize,
    /// Row number of the alert in the store.
    pub alert: i64,
}

impl AlertIndex {
    /// Creates an empty index on a table whose alerts may use layers. Without layers, alerts on layers match nothing.
    pub fn new(schema: &'static TableSchema, layers: Option<Arc<dyn LayerSource>>) -> Self {
        Self {
            schema,
            clauses: ClauseTable::on(layers),
            slots: Vec::new(),
            free: Vec::new(),
            by_alert: HashMap::new(),
            by_text: HashMap::new(),
            by_cell: HashMap::new(),
            anywhere: Vec::new(),
            words: ClauseBits::default(),
            with_timestamp_tests: 0,
        }
    }

    /// Makes the alerts use the current versions of their layers. Must be called before a batch if layers may have been
    /// replaced or removed. Blocks: for a second per million vertices of a new layer that is not in memory.
    pub fn follow_layers(&mut self) {
        self.clauses.follow_layers(self.schema);
    }

    /// Returns the names of the layers that alerts use.
    pub(super) fn layer_names(&self) -> impl Iterator<Item = &str> {
        self.clauses.layer_names()
    }

    /// Returns whether an alert has a condition on a timestamp.
    pub fn has_timestamp_tests(&self) -> bool {
        self.with_timestamp_tests > 0
    }

    /// Returns the columns of the table.
    pub fn schema(&self) -> &'static TableSchema {
        self.schema
    }

    /// Returns the number of alerts in the index.
    pub fn len(&self) -> usize {
        self.by_alert.len()
    }

    /// Returns whether the index has no alerts.
    pub fn is_empty(&self) -> bool {
        self.by_alert.is_empty()
    }

    /// Returns the number of distinct clauses of all alerts.
    pub fn clause_count(&self) -> usize {
        self.clauses.count()
    }

    /// Returns the events that an alert wants; `None` if it is not active.
    pub fn subscription(&self, alert: i64) -> Option<Subscription> {
        let slot = self.by_alert.get(&alert)?;
        Some(self.kept(*slot)?.wants)
    }

    fn kept(&self, slot: AlertSlot) -> Option<&IndexedAlert> {
        self.slots.get(slot as usize)?.as_ref()
    }

    /// Adds an alert, or replaces it if it has changed.
    ///
    /// # Errors
    /// The filter uses a column that the table does not have; the alert is then not in the index.
    pub fn upsert(
        &mut self,
        alert: i64,
        wants: Subscription,
        search: &ListingSearch,
    ) -> Result<(), DataFusionError> {
        self.remove(alert);
        let filter = &search.filter;
        let texts = TextPredicate::compile(&search.keywords, &search.full_texts).map(Box::new);
        let mut ordered: Vec<&Clause> = filter.iter().collect();
        ordered.sort_by_key(|clause| cost(clause));
        let mut clauses = Vec::with_capacity(filter.len());
        for clause in ordered {
            match self.clauses.intern(self.schema, clause) {
                Ok(id) => clauses.push(id),
                Err(error) => {
                    clauses.into_iter().for_each(|id| self.clauses.release(id));
                    return Err(error);
                }
            }
        }
        let has_timestamp_test = filter.iter().any(tests_timestamp);
        self.with_timestamp_tests += usize::from(has_timestamp_test);
        let kept = Some(IndexedAlert {
            alert,
            wants,
            clauses: clauses.into(),
            texts,
            has_timestamp_test,
        });
        let slot = match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = kept;
                slot
            }
            None => {
                self.slots.push(kept);
                self.slots.len() as AlertSlot - 1
            }
        };
        self.by_alert.insert(alert, slot);
        self.for_each_posting_list(slot, |list| list.push(slot));
        Ok(())
    }

    /// Removes an alert, if it is in the index.
    pub fn remove(&mut self, alert: i64) {
        let Some(slot) = self.by_alert.remove(&alert) else {
            return;
        };
        self.for_each_posting_list(slot, |list| list.retain(|other| *other != slot));
        if let Some(kept) = self.slots[slot as usize].take() {
            kept.clauses.iter().for_each(|id| self.clauses.release(*id));
            self.with_timestamp_tests -= usize::from(kept.has_timestamp_test);
        }
        self.free.push(slot);
    }

    /// Applies `change` to every posting list of an alert; lists that become empty are removed.
    fn for_each_posting_list(
        &mut self,
        slot: AlertSlot,
        mut change: impl FnMut(&mut Vec<AlertSlot>),
    ) {
        // Uses the clauses as stored, so that the keys are the same on every call.
        let clauses = self.kept(slot).map(|kept| kept.clauses.iter());
        let clauses = clauses.into_iter().flatten();
        let filter: Filter = clauses
            .filter_map(|id| self.clauses.get(*id).cloned())
            .collect();
        let Some(keys) = keys(self.schema, &filter) else {
            change(&mut self.anywhere);
            return;
        };
        for key in keys {
            match key {
                IndexKey::Text(column, text) => {
                    let texts = self.by_text.entry(column).or_default();
                    let list = texts.entry(text.as_str().into()).or_default();
                    change(list);
                    if list.is_empty() {
                        texts.remove(text.as_str());
                    }
                    if texts.is_empty() {
                        self.by_text.remove(&column);
                    }
                }
                IndexKey::Cell(columns, cell) => {
                    let cells = self.by_cell.entry(columns).or_default();
                    let list = cells.slots.entry(cell).or_default();
                    let before = list.len();
                    change(list);
                    let count = &mut cells.keys_of_grid[usize::from(cell.0)];
                    *count = *count + list.len() - before;
                    if list.is_empty() {
                        cells.slots.remove(&cell);
                    }
                    if cells.slots.is_empty() {
                        self.by_cell.remove(&columns);
                    }
                }
            }
        }
    }

    /// Returns the alerts that match rows of a batch of at most [`ROWS_MAX`] rows, sorted by row and alert, without
    /// duplicates. The rows have no texts, so alerts with conditions on texts do not match.
    ///
    /// # Errors
    /// The batch is too large or of another table, or an expression cannot be evaluated.
    pub fn matches(&mut self, batch: &DecodedBatch) -> Result<Vec<AlertMatch>, Error> {
        self.find_matches(batch, &[], 0)
    }

    /// Like [`Self::matches`], but for rows with these texts. In the rows of the bitset `sighted` only timestamps
    /// changed, so alerts without a condition on a timestamp are skipped there.
    ///
    /// # Errors
    /// As for [`Self::matches`].
    pub(super) fn find_matches(
        &mut self,
        batch: &DecodedBatch,
        texts: &[RecordTexts],
        sighted: u128,
    ) -> Result<Vec<AlertMatch>, Error> {
        all_rows(batch)?;
        let mut words = std::mem::take(&mut self.words);
        words.begin(&self.clauses);
        let mut found = MatchCollector {
            index: self,
            batch,
            texts,
            sighted,
            words: &mut words,
            matches: Vec::new(),
        };
        let outcome = found.collect_matches();
        let mut matches = found.matches;
        self.words = words;
        outcome?;
        // An alert may be stored under several keys of a row.
        matches.sort_unstable();
        matches.dedup();
        Ok(matches)
    }

    /// Returns which of `alerts` match any row of a batch of at most [`ROWS_MAX`] rows with these texts. Evaluates each
    /// clause of these alerts at most once.
    ///
    /// # Errors
    /// The batch is too large or of another table, or an expression cannot be evaluated.
    pub fn matching_any(
        &mut self,
        alerts: &[i64],
        batch: &DecodedBatch,
        texts: &[RecordTexts],
    ) -> Result<Vec<i64>, Error> {
        let all = all_rows(batch)?;
        let mut words = std::mem::take(&mut self.words);
        words.begin(&self.clauses);
        let mut matching = Vec::new();
        let mut outcome = Ok(());
        for alert in alerts {
            let slot = self.by_alert.get(alert);
            let Some(kept) = slot.and_then(|slot| self.kept(*slot)) else {
                continue;
            };
            match self.matching_rows(kept, all, (batch, texts), &mut words) {
                Ok(0) => {}
                Ok(_) => matching.push(*alert),
                Err(error) => {
                    outcome = Err(error);
                    break;
                }
            }
        }
        self.words = words;
        outcome.map(|()| matching)
    }

    /// Returns the rows among `rows` on which all clauses of an alert are true and whose texts meet its conditions.
    fn matching_rows(
        &self,
        kept: &IndexedAlert,
        rows: u128,
        (batch, texts): (&DecodedBatch, &[RecordTexts]),
        words: &mut ClauseBits,
    ) -> Result<u128, Error> {
        let mut left = rows;
        for clause in &kept.clauses {
            if left == 0 {
                break;
            }
            left &= self.clauses.bits(*clause, batch, words)?;
        }
        let Some(predicate) = &kept.texts else {
            return Ok(left);
        };
        let has_texts = |row: &usize| texts.get(*row).is_some_and(|own| predicate.matches(own));
        let rows = (0..ROWS_MAX).filter(|row| left & 1 << row != 0);
        Ok(rows.filter(has_texts).fold(0, |rows, row| rows | 1 << row))
    }
}

/// Returns the bitset of all rows of a batch.
fn all_rows(batch: &DecodedBatch) -> Result<u128, Error> {
    let count = batch.rows().num_rows();
    if count > ROWS_MAX {
        let reason = format!("{count} rows; at most {ROWS_MAX} are percolated at once");
        return Err(DataFusionError::Plan(reason).into());
    }
    Ok(u128::MAX
        .checked_shr((ROWS_MAX - count) as u32)
        .unwrap_or(0))
}

/// The matches found so far.
struct MatchCollector<'a> {
    index: &'a AlertIndex,
    batch: &'a DecodedBatch,
    texts: &'a [RecordTexts],
    /// Rows in which only timestamps changed.
    sighted: u128,
    words: &'a mut ClauseBits,
    matches: Vec<AlertMatch>,
}

impl MatchCollector<'_> {
    fn collect_matches(&mut self) -> Result<(), Error> {
        let all = all_rows(self.batch)?;
        let index = self.index;
        self.verify(&index.anywhere, all)?;
        for (column, lists) in &index.by_text {
            for (text, rows) in self.texts(*column)? {
                if let Some(slots) = lists.get(text.as_str()) {
                    self.verify(slots, rows)?;
                }
            }
        }
        for (columns, cells) in &index.by_cell {
            for (cell, rows) in self.cells(*columns, cells)? {
                if let Some(slots) = cells.slots.get(&cell) {
                    self.verify(slots, rows)?;
                }
            }
        }
        Ok(())
    }

    /// Returns the distinct texts of a column, each with its rows.
    fn texts(&self, column: usize) -> Result<Vec<(String, u128)>, Error> {
        let decoded = self.batch.column(column)?;
        let values = &decoded.values;
        let described = self.index.schema.columns.get(column);
        if described.is_none_or(|column| column.kind != ColumnKind::Category) {
            let texts = values.as_string::<i32>().iter().enumerate();
            return Ok(texts
                .filter_map(|(row, text)| Some((text?.to_owned(), 1 << row)))
                .collect());
        }
        let values = values.as_dictionary::<Int32Type>();
        let mut rows = vec![0u128; values.values().len()];
        for row in 0..values.len() {
            if let Some(code) = values.key(row) {
                rows[code] |= 1 << row;
            }
        }
        let texts = values.values().as_string::<i32>().iter();
        Ok(texts
            .zip(rows)
            .filter(|(_, rows)| *rows != 0)
            .filter_map(|(text, rows)| Some((text?.to_owned(), rows)))
            .collect())
    }

    /// Returns the cells that contain rows, each with its rows.
    fn cells(&self, columns: [usize; 2], kept: &CellIndex) -> Result<Vec<(GridCell, u128)>, Error> {
        let [lats, lons] = [
            self.batch.column(columns[0])?,
            self.batch.column(columns[1])?,
        ];
        let (lats, lons) = (
            lats.values.as_primitive::<Float64Type>(),
            lons.values.as_primitive::<Float64Type>(),
        );
        let mut cells: HashMap<GridCell, u128> = HashMap::new();
        for row in 0..lats.len() {
            if lats.is_null(row) || lons.is_null(row) {
                continue;
            }
            for (grid, keys) in kept.keys_of_grid.iter().enumerate() {
                if *keys > 0 {
                    let cell = grid_cell(grid, lats.value(row), lons.value(row));
                    *cells.entry(cell).or_default() |= 1 << row;
                }
            }
        }
        Ok(cells.into_iter().collect())
    }

    /// Adds a match for every alert in `slots` and every row in `rows` on which all clauses of the alert are true.
    fn verify(&mut self, slots: &[AlertSlot], rows: u128) -> Result<(), Error> {
        let index = self.index;
        for slot in slots {
            let Some(kept) = index.kept(*slot) else {
                continue;
            };
            let rows = if kept.has_timestamp_test {
                rows
            } else {
                rows & !self.sighted
            };
            let mut left = index.matching_rows(kept, rows, (self.batch, self.texts), self.words)?;
            while left != 0 {
                let row = left.trailing_zeros() as usize;
                left &= left - 1;
                self.matches.push(AlertMatch {
                    row,
                    alert: kept.alert,
                });
            }
        }
        Ok(())
    }
}
