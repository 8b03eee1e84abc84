//! The snapshot of a table: its current data files and the provenance of their rows.
//!
//! It is one small JSON file, replaced by rename after everything it names is on disk, so that a reader or a crash sees
//! either the old table or the new one. Previous snapshots are kept for a while (`lake/versions.rs`), so that a process
//! that still reads one can finish.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{Error, INVENTED_LICENCE, Provenance};
use toise_base::durable;
use toise_base::missing::optional;
use toise_geo::order;

/// Format version written by this version.
pub const FORMAT: u32 = 3;
/// Name of the snapshot in the table's folder.
pub const FILE_NAME: &str = "snapshot.json";
/// Name of its link in the shared folder ([`super::shared_folder`]).
pub(super) const SHARED_FILE_NAME: &str = "_snapshot.json";
/// Hexadecimal digits of department and position in a clustering key.
const PLACE_DIGITS: usize = 16;
/// Maximum sources in the snapshot, newest last; older ones are in the import reports.
const SOURCES_KEPT_MAX: usize = 1_000;

/// One current data file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataFileEntry {
    /// File name in the table's own folder, which also holds its id index and checksums ([`DataFileEntry::files`]).
    pub file: String,
    /// Sorted run of the file; the files of one run do not overlap in sort order.
    pub run: u64,
    /// Rows in the file.
    pub rows: u64,
    /// Length of the file, in bytes.
    pub bytes: u64,
    /// Digest of its checksum file, which covers the data file and its id index: BLAKE3, 128 bits, hexadecimal.
    pub sums: String,
    /// First and last clustering key, hexadecimal.
    pub key_range: (String, String),
}

impl DataFileEntry {
    /// Returns the names of the files in the table's folder: rows, id index, checksums.
    pub fn files(&self) -> [String; 3] {
        [
            self.file.clone(),
            super::id_index::file_name(&self.file),
            super::checksums::file_name(&self.file),
        ]
    }

    /// Returns whether rows of the file may have changed after a version of the table. The file's name begins with the
    /// version that wrote it.
    pub fn may_have_changed_since(&self, version: u64) -> bool {
        let written = self.file.split('-').next();
        let written = written.and_then(|written| written.parse::<u64>().ok());
        written.is_none_or(|written| written > version)
    }

    /// Returns whether the file may hold rows of one of these departments. Rows without a department count for all of
    /// them.
    pub fn may_have_rows_of(&self, departments: &[String]) -> bool {
        let place = |key: &str| u64::from_str_radix(key.get(..PLACE_DIGITS)?, 16).ok();
        let (first, last) = (place(&self.key_range.0), place(&self.key_range.1));
        let (Some(first), Some(last)) = (first, last) else {
            return true;
        };
        let wanted = departments.iter().map(|code| order::places_of(Some(code)));
        wanted
            .chain([order::places_of(None)])
            .any(|places| first < places.end && places.start <= last)
    }
}

/// The current data files of a table and the provenance of their rows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// Format number.
    pub format: u32,
    /// Sequence number, incremented at each publication.
    pub sequence: u64,
    /// When it was published, ISO 8601.
    pub published_at: String,
    /// Current data files: run by run, in sort order within each run.
    pub parts: Vec<DataFileEntry>,
    /// Provenance of the rows, oldest first.
    pub sources: Vec<Provenance>,
    /// For a projection of documents: the last store change it includes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub through: Option<i64>,
    /// Digest of all of the above: BLAKE3 of the compact JSON, 128 bits, hexadecimal.
    #[serde(default)]
    pub checksum: String,
}

/// Returns the shared folder of the table whose own folder is `own`; `None` if that is not the name of an own folder.
pub(super) fn shared_folder(own: &Path) -> Option<PathBuf> {
    let name = own.file_name()?.to_str()?;
    Some(own.with_file_name(name.strip_prefix('_')?))
}

/// Returns whether a snapshot of the table was published, as its shared folder shows.
pub(super) fn was_published(own: &Path) -> bool {
    own.exists() && shared_folder(own).is_some_and(|shared| shared.join(SHARED_FILE_NAME).exists())
}

/// The field that is present in every format version.
#[derive(Deserialize)]
struct FormatHeader {
    format: u32,
}

impl Snapshot {
    /// Reads the snapshot of a table folder; a folder without any publication is an empty table.
    ///
    /// # Errors
    /// The snapshot cannot be read, is damaged, missing or of another format.
    pub fn load(folder: &Path) -> Result<Self, Error> {
        let path = folder.join(FILE_NAME);
        match Self::read(&path)? {
            Some(snapshot) => Ok(snapshot),
            None if was_published(folder) => Err(Error::damaged(
                &path,
                "missing, though the table was published",
            )),
            None => Ok(Self::default()),
        }
    }

    /// Reads the file of a snapshot; `None` if there is none.
    ///
    /// # Errors
    /// It cannot be read, is damaged or of another format.
    pub fn read(path: &Path) -> Result<Option<Self>, Error> {
        let text = optional(fs::read(path)).map_err(|error| Error::io(path, error))?;
        let Some(text) = text else {
            return Ok(None);
        };
        let damaged = |error| Error::damaged(path, error);
        let FormatHeader { format } = serde_json::from_slice(&text).map_err(damaged)?;
        if format != FORMAT {
            return Err(Error::OtherFormat {
                path: path.display().to_string(),
                found: format,
                known: FORMAT,
            });
        }
        let snapshot: Self = serde_json::from_slice(&text).map_err(damaged)?;
        if snapshot.checksum != snapshot.digest().map_err(damaged)? {
            return Err(Error::damaged(path, "does not match its checksum"));
        }
        Ok(Some(snapshot))
    }

    /// Reads the snapshot of a table that is about to be replaced completely. If it cannot be read, returns an empty
    /// snapshot with the highest sequence of the files in the folder, so that no file name is used twice.
    pub(super) fn load_or_empty(folder: &Path) -> Result<Self, Error> {
        if let Ok(snapshot) = Self::load(folder) {
            return Ok(snapshot);
        }
        let mut sequence = 0;
        let entries = fs::read_dir(folder).map_err(|error| Error::io(folder, error))?;
        for entry in entries {
            let name = entry.map_err(|error| Error::io(folder, error))?.file_name();
            let name = name.to_string_lossy();
            let number = name
                .split('-')
                .next()
                .and_then(|number| number.parse().ok());
            sequence = sequence.max(number.unwrap_or(0));
        }
        Ok(Self {
            sequence,
            ..Self::default()
        })
    }

    fn digest(&self) -> serde_json::Result<String> {
        let bare = Self {
            checksum: String::new(),
            ..self.clone()
        };
        Ok(super::checksums::whole_digest(&serde_json::to_vec(&bare)?))
    }

    /// Returns a value that changes whenever the snapshot does: modification time and length of its file. Costs one
    /// `stat`.
    pub fn stamp(folder: &Path) -> Option<(std::time::SystemTime, u64)> {
        let metadata = fs::metadata(folder.join(FILE_NAME)).ok()?;
        Some((metadata.modified().ok()?, metadata.len()))
    }

    /// Returns the number of rows in the table.
    pub fn rows(&self) -> u64 {
        self.parts.iter().map(|data_file| data_file.rows).sum()
    }

    /// Returns whether rows were generated by `toise demo` or `toise synth`, even if others are real: one invented
    /// source is enough.
    pub fn has_invented_rows(&self) -> bool {
        let mut sources = self.sources.iter();
        sources.any(|source| source.licence == INVENTED_LICENCE)
    }

    /// Adds sources, dropping the oldest beyond the maximum.
    pub(super) fn add_sources(&mut self, sources: Vec<Provenance>) {
        self.sources.extend(sources);
        let surplus = self.sources.len().saturating_sub(SOURCES_KEPT_MAX);
        self.sources.drain(..surplus);
    }

    /// Makes this snapshot the current one. Returns once it is on disk. The files it names must be on disk already.
    pub fn publish(&mut self, folder: &Path) -> Result<(), Error> {
        let path = folder.join(FILE_NAME);
        let unfit = |error| Error::damaged(&path, error);
        self.checksum = self.digest().map_err(unfit)?;
        let text = serde_json::to_vec_pretty(self).map_err(unfit)?;
        durable::replace(&path, &text).map_err(|error| Error::io(&path, error))
    }
}

/// Makes renames and new names in a folder durable.
pub(super) fn sync_folder(folder: &Path) -> Result<(), Error> {
    durable::sync_folder(folder).map_err(|error| Error::io(folder, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_invented_source_makes_a_table_one_with_invented_rows() {
        let source = |licence: &str| Provenance {
            name: "f.csv".into(),
            edition: None,
            checksum: String::new(),
            licence: licence.into(),
            read_at: String::new(),
            bytes: 1,
        };
        let of = |licences: &[&str]| Snapshot {
            sources: licences.iter().map(|licence| source(licence)).collect(),
            ..Snapshot::default()
        };
        assert!(!of(&[]).has_invented_rows());
        assert!(!of(&["Licence Ouverte 2.0"]).has_invented_rows());
        assert!(of(&[INVENTED_LICENCE]).has_invented_rows());
        assert!(of(&["Licence Ouverte 2.0", INVENTED_LICENCE]).has_invented_rows());
    }

    #[test]
    fn a_file_concerns_the_departments_that_its_rows_lie_in() {
        let key = |department: Option<&str>, position| {
            format!(
                "{:032x}",
                u128::from(order::cluster_key(department, position)) << 64 | 7
            )
        };
        let entry = |first: String, last: String| DataFileEntry {
            file: "1.parquet".into(),
            run: 1,
            rows: 1,
            bytes: 1,
            sums: String::new(),
            key_range: (first, last),
        };
        let south = entry(key(Some("13"), None), key(Some("30"), Some((43.83, 4.36))));
        let is_of = |entry: &DataFileEntry, code: &str| entry.may_have_rows_of(&[code.to_owned()]);
        for (code, expected) in [
            ("12", false),
            ("13", true),
            ("2A", true),
            ("30", true),
            ("31", false),
        ] {
            assert_eq!(is_of(&south, code), expected, "{code}");
        }
        let nowhere = entry(key(None, None), key(None, Some((48.0, 2.0))));
        assert!(is_of(&nowhere, "75"));
        let unreadable = entry("?".into(), "?".into());
        assert!(is_of(&unreadable, "75"));
    }
}
