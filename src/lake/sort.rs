//! Sorts rows by clustering key in bounded memory: full buffers are sorted and spilled, then read back as streams.
//!
//! A spill is an Arrow IPC file compressed with LZ4. The more spills there are, the smaller their batches, so that
//! merging them needs little memory. Each row carries its sequence number (its position in the import). Which rows are
//! replaced by another row with the same id is known only after all rows were pushed; replaced rows are dropped while
//! the streams are read.

use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;

use arrow::array::{ArrayRef, AsArray, BooleanArray, RecordBatch, UInt32Array};
use arrow::compute::{filter_record_batch, interleave_record_batch};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, UInt32Type};
use arrow::ipc::CompressionType;
use arrow::ipc::reader::FileReader;
use arrow::ipc::writer::{FileWriter, IpcWriteOptions};
use rayon::slice::ParallelSliceMut;

use super::id_index::RowVersions;
use super::merge::SortedStream;
use super::schema::TableSchema;
use super::write::SortedBatch;
use super::{Error, cluster};

/// Maximum bytes of rows buffered before they are sorted and spilled; twice this while a spill is being written.
pub const BUFFER_BYTES_MAX: usize = 256 << 20;
/// Minimum size of a batch in a spill, in bytes.
const SPILL_BATCH_BYTES_MIN: usize = 1 << 20;
/// Maximum size of a batch in a spill, in bytes.
const SPILL_BATCH_BYTES_MAX: usize = 16 << 20;
/// The batches of the n-th spill have this size divided by n, in bytes.
const SPILL_BATCHES_BYTES: usize = 64 << 20;
/// Maximum rows in a batch of a spill.
const SPILL_BATCH_ROWS_MAX: usize = 8_192;
const SEQUENCE: &str = "__sequence";

/// Data of the rows of an import other than their columns, by sequence number.
#[derive(Debug, Default)]
pub struct RowMarks {
    /// Content digests.
    pub contents: Vec<u64>,
    /// Versions of the table in which they were added and changed.
    pub versions: Vec<RowVersions>,
}

impl RowMarks {
    /// Returns the rows with their marks as a sorted batch; `sequence` has the sequence number of each.
    fn sorted(
        &self,
        rows: RecordBatch,
        keys: Vec<u128>,
        sequence: impl Iterator<Item = u32> + Clone,
    ) -> SortedBatch {
        let places = sequence.map(|sequence| sequence as usize);
        SortedBatch {
            rows,
            keys,
            contents: places.clone().map(|place| self.contents[place]).collect(),
            versions: places.map(|place| self.versions[place]).collect(),
        }
    }
}

/// Rows waiting to be sorted.
#[derive(Default)]
struct SortBuffer {
    batches: Vec<RecordBatch>,
    /// Clustering key, sequence number, batch, row.
    order: Vec<(u128, u32, u32, u32)>,
    bytes: usize,
}

/// Collects rows and returns them sorted.
pub struct Sorter {
    schema: &'static TableSchema,
    spilled_schema: SchemaRef,
    folder: PathBuf,
    buffer: SortBuffer,
    next_sequence: u32,
    spills: Vec<PathBuf>,
    spilling: Option<JoinHandle<Result<(), Error>>>,
}

impl Sorter {
    /// Creates an empty sorter; spills go to `folder`.
    pub fn new(folder: &Path, schema: &'static TableSchema) -> Self {
        let mut fields: Vec<Arc<Field>> = schema.arrow().fields().iter().cloned().collect();
        fields.push(Arc::new(Field::new(SEQUENCE, DataType::UInt32, false)));
        Self {
            schema,
            spilled_schema: Arc::new(Schema::new(fields)),
            folder: folder.to_owned(),
            buffer: SortBuffer::default(),
            next_sequence: 0,
            spills: Vec::new(),
            spilling: None,
        }
    }

    /// Adds rows and returns the sequence number of the first. Spills when the buffer is full.
    pub fn push(&mut self, rows: RecordBatch) -> Result<u32, Error> {
        let first = self.next_sequence;
        let batch = self.buffer.batches.len() as u32;
        for (row, key) in cluster::keys(self.schema, &rows).into_iter().enumerate() {
            self.buffer
                .order
                .push((key, first + row as u32, batch, row as u32));
        }
        self.next_sequence += rows.num_rows() as u32;
        self.buffer.bytes += rows.get_array_memory_size();
        self.buffer.batches.push(rows);
        if self.buffer.bytes >= BUFFER_BYTES_MAX {
            self.spill()?;
        }
        Ok(first)
    }

    fn spill(&mut self) -> Result<(), Error> {
        self.wait_for_spill()?;
        let path = self
            .folder
            .join(format!("spill-{:05}.arrow", self.spills.len()));
        let batch_bytes = spill_batch_bytes(self.spills.len());
        self.spills.push(path.clone());
        let buffer = std::mem::take(&mut self.buffer);
        let schema = Arc::clone(&self.spilled_schema);
        self.spilling = Some(std::thread::spawn(move || {
            write_spill(&path, &schema, buffer, batch_bytes)
        }));
        Ok(())
    }

    fn wait_for_spill(&mut self) -> Result<(), Error> {
        match self.spilling.take().map(JoinHandle::join) {
            None => Ok(()),
            Some(Ok(result)) => result,
            Some(Err(_)) => Err(Error::Worker("spilling panicked")),
        }
    }

    /// Returns all surviving rows as sorted streams for merging. `alive` says by sequence number which rows survive;
    /// `marks` are the marks of all rows pushed.
    pub fn streams(
        mut self,
        alive: &Arc<Vec<bool>>,
        marks: &Arc<RowMarks>,
    ) -> Result<Vec<SortedStream>, Error> {
        self.wait_for_spill()?;
        let mut streams: Vec<SortedStream> = Vec::new();
        for path in &self.spills {
            let file = File::open(path).map_err(|error| Error::io(path, error))?;
            let reader = FileReader::try_new(BufReader::new(file), None)?;
            let (schema, alive, marks) = (self.schema, Arc::clone(alive), Arc::clone(marks));
            streams.push(Box::new(reader.map(move |batch| {
                let batch = batch?;
                let sequence = batch
                    .column(batch.num_columns() - 1)
                    .as_primitive::<UInt32Type>()
                    .clone();
                let columns = batch.columns()[..batch.num_columns() - 1].to_vec();
                let rows = RecordBatch::try_new(Arc::clone(schema.arrow()), columns)?;
                let rows = keep_alive(rows, &sequence, &alive)?;
                let keys = cluster::keys(schema, &rows);
                let sequence = sequence.values().iter().copied();
                let kept = sequence.filter(|row| alive[*row as usize]);
                Ok(marks.sorted(rows, keys, kept))
            })));
        }
        let mut buffer = self.buffer;
        buffer
            .order
            .retain(|(_, sequence, _, _)| alive[*sequence as usize]);
        buffer.order.par_sort_unstable();
        let mut next = 0;
        let marks = Arc::clone(marks);
        streams.push(Box::new(std::iter::from_fn(move || {
            let chunk = buffer
                .order
                .get(next..(next + SPILL_BATCH_ROWS_MAX).min(buffer.order.len()))?;
            if chunk.is_empty() {
                return None;
            }
            next += chunk.len();
            Some(gather(&buffer.batches, chunk).map(|(rows, _)| {
                let keys = chunk.iter().map(|(key, ..)| *key).collect();
                marks.sorted(rows, keys, chunk.iter().map(|(_, sequence, ..)| *sequence))
            }))
        })));
        Ok(streams)
    }
}

fn keep_alive(
    rows: RecordBatch,
    sequence: &UInt32Array,
    alive: &[bool],
) -> Result<RecordBatch, Error> {
    let kept: BooleanArray = sequence
        .values()
        .iter()
        .map(|row| Some(alive[*row as usize]))
        .collect();
    if kept.true_count() == rows.num_rows() {
        return Ok(rows);
    }
    Ok(filter_record_batch(&rows, &kept)?)
}

fn gather(
    batches: &[RecordBatch],
    order: &[(u128, u32, u32, u32)],
) -> Result<(RecordBatch, UInt32Array), Error> {
    let indices: Vec<(usize, usize)> = order
        .iter()
        .map(|(_, _, batch, row)| (*batch as usize, *row as usize))
        .collect();
    let batches: Vec<&RecordBatch> = batches.iter().collect();
    let rows = interleave_record_batch(&batches, &indices)?;
    let sequence = order
        .iter()
        .map(|(_, sequence, ..)| *sequence)
        .collect::<Vec<u32>>();
    Ok((rows, UInt32Array::from(sequence)))
}

/// Returns the size of the batches of the n-th spill, counted from 0, in bytes. Large batches cost less per row, since
/// each of some 700 column buffers is compressed separately. But merging holds one batch of every spill, so later
/// spills have smaller batches: 64 MiB in total with four spills, 0.35 GiB with 170, which is five million diagnostics
/// at full width.
fn spill_batch_bytes(nth: usize) -> usize {
    (SPILL_BATCHES_BYTES / (nth + 1)).clamp(SPILL_BATCH_BYTES_MIN, SPILL_BATCH_BYTES_MAX)
}

fn write_spill(
    path: &Path,
    schema: &SchemaRef,
    mut buffer: SortBuffer,
    batch_bytes: usize,
) -> Result<(), Error> {
    buffer.order.sort_unstable();
    let row_bytes = (buffer.bytes / buffer.order.len().max(1)).max(1);
    let batch_rows = (batch_bytes / row_bytes).clamp(64, SPILL_BATCH_ROWS_MAX);
    let file = File::create(path).map_err(|error| Error::io(path, error))?;
    let options =
        IpcWriteOptions::default().try_with_compression(Some(CompressionType::LZ4_FRAME))?;
    let mut writer =
        FileWriter::try_new_with_options(BufWriter::with_capacity(1 << 20, file), schema, options)?;
    for chunk in buffer.order.chunks(batch_rows) {
        let (rows, sequence) = gather(&buffer.batches, chunk)?;
        let mut columns: Vec<ArrayRef> = rows.columns().to_vec();
        columns.push(Arc::new(sequence));
        writer.write(&RecordBatch::try_new(Arc::clone(schema), columns)?)?;
    }
    writer.finish()?;
    Ok(())
}
