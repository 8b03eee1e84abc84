//! Opens a source: detects its format from the first bytes, decodes gzip and Windows-1252, and creates the reader.

use std::fs::File;
use std::io::{BufReader, Cursor, Read, Seek};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use super::{Block, Error, Header, SourceLocation, delimited, json, parquet};
use toise_base::bounded::gunzip;

/// Bytes read to detect the format.
const PROBE_BYTES: usize = 64 << 10;
/// Size of the read buffer before decompression, bytes.
const READ_BUFFER_BYTES: usize = 256 << 10;

/// Format of a source, apart from compression (gzip is always detected from the first bytes).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SourceFormat {
    /// Detect from the first bytes.
    #[default]
    Detect,
    /// Delimited text: comma, semicolon, tab or pipe.
    Delimited,
    /// One JSON object per line.
    NdJson,
    /// A data-fair page: `{"results": [...], "next": ...}`, or a bare array of objects.
    JsonPage,
    /// Parquet.
    Parquet,
}

/// A reader of the rows of a source, block by block.
pub trait BlockReader {
    /// Returns the next rows; `None` at the end. Blocks the calling thread.
    fn next_block(&mut self) -> Result<Option<Block>, Error>;
}

/// Count and digest of the bytes of a source, updated while they are read. Clones share them.
#[derive(Clone, Default)]
pub struct ByteMeter {
    bytes: Arc<AtomicU64>,
    hasher: Arc<Mutex<blake3::Hasher>>,
}

impl ByteMeter {
    /// Returns the number of bytes read so far.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Returns the BLAKE3 digest of the bytes read so far, hexadecimal.
    pub fn checksum(&self) -> String {
        self.hasher.lock().finalize().to_hex().to_string()
    }
}

struct Metered<R> {
    inner: R,
    meter: ByteMeter,
}

impl<R: Read> Read for Metered<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.meter.bytes.fetch_add(count as u64, Ordering::Relaxed);
        self.meter.hasher.lock().update(&buffer[..count]);
        Ok(count)
    }
}

/// Opens a source for reading block by block; `name` stands for it in errors.
///
/// # Errors
///
/// The source cannot be read, or no reader supports its format.
pub fn open<'r>(
    source: impl Read + Send + 'r,
    name: &str,
    format: SourceFormat,
    meter: &ByteMeter,
) -> Result<Box<dyn BlockReader + 'r>, Error> {
    open_as(source, name, format, meter).map(|(_, rows)| rows)
}

/// Returns the format of a file and the columns of its first rows. Reads the beginning of a CSV or NDJSON file, the
/// footer of a Parquet file and the whole of a JSON page.
///
/// # Errors
///
/// As for [`open`], or the first rows are malformed.
pub fn read_header(path: &Path, name: &str) -> Result<(SourceFormat, Arc<Header>), Error> {
    let failed = |error| Error::reading(SourceLocation::file(name), error);
    let mut file = File::open(path).map_err(failed)?;
    let mut magic = Vec::with_capacity(parquet::MAGIC.len());
    (&mut file)
        .take(parquet::MAGIC.len() as u64)
        .read_to_end(&mut magic)
        .map_err(failed)?;
    file.rewind().map_err(failed)?;
    if magic == parquet::MAGIC {
        return Ok((SourceFormat::Parquet, parquet::header(file, name)?));
    }
    let meter = ByteMeter::default();
    let (format, mut rows) = open_as(file, name, SourceFormat::Detect, &meter)?;
    let first = rows.next_block()?;
    Ok((format, first.map(|block| block.header).unwrap_or_default()))
}

/// A source opened for reading, and its format.
type OpenSource<'r> = (SourceFormat, Box<dyn BlockReader + 'r>);

fn open_as<'r>(
    source: impl Read + Send + 'r,
    name: &str,
    format: SourceFormat,
    meter: &ByteMeter,
) -> Result<OpenSource<'r>, Error> {
    let metered = Metered {
        inner: source,
        meter: meter.clone(),
    };
    let mut raw: Box<dyn Read + Send + 'r> =
        Box::new(BufReader::with_capacity(READ_BUFFER_BYTES, metered));
    let mut probe = read_probe(&mut raw, name)?;
    if probe.starts_with(&[0x1f, 0x8b]) {
        let whole = Cursor::new(probe).chain(raw);
        raw = Box::new(gunzip(BufReader::with_capacity(READ_BUFFER_BYTES, whole)));
        probe = read_probe(&mut raw, name)?;
    }
    if probe.is_empty() {
        return Err(Error::malformed(
            SourceLocation::file(name),
            "the file is empty",
        ));
    }
    let format = match format {
        SourceFormat::Detect => detect(&probe, name)?,
        given => given,
    };
    let legacy = format == SourceFormat::Delimited && !looks_like_utf8(&probe);
    let probe_copy = probe.clone();
    let whole = Cursor::new(probe).chain(raw);
    let rows: Box<dyn BlockReader + 'r> = match format {
        SourceFormat::Parquet => Box::new(parquet::ParquetReader::new(whole, name)?),
        SourceFormat::NdJson => Box::new(json::NdJsonReader::new(whole, name)),
        SourceFormat::JsonPage => Box::new(json::PageReader::new(whole, name)?),
        SourceFormat::Delimited | SourceFormat::Detect if legacy => Box::new(
            delimited::DelimitedReader::new(Windows1252::new(whole), name, &probe_copy)?,
        ),
        SourceFormat::Delimited | SourceFormat::Detect => {
            Box::new(delimited::DelimitedReader::new(whole, name, &probe_copy)?)
        }
    };
    Ok((format, rows))
}

fn read_probe(source: &mut impl Read, name: &str) -> Result<Vec<u8>, Error> {
    let mut probe = Vec::with_capacity(PROBE_BYTES);
    source
        .take(PROBE_BYTES as u64)
        .read_to_end(&mut probe)
        .map_err(|error| Error::reading(SourceLocation::file(name), error))?;
    Ok(probe)
}

fn detect(probe: &[u8], name: &str) -> Result<SourceFormat, Error> {
    if probe.starts_with(parquet::MAGIC) {
        return Ok(SourceFormat::Parquet);
    }
    if probe.starts_with(b"PK\x03\x04") {
        return Err(Error::malformed(
            SourceLocation::file(name),
            "this is a zip archive (or a spreadsheet): unpack it, or save it as CSV",
        ));
    }
    let text = probe.strip_prefix(b"\xef\xbb\xbf").unwrap_or(probe);
    if let Some(position) = text
        .iter()
        .position(|byte| *byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r' | 0x0c))
    {
        let line = 1 + memchr::memchr_iter(b'\n', &text[..position]).count() as u64;
        return Err(Error::malformed(
            SourceLocation::line(name, line),
            "binary data: not a text, JSON or Parquet file",
        ));
    }
    let first = text.iter().position(|byte| !byte.is_ascii_whitespace());
    Ok(match first.map(|at| &text[at..]) {
        Some(text) if text.starts_with(b"[") => SourceFormat::JsonPage,
        Some(text) if text.starts_with(b"{") => {
            let line = memchr::memchr(b'\n', text).map_or(text, |end| &text[..end]);
            let page = [&b"\"results\""[..], b"\"next\"", b"\"total\""]
                .iter()
                .any(|key| memchr::memmem::find(&line[..line.len().min(400)], key).is_some())
                || line.trim_ascii().len() == 1;
            if page {
                SourceFormat::JsonPage
            } else {
                SourceFormat::NdJson
            }
        }
        _ => SourceFormat::Delimited,
    })
}

/// Returns whether the probe is UTF-8; a character truncated at its end is accepted.
fn looks_like_utf8(probe: &[u8]) -> bool {
    match std::str::from_utf8(probe) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none(),
    }
}

/// A reader that converts Windows-1252, which French spreadsheets write, to UTF-8.
struct Windows1252<R> {
    inner: R,
    buffer: Vec<u8>,
    ready: Cursor<Vec<u8>>,
}

/// Characters of the bytes 0x80 to 0x9f; the five unassigned ones remain control characters.
const WINDOWS_1252_HIGH: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}',
    '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

impl<R: Read> Windows1252<R> {
    fn new(inner: R) -> Self {
        Self {
            inner,
            buffer: vec![0; PROBE_BYTES],
            ready: Cursor::default(),
        }
    }
}

impl<R: Read> Read for Windows1252<R> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        if self.ready.position() as usize >= self.ready.get_ref().len() {
            let count = self.inner.read(&mut self.buffer)?;
            let text: String = self.buffer[..count]
                .iter()
                .map(|byte| match byte {
                    0x80..=0x9f => WINDOWS_1252_HIGH[usize::from(byte - 0x80)],
                    byte => char::from(*byte),
                })
                .collect();
            self.ready = Cursor::new(text.into_bytes());
        }
        self.ready.read(out)
    }
}
