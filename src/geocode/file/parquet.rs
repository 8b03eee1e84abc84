//! Geocodes Parquet: copies the columns unchanged and appends the results, numbers as doubles and the rest as text.

use std::borrow::Cow;
use std::fs::File;
use std::sync::Arc;

use ::parquet::arrow::ArrowWriter;
use ::parquet::basic::{Compression, ZstdLevel};
use ::parquet::errors::ParquetError;
use ::parquet::file::properties::WriterProperties;
use arrow::array::{Array, ArrayRef, AsArray, Float64Array, RecordBatch, StringArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Schema};
use arrow::error::ArrowError;

use super::bulk::{Error, FileJob};
use super::columns::ResultColumn;
use super::csv::RowCounts;
use super::findings::RowFindings;
use super::input_columns::InputColumns;
use super::rows::{RowAnswer, RowAnswers, RowCells, RowGeocoder};
use toise_input::ReadFile;
use toise_input::missing::MissingCounts;
use toise_lake::foreign::{ForeignError, ForeignParquet};

/// Rows per block.
const BLOCK_ROWS: usize = 8_192;

/// Geocodes a Parquet file.
pub(super) fn run(
    job: &FileJob<'_>,
    answers: &(impl RowAnswers + ?Sized),
    output: &File,
) -> Result<(RowCounts, ReadFile), Error> {
    let read_failed = |source: ForeignError| Error::Foreign {
        path: job.input.to_owned(),
        source,
    };
    let write_failed = |source: ParquetError| Error::Parquet {
        path: job.output.to_owned(),
        source,
    };
    let cast_failed = |source: ArrowError| Error::Arrow {
        path: job.input.to_owned(),
        source,
    };
    let operation = job.request.operation;
    let request_error = |fault| job.request_error(fault);
    let appended = job.request.appended().map_err(request_error)?;
    let input = job.open()?;
    let form = input.form.found();
    let input = input.into_file().map_err(|error| job.reading(error))?;
    let bytes = input.metadata().map_err(|error| job.reading(error))?.len();
    let batches = ForeignParquet::open(input, BLOCK_ROWS).map_err(read_failed)?;
    let schema = Arc::clone(batches.schema());
    let rows_in_file = batches.rows().max(1);
    let names = batches.names();
    let (columns, reading) =
        InputColumns::understand(job.request, &names).map_err(request_error)?;
    let mut file = ReadFile {
        reading,
        ..ReadFile::default()
    };
    file.reading.form = form;
    let mut fields: Vec<Arc<Field>> = schema.fields().iter().cloned().collect();
    for column in &appended {
        let kind = if column.is_number() {
            DataType::Float64
        } else {
            DataType::Utf8
        };
        let name = column.free_name(operation, &names);
        fields.push(Arc::new(Field::new(name, kind, true)));
    }
    let result = Arc::new(Schema::new(fields));
    let zstd = Compression::ZSTD(ZstdLevel::default());
    let properties = WriterProperties::builder().set_compression(zstd).build();
    let mut writer = ArrowWriter::try_new(output, Arc::clone(&result), Some(properties))
        .map_err(write_failed)?;
    let mut rows = RowGeocoder::new(operation, appended);
    let (mut counts, mut findings) = (RowCounts::default(), RowFindings::default());
    for batch in batches {
        let batch = batch.map_err(read_failed)?;
        let asked = row_cells(&batch, &columns, &mut findings.missing).map_err(cast_failed)?;
        let answered = rows.answer(answers, &asked);
        let answers = answered.map_err(|error| job.reading(error))?;
        for (cells, answer) in asked.iter().zip(&answers) {
            counts.count(answer);
            findings.count(counts.rows(), cells.as_ref(), answer);
        }
        let batch = ForeignParquet::restored(&schema, &batch).map_err(cast_failed)?;
        let mut arrays: Vec<ArrayRef> = batch.columns().to_vec();
        for (at, column) in rows.appended().iter().enumerate() {
            arrays.push(array(*column, at, &answers));
        }
        let written = RecordBatch::try_new(Arc::clone(&result), arrays).map_err(cast_failed)?;
        writer.write(&written).map_err(write_failed)?;
        (job.progress)(bytes * batch.num_rows() as u64 / rows_in_file);
    }
    writer.close().map_err(write_failed)?;
    findings.report(&mut file);
    Ok((counts, file))
}

fn row_cells(
    batch: &RecordBatch,
    columns: &InputColumns,
    met: &mut MissingCounts,
) -> Result<Vec<Option<RowCells>>, ArrowError> {
    let filters = [
        columns.postal_code,
        columns.insee_code,
        columns.kind,
        columns.lat,
        columns.lon,
    ];
    let mut texts: Vec<Option<StringArray>> = vec![None; batch.num_columns()];
    for at in columns
        .text
        .iter()
        .copied()
        .chain(filters.into_iter().flatten())
    {
        if texts[at].is_none() {
            let text = cast(batch.column(at), &DataType::Utf8)?;
            texts[at] = Some(text.as_string::<i32>().clone());
        }
    }
    let mut row = |row: usize| {
        let cell = |at: usize| match texts.get(at).and_then(Option::as_ref) {
            Some(text) if text.is_valid(row) => Cow::Borrowed(text.value(row)),
            _ => Cow::Borrowed(""),
        };
        RowCells::read(columns, met, cell)
    };
    Ok((0..batch.num_rows()).map(&mut row).collect())
}

fn array(column: ResultColumn, at: usize, answers: &[Arc<RowAnswer>]) -> ArrayRef {
    let value = |answer: &Arc<RowAnswer>| {
        let value = answer.values.get(at)?;
        (!value.is_empty()).then(|| value.clone())
    };
    if column.is_number() {
        let numbers = answers
            .iter()
            .map(|answer| value(answer)?.parse::<f64>().ok());
        Arc::new(numbers.collect::<Float64Array>())
    } else {
        Arc::new(answers.iter().map(value).collect::<StringArray>())
    }
}
