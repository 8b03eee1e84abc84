//! Searches and clears the rows of the store and the ledger, other than adverts and properties.
//!
//! The tables are read row by row and written in small transactions, each with its record of what was removed.

use rusqlite::types::Value as SqlValue;
use rusqlite::{Connection, Transaction};
use serde_json::Value;

use super::context::{Folder, Search, id_text};
use super::findings::Place;
use super::{Result, record};
use toise_accounts::forget;
use toise_adverts::contacts::{ErasedContacts, RemovedValue};
use toise_store::{Database, Store, document};

/// Rows read together.
const BATCH_SIZE: i64 = 512;

/// A table of compressed records.
struct DocumentTable {
    place: Place,
    /// Query that reads row number, record and identifier after a row number.
    read: &'static str,
    write: &'static str,
}

const DOCUMENTS: [DocumentTable; 2] = [
    DocumentTable {
        place: Place::FormerRecords,
        read: "SELECT rowid, document, CAST(kind || '-' || item AS TEXT) FROM withheld
               WHERE rowid > ?1 AND document IS NOT NULL ORDER BY rowid LIMIT ?2",
        write: "UPDATE withheld SET document = ?2 WHERE rowid = ?1",
    },
    DocumentTable {
        place: Place::Deliveries,
        read: "SELECT snapshot, document,
                 (SELECT delivery_id FROM outbox JOIN deliveries USING (delivery)
                  WHERE outbox.snapshot = snapshots.snapshot LIMIT 1)
               FROM snapshots WHERE snapshot > ?1 ORDER BY snapshot LIMIT ?2",
        write: "UPDATE snapshots SET document = ?2 WHERE snapshot = ?1",
    },
];

/// A column of texts that may repeat what a person or another server wrote.
struct TextColumn {
    place: Place,
    table: &'static str,
    /// The identifier of a row.
    id: &'static str,
    column: &'static str,
    /// Further SQL assignments for a row whose text changes.
    also: &'static str,
}

const STORE_TEXTS: [TextColumn; 6] = [
    text(
        Place::DeliveryErrors,
        "deliveries",
        "delivery_id",
        "last_error",
    ),
    text(Place::Jobs, "jobs", "job_id", "reason"),
    text(Place::Jobs, "jobs", "job_id", "origins"),
    text(Place::Rejections, "rejections", "url_digest", "reason"),
    text(Place::ListingReports, "reports", "report_id", "comment"),
    text(Place::ListingReports, "reports", "report_id", "resolution"),
];

const LEDGER_TEXTS: [TextColumn; 2] = [
    TextColumn {
        // The digest covers the whole query, so the contact could be guessed from the digest and the rest of the text.
        also: ", digest = ''",
        ..text(Place::SqlQueries, "sql_queries", "request_id", "query")
    },
    text(Place::SqlQueries, "sql_queries", "request_id", "error"),
];

const fn text(
    place: Place,
    table: &'static str,
    id: &'static str,
    column: &'static str,
) -> TextColumn {
    TextColumn {
        place,
        table,
        id,
        column,
        also: "",
    }
}

/// A changed row.
struct Change<T> {
    key: SqlValue,
    id: String,
    value: T,
}

/// Number of the last row of a batch of records, `None` if there is none, and the rows that change.
type DocumentBatch = (Option<i64>, Vec<Change<Vec<u8>>>);

/// Searches all tables, and clears them unless this is a dry run.
pub(crate) fn run(folder: &Folder, search: &mut Search<'_>) -> Result<()> {
    for table in &DOCUMENTS {
        documents(&folder.store, table, search)?;
    }
    for column in &STORE_TEXTS {
        texts(&folder.store, None, column, search)?;
    }
    for column in &LEDGER_TEXTS {
        texts(&folder.store, Some(folder.store.ledger()), column, search)?;
    }
    responses(&folder.store, search)
}

fn documents(store: &Store, table: &'static DocumentTable, search: &mut Search<'_>) -> Result<()> {
    let mut after = i64::MIN;
    loop {
        let contacts = &search.contacts;
        let (last, changes) =
            store.read_with(|connection| changed(connection, table, after, contacts))?;
        let Some(last) = last else {
            return Ok(());
        };
        after = last;
        let ids: Vec<String> = changes.iter().map(|change| change.id.clone()).collect();
        if let Some(erasure) = search.erasure.filter(|_| !changes.is_empty()) {
            let (number, noted) = (erasure.number, ids.clone());
            store.write(move |transaction: &Transaction<'_>| {
                let mut write = transaction.prepare_cached(table.write)?;
                for change in &changes {
                    write.execute((&change.key, &change.value))?;
                }
                record::add(transaction, number, table.place, noted)
            })?;
        }
        search.findings.add(table.place, ids);
    }
}

/// Returns the last row of a batch, `None` if there are no more, and the rows in it that change.
fn changed(
    connection: &Connection,
    table: &DocumentTable,
    after: i64,
    contacts: &ErasedContacts,
) -> Result<DocumentBatch> {
    let mut statement = connection.prepare_cached(table.read)?;
    let mut rows = statement.query((after, BATCH_SIZE))?;
    let (mut last, mut changes) = (None, Vec::new());
    while let Some(row) = rows.next()? {
        let number: i64 = row.get(0)?;
        last = Some(number);
        let Ok(text) = document::decode(row.get_ref(1)?.as_blob().unwrap_or_default()) else {
            continue;
        };
        let Ok(mut record) = serde_json::from_slice::<Value>(&text) else {
            continue;
        };
        if contacts.remove_from(&mut record, RemovedValue::Absent) {
            let id = match row.get(2)? {
                SqlValue::Blob(bytes) => id_text(&bytes),
                SqlValue::Text(text) => text,
                _ => format!("record {number}"),
            };
            changes.push(Change {
                key: SqlValue::Integer(number),
                id,
                value: document::encode(&record)?,
            });
        }
    }
    Ok((last, changes))
}

/// Searches and clears a column of the store, or of `ledger`.
fn texts(
    store: &Store,
    ledger: Option<&Database>,
    column: &'static TextColumn,
    search: &mut Search<'_>,
) -> Result<()> {
    let TextColumn {
        place,
        table,
        id,
        column: name,
        also,
    } = column;
    let contacts = &search.contacts;
    let read = |connection: &Connection| {
        let sql = format!("SELECT {id}, {name} FROM {table} WHERE {name} IS NOT NULL");
        let mut statement = connection.prepare(&sql)?;
        let mut rows = statement.query([])?;
        let mut changes = Vec::new();
        while let Some(row) = rows.next()? {
            let text: String = row.get(1)?;
            if let Some(value) = contacts.without_persons(&text) {
                let key: SqlValue = row.get(0)?;
                let id = match &key {
                    SqlValue::Blob(bytes) => id_text(bytes),
                    _ => (*table).to_owned(),
                };
                changes.push(Change { key, id, value });
            }
        }
        Ok(changes)
    };
    let changes = match ledger {
        Some(ledger) => ledger.read(read)?,
        None => store.read(read)?,
    };
    let ids: Vec<String> = changes.iter().map(|change| change.id.clone()).collect();
    if search.erasure.is_some() && !changes.is_empty() {
        let write = move |transaction: &Transaction<'_>| {
            let sql = format!("UPDATE {table} SET {name} = ?2{also} WHERE {id} = ?1");
            let mut write = transaction.prepare_cached(&sql)?;
            for change in &changes {
                write.execute((&change.key, &change.value))?;
            }
            Ok(())
        };
        match ledger {
            Some(ledger) => ledger.write(write)?,
            None => store.write(write)?,
        }
    }
    search.note(store, *place, ids)
}

/// Searches the responses stored under idempotency keys, and removes the bodies that contain a contact.
fn responses(store: &Store, search: &mut Search<'_>) -> Result<()> {
    let contacts = &search.contacts;
    let is_one = |body: &[u8]| contacts.is_in_text(&String::from_utf8_lossy(body));
    let found = forget::stored_responses(store.ledger(), &is_one)?;
    let ids = found
        .iter()
        .map(|one| one.idempotency_key.clone())
        .collect();
    if search.erasure.is_some() && !found.is_empty() {
        forget::remove_bodies(store.ledger(), found)?;
    }
    search.note(store, Place::Responses, ids)
}
