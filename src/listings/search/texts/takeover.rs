//! Takes over the text index from a process that was stopped (suspended): it has not ended, but no longer writes.
//!
//! The lock of the index library lasts as long as its process and cannot be taken. Instead, the last commit is
//! published as the index with the next number, which this process may write. Its files are immutable and are
//! hard-linked, which costs milliseconds. The stopped process switches to the new index when it resumes.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use super::{DRAFT, Error, Result, name, publish, rebuild_lock};
use toise_base::missing::remove_folder;

/// Time without a commit after which the index is taken over, while changes wait for one. Longer than a lease, because
/// a large merge may delay a commit.
pub(super) const SILENT_MAX: Duration = Duration::from_secs(30);
/// File of an index that lists its segments, replaced by each commit.
const LIST: &str = "meta.json";
/// End of the names of files that are locked.
const LOCK_SUFFIX: &str = ".lock";

/// Another process's next commit, for which this process waits.
#[derive(Debug)]
pub(super) struct AwaitedCommit {
    /// Number of the index that it writes.
    number: u64,
    /// Sequence of the last change in that index.
    through: i64,
    since: Instant,
}

impl AwaitedCommit {
    /// Returns whether an index has reached no further than `through` for so long that its writer must be stopped. Call
    /// it while changes wait that only another process may write.
    pub(super) fn is_overdue(
        awaited: &mut Option<Self>,
        number: u64,
        through: i64,
        silent_max: Duration,
    ) -> bool {
        let waits = awaited
            .as_ref()
            .filter(|waits| (waits.number, waits.through) == (number, through));
        let Some(waits) = waits else {
            *awaited = Some(Self {
                number,
                through,
                since: Instant::now(),
            });
            return false;
        };
        waits.since.elapsed() >= silent_max
    }
}

/// Gives the last commit of an index the next number. Does nothing if another process rebuilds the index, or if its
/// writer commits in the meantime.
///
/// # Errors
/// The folder cannot be written.
pub(super) fn take_over(folder: &Path, number: u64) -> Result<()> {
    let _lock = match rebuild_lock(folder) {
        Err(Error::Busy(_)) => return Ok(()),
        lock => lock?,
    };
    let (from, draft) = (folder.join(name(number)), folder.join(DRAFT));
    let failed = |error| Error::folder(&draft, error);
    remove_folder(&draft).map_err(failed)?;
    fs::create_dir(&draft).map_err(failed)?;
    let list = || fs::read(from.join(LIST)).ok();
    let before = list();
    link_files(&from, &draft).map_err(failed)?;
    if before.is_none() || list() != before {
        return remove_folder(&draft).map_err(failed);
    }
    publish(folder, number + 1)?;
    tracing::warn!(
        number = number + 1,
        "another process no longer writes the text index; this one does now"
    );
    Ok(())
}

fn link_files(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let (path, file_name) = entry.map(|entry| (entry.path(), entry.file_name()))?;
        if file_name.to_string_lossy().ends_with(LOCK_SUFFIX) {
            continue;
        }
        let target = to.join(&file_name);
        // Not all file systems have hard links.
        let placed = fs::hard_link(&path, &target).or_else(|_| fs::copy(&path, &target).map(drop));
        match placed {
            // Deleted by a commit, which is noticed afterwards.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            placed => placed?,
        }
    }
    File::open(to)?.sync_all()
}
