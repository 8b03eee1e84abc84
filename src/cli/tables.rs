//! The tables of the lake as the commands that look after files name them.

use clap::ValueEnum;

use toise_contract::listings::filters::Listing;
use toise_lake::schema::TableSchema;
use toise_listings::columns::{adverts, properties};
use toise_opendata::{dpe, dvf};

/// A table of the lake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LakeTable {
    /// Recorded sales
    Dvf,
    /// Energy diagnostics
    Dpe,
    /// Properties, as the store tells them
    Properties,
    /// Adverts, as the store tells them
    Adverts,
}

impl LakeTable {
    /// The tables named, each once and in one order; all of them where none is.
    pub fn chosen(named: &[Self]) -> impl Iterator<Item = Self> {
        let wanted = |table: &&Self| named.is_empty() || named.contains(table);
        Self::value_variants().iter().filter(wanted).copied()
    }

    /// Its description.
    pub fn schema(self) -> &'static TableSchema {
        match self {
            Self::Dvf => dvf::schema(),
            Self::Dpe => dpe::schema(),
            Self::Properties => properties(),
            Self::Adverts => adverts(),
        }
    }

    /// The records of the store that it shows, where it does.
    pub fn listing(self) -> Option<Listing> {
        match self {
            Self::Dvf | Self::Dpe => None,
            Self::Properties => Some(Listing::Property),
            Self::Adverts => Some(Listing::Advert),
        }
    }
}
