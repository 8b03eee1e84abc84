//! A block of rows as text cells in one allocation, which readers pass to converters on other threads.
//!
//! Cells are not allocated one by one; a block of a few thousand rows costs one string and three vectors.

use std::hash::{Hash, Hasher};
use std::io::{BufRead, Write};
use std::ops::Range;
use std::sync::Arc;

use super::cell::decimal;
use toise_geo::reference_system::ReferenceSystem;
use toise_input::missing::{self, MissingCounts};

/// Column names as the source spells them, without byte order mark and surrounding spaces.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// The names in order.
    pub names: Vec<String>,
    /// The column of geometries that a GeoParquet file names.
    pub geometry: Option<GeometryColumn>,
}

/// A column of geometries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GeometryColumn {
    /// Its index in the header.
    pub index: usize,
    /// Its reference system, or the reason why that is not read.
    pub system: Result<ReferenceSystem, String>,
}

/// Maximum names that a message lists.
const LISTED_MAX: usize = 8;
/// Minimum numbers among the names of a header for it to look like a row.
const NUMBERS_MIN: usize = 2;

impl Header {
    /// Creates a header without a description of geometries.
    pub fn new(names: Vec<String>) -> Self {
        Self {
            names,
            geometry: None,
        }
    }

    /// Lists the first names, for messages.
    pub(crate) fn listed(&self) -> String {
        let mut names: Vec<&str> = self
            .names
            .iter()
            .map(String::as_str)
            .take(LISTED_MAX)
            .collect();
        if self.names.len() > names.len() {
            names.push("…");
        }
        names.join(", ")
    }

    /// Returns whether the names look like the cells of a row, because the file has no header.
    pub(crate) fn looks_like_row(&self) -> bool {
        let numbers = self.names.iter().filter(|name| decimal(name).is_some());
        numbers.count() >= NUMBERS_MIN
    }

    /// Returns whether the cells of a column may be letters that look like a marker for a missing value, such as `NA`.
    fn has_letters(&self, column: usize) -> bool {
        self.names
            .get(column)
            .is_some_and(|name| missing::may_name_section(name))
    }
}

/// Rows of text cells under a [`Header`].
#[derive(Clone, Debug, Default)]
pub struct Block {
    /// The columns. A later block of a JSON source may have further columns, but never fewer or in another order.
    pub header: Arc<Header>,
    text: String,
    /// End of each cell in `text`; a cell starts where the previous one ends.
    ends: Vec<u32>,
    /// Index in `ends` of the first cell of each row.
    first_cells: Vec<u32>,
    lines: Vec<u64>,
    /// Markers for missing values that were found; their cells are empty.
    pub missing: MissingCounts,
}

/// The cells of a row. Rows are equal if all their cells are.
#[derive(Clone, Copy, Debug)]
pub struct Row<'b> {
    text: &'b str,
    /// Ends of the cells in the text of the block.
    ends: &'b [u32],
    /// Start of the row in the text of the block.
    start: u32,
}

impl Row<'_> {
    /// Returns the lengths of the cells up to their ends, from the start of the row.
    fn lengths(&self) -> impl Iterator<Item = u32> {
        self.ends.iter().map(|end| end - self.start)
    }
}

impl PartialEq for Row<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text && self.lengths().eq(other.lengths())
    }
}

impl Eq for Row<'_> {}

impl Hash for Row<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

impl Block {
    /// Maximum rows that a reader puts into one block.
    pub const ROWS_MAX: usize = 8_192;
    /// Target amount of text per block, in bytes; exceeded by at most one row.
    pub const BYTES_TARGET: usize = 2 << 20;

    /// Creates an empty block.
    pub fn new(header: Arc<Header>) -> Self {
        Self {
            header,
            ..Self::default()
        }
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// Returns whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Returns the bytes of text in the block.
    pub fn bytes(&self) -> usize {
        self.text.len()
    }

    /// Returns whether the block has reached its target size.
    pub fn is_full(&self) -> bool {
        self.len() >= Self::ROWS_MAX || self.bytes() >= Self::BYTES_TARGET
    }

    /// Returns the line number of a row in its source, from 1.
    pub fn line(&self, row: usize) -> u64 {
        self.lines[row]
    }

    /// Returns the indices in `ends` of the cells of a row.
    fn cells_of(&self, row: usize) -> Range<usize> {
        let next = self.first_cells.get(row + 1);
        let after = next.map_or(self.ends.len(), |next| *next as usize);
        self.first_cells[row] as usize..after
    }

    /// Returns where the cell at an index in `ends` starts in `text`.
    fn start_of(&self, cell: usize) -> usize {
        match cell {
            0 => 0,
            _ => self.ends[cell - 1] as usize,
        }
    }

    /// Returns a cell; empty if the row has fewer cells than the header.
    pub fn cell(&self, row: usize, column: usize) -> &str {
        let cells = self.cells_of(row);
        let index = cells.start + column;
        if index >= cells.end {
            return "";
        }
        &self.text[self.start_of(index)..self.ends[index] as usize]
    }

    /// Returns the cells of a row, as many as it has.
    pub fn cells(&self, row: usize) -> impl Iterator<Item = &str> {
        (0..self.cells_of(row).len()).map(move |column| self.cell(row, column))
    }

    /// Returns the text of a row and the ends of its cells in it, by which rows are compared.
    pub fn row(&self, row: usize) -> Row<'_> {
        let cells = self.cells_of(row);
        let start = self.start_of(cells.start);
        let ends = &self.ends[cells];
        let end = ends.last().map_or(start, |end| *end as usize);
        Row {
            text: &self.text[start..end],
            ends,
            start: start as u32,
        }
    }

    /// Starts a row, to which [`Block::push_cell`] adds cells.
    pub fn start_row(&mut self, line: u64) {
        self.first_cells.push(self.ends.len() as u32);
        self.lines.push(line);
    }

    /// Adds a cell to the last row. A marker for a missing value gives an empty cell and is counted.
    pub fn push_cell(&mut self, cell: &str) {
        match missing::position(cell) {
            Some(text) if !self.header.has_letters(self.cells_of_last_row()) => {
                self.missing.count(text);
            }
            _ => self.text.push_str(cell),
        }
        self.ends.push(self.text.len() as u32);
    }

    fn cells_of_last_row(&self) -> usize {
        let first = self.first_cells.last().copied().unwrap_or_default();
        self.ends.len() - first as usize
    }

    /// Adds a row of the CSV reader, cell by cell as [`Self::push_cell`].
    pub(super) fn push_record(&mut self, record: &csv::StringRecord, line: u64) {
        self.start_row(line);
        if record.iter().any(|cell| missing::position(cell).is_some()) {
            record.iter().for_each(|cell| self.push_cell(cell));
            return;
        }
        let base = self.text.len();
        self.text.push_str(record.as_slice());
        self.ends.extend((0..record.len()).map(|field| {
            let end = record.range(field).map_or(0, |range| range.end);
            (base + end) as u32
        }));
    }

    /// Removes all rows after the first `rows`.
    pub fn truncate(&mut self, rows: usize) {
        let Some(first) = self.first_cells.get(rows).map(|first| *first as usize) else {
            return;
        };
        self.text.truncate(self.start_of(first));
        self.ends.truncate(first);
        self.first_cells.truncate(rows);
        self.lines.truncate(rows);
    }

    /// Writes a row to a scratch file, from which [`Block::read_row`] reads it.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write_row(&self, row: usize, out: &mut impl Write) -> std::io::Result<()> {
        let cells = self.row(row);
        out.write_all(&self.lines[row].to_le_bytes())?;
        out.write_all(&(cells.ends.len() as u32).to_le_bytes())?;
        for length in cells.lengths() {
            out.write_all(&length.to_le_bytes())?;
        }
        out.write_all(cells.text.as_bytes())
    }

    /// Appends the next row of a scratch file; returns whether there was one.
    ///
    /// # Errors
    /// The file cannot be read, or was not written by [`Block::write_row`].
    pub fn read_row(&mut self, source: &mut impl BufRead) -> std::io::Result<bool> {
        if source.fill_buf()?.is_empty() {
            return Ok(false);
        }
        let (mut line, mut number) = ([0; 8], [0; 4]);
        source.read_exact(&mut line)?;
        source.read_exact(&mut number)?;
        let cells = u32::from_le_bytes(number);
        self.start_row(u64::from_le_bytes(line));
        let base = self.text.len() as u32;
        for _ in 0..cells {
            source.read_exact(&mut number)?;
            self.ends.push(base + u32::from_le_bytes(number));
        }
        let end = self.ends.last().map_or(base, |end| *end).max(base);
        let mut text = vec![0; (end - base) as usize];
        source.read_exact(&mut text)?;
        let text = std::str::from_utf8(&text).map_err(std::io::Error::other)?;
        self.text.push_str(text);
        Ok(true)
    }

    /// Appends a row of another block with the same columns.
    pub fn push_row_of(&mut self, other: &Block, row: usize) {
        self.start_row(other.lines[row]);
        let row = other.row(row);
        let base = self.text.len() as u32;
        self.text.push_str(row.text);
        self.ends.extend(row.lengths().map(|end| base + end));
    }
}

#[cfg(test)]
impl Block {
    /// Makes a block of lines whose cells are separated by semicolons, under such a header, for tests.
    pub(crate) fn of_lines(header: &str, lines: &[impl AsRef<str>]) -> Self {
        let names = header.split(';').map(str::to_owned).collect();
        let mut block = Self::new(Arc::new(Header::new(names)));
        for (line, number) in lines.iter().zip(2..) {
            block.start_row(number);
            let cells = line.as_ref().split(';');
            cells.for_each(|cell| block.push_cell(cell));
        }
        block
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_keep_their_cells_and_lines_when_copied() {
        let mut block = Block::default();
        for (line, cells) in [(2, vec!["a", "", "é"]), (5, vec!["b"])] {
            block.start_row(line);
            for cell in cells {
                block.push_cell(cell);
            }
        }
        let mut copy = Block::default();
        copy.push_row_of(&block, 1);
        copy.push_row_of(&block, 0);
        assert_eq!(
            (copy.cell(0, 0), copy.cell(0, 1), copy.line(0)),
            ("b", "", 5)
        );
        assert_eq!(
            (copy.cell(1, 0), copy.cell(1, 1), copy.cell(1, 2)),
            ("a", "", "é")
        );
        assert_eq!(copy.cell(1, 3), "");
    }
}
