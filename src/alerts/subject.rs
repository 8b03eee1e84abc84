//! The kinds of records that alerts search: properties, adverts, recorded sales and energy diagnostics.

use toise_contract::listings::filters::ListingKind;
use toise_opendata::Dataset;

/// The records that an alert searches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AlertSubject {
    /// Properties or adverts.
    Listings(ListingKind),
    /// Recorded sales or energy diagnostics.
    OpenData(Dataset),
}

impl AlertSubject {
    /// All subjects.
    pub const ALL: [Self; 4] = [
        Self::Listings(ListingKind::Property),
        Self::Listings(ListingKind::Advert),
        Self::OpenData(Dataset::Dvf),
        Self::OpenData(Dataset::Dpe),
    ];

    /// Returns the name of the searched table.
    pub fn table(self) -> &'static str {
        match self {
            Self::Listings(listing) => listing.table(),
            Self::OpenData(dataset) => dataset.name(),
        }
    }
}

/// The kind of records in a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum DeliverySubject {
    /// Records that an alert matched.
    Alert(AlertSubject),
    /// Homes of a portfolio that changed.
    Portfolio,
}

impl DeliverySubject {
    /// Returns the name of the list of its items.
    pub(crate) fn items(self) -> &'static str {
        match self {
            Self::Alert(subject) => subject.table(),
            Self::Portfolio => "homes",
        }
    }
}

impl From<ListingKind> for AlertSubject {
    fn from(listing: ListingKind) -> Self {
        Self::Listings(listing)
    }
}

impl From<Dataset> for AlertSubject {
    fn from(dataset: Dataset) -> Self {
        Self::OpenData(dataset)
    }
}
