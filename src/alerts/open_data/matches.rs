//! Writes the matches of a block of open data, with their notifications.
//!
//! An alert matches each version of a record at most once: the version is part of the match, so writing a block again
//! changes nothing. Whether the alert is active, and which versions and events it is notified of, is read in the same
//! transaction.

use std::collections::HashMap;
use std::sync::Arc;

use rusqlite::{OptionalExtension, Transaction};
use uuid::Uuid;

use super::Result;
use super::pass::{MatchedRecord, Pass};
use super::position::note_pass;
use crate::alert::{Subscription, read_subscription};
use crate::outbox::{Branch, enqueue, snapshot};
use toise_contract::listings::codes::FlxId;
use toise_store::lease::Lease;

/// Maximum matches per transaction, for a commit of some tens of milliseconds.
const WRITTEN_MAX: usize = 2_000;

/// Writes the matches of a block in one or more transactions. A process that is killed in between writes the rest when
/// the pass is repeated. Blocks.
pub(super) fn record(
    lease: &Lease,
    pass: &Pass,
    matched: Vec<MatchedRecord>,
    at_ms: i64,
) -> Result<()> {
    let (dataset, version, seen) = (pass.dataset, pass.version, pass.seen);
    let groups = pass.groups_done();
    for part in parts(matched) {
        lease.write(move |transaction| {
            write(transaction, seen, &part, at_ms)?;
            note_pass(transaction, dataset, version, groups)
        })?;
    }
    Ok(())
}

/// Splits matches into parts of at most [`WRITTEN_MAX`].
fn parts(matched: Vec<MatchedRecord>) -> Vec<Vec<MatchedRecord>> {
    let mut parts: Vec<Vec<MatchedRecord>> = Vec::new();
    let mut room = 0;
    for record in matched {
        let mut left = record.alerts.as_slice();
        while !left.is_empty() {
            if room == 0 {
                parts.push(Vec::new());
                room = WRITTEN_MAX;
            }
            let (now, later) = left.split_at(room.min(left.len()));
            room -= now.len();
            left = later;
            let part = parts.last_mut().into_iter();
            part.for_each(|part| {
                part.push(MatchedRecord {
                    item: record.item,
                    versions: record.versions,
                    document: Arc::clone(&record.document),
                    alerts: now.to_vec(),
                });
            });
        }
    }
    parts
}

/// An active alert on open data.
#[derive(Clone, Copy, Debug)]
struct ActiveAlert {
    /// Version of the table when the alert was created or activated.
    since: u32,
    wants: Subscription,
}

/// Writes matches and notifications in a transaction; `seen` is the version that all alerts have seen.
fn write(
    transaction: &Transaction<'_>,
    seen: u32,
    matched: &[MatchedRecord],
    at_ms: i64,
) -> rusqlite::Result<()> {
    let mut alerts: HashMap<i64, Option<ActiveAlert>> = HashMap::new();
    for record in matched {
        let item = record.item.to_be_bytes();
        let versions = record.versions;
        // Stored for the first alert that is notified, and shared by the others.
        let mut shared_snapshot = None;
        for number in &record.alerts {
            let alert = match alerts.get(number) {
                Some(alert) => *alert,
                None => *alerts
                    .entry(*number)
                    .or_insert(active_alert(transaction, *number)?),
            };
            let Some(alert) = alert.filter(|alert| alert.since < versions.changed) else {
                continue;
            };
            let known = matched_version(transaction, &item, *number)?;
            if known.is_some_and(|version| version >= versions.changed) {
                continue;
            }
            record_match(transaction, &item, *number, versions.changed, at_ms)?;
            let is_new = known.is_none() && versions.added > seen.max(alert.since);
            let (branch, is_wanted) = if is_new {
                (Branch::Created, alert.wants.created)
            } else {
                (Branch::Updated, alert.wants.followed)
            };
            if !is_wanted {
                continue;
            }
            let stored = match shared_snapshot {
                Some(stored) => stored,
                None => *shared_snapshot.insert(snapshot(transaction, &record.document)?),
            };
            let id = FlxId(Uuid::from_bytes(item));
            enqueue(transaction, *number, branch, id, Some(stored), at_ms)?;
        }
    }
    Ok(())
}

/// Returns an alert in its current state; `None` if it is not active.
fn active_alert(
    transaction: &Transaction<'_>,
    alert: i64,
) -> rusqlite::Result<Option<ActiveAlert>> {
    let sql = "SELECT since_version, match_kinds FROM alerts WHERE alert = ?1 AND activated = 1";
    let mut statement = transaction.prepare_cached(sql)?;
    let found = statement.query_row([alert], |row| {
        let kinds = serde_json::from_str(row.get_ref(1)?.as_str()?).unwrap_or_default();
        Ok(ActiveAlert {
            since: row.get(0)?,
            wants: read_subscription(&kinds),
        })
    });
    found.optional()
}

/// Returns the last version of a record that an alert matched.
fn matched_version(
    transaction: &Transaction<'_>,
    item: &[u8; 16],
    alert: i64,
) -> rusqlite::Result<Option<u32>> {
    let sql = "SELECT version FROM open_data_matches WHERE item = ?1 AND alert = ?2";
    let mut statement = transaction.prepare_cached(sql)?;
    statement
        .query_row((item, alert), |row| row.get(0))
        .optional()
}

/// Records that an alert matched a version of a record.
fn record_match(
    transaction: &Transaction<'_>,
    item: &[u8; 16],
    alert: i64,
    version: u32,
    at_ms: i64,
) -> rusqlite::Result<()> {
    let sql = "INSERT INTO open_data_matches (item, alert, version, matched_at_ms) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT (item, alert) DO UPDATE SET version = excluded.version";
    let mut statement = transaction.prepare_cached(sql)?;
    statement.execute((item, alert, version, at_ms))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use toise_lake::id_index::RowVersions;

    #[test]
    fn matches_are_split_into_parts_in_order() {
        let record = |item: u128, alerts: i64| MatchedRecord {
            item,
            versions: RowVersions::default(),
            document: Arc::from([]),
            alerts: (0..alerts).collect(),
        };
        let split = parts(vec![record(1, 1_500), record(2, 3_000), record(3, 1)]);
        let shape: Vec<Vec<(u128, usize)>> = split
            .iter()
            .map(|part| {
                part.iter()
                    .map(|one| (one.item, one.alerts.len()))
                    .collect()
            })
            .collect();
        let expected = vec![
            vec![(1, 1_500), (2, 500)],
            vec![(2, 2_000)],
            vec![(2, 500), (3, 1)],
        ];
        assert_eq!(shape, expected);
        assert!(parts(Vec::new()).is_empty());
    }
}
