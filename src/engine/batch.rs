//! A batch of rows in memory over which predicates run: arriving rows, and rows that are not in the data files yet.
//!
//! Each column is decoded once, when the first predicate needs it, and then shared by all predicates: one alert among a
//! hundred thousand costs only the evaluation of its own clauses.

use std::sync::{Arc, OnceLock};

use arrow::array::{Array, AsArray, ListArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::Field;
use datafusion::error::DataFusionError;

use super::Error;
use super::decoded::{CHUNK_ROWS_MAX, DecodedColumn, struct_field};
use super::predicate::Predicate;
use super::select::{ColumnSource, Selection, select};
use toise_lake::schema::{ITEM, TableSchema};

/// Rows of a table in memory, with lazily decoded columns.
#[derive(Debug)]
pub struct DecodedBatch {
    schema: &'static TableSchema,
    rows: RecordBatch,
    columns: Vec<OnceLock<Arc<DecodedColumn>>>,
}

impl DecodedBatch {
    /// Creates a batch from rows in the table's Arrow schema, at most [`CHUNK_ROWS_MAX`].
    ///
    /// # Errors
    /// Too many rows, or rows with another schema.
    pub fn new(schema: &'static TableSchema, rows: RecordBatch) -> Result<Self, Error> {
        if rows.num_rows() > CHUNK_ROWS_MAX {
            let reason = format!(
                "{} rows; the maximum of a batch is {CHUNK_ROWS_MAX}",
                rows.num_rows()
            );
            return Err(DataFusionError::Plan(reason).into());
        }
        if rows.schema_ref() != schema.arrow() {
            let reason = format!("not rows of table {}", schema.name);
            return Err(DataFusionError::Plan(reason).into());
        }
        let count = schema.columns.len() + schema.items.len();
        Ok(Self {
            schema,
            rows,
            columns: (0..count).map(|_| OnceLock::new()).collect(),
        })
    }

    /// Returns the rows.
    pub fn rows(&self) -> &RecordBatch {
        &self.rows
    }

    /// Returns the rows that a predicate selects.
    ///
    /// # Errors
    /// An expression cannot be evaluated.
    pub fn select(&self, predicate: &Predicate) -> Result<Selection, Error> {
        select(self, predicate)
    }

    fn decode(&self, column: usize) -> Result<DecodedColumn, DataFusionError> {
        if let Some(plain) = self.schema.columns.get(column) {
            let values = cast(self.rows.column(column), &plain.kind.decoded_type())?;
            return Ok(DecodedColumn::new(values));
        }
        let unknown = || DataFusionError::Internal(format!("no column {column}"));
        let item = self.schema.item(column).ok_or_else(unknown)?;
        let list = self.rows.column(item.list);
        let list = list.as_list_opt::<i32>().ok_or_else(unknown)?;
        let structs = list.values().as_struct_opt().ok_or_else(unknown)?;
        let (field, _) = structs
            .fields()
            .find(&item.field.name)
            .ok_or_else(unknown)?;
        let decoded_type = item.field.kind.decoded_type();
        let values = cast(&struct_field(structs, field), &decoded_type)?;
        Ok(DecodedColumn::new(Arc::new(ListArray::try_new(
            Arc::new(Field::new(ITEM, decoded_type, true)),
            list.offsets().clone(),
            values,
            list.nulls().cloned(),
        )?)))
    }
}

impl ColumnSource for DecodedBatch {
    fn rows(&self) -> usize {
        self.rows.num_rows()
    }

    fn column(&self, column: usize) -> Result<Arc<DecodedColumn>, Error> {
        let unknown = || DataFusionError::Internal(format!("no column {column}"));
        let place = self.columns.get(column).ok_or_else(unknown)?;
        if let Some(decoded) = place.get() {
            return Ok(Arc::clone(decoded));
        }
        let decoded = Arc::new(self.decode(column)?);
        Ok(Arc::clone(place.get_or_init(|| decoded)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use toise_listings::columns::{AdvertRows, adverts, properties};

    #[test]
    fn rows_of_another_table_are_refused() {
        let rows = AdvertRows::default().finish().unwrap();
        assert!(DecodedBatch::new(adverts(), rows.clone()).is_ok());
        let error = DecodedBatch::new(properties(), rows).unwrap_err();
        assert!(
            error.to_string().contains("not rows of table properties"),
            "{error}"
        );
    }

    #[test]
    fn an_empty_batch_selects_no_row() {
        let rows = AdvertRows::default().finish().unwrap();
        let batch = DecodedBatch::new(adverts(), rows).unwrap();
        let everything = Predicate::compile(adverts(), &Vec::new()).unwrap();
        assert_eq!(batch.select(&everything).unwrap().count(), 0);
    }
}
