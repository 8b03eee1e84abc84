//! Splits a CSV file into records without changing a byte of them.
//!
//! A line break inside a quoted cell does not end a record. A quoted cell that is never closed would swallow the rest
//! of the file, so only its first line is taken as a record, which is marked as broken.

use std::borrow::Cow;
use std::io::{self, Read};

/// Maximum bytes of a record.
pub const RECORD_BYTES_MAX: usize = 1 << 20;
/// Bytes read at a time.
const READ_BYTES: usize = 256 << 10;

/// Reader of the records of a source.
pub struct RecordReader<R> {
    source: R,
    delimiter: u8,
    buffer: Vec<u8>,
    /// Where the next record begins in the buffer.
    start: usize,
    is_at_end: bool,
    /// Bytes of the source before the next record.
    position: u64,
    /// Line breaks that were read before the next record.
    lines: u64,
}

/// A record with its line break.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'b> {
    /// Its bytes without the line break.
    pub bytes: &'b [u8],
    /// The line break: `\n`, `\r\n`, `\r`, or nothing at the end of the file.
    pub line_break: &'b [u8],
    /// Whether it has a quoted cell that is not closed, or is longer than [`RECORD_BYTES_MAX`].
    pub is_broken: bool,
}

impl<R: Read> RecordReader<R> {
    /// Creates a reader of a source, whose next byte is at `position` in the file.
    pub fn new(source: R, delimiter: u8, position: u64) -> Self {
        Self {
            source,
            delimiter,
            buffer: Vec::new(),
            start: 0,
            is_at_end: false,
            position,
            lines: 0,
        }
    }

    /// Returns the number of bytes of the file before the next record.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Returns the number of lines that were read, those inside quoted cells included.
    pub fn lines(&self) -> u64 {
        self.lines
    }

    /// Reads the next record; `None` at the end of the source.
    ///
    /// # Errors
    /// The source cannot be read.
    pub fn next_record(&mut self) -> io::Result<Option<Record<'_>>> {
        let mut scan = Scan::new(self.delimiter);
        loop {
            let rest = &self.buffer[self.start..];
            let end = scan.resume(rest, self.is_at_end);
            if let Some(end) = end {
                return Ok(Some(self.take(end, false)));
            }
            if self.is_at_end && rest.is_empty() {
                return Ok(None);
            }
            if self.is_at_end || rest.len() > RECORD_BYTES_MAX {
                let is_broken = scan.is_quoted || rest.len() > RECORD_BYTES_MAX;
                let end = if is_broken {
                    first_line(rest)
                } else {
                    RecordEnd {
                        bytes: rest.len(),
                        line_break: 0,
                    }
                };
                return Ok(Some(self.take(end, is_broken)));
            }
            self.fill()?;
        }
    }

    fn take(&mut self, end: RecordEnd, is_broken: bool) -> Record<'_> {
        let begin = self.start;
        let length = end.bytes + end.line_break;
        self.start += length;
        self.position += length as u64;
        self.lines += line_breaks(&self.buffer[begin..begin + length]);
        Record {
            bytes: &self.buffer[begin..begin + end.bytes],
            line_break: &self.buffer[begin + end.bytes..begin + length],
            is_broken,
        }
    }

    fn fill(&mut self) -> io::Result<()> {
        self.buffer.drain(..self.start);
        self.start = 0;
        let filled = self.buffer.len();
        self.buffer.resize(filled + READ_BYTES, 0);
        let read = loop {
            match self.source.read(&mut self.buffer[filled..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read,
            }
        };
        self.buffer
            .truncate(filled + read.as_ref().map_or(0, |read| *read));
        self.is_at_end = read? == 0;
        Ok(())
    }
}

/// The end of a record: the length of its bytes and of its line break.
struct RecordEnd {
    bytes: usize,
    line_break: usize,
}

/// State of the search for the end of a record.
struct Scan {
    delimiter: u8,
    at: usize,
    is_quoted: bool,
    /// Whether a cell begins here; only there does a quotation mark open a quoted cell.
    begins_cell: bool,
}

impl Scan {
    fn new(delimiter: u8) -> Self {
        Self {
            delimiter,
            at: 0,
            is_quoted: false,
            begins_cell: true,
        }
    }

    /// Continues the scan where it stopped; `None` if the record does not end in these bytes.
    fn resume(&mut self, bytes: &[u8], is_all: bool) -> Option<RecordEnd> {
        while let Some(byte) = bytes.get(self.at) {
            match byte {
                b'"' if self.is_quoted || self.begins_cell => self.is_quoted = !self.is_quoted,
                b'\n' if !self.is_quoted => return Some(self.end(1)),
                b'\r' if !self.is_quoted => match bytes.get(self.at + 1) {
                    Some(b'\n') => return Some(self.end(2)),
                    None if !is_all => return None,
                    _ => return Some(self.end(1)),
                },
                _ => {}
            }
            // A mark after a closing mark opens the cell again: "" is a quotation mark within a cell.
            self.begins_cell = *byte == self.delimiter || (*byte == b'"' && !self.is_quoted);
            self.at += 1;
        }
        None
    }

    fn end(&self, line_break: usize) -> RecordEnd {
        RecordEnd {
            bytes: self.at,
            line_break,
        }
    }
}

/// Returns the number of line breaks of any kind.
pub(super) fn line_breaks(bytes: &[u8]) -> u64 {
    let next = bytes.iter().skip(1).map(Some).chain([None]);
    let pairs = bytes.iter().zip(next);
    let is_end = |(byte, next): &(&u8, Option<&u8>)| {
        **byte == b'\n' || **byte == b'\r' && *next != Some(&b'\n')
    };
    pairs.filter(is_end).count() as u64
}

fn first_line(bytes: &[u8]) -> RecordEnd {
    let Some(at) = bytes.iter().position(|byte| *byte == b'\n') else {
        return RecordEnd {
            bytes: bytes.len(),
            line_break: 0,
        };
    };
    let has_return = at > 0 && bytes[at - 1] == b'\r';
    RecordEnd {
        bytes: at - usize::from(has_return),
        line_break: 1 + usize::from(has_return),
    }
}

/// Splits a record into its cells, without their quotation marks.
pub fn cells(record: &[u8], delimiter: u8) -> Vec<Cow<'_, [u8]>> {
    let mut cells = Vec::new();
    let mut rest = record;
    loop {
        let (cell, after) = match rest.strip_prefix(b"\"") {
            Some(quoted) => quoted_cell(quoted, delimiter),
            None => {
                let end = rest.iter().position(|byte| *byte == delimiter);
                let end = end.unwrap_or(rest.len());
                (Cow::Borrowed(&rest[..end]), &rest[end..])
            }
        };
        cells.push(cell);
        match after.split_first() {
            Some((_, after)) => rest = after,
            None => return cells,
        }
    }
}

/// Reads a quoted cell after its opening mark. Returns it with the rest, which begins with a delimiter or is empty.
fn quoted_cell(text: &[u8], delimiter: u8) -> (Cow<'_, [u8]>, &[u8]) {
    let mut cell = Vec::new();
    let mut at = 0;
    while let Some(mark) = text[at..].iter().position(|byte| *byte == b'"') {
        cell.extend_from_slice(&text[at..at + mark]);
        at += mark + 1;
        if text.get(at) != Some(&b'"') {
            // Text between the closing mark and the delimiter belongs to the cell.
            let end = text[at..].iter().position(|byte| *byte == delimiter);
            let end = end.map_or(text.len(), |end| at + end);
            cell.extend_from_slice(&text[at..end]);
            return (Cow::Owned(cell), &text[end..]);
        }
        cell.push(b'"');
        at += 1;
    }
    cell.extend_from_slice(&text[at..]);
    (Cow::Owned(cell), &[])
}
