//! Letterheads: the logo and the text that an account puts on its reports.
//!
//! Every call blocks. Changes are durable when a call returns.

use rusqlite::OptionalExtension;
use uuid::Uuid;

use toise_base::clock::Clock;
use toise_store::{self as store, Store};

/// The letterhead of an account, as it was stored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoredLetterhead {
    /// The text.
    pub text: String,
    /// Bytes of the logo file, which was checked before it was stored.
    pub logo: Option<Vec<u8>>,
}

/// Stores the letterhead of an account and replaces the previous one. The caller has checked it.
///
/// # Errors
/// The store fails.
pub fn put(
    store: &Store,
    clock: &Clock,
    account: Uuid,
    letterhead: StoredLetterhead,
) -> store::Result<()> {
    let now = clock.now().timestamp_millis();
    store.write(move |transaction| {
        let sql = "INSERT OR REPLACE INTO letterheads (account_id, text, logo, updated_at_ms) \
                   VALUES (?1, ?2, ?3, ?4)";
        let StoredLetterhead { text, logo } = letterhead;
        transaction.execute(sql, (account.to_string(), text, logo, now))?;
        Ok(())
    })
}

/// Returns the letterhead of an account; `None` if it has none.
///
/// # Errors
/// The store fails.
pub fn find(store: &Store, account: Uuid) -> store::Result<Option<StoredLetterhead>> {
    store.read(|connection| {
        let sql = "SELECT text, logo FROM letterheads WHERE account_id = ?1";
        let mut found = connection.prepare_cached(sql)?;
        let read = |row: &rusqlite::Row<'_>| {
            Ok(StoredLetterhead {
                text: row.get(0)?,
                logo: row.get(1)?,
            })
        };
        found.query_row([account.to_string()], read).optional()
    })
}

/// Deletes the letterhead of an account; returns whether there was one.
///
/// # Errors
/// The store fails.
pub fn delete(store: &Store, account: Uuid) -> store::Result<bool> {
    store.write(move |transaction| {
        let sql = "DELETE FROM letterheads WHERE account_id = ?1";
        Ok(transaction.execute(sql, [account.to_string()])? > 0)
    })
}
