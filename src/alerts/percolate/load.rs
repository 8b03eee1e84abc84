//! Loads changed alerts from the store into memory: those whose change sequence is greater than the last one seen.
//!
//! Searches are parsed on all cores, and a clause that another alert has is not compiled again.

use std::collections::BTreeSet;

use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use rusqlite::{Connection, Row};
use serde_json::Value;
use uuid::Uuid;

use super::CompiledAlerts;
use crate::alert::{AlertSubject, Subscription, read_subject, read_subscription, stored_kind};
use crate::saved_search;
use toise_contract::listings::filters::ListingSearch;

/// Maximum alerts that are parsed and then compiled together. Their parsed searches are in memory next to the compiled
/// ones until the chunk is done.
const CHUNK_ALERTS: usize = 10_000;
/// Maximum size of the searches of such a chunk, in bytes of JSON; exceeded by at most one search.
const CHUNK_BYTES: usize = 16 << 20;
/// Minimum number of alerts to parse on all cores. Fewer alerts are parsed on this thread, which is faster than waiting
/// for cores that may be busy.
const ALL_CORES_MIN: usize = 500;

/// The columns of a changed alert that loading needs.
struct StoredAlert {
    /// Row number in the store.
    alert: i64,
    /// Identifier in the contract.
    id: Uuid,
    /// Sequence of its last change.
    change: i64,
    subject: AlertSubject,
    is_active: bool,
    /// JSON text of the search; empty if the alert is not active, since it is not parsed then.
    search_query: String,
    /// JSON text of the array of match kinds it subscribes to.
    match_kinds: String,
}

/// The events that an alert wants, and its search; `None` if it is not active.
type ParsedAlert = Option<(Subscription, ListingSearch)>;

/// Brings the compiled alerts up to the last change in the store. An alert that cannot be parsed is logged and is not
/// an error.
///
/// # Errors
/// The store cannot be read; the chunks before the failure stay applied.
pub(super) fn catch_up(
    state: &mut CompiledAlerts,
    connection: &Connection,
) -> rusqlite::Result<()> {
    loop {
        let changed = changed_after(connection, state.change)?;
        let Some(last) = changed.last().map(|stored| stored.change) else {
            return Ok(());
        };
        let parsed: Vec<_> = if changed.len() < ALL_CORES_MIN {
            changed.iter().map(parse_stored).collect()
        } else {
            changed.par_iter().map(parse_stored).collect()
        };
        for (stored, parsed) in changed.iter().zip(parsed) {
            apply(state, stored, parsed);
        }
        state.change = last;
    }
}

/// Returns the next alerts changed after `change`, in the order of their changes: at most [`CHUNK_ALERTS`], and fewer
/// if their searches reach [`CHUNK_BYTES`]. Empty if there are no more.
fn changed_after(connection: &Connection, change: i64) -> rusqlite::Result<Vec<StoredAlert>> {
    let sql = "SELECT alert, change, kind, activated, iif(activated, search_query, ''), match_kinds, alert_id
         FROM alerts WHERE change > ?1 AND kind <> 'PORTFOLIO' ORDER BY change LIMIT ?2";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query((change, CHUNK_ALERTS as i64))?;
    let (mut changed, mut bytes) = (Vec::new(), 0);
    while bytes < CHUNK_BYTES
        && let Some(row) = rows.next()?
    {
        let stored = read_row(row)?;
        bytes += stored.search_query.len();
        changed.push(stored);
    }
    Ok(changed)
}

fn read_row(row: &Row<'_>) -> rusqlite::Result<StoredAlert> {
    Ok(StoredAlert {
        alert: row.get(0)?,
        change: row.get(1)?,
        subject: read_subject(row, 2)?,
        is_active: row.get(3)?,
        search_query: row.get(4)?,
        match_kinds: row.get(5)?,
        id: Uuid::from_bytes(row.get(6)?),
    })
}

/// Parses an alert. The error is the reason to log.
fn parse_stored(stored: &StoredAlert) -> Result<ParsedAlert, String> {
    if !stored.is_active {
        return Ok(None);
    }
    let json = |text: &str| -> Result<Value, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    };
    let query = json(&stored.search_query)?;
    let search = saved_search::parse(stored.subject, &query).map_err(|fault| fault.to_string())?;
    Ok(Some((
        read_subscription(&json(&stored.match_kinds)?),
        search,
    )))
}

/// Puts an alert into the index of its table, or removes it if it is inactive or cannot be parsed or compiled.
fn apply(state: &mut CompiledAlerts, stored: &StoredAlert, parsed: Result<ParsedAlert, String>) {
    let index = state.index(stored.subject);
    let applied = parsed.and_then(|parsed| match parsed {
        None => {
            index.remove(stored.alert);
            Ok(())
        }
        Some((wants, search)) => index
            .upsert(stored.alert, wants, &search)
            .map_err(|error| error.to_string()),
    });
    state.unreadable.remove(&stored.alert);
    if let Err(reason) = applied {
        state.index(stored.subject).remove(stored.alert);
        state.unreadable.insert(stored.alert);
        // Not an error for the caller: the alert was valid when it was created, and ingestion must not stop because
        // this version parses it differently.
        tracing::error!(
            alert_id = %stored.id,
            kind = stored_kind(stored.subject),
            reason,
            "cannot parse an alert; it matches nothing until it is changed"
        );
    }
}
/// Returns the active alerts of an account.
pub(super) fn active_alerts(
    connection: &Connection,
    account: Uuid,
) -> rusqlite::Result<BTreeSet<i64>> {
    let sql = "SELECT alert FROM alerts WHERE account_id = ?1 AND activated = 1";
    let mut statement = connection.prepare_cached(sql)?;
    let alerts = statement.query_map([account.to_string()], |row| row.get(0))?;
    alerts.collect()
}
