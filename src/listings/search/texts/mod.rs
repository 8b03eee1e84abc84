//! The words of properties: an index on disk of titles, descriptions and tags, kept from the store like the table.
//!
//! The index is derived: one that cannot be read is made anew from the store, and a restart goes on from the number of
//! the last change it holds. It lies in a numbered folder, and the one with the greatest number counts. So
//! [`rebuild`] makes the next beside it, whoever has the present one open, and gives it its number when it is whole;
//! [`TextSearch::switch_to_newer`] then goes over to it and deletes the former.

mod bitset;
mod bulk_indexer;
mod index;
#[cfg(test)]
mod index_tests;
mod postings_cache;
mod query;
mod segments;

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use segments::IndexSnapshot;
use tantivy::TantivyError;

use crate::Listings;
use crate::records::changes::{CHANGES_MAX, ListingChanges};
pub use bulk_indexer::BulkIndexer;
pub use index::TextIndex;
pub use query::TextMatches;
use toise_contract::listings::filters::{ListingKind, ListingSearch};
use toise_engine::cancellation::Interrupt;

/// Folder of the indexes under a data folder.
pub const FOLDER: &str = "index/properties";
/// Name of an index that is being made.
const DRAFT: &str = "draft";
/// Held by the process that makes one.
const LOCK: &str = "rebuild.lock";
/// Changes gathered before they are committed, by who has many to take.
const COMMIT_EVERY: usize = 20 * CHANGES_MAX;

/// Why the index could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The index refused.
    #[error("index of words: {0}")]
    Index(#[from] TantivyError),
    /// Its folder cannot be used.
    #[error("{path}: {error}", path = path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What the system says.
        error: std::io::Error,
    },
    /// Another process is making the next index.
    #[error("{path}: another process makes the index of words anew; wait for it to end", path = .0.display())]
    Busy(PathBuf),
    /// A property has a number no store gives.
    #[error(
        "index of words: {0} is not the number of a property; `toise compact --rebuild` makes the index anew"
    )]
    Number(u64),
    /// The store could not be read.
    #[error(transparent)]
    Listings(#[from] crate::Error),
    /// Nobody waits any more.
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

/// The present index. Shared by all questions.
pub struct TextSearch {
    folder: PathBuf,
    present: ArcSwap<NumberedIndex>,
    /// Held while many changes, or a newer index, are taken up.
    catching_up: Mutex<()>,
}

struct NumberedIndex {
    number: u64,
    words: TextIndex,
}

impl TextSearch {
    /// Opens the index under a data folder; one that cannot be read is made anew.
    ///
    /// # Errors
    /// The folder cannot be used.
    pub fn open(data: &Path) -> Result<Self> {
        let folder = data.join(FOLDER);
        let number = latest(&folder)?.unwrap_or(1);
        let path = folder.join(name(number));
        let words = match TextIndex::open(&path) {
            Ok(words) => words,
            Err(error) => {
                tracing::warn!(%error, "the index of words is made anew");
                fs::remove_dir_all(&path).map_err(|error| Error::folder(&path, error))?;
                TextIndex::open(&path)?
            }
        };
        delete_before(&folder, number)?;
        Ok(Self {
            folder,
            present: ArcSwap::from_pointee(NumberedIndex { number, words }),
            catching_up: Mutex::default(),
        })
    }

    /// Number of the last change it holds.
    pub fn through(&self) -> i64 {
        self.present.load().words.through()
    }

    /// Takes the changes after a number, if it holds those before and this process may write. Durable, and found from
    /// then on, when it returns.
    ///
    /// # Errors
    /// The index cannot be written.
    pub fn take(&self, after: i64, changes: &ListingChanges) -> Result<()> {
        let words = &self.present.load().words;
        if !words.acquire_writer()? || words.through() != after {
            return Ok(());
        }
        let taken = words.take(changes);
        if taken.is_err() {
            words.roll_back();
        }
        taken
    }

    /// Forgets everything: the store is not the one these words came from.
    ///
    /// # Errors
    /// The index cannot be written.
    pub fn clear(&self) -> Result<()> {
        self.present.load().words.clear()
    }

    /// What is found now, for good.
    pub fn found(&self) -> TextSnapshot {
        let index = self.present.load_full();
        let present = index.words.present();
        TextSnapshot { index, present }
    }

    /// Has the index hold every change through a number: it may have been left behind, or made anew. Only one process
    /// writes; in another it holds what that one has written. Blocks.
    ///
    /// # Errors
    /// Store or index cannot be used.
    pub fn catch_up_to(&self, listings: &Listings, through: i64) -> Result<()> {
        let _catching_up = self.catching_up.lock();
        catch_up_to(&self.present.load().words, listings, through, &|_| {})
    }

    /// Goes over to an index that was made anew, once it holds what the present one does. Costs one look into a folder
    /// where there is none.
    ///
    /// # Errors
    /// Store or index cannot be used; the present one stays.
    pub fn switch_to_newer(&self, listings: &Listings) -> Result<()> {
        let _catching_up = self.catching_up.lock();
        let former = self.present.load_full();
        let Some(number) = latest(&self.folder)?.filter(|number| *number > former.number) else {
            return Ok(());
        };
        let words = TextIndex::open(&self.folder.join(name(number)))?;
        catch_up_to(&words, listings, former.words.through(), &|_| {})?;
        if words.through() < former.words.through() {
            // Another process brings it up.
            return Ok(());
        }
        self.present
            .store(Arc::new(NumberedIndex { number, words }));
        delete_before(&self.folder, number)
    }
}

/// The words as one commit left them: what is found in it stays the same, whatever is written meanwhile.
pub struct TextSnapshot {
    index: Arc<NumberedIndex>,
    present: Arc<IndexSnapshot>,
}

impl TextSnapshot {
    /// Whether both are of one commit.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.present, &other.present)
    }

    /// The properties that the texts of a search find, and how well when that is compared; `None` when it has no texts.
    ///
    /// # Errors
    /// The index cannot be read, or nobody waits any more.
    pub fn find(
        &self,
        search: &ListingSearch,
        is_compared: bool,
        interrupt: &Interrupt,
    ) -> Result<Option<TextMatches>> {
        let words = &self.index.words;
        words.find(&self.present, search, is_compared, interrupt)
    }
}

/// Makes the index under a data folder anew from the store; `progress` is told
/// of properties as they are taken. Killed midway, the former index stays. A running server goes over to the new one.
///
/// # Errors
/// The folder cannot be used, the store cannot be read, or another process does the same.
pub fn rebuild(data: &Path, listings: &Listings, progress: &dyn Fn(u64)) -> Result<()> {
    let folder = data.join(FOLDER);
    fs::create_dir_all(&folder).map_err(|error| Error::folder(&folder, error))?;
    let path = folder.join(LOCK);
    let lock = File::create(&path).map_err(|error| Error::folder(&path, error))?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(Error::Busy(path)),
        Err(TryLockError::Error(error)) => return Err(Error::folder(&path, error)),
    }
    let draft = folder.join(DRAFT);
    match fs::remove_dir_all(&draft) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(Error::folder(&draft, error));
        }
        _ => {}
    }
    let words = TextIndex::open(&draft)?;
    catch_up_to(&words, listings, listings.last_sequence()?, progress)?;
    words.close()?;
    drop(words);
    let next = folder.join(name(latest(&folder)?.unwrap_or(0) + 1));
    fs::rename(&draft, &next).map_err(|error| Error::folder(&next, error))?;
    let synced = File::open(&folder).and_then(|folder| folder.sync_all());
    synced.map_err(|error| Error::folder(&folder, error))
}

fn catch_up_to(
    words: &TextIndex,
    listings: &Listings,
    through: i64,
    progress: &dyn Fn(u64),
) -> Result<()> {
    let taken = apply_through(words, listings, through, progress);
    if taken.is_err() {
        // Tried again, it starts from what is committed.
        words.roll_back();
    }
    taken
}

fn apply_through(
    words: &TextIndex,
    listings: &Listings,
    through: i64,
    progress: &dyn Fn(u64),
) -> Result<()> {
    if words.through() >= through || !words.acquire_writer()? {
        return Ok(());
    }
    let mut reached = words.through();
    // A record that changes while an empty index is filled comes again with a later number.
    let new_through = match reached {
        0 => listings.last_sequence()?,
        _ => 0,
    };
    let mut gathered = 0;
    while reached < through {
        let changes = listings.changes_since(ListingKind::Property, reached, CHANGES_MAX)?;
        words.gather(&changes, new_through)?;
        progress(changes.records.len() as u64);
        reached = changes.through;
        gathered += changes.records.len();
        if gathered >= COMMIT_EVERY || reached >= through {
            words.commit(reached)?;
            gathered = 0;
        }
    }
    Ok(())
}

/// The greatest number of an index in a folder.
fn latest(folder: &Path) -> Result<Option<u64>> {
    Ok(numbers(folder)?.into_iter().max())
}

/// Deletes the indexes before a number. Questions that run on one keep its files open.
fn delete_before(folder: &Path, number: u64) -> Result<()> {
    for former in numbers(folder)?
        .into_iter()
        .filter(|former| *former < number)
    {
        let path = folder.join(name(former));
        if let Err(error) = fs::remove_dir_all(&path) {
            // Tried again when the next index is opened.
            tracing::warn!(path = %path.display(), %error, "a former index of words stays on disk for now");
        }
    }
    Ok(())
}

fn numbers(folder: &Path) -> Result<Vec<u64>> {
    let failed = |error| Error::folder(folder, error);
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(failed)?,
    };
    let mut numbers = Vec::new();
    for entry in entries {
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

    #[test]
    fn a_damaged_index_is_made_anew() {
        let folder = tempfile::tempdir().unwrap();
        drop(TextSearch::open(folder.path()).unwrap());
        let damaged = folder.path().join(FOLDER).join(name(1)).join("meta.json");
        fs::write(damaged, "{").unwrap();
        assert_eq!(TextSearch::open(folder.path()).unwrap().through(), 0);
    }

    #[test]
    fn an_index_made_anew_is_taken_up_and_the_former_deleted() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path();
        let listings = Listings::new(Store::open(data).unwrap(), Clock::system());
        let take = |number: u32, title: &str| {
            let advert = json!({
                "url": format!("https://un.example/{number}"), "source": "un.example", "type": "CLASS_FLAT",
                "offer": {"type": "OFFER_BUY"}, "currentPrice": {"value": 100_000 * number}, "title": title,
                "location": {"postalCode": "48000"},
            });
            assert!(listings.ingest(vec![advert]).unwrap()[0].is_ok());
            listings.last_sequence().unwrap()
        };
        let count = |texts: &TextSearch, keyword: &str| {
            let search = ListingSearch {
                filter: Vec::new(),
                keywords: vec![keyword.to_owned()],
                full_texts: Vec::new(),
            };
            let fits = texts.found().find(&search, false, &Interrupt::default());
            let fits = fits.unwrap().unwrap();
            (0..10)
                .filter(|number| fits.score(*number).is_some())
                .count()
        };
        let texts = TextSearch::open(data).unwrap();
        texts.catch_up_to(&listings, take(1, "Loft")).unwrap();
        rebuild(data, &listings, &|_| {}).unwrap();
        // The present index goes on, and the next is no older once it is taken up.
        let through = take(2, "Villa");
        texts.catch_up_to(&listings, through).unwrap();
        texts.switch_to_newer(&listings).unwrap();
        assert_eq!(texts.through(), through);
        assert_eq!((count(&texts, "loft"), count(&texts, "villa")), (1, 1));
        assert_eq!(numbers(&data.join(FOLDER)).unwrap(), [2]);
        texts.catch_up_to(&listings, take(3, "Loft")).unwrap();
        assert_eq!(count(&texts, "loft"), 2);
        drop(texts);
        assert_eq!(count(&TextSearch::open(data).unwrap(), "loft"), 2);
    }
}
