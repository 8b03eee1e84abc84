//! Groups source rows into mutations while streaming, and ends blocks at the end of a mutation.
//!
//! geo-dvf numbers its mutations. In the tax office's format, consecutive rows of the same day, nature and price count
//! as one mutation. On 7,397 numbered mutations of Toulon this rule splits none and joins 3 pairs (cellars sold on one
//! day at one price, adjacent only because the file holds a single commune); requiring an equal disposition as well
//! would split 8.

use std::collections::HashMap;
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::columns::{DvfColumns, DvfField};
use crate::source::{Block, Error, SourceLocation};

/// Maximum rows of a file that is grouped in memory: about 1 GB of text.
pub const ROWS_IN_MEMORY_MAX: usize = 4_000_000;
/// Maximum rows of one mutation; the longest known has a few thousand.
pub const MUTATION_ROWS_MAX: usize = 200_000;

/// A block of complete mutations.
#[derive(Debug, Default)]
pub struct MutationBlock {
    /// The rows.
    pub block: Block,
    /// Index of the first row of each mutation.
    pub starts: Vec<usize>,
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

/// A streaming grouper of the rows of one file into mutations.
pub struct Grouper {
    file: String,
    /// Rows of the last mutation, which may continue in the next block.
    open: Block,
    /// Digests of the numbers of completed mutations, 8 bytes each.
    closed: HashSet<u64>,
}

impl Grouper {
    /// Creates a grouper for the file named `file` in errors.
    pub fn new(file: &str) -> Self {
        Self {
            file: file.to_owned(),
            open: Block::default(),
            closed: HashSet::new(),
        }
    }

    /// Adds rows and returns the mutations that are complete.
    ///
    /// # Errors
    ///
    /// [`Error::Scattered`] if a numbered mutation appears again after it ended.
    pub fn push(&mut self, block: Block, columns: &DvfColumns) -> Result<MutationBlock, Error> {
        let mut rows = std::mem::take(&mut self.open);
        if rows.is_empty() {
            rows = block;
        } else {
            rows.header = block.header.clone();
            for row in 0..block.len() {
                rows.push_row_of(&block, row);
            }
        }
        let mut starts = vec![0];
        for row in 1..rows.len() {
            if !same_mutation(&rows, columns, row - 1, row) {
                self.close(&rows, columns, row - 1)?;
                starts.push(row);
            }
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
        })
    }

    /// Returns the last mutation at the end of the file.
    pub fn finish(&mut self, columns: &DvfColumns) -> Result<MutationBlock, Error> {
        let block = std::mem::take(&mut self.open);
        if block.is_empty() {
            return Ok(MutationBlock::default());
        }
        self.close(&block, columns, block.len() - 1)?;
        Ok(MutationBlock {
            block,
            starts: vec![0],
        })
    }

    fn close(&mut self, rows: &Block, columns: &DvfColumns, row: usize) -> Result<(), Error> {
        let Some(position) = columns.position(DvfField::Mutation) else {
            return Ok(());
        };
        let mutation = rows.cell(row, position);
        if mutation.is_empty() {
            return Ok(());
        }
        let mut hasher = DefaultHasher::new();
        mutation.hash(&mut hasher);
        if self.closed.insert(hasher.finish()) {
            return Ok(());
        }
        Err(Error::Scattered {
            place: SourceLocation::line(&self.file, rows.line(row)).column("id_mutation"),
            mutation: mutation.to_owned(),
        })
    }
}

fn same_mutation(rows: &Block, columns: &DvfColumns, left: usize, right: usize) -> bool {
    let equal = |field| match columns.position(field) {
        Some(position) => rows.cell(left, position) == rows.cell(right, position),
        None => true,
    };
    let numbered = columns
        .position(DvfField::Mutation)
        .is_some_and(|position| !rows.cell(left, position).is_empty());
    if numbered {
        return equal(DvfField::Mutation);
    }
    [
        DvfField::Mutation,
        DvfField::Date,
        DvfField::Nature,
        DvfField::Price,
    ]
    .into_iter()
    .all(equal)
}

/// Sorts the rows of each numbered mutation together, with mutations in the order of their first row. Rows without a
/// number keep their position.
///
/// # Errors
///
/// The file has more than [`ROWS_IN_MEMORY_MAX`] rows.
pub fn gather(blocks: &[Block], columns: &DvfColumns, file: &str) -> Result<Vec<Block>, Error> {
    let rows: usize = blocks.iter().map(Block::len).sum();
    if rows > ROWS_IN_MEMORY_MAX {
        let reason = format!(
            "its mutations are scattered and its {rows} rows are more than the {ROWS_IN_MEMORY_MAX} that can be \
             grouped in memory: sort it by id_mutation"
        );
        return Err(Error::malformed(SourceLocation::file(file), reason));
    }
    let mut groups: Vec<Vec<(usize, usize)>> = Vec::new();
    let mut known: HashMap<&str, usize> = HashMap::new();
    for (index, block) in blocks.iter().enumerate() {
        for row in 0..block.len() {
            let mutation = columns
                .position(DvfField::Mutation)
                .map_or("", |at| block.cell(row, at));
            if mutation.is_empty() {
                groups.push(vec![(index, row)]);
                continue;
            }
            let group = *known.entry(mutation).or_insert(groups.len());
            if group == groups.len() {
                groups.push(Vec::new());
            }
            groups[group].push((index, row));
        }
    }
    let mut gathered = Vec::new();
    let header = blocks
        .last()
        .map(|block| block.header.clone())
        .unwrap_or_default();
    let mut block = Block::new(header.clone());
    for (index, row) in groups.into_iter().flatten() {
        block.push_row_of(&blocks[index], row);
        if block.is_full() {
            gathered.push(std::mem::replace(&mut block, Block::new(header.clone())));
        }
    }
    gathered.push(block);
    Ok(gathered)
}
