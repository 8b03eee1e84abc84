//! Reads the lines of a file as unvalidated rows.

use std::io::{BufRead, BufReader, Read};

use serde_json::Value;

use toise_base::bounded::gunzip;

/// Maximum line length, in bytes; longer lines are rejected.
const LINE_BYTES_MAX: u64 = 4 << 20;
/// Size of the read buffer, in bytes.
const BUFFER_BYTES: usize = 256 << 10;
/// Magic number of a gzip file.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// A row that was read.
#[derive(Debug)]
pub struct Line {
    /// Number of its line, from 1; in files without lines, of its record.
    pub number: u64,
    /// The row, or why the line cannot be read as one.
    pub row: Result<Value, String>,
}

/// Decompresses the input if its first bytes are those of gzip.
pub fn unpack<'r>(input: impl Read + Send + 'r) -> std::io::Result<Box<dyn BufRead + Send + 'r>> {
    let mut input = BufReader::with_capacity(BUFFER_BYTES, input);
    if input.fill_buf()?.starts_with(&GZIP) {
        let unpacked = gunzip(input);
        return Ok(Box::new(BufReader::with_capacity(BUFFER_BYTES, unpacked)));
    }
    Ok(Box::new(input))
}

/// Reads one JSON object per line; skips empty lines.
pub struct NdJson<R> {
    input: R,
    number: u64,
}

impl<R: BufRead> NdJson<R> {
    /// Reads from an input.
    pub fn new(input: R) -> Self {
        Self { input, number: 0 }
    }
}

impl<R: BufRead> Iterator for NdJson<R> {
    type Item = std::io::Result<Line>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let mut text = Vec::new();
            let read = self
                .input
                .by_ref()
                .take(LINE_BYTES_MAX)
                .read_until(b'\n', &mut text);
            match read {
                Ok(0) => return None,
                Ok(_) => self.number += 1,
                Err(error) => return Some(Err(error)),
            }
            if text.len() as u64 == LINE_BYTES_MAX && text.last() != Some(&b'\n') {
                let line = Line {
                    number: self.number,
                    row: Err(format!("line must not exceed {LINE_BYTES_MAX} bytes")),
                };
                return Some(self.skip_line().map(|()| line));
            }
            let text = text
                .strip_prefix(b"\xef\xbb\xbf")
                .unwrap_or(&text)
                .trim_ascii();
            if !text.is_empty() {
                return Some(Ok(Line {
                    number: self.number,
                    row: serde_json::from_slice(text)
                        .map_err(|error| format!("must be JSON: {error}")),
                }));
            }
        }
    }
}

impl<R: BufRead> NdJson<R> {
    /// Skips the rest of a line that is too long, without buffering it.
    fn skip_line(&mut self) -> std::io::Result<()> {
        self.input.skip_until(b'\n').map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn read(bytes: &[u8]) -> Vec<(u64, bool)> {
        let lines = NdJson::new(unpack(bytes).unwrap());
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
    }

    #[test]
    fn gzip_is_recognised_by_its_first_bytes() {
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(b"{}\n{}\n").unwrap();
        assert_eq!(read(&packed.finish().unwrap()), [(1, true), (2, true)]);
    }
}
