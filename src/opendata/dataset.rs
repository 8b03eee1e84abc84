//! The tables of open data, by name.

use super::{dpe, dvf};
use toise_lake::schema::TableSchema;

/// Which open-data table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dataset {
    /// Recorded sales.
    Dvf,
    /// Energy performance diagnostics.
    Dpe,
}

impl Dataset {
    /// Every open-data table.
    pub const ALL: [Self; 2] = [Self::Dvf, Self::Dpe];

    /// Folder, SQL name, and the key that wraps a record in match answers.
    pub fn name(self) -> &'static str {
        self.schema().name
    }

    /// The table's columns.
    pub fn schema(self) -> &'static TableSchema {
        match self {
            Dataset::Dvf => dvf::schema(),
            Dataset::Dpe => dpe::schema(),
        }
    }
}
