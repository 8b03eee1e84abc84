//! The portfolios of accounts: stores, reads and deletes them.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use uuid::Uuid;

use crate::checksum::{self, remove_portfolio};
use crate::error::{Error, Result};
use crate::files::{FOLDER, HOMES};
use crate::homes::{self, HomeFault};
use crate::limits::{NAME_CHARS_MAX, NAME_RULE};
use crate::record::{self, Portfolio, PortfolioOptions};
use toise_base::clock::Clock;
use toise_base::durable::sync_folder;
use toise_contract::Fault;
use toise_store::Store;
use toise_store::leader::{Inbox, Notifier, inbox};

/// A stored portfolio, and the rows that cannot be valued as they were sent.
#[derive(Clone, Debug)]
pub struct StoredPortfolio {
    /// The portfolio.
    pub portfolio: Portfolio,
    /// Number of rows that cannot be valued.
    pub faulty: u64,
    /// The first of these rows.
    pub faults: Vec<HomeFault>,
    /// Warnings about columns that were not read.
    pub warnings: Vec<String>,
}

/// The portfolios of a data folder. Cheap to clone. Every call blocks. Changes are durable when a call returns.
#[derive(Clone)]
pub struct Portfolios {
    pub(super) store: Store,
    pub(super) clock: Clock,
    pub(super) folder: PathBuf,
    pub(super) notifier: Notifier<()>,
    pub(super) inbox: Arc<Mutex<Option<Inbox<()>>>>,
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

    /// Stores the homes of a file under a name, replacing those stored under it before. The homes are valued in the
    /// background. Computes on the global rayon pool.
    ///
    /// # Errors
    /// The name or an option is not valid, the account has [`PORTFOLIOS_MAX`](crate::PORTFOLIOS_MAX) portfolios, or the
    /// file has no homes, more than [`HOMES_MAX`](crate::HOMES_MAX), or two with the same key.
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
                checksum::write(&folder)?;
                sync_folder(&self.folder)?;
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
                remove_portfolio(&folder)?;
                return Err(error);
            }
        };
        if let Some(former) = former {
            remove_portfolio(&self.folder_of(former))?;
        }
        self.notifier.notify(());
        Ok(StoredPortfolio {
            portfolio,
            faulty: received.faulty,
            faults: received.faults,
            warnings: received.warnings,
        })
    }

    /// Returns a portfolio of an account.
    ///
    /// # Errors
    /// There is none of this name.
    pub fn get(&self, account: Uuid, name: &str) -> Result<Portfolio> {
        let found = record::find(&self.store, account, name)?.ok_or(Error::NotFound)?;
        Ok(self.with_losses(found))
    }

    /// Returns the portfolios of an account, by name.
    ///
    /// # Errors
    /// The store fails.
    pub fn list(&self, account: Uuid) -> Result<Vec<Portfolio>> {
        let found = record::list(&self.store, account)?.into_iter();
        Ok(found.map(|portfolio| self.with_losses(portfolio)).collect())
    }

    /// Deletes a portfolio of an account with its files.
    ///
    /// # Errors
    /// There is none of this name.
    pub fn delete(&self, account: Uuid, name: &str) -> Result<()> {
        let now_ms = self.clock.now().timestamp_millis();
        let id = record::delete(&self.store, account, name, now_ms)?.ok_or(Error::NotFound)?;
        Ok(remove_portfolio(&self.folder_of(id))?)
    }

    pub(super) fn folder_of(&self, id: Uuid) -> PathBuf {
        self.folder.join(id.to_string())
    }
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
