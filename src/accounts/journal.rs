//! The journal of free calls: keeps their rows on disk until they are in the ledger.
//!
//! A line appended to a file costs a fraction of a transaction and survives the end of the process as well. Rows are
//! appended to one of two files while those of the other are written to the ledger; then that one is emptied. The files
//! are locked, so that a process that starts can tell the journals of killed processes from those in use.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use chrono::DateTime;
use uuid::Uuid;

use crate::entry::LedgerEntry;
use crate::prices::Consumption;

/// Ending of the file names.
const ENDING: &str = ".calls";

/// The two files of a process.
#[derive(Debug)]
pub(crate) struct Journal {
    /// Rows are appended to this file.
    active: JournalFile,
    /// The rows of this file are being written to the ledger.
    previous: JournalFile,
    is_previous_empty: bool,
}

#[derive(Debug)]
struct JournalFile {
    path: PathBuf,
    file: File,
}

impl Journal {
    /// Creates two empty files in a folder.
    ///
    /// # Errors
    /// They cannot be created or locked.
    pub(crate) fn create(folder: &Path) -> io::Result<Self> {
        Ok(Self {
            active: JournalFile::create(folder)?,
            previous: JournalFile::create(folder)?,
            is_previous_empty: true,
        })
    }

    /// Appends the row of a free call.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn append(&mut self, entry: &LedgerEntry) -> io::Result<()> {
        self.active.file.write_all(line(entry).as_bytes())
    }

    /// Directs further rows to the other file, if that is empty.
    pub(crate) fn rotate(&mut self) {
        if self.is_previous_empty {
            std::mem::swap(&mut self.active, &mut self.previous);
            self.is_previous_empty = false;
        }
    }

    /// Empties the file whose rows were written to the ledger.
    ///
    /// # Errors
    /// It cannot be emptied. Its rows are then written once more, which changes nothing.
    pub(crate) fn empty_previous(&mut self) -> io::Result<()> {
        self.previous.file.set_len(0)?;
        self.is_previous_empty = true;
        Ok(())
    }

    /// Deletes both files.
    ///
    /// # Errors
    /// They cannot be deleted.
    pub(crate) fn remove(self) -> io::Result<()> {
        std::fs::remove_file(&self.active.path)?;
        std::fs::remove_file(&self.previous.path)
    }
}

impl JournalFile {
    fn create(folder: &Path) -> io::Result<Self> {
        let path = folder.join(format!("{}{ENDING}", Uuid::now_v7()));
        // Locked before it has its name, so that no other process takes it for a leftover.
        let unnamed = path.with_extension("new");
        let mut options = OpenOptions::new();
        let file = options.append(true).create_new(true).open(&unnamed)?;
        file.lock()?;
        std::fs::rename(&unnamed, &path)?;
        Ok(Self { path, file })
    }
}

/// A file that a killed process left behind. Locked as long as it lives.
#[derive(Debug)]
pub(crate) struct Leftover {
    path: PathBuf,
    _locked: File,
    /// Its rows; some may be in the ledger already.
    pub(crate) rows: Vec<LedgerEntry>,
}

impl Leftover {
    /// Deletes the file, unless another process has.
    ///
    /// # Errors
    /// It cannot be deleted.
    pub(crate) fn remove(self) -> io::Result<()> {
        match std::fs::remove_file(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed,
        }
    }
}

/// Returns the files in a folder that no process uses.
///
/// # Errors
/// The folder or a file cannot be read.
pub(crate) fn leftovers(folder: &Path) -> io::Result<Vec<Leftover>> {
    let mut found = Vec::new();
    for (path, file) in journals(folder)? {
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => continue,
            Err(TryLockError::Error(error)) => return Err(error),
        }
        let rows = rows(&file)?;
        found.push(Leftover {
            path,
            _locked: file,
            rows,
        });
    }
    Ok(found)
}

/// Returns the rows of all journals in a folder, also of those in use. Some may be in the ledger already.
///
/// # Errors
/// The folder or a file cannot be read.
pub(crate) fn all_rows(folder: &Path) -> io::Result<Vec<LedgerEntry>> {
    let mut found = Vec::new();
    for (_, file) in journals(folder)? {
        found.extend(rows(&file)?);
    }
    Ok(found)
}

/// Opens the journals in a folder.
fn journals(folder: &Path) -> io::Result<Vec<(PathBuf, File)>> {
    let mut found = Vec::new();
    for listed in std::fs::read_dir(folder)? {
        let listed = listed?;
        if !is_journal(&listed.file_name().to_string_lossy()) {
            continue;
        }
        let path = listed.path();
        match File::open(&path) {
            Ok(file) => found.push((path, file)),
            // Another process deleted it after the folder was listed.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

/// Returns the rows of a journal that was just opened.
fn rows(mut file: &File) -> io::Result<Vec<LedgerEntry>> {
    let mut text = Vec::new();
    file.read_to_end(&mut text)?;
    let text = String::from_utf8_lossy(&text);
    Ok(text.lines().filter_map(row).collect())
}

/// Returns whether a file name is that of a journal, and not of a file that somebody else put there.
fn is_journal(name: &str) -> bool {
    let id = name.strip_suffix(ENDING);
    id.is_some_and(|id| Uuid::try_parse(id).is_ok())
}

/// Returns the line of a row. It ends with a full stop, so that an incomplete line is recognised, and begins with a line
/// break, so that it can follow one.
fn line(entry: &LedgerEntry) -> String {
    format!(
        "\n{} {} {} {} {}.",
        entry.at.timestamp_millis(),
        entry.request_id,
        entry.account_id,
        entry.key_id,
        entry.consumption.as_str()
    )
}

/// Returns the row of a line; `None` if the line is incomplete.
fn row(line: &str) -> Option<LedgerEntry> {
    let mut parts = line.strip_suffix('.')?.split(' ');
    let at = DateTime::from_timestamp_millis(parts.next()?.parse().ok()?)?;
    let mut id = || parts.next()?.parse::<Uuid>().ok();
    Some(LedgerEntry {
        at,
        request_id: id()?,
        account_id: id()?,
        key_id: id()?,
        consumption: parts.next()?.parse::<Consumption>().ok()?,
        credits: 0,
    })
}

#[cfg(test)]
mod tests {
    use chrono::Utc;

    use super::*;

    fn entry() -> LedgerEntry {
        LedgerEntry {
            request_id: Uuid::now_v7(),
            account_id: Uuid::now_v7(),
            key_id: Uuid::now_v7(),
            consumption: Consumption::PropertiesSearchLite,
            credits: 0,
            at: Utc::now(),
        }
    }

    fn ids(leftovers: &[Leftover]) -> Vec<Uuid> {
        let rows = leftovers.iter().flat_map(|leftover| &leftover.rows);
        let mut ids: Vec<Uuid> = rows.map(|row| row.request_id).collect();
        ids.sort_unstable();
        ids
    }

    #[test]
    fn rows_of_a_killed_process_are_found_and_an_incomplete_line_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = Journal::create(folder.path()).unwrap();
        let rows = [entry(), entry(), entry(), entry()];
        journal.append(&rows[0]).unwrap();
        journal.rotate();
        journal.append(&rows[1]).unwrap();
        // The first file still has rows, so the second one stays in use.
        journal.rotate();
        journal.append(&rows[2]).unwrap();
        let torn = line(&entry());
        let torn = torn.split("_LITE").next().unwrap();
        journal.active.file.write_all(torn.as_bytes()).unwrap();
        // As after a disk was full.
        journal.append(&rows[3]).unwrap();
        assert!(leftovers(folder.path()).unwrap().is_empty(), "in use");
        drop(journal);

        let found = leftovers(folder.path()).unwrap();
        assert_eq!(ids(&found), rows.each_ref().map(|row| row.request_id));
        let kept: Vec<_> = found.iter().flat_map(|leftover| &leftover.rows).collect();
        assert!(kept.iter().all(|row| row.credits == 0));
        assert!(
            kept.iter()
                .all(|row| row.consumption == rows[0].consumption)
        );
        for leftover in &found {
            // As if another process had been quicker.
            std::fs::remove_file(&leftover.path).unwrap();
        }
        for leftover in found {
            leftover.remove().unwrap();
        }
        assert!(leftovers(folder.path()).unwrap().is_empty());
    }

    #[test]
    fn a_file_of_somebody_else_is_not_a_journal() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("notes.calls"), "call Jeanne").unwrap();
        std::fs::create_dir(folder.path().join("recorded.calls")).unwrap();
        assert!(leftovers(folder.path()).unwrap().is_empty());
    }

    #[test]
    fn an_emptied_file_has_no_rows() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = Journal::create(folder.path()).unwrap();
        journal.append(&entry()).unwrap();
        journal.rotate();
        let kept = entry();
        journal.append(&kept).unwrap();
        journal.empty_previous().unwrap();
        drop(journal);
        assert_eq!(ids(&leftovers(folder.path()).unwrap()), [kept.request_id]);
        let journal = Journal::create(folder.path()).unwrap();
        journal.remove().unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
    }
}
