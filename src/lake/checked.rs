//! A file of the lake that returns only bytes that match their checksums.
//!
//! Every reader of a data file goes through here: decoding of columns, fetching of records, merging, the id index and
//! SQL. A requested range is widened to the spans that contain it ([`super::checksums`]), which are verified each time
//! they are read from disk. Reads are positional, so threads share one descriptor.

use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use parking_lot::Mutex;
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::ParquetMetaData;
use parquet::file::reader::{ChunkReader, Length};

use super::Error;
use super::checksums::SpanChecksums;
use super::partial::{self, SpanSource};

/// Bytes fetched at once where a file has a hole (at least one span): pages are small, and requests are slow.
const FETCH_BYTES: u64 = 1 << 20;

/// An open file and the checksums of its spans.
#[derive(Debug)]
pub struct CheckedFile {
    file: File,
    path: PathBuf,
    sums: SpanChecksums,
    /// Footer of a Parquet file once it is read; used to name columns in messages.
    footer: OnceLock<Arc<ParquetMetaData>>,
    /// Source of the bytes that are not on disk.
    source: Option<Arc<dyn SpanSource>>,
}

impl CheckedFile {
    /// Opens a file; its length must match its checksums.
    pub fn open(path: &Path, sums: SpanChecksums) -> Result<Self, Error> {
        let wrap = |error| Error::io(path, error);
        let source = partial::source_of(path);
        let mut options = File::options();
        let options = options.read(true).write(source.is_some());
        let file = options.open(path).map_err(wrap)?;
        let (length, written) = (file.metadata().map_err(wrap)?.len(), sums.length());
        if length != written {
            let reason = format!("length is {length} bytes, expected {written}");
            return Err(Error::damaged(path, reason));
        }
        Ok(Self {
            file,
            path: path.to_owned(),
            sums,
            footer: OnceLock::new(),
            source,
        })
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the length of the file, in bytes.
    pub fn length(&self) -> u64 {
        self.sums.length()
    }

    /// Returns the spans of the file and their checksums.
    pub fn sums(&self) -> &SpanChecksums {
        &self.sums
    }

    /// Sets the footer, from which messages name columns and row groups.
    pub fn set_footer(&self, footer: &Arc<ParquetMetaData>) {
        self.footer.get_or_init(|| Arc::clone(footer));
    }

    /// Reads a range of bytes and verifies every span that it touches.
    pub fn read(&self, bytes: Range<u64>) -> Result<Bytes, Error> {
        if bytes.start > bytes.end || bytes.end > self.length() {
            let reason = format!("bytes {} to {} are out of range", bytes.start, bytes.end);
            return Err(Error::damaged(&self.path, reason));
        }
        if bytes.is_empty() {
            return Ok(Bytes::new());
        }
        let spans = self.sums.covering(&bytes);
        let start = self.sums.bytes_of(&spans).start;
        let read = self.spans(spans)?;
        Ok(read.slice((bytes.start - start) as usize..(bytes.end - start) as usize))
    }

    /// Reads and verifies spans.
    fn spans(&self, spans: Range<usize>) -> Result<Bytes, Error> {
        let mut buffer = self.unverified(&spans)?;
        let Some(first) = self.sums.damaged(spans.clone(), &buffer).next() else {
            return Ok(buffer.into());
        };
        let Some(source) = &self.source else {
            return Err(self.mismatch(first));
        };
        let start = self.sums.bytes_of(&spans).start;
        let lacking: Vec<usize> = self
            .sums
            .damaged(first..spans.end, &buffer[self.offset(start, first)..])
            .collect();
        let mut fetched_to = 0;
        for span in lacking {
            if span < fetched_to {
                continue;
            }
            let window = self.sums.window(span, FETCH_BYTES);
            fetched_to = window.end;
            let fetched = self.fetch(source.as_ref(), window.clone())?;
            let from = self.sums.bytes_of(&window).start;
            let wanted = self
                .sums
                .bytes_of(&(window.start..window.end.min(spans.end)));
            let length = (wanted.end - wanted.start) as usize;
            let to = (from - start) as usize;
            buffer[to..to + length].copy_from_slice(&fetched[..length]);
        }
        Ok(buffer.into())
    }

    /// Returns the offset of a span in a buffer that starts at byte `start` of the file.
    fn offset(&self, start: u64, span: usize) -> usize {
        (self.sums.bytes_of(&(span..span + 1)).start - start) as usize
    }

    /// Fetches spans, verifies them and writes them into the file.
    fn fetch(&self, source: &dyn SpanSource, spans: Range<usize>) -> Result<Bytes, Error> {
        let bytes = self.sums.bytes_of(&spans);
        let wrap = |error| Error::io(&self.path, error);
        let fetched = source.fetch(&self.path, bytes.clone()).map_err(wrap)?;
        if let Some(span) = self.sums.damaged(spans, &fetched).next() {
            return Err(self.mismatch(span));
        }
        self.file
            .write_all_at(&fetched, bytes.start)
            .map_err(wrap)?;
        Ok(fetched)
    }

    /// Returns all damage of some spans. In a table whose files may have holes, a hole is not damage.
    pub fn damage(&self, spans: &Range<usize>) -> Vec<Error> {
        let buffer = match self.unverified(spans) {
            Err(error) => return vec![error],
            Ok(buffer) => buffer,
        };
        let start = self.sums.bytes_of(spans).start;
        let is_hole = |span: usize| {
            let bytes = self.sums.bytes_of(&(span..span + 1));
            let bytes = (bytes.start - start) as usize..(bytes.end - start) as usize;
            buffer[bytes].iter().all(|byte| *byte == 0) && self.may_have_holes()
        };
        let damaged = self.sums.damaged(spans.clone(), &buffer);
        let damaged = damaged.filter(|span| !is_hole(*span));
        damaged.map(|span| self.mismatch(span)).collect()
    }

    fn unverified(&self, spans: &Range<usize>) -> Result<Vec<u8>, Error> {
        let bytes = self.sums.bytes_of(spans);
        let mut buffer = vec![0u8; (bytes.end - bytes.start) as usize];
        self.file
            .read_exact_at(&mut buffer, bytes.start)
            .map_err(|error| Error::io(&self.path, error))?;
        Ok(buffer)
    }

    fn mismatch(&self, span: usize) -> Error {
        let name = self.name_of(span);
        let reason = if self.source.is_none() && self.may_have_holes() {
            format!(
                "{name} is not on this disk, which replicates only some departments: ask its server"
            )
        } else {
            format!("{name} does not match its checksum")
        };
        Error::damaged(&self.path, reason)
    }

    fn may_have_holes(&self) -> bool {
        self.path.parent().is_some_and(partial::is_partial)
    }

    /// Describes the content of a span, for messages.
    fn name_of(&self, span: usize) -> String {
        let bytes = self.sums.bytes_of(&(span..span + 1));
        let Some(footer) = self.footer.get() else {
            return format!("bytes {} to {}", bytes.start, bytes.end);
        };
        for (group, row_group) in footer.row_groups().iter().enumerate() {
            for column in row_group.columns() {
                let (start, length) = column.byte_range();
                let what = if (start..start + length).contains(&bytes.start) {
                    "column"
                } else if column.bloom_filter_offset() == i64::try_from(bytes.start).ok() {
                    "the bloom filter of column"
                } else {
                    continue;
                };
                let name = column.column_path().parts().first();
                let name = name.map(String::as_str).unwrap_or_default();
                return format!("{what} `{name}` of row group {group}");
            }
        }
        let last = span + 1 == self.sums.count();
        let name = if last { "the footer" } else { "the page index" };
        name.to_owned()
    }
}

/// One reader of a Parquet file. Pages are read in two steps, header and body; the last span is cached so that each
/// span is read and verified once.
#[derive(Clone, Debug)]
pub struct CheckedReader {
    file: Arc<CheckedFile>,
    state: Arc<Mutex<ReaderState>>,
}

#[derive(Debug, Default)]
struct ReaderState {
    last: Option<(usize, Bytes)>,
    /// The first error; Parquet and Arrow would pass it on only as text.
    error: Option<Error>,
}

impl CheckedReader {
    /// Creates a reader of a file.
    pub fn new(file: &Arc<CheckedFile>) -> Self {
        Self {
            file: Arc::clone(file),
            state: Arc::default(),
        }
    }

    /// Returns the error of reading the file if there was one, otherwise the decoding error as damage.
    pub fn error(&self, decoding: impl ToString) -> Error {
        let error = self.state.lock().error.take();
        error.unwrap_or_else(|| Error::damaged(&self.file.path, decoding))
    }

    fn read(&self, bytes: Range<u64>) -> Result<Bytes, Error> {
        let spans = self.file.sums.covering(&bytes);
        if spans.len() != 1 || bytes.end > self.file.length() || bytes.is_empty() {
            return self.file.read(bytes);
        }
        let mut state = self.state.lock();
        let span = match &state.last {
            Some((last, span)) if *last == spans.start => span.clone(),
            _ => {
                let span = self.file.spans(spans.clone())?;
                state.last = Some((spans.start, span.clone()));
                span
            }
        };
        let start = self.file.sums.bytes_of(&spans).start;
        Ok(span.slice((bytes.start - start) as usize..(bytes.end - start) as usize))
    }

    fn keep(&self, error: Error) -> String {
        let text = error.to_string();
        self.state.lock().error.get_or_insert(error);
        text
    }
}

impl Length for CheckedReader {
    fn len(&self) -> u64 {
        self.file.length()
    }
}

impl ChunkReader for CheckedReader {
    type T = CheckedSequence;

    fn get_read(&self, start: u64) -> ParquetResult<Self::T> {
        Ok(CheckedSequence {
            reader: self.clone(),
            offset: start,
            ahead: Bytes::new(),
        })
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        self.read(start..start.saturating_add(length as u64))
            .map_err(|error| ParquetError::General(self.keep(error)))
    }
}

/// Reads sequentially from an offset, span by span.
#[derive(Debug)]
pub struct CheckedSequence {
    reader: CheckedReader,
    offset: u64,
    ahead: Bytes,
}

impl Read for CheckedSequence {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.ahead.is_empty() && self.offset < self.reader.file.length() {
            let sums = &self.reader.file.sums;
            let end = sums
                .bytes_of(&sums.covering(&(self.offset..self.offset + 1)))
                .end;
            self.ahead = self
                .reader
                .read(self.offset..end)
                .map_err(|error| io::Error::other(self.reader.keep(error)))?;
        }
        let count = buffer.len().min(self.ahead.len());
        buffer[..count].copy_from_slice(&self.ahead.split_to(count));
        self.offset += count as u64;
        Ok(count)
    }
}
