//! The lines of a source at which the records of a converted text begin. The converter reads ahead of the reader of the
//! records by a few buffers, so few lines are held; a reader that does not ask for them costs no more.

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

#[cfg(test)]
mod tests {
    use super::*;

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
