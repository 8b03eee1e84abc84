//! Keeps a data folder up to date with the official sources: `toise refresh`, `toise start` and the server's schedule.
//!
//! [`Refresher::plan`] asks each source which editions it has and compares them with those in the data folder
//! ([`editions`]). [`Refresher::run`] fetches and imports what is new. Addresses come first, because they give sales
//! and diagnostics their positions. Then it trains a model if sales changed. Each import is one publication of its
//! table, and `editions.json` is written after each step. A refresh that is killed therefore continues where it
//! stopped, and a source that fails leaves its table unchanged.
//!
//! What happens to records that a source no longer has:
//!
//! - sales: a new file replaces its department and year completely. A year or department that is no longer published
//!   stays in the table;
//! - addresses: the files of a department replace it completely. A department whose file is no longer published stays
//!   in the table;
//! - diagnostics: they stay, unless the source no longer lists their number. The source is asked for its list of
//!   numbers when it has fewer diagnostics of a department than the table.

pub mod editions;
mod import;
mod plan;
mod stored;

use std::collections::BTreeSet;
use std::fs::{File, TryLockError};
use std::path::Path;
use std::time::Duration;

use tokio::runtime::Runtime;

pub use import::{ModelOutcome, Outcome, SourceOutcome};
pub use plan::{Action, Plan, SourcePlan};

use crate::Failure;
use toise_base::clock::Clock;
use toise_base::file_lock::try_lock;
use toise_base::progress::Progress;
use toise_geocode::table as addresses_table;
use toise_lake::Lake;
use toise_lake::schema::TableSchema;
use toise_net::{Client, RetryPolicy};
use toise_opendata::{dpe, dvf};
use toise_sources::Downloads;
use toise_sources::addresses::BAN_BASE;
use toise_sources::diagnostics::DPE_BASE;
use toise_sources::sales::SalesPlaces;

/// File that a running refresh locks.
const LOCK: &str = "refresh.lock";
/// Maximum attempts of a request without progress. The next refresh tries again.
const ATTEMPTS_MAX: u32 = 4;
/// Maximum wait for a source to begin or continue a response. A source that accepts connections and sends nothing thus
/// delays a refresh by two minutes.
const SILENCE_MAX: Duration = Duration::from_secs(30);

/// Where the official sources are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OfficialPlaces {
    /// Sales.
    pub sales: SalesPlaces,
    /// Base URL of diagnostics.
    pub diagnostics: String,
    /// Base URL of addresses.
    pub addresses: String,
}

impl Default for OfficialPlaces {
    fn default() -> Self {
        Self {
            sales: SalesPlaces::default(),
            diagnostics: DPE_BASE.to_owned(),
            addresses: BAN_BASE.to_owned(),
        }
    }
}

/// Whether a model is trained when sales changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Training {
    /// A model is trained.
    IfSalesChanged,
    /// No model is trained.
    Never,
}

/// How a refresh runs.
#[derive(Clone, Debug)]
pub struct RefreshOptions {
    /// Where the sources are.
    pub places: OfficialPlaces,
    /// Versions of each table that are kept.
    pub keep_versions: usize,
    /// Maximum bytes downloaded per second; `None` for no maximum.
    pub bytes_per_s_max: Option<u64>,
    /// Whether a model is trained.
    pub training: Training,
    /// Progress bars.
    pub progress: Progress,
}

/// A refresh of a data folder. At most one runs at a time on a folder.
#[derive(Debug)]
pub struct Refresher<'a> {
    data: &'a Path,
    options: RefreshOptions,
    clock: Clock,
    client: Client,
    runtime: Runtime,
    /// Locked until this is dropped.
    _lock: File,
}

impl<'a> Refresher<'a> {
    /// Prepares a refresh.
    ///
    /// # Errors
    /// Another process refreshes the folder, or it cannot be written.
    pub fn start(data: &'a Path, options: RefreshOptions) -> Result<Self, Failure> {
        std::fs::create_dir_all(data)?;
        let lock = File::create(data.join(LOCK))?;
        match try_lock(&lock) {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err("another process is refreshing this data folder".into());
            }
            Err(TryLockError::Error(error)) => return Err(error.into()),
        }
        let client = Client::new(RetryPolicy {
            attempts_max: ATTEMPTS_MAX,
            read_timeout: SILENCE_MAX,
            bytes_per_s_max: options.bytes_per_s_max,
            ..RetryPolicy::default()
        })?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        Ok(Self {
            data,
            options,
            clock: Clock::system(),
            client,
            runtime,
            _lock: lock,
        })
    }

    fn downloads(&self) -> Downloads<'_> {
        Downloads {
            client: &self.client,
            data: self.data,
            progress: self.options.progress,
            now: self.clock.now(),
        }
    }
}

/// Returns the tables of the three sources: addresses, sales, diagnostics.
pub fn tables() -> [&'static TableSchema; 3] {
    [addresses_table::schema(), dvf::schema(), dpe::schema()]
}

/// Returns the departments that the tables of open data hold, in the order of their codes.
///
/// # Errors
/// A table cannot be read.
pub fn held_departments(data: &Path) -> Result<Vec<String>, Failure> {
    let lake = Lake::open(data)?;
    let mut codes = BTreeSet::new();
    for table in tables() {
        codes.extend(stored::rows_by_department(&lake, table)?.into_keys());
    }
    codes.retain(|code| toise_geo::departments::rank(code) > 0);
    Ok(codes.into_iter().collect())
}
