//! Repairs files whose rows end with a delimiter although their header does not.
//!
//! Exports of the tax office and of old programs put a delimiter at the end of every row, but not of the header. Such a
//! file gets a last column without a name. [`header_end`] finds the place of the missing delimiter, and
//! [`ClosedHeader`] adds it.

use std::io::{self, Read};

/// Maximum number of rows that are examined.
const ROWS_MAX: usize = 100;

/// Returns where the header ends in a text whose rows all end with one delimiter more than the header; `None` for other
/// texts. Files of R, whose rows begin with a number that has no column name, do not count: their names are shifted.
pub(crate) fn header_end(text: &[u8], delimiter: u8) -> Option<usize> {
    let mut rows = csv::ReaderBuilder::new()
        .delimiter(delimiter)
        .quoting(delimiter != b'|')
        .flexible(true)
        .has_headers(false)
        .from_reader(text);
    let mut row = csv::ByteRecord::new();
    if !rows.read_byte_record(&mut row).ok()? || row.len() < 2 {
        return None;
    }
    let width = row.len();
    let end = usize::try_from(rows.position().byte()).ok()?;
    let (mut closed, mut numbered): (usize, usize) = (0, 0);
    while closed < ROWS_MAX && rows.read_byte_record(&mut row).ok()? {
        let is_closed = row.len() == width + 1 && row[width].trim_ascii().is_empty();
        if !is_closed {
            let is_last = rows.position().byte() >= text.len() as u64;
            let is_cut = is_last && !matches!(text.last(), Some(b'\n' | b'\r'));
            if is_cut {
                break;
            }
            return None;
        }
        closed += 1;
        numbered += usize::from(row[0] == *closed.to_string().as_bytes());
    }
    if closed == numbered {
        return None;
    }
    let header = text.get(..end)?;
    let is_line_end = |byte: &&u8| matches!(**byte, b'\r' | b'\n');
    Some(end - header.iter().rev().take_while(is_line_end).count())
}

/// A source with a delimiter added.
pub(crate) struct ClosedHeader<R> {
    inner: R,
    /// Number of bytes before the delimiter that have not been read, and the delimiter.
    missing: Option<(usize, u8)>,
}

impl<R> ClosedHeader<R> {
    /// Adds a delimiter at a position, if there is one.
    pub(crate) fn new(inner: R, missing: Option<(usize, u8)>) -> Self {
        Self { inner, missing }
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
        let missing = header_end(text.as_bytes(), b';').map(|end| (end, b';'));
        let mut found = String::new();
        let mut source = ClosedHeader::new(text.as_bytes(), missing);
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
        ] {
            assert_eq!(closed(text), text);
        }
    }
}
