//! A DataFusion table with changes that are not in its data files (merge on read): it returns the rows of the data
//! files that are not hidden, and the rows in memory that replace the hidden ones.
//!
//! Hidden rows are excluded by row number: the Parquet reader skips them, and no extra column has to be read.

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

/// The state of a table: its data files, their hidden rows, and the rows in memory.
#[derive(Debug)]
pub struct MergeOnReadTable {
    /// The data files.
    pub view: Arc<TableView>,
    /// Hidden rows of each data file, one bit per row; `None` if there are none.
    pub hidden: Vec<Option<BooleanBuffer>>,
    /// Number of the last change of the store that the rows include.
    pub through: i64,
    /// Rows in the table's Arrow schema.
    pub rows: Vec<RecordBatch>,
}

impl MergeOnReadTable {
    /// Wraps the DataFusion table over the data files; `places` are their locations, in the order of the view.
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
        Arc::new(MergeOnReadProvider {
            files,
            shown: shown.collect(),
            rows: self.rows,
        })
    }
}

#[derive(Debug)]
struct MergeOnReadProvider {
    files: Arc<dyn TableProvider>,
    /// Rows that are not hidden, for data files with hidden rows.
    shown: HashMap<Path, ParquetRowSelection>,
    rows: Vec<RecordBatch>,
}

impl MergeOnReadProvider {
    /// Changes a plan that scans the data files so that it skips the hidden rows.
    fn skip_hidden_rows(&self, plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
        if self.shown.is_empty() {
            return Ok(plan);
        }
        let source = plan.downcast_ref::<DataSourceExec>();
        let config = source.and_then(|exec| exec.data_source().downcast_ref::<FileScanConfig>());
        let config = config.cloned().ok_or_else(|| {
            DataFusionError::Internal("unexpected plan for the data files".into())
        })?;
        let selected = |file: PartitionedFile| match self.shown.get(&file.object_meta.location) {
            Some(shown) => PartitionedFile {
                // The statistics include the hidden rows.
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
impl TableProvider for MergeOnReadProvider {
    fn schema(&self) -> SchemaRef {
        self.files.schema()
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    /// Filters are used to skip pages; every remaining row is still tested.
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
        let files = self.skip_hidden_rows(files)?;
        if self.rows.is_empty() {
            return Ok(files);
        }
        let rows = std::slice::from_ref(&self.rows);
        let rows = MemorySourceConfig::try_new_exec(rows, self.schema(), projection.cloned())?;
        UnionExec::try_new(vec![files, rows])
    }
}
