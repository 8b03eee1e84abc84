//! Seals the responses that a ledger stored before there was a master key, and overwrites the traces of deleted ones.
//!
//! Called each time a ledger is opened with a key, and does its work once: a row of `answers_sealed` says that it is
//! done, and triggers refuse further unencrypted responses ([`super::clear_guard`]). If a process is killed during the
//! work, the next one does it again. The file is rewritten, which takes a few seconds per gigabyte and as much free
//! disk space as the file.

use rusqlite::{Connection, TransactionBehavior};

use super::checksum::is_intact_answer;
use super::clear_guard::{self, SecretColumn};
use super::error::Result;

/// The responses.
const BODY: SecretColumn = SecretColumn {
    table: "stored_answers",
    column: "body",
};
/// The columns of the ledger that hold secrets.
const COLUMNS: [SecretColumn; 1] = [BODY];

/// Seals the responses. Returns once no file contains an unencrypted response.
///
/// # Errors
/// The ledger cannot be written, or another process has it open.
pub(super) fn seal(connection: &mut Connection) -> Result<()> {
    let is_done = "SELECT EXISTS (SELECT 1 FROM answers_sealed)";
    if connection.query_row(is_done, [], |row| row.get(0))? {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let is_clear = BODY.is_clear("");
    let select = format!("SELECT rowid FROM stored_answers WHERE {is_clear}");
    let rows: Vec<i64> = {
        let mut statement = transaction.prepare(&select)?;
        let rows = statement.query_map([], |row| row.get(0))?;
        rows.collect::<rusqlite::Result<_>>()?
    };
    for row in &rows {
        seal_row(&transaction, *row)?;
    }
    clear_guard::install(&transaction, &COLUMNS)?;
    transaction.commit()?;
    // Free pages, and free space in other pages, still contain deleted responses; the log contains replaced ones.
    connection.execute_batch("VACUUM")?;
    let sql = "PRAGMA wal_checkpoint(TRUNCATE)";
    if connection.query_row(sql, [], |row| row.get(0))? {
        tracing::warn!(
            "readers of the ledger prevent its log from being truncated; the next start retries"
        );
        return Ok(());
    }
    connection.execute("INSERT OR IGNORE INTO answers_sealed VALUES (1)", [])?;
    tracing::info!("the stored responses of the ledger are encrypted from now on");
    Ok(())
}

/// Seals the response in a row. A damaged response stays damaged.
fn seal_row(connection: &Connection, row: i64) -> rusqlite::Result<()> {
    let select = "SELECT request_digest, status, content_type, bytes, body, checksum,
                    conceal(body, 'stored_answers ' || hex(account_id) || ' ' || idempotency_key)
                  FROM stored_answers WHERE rowid = ?1";
    let (is_intact, sealed): (bool, Vec<u8>) = connection
        .prepare_cached(select)?
        .query_row([row], |found| Ok((is_intact_answer(found)?, found.get(6)?)))?;
    let update = "UPDATE stored_answers SET body = ?2,
                    checksum = iif(?3, answer_checksum(request_digest, status, content_type, bytes, ?2), checksum)
                  WHERE rowid = ?1";
    connection
        .prepare_cached(update)?
        .execute((row, sealed, is_intact))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::master_key::MasterKeys;
    use crate::master_key::tests::{FIRST, files_show, open};
    use crate::{Store, is_intact_answer};

    const KEPT: &[u8] = b"an answer that was kept before there was a master key";
    const EXPIRED: &[u8] = b"an answer that was deleted before there was a master key";

    fn put(store: &Store, key: &'static str, body: &'static [u8]) {
        let change = move |transaction: &rusqlite::Transaction<'_>| {
            let sql = "INSERT INTO stored_answers VALUES (x'01', ?1, x'02', x'03', 200, 'text/plain', 1, 3, ?2, 5,
                         answer_checksum(x'02', 200, 'text/plain', 3, ?2))";
            transaction.execute(sql, (key, body))
        };
        store.ledger().write(change).unwrap();
    }

    fn bodies(store: &Store) -> Vec<(Vec<u8>, bool)> {
        let sql = "SELECT request_digest, status, content_type, bytes, body, checksum,
                     reveal(body, 'stored_answers 01 ' || idempotency_key) FROM stored_answers ORDER BY idempotency_key";
        let read = store.ledger().read(|connection| {
            let mut statement = connection.prepare(sql)?;
            let rows = statement.query_map([], |row| Ok((row.get(6)?, is_intact_answer(row)?)))?;
            rows.collect()
        });
        read.unwrap()
    }

    #[test]
    fn what_a_ledger_holds_and_held_is_sealed_when_a_master_key_is_given() {
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path(), &MasterKeys::default()).unwrap();
        put(&store, "a", KEPT);
        put(&store, "damaged", KEPT);
        put(&store, "expired", EXPIRED);
        let change = |transaction: &rusqlite::Transaction<'_>| {
            transaction.execute_batch(
                "DELETE FROM stored_answers WHERE idempotency_key = 'expired';
                 UPDATE stored_answers SET status = 201 WHERE idempotency_key = 'damaged'",
            )
        };
        store.ledger().write(change).unwrap();
        drop(store);
        assert!(files_show(folder.path(), KEPT));
        assert!(files_show(folder.path(), EXPIRED));

        let first = MasterKeys::of(FIRST, None).unwrap();
        for _ in 0..2 {
            let store = open(folder.path(), &first).unwrap();
            let expected = vec![(KEPT.to_vec(), true), (KEPT.to_vec(), false)];
            assert_eq!(bodies(&store), expected);
            drop(store);
            assert!(!files_show(folder.path(), KEPT));
            assert!(!files_show(folder.path(), EXPIRED));
        }
    }
}
