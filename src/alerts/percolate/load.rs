//! Loads changed alerts from the store into memory: those whose change sequence is greater than the last one seen.
//!
//! Searches are parsed on all cores, and a clause that another alert has is not compiled again.

use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use rusqlite::{Connection, Row};
use serde_json::Value;
use uuid::Uuid;

use super::CompiledAlerts;
use crate::alert::{Subscription, kind_of, listing_of, wants};
use toise_contract::filter::Filter;
use toise_contract::listings::filters::{ListingKind, parse_search_query};

/// Maximum alerts parsed before they are compiled, which limits what is in memory twice.
const CHUNK_ALERTS: usize = 10_000;
/// Maximum size of searches parsed before they are compiled, bytes; exceeded by at most one search.
const CHUNK_BYTES: usize = 16 << 20;
/// Minimum number of alerts to parse on all cores; fewer are parsed without waiting for busy cores.
const ALL_CORES_MIN: usize = 500;

/// An alert as stored.
struct StoredAlert {
    alert: i64,
    id: Uuid,
    change: i64,
    listing: ListingKind,
    is_active: bool,
    search_query: String,
    match_kinds: String,
}

/// The parsed alert; `None` if it is not active.
type ParsedAlert = Option<(Subscription, Filter)>;

/// Applies the changes since the last call.
pub(super) fn catch_up(
    state: &mut CompiledAlerts,
    connection: &Connection,
) -> rusqlite::Result<()> {
    loop {
        let changed = changed_after(connection, state.change)?;
        let Some(last) = changed.last().map(|stored| stored.change) else {
            return Ok(());
        };
        let meanings: Vec<_> = match changed.len() < ALL_CORES_MIN {
            true => changed.iter().map(parse_stored).collect(),
            false => changed.par_iter().map(parse_stored).collect(),
        };
        for (stored, meaning) in changed.iter().zip(meanings) {
            apply(state, stored, meaning);
        }
        state.change = last;
    }
}

/// The next changed alerts, at most [`CHUNK_ALERTS`] and [`CHUNK_BYTES`]; empty if there are no more.
fn changed_after(connection: &Connection, change: i64) -> rusqlite::Result<Vec<StoredAlert>> {
    let sql = "SELECT alert, change, kind, activated, iif(activated, search_query, ''), match_kinds, alert_id
         FROM alerts WHERE change > ?1 ORDER BY change LIMIT ?2";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query((change, CHUNK_ALERTS as i64))?;
    let (mut changed, mut bytes) = (Vec::new(), 0);
    while bytes < CHUNK_BYTES
        && let Some(row) = rows.next()?
    {
        let stored = stored(row)?;
        bytes += stored.search_query.len();
        changed.push(stored);
    }
    Ok(changed)
}

fn stored(row: &Row<'_>) -> rusqlite::Result<StoredAlert> {
    Ok(StoredAlert {
        alert: row.get(0)?,
        change: row.get(1)?,
        listing: listing_of(row, 2)?,
        is_active: row.get(3)?,
        search_query: row.get(4)?,
        match_kinds: row.get(5)?,
        id: Uuid::from_bytes(row.get(6)?),
    })
}

fn parse_stored(stored: &StoredAlert) -> Result<ParsedAlert, String> {
    if !stored.is_active {
        return Ok(None);
    }
    let json = |text: &str| -> Result<Value, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    };
    let query = json(&stored.search_query)?;
    let filter = parse_search_query(stored.listing, &query).map_err(|fault| fault.to_string())?;
    Ok(Some((wants(&json(&stored.match_kinds)?), filter)))
}

fn apply(state: &mut CompiledAlerts, stored: &StoredAlert, meaning: Result<ParsedAlert, String>) {
    let index = match stored.listing {
        ListingKind::Property => &mut state.properties,
        ListingKind::Advert => &mut state.adverts,
    };
    let taken = meaning.and_then(|meaning| match meaning {
        None => {
            index.remove(stored.alert);
            Ok(())
        }
        Some((wants, filter)) => index
            .upsert(stored.alert, wants, &filter)
            .map_err(|error| error.to_string()),
    });
    state.unreadable.remove(&stored.alert);
    if let Err(reason) = taken {
        index.remove(stored.alert);
        state.unreadable.insert(stored.alert);
        // It was valid when it was created; ingestion must not stop because a later version parses it differently.
        tracing::error!(
            alert_id = %stored.id,
            kind = kind_of(stored.listing),
            reason,
            "cannot parse an alert; it matches nothing until it is changed"
        );
    }
}
