//! Stores reports: accounts' claims that a listing is wrong, and how operators resolved them.

use rusqlite::{Connection, OptionalExtension};
use serde::Serialize;
use uuid::Uuid;

use super::moment::moment;
use toise_contract::enums::{EnumAdvertReportReason, WireEnum};
use toise_contract::listings::codes::{FlxId, Timestamp};
use toise_contract::listings::filters::ListingKind;
use toise_store::new_id::{NewId, Settled};
use toise_store::{self as store, Store};

/// Maximum open reports per account.
pub const OPEN_PER_ACCOUNT_MAX: i64 = 10_000;

/// A report to be stored.
#[derive(Clone, Debug)]
pub struct NewReport {
    /// Its identifier.
    pub id: NewId,
    /// Account that reports.
    pub account: Uuid,
    /// Whether it is about a property or an advert.
    pub listing: ListingKind,
    /// Identifier of the listing.
    pub item: FlxId,
    /// Reason of the report.
    pub reason: EnumAdvertReportReason,
    /// Free-text comment.
    pub comment: Option<String>,
    /// Time of the report, Unix milliseconds.
    pub at_ms: i64,
}

/// A stored report.
#[derive(Clone, Debug, Serialize)]
pub struct ListingReport {
    /// Identifier of the report.
    pub report_id: Uuid,
    /// Account that reported.
    pub account_id: Uuid,
    /// `ADVERT` or `PROPERTY`.
    pub kind: String,
    /// Identifier of the advert or property.
    pub item: Uuid,
    /// Reason of the report.
    pub reason: String,
    /// Free-text comment.
    pub comment: Option<String>,
    /// Time of the report.
    pub created_at: Timestamp,
    /// Time of the resolution; `None` while open.
    pub resolved_at: Option<Timestamp>,
    /// The resolution.
    pub resolution: Option<String>,
}

/// Stores a report and returns its identifier; `None` if its account has the maximum number of open reports. Blocks;
/// returns once the report is durable.
pub fn insert(store: &Store, report: NewReport) -> store::Result<Option<Uuid>> {
    store.write(move |transaction| {
        let made_at = "SELECT created_at_ms FROM reports WHERE report_id = ?1";
        let id = match report.id.settle(transaction, made_at, Uuid::into_bytes)? {
            Settled::New(id) => id,
            Settled::Made(id) => return Ok(Some(id)),
        };
        let open: i64 = transaction
            .prepare_cached(
                "SELECT count(*) FROM reports WHERE account_id = ?1 AND resolved_at_ms IS NULL",
            )?
            .query_row([report.account.as_bytes()], |row| row.get(0))?;
        if open >= OPEN_PER_ACCOUNT_MAX {
            return Ok(None);
        }
        transaction
            .prepare_cached(
                "INSERT INTO reports (report_id, account_id, kind, item, reason, comment, created_at_ms)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            )?
            .execute((
                id.as_bytes(),
                report.account.as_bytes(),
                kind(report.listing),
                report.item.0.as_bytes(),
                report.reason.as_str(),
                &report.comment,
                report.at_ms,
            ))?;
        Ok(Some(id))
    })
}

fn kind(listing: ListingKind) -> &'static str {
    match listing {
        ListingKind::Advert => "ADVERT",
        ListingKind::Property => "PROPERTY",
    }
}

const COLUMNS: &str =
    "report_id, account_id, kind, item, reason, comment, created_at_ms, resolved_at_ms, resolution";

/// Returns reports, newest first. `every_reason` includes reasons that operators need not handle (they handle
/// duplicates and wrong listings); `resolved` includes resolved reports.
pub fn list(
    connection: &Connection,
    every_reason: bool,
    resolved: bool,
    take: usize,
) -> rusqlite::Result<Vec<ListingReport>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM reports WHERE (?1 OR reason = 'DUPLICATE' OR reason LIKE 'WRONG\\_%' ESCAPE '\\')
         AND (?2 OR resolved_at_ms IS NULL) ORDER BY report DESC LIMIT ?3"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let rows = statement.query_map((every_reason, resolved, take as i64), read)?;
    rows.collect()
}

/// Returns the report with an identifier; `None` if there is none.
pub fn get(connection: &Connection, id: Uuid) -> rusqlite::Result<Option<ListingReport>> {
    let sql = format!("SELECT {COLUMNS} FROM reports WHERE report_id = ?1");
    connection
        .prepare_cached(&sql)?
        .query_row([id.as_bytes()], read)
        .optional()
}

/// Resolves an open report; returns false if there is none. Blocks; returns once the change is durable.
pub fn resolve(store: &Store, id: Uuid, resolution: String, at_ms: i64) -> store::Result<bool> {
    store.write(move |transaction| {
        let changed = transaction.execute(
            "UPDATE reports SET resolved_at_ms = ?2, resolution = ?3 WHERE report_id = ?1 AND resolved_at_ms IS NULL",
            (id.as_bytes(), at_ms, resolution),
        )?;
        Ok(changed == 1)
    })
}

fn read(row: &rusqlite::Row<'_>) -> rusqlite::Result<ListingReport> {
    let id = |column: usize| Ok::<_, rusqlite::Error>(Uuid::from_bytes(row.get(column)?));
    Ok(ListingReport {
        report_id: id(0)?,
        account_id: id(1)?,
        kind: row.get(2)?,
        item: id(3)?,
        reason: row.get(4)?,
        comment: row.get(5)?,
        created_at: moment(row.get(6)?),
        resolved_at: row.get::<_, Option<i64>>(7)?.map(moment),
        resolution: row.get(8)?,
    })
}
