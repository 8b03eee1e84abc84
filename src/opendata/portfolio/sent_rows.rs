//! Converts blocks of a portfolio to Arrow batches and back, to send them to another process.
//!
//! A row is the list of its cells, because an unreadable row may have fewer cells than the header.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use arrow::array::{AsArray, ListBuilder, RecordBatch, StringArray, StringBuilder, UInt64Array};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, UInt64Type};
use arrow::error::ArrowError;

use super::InputRows;
use crate::source::{Block, Header};

static SCHEMA: LazyLock<SchemaRef> = LazyLock::new(|| {
    let cell = Field::new_list_field(DataType::Utf8, true);
    Arc::new(Schema::new(vec![
        Field::new("number", DataType::UInt64, false),
        Field::new("line", DataType::UInt64, false),
        Field::new("fault", DataType::Utf8, true),
        Field::new("cells", DataType::List(Arc::new(cell)), false),
    ]))
});

impl InputRows {
    /// Returns the schema of [`Self::to_batch`].
    pub fn sent_schema() -> &'static SchemaRef {
        &SCHEMA
    }

    /// Converts the rows to one batch.
    ///
    /// # Errors
    /// The text is longer than a batch can hold: 2 GiB.
    pub fn to_batch(&self) -> Result<RecordBatch, ArrowError> {
        let rows = 0..self.block.len();
        let numbers = rows.clone().map(|row| self.first_row + row as u64);
        let lines = rows.clone().map(|row| self.block.line(row));
        let faults = rows.clone().map(|row| self.faults.get(&row));
        let mut cells = ListBuilder::new(StringBuilder::new());
        for row in rows.clone() {
            for cell in self.block.cells(row) {
                cells.values().append_value(cell);
            }
            cells.append(true);
        }
        RecordBatch::try_new(
            Arc::clone(&SCHEMA),
            vec![
                Arc::new(UInt64Array::from_iter_values(numbers)),
                Arc::new(UInt64Array::from_iter_values(lines)),
                Arc::new(faults.collect::<StringArray>()),
                Arc::new(cells.finish()),
            ],
        )
    }

    /// Reads the rows of a batch made by [`Self::to_batch`], under a header.
    ///
    /// # Errors
    /// The batch has another schema.
    pub fn from_batch(batch: &RecordBatch, header: &Arc<Header>) -> Result<Self, ArrowError> {
        if batch.schema_ref().fields() != SCHEMA.fields() {
            let found = batch.schema_ref();
            return Err(ArrowError::SchemaError(format!(
                "not rows of a portfolio: {found}"
            )));
        }
        let numbers = batch.column(0).as_primitive::<UInt64Type>();
        let lines = batch.column(1).as_primitive::<UInt64Type>();
        let faults = batch.column(2).as_string::<i32>();
        let lists = batch.column(3).as_list::<i32>();
        let mut block = Block::new(Arc::clone(header));
        for row in 0..batch.num_rows() {
            block.start_row(lines.value(row));
            let cells = lists.value(row);
            for cell in cells.as_string::<i32>().iter() {
                block.push_cell(cell.unwrap_or_default());
            }
        }
        let faults = faults.iter().enumerate();
        let faults: HashMap<usize, String> = faults
            .filter_map(|(row, fault)| Some((row, fault?.to_owned())))
            .collect();
        Ok(Self {
            block,
            faults,
            first_row: numbers.values().first().copied().unwrap_or(1),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_arrive_as_they_were_sent_however_many_cells_they_have() {
        let header = Arc::new(Header::new(vec!["a".into(), "b".into()]));
        let mut block = Block::new(Arc::clone(&header));
        for (line, cells) in [(2, &["1", "é"][..]), (3, &[]), (5, &["x", "", "z"])] {
            block.start_row(line);
            for cell in cells {
                block.push_cell(cell);
            }
        }
        let sent = InputRows {
            block,
            faults: HashMap::from([(1, "line 3: cut".to_owned())]),
            first_row: 513,
        };
        let arrived = InputRows::from_batch(&sent.to_batch().unwrap(), &header).unwrap();
        assert_eq!(arrived.first_row, 513);
        assert_eq!(arrived.faults, sent.faults);
        assert_eq!(arrived.block.len(), 3);
        for row in 0..3 {
            assert_eq!(arrived.block.line(row), sent.block.line(row));
            assert!(arrived.block.cells(row).eq(sent.block.cells(row)));
        }
    }
}
