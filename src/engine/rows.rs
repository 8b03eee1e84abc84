//! References to rows of a view: a single row by number, or a set of rows as a bitset.

/// A row of a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RowRef {
    /// Data file in the view.
    pub data_file: u32,
    /// Row in the data file.
    pub row: u32,
}

/// A set of rows of a view, one bit per row.
#[derive(Debug, Default)]
pub struct RowSet {
    parts: Vec<Vec<u64>>,
    count: u64,
}

impl RowSet {
    /// Returns whether the set contains a row.
    pub fn contains(&self, data_file: u32, row: u32) -> bool {
        self.parts
            .get(data_file as usize)
            .and_then(|words| words.get(row as usize / 64))
            .is_some_and(|word| word & 1 << (row % 64) != 0)
    }

    /// Returns the number of rows in the set.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Adds a row of a data file that has `rows` rows.
    pub(super) fn insert(&mut self, data_file: usize, row: u32, rows: u64) {
        if self.parts.len() <= data_file {
            self.parts.resize(data_file + 1, Vec::new());
        }
        let words = &mut self.parts[data_file];
        if words.is_empty() {
            *words = vec![0; (rows as usize).div_ceil(64)];
        }
        let bit = 1 << (row % 64);
        if words[row as usize / 64] & bit == 0 {
            words[row as usize / 64] |= bit;
            self.count += 1;
        }
    }
}
