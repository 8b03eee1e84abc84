//! A table of which more is known than its files say, as DataFusion plans it: the files without the rows that changed
//! since, and the rows in memory that took their place.
//!
//! Hidden rows are left out by number: the Parquet reader skips them, and a query reads no column for their sake.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{BooleanArray, RecordBatch};
use arrow::buffer::BooleanBuffer;
use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::Statistics;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::datasource::physical_plan::parquet::ParquetRowSelection;
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfig, FileScanConfigBuilder};
use datafusion::datasource::source::DataSourceExec;
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::union::UnionExec;
use object_store::path::Path;
use parquet::arrow::arrow_reader::RowSelection;

use super::view::TableView;

/// The state of a table: files, rows of them that no longer count, and rows in memory that do.
#[derive(Debug)]
pub struct ChangedTable {
    /// The files.
    pub view: Arc<TableView>,
    /// Hidden rows of each file, one bit a row; `None`: none.
    pub hidden: Vec<Option<BooleanBuffer>>,
    /// Rows in the table's Arrow schema.
    pub rows: Vec<RecordBatch>,
}

impl ChangedTable {
    /// The table, where its files are one already: `places` are theirs, in the order of the view.
    pub(super) fn over(
        self,
        files: Arc<dyn TableProvider>,
        places: &[Path],
    ) -> Arc<dyn TableProvider> {
        let hidden = places.iter().zip(&self.hidden);
        let shown = hidden.filter_map(|(place, hidden)| {
            let hidden = hidden.as_ref()?;
            let shown = BooleanArray::new(!hidden, None);
            let selection = RowSelection::from_filters(&[shown]);
            Some((place.clone(), ParquetRowSelection::new(selection)))
        });
        Arc::new(Changed {
            files,
            shown: shown.collect(),
            rows: self.rows,
        })
    }
}

#[derive(Debug)]
struct Changed {
    files: Arc<dyn TableProvider>,
    /// The rows that count, of files where not all do.
    shown: HashMap<Path, ParquetRowSelection>,
    rows: Vec<RecordBatch>,
}

impl Changed {
    /// A reading of the files, without the rows that are hidden.
    fn without_hidden(&self, plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
        if self.shown.is_empty() {
            return Ok(plan);
        }
        let source = plan.downcast_ref::<DataSourceExec>();
        let config = source.and_then(|exec| exec.data_source().downcast_ref::<FileScanConfig>());
        let config = config.cloned().ok_or_else(|| {
            DataFusionError::Internal("files are read by something unknown".into())
        })?;
        let selected = |file: PartitionedFile| match self.shown.get(&file.object_meta.location) {
            Some(shown) => PartitionedFile {
                // It counts the hidden rows.
                statistics: None,
                ..file.with_extension(shown.clone())
            },
            None => file,
        };
        let groups = config.file_groups.iter();
        let groups: Vec<FileGroup> = groups
            .map(|group| group.iter().cloned().map(selected).collect())
            .collect();
        let unknown = Statistics::new_unknown(&self.schema());
        let config = FileScanConfigBuilder::from(config)
            .with_file_groups(groups)
            .with_statistics(unknown);
        Ok(DataSourceExec::from_data_source(config.build()))
    }
}

#[async_trait]
impl TableProvider for Changed {
    fn schema(&self) -> SchemaRef {
        self.files.schema()
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    /// Filters let files skip pages; every row they give is still tested.
    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> Result<Vec<TableProviderFilterPushDown>> {
        Ok(vec![TableProviderFilterPushDown::Inexact; filters.len()])
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        _limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let files = self.files.scan(state, projection, filters, None).await?;
        let files = self.without_hidden(files)?;
        if self.rows.is_empty() {
            return Ok(files);
        }
        let rows = std::slice::from_ref(&self.rows);
        let rows = MemorySourceConfig::try_new_exec(rows, self.schema(), projection.cloned())?;
        UnionExec::try_new(vec![files, rows])
    }
}
