//! The text index of properties: an index on disk of titles, descriptions and tags, derived from the store.
//!
//! Called by the projection, which keeps it up to date. A restart continues from the sequence of the last change it
//! holds. Each index is in a numbered folder, and the one with the highest number is current. So [`rebuild`] can build
//! the next index while others have the current one open, and gives it its number when it is complete;
//! [`TextSearch::switch_to_newer`] then switches to it and deletes its predecessor. A damaged index is set aside and
//! replaced by an empty one with the next number, which is filled from the store (`damage.rs`). One process writes an
//! index; if that process is stopped, another takes over under the next number (`takeover.rs`).

mod bitset;
mod bulk_indexer;
mod damage;
mod index;
#[cfg(test)]
mod index_tests;
mod postings_cache;
mod query;
mod rebuilding;
mod segments;
mod takeover;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use parking_lot::Mutex;
use segments::IndexSnapshot;
use takeover::{AwaitedCommit, SILENT_MAX, take_over};
use tantivy::TantivyError;

use crate::Listings;
use crate::records::changes::{CHANGES_MAX, ListingChanges};
pub use bulk_indexer::BulkIndexer;
pub use damage::verify;
pub use index::TextIndex;
pub use query::TextMatches;
use rebuilding::{DRAFT, publish, rebuild_lock};
pub use rebuilding::{rebuild, replace};
use toise_base::missing::optional;
use toise_contract::listings::filters::{ListingKind, ListingSearch};
use toise_engine::cancellation::Interrupt;

/// Folder of the text indexes in a data folder.
pub const FOLDER: &str = "index/properties";
/// Changes per commit while an index catches up on many changes.
const COMMIT_EVERY: usize = 20 * CHANGES_MAX;

/// Errors of reading or writing the text index.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The index could not be opened, read or written.
    #[error("text index: {0}")]
    Index(#[from] TantivyError),
    /// The index folder cannot be used.
    #[error("{path}: {error}", path = path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The I/O error.
        error: std::io::Error,
    },
    /// Another process is rebuilding the index.
    #[error("{path}: another process is rebuilding the text index; wait until it ends", path = .0.display())]
    Busy(PathBuf),
    /// The index is damaged.
    #[error("text index: {0}")]
    Damaged(String),
    /// There is no index that can be used, or it is being filled.
    #[error("the text index is not available")]
    Unavailable,
    /// A document has a property number that no store assigns.
    #[error(
        "text index: {0} is not a property number; rebuild the index with `toise compact --rebuild`"
    )]
    Number(u64),
    /// The store could not be read.
    #[error(transparent)]
    Listings(#[from] crate::Error),
    /// The query was cancelled.
    #[error(transparent)]
    Engine(#[from] toise_engine::Error),
}

impl Error {
    fn folder(path: &Path, error: std::io::Error) -> Self {
        Self::Folder {
            path: path.to_owned(),
            error,
        }
    }
}

/// Result of an operation on the index.
pub type Result<T> = std::result::Result<T, Error>;

/// The current text index. Shared by all queries.
pub struct TextSearch {
    folder: PathBuf,
    /// `None` while the folder cannot be used.
    present: ArcSwapOption<NumberedIndex>,
    /// Held while changes are applied, or while switching to another index. Contains the commit of another process for
    /// which this one waits.
    writing: Mutex<Option<AwaitedCommit>>,
    /// Time to wait for that commit before this process takes the index over.
    silent_max: Duration,
    /// Whether the files should be verified: after opening, and after a failure.
    is_suspect: Arc<AtomicBool>,
}

struct NumberedIndex {
    number: u64,
    words: TextIndex,
}

impl TextSearch {
    /// Opens the index of a data folder. A damaged index is set aside and replaced by an empty one. If the folder
    /// cannot be used, there is no index until [`TextSearch::repair`] succeeds.
    pub fn open(data: &Path) -> Self {
        let search = Self {
            folder: data.join(FOLDER),
            present: ArcSwapOption::empty(),
            writing: Mutex::default(),
            silent_max: SILENT_MAX,
            is_suspect: Arc::new(AtomicBool::new(true)),
        };
        if let Err(error) = search.open_latest() {
            tracing::error!(%error, "cannot open the text index; text searches are refused for now");
        }
        search
    }

    /// Opens the index with the highest number, or creates the first.
    fn open_latest(&self) -> Result<()> {
        let number = latest(&self.folder)?.unwrap_or(1);
        let index = match damage::open(&self.folder.join(name(number))) {
            Ok(words) => NumberedIndex { number, words },
            Err(error) => damage::replace(&self.folder, number, &error)?,
        };
        delete_before(&self.folder, index.number)?;
        self.present.store(Some(Arc::new(index)));
        Ok(())
    }

    /// Verifies the files of the index after it was opened and after a failure. If they are damaged, sets them aside
    /// and continues with an empty index. Blocks while it reads the whole index.
    ///
    /// # Errors
    /// The folder cannot be used.
    pub fn repair(&self) -> Result<()> {
        let Some(present) = self.present.load_full() else {
            let _writing = self.writing.lock();
            return self.open_latest();
        };
        if !self.is_suspect.swap(false, Ordering::Relaxed) {
            return Ok(());
        }
        let Err(error) = damage::verify_index(&self.folder.join(name(present.number))) else {
            return Ok(());
        };
        let _writing = self.writing.lock();
        if latest(&self.folder)? > Some(present.number) {
            // Another process has replaced it already.
            return self.open_latest();
        }
        let index = damage::replace(&self.folder, present.number, &error)?;
        self.present.store(Some(Arc::new(index)));
        Ok(())
    }

    fn present(&self) -> Result<Arc<NumberedIndex>> {
        self.present.load_full().ok_or(Error::Unavailable)
    }

    /// Returns the sequence of the last change it holds; 0 without an index.
    pub fn through(&self) -> i64 {
        let present = self.present.load();
        present.as_ref().map_or(0, |index| index.words.through())
    }

    /// Whether another thread is applying changes, which may take minutes.
    pub fn is_catching_up(&self) -> bool {
        self.writing.is_locked()
    }

    /// Applies the changes after a sequence, if the index reaches exactly that sequence and this process may write.
    /// Returns once they are durable and searchable.
    ///
    /// # Errors
    /// The index cannot be written.
    pub fn take(&self, after: i64, changes: &ListingChanges) -> Result<()> {
        let _writing = self.writing.lock();
        let index = &self.present()?.words;
        self.guarded(|| {
            if !index.acquire_writer()? || index.through() != after {
                return Ok(());
            }
            let result = index.take(changes);
            if result.is_err() {
                index.roll_back();
            }
            result
        })
    }

    /// Deletes everything, for an index that belongs to another store.
    ///
    /// # Errors
    /// The index cannot be written.
    pub fn clear(&self) -> Result<()> {
        let _writing = self.writing.lock();
        let index = self.present()?;
        self.guarded(|| index.words.clear())
    }

    /// Returns a snapshot of the index as of now; `None` without an index.
    pub fn found(&self) -> Option<TextSnapshot> {
        let index = self.present.load_full()?;
        let present = index.words.present();
        Some(TextSnapshot {
            index,
            present,
            is_suspect: Arc::clone(&self.is_suspect),
        })
    }

    /// Applies every change up to a sequence, for an index that lags or was recreated. Only one process writes; in the
    /// others, this picks up the commits of that process. If they fail to come, the index gets the next number, for
    /// [`TextSearch::switch_to_newer`]. Blocks.
    ///
    /// # Errors
    /// Store or index cannot be used.
    pub fn catch_up_to(&self, listings: &Listings, through: i64) -> Result<()> {
        let mut awaited = self.writing.lock();
        let index = self.present()?;
        self.guarded(|| catch_up_to(&index.words, listings, through, &|_| {}))?;
        let reached = index.words.through();
        if reached >= through {
            *awaited = None;
        } else if AwaitedCommit::is_overdue(&mut awaited, index.number, reached, self.silent_max) {
            take_over(&self.folder, index.number)?;
        }
        Ok(())
    }

    /// Switches to a rebuilt index once it has caught up with the current one. If there is none, the cost is one
    /// directory listing.
    ///
    /// # Errors
    /// Store or index cannot be used; the current index stays.
    pub fn switch_to_newer(&self, listings: &Listings) -> Result<()> {
        let _writing = self.writing.lock();
        let former = self.present()?;
        let Some(number) = latest(&self.folder)?.filter(|number| *number > former.number) else {
            return Ok(());
        };
        let words = damage::open(&self.folder.join(name(number)))?;
        self.guarded(|| catch_up_to(&words, listings, former.words.through(), &|_| {}))?;
        if words.through() < former.words.through() {
            // Another process is still applying changes to it.
            return Ok(());
        }
        self.present
            .store(Some(Arc::new(NumberedIndex { number, words })));
        delete_before(&self.folder, number)
    }

    /// Runs work on the index. A panic in its library becomes an error. After a panic or an error, the files are
    /// verified.
    fn guarded(&self, work: impl FnOnce() -> Result<()>) -> Result<()> {
        let result = damage::caught(work);
        if matches!(result, Err(Error::Index(_) | Error::Damaged(_))) {
            self.is_suspect.store(true, Ordering::Relaxed);
        }
        result
    }
}

/// The index as of one commit: results stay the same while others write.
pub struct TextSnapshot {
    index: Arc<NumberedIndex>,
    present: Arc<IndexSnapshot>,
    /// Set after a failure: the files are then verified.
    is_suspect: Arc<AtomicBool>,
}

impl TextSnapshot {
    /// Returns whether both are snapshots of the same commit.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.present, &other.present)
    }

    /// Finds the properties that match the texts of a search, with scores if `is_compared`; `None` for a search without
    /// texts.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if the index cannot be read, or the query is cancelled.
    pub fn find(
        &self,
        search: &ListingSearch,
        is_compared: bool,
        interrupt: &Interrupt,
    ) -> Result<Option<TextMatches>> {
        let words = &self.index.words;
        let find = || words.find(&self.present, search, is_compared, interrupt);
        damage::caught(find).map_err(|error| match error {
            Error::Index(_) | Error::Damaged(_) => {
                tracing::error!(%error, "cannot read the text index; its files are verified");
                self.is_suspect.store(true, Ordering::Relaxed);
                Error::Unavailable
            }
            other => other,
        })
    }
}

fn catch_up_to(
    index: &TextIndex,
    listings: &Listings,
    through: i64,
    progress: &dyn Fn(u64),
) -> Result<()> {
    let result = apply_through(index, listings, through, progress);
    if result.is_err() {
        // A retry starts from the last commit.
        index.roll_back();
    }
    result
}

fn apply_through(
    index: &TextIndex,
    listings: &Listings,
    through: i64,
    progress: &dyn Fn(u64),
) -> Result<()> {
    if index.through() >= through || !index.acquire_writer()? {
        return Ok(());
    }
    let mut reached = index.through();
    // A record that changes while an empty index is filled is read again with a later sequence.
    let new_through = match reached {
        0 => listings.last_sequence()?,
        _ => 0,
    };
    let mut gathered = 0;
    while reached < through {
        let changes = listings.changes_since(ListingKind::Property, reached, CHANGES_MAX)?;
        index.gather(&changes, new_through)?;
        progress(changes.records.len() as u64);
        reached = changes.through;
        gathered += changes.records.len();
        if gathered >= COMMIT_EVERY || reached >= through {
            index.commit(reached)?;
            gathered = 0;
        }
    }
    Ok(())
}

/// Returns the highest index number in a folder.
fn latest(folder: &Path) -> Result<Option<u64>> {
    Ok(numbers(folder)?.into_iter().max())
}

/// Deletes the indexes with a lower number than `number`. Queries that run on one of them keep its files open.
fn delete_before(folder: &Path, number: u64) -> Result<()> {
    for former in numbers(folder)?
        .into_iter()
        .filter(|former| *former < number)
    {
        let path = folder.join(name(former));
        if let Err(error) = fs::remove_dir_all(&path) {
            // Retried when the next index is opened.
            tracing::warn!(path = %path.display(), %error, "cannot delete a superseded text index; will retry");
        }
    }
    Ok(())
}

fn numbers(folder: &Path) -> Result<Vec<u64>> {
    let failed = |error| Error::folder(folder, error);
    let entries = optional(fs::read_dir(folder)).map_err(failed)?;
    let mut numbers = Vec::new();
    for entry in entries.into_iter().flatten() {
        let name = entry.map_err(failed)?.file_name();
        numbers.extend(name.to_str().and_then(|name| name.parse::<u64>().ok()));
    }
    Ok(numbers)
}

fn name(number: u64) -> String {
    format!("{number:06}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use toise_base::clock::Clock;
    use toise_store::Store;

    /// Ingests an advert and returns the sequence of the store.
    fn ingest(listings: &Listings, number: u32, title: &str) -> i64 {
        let advert = json!({
            "url": format!("https://un.example/{number}"), "source": "un.example", "type": "CLASS_FLAT",
            "offer": {"type": "OFFER_BUY"}, "currentPrice": {"value": 100_000 * number}, "title": title,
            "location": {"postalCode": "48000"},
        });
        assert!(listings.ingest(vec![advert]).unwrap()[0].is_ok());
        listings.last_sequence().unwrap()
    }

    #[test]
    fn a_damaged_index_is_replaced_by_an_empty_one() {
        let folder = tempfile::tempdir().unwrap();
        drop(TextSearch::open(folder.path()));
        let damaged = folder.path().join(FOLDER).join(name(1)).join("meta.json");
        fs::write(damaged, "{").unwrap();
        let texts = TextSearch::open(folder.path());
        assert!(texts.found().is_some());
        assert_eq!(texts.through(), 0);
        assert_eq!(numbers(&folder.path().join(FOLDER)).unwrap(), [2]);
    }

    #[test]
    fn an_index_whose_writer_is_stopped_is_taken_over_and_the_writer_switches_to_it() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path();
        let listings = Listings::new(Store::open(data).unwrap(), Clock::system());
        let take = |number| ingest(&listings, number, "Loft");
        let stopped = TextSearch::open(data);
        stopped.catch_up_to(&listings, take(1)).unwrap();
        let mut other = TextSearch::open(data);
        other.silent_max = Duration::from_millis(50);
        let through = take(2);
        let refresh = |texts: &TextSearch| {
            texts.switch_to_newer(&listings).unwrap();
            texts.catch_up_to(&listings, through).unwrap();
        };
        refresh(&other);
        assert!(other.through() < through, "it may have to wait");
        std::thread::sleep(other.silent_max);
        refresh(&other);
        refresh(&other);
        assert_eq!(other.through(), through);
        assert_eq!(numbers(&data.join(FOLDER)).unwrap(), [2]);
        // The stopped process resumes: it reads, and the other one still writes.
        refresh(&stopped);
        assert_eq!(stopped.through(), through);
        let through = take(3);
        stopped.catch_up_to(&listings, through).unwrap();
        assert!(stopped.through() < through);
        other.catch_up_to(&listings, through).unwrap();
        stopped.catch_up_to(&listings, through).unwrap();
        assert_eq!((stopped.through(), other.through()), (through, through));
    }

    #[test]
    fn a_rebuilt_index_replaces_its_predecessor() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path();
        let listings = Listings::new(Store::open(data).unwrap(), Clock::system());
        let take = |number, title| ingest(&listings, number, title);
        let count = |texts: &TextSearch, keyword: &str| {
            let search = ListingSearch {
                filter: Vec::new(),
                keywords: vec![keyword.to_owned()],
                full_texts: Vec::new(),
            };
            let found = texts.found().unwrap();
            let matches = found.find(&search, false, &Interrupt::default());
            let matches = matches.unwrap().unwrap();
            (0..10)
                .filter(|number| matches.score(*number).is_some())
                .count()
        };
        let texts = TextSearch::open(data);
        texts.catch_up_to(&listings, take(1, "Loft")).unwrap();
        rebuild(data, &listings, &|_| {}).unwrap();
        // The current index keeps receiving changes, and its successor has caught up by the time of the switch.
        let through = take(2, "Villa");
        texts.catch_up_to(&listings, through).unwrap();
        texts.switch_to_newer(&listings).unwrap();
        assert_eq!(texts.through(), through);
        assert_eq!((count(&texts, "loft"), count(&texts, "villa")), (1, 1));
        assert_eq!(numbers(&data.join(FOLDER)).unwrap(), [2]);
        texts.catch_up_to(&listings, take(3, "Loft")).unwrap();
        assert_eq!(count(&texts, "loft"), 2);
        drop(texts);
        assert_eq!(count(&TextSearch::open(data), "loft"), 2);
    }
}
