//! Headers with one cell less than all rows: they lack a delimiter.
//!
//! Exports of the tax office and of old programs close every row with a delimiter, but not the header: such a file has
//! a last column without a name. R numbers the rows and names this first column nowhere. [`header_gap`] finds the place
//! of the missing delimiter, [`ClosedHeader`] adds it.

use std::collections::HashSet;
use std::io::{self, Read};

use crate::titles::record_reader;

/// Maximum number of rows that are examined.
const ROWS_MAX: usize = 100;
/// Minimum number of rows that show that the first column numbers them.
const NUMBERED_ROWS_MIN: usize = 2;
/// First names of headers, by their letters, below which numbers from 1 on are values and not the numbers of rows.
const NUMBER_NAMES: [&str; 13] = [
    "", "id", "identifiant", "ref", "reference", "n", "no", "num", "numero", "code", "lot",
    "index", "rang",
];

/// Where a header lacks a delimiter, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeaderGap {
    /// Before its first name: the rows begin with their number.
    Start(usize),
    /// After its last name: the rows end with a delimiter.
    End(usize),
}

impl HeaderGap {
    /// Returns its place in the text.
    fn place(self) -> usize {
        match self {
            Self::Start(place) | Self::End(place) => place,
        }
    }

    /// Returns the gap in a text with this many more bytes before it.
    pub(crate) fn after(self, bytes: usize) -> Self {
        match self {
            Self::Start(place) => Self::Start(place + bytes),
            Self::End(place) => Self::End(place + bytes),
        }
    }
}

/// What the rows below a header with one cell less show.
#[derive(Default)]
struct LongRows {
    rows: usize,
    /// Rows whose last cell is empty.
    closed: usize,
    /// Rows whose first cell is their number, from 1 on.
    counted: usize,
    /// Different whole numbers in the first cells.
    numbers: HashSet<Vec<u8>>,
    /// Whether all rows begin with a quotation mark.
    are_quoted: bool,
    /// Whether some cell is not in quotation marks.
    has_bare_cell: bool,
}

impl LongRows {
    fn add(&mut self, row: &csv::ByteRecord, text: &[u8]) {
        let is_quoted = text.trim_ascii_start().starts_with(b"\"");
        self.are_quoted = is_quoted && (self.rows == 0 || self.are_quoted);
        self.rows += 1;
        let (first, last) = (&row[0], &row[row.len() - 1]);
        self.closed += usize::from(last.trim_ascii().is_empty());
        self.counted += usize::from(first == self.rows.to_string().as_bytes());
        if !first.is_empty() && first.iter().all(u8::is_ascii_digit) {
            self.numbers.insert(first.to_vec());
        }
        let marks = memchr::memchr_iter(b'"', text).count();
        self.has_bare_cell |= marks < 2 * row.len();
    }

    /// Returns whether the first cells are the numbers that R gives to rows. It writes them in quotation marks like
    /// other texts, and values that are numbers without. Without marks, they have to count the rows, in a text whose
    /// delimiter is not the decimal comma of a number.
    fn are_numbered(&self, header: &[u8], first_name: &[u8], delimiter: u8) -> bool {
        if self.rows < NUMBERED_ROWS_MIN || self.numbers.len() < self.rows {
            return false;
        }
        if self.are_quoted && header.trim_ascii_start().starts_with(b"\"") {
            return self.has_bare_cell;
        }
        let letters = first_name.iter().filter(|byte| byte.is_ascii_alphabetic());
        let letters: Vec<u8> = letters.map(u8::to_ascii_lowercase).collect();
        let is_value = NUMBER_NAMES.iter().any(|name| name.as_bytes() == letters);
        delimiter != b',' && self.counted == self.rows && self.closed == 0 && !is_value
    }
}

/// Returns where the header lacks a delimiter in a text whose rows all have one cell more than the header; `None` for
/// other texts, and where the rows show neither that a delimiter closes them nor that they are numbered.
pub(crate) fn header_gap(text: &[u8], delimiter: u8) -> Option<HeaderGap> {
    let mut rows = record_reader(text, delimiter);
    let mut row = csv::ByteRecord::new();
    if !rows.read_byte_record(&mut row).ok()? || row.len() < 2 {
        return None;
    }
    let width = row.len();
    let first_name = row[0].to_vec();
    let end = usize::try_from(rows.position().byte()).ok()?;
    let header = text.get(..end)?;
    let mut found = LongRows::default();
    let mut begin = end;
    while found.rows < ROWS_MAX && rows.read_byte_record(&mut row).ok()? {
        let row_end = usize::try_from(rows.position().byte()).ok()?;
        if row.len() != width + 1 {
            let is_cut = row_end >= text.len() && !matches!(text.last(), Some(b'\n' | b'\r'));
            if is_cut {
                break;
            }
            return None;
        }
        found.add(&row, text.get(begin..row_end)?);
        begin = row_end;
    }
    let is_closed = found.rows > 0 && found.closed == found.rows;
    let is_counted = found.counted == found.rows;
    let is_line_end = |byte: &&u8| matches!(**byte, b'\r' | b'\n');
    if is_closed && !is_counted {
        let line_ends = header.iter().rev().take_while(is_line_end).count();
        return Some(HeaderGap::End(end - line_ends));
    }
    if !is_closed && found.are_numbered(header, &first_name, delimiter) {
        return Some(HeaderGap::Start(
            header.iter().take_while(is_line_end).count(),
        ));
    }
    None
}

/// A source with a delimiter added.
pub(crate) struct ClosedHeader<R> {
    inner: R,
    /// Number of bytes before the delimiter that have not been read, and the delimiter.
    missing: Option<(usize, u8)>,
}

impl<R> ClosedHeader<R> {
    /// Adds a delimiter to a header, if it lacks one.
    pub(crate) fn new(inner: R, gap: Option<HeaderGap>, delimiter: u8) -> Self {
        Self {
            inner,
            missing: gap.map(|gap| (gap.place(), delimiter)),
        }
    }
}

impl<R: Read> Read for ClosedHeader<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let Some((before, delimiter)) = self.missing else {
            return self.inner.read(out);
        };
        if before > 0 {
            let end = before.min(out.len());
            let count = self.inner.read(&mut out[..end])?;
            self.missing = Some((before - count, delimiter));
            return Ok(count);
        }
        let Some(first) = out.first_mut() else {
            return Ok(0);
        };
        *first = delimiter;
        self.missing = None;
        Ok(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn closed(text: &str) -> String {
        let gap = header_gap(text.as_bytes(), b';');
        let mut found = String::new();
        let mut source = ClosedHeader::new(text.as_bytes(), gap, b';');
        source.read_to_string(&mut found).unwrap();
        found
    }

    #[test]
    fn a_header_without_the_delimiter_that_closes_the_rows_gets_it() {
        for (text, expected) in [
            ("a;b\n5;2;\n3;4; \n", "a;b;\n5;2;\n3;4; \n"),
            ("a;b\r\n5;2;\r\n", "a;b;\r\n5;2;\r\n"),
            ("a;\"b\nc\"\n5;2;\n3;\"4\"", "a;\"b\nc\";\n5;2;\n3;\"4\""),
        ] {
            assert_eq!(closed(text), expected, "{text:?}");
        }
    }

    #[test]
    fn a_header_without_the_column_of_row_numbers_gets_it() {
        for (text, expected) in [
            (
                "\"ref\";\"prix\"\n\"12\";\"A\";5\n\"7\";\"\";NA\n",
                ";\"ref\";\"prix\"\n\"12\";\"A\";5\n\"7\";\"\";NA\n",
            ),
            (
                "\r\nville;prix\r\n1;A;5\r\n2;B;6\r\n3;C",
                "\r\n;ville;prix\r\n1;A;5\r\n2;B;6\r\n3;C",
            ),
        ] {
            assert_eq!(closed(text), expected, "{text:?}");
        }
        assert_eq!(
            header_gap(b"prix,ville\n1,12,5\n2,13,5\n", b','),
            None,
            "decimals"
        );
    }

    #[test]
    fn other_texts_stay_as_they_are() {
        for text in [
            "",
            "a;b",
            "a;b\n5;2\n",
            "a;b\n5;2;3\n4;5;\n",
            "a;b\n5;2;\n4;5;6\n7;8;\n",
            "a;b\n5;2;;\n",
            "a;b\n5;2;\n3;4\n",
            "a;b\n5;2;\n3;4\n6;7;\n",
            "a;b;\n5;2;\n",
            // Row names of R, and a last column without values.
            "a;b\n1;5;\n2;6;\n",
            // A last column without a name.
            "ref;prix\n1;5;vu\n2;6;vu\n",
            "ville;prix\n1;5;vu\n2;6;\n",
            "ville;prix\n1;5;vu\n3;6;vu\n",
            "\"ville\";\"prix\"\n\"1\";\"5\";\"vu\"\n\"2\";\"6\";\"vu\"\n",
        ] {
            assert_eq!(closed(text), text);
        }
    }
}
