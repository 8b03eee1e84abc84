//! Removes responses stored under idempotency keys from the ledger, for the erasure of a person's contacts.
//!
//! Only the body is removed; the ledger still records that the call was made. If a call that only reads is repeated, it
//! runs again. If a call that changed something is repeated, the answer says that its response is no longer kept.

use rusqlite::{Connection, Row};

use toise_store::{self as store, Database, is_intact_answer};

/// Index of the column with the decrypted body in the query.
const REVEALED_COLUMN: usize = 8;

/// A stored response, by account and idempotency key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResponseName {
    account_id: Vec<u8>,
    /// The idempotency key.
    pub idempotency_key: String,
}

/// Returns the stored responses whose body satisfies a condition. Reads all stored responses. Skips damaged ones, which
/// are never sent. Blocks.
///
/// # Errors
/// The ledger cannot be read.
pub fn stored_responses(
    ledger: &Database,
    is_one: &dyn Fn(&[u8]) -> bool,
) -> store::Result<Vec<ResponseName>> {
    ledger.read(|connection: &Connection| {
        let mut statement = connection.prepare(
            "SELECT request_digest, status, content_type, bytes, body, checksum, account_id, idempotency_key,
               reveal(body, 'stored_answers ' || hex(account_id) || ' ' || idempotency_key)
             FROM stored_answers WHERE body IS NOT NULL",
        )?;
        let mut rows = statement.query([])?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            if is_intact_answer(row)? && body(row)?.is_some_and(|body| is_one(&body)) {
                found.push(ResponseName {
                    account_id: row.get(6)?,
                    idempotency_key: row.get(7)?,
                });
            }
        }
        Ok(found)
    })
}

/// Returns the decompressed body; `None` if it is damaged.
fn body(row: &Row<'_>) -> rusqlite::Result<Option<Vec<u8>>> {
    let packed: Vec<u8> = row.get(REVEALED_COLUMN)?;
    let bytes = usize::try_from(row.get::<_, i64>(3)?).unwrap_or(0);
    Ok(zstd::bulk::decompress(&packed, bytes).ok())
}

/// Removes the bodies of stored responses. Returns once durable. Blocks.
///
/// # Errors
/// The ledger cannot be written.
pub fn remove_bodies(ledger: &Database, responses: Vec<ResponseName>) -> store::Result<()> {
    ledger.write(move |transaction| {
        let mut statement = transaction.prepare_cached(
            "UPDATE stored_answers
             SET body = NULL, checksum = answer_checksum(request_digest, status, content_type, bytes, x'')
             WHERE account_id = ?1 AND idempotency_key = ?2",
        )?;
        for response in &responses {
            statement.execute((&response.account_id, &response.idempotency_key))?;
        }
        Ok(())
    })
}
