//! Groups the rows of a file that is not in a useful order. Rows are distributed among files on disk by the values that
//! the rows of a mutation share; each of these files is then grouped in memory.
//!
//! A row takes as many bytes on disk as in the source. Memory holds one partition, about 1/64 of the file.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Seek};
use std::path::Path;
use std::sync::Arc;

use super::columns::{DvfColumns, DvfField};
use super::disposition::RowGrouping;
use super::mutation::{Emit, MUTATION_ROWS_MAX, MutationBlock};
use super::order::key_of;
use crate::source::{Block, Error, Header, SourceLocation};

/// Number of partitions.
const PARTITIONS: usize = 64;
/// Maximum bytes of one partition, which is read into memory.
const PARTITION_BYTES_MAX: u64 = 1 << 30;
/// Buffer of each partition, bytes.
const BUFFER_BYTES: usize = 64 << 10;
/// Values by which rows are grouped if there are no mutation numbers.
const VALUE_FIELDS: [DvfField; 4] = [
    DvfField::Date,
    DvfField::Nature,
    DvfField::Price,
    DvfField::Disposition,
];

/// Digests what the rows of a group share: the mutation number, otherwise the values of [`VALUE_FIELDS`].
fn group_key(rows: &Block, row: usize, columns: &DvfColumns, is_numbered: bool) -> u64 {
    let number = is_numbered.then(|| key_of(rows, row, columns, &[DvfField::Mutation]));
    number
        .flatten()
        .or_else(|| key_of(rows, row, columns, &VALUE_FIELDS))
        .unwrap_or_default()
}

/// Groups rows by mutation number or by values; groups are in the order of their first rows.
pub(super) fn group_by_values(
    blocks: &[Block],
    columns: &DvfColumns,
    is_numbered: bool,
) -> MutationBlock {
    let mut groups: HashMap<u64, usize> = HashMap::new();
    let mut order: Vec<(usize, usize, usize)> = Vec::new();
    for (number, block) in blocks.iter().enumerate() {
        for row in 0..block.len() {
            let next = groups.len();
            let key = group_key(block, row, columns, is_numbered);
            order.push((*groups.entry(key).or_insert(next), number, row));
        }
    }
    order.sort_unstable();
    let header = blocks.last().map(|block| block.header.clone());
    let mut block = Block::new(header.unwrap_or_default());
    let mut starts = Vec::with_capacity(groups.len());
    let mut open = None;
    for (group, number, row) in order {
        if open != Some(group) {
            starts.push(block.len());
            open = Some(group);
        }
        block.push_row_of(&blocks[number], row);
    }
    MutationBlock {
        block,
        starts,
        grouping: if is_numbered {
            RowGrouping::Mutation
        } else {
            RowGrouping::EqualValues
        },
    }
}

/// Rows of a file, distributed among files on disk. The files have no names and vanish with the process.
pub(super) struct Partitions {
    file: String,
    header: Arc<Header>,
    files: Vec<BufWriter<File>>,
}

impl Partitions {
    pub(super) fn new(file: &str, folder: Option<&Path>) -> Result<Self, Error> {
        let scratch = || {
            let scratch = match folder {
                Some(folder) => tempfile::tempfile_in(folder)?,
                None => tempfile::tempfile()?,
            };
            Ok(BufWriter::with_capacity(BUFFER_BYTES, scratch))
        };
        let files = (0..PARTITIONS)
            .map(|_| scratch())
            .collect::<std::io::Result<_>>();
        Ok(Self {
            file: file.to_owned(),
            header: Arc::default(),
            files: files.map_err(Error::io(file))?,
        })
    }

    pub(super) fn push(
        &mut self,
        block: &Block,
        columns: &DvfColumns,
        is_numbered: bool,
    ) -> Result<(), Error> {
        self.header = Arc::clone(&block.header);
        for row in 0..block.len() {
            let key = group_key(block, row, columns, is_numbered);
            let file = &mut self.files[key as usize % PARTITIONS];
            block.write_row(row, file).map_err(Error::io(&self.file))?;
        }
        Ok(())
    }

    /// Emits the groups, partition by partition.
    pub(super) fn finish(
        self,
        columns: &DvfColumns,
        is_numbered: bool,
        emit: &mut Emit<'_>,
    ) -> Result<(), Error> {
        let name = self.file;
        for file in self.files {
            let blocks = read(file, &self.header).map_err(Error::io(&name))?;
            let grouped = group_by_values(&blocks, columns, is_numbered);
            drop(blocks);
            if let Some(long) = grouped.ranges().find(|rows| rows.len() > MUTATION_ROWS_MAX) {
                let place = SourceLocation::line(&name, grouped.block.line(long.start));
                let reason = format!("more than {MUTATION_ROWS_MAX} rows agree in day and price");
                return Err(Error::malformed(place, reason));
            }
            for block in in_blocks(grouped) {
                emit(block)?;
            }
        }
        Ok(())
    }
}

fn read(file: BufWriter<File>, header: &Arc<Header>) -> std::io::Result<Vec<Block>> {
    let mut file = file.into_inner().map_err(|error| error.into_error())?;
    let bytes = file.stream_position()?;
    if bytes > PARTITION_BYTES_MAX {
        return Err(std::io::Error::other(
            "too many of its rows agree in day and price to be grouped",
        ));
    }
    file.rewind()?;
    let mut file = BufReader::with_capacity(BUFFER_BYTES, file.take(bytes));
    let mut blocks = Vec::new();
    let mut block = Block::new(Arc::clone(header));
    while block.read_row(&mut file)? {
        if block.is_full() {
            blocks.push(std::mem::replace(
                &mut block,
                Block::new(Arc::clone(header)),
            ));
        }
    }
    blocks.push(block);
    Ok(blocks)
}

/// Divides a large block of mutations into blocks of the usual size.
fn in_blocks(whole: MutationBlock) -> impl Iterator<Item = MutationBlock> {
    let ranges: Vec<_> = whole.ranges().collect();
    let mut ranges = ranges.into_iter().peekable();
    std::iter::from_fn(move || {
        ranges.peek()?;
        let mut part = MutationBlock {
            block: Block::new(Arc::clone(&whole.block.header)),
            starts: Vec::new(),
            grouping: whole.grouping,
        };
        while !part.block.is_full() {
            let Some(range) = ranges.next() else { break };
            part.starts.push(part.block.len());
            for row in range {
                part.block.push_row_of(&whole.block, row);
            }
        }
        Some(part)
    })
}
