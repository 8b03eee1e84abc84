//! The lines of a source at which the records of a converted text begin. The converter of a feed is at most a few
//! buffers ahead of the reader of the records, so few lines are held, even if the reader never asks for them. The text
//! of a spreadsheet leaves out blank rows; their places are held for the whole file.

use std::collections::VecDeque;

/// Maximum lines that are held. A record of a feed takes 60 bytes or more, so this is about four buffers of text.
const LINES_MAX: usize = 1 << 14;

/// Lines of the records that a reader has not passed.
#[derive(Debug, Default)]
pub(crate) struct SourceLines {
    lines: VecDeque<u64>,
    /// Number of records before the first that is held, without the header.
    passed: u64,
}

impl SourceLines {
    /// Adds the line of the next record.
    pub(crate) fn push(&mut self, line: u64) {
        if self.lines.len() == LINES_MAX {
            self.pass();
        }
        self.lines.push_back(line);
    }

    /// Returns the line of a record, of which the header is number 0; `None` for a text that was not converted. Forgets
    /// earlier records.
    pub(crate) fn line_of(&mut self, record: u64) -> Option<u64> {
        while self.passed + 1 < record && !self.lines.is_empty() {
            self.pass();
        }
        let is_first = self.passed + 1 == record;
        self.lines.front().copied().filter(|_| is_first)
    }

    fn pass(&mut self) {
        self.lines.pop_front();
        self.passed += 1;
    }
}

/// The rows of sheets at which the lines of their text begin, as runs of consecutive ones.
#[derive(Debug, Default)]
pub(crate) struct SheetLines {
    /// The first line of each run and its row, both from 1.
    runs: Vec<(u64, u64)>,
}

impl SheetLines {
    /// Adds a row, whose text begins at a line after all others.
    pub(crate) fn push(&mut self, line: u64, row: u64) {
        let last = self.runs.last();
        if last.is_none_or(|(first, of_first)| row + first != of_first + line) {
            self.runs.push((line, row));
        }
    }

    /// Adds the rows of a sheet without its first `left_out` lines, after the text of `lines_before` lines.
    pub(crate) fn append(&mut self, sheet: &Self, left_out: u64, lines_before: u64) {
        let starts = sheet.runs.iter();
        let ends = sheet.runs.iter().skip(1).map(|(line, _)| *line);
        for ((line, row), end) in starts.zip(ends.chain([u64::MAX])) {
            let first = (*line).max(left_out + 1);
            if first < end {
                self.push(lines_before + first - left_out, row + first - line);
            }
        }
    }

    /// Returns the row of the sheet that contains a line of the text.
    pub(crate) fn row_at(&self, line: u64) -> Option<u64> {
        let after = self.runs.partition_point(|(first, _)| *first <= line);
        let (first, row) = self.runs.get(after.checked_sub(1)?)?;
        Some(row + line - first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_of_sheets_are_their_rows() {
        let mut one = SheetLines::default();
        // Rows 1, 3, 4, whose text has two lines, and 5.
        for (line, row) in [(1, 1), (2, 3), (3, 4), (5, 5)] {
            one.push(line, row);
        }
        assert_eq!(one.runs.len(), 3);
        let rows = |lines: &SheetLines, all: &[u64]| -> Vec<Option<u64>> {
            all.iter().map(|line| lines.row_at(*line)).collect()
        };
        assert_eq!(
            rows(&one, &[0, 1, 2, 3, 5]),
            [None, Some(1), Some(3), Some(4), Some(5)]
        );
        let mut all = SheetLines::default();
        all.append(&one, 0, 0);
        all.append(&one, 2, 5);
        assert_eq!(rows(&all, &[5, 6, 8]), [Some(5), Some(4), Some(5)]);
    }

    #[test]
    fn the_latest_lines_are_held_and_passed_in_order() {
        let mut lines = SourceLines::default();
        assert_eq!(lines.line_of(1), None);
        let count = LINES_MAX as u64 + 10;
        for record in 1..=count {
            lines.push(2 * record);
        }
        assert_eq!(lines.lines.len(), LINES_MAX);
        assert_eq!(lines.line_of(1), None);
        assert_eq!(lines.line_of(20), Some(40));
        assert_eq!(lines.line_of(20), Some(40));
        assert_eq!(lines.line_of(count), Some(2 * count));
        assert_eq!(lines.line_of(count + 1), None);
    }
}
