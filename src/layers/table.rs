//! Presents a layer as the SQL table `layer_NAME`: the number of each feature, its attributes, its geometry and its
//! box.

use std::path::PathBuf;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::exec_datafusion_err;
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::listing::{
    ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl,
};
use datafusion::error::Result;
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::object_store::local::LocalFileSystem;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::SessionContext;

use crate::folder;
use crate::live::Layers;
use crate::metadata::LayerMetadata;
use crate::write::schema;

/// URL of the folder of layers in plans, which so show no path of this machine and are valid on others.
const STORE: &str = "toise://layers/";

/// Registers the folder of layers, which the scans of the [`tables`] need. Does nothing if there are no layers. Blocks.
///
/// # Errors
/// The folder cannot be opened.
pub fn register_store(context: &SessionContext, layers: &Layers) -> Result<()> {
    let folder = layers.data().join(folder::FOLDER);
    if !folder.exists() {
        return Ok(());
    }
    let store = LocalFileSystem::new_with_prefix(folder)?;
    context.register_object_store(ObjectStoreUrl::parse(STORE)?.as_ref(), Arc::new(store));
    Ok(())
}

/// Returns the table of every layer whose description is not damaged, with its name. Blocks: reads the descriptions.
pub fn tables(layers: &Layers) -> Vec<(String, Arc<dyn TableProvider>)> {
    let table = |metadata: LayerMetadata| -> (String, Arc<dyn TableProvider>) {
        let name = metadata.name.table();
        let table = LayerTable {
            data: layers.data().to_owned(),
            schema: schema(&metadata.columns),
            metadata,
        };
        (name, Arc::new(table))
    };
    let readable = folder::readable(layers.data());
    readable.into_iter().map(table).collect()
}

/// A layer as a table. Its data file is verified before each scan.
#[derive(Debug)]
struct LayerTable {
    data: PathBuf,
    schema: SchemaRef,
    metadata: LayerMetadata,
}

#[async_trait]
impl TableProvider for LayerTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

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
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let (data, metadata) = (self.data.clone(), self.metadata.clone());
        let verified =
            tokio::task::spawn_blocking(move || folder::read_verified(&data, &metadata).map(drop));
        verified
            .await
            .map_err(|error| exec_datafusion_err!("{error}"))??;
        let LayerMetadata { name, data, .. } = &self.metadata;
        let url = ListingTableUrl::parse(format!("{STORE}{}/{data}", name.as_str()))?;
        let format = ParquetFormat::default().with_enable_pruning(true);
        let options = ListingOptions::new(Arc::new(format)).with_file_extension(".parquet");
        let config = ListingTableConfig::new(url)
            .with_listing_options(options)
            .with_schema(Arc::clone(&self.schema));
        let table = ListingTable::try_new(config)?;
        table.scan(state, projection, filters, limit).await
    }
}
