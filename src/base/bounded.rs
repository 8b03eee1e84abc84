//! Limits on untrusted input files: decompressed size, length of a line or a record, and number of columns.
//!
//! Three megabytes of gzip can hold three gigabytes without a line break, and a quotation mark that is never closed
//! makes a CSV file one record. Code that opens a file that may be gzip uses [`unpack`] or [`gunzip`], code that reads
//! lines uses [`Lines`], and code that reads quoted rows uses [`RecordBound`]. Parquet has its own limits, in
//! `lake::foreign`.

use std::io::{self, BufRead, BufReader, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::read::MultiGzDecoder;

/// Maximum decompressed bytes per compressed byte, on average. Open data files expand six to twenty times.
pub const RATIO_MAX: u64 = 150;
/// Decompressed bytes that are always allowed, however small the compressed file is.
pub const UNPACKED_BYTES_LEAST: u64 = 32 << 20;
/// Maximum bytes of one record, such as a row of a CSV file.
pub const RECORD_BYTES_MAX: u64 = 16 << 20;
/// Maximum columns of a table. The widest open data file that is read here has 230. Even a row that is too short costs
/// as many cells as the header has columns.
pub const FILE_COLUMNS_MAX: usize = 2_000;
/// Error of a compressed file without its end.
pub const CUT_OFF: &str = "the file is cut off: its compressed data ends early";
/// First bytes of a gzip file.
const GZIP: [u8; 2] = [0x1f, 0x8b];
/// Size of the read buffers before and after decompression.
const BUFFER_BYTES: usize = 256 << 10;
/// Byte order mark of UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Reader that counts the bytes read from a source.
pub struct Counted<R> {
    inner: R,
    bytes: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.bytes.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

/// Decompressing reader that enforces [`RATIO_MAX`].
struct Unpacked<D> {
    decoder: D,
    packed: Arc<AtomicU64>,
    unpacked: u64,
}

impl<D: Read> Read for Unpacked<D> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.decoder.read(buffer).map_err(explain)?;
        self.unpacked += count as u64;
        let packed = self.packed.load(Ordering::Relaxed);
        if self.unpacked > UNPACKED_BYTES_LEAST.max(packed.saturating_mul(RATIO_MAX)) {
            let reason =
                format!("expands to more than {RATIO_MAX} times its size when decompressed");
            return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
        }
        Ok(count)
    }
}

/// Explains the error of a decoder whose data ends early.
fn explain(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => io::Error::new(error.kind(), CUT_OFF),
        _ => error,
    }
}

/// Decompresses a source with the decoder that `decoder` creates for it. Reading fails once the output exceeds both
/// [`UNPACKED_BYTES_LEAST`] and [`RATIO_MAX`] times the compressed bytes read.
///
/// # Errors
/// The decoder cannot be created.
pub fn expand<'r, R, D>(
    source: R,
    decoder: impl FnOnce(Counted<R>) -> io::Result<D>,
) -> io::Result<Box<dyn Read + Send + 'r>>
where
    R: Read + Send + 'r,
    D: Read + Send + 'r,
{
    let packed = Arc::new(AtomicU64::new(0));
    let counted = Counted {
        inner: source,
        bytes: Arc::clone(&packed),
    };
    Ok(Box::new(Unpacked {
        decoder: decoder(counted)?,
        packed,
        unpacked: 0,
    }))
}

/// Decompresses gzip, limited as in [`expand`].
///
/// # Errors
/// See [`expand`].
pub fn gunzip<'r>(source: impl Read + Send + 'r) -> io::Result<Box<dyn Read + Send + 'r>> {
    expand(source, |packed| Ok(MultiGzDecoder::new(packed)))
}

/// Opens a source that may be gzip, detected by its first bytes; limited as in [`gunzip`].
///
/// # Errors
/// The source cannot be read.
pub fn unpack<'r>(source: impl Read + Send + 'r) -> io::Result<Box<dyn BufRead + Send + 'r>> {
    let mut source = BufReader::with_capacity(BUFFER_BYTES, source);
    Ok(if source.fill_buf()?.starts_with(&GZIP) {
        Box::new(BufReader::with_capacity(BUFFER_BYTES, gunzip(source)?))
    } else {
        Box::new(source)
    })
}

/// Checks the number of a table's columns.
///
/// # Errors
/// The table has more than [`FILE_COLUMNS_MAX`]; the text is for a message that names the file.
pub fn check_columns(count: usize) -> Result<(), String> {
    if count > FILE_COLUMNS_MAX {
        Err(format!(
            "has {count} columns; at most {FILE_COLUMNS_MAX} are read"
        ))
    } else {
        Ok(())
    }
}

/// A line of [`Lines`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BoundedLine<'l> {
    /// Line number, from 1; empty lines count.
    pub number: u64,
    /// Content without surrounding spaces and without a byte order mark.
    pub bytes: &'l [u8],
    /// Whether the line is longer than the limit; `bytes` is then its beginning.
    pub is_cut: bool,
    /// Whether the source ends within the line, without a line feed. Not known for a line longer than the limit.
    pub is_unended: bool,
}

/// Reader of the lines of a source that are not empty. It holds at most one line, cut at a limit, in memory.
pub struct Lines<R> {
    input: R,
    bytes_max: u64,
    line: Vec<u8>,
    number: u64,
    bytes_read: u64,
}

impl<R: BufRead> Lines<R> {
    /// Creates a reader of lines of at most `bytes_max` bytes.
    pub fn new(input: R, bytes_max: u64) -> Self {
        Self {
            input,
            bytes_max,
            line: Vec::new(),
            number: 0,
            bytes_read: 0,
        }
    }

    /// Returns the number of the line that was read last, or is being read; 0 before the first.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Returns the number of bytes read from the source so far.
    pub fn bytes_read(&self) -> u64 {
        self.bytes_read
    }

    /// Returns the next line that is not empty, or `None` at the end. If a line is too long, its beginning is returned
    /// and the rest skipped.
    ///
    /// # Errors
    /// The source cannot be read.
    pub fn next_line(&mut self) -> io::Result<Option<BoundedLine<'_>>> {
        loop {
            self.line.clear();
            self.number += 1;
            let mut start = (&mut self.input).take(self.bytes_max + 1);
            let count = start.read_until(b'\n', &mut self.line)? as u64;
            if count == 0 {
                return Ok(None);
            }
            self.bytes_read += count;
            let is_cut = count > self.bytes_max && !self.line.ends_with(b"\n");
            if is_cut {
                self.bytes_read += self.input.skip_until(b'\n')? as u64;
                self.line.pop();
            }
            let rest = self.line.strip_prefix(BYTE_ORDER_MARK);
            if !rest.unwrap_or(&self.line).trim_ascii().is_empty() {
                let bytes = self.line.strip_prefix(BYTE_ORDER_MARK);
                return Ok(Some(BoundedLine {
                    number: self.number,
                    bytes: bytes.unwrap_or(&self.line).trim_ascii(),
                    is_cut,
                    is_unended: !is_cut && !self.line.ends_with(b"\n"),
                }));
            }
        }
    }
}

/// Handle that signals to a [`RecordBound`] that a record has ended.
#[derive(Clone, Debug, Default)]
pub struct RecordEnds(Arc<AtomicU64>);

impl RecordEnds {
    /// Marks the end of a record.
    pub fn mark(&self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

/// Reader that fails when a single record exceeds [`RECORD_BYTES_MAX`] bytes.
pub struct RecordBound<R> {
    inner: R,
    since: Arc<AtomicU64>,
}

impl<R: Read> RecordBound<R> {
    /// Limits the records of a source. The code that parses the records must mark their ends.
    pub fn new(inner: R) -> (Self, RecordEnds) {
        let ends = RecordEnds::default();
        let since = Arc::clone(&ends.0);
        (Self { inner, since }, ends)
    }
}

impl<R: Read> Read for RecordBound<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.since.load(Ordering::Relaxed) > RECORD_BYTES_MAX {
            let reason = format!(
                "a row is longer than {RECORD_BYTES_MAX} bytes: an unclosed quotation mark, or not a table"
            );
            return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
        }
        let count = self.inner.read(buffer)?;
        self.since.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;

    fn packed(text: impl Read) -> Vec<u8> {
        let mut text = text;
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        io::copy(&mut text, &mut encoder).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn a_compressed_file_may_become_long_but_not_endless() {
        let bomb = packed(io::repeat(b'a').take(2 * UNPACKED_BYTES_LEAST));
        let refused = io::copy(&mut gunzip(&bomb[..]).unwrap(), &mut io::sink()).unwrap_err();
        assert!(refused.to_string().contains("times its size"), "{refused}");
        let short = packed(io::repeat(b'a').take(UNPACKED_BYTES_LEAST));
        let read = io::copy(&mut gunzip(&short[..]).unwrap(), &mut io::sink()).unwrap();
        assert_eq!(read, UNPACKED_BYTES_LEAST);
    }

    #[test]
    fn a_compressed_file_that_is_cut_off_says_so() {
        let whole = packed(&b"1,2\n".repeat(10_000)[..]);
        let cut = &whole[..whole.len() - 9];
        let refused = io::copy(&mut gunzip(cut).unwrap(), &mut io::sink()).unwrap_err();
        assert!(refused.to_string().contains("is cut off"), "{refused}");
    }

    #[test]
    fn gzip_is_told_by_its_first_bytes_and_bounded() {
        for bytes in [packed(&b"a\nb"[..]), b"a\nb".to_vec()] {
            let mut text = String::new();
            unpack(&bytes[..])
                .unwrap()
                .read_to_string(&mut text)
                .unwrap();
            assert_eq!(text, "a\nb");
        }
        let bomb = packed(io::repeat(b'a').take(2 * UNPACKED_BYTES_LEAST));
        assert!(io::copy(&mut unpack(&bomb[..]).unwrap(), &mut io::sink()).is_err());
    }

    #[test]
    fn a_line_is_cut_at_its_bound_and_the_next_is_whole() {
        let text = b"\xef\xbb\xbf1\n\n 23 \r\n12345678\n123456789abc\n4";
        let mut lines = Lines::new(&text[..], 8);
        let mut read = Vec::new();
        while let Some(line) = lines.next_line().unwrap() {
            let text = String::from_utf8(line.bytes.to_vec()).unwrap();
            read.push((line.number, text, line.is_cut, line.is_unended));
        }
        let line = |number: u64, text: &str, is_cut| (number, text.to_owned(), is_cut, number == 6);
        let wanted = [
            line(1, "1", false),
            line(3, "23", false),
            line(4, "12345678", false),
            line(5, "12345678", true),
            line(6, "4", false),
        ];
        assert_eq!(read, wanted);
        assert_eq!(lines.bytes_read(), text.len() as u64);
    }

    #[test]
    fn a_table_has_a_bounded_number_of_columns() {
        assert_eq!(check_columns(FILE_COLUMNS_MAX), Ok(()));
        let refused = check_columns(FILE_COLUMNS_MAX + 1).unwrap_err();
        assert!(refused.contains("has 2001 columns"), "{refused}");
    }

    #[test]
    fn a_record_has_an_end() {
        let (mut source, ends) = RecordBound::new(io::repeat(b'a'));
        let mut buffer = vec![0; RECORD_BYTES_MAX as usize];
        source.read_exact(&mut buffer).unwrap();
        ends.mark();
        source.read_exact(&mut buffer).unwrap();
        assert!(io::copy(&mut source, &mut io::sink()).is_err());
    }
}
