//! The properties as questions read them: the lake's table, and in memory what changed since it was written.
//!
//! The store is the truth and numbers its changes. The table says through which number it reaches; the rows of later
//! changes lie in batches in memory ([`tail`]), and a row that changed is hidden wherever it lay before. A
//! [`view::View`] is one state of both and never changes; [`Projection::refresh`] makes the next from the changes
//! since, in less than a second after each is on disk. [`Projection::fold`] writes the batches into the table, on a
//! thread of its own: neither it nor a compaction by another process pauses questions, ingestion or refreshing, and a
//! fold that fails is tried again later. Restarting goes on from the table's number.
//!
//! A changed property costs what parsing its record and laying it out costs, whatever the size of the table.

pub mod tail;
pub mod view;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use arc_swap::ArcSwap;

use super::Listings;
use super::columns::{self, properties};
use super::texts::{self, Texts};
use crate::engine::Engine;
use crate::lake::{Lake, RowSink};
use tail::Tail;
use view::View;

/// How often the store is asked for changes.
const REFRESH_EVERY: Duration = Duration::from_millis(100);
/// Rows in memory from which they are folded into the table, at least.
const FOLD_ROWS_MIN: usize = 65_536;
/// Share of the table's rows that may lie in memory before they are folded: each fold rewrites files.
const FOLD_SHARE: usize = 16;
/// How often it is looked whether a fold pays.
const FOLD_EVERY: Duration = Duration::from_secs(1);
/// How long after a failure it is tried again.
const AGAIN_AFTER: Duration = Duration::from_secs(30);

/// Why the projection is not what the store is.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The store could not be read.
    #[error(transparent)]
    Listings(#[from] super::Error),
    /// The table could not be read.
    #[error(transparent)]
    Engine(#[from] crate::engine::Error),
    /// The table could not be written.
    #[error(transparent)]
    Lake(#[from] crate::lake::Error),
    /// A stored property is no record.
    #[error("property {id} in the store cannot be read: {error}")]
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
        "lake/properties reaches through change {table}, the store only through {store}: it is of another store, remove it"
    )]
    Ahead {
        /// Change the table reaches through.
        table: i64,
        /// Last change of the store.
        store: i64,
    },
    /// Rows could not be put together.
    #[error(transparent)]
    Arrow(#[from] arrow::error::ArrowError),
}

/// Result of an operation on the projection.
pub type Result<T> = std::result::Result<T, Error>;

/// The table of properties with what changed since. Shared by all questions.
pub struct Projection {
    listings: Listings,
    engine: Arc<Engine>,
    lake: Lake,
    texts: Texts,
    view: ArcSwap<View>,
    tail: Mutex<Tail>,
}

impl Projection {
    /// Opens the projection over an engine that was opened with the table, and reads what changed since it was
    /// written.
    ///
    /// # Errors
    /// Table, index of words or store cannot be read, or the table is not of this store.
    pub fn open(listings: Listings, engine: Arc<Engine>, lake: Lake, texts: Texts) -> Result<Self> {
        let tail = Tail::over(engine.view(properties())?);
        let (table, store) = (tail.through(), listings.last_sequence()?);
        if table > store {
            return Err(Error::Ahead { table, store });
        }
        if texts.through() > store {
            texts.clear()?;
        }
        let projection = Self {
            listings,
            engine,
            lake,
            texts,
            view: ArcSwap::from_pointee(tail.view()),
            tail: Mutex::new(tail),
        };
        projection.catch_up()?;
        Ok(projection)
    }

    /// The present state.
    pub fn view(&self) -> Arc<View> {
        self.view.load_full()
    }

    /// The engine of the table.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The index of words.
    pub fn texts(&self) -> &Texts {
        &self.texts
    }

    /// The store behind it.
    pub fn listings(&self) -> &Listings {
        &self.listings
    }

    /// Takes up what changed in the store since, and a table that was written anew. Blocks.
    ///
    /// # Errors
    /// Table, words or store cannot be read; the former state stays.
    pub fn refresh(&self) -> Result<()> {
        while self.take_more()? {}
        Ok(())
    }

    /// The same after a long absence: folds on the way, so that memory holds no more than at other times.
    fn catch_up(&self) -> Result<()> {
        while self.take_more()? {
            if self.is_full()
                && let Err(error) = self.fold()
            {
                tracing::warn!(%error, "changed properties stay in memory for now");
                return self.refresh();
            }
        }
        Ok(())
    }

    /// Takes up the next changes; says whether there may be more.
    fn take_more(&self) -> Result<bool> {
        let through = {
            let mut tail = self.tail();
            if tail.rebase(self.engine.view(properties())?)? {
                self.view.store(Arc::new(tail.view()));
            }
            tail.through()
        };
        self.words_through(through)?;
        if self.listings.last_sequence()? <= through {
            return Ok(false);
        }
        // Read outside the lock: only one caller's changes are taken, the other's are there already.
        let changes = self.listings.changes_since(through, tail::TAKEN_AT_ONCE)?;
        if self.texts.through() == through {
            self.texts.take(&changes)?;
        }
        let mut tail = self.tail();
        if tail.through() == through && tail.take(changes)? {
            self.view.store(Arc::new(tail.view()));
        }
        Ok(true)
    }

    /// Whether so many rows lie in memory that a fold pays.
    fn is_full(&self) -> bool {
        let tail = self.tail();
        tail.rows() >= FOLD_ROWS_MIN.max(tail.base_rows() / FOLD_SHARE)
    }

    /// Has the index of words hold every change through a number: it may have been left behind, or made anew.
    fn words_through(&self, through: i64) -> Result<()> {
        while self.texts.through() < through {
            let known = self.texts.through();
            let changes = self.listings.changes_since(known, tail::TAKEN_AT_ONCE)?;
            if changes.is_empty() {
                return Ok(());
            }
            self.texts.take(&changes)?;
        }
        Ok(())
    }

    /// Writes the rows in memory into the table. Blocks for seconds on large tables; questions go on.
    ///
    /// # Errors
    /// The table cannot be written, or another process writes it.
    pub fn fold(&self) -> Result<()> {
        let Some(waiting) = self.tail().waiting()? else {
            return Ok(());
        };
        let mut import = self.lake.import(properties())?;
        for rows in waiting.rows {
            import.push(rows)?;
        }
        for id in waiting.gone {
            import.remove(&id.to_string());
        }
        import.reaches(waiting.through);
        import.publish(Vec::new(), Vec::new())?;
        self.engine.look_again(properties())?;
        let mut tail = self.tail();
        if tail.rebase(self.engine.view(properties())?)? {
            self.view.store(Arc::new(tail.view()));
        }
        Ok(())
    }

    /// Keeps the projection up with the store, and folds it, from two threads of its own, until the guard is dropped.
    ///
    /// # Errors
    /// A thread cannot be started.
    pub fn keep_up(self: &Arc<Self>) -> std::io::Result<Keeping> {
        let stop = Arc::default();
        let refresh = |projection: &Projection| match projection.refresh() {
            Ok(()) => REFRESH_EVERY,
            Err(error) => {
                tracing::error!(%error, "properties cannot be brought up to date");
                AGAIN_AFTER
            }
        };
        let fold = |projection: &Projection| match projection.is_full() {
            false => FOLD_EVERY,
            true => match projection.fold() {
                Ok(()) => FOLD_EVERY,
                Err(error) => {
                    tracing::warn!(%error, "changed properties stay in memory for now");
                    AGAIN_AFTER
                }
            },
        };
        Ok(Keeping {
            refreshing: Some(self.repeat("projection", &stop, refresh)?),
            folding: self.repeat("fold", &stop, fold)?,
            stop,
        })
    }

    /// Starts a thread that does something again and again, after the pause each time gives, until it is stopped.
    fn repeat(
        self: &Arc<Self>,
        name: &str,
        stop: &Arc<AtomicBool>,
        job: impl Fn(&Self) -> Duration + Send + 'static,
    ) -> std::io::Result<JoinHandle<()>> {
        let (projection, stop) = (Arc::clone(self), Arc::clone(stop));
        let thread = std::thread::Builder::new().name(name.to_owned());
        thread.spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                // Parked rather than asleep: stopping does not wait.
                std::thread::park_timeout(job(&projection));
            }
        })
    }

    /// Whoever panicked left the tail between two changes, and the next view is made of what it holds.
    fn tail(&self) -> MutexGuard<'_, Tail> {
        self.tail.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Keeps a projection up while it lives. A fold under way when it is dropped is not waited for: it publishes whole or not
/// at all.
#[derive(Debug)]
pub struct Keeping {
    stop: Arc<AtomicBool>,
    refreshing: Option<JoinHandle<()>>,
    folding: JoinHandle<()>,
}

impl Drop for Keeping {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.folding.thread().unpark();
        if let Some(thread) = self.refreshing.take() {
            thread.thread().unpark();
            // A thread that panicked has said so.
            let _ = thread.join();
        }
    }
}
