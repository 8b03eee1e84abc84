//! Opens a source: unpacks it and converts it to UTF-8 (`toise_input`), detects its format from the first bytes, and creates
//! the reader.

use std::fs::File;
use std::io::{Cursor, Read, Seek};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use super::filiation::{self, DfiReader};
use super::{Block, Error, Header, SourceLocation, columnar, delimited, json};
use toise_input::json::{IS_GEOJSON, is_geojson};
use toise_input::{SharedForm, TextConversion};

/// Bytes read to detect the format.
const PROBE_BYTES: usize = 64 << 10;

/// Format of a source, apart from its containers, which are always detected from the first bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SourceFormat {
    /// Detect from the first bytes.
    #[default]
    Detect,
    /// Delimited text: comma, semicolon, tab or pipe.
    Delimited,
    /// One JSON object per line.
    NdJson,
    /// A data-fair page: `{"results": [...], "next": ...}`, another object with one list of objects, or a bare array of
    /// objects.
    JsonPage,
    /// Parquet, or Arrow as file or stream.
    Columnar,
    /// Lines of a document of filiation of parcels (DFI), without a header.
    Filiation,
}

/// A reader of the rows of a source, block by block.
pub trait BlockReader {
    /// Returns the next rows; `None` at the end. Blocks the calling thread.
    fn next_block(&mut self) -> Result<Option<Block>, Error>;
}

/// Byte count, digest and detected form of a source, updated while it is read. Clones share them.
#[derive(Clone, Default)]
pub struct ByteMeter {
    bytes: Arc<AtomicU64>,
    hasher: Arc<Mutex<blake3::Hasher>>,
    form: Arc<Mutex<SharedForm>>,
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

    /// Returns the form of the source as detected so far.
    pub fn form(&self) -> toise_input::FileForm {
        self.form.lock().found()
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

/// Opens a source for reading block by block. Errors refer to the source by `name`.
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
    let mut magic = Vec::with_capacity(columnar::PARQUET.len());
    (&mut file)
        .take(columnar::PARQUET.len() as u64)
        .read_to_end(&mut magic)
        .map_err(failed)?;
    file.rewind().map_err(failed)?;
    if magic == columnar::PARQUET {
        return Ok((SourceFormat::Columnar, columnar::header(file, name)?));
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
    let input =
        toise_input::open(metered, TextConversion::Utf8).map_err(|error| refused(error, name))?;
    let is_parquet = input.is_parquet;
    let form = input.form;
    *meter.form.lock() = form.clone();
    let mut text = input.reader;
    let probe = read_probe(&mut text, name)?;
    if probe.trim_ascii().is_empty() {
        return Err(Error::malformed(
            SourceLocation::file(name),
            "the file is empty",
        ));
    }
    let format = match format {
        SourceFormat::Detect if is_parquet => SourceFormat::Columnar,
        SourceFormat::Detect if filiation::is_file(&probe) => SourceFormat::Filiation,
        SourceFormat::Detect => detect(&probe, name)?,
        given => given,
    };
    let probe_copy = probe.clone();
    let whole = Cursor::new(probe).chain(text);
    let rows: Box<dyn BlockReader + 'r> = match format {
        SourceFormat::Columnar => Box::new(columnar::ColumnarReader::new(whole, name)?),
        SourceFormat::NdJson => Box::new(json::NdJsonReader::new(whole, name)),
        SourceFormat::JsonPage => Box::new(json::PageReader::new(whole, name)?),
        SourceFormat::Filiation => Box::new(DfiReader::new(whole, name)),
        SourceFormat::Delimited | SourceFormat::Detect => Box::new(
            delimited::DelimitedReader::new(whole, name, &probe_copy, &form)?,
        ),
    };
    Ok((format, rows))
}

/// Converts the error of a source that cannot be opened.
pub(crate) fn refused(error: toise_input::Error, name: &str) -> Error {
    let place = SourceLocation::file(name);
    match error {
        toise_input::Error::Io(error) => Error::reading(place, error),
        toise_input::Error::Refused(reason) => Error::malformed(place, reason),
    }
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
    if let Some(position) = probe
        .iter()
        .position(|byte| *byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r' | 0x0c))
    {
        let line = 1 + memchr::memchr_iter(b'\n', &probe[..position]).count() as u64;
        return Err(Error::malformed(
            SourceLocation::line(name, line),
            "binary data: not a text, JSON or Parquet file",
        ));
    }
    if is_geojson(probe) {
        return Err(Error::malformed(SourceLocation::file(name), IS_GEOJSON));
    }
    Ok(match probe.trim_ascii_start() {
        text if text.starts_with(b"[") => SourceFormat::JsonPage,
        text if text.starts_with(b"{") => {
            let line = memchr::memchr(b'\n', text).map_or(text, |end| &text[..end]);
            let page = [&b"\"results\""[..], b"\"next\"", b"\"total\""]
                .iter()
                .any(|key| memchr::memmem::find(&line[..line.len().min(400)], key).is_some())
                || line.trim_ascii().len() == 1
                || toise_input::json::is_document(text);
            if page {
                SourceFormat::JsonPage
            } else {
                SourceFormat::NdJson
            }
        }
        _ => SourceFormat::Delimited,
    })
}
