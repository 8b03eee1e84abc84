//! Composes bodies of deliveries from JSON texts: identifiers of properties, and records of adverts and of open data as
//! they were at the match.
//!
//! Snapshots are inserted without parsing; [`toise_contract::listings::deliveries`] defines the result.

use rusqlite::{Connection, OptionalExtension, Row};

use super::outbox::Branch;
use super::subject::DeliverySubject;
use toise_contract::listings::codes::FlxId;
use toise_store::document;

/// Maximum items per delivery.
pub const ITEMS_MAX: usize = 100;
/// Maximum size of the records in a delivery, bytes; a single longer record is allowed.
pub const BYTES_MAX: usize = 512 * 1024;

/// One item of a delivery.
#[derive(Clone, Debug)]
pub(super) struct OutboxItem {
    /// Number of its notification.
    pub notification: i64,
    branch: Branch,
    item: FlxId,
    snapshot: Option<i64>,
    /// Time of the match, Unix milliseconds.
    pub created_at_ms: i64,
}

/// Columns of the outbox that form an item.
pub(super) const ITEM_COLUMNS: &str = "notification, branch, item, snapshot, outbox.created_at_ms";

impl OutboxItem {
    /// Reads [`ITEM_COLUMNS`].
    pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let branch: String = row.get(1)?;
        let branch = Branch::parse(&branch).ok_or_else(|| {
            rusqlite::Error::InvalidColumnType(1, branch, rusqlite::types::Type::Text)
        })?;
        Ok(Self {
            notification: row.get(0)?,
            branch,
            item: FlxId(uuid::Uuid::from_bytes(row.get(2)?)),
            snapshot: row.get(3)?,
            created_at_ms: row.get(4)?,
        })
    }
}

/// Number of items in each branch, for billing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ItemCounts {
    /// Number of first matches.
    pub created: u64,
    /// Number of events on items matched before.
    pub updated: u64,
}

/// The alert whose matches a body contains, or the receiver of a portfolio.
#[derive(Clone, Debug)]
pub(super) struct PayloadSubject {
    /// The alert.
    pub alert_id: FlxId,
    /// The subject, which names the list of its items.
    pub subject: DeliverySubject,
    /// Context that deliveries echo, as JSON.
    pub context: Option<String>,
}

/// Returns the texts of the items in a body, in order. Reads one row per snapshot.
pub(super) fn records(
    connection: &Connection,
    items: &[OutboxItem],
) -> rusqlite::Result<Vec<Vec<u8>>> {
    items.iter().map(|item| record(connection, item)).collect()
}

/// Returns the first of `items`, as many as fit in [`BYTES_MAX`] but at least one, with their texts.
pub(super) fn fitting(
    connection: &Connection,
    mut items: Vec<OutboxItem>,
) -> rusqlite::Result<(Vec<OutboxItem>, Vec<Vec<u8>>)> {
    let (mut records, mut bytes) = (Vec::with_capacity(items.len()), 0);
    for item in &items {
        let record = record(connection, item)?;
        bytes += record.len();
        if bytes > BYTES_MAX && !records.is_empty() {
            break;
        }
        records.push(record);
    }
    items.truncate(records.len());
    Ok((items, records))
}

/// Returns the body for some items, oldest first, from their texts, and the number of items in each branch.
pub(super) fn body(
    subject: &PayloadSubject,
    items: &[OutboxItem],
    records: &[Vec<u8>],
) -> (Vec<u8>, ItemCounts) {
    let mut counts = ItemCounts::default();
    let mut body = br#"{"data":{"#.to_vec();
    for (branch, count) in [
        (Branch::Created, &mut counts.created),
        (Branch::Updated, &mut counts.updated),
    ] {
        if branch == Branch::Updated {
            body.push(b',');
        }
        body.extend_from_slice(format!("\"{}\":[", branch.as_str()).as_bytes());
        let of_branch = items.iter().zip(records);
        for (_, record) in of_branch.filter(|(item, _)| item.branch == branch) {
            match *count {
                0 => open(&mut body, subject),
                _ => body.push(b','),
            }
            *count += 1;
            body.extend_from_slice(record);
        }
        if *count > 0 {
            body.extend_from_slice(b"]}");
        }
        body.push(b']');
    }
    body.extend_from_slice(b"}}");
    (body, counts)
}

/// Writes the alert's entry in a branch up to its first item.
fn open(body: &mut Vec<u8>, subject: &PayloadSubject) {
    let items = subject.subject.items();
    body.extend_from_slice(format!("{{\"alert_id\":\"{}\",", subject.alert_id).as_bytes());
    if let Some(context) = &subject.context {
        body.extend_from_slice(format!("\"context\":{context},").as_bytes());
    }
    body.extend_from_slice(format!("\"{items}\":[").as_bytes());
}

fn record(connection: &Connection, item: &OutboxItem) -> rusqlite::Result<Vec<u8>> {
    let Some(snapshot) = item.snapshot else {
        return Ok(format!("\"{}\"", item.item).into_bytes());
    };
    let document: Option<Vec<u8>> = connection
        .prepare_cached("SELECT document FROM snapshots WHERE snapshot = ?1")?
        .query_row([snapshot], |row| row.get(0))
        .optional()?;
    Ok(match document.as_deref().map(document::decode) {
        Some(Ok(record)) => record,
        // One damaged row must not block all deliveries; the receiver can still read the advert by its identifier.
        damaged => {
            tracing::error!(snapshot, item = %item.item, ?damaged, "cannot read a record; sending its identifier instead");
            format!("{{\"flxId\":\"{}\"}}", item.item).into_bytes()
        }
    })
}
