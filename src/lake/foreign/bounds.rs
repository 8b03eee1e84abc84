//! Checks the sizes that a foreign Parquet file announces in its footer and page headers, which may disagree, against
//! limits.

use std::io;

use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};
use parquet::file::reader::ChunkReader;

use super::ForeignError;
use super::pages::{HeaderError, PageHeader, page_header};
use toise_base::bounded::{RATIO_MAX, UNPACKED_BYTES_LEAST, check_columns, gunzip};

/// Maximum bytes of a page after decompression. Common writers make pages of about 1 MB, and at most 100 MB.
const PAGE_BYTES_MAX: u64 = 256 << 20;
/// Maximum total bytes of the longest page of each column of a row group: these are in memory together.
const PAGES_BYTES_MAX: u64 = 2 << 30;
/// Maximum bytes of delta-encoded texts that are decoded at once: each text may be as long as its page.
const DELTAS_BYTES_MAX: u64 = 256 << 20;
/// Bytes read to find a page's header: the first try, and the second if the header is longer.
const HEADER_BYTES: [u64; 2] = [1 << 10, 1 << 20];

/// A column chunk, for messages.
struct ColumnChunk<'m> {
    row_group: usize,
    about: &'m ColumnChunkMetaData,
}

impl ColumnChunk<'_> {
    fn refused(&self, reason: impl Into<String>) -> ForeignError {
        ForeignError::Column {
            row_group: self.row_group + 1,
            column: self.about.column_path().string(),
            reason: reason.into(),
        }
    }

    /// Returns the start and end of the chunk in a file of `file_bytes` bytes.
    fn range(&self, file_bytes: u64) -> Result<(u64, u64), ForeignError> {
        let start = self.about.dictionary_page_offset();
        let start = start.unwrap_or_else(|| self.about.data_page_offset());
        let range = u64::try_from(start).ok().and_then(|start| {
            let bytes = u64::try_from(self.about.compressed_size()).ok()?;
            Some((start, start.checked_add(bytes)?))
        });
        // A chunk begins with its dictionary page if it has one, otherwise with its first data page.
        let has_data = self.about.data_page_offset() >= 0;
        let range = range.filter(|(_, end)| has_data && *end <= file_bytes);
        range.ok_or_else(|| self.refused("is recorded as outside the file"))
    }
}

/// The number of bytes that the rest of a file may decompress to.
struct Budget {
    left: u64,
}

impl Budget {
    fn take(&mut self, chunk: &ColumnChunk<'_>, bytes: u64) -> Result<(), ForeignError> {
        let left = self.left.checked_sub(bytes);
        self.left = left.ok_or_else(|| {
            let reason = format!(
                "together with what precedes it, expands to more than {RATIO_MAX} times the size of the file when \
                 decompressed"
            );
            chunk.refused(reason)
        })?;
        Ok(())
    }
}

/// Examines a file. Returns the number of rows per batch, at most `batch_rows`.
pub(super) fn examine(
    file: &impl ChunkReader,
    about: &ParquetMetaData,
    batch_rows: usize,
) -> Result<usize, ForeignError> {
    let columns = about.file_metadata().schema_descr().num_columns();
    check_columns(columns).map_err(ForeignError::File)?;
    let file_bytes = file.len();
    let budget = || Budget {
        left: UNPACKED_BYTES_LEAST.max(file_bytes.saturating_mul(RATIO_MAX)),
    };
    let (mut said, mut found) = (budget(), budget());
    let mut deltas_max = 0;
    for (row_group, group) in about.row_groups().iter().enumerate() {
        let (mut pages, mut deltas) = (0_u64, 0_u64);
        for about in group.columns() {
            let chunk = ColumnChunk { row_group, about };
            let bytes = u64::try_from(about.uncompressed_size());
            said.take(&chunk, bytes.unwrap_or(u64::MAX))?;
            let longest = examine_pages(file, &chunk, file_bytes, &mut found)?;
            pages += longest.page;
            deltas += longest.delta;
            if pages > PAGES_BYTES_MAX {
                let reason = format!(
                    "the longest pages up to this column have more than {PAGES_BYTES_MAX} bytes"
                );
                return Err(chunk.refused(reason));
            }
        }
        deltas_max = deltas.max(deltas_max);
    }
    let rows = usize::try_from(DELTAS_BYTES_MAX / deltas_max.max(1)).unwrap_or(usize::MAX);
    Ok(rows.clamp(1, batch_rows.max(1)))
}

/// Sizes of the longest pages of a column chunk.
#[derive(Default)]
struct LongestPages {
    page: u64,
    /// The longest page with delta-encoded texts.
    delta: u64,
}

fn examine_pages(
    file: &impl ChunkReader,
    chunk: &ColumnChunk<'_>,
    file_bytes: u64,
    budget: &mut Budget,
) -> Result<LongestPages, ForeignError> {
    let (mut at, end) = chunk.range(file_bytes)?;
    let mut longest = LongestPages::default();
    while at < end {
        let page = read_header(file, chunk, at, end)?;
        at += page.bytes as u64;
        if page.compressed > end - at {
            return Err(chunk.refused("a page is longer than its column chunk"));
        }
        if page.uncompressed > PAGE_BYTES_MAX {
            let reason = format!(
                "a page of {} bytes; at most {PAGE_BYTES_MAX} are read",
                page.uncompressed
            );
            return Err(chunk.refused(reason));
        }
        budget.take(chunk, page.uncompressed)?;
        if matches!(chunk.about.compression(), Compression::GZIP(_)) {
            examine_gzip(file, chunk, at, &page)?;
        }
        longest.page = longest.page.max(page.uncompressed);
        if page.is_delta {
            longest.delta = longest.delta.max(page.uncompressed);
        }
        at += page.compressed;
    }
    Ok(longest)
}

fn read_header(
    file: &impl ChunkReader,
    chunk: &ColumnChunk<'_>,
    at: u64,
    end: u64,
) -> Result<PageHeader, ForeignError> {
    for bytes in HEADER_BYTES {
        let bytes = bytes.min(end - at);
        let start = file.get_bytes(at, usize::try_from(bytes).map_err(too_long)?)?;
        match page_header(&start) {
            Ok(page) => return Ok(page),
            Err(HeaderError::Cut) => {}
            Err(HeaderError::Malformed) => break,
        }
    }
    Err(chunk.refused("a page without a readable header"))
}

/// Refuses a gzip page that becomes longer than its header says, because gzip is decompressed to its end. The other
/// codecs need no such check: their output buffer has the length in the header, or they expand a byte to at most 255
/// bytes.
fn examine_gzip(
    file: &impl ChunkReader,
    chunk: &ColumnChunk<'_>,
    at: u64,
    page: &PageHeader,
) -> Result<(), ForeignError> {
    let levels = page.levels.min(page.compressed);
    let bytes = usize::try_from(page.compressed - levels).map_err(too_long)?;
    let packed = file.get_bytes(at + levels, bytes)?;
    // A page that is not valid gzip is reported when it is read.
    let unpacked = gunzip(&packed[..]).and_then(|unpacked| {
        let mut unpacked = io::Read::take(unpacked, page.uncompressed + 1);
        io::copy(&mut unpacked, &mut io::sink())
    });
    let bytes = unpacked.unwrap_or_default();
    if bytes > page.uncompressed {
        Err(chunk.refused("decompressed, a page is longer than its header says"))
    } else {
        Ok(())
    }
}

fn too_long(error: std::num::TryFromIntError) -> ParquetError {
    ParquetError::General(error.to_string())
}
