//! Portfolios: homes that an account stores under a name, and that are valued again after each new model or import.
//!
//! A portfolio is a folder of Parquet files and a row in the store (`record`). `homes.parquet` holds the rows as they
//! were sent (`homes`). A background worker writes `values-<number>.parquet`, one row per home in the same order
//! (`worker`, `valuation`): the value, the matched diagnostic and sale, and what last changed. One transaction names the
//! new file, charges the valued homes and begins the notifications, so a process that is killed at any moment repeats a
//! valuation without charging or notifying twice. Readers use the file that the row names ([`page`]).
//!
//! A home is geocoded once. It is valued again when the model changes, and matched again when the table of sales or of
//! diagnostics changes. One process per data folder does so, on threads of low priority.

#![forbid(unsafe_code)]

mod homes;
pub mod page;
mod record;
mod state;
#[cfg(test)]
mod tests;
mod valuation;
mod worker;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use uuid::Uuid;

use toise_base::clock::Clock;
use toise_contract::Fault;
use toise_store::leader::{Inbox, Notifier, inbox};
use toise_store::{self as store, Store};

pub use homes::HomeFault;
pub use record::{Portfolio, PortfolioOptions};
pub use state::ValuedHome;
pub use worker::{PortfolioContext, PortfolioRunner};

/// Folder of the portfolios in a data folder.
pub const FOLDER: &str = "portfolios";
/// Maximum homes of a portfolio.
pub const HOMES_MAX: u64 = 1_000_000;
/// Maximum portfolios of an account.
pub const PORTFOLIOS_MAX: usize = 20;
/// Maximum bytes of a file of homes.
pub const FILE_BYTES_MAX: usize = 512 << 20;
/// Change of a value that is reported unless another is set, in percent.
pub const MOVED_PERCENT_DEFAULT: f64 = 5.0;
/// Bounds of the change of a value that is reported, in percent.
pub const MOVED_PERCENT: (f64, f64) = (0.1, 100.0);
/// Maximum characters of a name.
pub const NAME_CHARS_MAX: usize = 100;
/// The rule for the name of a portfolio.
pub const NAME_RULE: &str =
    "must be 1 to 100 characters, without control characters, slashes or blanks at the ends";
/// Name of the file of homes.
const HOMES: &str = "homes.parquet";

/// The reason why a call about portfolios failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The account has no portfolio of this name.
    #[error("no such portfolio")]
    NotFound,
    /// The name, an option or the file is not valid.
    #[error(transparent)]
    Refused(#[from] Fault),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// A file cannot be read or written.
    #[error("portfolios: {0}")]
    Io(#[from] io::Error),
    /// A Parquet file cannot be read or written.
    #[error("portfolios: {0}")]
    Parquet(#[from] parquet::errors::ParquetError),
    /// Rows cannot be converted.
    #[error("portfolios: {0}")]
    Arrow(#[from] arrow::error::ArrowError),
    /// Rows cannot be converted.
    #[error("portfolios: {0}")]
    Json(#[from] serde_json::Error),
    /// A file cannot be written.
    #[error("portfolios: {0}")]
    File(#[from] toise_opendata::portfolio::Error),
    /// A table cannot be read.
    #[error(transparent)]
    Engine(#[from] toise_engine::Error),
    /// A notification cannot be stored.
    #[error(transparent)]
    Document(#[from] store::document::Error),
}

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// A stored portfolio, and the rows that cannot be valued as they were sent.
#[derive(Clone, Debug)]
pub struct StoredPortfolio {
    /// The portfolio.
    pub portfolio: Portfolio,
    /// Number of rows that cannot be valued.
    pub faulty: u64,
    /// The first of them.
    pub faults: Vec<HomeFault>,
}

/// The portfolios of a data folder. Cheap to clone. Every call blocks; changes are durable when it returns.
#[derive(Clone)]
pub struct Portfolios {
    store: Store,
    clock: Clock,
    folder: PathBuf,
    notifier: Notifier<()>,
    inbox: Arc<Mutex<Option<Inbox<()>>>>,
}

impl Portfolios {
    /// Opens the portfolios of a data folder.
    pub fn new(data: &Path, store: Store, clock: Clock) -> Self {
        let (notifier, inbox) = inbox();
        Self {
            store,
            clock,
            folder: data.join(FOLDER),
            notifier,
            inbox: Arc::new(Mutex::new(Some(inbox))),
        }
    }

    /// Creates a file to receive homes in. It is deleted when it is dropped.
    ///
    /// # Errors
    /// The disk cannot be written.
    pub fn draft(&self) -> Result<tempfile::NamedTempFile> {
        fs::create_dir_all(&self.folder)?;
        Ok(tempfile::NamedTempFile::new_in(&self.folder)?)
    }

    /// Stores the homes of a file under a name, in place of those that the name had. They are valued in the background.
    /// Computes on the global rayon pool.
    ///
    /// # Errors
    /// The name or an option is not valid, the account has [`PORTFOLIOS_MAX`] portfolios, or the file does not hold at
    /// most [`HOMES_MAX`] homes, each with its own key.
    pub fn put(
        &self,
        account: Uuid,
        name: &str,
        file: &Path,
        options: PortfolioOptions,
    ) -> Result<StoredPortfolio> {
        check_name(name)?;
        options.check()?;
        record::check_room(&self.store, account, name)?;
        let now = self.clock.now();
        let id = Uuid::now_v7();
        let folder = self.folder_of(id);
        fs::create_dir_all(&folder)?;
        let stored =
            homes::receive(file, &folder.join(HOMES), now.date_naive()).and_then(|received| {
                sync(&folder)?;
                sync(&self.folder)?;
                let put = record::put(
                    &self.store,
                    id,
                    account,
                    name,
                    (received.homes, options),
                    now,
                )?;
                Ok((received, put))
            });
        let (received, (portfolio, former)) = match stored {
            Ok(stored) => stored,
            Err(error) => {
                remove(&folder)?;
                return Err(error);
            }
        };
        if let Some(former) = former {
            remove(&self.folder_of(former))?;
        }
        self.notifier.notify(());
        Ok(StoredPortfolio {
            portfolio,
            faulty: received.faulty,
            faults: received.faults,
        })
    }

    /// Returns a portfolio of an account.
    ///
    /// # Errors
    /// There is none of this name.
    pub fn get(&self, account: Uuid, name: &str) -> Result<Portfolio> {
        record::find(&self.store, account, name)?.ok_or(Error::NotFound)
    }

    /// Returns the portfolios of an account, by name.
    ///
    /// # Errors
    /// The store fails.
    pub fn list(&self, account: Uuid) -> Result<Vec<Portfolio>> {
        Ok(record::list(&self.store, account)?)
    }

    /// Deletes a portfolio of an account with its files.
    ///
    /// # Errors
    /// There is none of this name.
    pub fn delete(&self, account: Uuid, name: &str) -> Result<()> {
        let now_ms = self.clock.now().timestamp_millis();
        let id = record::delete(&self.store, account, name, now_ms)?.ok_or(Error::NotFound)?;
        Ok(remove(&self.folder_of(id))?)
    }

    fn folder_of(&self, id: Uuid) -> PathBuf {
        self.folder.join(id.to_string())
    }
}

/// Returns the name of the file of a valuation.
fn values_file(valuation: u32) -> String {
    format!("values-{valuation}.parquet")
}

fn check_name(name: &str) -> Result<()> {
    let is_valid = (1..=NAME_CHARS_MAX).contains(&name.chars().count())
        && name.trim() == name
        && !name.chars().any(|char| char.is_control() || char == '/');
    if is_valid {
        Ok(())
    } else {
        Err(Fault::new("name", NAME_RULE).into())
    }
}

fn sync(folder: &Path) -> io::Result<()> {
    fs::File::open(folder)?.sync_all()
}

fn remove(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
