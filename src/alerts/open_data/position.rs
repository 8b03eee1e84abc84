//! The position of the alerts on a table of open data: the version of the table that all of them have seen.
//!
//! A table without a position has been seen as of version 0, which is empty. An alert also has its own first version
//! (`alerts.since_version`), so it is not notified of earlier records.

use rusqlite::{Connection, OptionalExtension, Transaction};

use crate::alert::stored_kind;
use toise_opendata::Dataset;

/// The position of the alerts on a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Position {
    /// Version that all alerts have seen.
    pub seen: u32,
    /// Version of the pass that was running when its process ended; 0 if none.
    pub pass_version: u32,
    /// Number of row groups that this pass has done.
    pub pass_groups: u32,
    /// Lowest version at the creation or activation of an active alert; `None` if no alert is active.
    pub since_min: Option<u32>,
    /// Highest version at the creation or activation of any alert; 0 without alerts.
    pub since_max: u32,
}

impl Position {
    /// Reads the position of a table.
    pub(super) fn read(connection: &Connection, dataset: Dataset) -> rusqlite::Result<Self> {
        let kind = stored_kind(dataset.into());
        let stored = connection
            .prepare_cached(
                "SELECT version, pass_version, pass_groups FROM open_data_positions WHERE kind = ?1",
            )?
            .query_row([kind], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
            .optional()?;
        let (seen, pass_version, pass_groups) = stored.unwrap_or_default();
        let (since_min, since_max): (Option<u32>, Option<u32>) = connection
            .prepare_cached(
                "SELECT min(since_version) FILTER (WHERE activated = 1), max(since_version)
                 FROM alerts WHERE kind = ?1",
            )?
            .query_row([kind], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(Self {
            seen,
            pass_version,
            pass_groups,
            since_min,
            since_max: since_max.unwrap_or_default(),
        })
    }

    /// Returns the newest version of the table that the store knows.
    pub(super) fn newest(&self) -> u32 {
        self.seen.max(self.pass_version).max(self.since_max)
    }

    /// Returns the version after which rows have to be tested, up to `version`; `None` if no rows have to be tested.
    pub(super) fn first_unseen(&self, version: u32) -> Option<u32> {
        let after = self.since_min?.max(self.seen);
        (after < version).then_some(after)
    }
}

/// Records that all alerts have seen a version of a table, in the caller's transaction.
pub(super) fn advance(
    transaction: &Transaction<'_>,
    dataset: Dataset,
    version: u32,
) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "INSERT INTO open_data_positions (kind, version) VALUES (?1, ?2) ON CONFLICT (kind)
             DO UPDATE SET version = excluded.version, pass_version = 0, pass_groups = 0",
        )?
        .execute((stored_kind(dataset.into()), version))?;
    Ok(())
}

/// Records how many row groups of a version a pass has done, in the caller's transaction.
pub(super) fn note_pass(
    transaction: &Transaction<'_>,
    dataset: Dataset,
    version: u32,
    groups: u32,
) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "INSERT INTO open_data_positions (kind, version, pass_version, pass_groups) VALUES (?1, 0, ?2, ?3)
             ON CONFLICT (kind) DO UPDATE SET pass_version = excluded.pass_version, pass_groups = excluded.pass_groups",
        )?
        .execute((stored_kind(dataset.into()), version, groups))?;
    Ok(())
}

/// If the store knows a newer version of a table than `version`, the current one, lowers every stored version to it.
/// Later versions are then tested as new.
pub(super) fn rewind(
    transaction: &Transaction<'_>,
    dataset: Dataset,
    version: u32,
) -> rusqlite::Result<()> {
    if Position::read(transaction, dataset)?.newest() <= version {
        return Ok(());
    }
    let kind = stored_kind(dataset.into());
    for sql in [
        "UPDATE open_data_positions SET version = min(version, ?2), pass_version = 0, pass_groups = 0 WHERE kind = ?1",
        "UPDATE alerts SET since_version = ?2 WHERE kind = ?1 AND since_version > ?2",
        "UPDATE open_data_matches SET version = ?2
         WHERE version > ?2 AND alert IN (SELECT alert FROM alerts WHERE kind = ?1)",
    ] {
        transaction.execute(sql, (kind, version))?;
    }
    Ok(())
}
