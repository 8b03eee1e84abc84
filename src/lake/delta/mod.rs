//! The Delta Lake log of a table (protocol 1/2). Spark, Trino, Databricks, delta-rs and Polars use it to read one exact
//! version or, by time travel, any kept version.
//!
//! A version of the log is the snapshot of the same number. The log begins with a checkpoint of the oldest kept version
//! and has one entry per version: what its snapshot added and removed, with statistics of the files that it added. It
//! is derived from the snapshots and the footers of their files and can be rebuilt at any time. A new log takes over
//! the entries of the previous log unchanged, because readers may rely on them. It also keeps some entries of versions
//! whose files are gone.

mod actions;
mod checkpoint;
mod describe;
mod schema;
mod statistics;

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, SystemTime};

use chrono::DateTime;
use rayon::iter::{IntoParallelIterator, ParallelIterator};
use serde_json::{Value, json};

use super::Error;
use super::files::{link_or_copy, write_synced};
use super::snapshot::{DataFileEntry, Snapshot};
use actions::{add, commit_info, metadata, protocol, remove};
use describe::{FileDescription, describe};

/// Folder of the log in a shared folder.
pub(super) const FOLDER: &str = "_delta_log";
/// Folder next to the log that keeps the data files of all its versions.
pub(super) const FILES: &str = "_files";
/// Number of entries that stay in the log after their version was deleted, so that a reader that has listed the log
/// still finds them.
const EXPIRED_ENTRIES_KEPT: u64 = 20;
const LAST_CHECKPOINT: &str = "_last_checkpoint";

/// The log of the previous shared folder.
#[derive(Clone, Copy, Debug)]
pub(super) struct FormerLog<'l> {
    /// Its folder.
    pub(super) folder: &'l Path,
    /// Its last version that belongs to this table's history; later entries do not.
    pub(super) through: u64,
}

/// Writes the log of versions, oldest first and without gaps, into a folder, and takes over the entries of the previous
/// log. The files are durable on return, but not their names in the folder.
///
/// # Errors
/// A data file is damaged, or files cannot be written.
pub(super) fn write(
    own: &Path,
    versions: &[Snapshot],
    former: Option<FormerLog<'_>>,
    to: &Path,
) -> Result<(), Error> {
    let Some(oldest) = versions.first() else {
        return Ok(());
    };
    let mut log = LogWriter {
        own,
        former,
        to,
        described: HashMap::new(),
    };
    log.take_over_expired(oldest)?;
    let mut before: Option<&Snapshot> = None;
    for version in versions {
        if !log.takes_over(version, &entry_name(version.sequence))? {
            let entry = log.entry(version, before)?;
            log.write_lines(version, &entry)?;
        }
        before = Some(version);
    }
    if !log.takes_over(oldest, &checkpoint_name(oldest.sequence))? {
        let actions = log.state(oldest)?;
        let path = to.join(checkpoint_name(oldest.sequence));
        checkpoint::write(&path, &actions)?;
        set_modified(&path, oldest)?;
    }
    // One action per file, the protocol and the metadata.
    let size = oldest.parts.len() + 2;
    let hint = json!({"version": oldest.sequence, "size": size});
    write_synced(&to.join(LAST_CHECKPOINT), hint.to_string().as_bytes())?;
    Ok(())
}

/// Returns the name in [`FILES`] of a data file.
pub(super) fn file_name(parquet_file: &str) -> String {
    format!("{}.pq", parquet_file.trim_end_matches(".parquet"))
}

fn entry_name(version: u64) -> String {
    format!("{version:020}.json")
}

fn checkpoint_name(version: u64) -> String {
    format!("{version:020}.checkpoint.parquet")
}

/// Returns when a snapshot was published, in milliseconds since 1970; 0 if it does not say.
fn published_ms(snapshot: &Snapshot) -> i64 {
    let moment = DateTime::parse_from_rfc3339(&snapshot.published_at);
    moment.map_or(0, |moment| moment.timestamp_millis())
}

struct LogWriter<'l> {
    own: &'l Path,
    former: Option<FormerLog<'l>>,
    to: &'l Path,
    /// Descriptions of the data files seen so far, by name.
    described: HashMap<String, FileDescription>,
}

impl LogWriter<'_> {
    /// Links the entry of a version from the previous log, if that log has a file of this name. Returns whether it did.
    fn takes_over(&self, version: &Snapshot, name: &str) -> Result<bool, Error> {
        let former = self.former.filter(|log| version.sequence <= log.through);
        let Some(from) = former.map(|log| log.folder.join(name)) else {
            return Ok(false);
        };
        if from.exists() {
            link_or_copy(&from, &self.to.join(name)).map(|()| true)
        } else {
            Ok(false)
        }
    }

    /// Links the entries of the previous log for the last versions before the oldest kept one.
    fn take_over_expired(&self, oldest: &Snapshot) -> Result<(), Error> {
        let Some(former) = self.former else {
            return Ok(());
        };
        let wrap = |error| Error::io(former.folder, error);
        for entry in fs::read_dir(former.folder).map_err(wrap)? {
            let path = entry.map_err(wrap)?.path();
            let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
                continue;
            };
            let version = name
                .split('.')
                .next()
                .and_then(|digits| digits.parse().ok());
            let is_expired = |version: u64| {
                version < oldest.sequence && version + EXPIRED_ENTRIES_KEPT >= oldest.sequence
            };
            if version.is_some_and(is_expired) {
                link_or_copy(&path, &self.to.join(name))?;
            }
        }
        Ok(())
    }

    /// Returns the actions of one version: the changes since the previous version, or all files if there is none.
    fn entry(
        &mut self,
        version: &Snapshot,
        before: Option<&Snapshot>,
    ) -> Result<Vec<Value>, Error> {
        let files = |snapshot: &Snapshot| -> HashSet<String> {
            let names = snapshot.parts.iter().map(|entry| entry.file.clone());
            names.collect()
        };
        let at = published_ms(version);
        let (had, has) = (before.map(files).unwrap_or_default(), files(version));
        self.describe(&version.parts)?;
        let mut actions = vec![commit_info(version, at)];
        if before.is_none() {
            actions.push(protocol());
        }
        actions.push(self.metadata(version)?);
        let gone = before.into_iter().flat_map(|before| &before.parts);
        let gone = gone.filter(|entry| !has.contains(&entry.file));
        actions.extend(gone.map(|entry| remove(entry, at)));
        let new = version
            .parts
            .iter()
            .filter(|entry| !had.contains(&entry.file));
        for entry in new {
            actions.push(self.add(entry, at)?);
        }
        Ok(actions)
    }

    /// Returns the actions that a checkpoint of a version holds.
    fn state(&mut self, version: &Snapshot) -> Result<Vec<Value>, Error> {
        self.describe(&version.parts)?;
        let mut actions = vec![protocol(), self.metadata(version)?];
        for entry in &version.parts {
            actions.push(self.add(entry, published_ms(version))?);
        }
        Ok(actions)
    }

    fn metadata(&self, version: &Snapshot) -> Result<Value, Error> {
        let name = self.own.file_name().unwrap_or_default().to_string_lossy();
        // The files of the latest run have the current columns.
        let mut parts: Vec<&DataFileEntry> = version.parts.iter().collect();
        parts.sort_by_key(|entry| std::cmp::Reverse(entry.run));
        let files = parts.iter().filter_map(|entry| {
            let described = self.described.get(&entry.file)?;
            Some(described.schema.as_ref())
        });
        let schema = schema::of_files(files).map_err(|fault| Error::damaged(self.own, fault))?;
        Ok(metadata(name.trim_start_matches('_'), &schema))
    }

    fn add(&self, entry: &DataFileEntry, at: i64) -> Result<Value, Error> {
        let described = self.described.get(&entry.file);
        let missing = || Error::damaged(&self.own.join(&entry.file), "not described");
        Ok(add(entry, at, &described.ok_or_else(missing)?.statistics))
    }

    /// Reads the footers of files that were not read yet, on all cores.
    fn describe(&mut self, entries: &[DataFileEntry]) -> Result<(), Error> {
        let own = self.own;
        let new: Vec<&DataFileEntry> = entries
            .iter()
            .filter(|entry| !self.described.contains_key(&entry.file))
            .collect();
        let described = new.into_par_iter().map(|entry| {
            let description = describe(own, entry)?;
            Ok((entry.file.clone(), description))
        });
        let described = described.collect::<Result<Vec<_>, Error>>()?;
        self.described.extend(described);
        Ok(())
    }

    fn write_lines(&self, version: &Snapshot, actions: &[Value]) -> Result<(), Error> {
        let mut text = String::new();
        for action in actions {
            text.push_str(&action.to_string());
            text.push('\n');
        }
        let path = self.to.join(entry_name(version.sequence));
        write_synced(&path, text.as_bytes())?;
        set_modified(&path, version)
    }
}

/// Sets the modification time of a log file to the publication of its version: readers use it to find the version as of
/// a time.
fn set_modified(path: &Path, version: &Snapshot) -> Result<(), Error> {
    let since_1970 = u64::try_from(published_ms(version)).unwrap_or(0);
    let moment = SystemTime::UNIX_EPOCH + Duration::from_millis(since_1970);
    File::options()
        .write(true)
        .open(path)
        .and_then(|file| file.set_modified(moment))
        .map_err(|error| Error::io(path, error))
}
