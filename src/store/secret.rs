//! Creates secrets of this installation: random bytes, sealed with the master key if there is one.

use rusqlite::Connection;

/// Length of a secret, bytes.
pub(super) const SECRET_BYTES: usize = 32;
/// Name of the secret under which erased contacts are digested. A store has it from the beginning, so that every backup
/// has it and a list of erased contacts that is newer than the backup can be applied to it.
pub const ERASED_CONTACTS_SECRET: &str = "erased contacts";

/// Creates a secret of a store that does not have it yet.
pub(super) fn ensure(connection: &Connection, name: &str) -> rusqlite::Result<()> {
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
