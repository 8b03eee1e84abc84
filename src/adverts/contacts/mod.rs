//! Finds and removes, in records and texts, the contacts of people who asked to be forgotten.
//!
//! [`ErasedContacts`] is a list of keyed digests, so that a copy of the list does not reveal anybody's contacts.
//! Contacts are normalised first (`normal`), so that a telephone number, an email address or a name compares equal
//! however a portal writes it. Ingestion applies the list to each advert before reading it (`toise_listings::load`). An
//! erasure applies it to everything that is stored (`toise_erasure`). Checking a record costs a digest for each contact
//! field and for each number and address in its texts: about a microsecond.

mod normal;
mod record;
mod texts;

use std::collections::HashSet;
use std::fmt;

pub use normal::{CONTACT_CHARS_MAX, Contact, ContactKind};
pub use record::RemovedValue;
pub use texts::REMOVED;

/// Length of a digest, bytes.
pub const DIGEST_BYTES: usize = 32;

/// Keyed digest of a contact.
pub type ContactDigest = [u8; DIGEST_BYTES];

/// A list of contacts, as digests under the key of a store. Its debug text does not show the key.
#[derive(Clone)]
pub struct ErasedContacts {
    key: [u8; blake3::KEY_LEN],
    digests: HashSet<ContactDigest>,
}

impl fmt::Debug for ErasedContacts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "ErasedContacts({})", self.digests.len())
    }
}

impl ErasedContacts {
    /// Creates a list from the digests in a store, made with its key.
    pub fn new(
        key: [u8; blake3::KEY_LEN],
        digests: impl IntoIterator<Item = ContactDigest>,
    ) -> Self {
        Self {
            key,
            digests: digests.into_iter().collect(),
        }
    }

    /// Returns a list of only these contacts, under the same key.
    pub fn of<'c>(&self, contacts: impl IntoIterator<Item = &'c Contact>) -> Self {
        let digests = contacts.into_iter().map(|contact| self.digest(contact));
        Self::new(self.key, digests)
    }

    /// Iterates over the digests.
    pub fn digests(&self) -> impl Iterator<Item = &ContactDigest> {
        self.digests.iter()
    }

    /// Returns a list of only these digests, under the same key.
    pub fn with(&self, digests: impl IntoIterator<Item = ContactDigest>) -> Self {
        Self::new(self.key, digests)
    }

    /// Returns the keyed digest of a contact.
    pub fn digest(&self, contact: &Contact) -> ContactDigest {
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        hasher.update(&[contact.kind() as u8]);
        hasher.update(contact.normal().as_bytes());
        *hasher.finalize().as_bytes()
    }

    /// Returns whether a contact is in the list.
    pub fn contains(&self, contact: &Contact) -> bool {
        self.digests.contains(&self.digest(contact))
    }

    /// Returns whether the list has no contact, so that nothing needs to be checked.
    pub fn is_empty(&self) -> bool {
        self.digests.is_empty()
    }

    /// Returns the number of contacts.
    pub fn len(&self) -> usize {
        self.digests.len()
    }
}
