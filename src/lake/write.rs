//! Writes sorted rows into the data files of one run.
//!
//! A file holds at most eight row groups of 65,536 rows. Columns that queries filter on have page statistics, and
//! identifiers also have bloom filters. The record column has pages of about 16 KiB, so that fetching one row
//! decompresses only a few neighbours. A separate thread, one batch behind the merge, encodes the columns of a batch in
//! parallel on rayon.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use arrow::array::{Array, AsArray, RecordBatch, StringArray};
use arrow::datatypes::{Date32Type, Int64Type};
use arrow::row::{RowConverter, SortField};
use memchr::memmem::Finder;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::{
    ArrowColumnChunk, ArrowColumnWriter, ArrowLeafColumn, ArrowRowGroupWriterFactory,
    compute_leaves,
};
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::ColumnPath;
use rayon::iter::{
    IndexedParallelIterator, IntoParallelIterator, IntoParallelRefIterator,
    IntoParallelRefMutIterator, ParallelIterator,
};

use super::Error;
use super::checksums::{self, DataFileChecksums, SpanChecksums};
use super::id_index::{self, IdEntry, RowVersions};
use super::schema::{ColumnKind, ContentRule, RECORD, TableSchema};
use super::snapshot::DataFileEntry;

/// Rows per row group.
pub const GROUP_ROWS: usize = 65_536;
/// Maximum rows per file.
const FILE_ROWS_MAX: u64 = 8 * GROUP_ROWS as u64;
/// Uncompressed size of a page of the record column, in bytes.
const RECORD_PAGE_BYTES: usize = 16 * 1024;
/// Maximum rows per page of every other column.
const PAGE_ROWS_MAX: usize = 8_192;
/// Minimum records hashed by one thread at a time.
const DIGESTS_MIN: usize = 128;
/// Maximum batches queued for the encoder.
const QUEUE_BATCHES: usize = 2;

/// A batch sorted by clustering key, with the keys of its rows.
pub struct SortedBatch {
    /// Rows in the table's schema.
    pub rows: RecordBatch,
    /// Clustering key of each row.
    pub keys: Vec<u128>,
    /// Content digest of each row.
    pub contents: Vec<u64>,
    /// Versions of each row.
    pub versions: Vec<RowVersions>,
}

/// Writes one run, file by file, on a separate thread.
pub struct RunWriter {
    queue: Option<SyncSender<SortedBatch>>,
    worker: Option<JoinHandle<Result<Vec<DataFileEntry>, Error>>>,
}

impl RunWriter {
    /// Starts a run; its files are named `<stem>-<n>.parquet`.
    pub fn start(folder: &Path, schema: &'static TableSchema, run: u64, stem: &str) -> Self {
        let (queue, batches) = sync_channel(QUEUE_BATCHES);
        let (folder, stem) = (folder.to_owned(), stem.to_owned());
        let worker = std::thread::spawn(move || write_run(&folder, schema, run, &stem, &batches));
        Self {
            queue: Some(queue),
            worker: Some(worker),
        }
    }

    /// Queues the next rows in clustering order; blocks while the encoder is behind.
    pub fn push(&mut self, batch: SortedBatch) -> Result<(), Error> {
        let sent = self
            .queue
            .as_ref()
            .is_some_and(|queue| queue.send(batch).is_ok());
        if sent {
            return Ok(());
        }
        // The worker ends early only when it fails; return its own error.
        Err(self
            .join()
            .err()
            .unwrap_or(Error::Worker("the file writer stopped")))
    }

    /// Ends the run; returns once all its files are on disk.
    pub fn finish(mut self) -> Result<Vec<DataFileEntry>, Error> {
        self.join()
    }

    fn join(&mut self) -> Result<Vec<DataFileEntry>, Error> {
        self.queue = None;
        match self.worker.take().map(JoinHandle::join) {
            Some(Ok(result)) => result,
            _ => Err(Error::Worker("the file writer panicked")),
        }
    }
}

fn write_run(
    folder: &Path,
    schema: &'static TableSchema,
    run: u64,
    stem: &str,
    batches: &Receiver<SortedBatch>,
) -> Result<Vec<DataFileEntry>, Error> {
    let mut parts = Vec::new();
    let mut open: Option<DataFileWriter> = None;
    for mut batch in batches {
        while batch.rows.num_rows() > 0 {
            let mut data_file = match open.take() {
                Some(data_file) => data_file,
                None => DataFileWriter::create(
                    folder,
                    schema,
                    run,
                    format!("{stem}-{:04}.parquet", parts.len()),
                )?,
            };
            let room = GROUP_ROWS - data_file.rows() as usize % GROUP_ROWS;
            let taken = room.min(batch.rows.num_rows());
            data_file.write(
                &batch.rows.slice(0, taken),
                &batch.keys[..taken],
                &batch.contents[..taken],
                &batch.versions[..taken],
            )?;
            batch.rows = batch.rows.slice(taken, batch.rows.num_rows() - taken);
            batch.keys.drain(..taken);
            batch.contents.drain(..taken);
            batch.versions.drain(..taken);
            if data_file.rows() == FILE_ROWS_MAX {
                parts.push(data_file.finish()?);
            } else {
                open = Some(data_file);
            }
        }
    }
    if let Some(data_file) = open {
        parts.push(data_file.finish()?);
    }
    super::snapshot::sync_folder(folder)?;
    Ok(parts)
}

struct DataFileWriter {
    schema: &'static TableSchema,
    name: String,
    path: PathBuf,
    run: u64,
    writer: SerializedFileWriter<File>,
    columns: ArrowRowGroupWriterFactory,
    /// The row group being encoded, column by column; empty between two row groups.
    group: Vec<ArrowColumnWriter>,
    entries: Vec<IdEntry>,
    first_key: u128,
    last_key: u128,
}

impl DataFileWriter {
    fn create(
        folder: &Path,
        schema: &'static TableSchema,
        run: u64,
        name: String,
    ) -> Result<Self, Error> {
        let path = folder.join(&name);
        // Opened for reading too, to compute the checksums when it is finished.
        let file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .open(&path)
            .map_err(|error| Error::io(&path, error))?;
        let properties = Some(properties(schema)?);
        let (writer, columns) = ArrowWriter::try_new(file, schema.arrow().clone(), properties)?
            .into_serialized_writer()?;
        Ok(Self {
            schema,
            name,
            path,
            run,
            writer,
            columns,
            group: Vec::new(),
            entries: Vec::new(),
            first_key: 0,
            last_key: 0,
        })
    }

    fn rows(&self) -> u64 {
        self.entries.len() as u64
    }

    /// Encodes rows, which must fit into the current row group.
    fn write(
        &mut self,
        rows: &RecordBatch,
        keys: &[u128],
        contents: &[u64],
        versions: &[RowVersions],
    ) -> Result<(), Error> {
        if self.entries.is_empty() {
            self.first_key = keys.first().copied().unwrap_or(0);
        }
        self.last_key = keys.last().copied().unwrap_or(self.last_key);
        let first_row = self.entries.len() as u32;
        let entries = index_entries(self.schema, rows, contents, first_row).into_iter();
        let entries = entries.zip(versions);
        self.entries
            .extend(entries.map(|(entry, versions)| IdEntry {
                versions: *versions,
                ..entry
            }));
        if self.group.is_empty() {
            let number = self.writer.flushed_row_groups().len();
            self.group = self.columns.create_column_writers(number)?;
        }
        // A column has one leaf; a list of structs has one per field. Writers are in the order of the leaves.
        let leaves: Vec<Vec<ArrowLeafColumn>> = rows
            .columns()
            .par_iter()
            .zip(&self.schema.arrow().fields()[..])
            .map(|(column, field)| compute_leaves(field, column))
            .collect::<Result<_, _>>()?;
        let leaves: Vec<&ArrowLeafColumn> = leaves.iter().flatten().collect();
        self.group
            .par_iter_mut()
            .zip(leaves)
            .try_for_each(|(writer, leaf)| writer.write(leaf))?;
        if self.entries.len().is_multiple_of(GROUP_ROWS) {
            self.end_group()?;
        }
        Ok(())
    }

    fn end_group(&mut self) -> Result<(), Error> {
        if self.group.is_empty() {
            return Ok(());
        }
        let chunks: Vec<ArrowColumnChunk> = std::mem::take(&mut self.group)
            .into_par_iter()
            .map(ArrowColumnWriter::close)
            .collect::<Result<_, _>>()?;
        let mut group = self.writer.next_row_group()?;
        for chunk in chunks {
            chunk.append_to_row_group(&mut group)?;
        }
        group.close()?;
        Ok(())
    }

    fn finish(mut self) -> Result<DataFileEntry, Error> {
        self.end_group()?;
        self.writer.finish()?;
        let file = self.writer.inner();
        let wrap = |error| Error::io(&self.path, error);
        file.sync_all().map_err(wrap)?;
        let bytes = file.metadata().map_err(wrap)?.len();
        let rows = self.entries.len() as u64;
        let sibling = |name: String| self.path.with_file_name(name);
        let sums = DataFileChecksums {
            parquet: SpanChecksums::for_parquet(file)?,
            ids: id_index::write(&sibling(id_index::file_name(&self.name)), &mut self.entries)?,
        };
        let sums = sums.write(&sibling(checksums::file_name(&self.name)))?;
        Ok(DataFileEntry {
            file: self.name,
            run: self.run,
            rows,
            bytes,
            sums,
            key_range: (
                format!("{:032x}", self.first_key),
                format!("{:032x}", self.last_key),
            ),
        })
    }
}

fn text_column<'r>(rows: &'r RecordBatch, name: &str) -> Option<&'r StringArray> {
    rows.column_by_name(name)
        .and_then(|column| column.as_string_opt::<i32>())
}

/// Returns the content digests of the rows of a batch: of their records, or of all columns if the table has no records.
/// Each row is hashed once and the digests travel with the rows, since hashing takes 3 µs per row at full width.
pub fn content_digests(schema: &TableSchema, rows: &RecordBatch) -> Result<Vec<u64>, Error> {
    let digests = |digest: &(dyn Fn(usize) -> u64 + Sync)| {
        (0..rows.num_rows())
            .into_par_iter()
            .with_min_len(DIGESTS_MIN)
            .map(digest)
            .collect()
    };
    if let Some(records) = text_column(rows, RECORD) {
        let digest = RecordDigest::new(schema.content_rules);
        return Ok(digests(&|row| digest.of(records.value(row))));
    }
    let fields = rows.schema_ref().fields().iter();
    let fields = fields.map(|field| SortField::new(field.data_type().clone()));
    let converted = RowConverter::new(fields.collect())?.convert_columns(rows.columns())?;
    Ok(digests(&|row| {
        id_index::content_digest(blake3::Hasher::new().update(converted.row(row).as_ref()))
    }))
}

/// Digests the content of records: their text, with some fields omitted or rounded.
struct RecordDigest(Vec<(Finder<'static>, ContentRule)>);

impl RecordDigest {
    fn new(rules: &[(&str, ContentRule)]) -> Self {
        let key = |name| Finder::new(&format!("\"{name}\":")).into_owned();
        let rules = rules.iter().map(|(name, rule)| (key(name), *rule));
        Self(rules.collect())
    }

    /// Calls `take` with the parts of a record that count as content. A key is found by its quoted text, which cannot
    /// occur in a value because quotation marks in values are escaped.
    fn parts(&self, record: &str, mut take: impl FnMut(&[u8])) {
        let mut rest = record.as_bytes();
        for (key, rule) in &self.0 {
            let Some(at) = key.find(rest) else { continue };
            let (before, field) = rest.split_at(at);
            take(before);
            let value = &field[key.needle().len()..];
            let (value, after) = value.split_at(value_bytes(value));
            if *rule == ContentRule::SinglePrecision {
                let number = std::str::from_utf8(value)
                    .unwrap_or_default()
                    .parse::<f64>();
                let number = number.unwrap_or(f64::NAN) as f32;
                take(&number.to_le_bytes());
            }
            rest = after.strip_prefix(b",").unwrap_or(after);
        }
        take(rest);
    }

    fn of(&self, record: &str) -> u64 {
        let mut hasher = blake3::Hasher::new();
        self.parts(record, |part| {
            hasher.update(part);
        });
        id_index::content_digest(&hasher)
    }
}

/// Returns the length of the text or number at the start of a JSON text.
fn value_bytes(json: &[u8]) -> usize {
    if json.first() != Some(&b'"') {
        return memchr::memchr2(b',', b'}', json).unwrap_or(json.len());
    }
    let mut at = 1;
    while let Some(found) = memchr::memchr2(b'"', b'\\', &json[at.min(json.len())..]) {
        at += found + 1;
        if json[at - 1] == b'"' {
            return at;
        }
        at += 1;
    }
    json.len()
}

/// Returns the index entries of the rows of a batch, numbered from `first_row`, without their versions.
pub fn index_entries(
    schema: &TableSchema,
    rows: &RecordBatch,
    contents: &[u64],
    first_row: u32,
) -> Vec<IdEntry> {
    let Some(ids) = text_column(rows, schema.id) else {
        return Vec::new();
    };
    let versions = schema
        .version
        .and_then(|name| rows.column_by_name(name))
        .and_then(|column| column.as_primitive_opt::<Date32Type>());
    let source_rows = schema
        .source_rows
        .and_then(|name| rows.column_by_name(name))
        .and_then(|column| column.as_primitive_opt::<Int64Type>());
    // In a projection the newer row wins, however many columns are filled, so filled columns are not counted.
    let counted = match schema.column(RECORD) {
        Some(_) => rows.columns(),
        None => &[],
    };
    let mut filled = vec![0u16; rows.num_rows()];
    for column in counted {
        match column.nulls() {
            None => filled.iter_mut().for_each(|count| *count += 1),
            Some(nulls) => {
                for row in nulls.valid_indices() {
                    filled[row] += 1;
                }
            }
        }
    }
    (0..rows.num_rows())
        .map(|row| IdEntry {
            id: id_index::digest(ids.value(row)),
            content: contents[row],
            version: versions
                .filter(|column| column.is_valid(row))
                .map_or(i32::MIN, |column| column.value(row)),
            row: first_row + row as u32,
            versions: RowVersions::default(),
            filled: filled[row],
            source_rows: id_index::source_rows(
                source_rows
                    .filter(|column| column.is_valid(row))
                    .map(|column| column.value(row)),
            ),
        })
        .collect()
}

fn properties(schema: &TableSchema) -> Result<WriterProperties, Error> {
    let mut builder = WriterProperties::builder()
        .set_created_by(format!("toise {}", env!("CARGO_PKG_VERSION")))
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(1)?))
        // Names the elements of lists as the format prescribes, which some readers insist on.
        .set_coerce_types(true)
        .set_max_row_group_row_count(Some(GROUP_ROWS))
        .set_data_page_row_count_limit(PAGE_ROWS_MAX)
        .set_statistics_enabled(EnabledStatistics::Chunk);
    for column in &schema.columns {
        let path = ColumnPath::from(column.name.clone());
        if column.filterable {
            builder = builder.set_column_statistics_enabled(path.clone(), EnabledStatistics::Page);
        }
        // Identifiers: nearly every value is distinct, so a dictionary would only add cost.
        if column.filterable && column.kind == ColumnKind::Text {
            builder = builder
                .set_column_dictionary_enabled(path.clone(), false)
                .set_column_bloom_filter_enabled(path.clone(), true)
                .set_column_bloom_filter_max_ndv(path, GROUP_ROWS as u64);
        }
    }
    let record = ColumnPath::from(RECORD);
    Ok(builder
        .set_column_dictionary_enabled(record.clone(), false)
        .set_column_statistics_enabled(record.clone(), EnabledStatistics::None)
        .set_column_data_page_size_limit(record, RECORD_PAGE_BYTES)
        .build())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_that_differ_in_fields_without_content_have_one_digest() {
        use ContentRule::{LeftOut, SinglePrecision};
        let digest = RecordDigest::new(&[
            ("price", SinglePrecision),
            ("rows", LeftOut),
            ("number", LeftOut),
        ]);
        let text = |record: &str| {
            let mut text = String::new();
            digest.parts(record, |part| text.push_str(&String::from_utf8_lossy(part)));
            text
        };
        let full = r#"{"id":"a","city":"\"rows\":1","rows":2,"number":"m\\\",1","flag":true}"#;
        assert_eq!(text(full), r#"{"id":"a","city":"\"rows\":1","flag":true}"#);
        assert_eq!(
            text(r#"{"id":"a","flag":true}"#),
            r#"{"id":"a","flag":true}"#
        );
        let priced = |price: &str| digest.of(&format!(r#"{{"id":"a","price":{price},"rows":1}}"#));
        assert_eq!(priced("1234567.89"), priced("1234567.88"));
        assert_ne!(priced("1234567.89"), priced("1234568"));
        let digest = RecordDigest::new(&[("lat", SinglePrecision), ("lon", SinglePrecision)]);
        let at = |lat: &str, lon: &str| {
            digest.of(&format!(
                r#"{{"id":"a","location":{{"lat":{lat},"lon":{lon}}},"rows":1}}"#
            ))
        };
        assert_eq!(
            at("43.1", "5.9"),
            at("43.099998474121094", "5.900000095367432")
        );
        assert_ne!(at("43.1", "5.9"), at("43.1", "5.9001"));
    }
}
