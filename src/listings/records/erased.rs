//! The list of erased contacts: which contacts are removed from each advert that arrives.
//!
//! It is stored as keyed digests, and each process keeps a copy until the list grows. `toise_erasure` adds to it.
//! Ingestion compares versions again inside its transaction, so a contact that is erased while an advert with it is
//! being prepared is not written.

use std::sync::Arc;

use parking_lot::Mutex;
use rusqlite::Connection;

use crate::adverts::contacts::{ContactDigest, ErasedContacts};
use crate::{Listings, Result};
use toise_store::ERASED_CONTACTS_SECRET;

/// The list as of one version.
#[derive(Clone, Debug)]
pub struct ErasedList {
    /// The contacts.
    pub contacts: ErasedContacts,
    /// Number of the last contact added.
    pub version: i64,
}

/// The list that a process read last; `None` before the first read.
#[derive(Debug, Default)]
pub(crate) struct ErasedCache(Mutex<Option<Arc<ErasedList>>>);

impl ErasedList {
    /// Returns the list as a connection sees it, if it has grown since this one; otherwise `None`, at the cost of one
    /// lookup.
    pub(crate) fn successor(&self, connection: &Connection) -> rusqlite::Result<Option<Self>> {
        let version = version(connection)?;
        if version == self.version {
            return Ok(None);
        }
        Ok(Some(Self {
            contacts: self.contacts.with(digests(connection)?),
            version,
        }))
    }
}

/// Returns the number of the last contact that was added; 0 if there is none.
fn version(connection: &Connection) -> rusqlite::Result<i64> {
    let sql = "SELECT coalesce(max(number), 0) FROM erased_contacts";
    connection
        .prepare_cached(sql)?
        .query_row([], |row| row.get(0))
}

fn digests(connection: &Connection) -> rusqlite::Result<Vec<ContactDigest>> {
    let mut statement = connection.prepare_cached("SELECT digest FROM erased_contacts")?;
    statement.query_map([], |row| row.get(0))?.collect()
}

impl Listings {
    /// Returns the list of erased contacts. Blocks.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn erased_contacts(&self) -> Result<Arc<ErasedList>> {
        let known = self.erased.0.lock().clone();
        let known = match known {
            Some(known) => known,
            None => Arc::new(ErasedList {
                contacts: ErasedContacts::new(self.store.secret(ERASED_CONTACTS_SECRET)?, []),
                version: 0,
            }),
        };
        let longer = self.store.read(|connection| known.successor(connection))?;
        let present = longer.map_or(known, Arc::new);
        *self.erased.0.lock() = Some(Arc::clone(&present));
        Ok(present)
    }
}
