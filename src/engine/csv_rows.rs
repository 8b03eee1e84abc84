//! Writes rows as CSV, for responses of SQL queries and for files that commands write.
//!
//! Lists, structs and maps become JSON text, since a cell holds one text. Cells and names of columns that a spreadsheet
//! would run as formulas can be escaped ([`Formulas`]).

use std::io::Write;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, LargeStringArray, RecordBatch, StringBuilder};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef};
use arrow::error::ArrowError;
use arrow::json::writer::{EncoderOptions, make_encoder};

use toise_base::formula::Formulas;

/// A writer of rows as CSV with a header.
pub struct CsvWriter<W: Write> {
    writer: arrow::csv::Writer<W>,
    /// The schema of the cells.
    cells: SchemaRef,
    formulas: Formulas,
}

impl<W: Write> CsvWriter<W> {
    /// Writes the header immediately, so that an output without rows also has one.
    ///
    /// # Errors
    /// `out` fails.
    pub fn new(out: W, schema: &SchemaRef, formulas: Formulas) -> Result<Self, ArrowError> {
        let fields = schema.fields().iter();
        let cells = fields.map(|field| cell_field(field, formulas));
        let cells = Arc::new(Schema::new(cells.collect::<Vec<FieldRef>>()));
        let mut writer = arrow::csv::Writer::new(out);
        writer.write(&RecordBatch::new_empty(Arc::clone(&cells)))?;
        Ok(Self {
            writer,
            cells,
            formulas,
        })
    }

    /// Writes rows.
    ///
    /// # Errors
    /// A value has no form in CSV, or the output fails.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<(), ArrowError> {
        let schema = batch.schema();
        let columns = schema.fields().iter().zip(batch.columns());
        let columns: Result<Vec<ArrayRef>, ArrowError> = columns
            .map(|(field, column)| {
                if field.data_type().is_nested() {
                    json_texts(field, column)
                } else if is_escaped(field, self.formulas) {
                    escaped_texts(column, self.formulas)
                } else {
                    Ok(Arc::clone(column))
                }
            })
            .collect();
        let cells = RecordBatch::try_new(Arc::clone(&self.cells), columns?)?;
        self.writer.write(&cells)
    }

    /// Returns the output.
    pub fn into_inner(self) -> W {
        self.writer.into_inner()
    }
}

/// Returns the field of the cells of a column.
fn cell_field(field: &FieldRef, formulas: Formulas) -> FieldRef {
    let kind = if field.data_type().is_nested() {
        DataType::Utf8
    } else if is_escaped(field, formulas) {
        DataType::LargeUtf8
    } else {
        field.data_type().clone()
    };
    Arc::new(Field::new(formulas.cell(field.name()), kind, true))
}

/// Returns whether the cells of a column may have to be escaped.
fn is_escaped(field: &Field, formulas: Formulas) -> bool {
    formulas == Formulas::Escaped && is_text(field.data_type())
}

/// Returns whether values of a type are texts, possibly in a dictionary.
pub fn is_text(kind: &DataType) -> bool {
    match kind {
        DataType::Dictionary(_, values) => is_text(values),
        kind => matches!(
            kind,
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View
        ),
    }
}

fn escaped_texts(column: &ArrayRef, formulas: Formulas) -> Result<ArrayRef, ArrowError> {
    let texts = cast(column, &DataType::LargeUtf8)?;
    let texts = texts.as_string::<i64>().iter();
    let escaped = texts.map(|text| text.map(|text| formulas.cell(text)));
    Ok(Arc::new(escaped.collect::<LargeStringArray>()))
}

fn json_texts(field: &FieldRef, column: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    let options = EncoderOptions::default().with_explicit_nulls(true);
    let mut encoder = make_encoder(field, column, &options)?;
    let mut texts = StringBuilder::new();
    let mut cell = Vec::new();
    for row in 0..column.len() {
        if column.is_null(row) {
            texts.append_null();
            continue;
        }
        cell.clear();
        encoder.encode(row, &mut cell);
        texts.append_value(String::from_utf8_lossy(&cell));
    }
    Ok(Arc::new(texts.finish()))
}
