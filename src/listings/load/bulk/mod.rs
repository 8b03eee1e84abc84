//! Many adverts at once into empty listings, when it is known which of them show one asset.
//!
//! Ordinary ingestion looks, for each sighting, for what is stored and for what it resembles, and waits for the disk.
//! Here whoever brings the adverts brings them asset by asset with all their sightings, so none of that is needed:
//! sightings are laid over each other in memory (`made`), and only what comes out is written, to the store in one
//! transaction (records last, in the order of their keys: `spool`) and at the same time to their tables and the index
//! of words. It is what ordinary ingestion would have written, for the same functions decide it; no alert is asked.
//!
//! The store is committed first, table and words follow. Who is stopped before leaves nothing; who is stopped after
//! leaves a table behind the store, which the next server brings up. Memory holds three blocks for each thread, and
//! the buffers of store, records, table and index, whatever comes.

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

/// Keys of adverts put into the store together, in their own order: about 60 bytes each, with its outline.
const KEY_BATCH_SIZE: usize = 4 << 20;

/// Why listings were not filled.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There are listings already.
    #[error(
        "{0} holds adverts already: so many at once go into a folder without any, name another"
    )]
    NotEmpty(String),
    /// The table is of another store.
    #[error(
        "{0} holds listings that the store knows nothing of: it is of another store, remove it"
    )]
    ForeignTable(String),
    /// An advert is not one.
    #[error("advert {url}: {fault}")]
    Advert {
        /// Its address.
        url: String,
        /// What is wrong with it.
        fault: Fault,
    },
    /// A record cannot be written.
    #[error(transparent)]
    Document(#[from] document::Error),
    /// Records that wait for the others cannot be written to the data folder, or read again.
    #[error("data folder: {0}")]
    Spool(#[from] io::Error),
    /// The store refused.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// The table could not be written.
    #[error(transparent)]
    Lake(#[from] lake::Error),
    /// The words could not be written.
    #[error(transparent)]
    Texts(#[from] texts::Error),
    /// A record is no row.
    #[error(transparent)]
    Row(#[from] columns::Error),
    /// Rows could not be put together.
    #[error(transparent)]
    Arrow(#[from] arrow::error::ArrowError),
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        Self::Store(error.into())
    }
}

/// Result of a filling.
pub type Result<T> = std::result::Result<T, Error>;

/// Adverts whose assets are known, in blocks that are made apart from each other.
pub trait AssetSource: Sync {
    /// Number of blocks.
    fn blocks(&self) -> u64;
    /// The assets of a block in order of arrival: of each, the sightings of its adverts in time order, as ingestion takes
    /// them. What a sighting leaves out is unchanged.
    fn block(&self, block: u64) -> Vec<Vec<Value>>;
}

/// What came in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BulkLoadSummary {
    /// Properties.
    pub properties: u64,
    /// Adverts.
    pub adverts: u64,
    /// Sightings of them.
    pub sightings: u64,
    /// What happened to them.
    pub events: u64,
}

/// Fills the listings of a data folder that has none with what is known `at` a moment; `progress` is told how many
/// adverts were written. Durable on return, and a server that then starts on the folder is ready at once. Blocks.
///
/// # Errors
/// [`Error::NotEmpty`]; [`store::Error::InUse`]; an advert that ingestion would refuse; a disk that fails.
pub fn fill(
    data: &Path,
    assets: &impl AssetSource,
    iris: Option<&IrisIndex>,
    at: DateTime<Utc>,
    progress: &dyn Fn(u64),
) -> Result<BulkLoadSummary> {
    let texts = TextSearch::open(data)?;
    let lake = Lake::open(data)?;
    let (filled, imports, words, through) = Store::exclusive(data, |transaction| {
        refuse_listings(data, &lake, transaction)?;
        let workshop = BlockBuilder {
            words: texts.fill()?,
            iris,
            at,
            numbers: AtomicI64::new(0),
        };
        let mut writing = BulkWriter {
            tables: ListingsWriter::begin(transaction, PercolationBuffer::none())?,
            properties: lake.import(properties())?,
            adverts: lake.import(adverts())?,
            records: Spool::new(data),
            keys: Vec::new(),
            filled: BulkLoadSummary::default(),
        };
        let (making, made) = sync_channel(1);
        std::thread::scope(|scope| {
            scope.spawn(|| make(assets, &workshop, making));
            for blocks in made {
                for block in blocks? {
                    let before = writing.filled.adverts;
                    writing.write(block)?;
                    progress(writing.filled.adverts - before);
                }
            }
            Ok::<_, Error>(())
        })?;
        writing.insert_keys()?;
        let (tables, records) = (&writing.tables, writing.records);
        let put = |key, document: &[u8]| tables.write_record(key, document).map_err(Error::from);
        records.drain(put)?;
        let through = tables.last_sequence();
        let imports = [writing.properties, writing.adverts];
        Ok::<_, Error>((writing.filled, imports, workshop.words, through))
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

/// Makes all blocks, as many at once as there are threads, until nobody takes them any more.
fn make(
    assets: &impl AssetSource,
    workshop: &BlockBuilder<'_>,
    making: SyncSender<Result<Vec<BuiltBlock>>>,
) {
    let together = rayon::current_num_threads() as u64;
    let blocks = assets.blocks();
    for first in (0..blocks).step_by(together as usize) {
        let made = (first..blocks.min(first + together))
            .into_par_iter()
            .map(|block| workshop.make(assets.block(block)))
            .collect();
        if making.send(made).is_err() {
            return;
        }
    }
}

/// What blocks are written to.
struct BulkWriter<'t> {
    tables: ListingsWriter<'t>,
    properties: TableImport,
    adverts: TableImport,
    /// Records of the properties, to be put when all are there.
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

    /// Has adverts be found by their keys. In order of the keys: each page of that table is written once, not at random.
    fn insert_keys(&mut self) -> Result<()> {
        self.keys.par_sort_unstable();
        for (key, advert, outline) in self.keys.drain(..) {
            self.tables.insert_keys(advert, &[key], &outline)?;
        }
        Ok(())
    }
}
