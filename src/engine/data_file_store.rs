//! The open data files of views as a read-only object store, so that SQL reads exactly the files that were planned.
//!
//! A publication may delete files while queries run. Opened by path, such a file would be missing, and DataFusion
//! treats a missing file as empty. Here every read uses the descriptor opened with the view, and all returned bytes are
//! verified against the data file's checksums. DataFusion requests whole pages, so verification reads no additional
//! bytes. Reads are positional and run on the blocking pool, one task for all ranges of a request.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use chrono::{DateTime, Utc};
use datafusion::catalog::TableProvider;
use datafusion::datasource::MemTable;
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::listing::{
    ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl,
};
use datafusion::error::DataFusionError;
use futures::stream::{self, BoxStream, StreamExt};
use object_store::path::Path;
use object_store::{
    Attributes, CopyOptions, Error, GetOptions, GetResult, GetResultPayload, ListResult,
    MultipartUpload, ObjectMeta, ObjectStore, PutMultipartOptions, PutOptions, PutPayload,
    PutResult, Result,
};

use url::Url;

use super::view::{OpenDataFile, TableView};
use toise_lake as lake;

const NAME: &str = "open files";

/// The open data files of some views, under `<table>/<file>`.
#[derive(Debug, Default)]
pub struct DataFileStore {
    parts: BTreeMap<Path, Arc<OpenDataFile>>,
}

impl DataFileStore {
    /// Adds the data files of a view and returns their locations.
    pub fn add(&mut self, view: &TableView) -> Vec<Path> {
        let mut places = Vec::with_capacity(view.parts().len());
        for open in view.parts() {
            let place = Path::from_iter([view.schema().name, open.data_file.entry().file.as_str()]);
            self.parts.insert(place.clone(), Arc::clone(open));
            places.push(place);
        }
        places
    }

    fn data_file(&self, location: &Path) -> Result<&Arc<OpenDataFile>> {
        self.parts.get(location).ok_or_else(|| Error::NotFound {
            path: location.to_string(),
            source: "no such file among the opened tables".into(),
        })
    }
}

impl fmt::Display for DataFileStore {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(NAME)
    }
}

/// Returns the metadata of a file. A file never changes under its name, so a fixed modification time is correct.
fn meta(location: &Path, data_file: &OpenDataFile) -> ObjectMeta {
    ObjectMeta {
        location: location.clone(),
        last_modified: DateTime::<Utc>::UNIX_EPOCH,
        size: data_file.data_file.entry().bytes,
        e_tag: None,
        version: None,
    }
}

async fn read(data_file: &Arc<OpenDataFile>, ranges: Vec<Range<u64>>) -> Result<Vec<Bytes>> {
    let data_file = Arc::clone(data_file);
    let read = tokio::task::spawn_blocking(move || {
        ranges
            .into_iter()
            .map(|range| data_file.data_file.read(range))
            .collect::<Result<Vec<Bytes>, lake::Error>>()
    });
    let failed = |source| Error::Generic {
        store: NAME,
        source,
    };
    let outcome = read.await.map_err(|error| failed(error.into()))?;
    outcome.map_err(|error| failed(error.into()))
}

fn refused<T>(operation: &str) -> Result<T> {
    Err(Error::NotImplemented {
        operation: operation.into(),
        implementer: NAME.into(),
    })
}

#[async_trait]
impl ObjectStore for DataFileStore {
    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let data_file = self.data_file(location)?;
        let meta = meta(location, data_file);
        options.check_preconditions(&meta)?;
        let range = match &options.range {
            None => 0..meta.size,
            Some(range) => range.as_range(meta.size).map_err(|error| Error::Generic {
                store: NAME,
                source: Box::new(error),
            })?,
        };
        let chunks = if options.head {
            Vec::new()
        } else {
            read(data_file, vec![range.clone()]).await?
        };
        Ok(GetResult {
            payload: GetResultPayload::Stream(stream::iter(chunks).map(Ok).boxed()),
            meta,
            range,
            attributes: Attributes::new(),
        })
    }

    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        read(self.data_file(location)?, ranges.to_vec()).await
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        let found: Vec<Result<ObjectMeta>> = self
            .parts
            .iter()
            .filter(|(location, _)| prefix.is_none_or(|prefix| location.prefix_matches(prefix)))
            .map(|(location, data_file)| Ok(meta(location, data_file)))
            .collect();
        stream::iter(found).boxed()
    }

    async fn list_with_delimiter(&self, _prefix: Option<&Path>) -> Result<ListResult> {
        refused("list_with_delimiter")
    }

    async fn put_opts(&self, _: &Path, _: PutPayload, _: PutOptions) -> Result<PutResult> {
        refused("put")
    }

    async fn put_multipart_opts(
        &self,
        _: &Path,
        _: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        refused("put_multipart")
    }

    fn delete_stream(
        &self,
        _: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        stream::iter([refused("delete")]).boxed()
    }

    async fn copy_opts(&self, _: &Path, _: &Path, _: CopyOptions) -> Result<()> {
        refused("copy")
    }
}

/// Creates a DataFusion table over the data files of a view.
pub(super) fn data_file_table(
    view: &TableView,
    store_url: &Url,
    places: &[Path],
) -> std::result::Result<Arc<dyn TableProvider>, DataFusionError> {
    let schema = Arc::clone(view.schema().arrow());
    if places.is_empty() {
        return Ok(Arc::new(MemTable::try_new(schema, vec![vec![]])?));
    }
    let files = places
        .iter()
        .map(|place| ListingTableUrl::parse(format!("{store_url}{place}")))
        .collect::<std::result::Result<Vec<_>, _>>()?;
    let format = ParquetFormat::default().with_enable_pruning(true);
    let options = ListingOptions::new(Arc::new(format)).with_file_extension(".parquet");
    let config = ListingTableConfig::new_with_multi_paths(files)
        .with_listing_options(options)
        .with_schema(schema);
    Ok(Arc::new(ListingTable::try_new(config)?))
}
