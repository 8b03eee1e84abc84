//! The editions of the official sources that a data folder holds: `editions.json`, written after each step of a
//! refresh.
//!
//! The file records what was imported and is not part of the data. Without it, a refresh fetches everything once more
//! and changes nothing. A server reads it for its metrics.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use toise_base::durable;
use toise_sources::FileVersion;
use toise_sources::diagnostics::Survey;

/// Name of the file in the data folder.
pub const FILE_NAME: &str = "editions.json";

/// The editions of the official sources that a data folder holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Editions {
    /// Versions of the files of addresses, by name.
    pub addresses: BTreeMap<String, FileVersion>,
    /// Versions of the files of sales, by department and year.
    pub sales: BTreeMap<String, FileVersion>,
    /// Diagnostics, by department.
    pub diagnostics: BTreeMap<String, HeldDiagnostics>,
    /// Departments whose addresses changed, and whose index and sales without a position still have to be updated.
    pub unplaced: BTreeSet<String>,
    /// State of the sales that the current model was trained on; `None` if it is unknown or has changed.
    pub trained_on: Option<String>,
    /// State of each source, by table.
    pub sources: BTreeMap<String, SourceState>,
    /// When the last refresh ended, ISO 8601.
    pub refreshed_at: Option<String>,
}

/// The diagnostics of a department that are held.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldDiagnostics {
    /// The edition of the source when it was queried, before the files were downloaded.
    pub survey: Survey,
    /// The day on which it was queried, `yyyy-mm-dd`, UTC.
    pub asked_on: String,
}

/// The result of the last query of a source.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceState {
    /// Newest edition that is held: a month, or the day of the latest change.
    pub held: Option<String>,
    /// Newest edition that the source has.
    pub available: Option<String>,
    /// When the table last had everything the source has, ISO 8601.
    pub current_at: Option<String>,
    /// Failures of the last query; empty if there were none.
    pub failures: Vec<String>,
}

impl Editions {
    /// Reads the editions of a data folder. A file that is missing or cannot be read counts as empty.
    pub fn load(data: &Path) -> Self {
        let path = data.join(FILE_NAME);
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) => {
                if error.kind() != io::ErrorKind::NotFound {
                    tracing::warn!(path = %path.display(), %error, "cannot read the editions; treating them as empty");
                }
                return Self::default();
            }
        };
        serde_json::from_slice(&text).unwrap_or_else(|error| {
            tracing::warn!(path = %path.display(), %error, "the editions are damaged; treating them as empty");
            Self::default()
        })
    }

    /// Replaces the file by rename. Returns once it is durable.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn save(&self, data: &Path) -> io::Result<()> {
        let text = serde_json::to_vec_pretty(self)?;
        durable::replace(&data.join(FILE_NAME), &text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_file_counts_as_nothing_held() {
        let folder = tempfile::tempdir().unwrap();
        let mut editions = Editions::default();
        editions.unplaced.insert("48".to_owned());
        editions.save(folder.path()).unwrap();
        assert_eq!(Editions::load(folder.path()), editions);
        fs::write(folder.path().join(FILE_NAME), "{").unwrap();
        assert_eq!(Editions::load(folder.path()), Editions::default());
    }
}
