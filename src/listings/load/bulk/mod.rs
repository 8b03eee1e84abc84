//! Bulk load: fills an empty data folder with adverts whose assets are known.
//!
//! Synthetic data is loaded this way. Ordinary ingestion looks up the stored advert and similar adverts for each
//! sighting, and waits for the disk. Here the caller supplies the adverts asset by asset with all their sightings, so
//! none of that is needed. Sightings are merged in memory (`build`), and only the results are written: to the store in
//! one transaction (records last, in the order of their keys: `spool`), and at the same time to their tables and the
//! text index. The result equals the result of ordinary ingestion, because the same functions decide it, but no alert
//! is percolated.
//!
//! The store is committed first; tables and text index follow. A load that stops before the commit leaves no data. A
//! load that stops after it leaves tables that lag behind the store, and the next server brings them up to date. Memory
//! is bounded: three blocks per thread, and the buffers of store, records, tables and index.

mod build;
mod spool;

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicI64;
use std::sync::mpsc::{SyncSender, sync_channel};

use chrono::{DateTime, Utc};
use rayon::iter::{IntoParallelIterator, ParallelIterator};
use rayon::slice::ParallelSliceMut;
use rusqlite::Transaction;
use serde_json::Value;

use crate::adverts::identity::IdentityRules;
use crate::adverts::locating::PlaceSources;
use crate::columns::{self, adverts, properties};
use crate::properties::record_key::RecordKey;
use crate::records::percolation::PercolationBuffer;
use crate::records::rows;
use crate::records::rows::checked_number;
use crate::records::tables::ListingsWriter;
use crate::search::texts::{self, TextSearch};
use build::{BlockBuilder, BuiltBlock};
use spool::Spool;
use toise_contract::Fault;
use toise_dedup::BlockKey;
use toise_geo::iris::IrisIndex;
use toise_lake::import::TableImport;
use toise_lake::{self as lake, Lake, RowSink};
use toise_store::document;
use toise_store::{self as store, Store};

/// Block keys inserted into the store together, in key order; about 60 bytes each, with the outline.
const KEY_BATCH_SIZE: usize = 4 << 20;

/// Errors of a bulk load.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The data folder already holds listings.
    #[error("{0} holds adverts already: a bulk load needs a folder without any; name another")]
    NotEmpty(String),
    /// A table belongs to another store.
    #[error("{0} holds listings that are not in the store: it belongs to another store; remove it")]
    ForeignTable(String),
    /// An advert is invalid.
    #[error("advert {url}: {fault}")]
    Advert {
        /// The advert's URL.
        url: String,
        /// The fault.
        fault: Fault,
    },
    /// A record cannot be encoded.
    #[error(transparent)]
    Document(#[from] document::Error),
    /// Spooled records cannot be written to the data folder, or read back.
    #[error("data folder: {0}")]
    Spool(#[from] io::Error),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// Listings cannot be written.
    #[error(transparent)]
    Listings(#[from] crate::Error),
    /// A table could not be written.
    #[error(transparent)]
    Lake(#[from] lake::Error),
    /// The text index could not be written.
    #[error(transparent)]
    Texts(#[from] texts::Error),
    /// A record cannot be converted to a row.
    #[error(transparent)]
    Row(#[from] columns::Error),
    /// Rows could not be assembled into a batch.
    #[error(transparent)]
    Arrow(#[from] arrow::error::ArrowError),
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        Self::Store(error.into())
    }
}

/// Result of a bulk load.
pub type Result<T> = std::result::Result<T, Error>;

/// Adverts whose assets are known, in blocks that can be built independently.
pub trait AssetSource: Sync {
    /// Returns the number of blocks.
    fn blocks(&self) -> u64;
    /// Returns the assets of a block in order of arrival. Each is the list of its adverts' sightings in time order, in
    /// the form that ingestion reads. Fields that are absent from a sighting are unchanged.
    fn block(&self, block: u64) -> Vec<Vec<Value>>;
}

/// Counts of what was loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BulkLoadSummary {
    /// Properties.
    pub properties: u64,
    /// Adverts.
    pub adverts: u64,
    /// Sightings of those adverts.
    pub sightings: u64,
    /// Events that the sightings caused.
    pub events: u64,
}

/// Fills a data folder that has no listings, as if all sightings arrived at time `at`. `identity` decides which
/// parameters of a portal's URLs identify a listing, and `progress` is called with the number of adverts written.
/// Returns once durable; a server that then starts on the folder is ready immediately. Blocks.
///
/// # Errors
/// [`Error::NotEmpty`]; [`store::Error::InUse`]; an advert that ingestion would refuse; a disk failure.
pub fn fill(
    data: &Path,
    assets: &impl AssetSource,
    iris: Option<&IrisIndex>,
    identity: &IdentityRules,
    at: DateTime<Utc>,
    progress: &dyn Fn(u64),
) -> Result<BulkLoadSummary> {
    let texts = TextSearch::open(data);
    let lake = Lake::open(data)?;
    let (filled, imports, words, through) = Store::exclusive(data, |transaction| {
        refuse_listings(data, &lake, transaction)?;
        let builder = BlockBuilder {
            words: texts.fill()?,
            sources: PlaceSources::contours(iris),
            identity,
            at,
            numbers: AtomicI64::new(0),
        };
        let mut writer = BulkWriter {
            tables: ListingsWriter::begin(transaction, PercolationBuffer::none())?,
            properties: lake.import(properties())?,
            adverts: lake.import(adverts())?,
            records: Spool::new(data),
            keys: Vec::new(),
            filled: BulkLoadSummary::default(),
        };
        let (sender, built) = sync_channel(1);
        std::thread::scope(|scope| {
            scope.spawn(|| build_blocks(assets, &builder, sender));
            for blocks in built {
                for block in blocks? {
                    let before = writer.filled.adverts;
                    writer.write(block)?;
                    progress(writer.filled.adverts - before);
                }
            }
            Ok::<_, Error>(())
        })?;
        writer.insert_keys()?;
        let (tables, records) = (&writer.tables, writer.records);
        let put = |key, document: &[u8]| tables.write_record(key, document).map_err(Error::from);
        records.drain(put)?;
        let through = tables.last_sequence();
        let imports = [writer.properties, writer.adverts];
        Ok::<_, Error>((writer.filled, imports, builder.words, through))
    })?;
    for mut import in imports {
        import.set_through(through);
        import.publish(Vec::new(), Vec::new())?;
    }
    words.finish(through)?;
    Ok(filled)
}

fn refuse_listings(data: &Path, lake: &Lake, transaction: &Transaction<'_>) -> Result<()> {
    if rows::last_sequence(transaction)? > 0 {
        return Err(Error::NotEmpty(data.display().to_string()));
    }
    for table in [properties(), adverts()] {
        if lake.snapshot(table)?.rows() > 0 {
            let folder = lake.folder(table);
            return Err(Error::ForeignTable(folder.display().to_string()));
        }
    }
    Ok(())
}

/// Builds all blocks, one per thread at a time, until the receiver is gone.
fn build_blocks(
    assets: &impl AssetSource,
    builder: &BlockBuilder<'_>,
    sender: SyncSender<Result<Vec<BuiltBlock>>>,
) {
    let threads = rayon::current_num_threads() as u64;
    let blocks = assets.blocks();
    for first in (0..blocks).step_by(threads as usize) {
        let built = (first..blocks.min(first + threads))
            .into_par_iter()
            .map(|block| builder.make(assets.block(block)))
            .collect();
        if sender.send(built).is_err() {
            return;
        }
    }
}

/// The destinations that blocks are written to.
struct BulkWriter<'t> {
    tables: ListingsWriter<'t>,
    properties: TableImport,
    adverts: TableImport,
    /// Records of the properties, written to the store after all blocks are built.
    records: Spool,
    keys: Vec<(BlockKey, i64, Arc<[u8]>)>,
    filled: BulkLoadSummary,
}

impl BulkWriter<'_> {
    fn write(&mut self, block: BuiltBlock) -> Result<()> {
        self.filled.properties += block.assets.len() as u64;
        for asset in block.assets {
            let (property, made) = (asset.number, asset.made);
            let key = RecordKey::placed(checked_number(property)?, &made.record);
            self.tables.insert_property_without_record(key, asset.id)?;
            self.records.push(key, made.document)?;
            for (digest, draft) in &asset.adverts {
                let (advert, keys) = self
                    .tables
                    .insert_advert_without_keys(digest, property, draft)?;
                let outline: Arc<[u8]> = draft.fingerprint.outline().into();
                let keys = keys
                    .into_iter()
                    .map(|key| (key, advert, Arc::clone(&outline)));
                self.keys.extend(keys);
                for event in &draft.events {
                    self.tables.insert_event(advert, event)?;
                }
                self.filled.events += draft.events.len() as u64;
            }
            self.filled.adverts += asset.adverts.len() as u64;
        }
        self.filled.sightings += block.sightings;
        self.properties.push(block.properties)?;
        self.adverts.push(block.adverts)?;
        if self.keys.len() >= KEY_BATCH_SIZE {
            self.insert_keys()?;
        }
        Ok(())
    }

    /// Inserts the collected block keys in key order, so that each page of their table is written once, not at random.
    fn insert_keys(&mut self) -> Result<()> {
        self.keys.par_sort_unstable();
        for (key, advert, outline) in self.keys.drain(..) {
            self.tables.insert_keys(advert, &[key], &outline)?;
        }
        Ok(())
    }
}
