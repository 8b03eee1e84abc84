//! Erasure: removes the contacts of a person (telephone number, email address and name) from all stored data, and keeps
//! them out from then on.
//!
//! The command line and the HTTP API call [`Eraser::erase`]. In this order:
//!
//! 1. The contacts are added, as keyed digests, to the list in the store and to a file next to it ([`list`]), with a
//!    row that records the erasure. From then on, ingestion removes them from every advert that arrives.
//! 2. They are removed from adverts and their properties, then from the other rows of store and ledger (`rows`), and
//!    from stored pages and reports (`files`). Last, they are removed from the tables and the text index, whose old
//!    files are deleted immediately (`tables`).
//! 3. The files of store and ledger are rewritten without free space, and the row of the erasure is completed.
//!
//! Each step can be repeated. If the process is killed, [`Eraser::resume`] or the next erasure searches everything
//! again for all contacts of the list. The same happens after a restore, for contacts that the backup does not have.
//! Erasures work while servers run on the data folder: only one process erases at a time, and each removal takes the
//! locks of ordinary writers. Cost: every stored record is decoded, about a minute for a million adverts.

#![forbid(unsafe_code)]

mod context;
mod error;
mod files;
mod findings;
pub mod list;
mod record;
pub mod request;
pub mod retention;
mod rows;
pub mod settings;
mod tables;

use std::fs::{File, TryLockError};
use std::sync::Arc;

use serde_json::Value;

pub use context::Mode;
use context::{Folder, Search};
pub use error::{Error, Result};
pub use findings::{ErasureReport, Findings, Place, PlaceReport};
use record::Erasure;
use toise_adverts::contacts::{Contact, RemovedValue};
use toise_base::file_lock;
use toise_base::progress::Progress;
use toise_lake::Lake;
use toise_listings::Listings;
use toise_listings::records::erasing::{Removal, SearchedAdverts};
use toise_store::Store;

/// File in the data folder that is locked by the process that erases.
const LOCK_FILE: &str = "erasure.lock";

/// Erases contacts in a data folder.
pub struct Eraser(Folder);

impl Eraser {
    /// Creates the eraser of a data folder from its parts. It shows no progress.
    pub fn new(store: Store, listings: Listings, lake: Lake) -> Self {
        Self(Folder {
            data: store.folder().to_owned(),
            clock: listings.clock().clone(),
            store,
            listings,
            lake,
            progress: Progress::silent(),
        })
    }

    /// Shows progress over adverts, data files and the text index.
    pub fn with_progress(mut self, progress: Progress) -> Self {
        self.0.progress = progress;
        self
    }

    /// Removes contacts from all stored data, or reports what would be removed. Returns once they are gone. Blocks.
    ///
    /// # Errors
    /// [`Error::Busy`] while another process is erasing; a part of the data cannot be read or written. An error undoes
    /// nothing, and the contacts stay in the list: the next call completes the erasure.
    pub fn erase(&self, contacts: &[Contact], mode: Mode) -> Result<ErasureReport> {
        let known = self.0.listings.erased_contacts()?;
        let wanted = known.contacts.of(contacts);
        if mode == Mode::DryRun {
            let search = Search {
                contacts: wanted,
                erasure: None,
                is_resumed: false,
                findings: Findings::default(),
            };
            return Ok(self.run(search)?.report(None, contacts.len()));
        }
        let _lock = self.lock()?;
        let has_unfinished = record::unfinished(&self.0.store)?.is_some();
        let digests: Vec<_> = contacts
            .iter()
            .map(|contact| wanted.digest(contact))
            .collect();
        let erasure = Erasure::begin(&self.0.store, &self.0.clock, digests)?;
        list::write(
            &self.0.data,
            &self.0.listings.erased_contacts()?.contacts,
            &self.0.store,
        )?;
        let contacts_searched = if has_unfinished {
            self.0.listings.erased_contacts()?.contacts.clone()
        } else {
            wanted
        };
        let search = Search {
            contacts: contacts_searched,
            erasure: Some(&erasure),
            is_resumed: has_unfinished,
            findings: Findings::default(),
        };
        self.complete(&erasure, search, contacts.len())
    }

    /// Completes an erasure that a killed process left unfinished, and applies contacts that are in the file of the
    /// list but not in the store, as after the restore of an older backup. Returns `None` if there is nothing to do,
    /// which costs two lookups. Blocks.
    ///
    /// # Errors
    /// As for [`Eraser::erase`]; the file is damaged, or was made with another store.
    pub fn resume(&self) -> Result<Option<ErasureReport>> {
        let known = self.0.listings.erased_contacts()?;
        let unknown = list::unknown(&self.0.data, &known.contacts, &self.0.store)?;
        let unfinished = record::unfinished(&self.0.store)?;
        let is_due = unfinished.is_some() || !unknown.is_empty();
        if !is_due {
            return Ok(None);
        }
        let _lock = self.lock()?;
        let count = unknown.len();
        let erasure = match unfinished {
            Some(erasure) if unknown.is_empty() => erasure,
            _ => Erasure::begin(&self.0.store, &self.0.clock, unknown)?,
        };
        let contacts = self.0.listings.erased_contacts()?.contacts.clone();
        list::write(&self.0.data, &contacts, &self.0.store)?;
        let search = Search {
            contacts,
            erasure: Some(&erasure),
            is_resumed: true,
            findings: Findings::default(),
        };
        self.complete(&erasure, search, count).map(Some)
    }

    fn lock(&self) -> Result<File> {
        let path = self.0.data.join(LOCK_FILE);
        let at = Error::io(&path);
        let lock = File::create(&path).map_err(at)?;
        match file_lock::try_lock(&lock) {
            Ok(()) => Ok(lock),
            Err(TryLockError::WouldBlock) => Err(Error::Busy(path)),
            Err(TryLockError::Error(error)) => Err(Error::io(&path)(error)),
        }
    }

    /// Runs an erasure to its end.
    fn complete(
        &self,
        erasure: &Erasure,
        search: Search<'_>,
        count: usize,
    ) -> Result<ErasureReport> {
        let damaged = self.run(search)?.damaged;
        self.0.store.wipe()?;
        let mut findings = erasure.found(&self.0.store)?;
        findings.damaged = damaged;
        record::end_all(&self.0.store, &self.0.clock)?;
        Ok(findings.report(Some(erasure.id), count))
    }

    fn run(&self, mut search: Search<'_>) -> Result<Findings> {
        let contacts = search.contacts.clone();
        let removal: Removal =
            Arc::new(move |record: &mut Value| contacts.remove_from(record, RemovedValue::Absent));
        self.adverts(&mut search, &removal)?;
        rows::run(&self.0, &mut search)?;
        files::run(&self.0, &mut search)?;
        tables::run(&self.0, &mut search)?;
        Ok(search.findings)
    }

    /// Searches and clears the adverts and their properties.
    fn adverts(&self, search: &mut Search<'_>, removal: &Removal) -> Result<()> {
        let last = self.0.listings.last_advert_number()?;
        let bar = self.0.progress.rows("adverts", last.unsigned_abs());
        let mut after = 0;
        while let Some(batch) =
            self.0
                .listings
                .search_adverts(SearchedAdverts::All, after, removal)?
        {
            after = batch.last;
            search.findings.damaged += batch.damaged;
            if let Some(erasure) = search.erasure {
                let row = erasure.number;
                self.0.listings.clear_adverts(
                    &batch.found,
                    removal,
                    move |transaction, cleared| record::add_listings(transaction, row, cleared),
                )?;
            }
            search.findings.add_listings(&batch.found);
            bar.set_position(after.unsigned_abs());
        }
        bar.finish_and_clear();
        Ok(())
    }
}
