//! Stores the items that each alert has matched: rows are written at the first match and read when something happens to
//! the item.
//!
//! A property match is stored under the identifier it was notified with. After a merge, every alert that matched one of
//! the properties has matched the merged one. After a split, each property again has its own alerts. Rows therefore
//! never move, and an alert is notified of an identifier only once.

use rusqlite::{Connection, Row, Transaction};
use uuid::Uuid;

use crate::alert::AlertSubject;
use crate::request::queries::PageParams;
use toise_contract::listings::codes::FlxId;
use toise_contract::listings::filters::ListingKind;

/// Returns the alerts that matched a property, or one that was merged into it, in ascending order.
pub(super) fn alerts_for_property(
    connection: &Connection,
    property: i64,
) -> rusqlite::Result<Vec<i64>> {
    let sql = "SELECT alert FROM property_matches WHERE property = ?1
         UNION SELECT alert FROM properties JOIN property_matches USING (property) WHERE merged_into = ?1
         ORDER BY alert";
    alerts(connection, sql, property)
}

/// Returns the alerts that matched an advert, in ascending order.
pub(super) fn alerts_for_advert(
    connection: &Connection,
    advert: i64,
) -> rusqlite::Result<Vec<i64>> {
    let sql = "SELECT alert FROM advert_matches WHERE advert = ?1 ORDER BY alert";
    alerts(connection, sql, advert)
}

fn alerts(connection: &Connection, sql: &str, item: i64) -> rusqlite::Result<Vec<i64>> {
    let mut statement = connection.prepare_cached(sql)?;
    statement.query_map([item], |row| row.get(0))?.collect()
}

/// Returns the identifiers of the items that an alert matched (for open data, digests of identifiers), by time of the
/// first match, newest first; see [`AlertRegistry::history`](super::registry::AlertRegistry::history).
pub(super) fn history(
    connection: &Connection,
    subject: AlertSubject,
    alert: i64,
    page: PageParams,
) -> rusqlite::Result<Vec<FlxId>> {
    let (take, skip) = page.bounds();
    let mut statement = connection.prepare_cached(history_table(subject))?;
    statement.query_map((alert, take, skip), item)?.collect()
}

/// Calls `visit` with the identifiers of [`history`], from the first on, until it returns `false`.
pub(super) fn visit_history(
    connection: &Connection,
    subject: AlertSubject,
    alert: i64,
    mut visit: impl FnMut(FlxId) -> bool,
) -> rusqlite::Result<()> {
    let mut statement = connection.prepare_cached(history_table(subject))?;
    for found in statement.query_map((alert, UNLIMITED, 0), item)? {
        if !visit(found?) {
            break;
        }
    }
    Ok(())
}

/// A limit in SQL that is none.
const UNLIMITED: i64 = -1;

fn item(row: &Row<'_>) -> rusqlite::Result<FlxId> {
    Ok(FlxId(Uuid::from_bytes(row.get(0)?)))
}

fn history_table(subject: AlertSubject) -> &'static str {
    match subject {
        AlertSubject::Listings(ListingKind::Property) => PROPERTY_HISTORY,
        AlertSubject::Listings(ListingKind::Advert) => ADVERT_HISTORY,
        AlertSubject::OpenData(_) => OPEN_DATA_HISTORY,
    }
}

/// A merged property is omitted if the surviving one, or one merged into it earlier, is in the history.
const PROPERTY_HISTORY: &str = "SELECT survivor.property_id FROM property_matches matched
     JOIN properties own ON own.property = matched.property
     JOIN properties survivor ON survivor.property = coalesce(own.merged_into, own.property)
     WHERE matched.alert = ?1 AND (own.merged_into IS NULL OR NOT EXISTS (
       SELECT 1 FROM property_matches other JOIN properties earlier ON earlier.property = other.property
       WHERE other.alert = matched.alert AND other.property < matched.property
         AND (earlier.property = own.merged_into OR earlier.merged_into = own.merged_into)))
     ORDER BY matched.matched_at_ms DESC, matched.property DESC LIMIT ?2 OFFSET ?3";

const ADVERT_HISTORY: &str = "SELECT advert_id FROM advert_matches JOIN adverts USING (advert)
     WHERE alert = ?1 ORDER BY matched_at_ms DESC, advert DESC LIMIT ?2 OFFSET ?3";

const OPEN_DATA_HISTORY: &str = "SELECT item FROM open_data_matches
     WHERE alert = ?1 ORDER BY matched_at_ms DESC, item LIMIT ?2 OFFSET ?3";

/// Records that an alert matched a property for the first time.
pub(super) fn record_property_match(
    transaction: &Transaction<'_>,
    property: i64,
    alert: i64,
    at_ms: i64,
) -> rusqlite::Result<()> {
    let sql = "INSERT INTO property_matches (property, alert, matched_at_ms) VALUES (?1, ?2, ?3)";
    let parameters = (property, alert, at_ms);
    transaction.prepare_cached(sql)?.execute(parameters)?;
    Ok(())
}

/// Records that an alert matched an advert for the first time.
pub(super) fn record_advert_match(
    transaction: &Transaction<'_>,
    advert: i64,
    alert: i64,
    at_ms: i64,
) -> rusqlite::Result<()> {
    let sql = "INSERT INTO advert_matches (advert, alert, matched_at_ms) VALUES (?1, ?2, ?3)";
    let parameters = (advert, alert, at_ms);
    transaction.prepare_cached(sql)?.execute(parameters)?;
    Ok(())
}
