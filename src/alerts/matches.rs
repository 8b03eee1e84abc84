//! What each alert has matched: written with the match, read when something happens to the item.
//!
//! A property is remembered under the identifier it was announced with. When properties turn out to be one, the asset
//! is known to every alert that matched any of them; when they are taken apart again, each is known to its own. So no
//! row ever moves, and an identifier is announced to an alert once.

use rusqlite::{Connection, Transaction};

/// The alerts that matched a property, or another that was joined to it; in ascending order.
pub(super) fn of_property(connection: &Connection, property: i64) -> rusqlite::Result<Vec<i64>> {
    let sql = "SELECT alert FROM property_matches WHERE property = ?1
         UNION SELECT alert FROM properties JOIN property_matches USING (property) WHERE merged_into = ?1
         ORDER BY alert";
    alerts(connection, sql, property)
}

/// The alerts that matched an advert, in ascending order.
pub(super) fn of_advert(connection: &Connection, advert: i64) -> rusqlite::Result<Vec<i64>> {
    let sql = "SELECT alert FROM advert_matches WHERE advert = ?1 ORDER BY alert";
    alerts(connection, sql, advert)
}

fn alerts(connection: &Connection, sql: &str, item: i64) -> rusqlite::Result<Vec<i64>> {
    let mut statement = connection.prepare_cached(sql)?;
    statement.query_map([item], |row| row.get(0))?.collect()
}

/// Remembers that an alert matched a property, which it has not matched before.
pub(super) fn remember_property(
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

/// Remembers that an alert matched an advert, which it has not matched before.
pub(super) fn remember_advert(
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
