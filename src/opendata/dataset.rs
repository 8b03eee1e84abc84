//! Names of the open-data tables: those that can be searched and matched, and all that can be imported.

use super::{dfi, dpe, dvf, rnb};
use serde::{Deserialize, Serialize};

use toise_lake::schema::TableSchema;

/// An open-data table that can be searched and matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dataset {
    /// Recorded sales.
    Dvf,
    /// Energy performance diagnostics.
    Dpe,
}

/// A table that official files are imported into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ImportTable {
    /// A table that is searched and matched.
    Dataset(Dataset),
    /// Addresses.
    Ban,
    /// Buildings.
    Rnb,
    /// Changes of parcels.
    Dfi,
}

impl From<Dataset> for ImportTable {
    fn from(dataset: Dataset) -> Self {
        Self::Dataset(dataset)
    }
}

impl ImportTable {
    /// Returns the table's folder and SQL name.
    pub fn name(self) -> &'static str {
        self.schema().name
    }

    /// Returns the table's columns.
    pub fn schema(self) -> &'static TableSchema {
        match self {
            Self::Dataset(dataset) => dataset.schema(),
            Self::Ban => toise_geocode::table::schema(),
            Self::Rnb => rnb::schema(),
            Self::Dfi => dfi::schema(),
        }
    }
}

/// Returns the schemas of all tables that official files are imported into.
pub fn imported() -> [&'static TableSchema; 5] {
    [
        ImportTable::Dataset(Dataset::Dvf),
        ImportTable::Dataset(Dataset::Dpe),
        ImportTable::Ban,
        ImportTable::Rnb,
        ImportTable::Dfi,
    ]
    .map(ImportTable::schema)
}

impl Dataset {
    /// Every open-data table.
    pub const ALL: [Self; 2] = [Self::Dvf, Self::Dpe];

    /// Returns the table's folder and SQL name, which is also the key that wraps a record in match answers.
    pub fn name(self) -> &'static str {
        self.schema().name
    }

    /// Returns the table's columns.
    pub fn schema(self) -> &'static TableSchema {
        match self {
            Dataset::Dvf => dvf::schema(),
            Dataset::Dpe => dpe::schema(),
        }
    }
}
