//! The tables of listings, kept from the store: what the lake holds of them, and in memory what changed since.
//!
//! The store is the truth and numbers its changes. A table says through which number it reaches; the rows of later
//! changes lie in batches in memory ([`memtable`]), and a row that changed is hidden wherever it lay before. A
//! [`view::ProjectionView`] is both as they are at one moment and never changes. Searches of properties ask the [`state`] of a
//! [`Projection`], a view with the words of its rows; [`Projection::refresh`] makes the next from the changes since, in
//! less than a second after each is on disk. Where the words cannot be kept up, rows go on without them: only searches
//! for words are refused. SQL asks views of its own ([`now`]). When much waits, it is folded into the table ([`mod@fold`]), on a thread of its own:
//! neither that nor a compaction or rebuild by another process pauses questions, ingestion or refreshing, and a fold
//! that fails is tried again later. Restarting goes on from the table's number.
//!
//! A changed property costs what parsing its record and laying it out costs, whatever the size of the table.

pub mod compaction;
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
use crate::columns::{self, adverts, properties, table_of};
use crate::records::changes::CHANGES_MAX;
use crate::search::texts::{self, TextSearch};
use memtable::Memtable;
use snapshot::{SearchSnapshot, SnapshotCache};
use toise_base::supervise::{Supervisor, Worker};
use toise_contract::listings::filters::ListingKind;
use toise_engine::Engine;
use toise_engine::priority;
use toise_lake::Lake;
use view::ProjectionView;

/// How often the store is asked for changes: searches see them in less than a second, and committing the words of few
/// properties costs nearly as much as those of many.
const REFRESH_EVERY: Duration = Duration::from_millis(250);
/// Changed records from which they are folded, at least: in memory they cost little.
const COMPACTION_ROWS_MIN: usize = 65_536;
/// Changed adverts that are laid out for one question at most: some seconds on two cores.
const ADVERT_ROWS_MAX: usize = 262_144;
/// How long what was laid out of them is kept for the next question.
const ADVERTS_CACHE_TTL: Duration = Duration::from_secs(10 * 60);
/// How often it is looked whether a fold pays.
const COMPACTION_CHECK_EVERY: Duration = Duration::from_secs(1);
/// Longest wait at the end for a refresh that is under way.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);
/// How long after a failure it is tried again.
const RETRY_AFTER_FAILURE: Duration = Duration::from_secs(30);

/// Why the projection is not what the store is.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The store could not be read.
    #[error(transparent)]
    Listings(#[from] crate::Error),
    /// The table could not be read.
    #[error(transparent)]
    Engine(#[from] toise_engine::Error),
    /// The table could not be written.
    #[error(transparent)]
    Lake(#[from] toise_lake::Error),
    /// A stored listing is no record.
    #[error("listing {id} in the store cannot be read: {error}")]
    Record {
        /// Its identifier.
        id: String,
        /// What is wrong with it.
        error: serde_json::Error,
    },
    /// A record is no row.
    #[error(transparent)]
    Row(#[from] columns::Error),
    /// The words could not be read or written.
    #[error(transparent)]
    Texts(#[from] texts::Error),
    /// The table is of another store.
    #[error(
        "lake/{name} reaches through change {table}, the store only through {store}: it is of another store; \
         `toise compact --rebuild` makes it anew"
    )]
    Ahead {
        /// Name of the table.
        name: &'static str,
        /// Change the table reaches through.
        table: i64,
        /// Last change of the store.
        store: i64,
    },
    /// The words cannot be searched for now.
    #[error("the words of properties cannot be searched for now")]
    TextIndexUnavailable,
    /// So many adverts changed since their table was written that a fold comes first.
    #[error("the table of adverts is being written")]
    Behind,
    /// No thread could be started.
    #[error("no thread for the changed adverts: {0}")]
    Thread(#[from] std::io::Error),
    /// The thread that laid out adverts panicked, and has said so.
    #[error("changed adverts could not be laid out")]
    Panicked,
    /// Rows could not be put together.
    #[error(transparent)]
    Arrow(#[from] arrow::error::ArrowError),
}

/// Result of an operation on the projection.
pub type Result<T> = std::result::Result<T, Error>;

/// The properties, as searches find them. Shared by all questions.
pub struct Projection {
    listings: Listings,
    engine: Arc<Engine>,
    lake: Lake,
    texts: TextSearch,
    state: ArcSwap<SearchSnapshot>,
    /// States of which pages were given.
    kept: SnapshotCache,
    writer: Mutex<ProjectionWriter>,
    /// Of adverts, as they were when they were last asked for, and when that was.
    adverts: Mutex<Option<(Duration, Memtable)>>,
}

/// What is behind the next state.
struct ProjectionWriter {
    memtable: Memtable,
    /// When the words are tried again that could not be kept up; `None` while they are.
    index_retry_at: Option<Instant>,
}

impl Projection {
    /// Opens the projection over an engine that was opened with the table, and reads what changed since it was
    /// written.
    ///
    /// # Errors
    /// Table or store cannot be read, or the table is not of this store.
    pub fn open(
        listings: Listings,
        engine: Arc<Engine>,
        lake: Lake,
        texts: TextSearch,
    ) -> Result<Self> {
        let memtable = Memtable::new(ListingKind::Property, engine.view(properties())?);
        compaction::reaches(&listings, ListingKind::Property, Some(memtable.through()))?;
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
            }),
            adverts: Mutex::default(),
        };
        projection.catch_up()?;
        Ok(projection)
    }

    /// The present state.
    pub fn state(&self) -> Arc<SearchSnapshot> {
        self.state.load_full()
    }

    /// The rows of the present state.
    pub fn view(&self) -> Arc<ProjectionView> {
        Arc::clone(&self.state.load().view)
    }

    /// The state of a number while it is kept, else the present one.
    pub(crate) fn state_of(&self, number: Option<u64>) -> Arc<SearchSnapshot> {
        let kept = number.and_then(|number| self.kept.find(number));
        kept.unwrap_or_else(|| self.state())
    }

    /// Keeps a state for some minutes, for who goes on with a page of it.
    pub(crate) fn keep(&self, state: &Arc<SearchSnapshot>) {
        self.kept.keep(state);
    }

    /// The adverts as they are now. Few ask for them, so what changed is only laid out when someone does: all since the
    /// table was written at first, all since the last time afterwards. Blocks.
    ///
    /// Rows are laid out on all cores under a lock, so never on the pool of the caller: a thread that waits there for
    /// parts of its work may be handed another such question meanwhile, which would wait for the lock below it for ever.
    ///
    /// # Errors
    /// Table or store cannot be read; [`Error::Behind`] while so much waits to be folded that it is better waited for.
    pub fn adverts(&self) -> Result<ProjectionView> {
        std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().name("adverts".to_owned());
            let delta = thread.spawn_scoped(scope, || self.build_adverts_view())?;
            delta.join().unwrap_or(Err(Error::Panicked))
        })
    }

    fn build_adverts_view(&self) -> Result<ProjectionView> {
        let of = ListingKind::Advert;
        let base = self.engine.view(adverts())?;
        let mut kept = self.adverts.lock();
        // Taken out while it changes: one that failed midway is not gone on from.
        let mut memtable = match kept.take() {
            Some((_, mut memtable)) => {
                memtable.rebase(base)?;
                memtable
            }
            None => Memtable::new(of, base),
        };
        compaction::reaches(&self.listings, of, Some(memtable.through()))?;
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

    /// Lets go of the adverts in memory that nobody asked for lately.
    fn evict_idle_adverts(&self) {
        // Who holds the lock asks for them.
        if let Some(mut kept) = self.adverts.try_lock() {
            let now = self.listings.clock().monotonic();
            kept.take_if(|(asked_at, _)| now.saturating_sub(*asked_at) > ADVERTS_CACHE_TTL);
        }
    }

    /// The engine of the table.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The store behind it.
    pub fn listings(&self) -> &Listings {
        &self.listings
    }

    /// Takes up what changed in the store since, a table that was written anew, and an index that was. Blocks. Computes on
    /// all cores under a lock: not to be called from a thread of a rayon pool.
    ///
    /// # Errors
    /// Table or store cannot be read; the former state stays.
    pub fn refresh(&self) -> Result<()> {
        self.kept.evict_idle();
        let mut writer = self.writer.lock();
        let writer = &mut *writer;
        let base = self.engine.view(properties())?;
        writer.memtable.rebase(base)?;
        let shown = self.view();
        let least = match writer.memtable.is_over(&shown) {
            true => shown.through(),
            // A record that changed while its table was written is in no file before its change is taken.
            false => self.listings.last_sequence()?,
        };
        self.update_text_index(writer, |texts| texts.switch_to_newer(&self.listings));
        loop {
            let through = writer.memtable.through();
            self.update_text_index(writer, |texts| texts.catch_up_to(&self.listings, through));
            let of = ListingKind::Property;
            let changes = self.listings.changes_since(of, through, CHANGES_MAX)?;
            if changes.through == through {
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

    /// Does something about the words. One that fails is tried again later; meanwhile there are none.
    fn update_text_index(
        &self,
        writer: &mut ProjectionWriter,
        job: impl FnOnce(&TextSearch) -> texts::Result<()>,
    ) {
        match writer.index_retry_at {
            Some(again_at) if Instant::now() < again_at => return,
            _ => writer.index_retry_at = None,
        }
        if let Err(error) = job(&self.texts) {
            tracing::error!(%error, "words of properties cannot be searched for now");
            writer.index_retry_at = Some(Instant::now() + RETRY_AFTER_FAILURE);
        }
    }

    /// Has searches see what was taken, if that is not what they see.
    fn show(&self, writer: &ProjectionWriter) {
        let words = match writer.index_retry_at {
            None => Some(self.texts.found()),
            Some(_) => None,
        };
        let shown = self.state();
        let is_shown = writer.memtable.is_over(&shown.view)
            && writer.memtable.through() == shown.view.through()
            && match (&words, &shown.words) {
                (Some(words), Some(shown)) => words.is(shown),
                (words, shown) => words.is_none() && shown.is_none(),
            };
        if !is_shown {
            self.state.store(Arc::new(SearchSnapshot {
                number: shown.number().wrapping_add(1),
                view: Arc::new(writer.memtable.view()),
                words,
            }));
        }
    }

    /// The same after a long absence: the words of all that waits are committed at once, and many rows go straight into
    /// the table meanwhile.
    fn catch_up(&self) -> Result<()> {
        let through = self.listings.last_sequence()?;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                if let Err(error) = self.compact_if_due(ListingKind::Property) {
                    tracing::warn!(%error, "changed properties stay in memory for now");
                }
            });
            self.update_text_index(&mut self.writer.lock(), |texts| {
                if texts.through() > through {
                    // They are of another store.
                    texts.clear()?;
                }
                texts.catch_up_to(&self.listings, through)
            });
        });
        self.refresh()
    }

    /// Writes what changed into the table of properties or adverts. Blocks for seconds on large tables; questions go on.
    ///
    /// # Errors
    /// The table cannot be written, or another process writes it.
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
        match compaction::is_due(&self.listings, &self.lake, listing, COMPACTION_ROWS_MIN)? {
            true => self.write_table(listing),
            false => Ok(()),
        }
    }

    /// Keeps the projection up with the store, and folds it, from two threads of its own, until the guard is dropped.
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
                tracing::error!(%error, "properties cannot be brought up to date");
                RETRY_AFTER_FAILURE
            }
        };
        let fold = |projection: &Projection| {
            // Writing a large table anew takes a core for seconds: questions go first.
            priority::lower();
            let folded = [ListingKind::Property, ListingKind::Advert].map(|listing| {
                let folded = projection.compact_if_due(listing);
                if let Err(error) = &folded {
                    let table = listing.table();
                    tracing::warn!(%error, table, "changed listings are not folded into their table for now");
                }
                folded
            });
            projection.evict_idle_adverts();
            match folded.iter().all(Result::is_ok) {
                true => COMPACTION_CHECK_EVERY,
                false => RETRY_AFTER_FAILURE,
            }
        };
        Ok(ProjectionWorkers {
            refresh_thread: self.repeat(supervisor, "projection", &stop, refresh)?,
            compaction_thread: self.repeat(supervisor, "compaction", &stop, fold)?,
            stop,
        })
    }

    /// Starts a thread that does something again and again, after the pause each time gives, until it is stopped.
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
                // Parked rather than asleep: stopping does not wait.
                std::thread::park_timeout(job(&projection));
            }
        })
    }
}

/// Keeps a projection up while it lives. A fold under way when it is dropped is not waited for: it publishes whole or not
/// at all.
#[derive(Debug)]
pub struct ProjectionWorkers {
    stop: Arc<AtomicBool>,
    refresh_thread: Worker,
    compaction_thread: Worker,
}

impl Drop for ProjectionWorkers {
    fn drop(&mut self) {
        self.refresh_thread.release();
        self.compaction_thread.release();
        self.stop.store(true, Ordering::Relaxed);
        self.compaction_thread.unpark();
        self.refresh_thread.unpark();
        self.refresh_thread.join_within(STOP_TIMEOUT);
    }
}
