//! Keeps the rules for personal data in a running service: completes erasures at the start, and removes contacts after
//! their retention.

use std::io;
use std::path::Path;

use crate::Failure;
use crate::config::Config;
use toise_base::supervise::Supervisor;
use toise_base::watch::{Watcher, watch};
use toise_erasure::retention::OfflineContacts;
use toise_erasure::{self as erasure, Eraser};
use toise_lake::Lake;
use toise_listings::Listings;
use toise_store::Store;
use toise_store::audit::{Act, DONE, append};

/// Actor of entries in the audit log.
const ACTOR: &str = "start";
/// Action of the entry for a completed erasure.
const ACTION: &str = "erasure.resume";

/// Completes an erasure that a killed process left unfinished, and erases contacts that are in the file of erased
/// contacts but not in the store, as after a restore. Returns whether there was anything to do. Blocks for as long as
/// an erasure.
///
/// # Errors
/// A part of the data cannot be read or written, or another process erases.
pub fn resume(data: &Path, store: &Store, listings: &Listings) -> Result<bool, Failure> {
    let eraser = Eraser::new(store.clone(), listings.clone(), Lake::open(data)?);
    let report = match eraser.resume() {
        Ok(Some(report)) => report,
        Ok(None) => return Ok(false),
        Err(erasure::Error::Busy(_)) => {
            tracing::info!("another process completes an erasure");
            return Ok(false);
        }
        Err(error) => return Err(error.into()),
    };
    let subject = report.subject();
    tracing::info!(subject, "completed an erasure");
    let act = Act {
        actor: ACTOR.to_owned(),
        origin: None,
        action: ACTION.to_owned(),
        subject: Some(subject),
        outcome: DONE.to_owned(),
    };
    let at_ms = listings.clock().now().timestamp_millis();
    store.write(move |transaction| append(transaction, at_ms, act))?;
    Ok(true)
}

/// Starts removing the contacts of adverts that have been offline for the time in the settings, if they limit it.
///
/// # Errors
/// The system cannot start a thread.
pub(crate) fn start(
    supervisor: &Supervisor,
    listings: &Listings,
    config: &Config,
) -> io::Result<Option<Watcher>> {
    let days = config.personal_data.offline_contacts_days;
    let Some(mut contacts) = OfflineContacts::new(listings.clone(), days) else {
        return Ok(None);
    };
    let watcher = watch(supervisor, "contact-retention", move || {
        match contacts.run() {
            Ok(0) => {}
            Ok(adverts) => {
                tracing::info!(adverts, "removed the contacts of adverts that are offline")
            }
            Err(error) => {
                tracing::warn!(%error, "cannot remove the contacts of offline adverts; will retry")
            }
        }
    })?;
    Ok(Some(watcher))
}
