//! Verifies the files of a data folder or of its copy against the checksums recorded when they were written.
//!
//! `toise check` reports what is damaged; `backup`, `restore` and `publish` refuse to copy it.

use std::fmt;
use std::io::ErrorKind;
use std::path::Path;

use toise_estimate::{Model, model, store};
use toise_geocode::folder as addresses;
use toise_lake::check::{Damage, TableCheck};
use toise_lake::schema::TableSchema;
use toise_lake::{self as lake, Lake};
use toise_layers::folder as layers;
use toise_listings::columns::{adverts, properties};
use toise_listings::search::texts;
use toise_opendata::imported;
use toise_portfolios as portfolios;

/// Maximum items of damage that an error names; it counts the others.
const NAMED_MAX: usize = 5;

/// Damaged files that must not be copied.
#[derive(Debug, thiserror::Error)]
pub struct DamagedFiles(Vec<Damage>);

impl fmt::Display for DamagedFiles {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "damaged files, nothing was copied:")?;
        for Damage { file, reason } in self.0.iter().take(NAMED_MAX) {
            let separator = if file.is_empty() { "" } else { ": " };
            write!(out, "\n  {file}{separator}{reason}")?;
        }
        if let Some(more @ 1..) = self.0.len().checked_sub(NAMED_MAX) {
            write!(out, "\n  and {more} more places")?;
        }
        write!(
            out,
            "\n`toise check` lists all damage of a data folder and says how to repair it"
        )
    }
}

impl From<Vec<Damage>> for DamagedFiles {
    fn from(damage: Vec<Damage>) -> Self {
        Self(damage)
    }
}

/// Returns the schemas of all tables.
pub fn tables() -> [&'static TableSchema; 7] {
    let [dvf, dpe, addresses, rnb, dfi] = imported();
    [dvf, dpe, addresses, rnb, dfi, properties(), adverts()]
}

/// Verifies all files that a copy of a data folder holds, except the store, which is verified while it is copied. Reads
/// every byte; `progress` receives the number of table bytes read. Changes nothing.
///
/// # Errors
/// Files are damaged; the error names them.
pub fn files(folder: &Path, progress: &(dyn Fn(u64) + Sync)) -> Result<(), DamagedFiles> {
    let mut damaged = Vec::new();
    match Lake::open_without_changes(folder) {
        Ok(lake) => {
            let checks = tables().map(|table| lake.check(table).run(progress));
            damaged.extend(
                checks
                    .into_iter()
                    .flat_map(|check: TableCheck| check.damaged),
            );
        }
        Err(lake::Error::Io { source, .. }) if source.kind() == ErrorKind::NotFound => {}
        Err(error) => damaged.push(error.into()),
    }
    damaged.extend(derived(folder));
    let homes = portfolios::verify(folder).into_iter();
    damaged.extend(homes.map(|(file, reason)| Damage {
        file: file.display().to_string(),
        reason,
    }));
    relative_to(folder, &mut damaged);
    refuse(damaged)
}

/// Verifies the estimator's model, the index of addresses, the text index and the layers of a data folder, where they
/// exist. Returns the damage.
pub fn derived(folder: &Path) -> Vec<Damage> {
    let mut damaged: Vec<Damage> = Vec::new();
    if let Err(error) = model_version(folder) {
        damaged.push(Damage {
            file: store::FOLDER.to_owned(),
            reason: error.to_string(),
        });
    }
    let index = addresses::folder(folder);
    damaged.extend(addresses::verify(folder).into_iter().map(|file| Damage {
        file: index.join(file).display().to_string(),
        reason: "its checksum does not match".to_owned(),
    }));
    if let Err(error) = texts::verify(folder) {
        damaged.push(Damage {
            file: texts::FOLDER.to_owned(),
            reason: error.to_string(),
        });
    }
    damaged.extend(layers::verify(folder).into_iter().map(|error| Damage {
        file: layers::FOLDER.to_owned(),
        reason: error.to_string(),
    }));
    damaged
}

/// Opens the current model, which verifies each of its files. Returns its version; `None` if there is no model.
///
/// # Errors
/// The model is damaged or cannot be read.
pub fn model_version(folder: &Path) -> Result<Option<String>, model::Error> {
    match Model::open(&folder.join(store::FOLDER)) {
        Ok(model) => Ok(Some(model.metadata().version.clone())),
        Err(model::Error::Missing { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Makes paths relative to a folder, so that messages do not contain the name of a temporary folder.
fn relative_to(folder: &Path, damaged: &mut [Damage]) {
    let prefix = format!("{}/", folder.display());
    for damage in damaged {
        damage.file = damage.file.replace(&prefix, "");
        damage.reason = damage.reason.replace(&prefix, "");
    }
}

fn refuse(damaged: Vec<Damage>) -> Result<(), DamagedFiles> {
    if damaged.is_empty() {
        Ok(())
    } else {
        Err(damaged.into())
    }
}
