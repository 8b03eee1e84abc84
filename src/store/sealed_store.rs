//! Seals the secrets of a store when it is first opened with a master key.
//!
//! No other process may have the store open: a process that opened it before has no master key and would continue to
//! write secrets in clear. From then on triggers refuse such writes ([`super::clear_guard`]). The ledger is sealed in
//! [`super::sealed_ledger`].

use std::fs::File;
use std::path::Path;

use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::audit::{self, Act, DONE};
use super::clear_guard::{self, SecretColumn};
use super::database::open_writer;
use super::error::{Error, Result};
use super::master_key::{self, MasterKeys, SharedSealingKey};
use super::migrations;
use super::sole_connection::open_alone;
use toise_base::clock::Clock;

/// Held while a store is encrypted, so that processes that start with the key at the same time do not lock each other
/// out.
const LOCK_FILE: &str = "sealing.lock";
/// The first encryption, as the audit log names it.
const ENCRYPT: &str = "master key: encrypt the secrets of the store";

/// The columns of the store that hold secrets.
const COLUMNS: [SecretColumn; 4] = [
    column("webhook_keys", "value"),
    column("webhook_keys", "next_value"),
    column("signing_secrets", "value"),
    column("secrets", "value"),
];

const fn column(table: &'static str, column: &'static str) -> SecretColumn {
    SecretColumn { table, column }
}

/// Returns the SQL expression for the context of a secret, as used by the statements that read it.
fn place(table: &str) -> String {
    let of = match table {
        "secrets" => "name",
        _ => "account_id",
    };
    format!("'{table} ' || {of}")
}

/// Encrypts a store that has no data key yet (the file `name` of a folder): creates a data key and seals the secrets.
/// Returns once no file contains an unencrypted secret. Does nothing if another process has already done it.
///
/// # Errors
/// Another process has the store open, or it cannot be written.
pub(super) fn encrypt(data: &Path, name: &str, keys: &MasterKeys) -> Result<()> {
    let _lock = lock(data)?;
    let (files, connection) = open_writer(data, name, &migrations::STORE)?;
    let is_due = master_key::is_first(&connection, keys)?;
    drop((connection, files));
    if !is_due {
        return Ok(());
    }
    let (sealing, mut connection) =
        open_alone(data, name, &migrations::STORE).map_err(|error| match error {
            Error::InUse { path } => in_use(&path),
            error => error,
        })?;
    // The journal holds the secrets in clear, so it is emptied at each commit.
    connection.pragma_update(None, "journal_mode", "TRUNCATE")?;
    note(&mut connection, Act::at_command_line(ENCRYPT))?;
    let encrypted = encrypt_alone(&mut connection, &sealing, keys);
    let outcome = match &encrypted {
        Ok(()) => DONE.to_owned(),
        Err(error) => format!("failed: {error}"),
    };
    let ended = Act::at_command_line(ENCRYPT).ended(outcome);
    let noted = note(&mut connection, ended);
    encrypted?;
    noted?;
    tracing::info!("the secrets of the store are encrypted from now on");
    Ok(())
}

/// Waits for other processes that are encrypting the same store.
fn lock(data: &Path) -> Result<File> {
    let path = data.join(LOCK_FILE);
    let lock = File::create(&path).and_then(|file| file.lock().map(|()| file));
    lock.map_err(Error::io(path))
}

fn in_use(path: &Path) -> Error {
    Error::MasterKey(format!(
        "the secrets of this store are not encrypted yet, and another process has {path} open: without the master key \
         it would keep storing secrets unencrypted. Stop the server and every other program that has the store open, \
         run this again, then start them with the master key",
        path = path.display()
    ))
}

fn encrypt_alone(
    connection: &mut Connection,
    sealing: &SharedSealingKey,
    keys: &MasterKeys,
) -> Result<()> {
    in_transaction(connection, |transaction| {
        master_key::make_data_key(transaction, sealing, keys)?;
        seal(transaction)
    })?;
    // Free pages, and free space in other pages, still contain old secrets.
    connection.execute_batch("VACUUM")?;
    Ok(())
}

/// Seals unencrypted secrets and creates the triggers that refuse more of them.
fn seal(transaction: &Transaction<'_>) -> Result<()> {
    for secret in COLUMNS {
        let SecretColumn { table, column } = secret;
        let (place, is_clear) = (place(table), secret.is_clear(""));
        let sql =
            format!("UPDATE {table} SET {column} = conceal({column}, {place}) WHERE {is_clear}");
        transaction.execute(&sql, [])?;
    }
    clear_guard::install(transaction, &COLUMNS)?;
    Ok(())
}

/// Changes secrets in a transaction that overwrites the replaced values, so that they do not stay readable in free
/// space.
fn in_transaction<T>(
    connection: &mut Connection,
    change: impl FnOnce(&Transaction<'_>) -> Result<T>,
) -> Result<T> {
    connection.pragma_update(None, "secure_delete", true)?;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let changed = change(&transaction)?;
    transaction.commit()?;
    connection.pragma_update(None, "secure_delete", false)?;
    Ok(changed)
}

/// Appends an act to the audit log.
fn note(connection: &mut Connection, act: Act) -> Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let at_ms = Clock::system().now().timestamp_millis();
    audit::append(&transaction, at_ms, act)?;
    transaction.commit()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Store;
    use crate::master_key::tests::{FIRST, files_show, open};

    const ACCOUNT: &str = "INSERT INTO accounts VALUES ('a', 'a', 0)";
    const WEBHOOK_KEY: &str = "INSERT INTO webhook_keys (account_id, value)
                               VALUES ('a', conceal('whk_of_an_account', 'webhook_keys a'))";
    const SIGNING_SECRET: &str = "INSERT INTO signing_secrets (account_id, value)
                                  VALUES ('a', conceal(CAST('signs_deliveries' AS BLOB), 'signing_secrets a'))";
    const ANSWER: &str =
        "INSERT INTO stored_answers VALUES (x'01', 'k', x'02', x'03', 200, 'text/plain', 1, 3,
                            CAST('a stored answer' AS BLOB), 5, x'00')";
    const SECRETS: [&str; 3] = ["whk_of_an_account", "signs_deliveries", "a stored answer"];

    fn execute(store: &Store, sql: &'static [&'static str]) -> Result<()> {
        store.write(|transaction| {
            sql.iter()
                .try_for_each(|sql| transaction.execute_batch(sql))
        })
    }

    fn acts(store: &Store) -> Vec<(String, String)> {
        let sql = "SELECT action, outcome FROM audit ORDER BY entry";
        let read = store.read(|connection| {
            let mut statement = connection.prepare(sql)?;
            let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
            rows.collect()
        });
        read.unwrap()
    }

    #[test]
    fn a_store_that_somebody_has_open_is_not_encrypted() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path();
        let first = MasterKeys::of(FIRST, None).unwrap();
        let server = open(data, &MasterKeys::default()).unwrap();
        let refused = open(data, &first).unwrap_err().to_string();
        for said in ["another process has", "store.sqlite", "Stop the server"] {
            assert!(refused.contains(said), "{refused}");
        }
        // The store is unchanged, and the server continues to work.
        execute(&server, &[ACCOUNT, WEBHOOK_KEY, SIGNING_SECRET]).unwrap();
        drop(server);
        let store = open(data, &first).unwrap();
        let named = |outcome: &str| (ENCRYPT.to_owned(), outcome.to_owned());
        assert_eq!(acts(&store), [named("begun"), named("done")]);
        // With the key, other processes may open the store.
        drop((open(data, &first).unwrap(), store));
        for secret in SECRETS {
            assert!(!files_show(data, secret.as_bytes()), "{secret}");
        }
    }

    #[test]
    fn processes_that_begin_together_with_the_key_encrypt_once() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path();
        let first = MasterKeys::of(FIRST, None).unwrap();
        let stores: Vec<Store> = std::thread::scope(|scope| {
            let begin = || scope.spawn(|| open(data, &first).unwrap());
            let begun = [(); 4].map(|()| begin());
            begun.into_iter().map(|one| one.join().unwrap()).collect()
        });
        assert_eq!(acts(&stores[0]).len(), 2);
    }

    #[test]
    fn a_process_without_the_key_writes_no_secret_in_clear_into_what_is_sealed() {
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path(), &MasterKeys::default()).unwrap();
        execute(&store, &[ACCOUNT]).unwrap();
        // Simulates another process that encrypted the store in the meantime.
        let guard = |transaction: &Transaction<'_>| clear_guard::install(transaction, &COLUMNS);
        store.write(guard).unwrap();
        for sql in [&[WEBHOOK_KEY], &[SIGNING_SECRET]] {
            let refused = execute(&store, sql).unwrap_err().to_string();
            assert!(
                refused.contains("does not have the master key"),
                "{refused}"
            );
        }
        let refused = store.secret("cursor").unwrap_err().to_string();
        assert!(
            refused.contains("does not have the master key"),
            "{refused}"
        );
        drop(store);

        let data = folder.path().join("sealed");
        let first = MasterKeys::of(FIRST, None).unwrap();
        let store = open(&data, &first).unwrap();
        let refused = store
            .ledger()
            .write(|transaction| transaction.execute(ANSWER, []));
        let refused = refused.unwrap_err().to_string();
        assert!(
            refused.contains("does not have the master key"),
            "{refused}"
        );
    }
}
