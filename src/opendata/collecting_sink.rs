//! A sink that collects the batches of an import, for tests.

use arrow::array::{AsArray, RecordBatch};
use serde_json::Value;

use toise_lake::{self as lake, RowSink};

/// The batches.
#[derive(Default)]
pub(crate) struct CollectingSink(pub(crate) Vec<RecordBatch>);

impl RowSink for CollectingSink {
    fn push(&mut self, batch: RecordBatch) -> Result<(), lake::Error> {
        self.0.push(batch);
        Ok(())
    }
}

impl CollectingSink {
    /// Returns the records of all batches.
    pub(crate) fn records(&self) -> Vec<Value> {
        let mut records = Vec::new();
        for batch in &self.0 {
            let texts = batch.column_by_name("record").unwrap().as_string::<i32>();
            let values = texts.iter().map(|text| serde_json::from_str(text.unwrap()));
            records.extend(values.map(Result::unwrap));
        }
        records
    }
}
