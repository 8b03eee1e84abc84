//! The tables of the lake as the commands that look after files name them.

use clap::ValueEnum;

use crate::lake::schema::TableSchema;
use crate::listings::columns::properties;
use crate::opendata::{dpe, dvf};

/// A table of the lake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LakeTable {
    /// Recorded sales
    Dvf,
    /// Energy diagnostics
    Dpe,
    /// Properties, as the store tells them
    Properties,
}

impl LakeTable {
    /// The tables named, each once and in one order; all of them where none is.
    pub fn chosen(named: &[Self]) -> impl Iterator<Item = &'static TableSchema> {
        let wanted = |table: &&Self| named.is_empty() || named.contains(table);
        Self::value_variants()
            .iter()
            .filter(wanted)
            .map(|table| match table {
                Self::Dvf => dvf::schema(),
                Self::Dpe => dpe::schema(),
                Self::Properties => properties(),
            })
    }
}
