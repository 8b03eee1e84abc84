//! One immutable Parquet file of a table, open for reading.
//!
//! It can be read in three ways: one column of one row group (queries cache the decoded column), whole records by row
//! number (one small page of the record column each, 20–40 µs), and all rows in order (for merging). The footer is read
//! once on opening, the positions of record pages on first use. A column that the table got after the file was written
//! is null in every row, for every reader. All readers, including SQL, go through [`super::checked`]: bytes that do not
//! match their checksums are an error that names file, column and row group.

use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use arrow::array::{ArrayRef, AsArray, ListArray, RecordBatch, new_null_array};
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
use parquet::file::serialized_reader::SerializedPageReader;

use super::checked::{CheckedFile, CheckedReader};
use super::checksums::DataFileChecksums;
use super::id_index::IdIndex;
use super::schema::{ITEM, ItemColumn, RECORD, TableSchema};
use super::snapshot::DataFileEntry;
use super::{Error, id_index};

/// An open data file of a table.
#[derive(Debug)]
pub struct DataFile {
    entry: DataFileEntry,
    file: Arc<CheckedFile>,
    metadata: Arc<ParquetMetaData>,
    /// Reader metadata that decodes categories as dictionaries.
    encoded: ArrowReaderMetadata,
    /// First row of each row group, and the row count at the end.
    group_starts: Vec<u32>,
    id_index: IdIndex,
    /// Arrow schema of the table.
    table_schema: SchemaRef,
    /// For each column of the table, its index in the file and the type it is decoded to. The index is `None` for a
    /// column that the table got after the file was written.
    columns: Vec<(Option<usize>, DataType)>,
    /// Parquet leaves of the fields of lists of structs, which are numbered after the columns.
    item_leaves: Vec<usize>,
    /// Parquet leaf of the record column; `None` if the table has none.
    record_column: Option<usize>,
    record_pages: OnceLock<Vec<Vec<PageLocation>>>,
}

impl DataFile {
    /// Opens a data file of a snapshot and checks that it matches the snapshot.
    pub fn open(folder: &Path, entry: &DataFileEntry, schema: &TableSchema) -> Result<Self, Error> {
        let path = folder.join(&entry.file);
        let sums = DataFileChecksums::load(folder, &entry.file, &entry.sums)?;
        let file = Arc::new(CheckedFile::open(&path, sums.parquet)?);
        if file.length() != entry.bytes {
            let reason = format!(
                "{} bytes, expected {} as in the snapshot",
                file.length(),
                entry.bytes
            );
            return Err(Error::damaged(&path, reason));
        }
        let metadata = footer(&file)?;
        let rows = metadata.file_metadata().num_rows();
        if u64::try_from(rows) != Ok(entry.rows) {
            let reason = format!("{rows} rows, expected {} as in the snapshot", entry.rows);
            return Err(Error::damaged(&path, reason));
        }
        let damaged = |error| Error::damaged(&path, error);
        let plain = ArrowReaderMetadata::try_new(Arc::clone(&metadata), ArrowReaderOptions::new())
            .map_err(damaged)?;
        let columns = columns_in(plain.schema(), schema);
        let options = ArrowReaderOptions::new().with_schema(encoded_schema(plain.schema(), schema));
        let encoded =
            ArrowReaderMetadata::try_new(Arc::clone(&metadata), options).map_err(damaged)?;
        let mut group_starts = vec![0u32];
        for group in metadata.row_groups() {
            let last = group_starts.last().copied().unwrap_or(0);
            group_starts.push(last + group.num_rows() as u32);
        }
        let id_index = folder.join(id_index::file_name(&entry.file));
        let id_index = IdIndex::open(&id_index, entry.rows, sums.ids)?;
        let record_column = leaf_of(&metadata, RECORD);
        for needed in [RECORD, schema.id] {
            let index = schema.column(needed).map(|(index, _)| index);
            if index.is_some_and(|index| columns[index].0.is_none()) {
                return Err(Error::damaged(&path, format!("no {needed} column")));
            }
        }
        let leaf = |item: &ItemColumn| {
            let list = &schema.columns[item.list].name;
            item_leaf_of(&metadata, list, &item.field.name)
                .ok_or_else(|| Error::damaged(&path, format!("no column {}", item.name)))
        };
        let item_leaves = schema.items.iter().map(leaf).collect::<Result<_, _>>()?;
        Ok(Self {
            entry: entry.clone(),
            file,
            metadata,
            encoded,
            group_starts,
            id_index,
            table_schema: Arc::clone(schema.arrow()),
            columns,
            item_leaves,
            record_column,
            record_pages: OnceLock::new(),
        })
    }

    /// Returns the entry of the file in the snapshot.
    pub fn entry(&self) -> &DataFileEntry {
        &self.entry
    }

    /// Returns the path of the Parquet file.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// Returns the Parquet file and its id index.
    pub fn files(&self) -> [Arc<CheckedFile>; 2] {
        [Arc::clone(&self.file), Arc::clone(self.id_index.file())]
    }

    /// Reads verified bytes of the file, for other decoders (SQL).
    pub fn read(&self, bytes: Range<u64>) -> Result<Bytes, Error> {
        self.file.read(bytes)
    }

    /// Returns the footer.
    pub fn metadata(&self) -> &Arc<ParquetMetaData> {
        &self.metadata
    }

    /// Returns the id index.
    pub fn id_index(&self) -> &IdIndex {
        &self.id_index
    }

    /// Returns the first row of each row group, and the row count at the end.
    pub fn group_starts(&self) -> &[u32] {
        &self.group_starts
    }

    /// Decodes one column of one row group; categories as `Dictionary(Int32, Utf8)`. Takes about 0.3–1 ms. If `column`
    /// is the number of a field of a list of structs, returns the list with this field only.
    pub fn read_column(&self, row_group: usize, column: usize) -> Result<ArrayRef, Error> {
        let rows = self.group_starts[row_group + 1] - self.group_starts[row_group];
        let descriptor = self.metadata.file_metadata().schema_descr();
        let mask = match self.columns.get(column) {
            Some((Some(root), _)) => ProjectionMask::roots(descriptor, [*root]),
            Some((None, kind)) => return Ok(new_null_array(kind, rows as usize)),
            None => {
                let leaf = self.item_leaves.get(column - self.columns.len());
                let missing = || Error::damaged(self.path(), format!("no column number {column}"));
                ProjectionMask::leaves(descriptor, [*leaf.ok_or_else(missing)?])
            }
        };
        let file = CheckedReader::new(&self.file);
        let mut reader =
            ParquetRecordBatchReaderBuilder::new_with_metadata(file.clone(), self.encoded.clone())
                .with_row_groups(vec![row_group])
                .with_projection(mask)
                .with_batch_size(rows as usize)
                .build()
                .map_err(|error| file.error(error))?;
        let batch = match reader.next() {
            Some(batch) => batch.map_err(|error| file.error(error))?,
            None => return Err(Error::damaged(self.path(), "empty row group")),
        };
        if batch.num_rows() != rows as usize {
            return Err(Error::damaged(
                self.path(),
                "row group shorter than in the footer",
            ));
        }
        Ok(with_item_name(batch.column(0)))
    }

    /// Returns whether the file holds values of a column, given by its number; `false` for a column that the table got
    /// later.
    pub fn has_column(&self, column: usize) -> bool {
        let known = self.columns.get(column);
        known.is_none_or(|(place, _)| place.is_some())
    }

    /// Reads all rows in order, `batch_rows` at a time, with all columns of the table in their plain types.
    pub fn batches(&self, batch_rows: usize) -> Result<Batches, Error> {
        let groups = 0..self.metadata.num_row_groups();
        self.batches_of(groups.collect(), batch_rows)
    }

    /// Returns the row groups in which a column of numbers or texts may have rows without a value, by the statistics of
    /// the footer.
    pub fn groups_with_nulls(&self, column: &str) -> Vec<usize> {
        let leaf = leaf_of(&self.metadata, column);
        let groups = 0..self.metadata.num_row_groups();
        let may_have_nulls = |group: &usize| {
            let chunk = leaf.map(|leaf| self.metadata.row_group(*group).column(leaf));
            let statistics = chunk.and_then(|chunk| chunk.statistics());
            statistics.and_then(|statistics| statistics.null_count_opt()) != Some(0)
        };
        groups.filter(may_have_nulls).collect()
    }

    /// Reads the rows of some row groups in order, as [`Self::batches`] does.
    pub fn batches_of(&self, groups: Vec<usize>, batch_rows: usize) -> Result<Batches, Error> {
        let options = ArrowReaderOptions::new();
        let metadata = ArrowReaderMetadata::try_new(Arc::clone(&self.metadata), options)?;
        let file = CheckedReader::new(&self.file);
        let reader = ParquetRecordBatchReaderBuilder::new_with_metadata(file.clone(), metadata)
            .with_row_groups(groups)
            .with_batch_size(batch_rows)
            .build()
            .map_err(|error| file.error(error))?;
        let places = self.columns.iter().map(|(place, _)| *place).collect();
        Ok(Batches {
            file,
            reader,
            table_schema: Arc::clone(&self.table_schema),
            places,
        })
    }

    /// Reads the record texts of rows given by row number in the file, in the order given.
    pub fn records(&self, rows: &[u32]) -> Result<Vec<Bytes>, Error> {
        let pages = self.record_pages()?;
        let mut order: Vec<usize> = (0..rows.len()).collect();
        order.sort_unstable_by_key(|index| rows[*index]);
        let mut records = vec![Bytes::new(); rows.len()];
        let group_of = |row: u32| {
            self.group_starts
                .partition_point(|start| *start <= row)
                .saturating_sub(1)
        };
        for of_group in order.chunk_by(|one, next| group_of(rows[*one]) == group_of(rows[*next])) {
            let first = of_group.first().map_or(0, |index| rows[*index]);
            let group = group_of(first);
            let Some(locations) = pages.get(group) else {
                return Err(Error::damaged(self.path(), format!("no row {first}")));
            };
            // Index in `rows`, row within its group, and page of each record, in ascending order of row and page.
            let places: Vec<(usize, i64, usize)> = of_group
                .iter()
                .map(|index| {
                    let in_group = i64::from(rows[*index] - self.group_starts[group]);
                    let page = locations
                        .partition_point(|location| location.first_row_index <= in_group)
                        .saturating_sub(1);
                    (*index, in_group, page)
                })
                .collect();
            let mut wanted: Vec<usize> = places.iter().map(|(_, _, page)| *page).collect();
            wanted.dedup();
            let values = self.read_record_pages(group, locations, &wanted)?;
            for (index, in_group, page) in places {
                let skipped = (in_group - locations[page].first_row_index) as usize;
                records[index] = wanted
                    .binary_search(&page)
                    .ok()
                    .and_then(|nth| nth_plain_value(values.get(nth)?, skipped))
                    .ok_or_else(|| Error::damaged(self.path(), "record page ends early"))?;
            }
        }
        Ok(records)
    }

    /// Reads and decompresses pages of the record column of one row group, in ascending order.
    ///
    /// Uses one reader for all pages: each reader creates a decompressor and a compressor, which costs more than
    /// decompressing a page.
    fn read_record_pages(
        &self,
        group: usize,
        locations: &[PageLocation],
        wanted: &[usize],
    ) -> Result<Vec<Bytes>, Error> {
        let chunk = self.metadata.row_group(group).column(self.record_leaf()?);
        // If the first location is past the start of the chunk, the reader takes the bytes before it for a dictionary.
        // A location at the start, skipped immediately, prevents that.
        let start = PageLocation {
            offset: chunk.data_page_offset(),
            compressed_page_size: 0,
            first_row_index: 0,
        };
        let rows = chunk.num_values() as usize;
        let file = CheckedReader::new(&self.file);
        let pages = || -> ParquetResult<Vec<Option<Page>>> {
            let mut asked = vec![start];
            asked.extend(wanted.iter().map(|page| locations[*page].clone()));
            let reader = Arc::new(file.clone());
            let mut reader = SerializedPageReader::new(reader, chunk, rows, Some(asked))?;
            reader.skip_next_page()?;
            wanted.iter().map(|_| reader.get_next_page()).collect()
        };
        let pages = pages().map_err(|error| file.error(error))?;
        pages
            .into_iter()
            .map(|page| match page {
                Some(Page::DataPage {
                    buf,
                    encoding: Encoding::PLAIN,
                    ..
                }) => Ok(buf),
                _ => Err(Error::damaged(
                    self.path(),
                    "record page with an unexpected encoding",
                )),
            })
            .collect()
    }

    fn record_leaf(&self) -> Result<usize, Error> {
        self.record_column
            .ok_or_else(|| Error::damaged(self.path(), "no record column"))
    }

    /// Returns the positions of the pages of the record column, by row group. Reads them on first use.
    fn record_pages(&self) -> Result<&Vec<Vec<PageLocation>>, Error> {
        if let Some(pages) = self.record_pages.get() {
            return Ok(pages);
        }
        let leaf = self.record_leaf()?;
        let file = CheckedReader::new(&self.file);
        let read = || -> ParquetResult<Vec<Vec<PageLocation>>> {
            let mut reader = ParquetMetaDataReader::new_with_metadata((*self.metadata).clone())
                .with_offset_index_policy(PageIndexPolicy::Required);
            reader.read_page_indexes(&file)?;
            let metadata = reader.finish()?;
            let index = metadata
                .offset_index()
                .ok_or_else(|| ParquetError::General("no page index".into()))?;
            Ok(index
                .iter()
                .map(|group| group[leaf].page_locations().clone())
                .collect())
        };
        let pages = read().map_err(|error| file.error(error))?;
        Ok(self.record_pages.get_or_init(|| pages))
    }
}

/// Reads the footer of a Parquet file; later messages about the file name columns.
pub fn footer(file: &Arc<CheckedFile>) -> Result<Arc<ParquetMetaData>, Error> {
    let reader = CheckedReader::new(file);
    let metadata = ParquetMetaDataReader::new()
        .parse_and_finish(&reader)
        .map_err(|error| reader.error(error))?;
    let metadata = Arc::new(metadata);
    file.set_footer(&metadata);
    Ok(metadata)
}

/// The rows of a data file in order.
pub struct Batches {
    file: CheckedReader,
    reader: ParquetRecordBatchReader,
    table_schema: SchemaRef,
    /// Index in the file of each column of the table.
    places: Vec<Option<usize>>,
}

impl Batches {
    /// Returns the columns of the table, built from the columns of the file.
    fn complete(&self, batch: &RecordBatch) -> Result<RecordBatch, Error> {
        let fields = self.table_schema.fields().iter();
        let columns = fields.zip(&self.places).map(|(field, place)| match place {
            Some(place) => with_item_name(batch.column(*place)),
            None => new_null_array(field.data_type(), batch.num_rows()),
        });
        let columns = columns.collect();
        Ok(RecordBatch::try_new(
            Arc::clone(&self.table_schema),
            columns,
        )?)
    }
}

impl Iterator for Batches {
    type Item = Result<RecordBatch, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = self.reader.next()?;
        let batch = batch.map_err(|error| self.file.error(error));
        Some(batch.and_then(|batch| self.complete(&batch)))
    }
}

/// Returns the index of a top-level primitive column among the Parquet leaves of the file.
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

/// Returns the n-th value of a page of plainly encoded byte arrays: four bytes of length, then the bytes.
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

/// Returns the index of a field of a list of structs among the Parquet leaves of the file.
pub fn item_leaf_of(metadata: &ParquetMetaData, list: &str, field: &str) -> Option<usize> {
    let descriptor = metadata.file_metadata().schema_descr();
    descriptor.columns().iter().position(|leaf| {
        let parts = leaf.path().parts();
        parts.first().is_some_and(|first| first == list)
            && parts.last().is_some_and(|last| last == field)
    })
}

/// Returns, for each column of the table, its index in the file and the type it is decoded to.
fn columns_in(file: &Schema, table: &TableSchema) -> Vec<(Option<usize>, DataType)> {
    let columns = table.columns.iter();
    let columns = columns.map(|column| {
        let place = file.index_of(&column.name).ok();
        (place, column.kind.decoded_type())
    });
    columns.collect()
}

/// Renames the elements of lists, which Parquet calls `element`, to [`ITEM`], as in the table.
fn with_item_name(array: &ArrayRef) -> ArrayRef {
    let Some(lists) = array.as_list_opt::<i32>() else {
        return Arc::clone(array);
    };
    let item = Field::new(ITEM, lists.value_type(), true);
    let (_, offsets, values, nulls) = lists.clone().into_parts();
    Arc::new(ListArray::new(Arc::new(item), offsets, values, nulls))
}

/// Renames the list elements of a decoded type as they are named in a file.
fn with_name_of_file(decoded: DataType, file: &DataType) -> DataType {
    match (decoded, file) {
        (DataType::List(item), DataType::List(in_file)) => {
            let item = item.as_ref().clone().with_name(in_file.name());
            DataType::List(Arc::new(item))
        }
        (decoded, _) => decoded,
    }
}

/// Returns the Arrow schema for decoding the columns of a file: categories as dictionaries, all other types as in the
/// file.
fn encoded_schema(file: &Schema, table: &TableSchema) -> SchemaRef {
    let known = |name: &str| {
        let mut columns = table.columns.iter().zip(table.arrow().fields());
        columns.find(|(column, _)| column.name == name)
    };
    let fields = file.fields().iter().map(|field| match known(field.name()) {
        Some((column, known)) => {
            let decoded = with_name_of_file(column.kind.decoded_type(), field.data_type());
            known.as_ref().clone().with_data_type(decoded)
        }
        None => field.as_ref().clone(),
    });
    Arc::new(Schema::new(fields.collect::<Vec<Field>>()))
}
