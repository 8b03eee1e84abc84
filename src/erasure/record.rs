//! Records erasures in the store, each in the same transaction as the removal that it describes.

use rusqlite::{OptionalExtension, Transaction};
use uuid::Uuid;

use super::findings::{Findings, Place};
use super::{Error, Result};
use toise_adverts::contacts::ContactDigest;
use toise_base::clock::Clock;
use toise_listings::records::erasing::FoundAdvert;
use toise_store::Store;

/// An erasure that is not complete.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Erasure {
    /// Number of its row.
    pub number: i64,
    /// Its identifier.
    pub id: Uuid,
}

impl Erasure {
    /// Adds contacts to the list and a row for their erasure, in one transaction. Returns once durable.
    pub(crate) fn begin(
        store: &Store,
        clock: &Clock,
        contacts: Vec<ContactDigest>,
    ) -> Result<Self> {
        let (id, at_ms) = (Uuid::now_v7(), clock.now().timestamp_millis());
        let number = store.write(move |transaction| {
            let mut insert = transaction.prepare_cached(
                "INSERT INTO erased_contacts (digest, erased_at_ms) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
            )?;
            for digest in &contacts {
                insert.execute((digest.as_slice(), at_ms))?;
            }
            transaction.execute(
                "INSERT INTO erasures (erasure_id, begun_at_ms, found) VALUES (?1, ?2, '{\"places\":{}}')",
                (id.to_string(), at_ms),
            )?;
            Ok(transaction.last_insert_rowid())
        })?;
        Ok(Self { number, id })
    }

    /// Returns the findings so far.
    pub(crate) fn found(&self, store: &Store) -> Result<Findings> {
        let number = self.number;
        let text: String = store.read(|connection| {
            let sql = "SELECT found FROM erasures WHERE erasure = ?1";
            connection.query_row(sql, [number], |row| row.get(0))
        })?;
        Ok(serde_json::from_str(&text).unwrap_or_default())
    }

    /// Records what was removed from a place.
    pub(crate) fn add(&self, store: &Store, place: Place, ids: Vec<String>) -> Result<()> {
        if ids.is_empty() {
            return Ok(());
        }
        let number = self.number;
        Ok(store
            .write(move |transaction| change(transaction, number, |found| found.add(place, ids)))?)
    }
}

/// Records adverts and their properties, in the transaction that changes them.
pub(crate) fn add_listings(
    transaction: &Transaction<'_>,
    erasure: i64,
    cleared: &[FoundAdvert],
) -> rusqlite::Result<()> {
    change(transaction, erasure, |found| found.add_listings(cleared))
}

/// Records what was removed from a place, in the transaction that removes it.
pub(crate) fn add(
    transaction: &Transaction<'_>,
    erasure: i64,
    place: Place,
    ids: Vec<String>,
) -> rusqlite::Result<()> {
    change(transaction, erasure, |found| found.add(place, ids))
}

fn change(
    transaction: &Transaction<'_>,
    erasure: i64,
    add: impl FnOnce(&mut Findings),
) -> rusqlite::Result<()> {
    let mut read = transaction.prepare_cached("SELECT found FROM erasures WHERE erasure = ?1")?;
    let text: String = read.query_row([erasure], |row| row.get(0))?;
    let mut found: Findings = serde_json::from_str(&text).unwrap_or_default();
    add(&mut found);
    let text = serde_json::to_string(&found)
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
    let mut write =
        transaction.prepare_cached("UPDATE erasures SET found = ?2 WHERE erasure = ?1")?;
    write.execute((erasure, text))?;
    Ok(())
}

/// Returns the oldest erasure that is not complete.
pub(crate) fn unfinished(store: &Store) -> Result<Option<Erasure>> {
    let found = store.read(|connection| {
        let sql = "SELECT erasure, erasure_id FROM erasures WHERE ended_at_ms IS NULL ORDER BY erasure LIMIT 1";
        connection
            .query_row(sql, [], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?)))
            .optional()
    })?;
    Ok(found.map(|(number, id)| Erasure {
        number,
        id: id.parse().unwrap_or_default(),
    }))
}

/// Marks all erasures as complete: each run searches for the contacts of all unfinished ones.
pub(crate) fn end_all(store: &Store, clock: &Clock) -> Result<()> {
    let at_ms = clock.now().timestamp_millis();
    store
        .write(move |transaction| {
            let sql = "UPDATE erasures SET ended_at_ms = ?1 WHERE ended_at_ms IS NULL";
            transaction.execute(sql, [at_ms])
        })
        .map_err(Error::from)?;
    Ok(())
}
