//! The tables of the lake, as arguments of the commands that maintain files.

use clap::ValueEnum;

use toise_contract::listings::filters::ListingKind;
use toise_lake::schema::TableSchema;
use toise_listings::columns::{adverts, properties};
use toise_opendata::{dfi, dpe, dvf, rnb};

/// A table of the lake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LakeTable {
    /// Recorded sales
    Dvf,
    /// Energy diagnostics
    Dpe,
    /// Properties, derived from the store
    Properties,
    /// Adverts, derived from the store
    Adverts,
    /// Addresses and named places
    Ban,
    /// Buildings
    Rnb,
    /// Changes of parcels
    Dfi,
}

impl LakeTable {
    /// Returns the named tables, each once and in a fixed order; all tables if none is named.
    pub fn chosen(named: &[Self]) -> impl Iterator<Item = Self> {
        let wanted = |table: &&Self| named.is_empty() || named.contains(table);
        Self::value_variants().iter().filter(wanted).copied()
    }

    /// Returns the schema of the table.
    pub fn schema(self) -> &'static TableSchema {
        match self {
            Self::Dvf => dvf::schema(),
            Self::Dpe => dpe::schema(),
            Self::Ban => toise_geocode::table::schema(),
            Self::Rnb => rnb::schema(),
            Self::Dfi => dfi::schema(),
            Self::Properties => properties(),
            Self::Adverts => adverts(),
        }
    }

    /// Returns the kind of listing that the table is derived from; `None` for open data.
    pub fn listing(self) -> Option<ListingKind> {
        match self {
            Self::Dvf | Self::Dpe | Self::Ban | Self::Rnb | Self::Dfi => None,
            Self::Properties => Some(ListingKind::Property),
            Self::Adverts => Some(ListingKind::Advert),
        }
    }
}
