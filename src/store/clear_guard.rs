//! Triggers that refuse unencrypted secrets in a file whose secrets are sealed. They are needed because a process that
//! opened the file before the master key was set continues to write without the key.
//!
//! The triggers are in the schema, so they apply in the transaction of each write and cost it a comparison of seven
//! bytes.

use rusqlite::Transaction;

/// Prefix of the names of the triggers.
const TRIGGER: &str = "refuses_clear_";
/// The first bytes of sealed texts (`sealed:`) and of sealed bytes (`sealed\0`), as SQL.
const SEALED: &str = "(x'7365616c65643a', x'7365616c656400')";
/// Error message for the writer.
const REFUSAL: &str = "the secrets here are encrypted, and this process does not have the master key: restart it with \
                       TOISE_MASTER_KEY, TOISE_MASTER_KEY_FILE or TOISE_MASTER_KEY_COMMAND";

/// A column that holds secrets.
#[derive(Clone, Copy, Debug)]
pub(super) struct SecretColumn {
    /// The table.
    pub(super) table: &'static str,
    /// The column's name.
    pub(super) column: &'static str,
}

impl SecretColumn {
    /// Returns an SQL condition that is true if the secret of a row is stored in clear.
    pub(super) fn is_clear(self, row: &str) -> String {
        let column = self.column;
        format!(
            "{row}{column} IS NOT NULL AND substr(CAST({row}{column} AS BLOB), 1, 7) NOT IN {SEALED}"
        )
    }
}

/// Creates the triggers of these columns.
///
/// # Errors
/// The file cannot be written.
pub(super) fn install(
    transaction: &Transaction<'_>,
    columns: &[SecretColumn],
) -> rusqlite::Result<()> {
    for secret in columns {
        let SecretColumn { table, column } = secret;
        let is_clear = secret.is_clear("NEW.");
        for (suffix, change) in [
            ("insert", "INSERT".to_owned()),
            ("update", format!("UPDATE OF {column}")),
        ] {
            transaction.execute_batch(&format!(
                "CREATE TRIGGER IF NOT EXISTS {TRIGGER}{table}_{column}_{suffix} BEFORE {change} ON {table}
                 WHEN {is_clear} BEGIN SELECT RAISE(ABORT, '{REFUSAL}'); END"
            ))?;
        }
    }
    Ok(())
}
