//! The projection: tables of listings derived from the store and kept up to date for queries.
//!
//! The store is the source of truth and gives each change a sequence. A table records the sequence it reaches; the rows
//! of later changes are in the [`memtable`], and the previous row of a changed record is hidden. A
//! [`view::ProjectionView`] combines data files and memtable and never changes. Property searches read the current
//! [`snapshot`] of a [`Projection`], which is a view with the text index as of the same sequence.
//! [`Projection::refresh`] builds the next one less than a second after a change is on disk. While the text index is
//! not up to date, only text searches are refused: a separate thread fills an index that lags far behind, and replaces
//! a damaged one. SQL opens separate views ([`sql_tables`]).
//!
//! When many changes are pending, a separate thread compacts them into the table ([`compaction`]). A compaction or
//! rebuild, here or in another process, does not pause queries, ingestion or refreshes. A failed compaction is retried
//! later. A restart continues from the table's sequence.
//!
//! A changed property costs the parsing of its record and its conversion to a row, independent of the size of the
//! table.

pub mod compaction;
mod error;
pub mod memtable;
mod rows;
pub mod snapshot;
pub mod sql_tables;
pub mod view;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use parking_lot::Mutex;

use crate::Listings;
use crate::columns::{adverts, properties, table_of};
use crate::records::changes::CHANGES_MAX;
use crate::search::texts::{self, TextSearch};
pub use error::{Error, Result};
use memtable::Memtable;
use snapshot::{SearchSnapshot, SnapshotCache};
use toise_base::supervise::{Supervisor, Worker};
use toise_contract::listings::filters::ListingKind;
use toise_contract::position::CursorPosition;
use toise_engine::Engine;
use toise_engine::priority;
use toise_lake::Lake;
use view::ProjectionView;

/// Interval at which the projection reads changes from the store. Searches thus see them in less than a second. A
/// shorter interval would cost more, because a commit of the text index costs nearly as much for a few properties as
/// for many.
const REFRESH_EVERY: Duration = Duration::from_millis(250);
/// Minimum number of changed records that makes a compaction due: in memory they cost little.
const COMPACTION_ROWS_MIN: usize = 65_536;
/// Maximum changed adverts converted to rows for one query: a few seconds on two cores.
const ADVERT_ROWS_MAX: usize = 262_144;
/// How long the memtable of adverts is kept after its last use.
const ADVERTS_CACHE_TTL: Duration = Duration::from_secs(10 * 60);
/// How often the compaction check runs.
const COMPACTION_CHECK_EVERY: Duration = Duration::from_secs(1);
/// Number of changes beyond which the text index catches up in the background: fewer take about a second.
const TEXT_LAG_MAX: i64 = 20_000;
/// How often the text index is checked.
const TEXT_CHECK_EVERY: Duration = Duration::from_secs(1);
/// Maximum wait, when stopping, for a running refresh.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);
/// Pause before a failed refresh, compaction or text index update is retried.
const RETRY_AFTER_FAILURE: Duration = Duration::from_secs(30);

/// The tables of listings as queries see them. Shared by all queries.
pub struct Projection {
    listings: Listings,
    engine: Arc<Engine>,
    lake: Lake,
    texts: TextSearch,
    state: ArcSwap<SearchSnapshot>,
    /// Snapshots that cursors refer to.
    kept: SnapshotCache,
    writer: Mutex<ProjectionWriter>,
    /// The memtable of adverts as of its last use, with the time of that use.
    adverts: Mutex<Option<(Duration, Memtable)>>,
    compaction: Compaction,
}

/// Which process compacts changes into the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compaction {
    /// This process.
    Here,
    /// The writer whose publications this replica follows.
    OnWriter,
}

/// The state from which the next snapshot is built.
struct ProjectionWriter {
    memtable: Memtable,
    /// When the next update of the text index is attempted after a failure; `None` while it is up to date.
    index_retry_at: Option<Instant>,
    /// Whether the text index catches up in the background.
    is_index_behind: bool,
}

impl Projection {
    /// Opens the projection over an engine that was opened with the table, and applies the changes since its last
    /// compaction.
    ///
    /// # Errors
    /// Table or store cannot be read, or the table belongs to another store.
    pub fn open(
        listings: Listings,
        engine: Arc<Engine>,
        lake: Lake,
        texts: TextSearch,
        compaction: Compaction,
    ) -> Result<Self> {
        let memtable = Memtable::new(ListingKind::Property, engine.view(properties())?);
        compaction::check_reached(&listings, ListingKind::Property, Some(memtable.through()))?;
        let state = SearchSnapshot {
            number: rand::random(),
            view: Arc::new(memtable.view()),
            words: None,
        };
        let projection = Self {
            kept: SnapshotCache::new(listings.clock().clone()),
            listings,
            engine,
            lake,
            texts,
            state: ArcSwap::from_pointee(state),
            writer: Mutex::new(ProjectionWriter {
                memtable,
                index_retry_at: None,
                is_index_behind: false,
            }),
            adverts: Mutex::default(),
            compaction,
        };
        projection.catch_up()?;
        Ok(projection)
    }

    /// Returns the current search snapshot.
    pub fn state(&self) -> Arc<SearchSnapshot> {
        self.state.load_full()
    }

    /// Returns the rows of the current search snapshot.
    pub fn view(&self) -> Arc<ProjectionView> {
        Arc::clone(&self.state.load().view)
    }

    /// The search snapshot for a page after a position; the current one for the first page.
    ///
    /// # Errors
    /// [`Error::CursorExpired`] if rows changed since the previous page and its snapshot is no longer cached.
    pub(crate) fn state_after(
        &self,
        position: Option<&CursorPosition>,
    ) -> Result<Arc<SearchSnapshot>> {
        match position.and_then(|position| position.state) {
            Some(state) => {
                let found = self.kept.find(state, self.state());
                found.ok_or(Error::CursorExpired)
            }
            None => Ok(self.state()),
        }
    }

    /// Caches a snapshot for some minutes, for requests of the next page.
    pub(crate) fn keep(&self, state: &Arc<SearchSnapshot>) {
        self.kept.keep(state);
    }

    /// Returns a view of the adverts as of now. Queries on adverts are rare, so changed adverts are converted to rows
    /// on demand: the first call converts all changes since the last compaction, later calls those since the previous
    /// call. Blocks.
    ///
    /// # Errors
    /// Table or store cannot be read; [`Error::Behind`] while so many changes are pending that the compaction has to
    /// finish first.
    pub fn adverts(&self) -> Result<ProjectionView> {
        let of = ListingKind::Advert;
        let base = self.engine.view(adverts())?;
        let mut kept = self.adverts.lock();
        // Taken out while it changes, so that a memtable whose update failed midway is not reused.
        let mut memtable = match kept.take() {
            Some((_, mut memtable)) => {
                memtable.rebase(base)?;
                memtable
            }
            None => Memtable::new(of, base),
        };
        compaction::check_reached(&self.listings, of, Some(memtable.through()))?;
        let waiting = self
            .listings
            .count_since(of, memtable.through(), ADVERT_ROWS_MAX)?;
        if waiting == ADVERT_ROWS_MAX {
            return Err(Error::Behind);
        }
        loop {
            let changes = self
                .listings
                .changes_since(of, memtable.through(), CHANGES_MAX)?;
            if changes.through == memtable.through() {
                break;
            }
            memtable.take(&changes)?;
        }
        let view = memtable.view();
        *kept = Some((self.listings.clock().monotonic(), memtable));
        Ok(view)
    }

    /// Evicts the memtable of adverts if it was not used recently.
    fn evict_idle_adverts(&self) {
        // A held lock means the adverts are in use.
        if let Some(mut kept) = self.adverts.try_lock() {
            let now = self.listings.clock().monotonic();
            kept.take_if(|(used_at, _)| now.saturating_sub(*used_at) > ADVERTS_CACHE_TTL);
        }
    }

    /// Returns the engine that reads the tables.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Returns the engine, to share it with other readers of the same tables.
    pub fn shared_engine(&self) -> Arc<Engine> {
        Arc::clone(&self.engine)
    }

    /// Returns the tables of the data folder.
    pub fn lake(&self) -> &Lake {
        &self.lake
    }

    /// Returns the listings of the store.
    pub fn listings(&self) -> &Listings {
        &self.listings
    }

    /// Applies store changes since the last refresh, and switches to a rewritten table or text index. Blocks.
    ///
    /// # Errors
    /// Table or store cannot be read; the previous snapshot stays current.
    pub fn refresh(&self) -> Result<()> {
        self.kept.evict_idle();
        let mut writer = self.writer.lock();
        let writer = &mut *writer;
        let base = self.engine.view(properties())?;
        writer.memtable.rebase(base)?;
        let shown = self.view();
        let least = if writer.memtable.is_over(&shown) {
            shown.through()
        } else {
            // A record that changed while its table was written may be in no file until its change is applied.
            self.listings.last_sequence()?
        };
        self.update_text_index(writer, |texts| texts.switch_to_newer(&self.listings));
        // Later changes wait for the next refresh, because others may write faster than this loop applies them.
        let goal = self.listings.last_sequence()?;
        loop {
            let through = writer.memtable.through();
            self.update_text_index(writer, |texts| texts.catch_up_to(&self.listings, through));
            let of = ListingKind::Property;
            let changes = self.listings.changes_since(of, through, CHANGES_MAX)?;
            if changes.through == through || through >= goal {
                break;
            }
            self.update_text_index(writer, |texts| texts.take(through, &changes));
            writer.memtable.take(&changes)?;
            if writer.memtable.through() >= least {
                self.show(writer);
            }
        }
        if writer.memtable.through() >= least {
            self.show(writer);
        }
        Ok(())
    }

    /// Runs an update of the text index. After a failure, updates are skipped and text searches are refused for
    /// [`RETRY_AFTER_FAILURE`]; likewise while the index catches up in the background.
    fn update_text_index(
        &self,
        writer: &mut ProjectionWriter,
        job: impl FnOnce(&TextSearch) -> texts::Result<()>,
    ) {
        match writer.index_retry_at {
            Some(retry_at) if Instant::now() < retry_at => return,
            _ => writer.index_retry_at = None,
        }
        writer.is_index_behind = self.compaction == Compaction::Here
            && (self.texts.is_catching_up() || self.is_far_behind(writer.memtable.through()));
        if writer.is_index_behind {
            return;
        }
        if let Err(error) = job(&self.texts) {
            tracing::error!(%error, "cannot update the text index of properties; text searches are refused for now");
            writer.index_retry_at = Some(Instant::now() + RETRY_AFTER_FAILURE);
        }
    }

    /// Returns whether the text index lags so far behind a sequence that it catches up in the background.
    fn is_far_behind(&self, through: i64) -> bool {
        through.saturating_sub(self.texts.through()) > TEXT_LAG_MAX
    }

    /// Verifies the text index if there is reason to, replaces it if it is damaged, and fills it if it lags far behind.
    /// Blocks for minutes if there is much to do.
    fn keep_texts(&self) -> texts::Result<()> {
        self.texts.repair()?;
        let through = self.view().through();
        if self.is_far_behind(through) {
            tracing::info!(
                from = self.texts.through(),
                to = through,
                "filling the text index"
            );
            self.texts.catch_up_to(&self.listings, through)?;
            tracing::info!(through, "the text index is filled");
        }
        Ok(())
    }

    /// Publishes a new search snapshot if anything changed since the current one.
    fn show(&self, writer: &ProjectionWriter) {
        let is_current = writer.index_retry_at.is_none() && !writer.is_index_behind;
        let words = is_current.then(|| self.texts.found()).flatten();
        let shown = self.state();
        let is_shown = writer.memtable.is_over(&shown.view)
            && writer.memtable.through() == shown.view.through()
            && match (&words, &shown.words) {
                (Some(words), Some(shown)) => words.is(shown),
                (words, shown) => words.is_none() && shown.is_none(),
            };
        if !is_shown {
            self.state.store(Arc::new(SearchSnapshot {
                number: shown.number.wrapping_add(1),
                view: Arc::new(writer.memtable.view()),
                words,
            }));
        }
    }

    /// Refreshes after a long downtime: the text index is updated in few large commits, and many changed rows are
    /// compacted into the table at the same time.
    fn catch_up(&self) -> Result<()> {
        let through = self.listings.last_sequence()?;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                if let Err(error) = self.compact_if_due(ListingKind::Property) {
                    tracing::warn!(%error, "cannot compact changed properties; they stay in memory for now");
                }
            });
            let mut writer = self.writer.lock();
            self.update_text_index(&mut writer, |texts| {
                if texts.through() > through {
                    // The text index belongs to another store.
                    texts.clear()?;
                }
                Ok(())
            });
            self.update_text_index(&mut writer, |texts| {
                texts.catch_up_to(&self.listings, through)
            });
        });
        self.refresh()
    }

    /// Compacts pending changes into the table of properties or adverts. Blocks for seconds on large tables; queries
    /// continue.
    ///
    /// # Errors
    /// The table cannot be written, or another process is writing it.
    pub fn compact(&self, listing: ListingKind) -> Result<()> {
        self.write_table(listing)?;
        self.refresh()
    }

    fn write_table(&self, listing: ListingKind) -> Result<()> {
        compaction::compact(&self.listings, &self.lake, listing, &|_| {})?;
        self.engine.refresh_now(table_of(listing))?;
        Ok(())
    }

    fn compact_if_due(&self, listing: ListingKind) -> Result<()> {
        if self.compaction == Compaction::OnWriter {
            return Ok(());
        }
        if compaction::is_due(&self.listings, &self.lake, listing, COMPACTION_ROWS_MIN)? {
            self.write_table(listing)
        } else {
            Ok(())
        }
    }

    /// Starts the worker threads that refresh and compact the projection and keep its text index, until the guard is
    /// dropped.
    ///
    /// # Errors
    /// A thread cannot be started.
    pub fn start_workers(
        self: &Arc<Self>,
        supervisor: &Supervisor,
    ) -> std::io::Result<ProjectionWorkers> {
        let stop = Arc::default();
        let refresh = |projection: &Projection| match projection.refresh() {
            Ok(()) => REFRESH_EVERY,
            Err(error) => {
                tracing::error!(%error, "cannot refresh the properties from the store");
                RETRY_AFTER_FAILURE
            }
        };
        let compact = |projection: &Projection| {
            // Rewriting a large table takes a core for seconds: queries have priority.
            priority::lower();
            let results = [ListingKind::Property, ListingKind::Advert].map(|listing| {
                let result = projection.compact_if_due(listing);
                if let Err(error) = &result {
                    let table = listing.table();
                    tracing::warn!(%error, table, "cannot compact changed listings into their table; will retry");
                }
                result
            });
            projection.evict_idle_adverts();
            if results.iter().all(Result::is_ok) {
                COMPACTION_CHECK_EVERY
            } else {
                RETRY_AFTER_FAILURE
            }
        };
        let keep_texts = |projection: &Projection| {
            priority::lower();
            match projection.keep_texts() {
                Ok(()) => TEXT_CHECK_EVERY,
                Err(error) => {
                    tracing::error!(%error, "cannot repair the text index; text searches are refused for now");
                    RETRY_AFTER_FAILURE
                }
            }
        };
        Ok(ProjectionWorkers {
            text_thread: self.repeat(supervisor, "text-index", &stop, keep_texts)?,
            refresh_thread: self.repeat(supervisor, "projection", &stop, refresh)?,
            compaction_thread: self.repeat(supervisor, "compaction", &stop, compact)?,
            stop,
        })
    }

    /// Starts a thread that runs a job repeatedly until it is stopped; each run returns the pause before the next.
    fn repeat(
        self: &Arc<Self>,
        supervisor: &Supervisor,
        name: &str,
        stop: &Arc<AtomicBool>,
        job: impl Fn(&Self) -> Duration + Send + 'static,
    ) -> std::io::Result<Worker> {
        let (projection, stop) = (Arc::clone(self), Arc::clone(stop));
        supervisor.spawn(name, move |pulse| {
            while !stop.load(Ordering::Relaxed) {
                pulse.turn();
                // Parks rather than sleeps, so that a stop takes effect immediately.
                pulse.park_within(job(&projection));
            }
        })
    }
}

/// Guard of the projection's worker threads. Dropping it does not wait for a running compaction or text index update:
/// their changes are published completely or not at all.
#[derive(Debug)]
pub struct ProjectionWorkers {
    stop: Arc<AtomicBool>,
    refresh_thread: Worker,
    compaction_thread: Worker,
    text_thread: Worker,
}

impl Drop for ProjectionWorkers {
    fn drop(&mut self) {
        self.refresh_thread.release();
        self.compaction_thread.release();
        self.text_thread.release();
        self.stop.store(true, Ordering::Relaxed);
        self.text_thread.unpark();
        self.compaction_thread.unpark();
        self.refresh_thread.unpark();
        self.refresh_thread.join_within(STOP_TIMEOUT);
    }
}
