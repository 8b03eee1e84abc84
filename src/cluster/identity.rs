//! The identity of the data that answers come from: the version, the snapshots of tables, the model, the index of
//! addresses, the layers.
//!
//! A command and its workers compare their identities before anything is answered, so that all rows of an answer come
//! from one state of the data.

use std::collections::BTreeMap;
use std::env::consts::ARCH;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::{Error, Result};
use toise_engine::session::TableVersion;
use toise_estimate::store as models;
use toise_geocode::folder as addresses;
use toise_lake::Lake;
use toise_lake::snapshot::Snapshot;
use toise_layers::Layers;
use toise_opendata::{Dataset, imported};

/// Value of a part that is missing.
const NONE: &str = "none";
/// Hexadecimal digits of a digest that messages show.
const DIGITS_SHOWN: usize = 12;
/// Name of the part for the version.
const VERSION: &str = "version";
/// Name of the part for the model.
const MODEL: &str = "model";
/// Name of the part for the index of addresses.
const ADDRESSES: &str = "address index";
/// Name of the part for all layers.
const LAYERS: &str = "set of layers";

/// Parts by name (`version`, `table dvf`, …), each with the text that identifies it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity(BTreeMap<String, String>);

/// Returns the name of a table's part.
fn table(name: &str) -> String {
    format!("table {name}")
}

/// Returns version and architecture; another version or architecture may round differently.
fn version() -> String {
    format!("{} on {ARCH}", env!("CARGO_PKG_VERSION"))
}

/// Reads a small file that names others; `None` if it is missing.
fn read(path: &Path) -> Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::io(path)(error)),
    }
}

/// Returns the digest of a small file that names others; `none` if it is missing.
fn digest(named: Option<&[u8]>) -> String {
    match named {
        Some(text) => blake3::hash(text).to_hex().to_string(),
        None => NONE.to_owned(),
    }
}

/// Returns the tables that workers have.
fn tables() -> [&'static str; 5] {
    imported().map(|schema| schema.name)
}

/// Returns whether workers have a copy of a table.
pub(crate) fn workers_have(table: &str) -> bool {
    tables().contains(&table)
}

impl Identity {
    /// Reads the identity of a data folder.
    ///
    /// # Errors
    /// A file that names a part of it cannot be read.
    pub fn of(data: &Path) -> Result<Self> {
        let lake = Lake::open(data)?;
        let mut parts = BTreeMap::from([(VERSION.to_owned(), version())]);
        for schema in imported() {
            let snapshot = Snapshot::load(&lake.folder(schema))?;
            parts.insert(table(schema.name), checksum_part(&snapshot.checksum));
        }
        let current = data.join(models::FOLDER).join(models::CURRENT);
        parts.insert(MODEL.to_owned(), digest(read(&current)?.as_deref()));
        let current = read(&addresses::current(data))?;
        parts.insert(ADDRESSES.to_owned(), digest(current.as_deref()));
        parts.insert(LAYERS.to_owned(), layers_part(&Layers::of(data)));
        Ok(Self(parts))
    }

    /// Returns the identity of what a process has in use. `model` and `addresses` are the files that named its model
    /// and its index of addresses. [`Self::with_versions`] adds tables.
    pub fn in_use(model: Option<&[u8]>, addresses: Option<&[u8]>, layers: &Layers) -> Self {
        Self(BTreeMap::from([
            (VERSION.to_owned(), version()),
            (MODEL.to_owned(), digest(model)),
            (ADDRESSES.to_owned(), digest(addresses)),
            (LAYERS.to_owned(), layers_part(layers)),
        ]))
    }

    /// Adds the tables of a session, as far as workers have them.
    pub fn with_versions(mut self, versions: &[TableVersion]) -> Self {
        for version in versions {
            if workers_have(version.table) {
                let checksum = checksum_part(&version.checksum);
                self.0.insert(table(version.table), checksum);
            }
        }
        self
    }

    /// Returns the parts that estimates depend on.
    pub fn for_estimates(&self) -> Self {
        self.only(&[MODEL.to_owned(), ADDRESSES.to_owned()])
    }

    /// Returns the parts that matches depend on.
    pub fn for_matches(&self, dataset: Dataset) -> Self {
        self.only(&[table(dataset.schema().name), ADDRESSES.to_owned()])
    }

    /// Returns the parts that geocoding depends on.
    pub fn for_addresses(&self) -> Self {
        self.only(&[ADDRESSES.to_owned()])
    }

    fn only(&self, names: &[String]) -> Self {
        let kept = self.0.iter();
        let kept = kept.filter(|(name, _)| *name == VERSION || names.contains(name));
        Self(
            kept.map(|(name, value)| (name.clone(), value.clone()))
                .collect(),
        )
    }

    /// Adds the snapshots of open tables.
    pub(crate) fn with_tables<'s>(
        mut self,
        open: impl Iterator<Item = (&'s str, &'s Snapshot)>,
    ) -> Self {
        for (name, snapshot) in open {
            self.0
                .insert(table(name), checksum_part(&snapshot.checksum));
        }
        self
    }

    /// Returns the first difference from the parts that a command asks for, in words; `None` if there is none.
    pub fn difference(&self, wanted: &Self) -> Option<String> {
        let differing = wanted.0.iter().find_map(|(name, wanted)| {
            let own = self.0.get(name).map_or(NONE, String::as_str);
            (own != wanted).then_some((name, own, wanted))
        });
        let (name, own, wanted) = differing?;
        let shown = |value: &str| {
            if name == VERSION {
                value.to_owned()
            } else {
                value.chars().take(DIGITS_SHOWN).collect()
            }
        };
        let (own, wanted) = (shown(own), shown(wanted));
        Some(format!(
            "its {name} is {own}, that of the command is {wanted}"
        ))
    }
}

/// Returns the part for layers; a damaged layer is reported by the query that names it.
fn layers_part(layers: &Layers) -> String {
    checksum_part(&layers.digest().unwrap_or_default())
}

fn checksum_part(checksum: &str) -> String {
    if checksum.is_empty() {
        NONE.to_owned()
    } else {
        checksum.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_told_by_name_and_only_in_what_is_asked_for() {
        let of = |model: &str, dvf: &str| {
            let parts = [
                (VERSION, version()),
                (MODEL, model.to_owned()),
                ("table dvf", dvf.to_owned()),
            ];
            Identity(
                parts
                    .map(|(name, value)| (name.to_owned(), value))
                    .into_iter()
                    .collect(),
            )
        };
        let own = of("0123456789abcdef", "aa");
        assert_eq!(own.difference(&own), None);
        let other = of("fedcba9876543210", "aa");
        assert_eq!(
            own.difference(&other).unwrap(),
            "its model is 0123456789ab, that of the command is fedcba987654"
        );
        assert_eq!(own.difference(&other.for_matches(Dataset::Dvf)), None);
        let without = Identity::default();
        assert!(without.difference(&own).unwrap().contains("is none"));
    }
}
