//! Reads the lines of a file as unvalidated rows.

use std::io::BufRead;

use serde_json::Value;
use toise_base::bounded::Lines;
use toise_input::json;

/// Maximum line length, in bytes; longer lines are rejected.
const LINE_BYTES_MAX: u64 = 4 << 20;

/// A row that was read.
#[derive(Debug)]
pub struct Line {
    /// Number of its line, from 1; in files without lines, of its record.
    pub number: u64,
    /// The row, or why the line cannot be read as one.
    pub row: Result<Value, String>,
}

/// Reads one JSON object per line; skips empty lines.
pub struct NdJson<R>(Lines<R>);

impl<R: BufRead> NdJson<R> {
    /// Reads from an input.
    pub fn new(input: R) -> Self {
        Self(Lines::new(input, LINE_BYTES_MAX))
    }
}

impl<R: BufRead> Iterator for NdJson<R> {
    type Item = std::io::Result<Line>;

    fn next(&mut self) -> Option<Self::Item> {
        let line = match self.0.next_line() {
            Ok(line) => line?,
            Err(error) => return Some(Err(error)),
        };
        Some(Ok(Line {
            number: line.number,
            row: if line.is_cut {
                Err(format!("line must not exceed {LINE_BYTES_MAX} bytes"))
            } else {
                json::read(line.bytes).map_err(|error| format!("must be JSON: {error}"))
            },
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Vec<(u64, bool)> {
        let lines = NdJson::new(bytes);
        lines
            .map(|line| line.unwrap())
            .map(|line| (line.number, line.row.is_ok()))
            .collect()
    }

    #[test]
    fn lines_keep_their_numbers_and_a_bad_line_does_not_stop_the_rest() {
        let text = b"\xef\xbb\xbf{\"url\": 1}\n\n{broken\n  [3]  \r\n{\"last\": 1}";
        assert_eq!(read(text), [(1, true), (3, false), (4, true), (5, true)]);
    }

    #[test]
    fn an_endless_line_is_rejected_without_being_buffered() {
        let mut text = vec![b'a'; LINE_BYTES_MAX as usize + 10];
        text.extend_from_slice(b"\n{}\n");
        assert_eq!(read(&text), [(1, false), (2, true)]);
        let first = NdJson::new(&text[..]).next().unwrap().unwrap();
        let reason = first.row.unwrap_err();
        assert!(reason.contains("must not exceed 4194304"), "{reason}");
    }
}
