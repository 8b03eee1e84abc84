//! Groups source rows into mutations while streaming, and ends blocks at the end of a mutation.
//!
//! geo-dvf numbers its mutations. In the tax office's format, neighbouring rows of the same day, nature and price count
//! as one mutation, which is how geo-dvf made its numbers. This works only if the file is in the usual order. A file in
//! another order, or too short to show its order, is grouped by values wherever its rows are (`scattered`). The first
//! block decides; if later rows contradict it, the file is read again.
//!
//! Editions since 2026 give one mutation number to all rows of France that agree in day and price. Such numbers are
//! recognised and ignored (`order`).

use std::collections::HashSet;
use std::path::PathBuf;

use super::columns::{DvfColumns, DvfField};
use super::disposition::RowGrouping;
use super::order::{is_in_usual_order, key_of, numbers_restate_values};
use super::scattered::{Partitions, group_by_values};
use crate::report::ConversionFindings;
use crate::source::{Block, Error, SourceLocation};

/// Maximum rows of one mutation; the longest known has a few thousand.
pub const MUTATION_ROWS_MAX: usize = 200_000;
/// Minimum rows of a file without mutation numbers for its order to be known.
pub const ORDER_ROWS_MIN: usize = 1_000;
/// A file is in the usual order if at most one mutation in this many repeats day, price and section of an earlier one.
pub const APART_SHARE: u64 = 50;
/// Name in the report for sales that only the order of rows separates.
const APART: &str =
    "rows of one day, price and section, not next to each other: taken as separate sales";

/// A block of complete mutations.
#[derive(Debug, Default)]
pub struct MutationBlock {
    /// The rows.
    pub block: Block,
    /// Index of the first row of each mutation.
    pub starts: Vec<usize>,
    /// How the rows of each mutation were found.
    pub grouping: RowGrouping,
}

impl MutationBlock {
    /// Returns the row range of each mutation.
    pub fn ranges(&self) -> impl Iterator<Item = std::ops::Range<usize>> + '_ {
        let ends = self
            .starts
            .iter()
            .copied()
            .skip(1)
            .chain([self.block.len()]);
        self.starts
            .iter()
            .copied()
            .zip(ends)
            .map(|(start, end)| start..end)
    }
}

/// Takes complete mutations.
pub type Emit<'e> = dyn FnMut(MutationBlock) -> Result<(), Error> + 'e;

/// How the rows of a file are grouped.
enum Phase {
    /// Rows held until there are enough to know the order of the file.
    Waiting(Vec<Block>),
    /// Neighbouring rows form mutations.
    Streaming,
    /// Rows wait on disk until all are read.
    Scattered(Partitions),
}

/// A streaming grouper of the rows of one file into mutations.
pub struct Grouper {
    file: String,
    is_scattered: bool,
    /// Folder of scratch files; `None` for the system's.
    scratch: Option<PathBuf>,
    /// Whether the file has mutation numbers that can be used; unknown before the first row.
    is_numbered: Option<bool>,
    phase: Phase,
    /// Rows of the last mutation, which may continue in the next block.
    open: Block,
    /// Digests of the numbers of completed mutations, or of the values of their rows, 8 bytes each.
    closed: HashSet<u64>,
    /// Digests of the values of the rows of one mutation.
    values: Vec<u64>,
    mutations: u64,
    apart: u64,
    findings: ConversionFindings,
}

impl Grouper {
    /// Creates a grouper; `file` names the file in errors. `is_scattered` if an earlier read found its mutations
    /// scattered. Scratch files go to the folder `scratch`, or to the system's.
    pub fn new(file: &str, is_scattered: bool, scratch: Option<PathBuf>) -> Self {
        Self {
            file: file.to_owned(),
            is_scattered,
            scratch,
            is_numbered: None,
            phase: Phase::Waiting(Vec::new()),
            open: Block::default(),
            closed: HashSet::new(),
            values: Vec::new(),
            mutations: 0,
            apart: 0,
            findings: ConversionFindings::default(),
        }
    }

    /// Adds rows and emits the mutations that are complete.
    ///
    /// # Errors
    ///
    /// [`Error::Scattered`] if the mutations of the file turn out not to follow each other; a mutation is too long; or
    /// scratch files cannot be written.
    pub fn push(
        &mut self,
        block: Block,
        columns: &DvfColumns,
        emit: &mut Emit<'_>,
    ) -> Result<(), Error> {
        if block.is_empty() {
            return Ok(());
        }
        let is_numbered = match self.is_numbered {
            Some(known) => known,
            None => {
                let known = self.begin(&block, columns)?;
                self.is_numbered = Some(known);
                known
            }
        };
        match &mut self.phase {
            Phase::Scattered(partitions) => partitions.push(&block, columns, is_numbered),
            Phase::Streaming => emit(self.stream(block, columns)?),
            Phase::Waiting(held) => {
                held.push(block);
                if held.iter().map(Block::len).sum::<usize>() < ORDER_ROWS_MIN {
                    return Ok(());
                }
                let held = std::mem::take(held);
                self.decide(held, columns, emit)
            }
        }
    }

    /// Chooses the phase for the first rows, and returns whether the file has usable numbers.
    fn begin(&mut self, block: &Block, columns: &DvfColumns) -> Result<bool, Error> {
        let has_number = columns
            .position(DvfField::Mutation)
            .is_some_and(|at| (0..block.len()).any(|row| !block.cell(row, at).is_empty()));
        let is_numbered = has_number && !numbers_restate_values(block, columns);
        if self.is_scattered {
            self.phase = Phase::Scattered(Partitions::new(&self.file, self.scratch.as_deref())?);
        } else if is_numbered {
            self.phase = Phase::Streaming;
        }
        Ok(is_numbered)
    }

    /// Chooses the phase of a file without numbers from its first rows.
    fn decide(
        &mut self,
        held: Vec<Block>,
        columns: &DvfColumns,
        emit: &mut Emit<'_>,
    ) -> Result<(), Error> {
        if is_in_usual_order(&held, columns) {
            self.phase = Phase::Streaming;
            for block in held {
                emit(self.stream(block, columns)?)?;
            }
            return Ok(());
        }
        let mut partitions = Partitions::new(&self.file, self.scratch.as_deref())?;
        for block in &held {
            partitions.push(block, columns, false)?;
        }
        self.phase = Phase::Scattered(partitions);
        Ok(())
    }

    fn stream(&mut self, block: Block, columns: &DvfColumns) -> Result<MutationBlock, Error> {
        let mut rows = std::mem::take(&mut self.open);
        if rows.is_empty() {
            rows = block;
        } else {
            rows.header = block.header.clone();
            for row in 0..block.len() {
                rows.push_row_of(&block, row);
            }
        }
        let is_numbered = self.is_numbered == Some(true);
        let mut starts = vec![0];
        for row in 1..rows.len() {
            if !is_same_mutation(&rows, columns, is_numbered, row - 1, row) {
                let start = starts.last().copied().unwrap_or(0);
                self.close(&rows, columns, start..row)?;
                starts.push(row);
            }
        }
        if self.apart * APART_SHARE > self.mutations {
            return Err(self.scattered(&rows, 0));
        }
        let last = starts.pop().unwrap_or(0);
        if rows.len() - last > MUTATION_ROWS_MAX {
            let reason = format!("one mutation spans more than {MUTATION_ROWS_MAX} rows");
            return Err(Error::malformed(
                SourceLocation::line(&self.file, rows.line(last)),
                reason,
            ));
        }
        let mut whole = Block::new(rows.header.clone());
        self.open = Block::new(rows.header.clone());
        if starts.is_empty() {
            self.open = rows;
        } else {
            for row in last..rows.len() {
                self.open.push_row_of(&rows, row);
            }
            rows.truncate(last);
            whole = rows;
        }
        Ok(MutationBlock {
            block: whole,
            starts,
            grouping: RowGrouping::Mutation,
        })
    }

    /// Emits the remaining mutations at the end of the file, and returns what was unclear.
    ///
    /// # Errors
    ///
    /// As for [`Grouper::push`].
    pub fn finish(
        &mut self,
        columns: &DvfColumns,
        emit: &mut Emit<'_>,
    ) -> Result<ConversionFindings, Error> {
        match std::mem::replace(&mut self.phase, Phase::Streaming) {
            Phase::Waiting(held) => emit(group_by_values(&held, columns, false))?,
            Phase::Scattered(partitions) => {
                partitions.finish(columns, self.is_numbered == Some(true), emit)?;
            }
            Phase::Streaming => {
                let block = std::mem::take(&mut self.open);
                if !block.is_empty() {
                    self.close(&block, columns, 0..block.len())?;
                    emit(MutationBlock {
                        block,
                        starts: vec![0],
                        grouping: RowGrouping::Mutation,
                    })?;
                }
            }
        }
        Ok(std::mem::take(&mut self.findings))
    }

    /// Records a completed mutation. If its number was already completed, the file is scattered. If it has no number
    /// but repeats the values of an earlier one, it is counted.
    fn close(
        &mut self,
        rows: &Block,
        columns: &DvfColumns,
        mutation: std::ops::Range<usize>,
    ) -> Result<(), Error> {
        let first = mutation.start;
        if self.is_numbered == Some(true) {
            let is_new = key_of(rows, first, columns, &[DvfField::Mutation])
                .is_none_or(|number| self.closed.insert(number));
            return if is_new {
                Ok(())
            } else {
                Err(self.scattered(rows, first))
            };
        }
        self.values.clear();
        for row in mutation {
            let values = key_of(rows, row, columns, &SECTION_FIELDS);
            if let Some(values) = values.filter(|values| !self.values.contains(values)) {
                self.values.push(values);
            }
        }
        self.mutations += 1;
        let closed = &mut self.closed;
        let known = self.values.iter().filter(|values| !closed.insert(**values));
        if known.count() > 0 {
            self.apart += 1;
            let place =
                SourceLocation::line(&self.file, rows.line(first)).column("valeur_fonciere");
            let at = columns.position(DvfField::Price);
            let price = at.map_or("", |at| rows.cell(first, at));
            self.findings.count_unclear(APART, &place, price);
        }
        Ok(())
    }

    fn scattered(&self, rows: &Block, row: usize) -> Error {
        Error::Scattered {
            place: SourceLocation::line(&self.file, rows.line(row)),
        }
    }
}

/// Values in which the rows of a sale in one section agree.
pub(super) const SECTION_FIELDS: [DvfField; 9] = [
    DvfField::Date,
    DvfField::Nature,
    DvfField::Price,
    DvfField::Disposition,
    DvfField::DepartmentCode,
    DvfField::CommuneCode,
    DvfField::ParcelPrefix,
    DvfField::ParcelSection,
    DvfField::Parcel,
];

/// Returns whether two neighbouring rows belong to one mutation.
pub(super) fn is_same_mutation(
    rows: &Block,
    columns: &DvfColumns,
    is_numbered: bool,
    left: usize,
    right: usize,
) -> bool {
    let equal = |field| match columns.position(field) {
        Some(position) => rows.cell(left, position) == rows.cell(right, position),
        None => true,
    };
    if is_numbered {
        if !equal(DvfField::Mutation) {
            return false;
        }
        let has_number = columns
            .position(DvfField::Mutation)
            .is_some_and(|position| !rows.cell(left, position).is_empty());
        if has_number {
            return true;
        }
    }
    [DvfField::Date, DvfField::Nature, DvfField::Price]
        .into_iter()
        .all(equal)
}
