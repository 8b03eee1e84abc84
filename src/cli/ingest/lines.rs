//! Reads the lines of a file as unvalidated rows.

use std::io::BufRead;

use serde_json::Value;
use toise_base::bounded::Lines;
use toise_input::{SharedForm, json};

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
pub struct NdJson<R> {
    lines: Lines<R>,
    form: SharedForm,
}

impl<R: BufRead> NdJson<R> {
    /// Reads from an input; notes in `form` whether it looks cut off.
    pub fn new(input: R, form: &SharedForm) -> Self {
        Self {
            lines: Lines::new(input, LINE_BYTES_MAX),
            form: form.clone(),
        }
    }
}

impl<R: BufRead> Iterator for NdJson<R> {
    type Item = std::io::Result<Line>;

    fn next(&mut self) -> Option<Self::Item> {
        let line = match self.lines.next_line() {
            Ok(line) => line?,
            Err(error) => return Some(Err(error)),
        };
        let row = if line.is_cut {
            Err(format!("line must not exceed {LINE_BYTES_MAX} bytes"))
        } else {
            json::read(line.bytes).map_err(|error: serde_json::Error| {
                if line.is_unended && error.is_eof() {
                    self.form.set_cut_line(line.number);
                    "the file ends within this line: it looks cut off".to_owned()
                } else {
                    format!("must be JSON: {error}")
                }
            })
        };
        Some(Ok(Line {
            number: line.number,
            row,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Vec<(u64, bool)> {
        let lines = NdJson::new(bytes, &SharedForm::default());
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
    fn a_file_that_ends_within_an_object_looks_cut_off() {
        for (text, cut) in [
            ("{\"a\": 1}\n{\"a\": \"Tou", Some(2)),
            ("{\"a\": 1}\n{\"a\": \"Tou\n", None),
            ("{\"a\": 1}\n{broken", None),
            ("{\"a\": 1}\n{\"a\": 2}", None),
        ] {
            let form = SharedForm::default();
            assert_eq!(NdJson::new(text.as_bytes(), &form).count(), 2);
            assert_eq!(form.cut_line(), cut, "{text}");
        }
    }

    #[test]
    fn an_endless_line_is_rejected_without_being_buffered() {
        let mut text = vec![b'a'; LINE_BYTES_MAX as usize + 10];
        text.extend_from_slice(b"\n{}\n");
        assert_eq!(read(&text), [(1, false), (2, true)]);
        let first = NdJson::new(&text[..], &SharedForm::default()).next();
        let reason = first.unwrap().unwrap().row.unwrap_err();
        assert!(reason.contains("must not exceed 4194304"), "{reason}");
    }
}
