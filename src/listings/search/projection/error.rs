//! Errors of the projection.

use crate::columns;
use crate::search::preview::ADVERTS_READ_MAX;
use crate::search::texts;
use toise_contract::listings::filters::ListingKind;

/// Errors of the projection and of queries on it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The store could not be read.
    #[error(transparent)]
    Listings(#[from] crate::Error),
    /// The table could not be read.
    #[error("{0}")]
    Engine(#[from] toise_engine::Error),
    /// The table could not be written.
    #[error(transparent)]
    Lake(#[from] toise_lake::Error),
    /// The stored document of a listing is malformed.
    #[error("listing {id} in the store cannot be read: {error}")]
    Record {
        /// The listing's identifier.
        id: String,
        /// The parse error.
        error: serde_json::Error,
    },
    /// A record of the store does not match its checksum, so a rebuilt table would lack it.
    #[error(
        "{0}; ingest its adverts again, or restore a backup (`toise check` names all damaged records)"
    )]
    Damaged(String),
    /// A record cannot be converted to a row.
    #[error(transparent)]
    Row(#[from] columns::Error),
    /// The text index could not be read or written.
    #[error(transparent)]
    Texts(#[from] texts::Error),
    /// The table belongs to another store.
    #[error(
        "lake/{name} holds changes up to {table}, the store only up to {store}: it belongs to another store; rebuild \
         it with `toise compact --rebuild`"
    )]
    Ahead {
        /// Name of the table.
        name: &'static str,
        /// Sequence of the last change in the table.
        table: i64,
        /// Sequence of the last change in the store.
        store: i64,
    },
    /// Text searches are refused while the text index is not up to date.
    #[error("the text index of properties is temporarily unavailable")]
    TextIndexUnavailable,
    /// The search has words, and its filter finds more adverts than a preview reads.
    #[error(
        "matches more than {} adverts before its texts are searched; narrow the filter, or select fewer days",
        ADVERTS_READ_MAX
    )]
    TooManyTexts,
    /// The snapshot of the previous page is no longer cached, so the next page could repeat or skip rows.
    #[error("cursor expired, start the search again")]
    CursorExpired,
    /// Too many adverts changed since the last compaction; another one has to finish first.
    #[error("the table of adverts is being written")]
    Behind,
    /// Rows could not be concatenated or filtered.
    #[error(transparent)]
    Arrow(#[from] arrow::error::ArrowError),
}

/// Result of an operation on the projection.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// Returns the listings whose table is damaged or lacks a file, if one is: it can be rebuilt from the store.
    pub fn damaged_table(&self) -> Option<ListingKind> {
        let error = match self {
            Self::Engine(toise_engine::Error::Lake(error)) | Self::Lake(error) => error,
            _ => return None,
        };
        let path = error.damaged_file()?;
        let kinds = [ListingKind::Property, ListingKind::Advert];
        kinds
            .into_iter()
            .find(|listing| path.contains(&format!("/_{}/", listing.table())))
    }
}
