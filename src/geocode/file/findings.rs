//! Collects what the command line reports about the rows of a file in addition to their counts.

use super::columns::RowStatus;
use super::rows::{RowAnswer, RowCells};
use toise_input::missing::MissingCounts;
use toise_input::reading::{LeftOutValues, ReadFile};

/// Reason given for rows whose cells cannot be read.
const UNREADABLE: &str = "the row cannot be read: it has more or fewer cells than the header, an open quotation mark or a \
                          cell that is too long, or is no JSON object";
/// Reason given for INSEE codes of no commune in a column that the request does not name.
const CODE_IGNORED: &str = "no commune has the INSEE code, so the row is searched without it";

/// Missing values and faulty rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowFindings {
    /// Markers for missing values that were found.
    pub missing: MissingCounts,
    /// Rows in error, by their line; in a file without lines, by their number from 1.
    pub left_out: LeftOutValues,
}

impl RowFindings {
    /// Counts the result of a row.
    pub fn count(&mut self, line: u64, query: Option<&RowCells>, answer: &RowAnswer) {
        self.count_row(line, query, answer, "");
    }

    /// Counts the result of a row; `text` is the beginning of one that cannot be read.
    pub fn count_row(
        &mut self,
        line: u64,
        query: Option<&RowCells>,
        answer: &RowAnswer,
        text: &str,
    ) {
        if answer.status == RowStatus::Error {
            let fault = query.map(RowCells::fault);
            let (reason, cell) = fault.unwrap_or((UNREADABLE, text.to_owned()));
            self.left_out.add(reason, line, "", &cell);
        }
        if let Some(code) = query.and_then(RowCells::ignored_code) {
            self.left_out.add(CODE_IGNORED, line, "", code);
        }
    }

    /// Adds the findings of later rows; `later` numbers its lines from the one after the first `lines` lines.
    pub fn append(&mut self, mut later: Self, lines: u64) {
        self.missing.add(&later.missing);
        later.number(|line| line + lines);
        self.left_out.append(later.left_out);
    }

    /// Changes the numbers of all lines.
    pub fn number(&mut self, number: impl Fn(u64) -> u64) {
        let reasons = self.left_out.0.values_mut();
        for example in reasons.flat_map(|found| &mut found.examples) {
            example.line = number(example.line);
        }
    }

    /// Moves them into the report of their file.
    pub fn report(self, file: &mut ReadFile) {
        file.reading.add_missing(&self.missing);
        file.reading.left_out = self.left_out;
    }
}
