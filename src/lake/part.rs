//! One immutable Parquet file of a table, open for reading.
//!
//! Three ways to read it: one column of one row group (questions keep those decoded in memory), whole rows by number
//! (one small page of the record column each, 20–40 µs), and all of it in order (merging). The footer is read once;
//! the place of record pages on first use. Reads are positional, so that threads share one descriptor.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use arrow::array::ArrayRef;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use bytes::Bytes;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
    ParquetRecordBatchReaderBuilder,
};
use parquet::basic::Encoding;
use parquet::column::page::{Page, PageReader};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaData, ParquetMetaDataReader};
use parquet::file::page_index::offset_index::PageLocation;
use parquet::file::reader::{ChunkReader, Length};
use parquet::file::serialized_reader::SerializedPageReader;

use super::Error;
use super::ids::IdIndex;
use super::schema::{Kind, RECORD, TableSchema};
use super::snapshot::PartEntry;

/// Read-ahead of sequential reads.
const READ_BUFFER_BYTES: usize = 256 * 1024;

/// A file read by position.
#[derive(Clone, Debug)]
pub struct PositionalFile {
    file: Arc<File>,
    length: u64,
}

impl Length for PositionalFile {
    fn len(&self) -> u64 {
        self.length
    }
}

impl ChunkReader for PositionalFile {
    type T = io::BufReader<PositionalReader>;

    fn get_read(&self, start: u64) -> ParquetResult<Self::T> {
        let reader = PositionalReader {
            file: Arc::clone(&self.file),
            offset: start,
        };
        Ok(io::BufReader::with_capacity(READ_BUFFER_BYTES, reader))
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        let mut buffer = vec![0u8; length];
        self.file
            .read_exact_at(&mut buffer, start)
            .map_err(|error| ParquetError::External(Box::new(error)))?;
        Ok(buffer.into())
    }
}

/// Sequential reader over a [`PositionalFile`].
#[derive(Debug)]
pub struct PositionalReader {
    file: Arc<File>,
    offset: u64,
}

impl Read for PositionalReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(buffer, self.offset)?;
        self.offset += read as u64;
        Ok(read)
    }
}

/// An open file of a table.
#[derive(Debug)]
pub struct Part {
    entry: PartEntry,
    path: PathBuf,
    file: PositionalFile,
    metadata: Arc<ParquetMetaData>,
    /// Reader set-up with categories as dictionaries.
    encoded: ArrowReaderMetadata,
    /// First row of each row group, and the row count at the end.
    group_starts: Vec<u32>,
    ids: IdIndex,
    record_column: usize,
    record_pages: OnceLock<Vec<Vec<PageLocation>>>,
}

impl Part {
    /// Opens a file the snapshot names and checks that it is what the snapshot says.
    pub fn open(folder: &Path, entry: &PartEntry, schema: &TableSchema) -> Result<Self, Error> {
        let path = folder.join(&entry.file);
        let file = File::open(&path).map_err(|error| Error::io(&path, error))?;
        let length = file
            .metadata()
            .map_err(|error| Error::io(&path, error))?
            .len();
        if length != entry.bytes {
            let reason = format!("{length} bytes, the snapshot says {}", entry.bytes);
            return Err(Error::damaged(&path, reason));
        }
        let file = PositionalFile {
            file: Arc::new(file),
            length,
        };
        let metadata = ParquetMetaDataReader::new()
            .parse_and_finish(&file)
            .map_err(|error| Error::damaged(&path, error))?;
        let metadata = Arc::new(metadata);
        let rows = metadata.file_metadata().num_rows();
        if u64::try_from(rows) != Ok(entry.rows) {
            let reason = format!("{rows} rows, the snapshot says {}", entry.rows);
            return Err(Error::damaged(&path, reason));
        }
        let options = ArrowReaderOptions::new().with_schema(encoded_schema(schema));
        let encoded = ArrowReaderMetadata::try_new(Arc::clone(&metadata), options)
            .map_err(|error| Error::damaged(&path, error))?;
        let mut group_starts = vec![0u32];
        for group in metadata.row_groups() {
            let last = group_starts.last().copied().unwrap_or(0);
            group_starts.push(last + group.num_rows() as u32);
        }
        let ids = IdIndex::open(&folder.join(super::ids::file_name(&entry.file)), entry.rows)?;
        let record_column =
            leaf_of(&metadata, RECORD).ok_or_else(|| Error::damaged(&path, "no record column"))?;
        Ok(Self {
            entry: entry.clone(),
            path,
            file,
            metadata,
            encoded,
            group_starts,
            ids,
            record_column,
            record_pages: OnceLock::new(),
        })
    }

    /// What the snapshot says of the file.
    pub fn entry(&self) -> &PartEntry {
        &self.entry
    }

    /// Where the file is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The open file.
    pub fn file(&self) -> &PositionalFile {
        &self.file
    }

    /// The footer.
    pub fn metadata(&self) -> &Arc<ParquetMetaData> {
        &self.metadata
    }

    /// The id index.
    pub fn ids(&self) -> &IdIndex {
        &self.ids
    }

    /// First row of each row group, and the row count at the end.
    pub fn group_starts(&self) -> &[u32] {
        &self.group_starts
    }

    /// Decodes one column of one row group; categories come as `Dictionary(Int32, Utf8)`. About 0.3–1 ms.
    pub fn read_column(&self, row_group: usize, column: usize) -> Result<ArrayRef, Error> {
        let rows = self.group_starts[row_group + 1] - self.group_starts[row_group];
        let mask = ProjectionMask::roots(self.metadata.file_metadata().schema_descr(), [column]);
        let mut reader = ParquetRecordBatchReaderBuilder::new_with_metadata(
            self.file.clone(),
            self.encoded.clone(),
        )
        .with_row_groups(vec![row_group])
        .with_projection(mask)
        .with_batch_size(rows as usize)
        .build()
        .map_err(|error| Error::damaged(&self.path, error))?;
        let batch = match reader.next() {
            Some(batch) => batch.map_err(|error| Error::damaged(&self.path, error))?,
            None => return Err(Error::damaged(&self.path, "an empty row group")),
        };
        if batch.num_rows() != rows as usize {
            return Err(Error::damaged(
                &self.path,
                "a row group shorter than its footer says",
            ));
        }
        Ok(Arc::clone(batch.column(0)))
    }

    /// All rows in order, all columns plainly encoded, `batch_rows` at a time.
    pub fn batches(&self, batch_rows: usize) -> Result<ParquetRecordBatchReader, Error> {
        let options = ArrowReaderOptions::new();
        let metadata = ArrowReaderMetadata::try_new(Arc::clone(&self.metadata), options)?;
        let builder =
            ParquetRecordBatchReaderBuilder::new_with_metadata(self.file.clone(), metadata);
        Ok(builder.with_batch_size(batch_rows).build()?)
    }

    /// The record texts of rows given by number in the file, in the order asked.
    pub fn records(&self, rows: &[u32]) -> Result<Vec<Bytes>, Error> {
        let pages = self.record_pages()?;
        let mut order: Vec<usize> = (0..rows.len()).collect();
        order.sort_unstable_by_key(|index| rows[*index]);
        let mut records = vec![Bytes::new(); rows.len()];
        let mut open_page: Option<(usize, usize, Bytes)> = None;
        for index in order {
            let row = rows[index];
            let group = self
                .group_starts
                .partition_point(|start| *start <= row)
                .saturating_sub(1);
            let Some(locations) = pages.get(group) else {
                return Err(Error::damaged(&self.path, format!("no row {row}")));
            };
            let in_group = i64::from(row - self.group_starts[group]);
            let page = locations
                .partition_point(|location| location.first_row_index <= in_group)
                .saturating_sub(1);
            let values = match &open_page {
                Some((open_group, open, values)) if (*open_group, *open) == (group, page) => {
                    values.clone()
                }
                _ => {
                    let values = self.record_page(group, &locations[page])?;
                    open_page = Some((group, page, values.clone()));
                    values
                }
            };
            let skipped = (in_group - locations[page].first_row_index) as usize;
            records[index] = nth_plain_value(&values, skipped)
                .ok_or_else(|| Error::damaged(&self.path, "a record page ends early"))?;
        }
        Ok(records)
    }

    /// Reads and decompresses one page of the record column.
    fn record_page(&self, group: usize, location: &PageLocation) -> Result<Bytes, Error> {
        let chunk = self.metadata.row_group(group).column(self.record_column);
        // A reader given a first location past the start of the chunk takes what lies before for a dictionary; a
        // location at the start, skipped at once, tells it there is none.
        let start = PageLocation {
            offset: chunk.data_page_offset(),
            compressed_page_size: 0,
            first_row_index: 0,
        };
        let rows = chunk.num_values() as usize;
        let page = || -> ParquetResult<Option<Page>> {
            let file = Arc::new(self.file.clone());
            let mut reader =
                SerializedPageReader::new(file, chunk, rows, Some(vec![start, location.clone()]))?;
            reader.skip_next_page()?;
            reader.get_next_page()
        };
        match page().map_err(|error| Error::damaged(&self.path, error))? {
            Some(Page::DataPage {
                buf,
                encoding: Encoding::PLAIN,
                ..
            }) => Ok(buf),
            _ => Err(Error::damaged(
                &self.path,
                "a record page of another encoding",
            )),
        }
    }

    /// Where the pages of the record column are, by row group.
    fn record_pages(&self) -> Result<&Vec<Vec<PageLocation>>, Error> {
        if let Some(pages) = self.record_pages.get() {
            return Ok(pages);
        }
        let read = || -> ParquetResult<Vec<Vec<PageLocation>>> {
            let mut reader = ParquetMetaDataReader::new_with_metadata((*self.metadata).clone())
                .with_offset_index_policy(PageIndexPolicy::Required);
            reader.read_page_indexes(&self.file)?;
            let metadata = reader.finish()?;
            let index = metadata
                .offset_index()
                .ok_or_else(|| ParquetError::General("no page index".into()))?;
            Ok(index
                .iter()
                .map(|group| group[self.record_column].page_locations().clone())
                .collect())
        };
        let pages = read().map_err(|error| Error::damaged(&self.path, error))?;
        Ok(self.record_pages.get_or_init(|| pages))
    }
}

/// Index of a top-level primitive column among the leaves of the file.
pub fn leaf_of(metadata: &ParquetMetaData, name: &str) -> Option<usize> {
    metadata
        .file_metadata()
        .schema_descr()
        .columns()
        .iter()
        .position(|leaf| {
            leaf.path()
                .parts()
                .first()
                .is_some_and(|first| first == name)
        })
}

/// The n-th value of a page of plainly encoded byte arrays: four bytes of length, then the bytes.
fn nth_plain_value(page: &Bytes, n: usize) -> Option<Bytes> {
    let mut offset = 0usize;
    for skipped in 0..=n {
        let length = page.get(offset..offset + 4)?;
        let length = u32::from_le_bytes(length.try_into().ok()?) as usize;
        offset += 4;
        if skipped == n {
            return (offset + length <= page.len()).then(|| page.slice(offset..offset + length));
        }
        offset += length;
    }
    None
}

/// The schema columns are decoded with: categories as dictionaries, all else as in the file.
fn encoded_schema(schema: &TableSchema) -> SchemaRef {
    let fields: Vec<Field> = schema
        .columns
        .iter()
        .zip(schema.arrow().fields())
        .map(|(column, field)| {
            let field = field.as_ref().clone();
            match column.kind {
                Kind::Category => field.with_data_type(category_type()),
                _ => field,
            }
        })
        .collect();
    Arc::new(Schema::new(fields))
}

/// The Arrow type categories are decoded to.
pub fn category_type() -> DataType {
    DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
}
