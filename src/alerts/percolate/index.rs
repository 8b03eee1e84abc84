//! The active alerts on one table, and which of them match the rows of a batch.
//!
//! Each alert is kept under the keys it cannot match without (`keys`). A batch is grouped by key; the alerts
//! under a key are looked at on the rows that have it, clause by clause (`clauses`), until no row is left. So
//! the cost follows the alerts near the rows that came: of 100,000 alerts of realistic shape 128 rows meet 40,000, and
//! have 1,400 clauses evaluated; one row meets 700 and has 80 evaluated. An alert takes about 360 bytes, its share of
//! the compiled clauses included.

use std::collections::HashMap;

use arrow::array::{Array, AsArray};
use arrow::datatypes::{Float64Type, Int32Type};
use datafusion::error::DataFusionError;

pub use super::clauses::ROWS_MAX;
use super::clauses::{ClauseId, Clauses, Words, cost};
use super::keys::{CELL_DEGREES, Cell, Key, cell_of, keys};
use toise_contract::filter::{Clause, Filter};
use toise_engine::Error;
use toise_engine::batch::DecodedBatch;
use toise_engine::select::Columns;
use toise_lake::schema::{Kind, TableSchema};

/// Place of an alert in an index.
type Slot = u32;

/// What an alert wants to be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wants {
    /// Its first match of an item.
    pub created: bool,
    /// What happens to an item it has matched.
    pub followed: bool,
}

/// Active alerts on one table.
#[derive(Debug)]
pub struct Index {
    schema: &'static TableSchema,
    clauses: Clauses,
    slots: Vec<Option<Kept>>,
    free: Vec<Slot>,
    by_alert: HashMap<i64, Slot>,
    /// Alerts by column and text.
    by_text: HashMap<usize, HashMap<Box<str>, Vec<Slot>>>,
    /// Alerts by position, given by its two columns, and cell.
    by_cell: HashMap<[usize; 2], Cells>,
    /// Alerts that may match anything.
    anywhere: Vec<Slot>,
    words: Words,
}

/// Alerts by cell.
#[derive(Debug, Default)]
struct Cells {
    /// Keys in each grid; a grid without any is not looked at.
    keys_of_grid: [usize; CELL_DEGREES.len()],
    slots: HashMap<Cell, Vec<Slot>>,
}

/// An alert as it is kept.
#[derive(Debug)]
struct Kept {
    alert: i64,
    wants: Wants,
    /// All must hold.
    clauses: Box<[ClauseId]>,
}

/// An alert that matches a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Match {
    /// The row in the batch.
    pub row: usize,
    /// The alert's number in the store.
    pub alert: i64,
}

impl Index {
    /// No alert yet, on a table.
    pub fn new(schema: &'static TableSchema) -> Self {
        Self {
            schema,
            clauses: Clauses::default(),
            slots: Vec::new(),
            free: Vec::new(),
            by_alert: HashMap::new(),
            by_text: HashMap::new(),
            by_cell: HashMap::new(),
            anywhere: Vec::new(),
            words: Words::default(),
        }
    }

    /// The table.
    pub fn schema(&self) -> &'static TableSchema {
        self.schema
    }

    /// Alerts in it.
    pub fn len(&self) -> usize {
        self.by_alert.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.by_alert.is_empty()
    }

    /// Distinct clauses of all its alerts.
    pub fn clause_count(&self) -> usize {
        self.clauses.count()
    }

    /// What an alert wants to be told; `None` when it is not active.
    pub fn wants(&self, alert: i64) -> Option<Wants> {
        let slot = self.by_alert.get(&alert)?;
        Some(self.kept(*slot)?.wants)
    }

    fn kept(&self, slot: Slot) -> Option<&Kept> {
        self.slots.get(slot as usize)?.as_ref()
    }

    /// Takes in an alert, or what it has become.
    ///
    /// # Errors
    /// The filter asks for a column the table does not have; the alert is then not in the index.
    pub fn put(
        &mut self,
        alert: i64,
        wants: Wants,
        filter: &Filter,
    ) -> Result<(), DataFusionError> {
        self.remove(alert);
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
        let kept = Some(Kept {
            alert,
            wants,
            clauses: clauses.into(),
        });
        let slot = match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = kept;
                slot
            }
            None => {
                self.slots.push(kept);
                self.slots.len() as Slot - 1
            }
        };
        self.by_alert.insert(alert, slot);
        self.each_list(slot, |list| list.push(slot));
        Ok(())
    }

    /// Takes an alert out, if it is in.
    pub fn remove(&mut self, alert: i64) {
        let Some(slot) = self.by_alert.remove(&alert) else {
            return;
        };
        self.each_list(slot, |list| list.retain(|other| *other != slot));
        if let Some(kept) = self.slots[slot as usize].take() {
            kept.clauses.iter().for_each(|id| self.clauses.release(*id));
        }
        self.free.push(slot);
    }

    /// Changes every list an alert is in, or is to be in; lists that end up empty go.
    fn each_list(&mut self, slot: Slot, mut change: impl FnMut(&mut Vec<Slot>)) {
        // Its clauses as they are kept, so that the keys are the same whenever they are asked for.
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
                Key::Text(column, text) => {
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
                Key::Cell(columns, cell) => {
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

    /// The alerts that match rows of a batch of at most [`ROWS_MAX`], by row and alert, each pair once.
    ///
    /// # Errors
    /// The batch is too large or of another table, or an expression cannot be evaluated.
    pub fn matches(&mut self, batch: &DecodedBatch) -> Result<Vec<Match>, Error> {
        let count = batch.rows().num_rows();
        if count > ROWS_MAX {
            let reason = format!("{count} rows; at most {ROWS_MAX} are percolated at once");
            return Err(DataFusionError::Plan(reason).into());
        }
        let mut words = std::mem::take(&mut self.words);
        words.begin(&self.clauses);
        let mut found = Found {
            index: self,
            batch,
            words: &mut words,
            matches: Vec::new(),
        };
        let outcome = found.look();
        let mut matches = found.matches;
        self.words = words;
        outcome?;
        // An alert may be kept under several keys of a row.
        matches.sort_unstable();
        matches.dedup();
        Ok(matches)
    }
}

/// Alerts found so far.
struct Found<'a> {
    index: &'a Index,
    batch: &'a DecodedBatch,
    words: &'a mut Words,
    matches: Vec<Match>,
}

impl Found<'_> {
    fn look(&mut self) -> Result<(), Error> {
        let count = self.batch.rows().num_rows();
        let all = u128::MAX
            .checked_shr((ROWS_MAX - count) as u32)
            .unwrap_or(0);
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

    /// The distinct texts of a column, and the rows of each.
    fn texts(&self, column: usize) -> Result<Vec<(String, u128)>, Error> {
        let decoded = self.batch.column(column)?;
        let values = &decoded.values;
        let described = self.index.schema.columns.get(column);
        if described.is_none_or(|column| column.kind != Kind::Category) {
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

    /// The cells that rows lie in, and the rows of each.
    fn cells(&self, columns: [usize; 2], kept: &Cells) -> Result<Vec<(Cell, u128)>, Error> {
        let [lats, lons] = [
            self.batch.column(columns[0])?,
            self.batch.column(columns[1])?,
        ];
        let (lats, lons) = (
            lats.values.as_primitive::<Float64Type>(),
            lons.values.as_primitive::<Float64Type>(),
        );
        let mut cells: HashMap<Cell, u128> = HashMap::new();
        for row in 0..lats.len() {
            if lats.is_null(row) || lons.is_null(row) {
                continue;
            }
            for (grid, keys) in kept.keys_of_grid.iter().enumerate() {
                if *keys > 0 {
                    let cell = cell_of(grid, lats.value(row), lons.value(row));
                    *cells.entry(cell).or_default() |= 1 << row;
                }
            }
        }
        Ok(cells.into_iter().collect())
    }

    /// Keeps those of some alerts of which every clause is true on some of some rows.
    fn verify(&mut self, slots: &[Slot], rows: u128) -> Result<(), Error> {
        let index = self.index;
        for slot in slots {
            let Some(kept) = index.kept(*slot) else {
                continue;
            };
            let mut left = rows;
            for clause in &kept.clauses {
                left &= index.clauses.word(*clause, self.batch, self.words)?;
                if left == 0 {
                    break;
                }
            }
            while left != 0 {
                let row = left.trailing_zeros() as usize;
                left &= left - 1;
                self.matches.push(Match {
                    row,
                    alert: kept.alert,
                });
            }
        }
        Ok(())
    }
}
