//! The properties as questions read them: the lake's table, and in memory what changed since it was written.
//!
//! The store is the truth and numbers its changes. The table says through which number it reaches; the rows of later
//! changes lie in batches in memory ([`tail`]), and a row that changed is hidden wherever it lay before. A
//! [`view::View`] is one state of both and never changes; [`Projection::refresh`] makes the next from the changes
//! since, in less than a second after each is on disk. [`Projection::fold`] writes the batches into the table; neither
//! it nor a compaction by another process pauses questions or ingestion, and restarting goes on from the table's
//! number.
//!
//! Cost: a changed property takes 30 µs (its record is parsed); a batch of a few dozen rows a millisecond, whatever the
//! size of the table.

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
/// How long a fold that failed is left alone.
const FOLD_AGAIN_AFTER: Duration = Duration::from_secs(30);

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
        projection.refresh()?;
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

    /// Takes up what changed in the store since, and a table that was written anew. Folds on the way when a long
    /// absence left more than memory is for. Blocks.
    ///
    /// # Errors
    /// Table or store cannot be read; the former state stays.
    pub fn refresh(&self) -> Result<()> {
        loop {
            let (through, is_full) = {
                let mut tail = self.tail();
                if tail.rebase(self.engine.view(properties())?)? {
                    self.view.store(Arc::new(tail.view()));
                }
                (tail.through(), is_full(&tail))
            };
            if is_full {
                self.fold()?;
            }
            self.words_through(through)?;
            if self.listings.last_sequence()? <= through {
                return Ok(());
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
        }
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

    /// Keeps the projection up with the store from a thread of its own, until the guard is dropped.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn keep_up(self: &Arc<Self>) -> std::io::Result<Keeping> {
        let stop = Arc::new(AtomicBool::new(false));
        let (projection, stopped) = (Arc::clone(self), Arc::clone(&stop));
        let thread = std::thread::Builder::new()
            .name("projection".to_owned())
            .spawn(move || {
                while !stopped.load(Ordering::Relaxed) {
                    let pause = match projection.refresh() {
                        Ok(()) => REFRESH_EVERY,
                        Err(error) => {
                            tracing::error!(%error, "properties cannot be brought up to date");
                            FOLD_AGAIN_AFTER
                        }
                    };
                    // Parked rather than asleep: stopping does not wait.
                    std::thread::park_timeout(pause);
                }
            })?;
        Ok(Keeping {
            stop,
            thread: Some(thread),
        })
    }

    /// Whoever panicked left the tail between two changes, and the next view is made of what it holds.
    fn tail(&self) -> MutexGuard<'_, Tail> {
        self.tail.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether so many rows lie in memory that a fold pays.
fn is_full(tail: &Tail) -> bool {
    tail.rows() >= FOLD_ROWS_MIN.max(tail.base_rows() / FOLD_SHARE)
}

/// Keeps a projection up while it lives.
#[derive(Debug)]
pub struct Keeping {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Keeping {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // A thread that panicked has said so.
            let _ = thread.join();
        }
    }
}
