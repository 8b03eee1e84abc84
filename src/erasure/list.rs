//! The list of erased contacts as a file in the data folder, [`FILE_NAME`].
//!
//! When an older backup is restored, the list in the store lacks later contacts; the file of the previous data folder,
//! or of a newer backup, then supplies them. The file holds digests under the secret of the store, and a check value by
//! which a file of another store is recognised. On its own, the file reveals nothing about a contact.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{Error, Result};
use toise_adverts::contacts::{ContactDigest, ErasedContacts};
use toise_base::durable;
use toise_base::missing::optional;
use toise_store::{ERASED_CONTACTS_SECRET, Store};

/// Name of the file.
pub const FILE_NAME: &str = "erased-contacts.json";
/// Format of the file.
const FORMAT: u32 = 1;
/// The constant that is digested to recognise the store.
const CHECKED: &[u8] = b"toise erased contacts";

/// The contents of the file.
#[derive(Debug, Serialize, Deserialize)]
struct ListFile {
    format: u32,
    /// Digest of a constant under the secret of the store.
    store: String,
    /// Digests of the contacts, hexadecimal.
    contacts: BTreeSet<String>,
}

fn path_in(data: &Path) -> PathBuf {
    data.join(FILE_NAME)
}

fn check_value(store: &Store) -> Result<String> {
    let key = store.secret(ERASED_CONTACTS_SECRET)?;
    Ok(blake3::keyed_hash(&key, CHECKED).to_hex().to_string())
}

/// Writes the list of a store to its file; durable on return.
pub(crate) fn write(data: &Path, contacts: &ErasedContacts, store: &Store) -> Result<()> {
    let file = ListFile {
        format: FORMAT,
        store: check_value(store)?,
        contacts: contacts.digests().map(hex).collect(),
    };
    replace(&path_in(data), &file)
}

/// Returns the contacts of the file that are not in the list of the store; none without a file.
pub(crate) fn unknown(
    data: &Path,
    contacts: &ErasedContacts,
    store: &Store,
) -> Result<Vec<ContactDigest>> {
    let path = path_in(data);
    let Some(file) = read(&path)? else {
        return Ok(Vec::new());
    };
    let refused = |reason: &str| Error::List {
        path: path.clone(),
        reason: reason.to_owned(),
    };
    let known: BTreeSet<String> = contacts.digests().map(hex).collect();
    let unknown: Vec<&String> = file.contacts.difference(&known).collect();
    if unknown.is_empty() {
        return Ok(Vec::new());
    }
    if file.store != check_value(store)? {
        return Err(refused(
            "was made with another store, so its contacts cannot be recognised here",
        ));
    }
    let digests = unknown.into_iter().map(|text| {
        let bytes = blake3::Hash::from_hex(text).map_err(|_| refused("is damaged"))?;
        Ok(*bytes.as_bytes())
    });
    digests.collect()
}

/// Adds the contacts of a file to the file of a data folder, whose store does not have to be open yet.
/// [`super::Eraser::resume`] applies them. Durable on return.
///
/// # Errors
/// A file cannot be read or written, or the two were made with different stores.
pub fn merge(from: &Path, data: &Path) -> Result<()> {
    let missing = || Error::io(from)(std::io::ErrorKind::NotFound.into());
    let mut newer = read(from)?.ok_or_else(missing)?;
    let path = path_in(data);
    if let Some(own) = read(&path)? {
        if own.store != newer.store {
            return Err(Error::List {
                path: from.to_owned(),
                reason: "belongs to a different store from the backup".to_owned(),
            });
        }
        newer.contacts.extend(own.contacts);
    }
    replace(&path, &newer)
}

fn read(path: &Path) -> Result<Option<ListFile>> {
    let Some(text) = optional(std::fs::read(path)).map_err(Error::io(path))? else {
        return Ok(None);
    };
    let damaged = |reason: String| Error::List {
        path: path.to_owned(),
        reason,
    };
    let file: ListFile =
        serde_json::from_slice(&text).map_err(|error| damaged(format!("is damaged: {error}")))?;
    if file.format != FORMAT {
        return Err(damaged("was made by a newer version".to_owned()));
    }
    Ok(Some(file))
}

/// Replaces the file atomically; durable on return.
fn replace(path: &Path, file: &ListFile) -> Result<()> {
    let text = serde_json::to_vec_pretty(file).map_err(std::io::Error::from);
    text.and_then(|text| durable::replace(path, &text))
        .map_err(Error::io(path))
}

fn hex(digest: &ContactDigest) -> String {
    blake3::Hash::from_bytes(*digest).to_hex().to_string()
}
