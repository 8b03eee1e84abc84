//! Secrets of this installation, random bytes that are generated once and sealed with the master key, if there is one.

use rusqlite::{Connection, OptionalExtension};

use super::Store;
use super::error::{Error, Result};

/// Length of a secret, bytes.
const SECRET_BYTES: usize = 32;
/// Name of the secret under which erased contacts are digested. A store has it from the beginning, so that every backup
/// has it and a list of erased contacts that is newer than the backup can be applied to it.
pub const ERASED_CONTACTS_SECRET: &str = "erased contacts";

impl Store {
    /// Returns a secret of this installation, generated at random on first use. Blocks.
    pub fn secret(&self, name: &'static str) -> Result<[u8; SECRET_BYTES]> {
        let fresh: [u8; SECRET_BYTES] = rand::random();
        let stored: Option<Vec<u8>> = self.write(move |transaction| {
            transaction.execute(
                "INSERT INTO secrets (name, value) VALUES (?1, conceal(?2, 'secrets ' || ?1)) ON CONFLICT DO NOTHING",
                (name, fresh.as_slice()),
            )?;
            transaction
                .query_row(
                    "SELECT reveal(value, 'secrets ' || name) FROM secrets WHERE name = ?1",
                    [name],
                    |row| row.get(0),
                )
                .optional()
        })?;
        stored
            .and_then(|bytes| bytes.try_into().ok())
            .ok_or_else(|| Error::DamagedSecret(name.to_owned()))
    }
}

/// Creates a secret of a store that does not have it yet.
pub(super) fn ensure(connection: &Connection, name: &str) -> Result<()> {
    let sql = "SELECT EXISTS (SELECT 1 FROM secrets WHERE name = ?1)";
    if connection.query_row(sql, [name], |row| row.get(0))? {
        return Ok(());
    }
    let fresh: [u8; SECRET_BYTES] = rand::random();
    connection.execute(
        "INSERT INTO secrets (name, value) VALUES (?1, conceal(?2, 'secrets ' || ?1)) ON CONFLICT DO NOTHING",
        (name, fresh.as_slice()),
    )?;
    Ok(())
}
