//! Encryption of secrets at rest: a master key that is not in the data folder wraps the key that seals them.
//!
//! The master key is 32 random bytes as 64 hexadecimal digits, from the environment (`TOISE_MASTER_KEY`), a file
//! (`TOISE_MASTER_KEY_FILE`) or a command (`TOISE_MASTER_KEY_COMMAND`, its output). When a store is first opened with a
//! master key, a data key is created, wrapped with the master key and stored. The existing secrets are sealed with the
//! data key: webhook keys, signing secrets, the secret of cursors, the responses under idempotency keys. The files are
//! then rewritten, so that no unencrypted secret remains in them. This is done while no other process has the store
//! open (`sealed_store`). Afterwards the store opens only with the master key.
//!
//! To change the master key, give the previous one in the same ways with `_PREVIOUS` (`TOISE_MASTER_KEY_PREVIOUS`, …)
//! the next time a process opens the store, for example a command while a server is running. The data key is then
//! wrapped again. The server keeps working, because it has the data key in memory.
//!
//! The texts of keys are wiped from memory once they are read. What libraries derive from them remains in memory, and
//! so does the environment; `toise` forbids dumps of its memory when it has a master key.
//!
//! SQL statements call `conceal(value, place)` to seal and `reveal(value, place)` to open. Without a key, `conceal`
//! changes nothing, and `reveal` returns values that were never sealed.

use std::process::Command;
use std::sync::{Arc, OnceLock};

use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior};
use zeroize::Zeroizing;

use super::audit::{self, Act, DONE};
use super::error::{Error, Result};
use super::sealing::{KEY_BYTES, SealError, SealingKey};
use toise_base::clock::Clock;

/// Name of the environment variable with the master key; `_FILE` and `_COMMAND` name where it is.
const VARIABLE: &str = "TOISE_MASTER_KEY";
/// Suffix of the variable for the previous master key.
const PREVIOUS: &str = "_PREVIOUS";
/// Purpose from which the keys that wrap data keys are derived.
const PURPOSE: &str = "toise master key wraps data keys";
/// Context of a wrapped data key.
const WRAPPED: &[u8] = b"sealing_key";
/// Prefix of sealed bytes.
const SEALED: &[u8] = b"sealed\0";
/// Prefix of sealed texts, whose bytes are written in hexadecimal digits.
const SEALED_TEXT: &str = "sealed:";

/// A change of the master key, as the audit log names it.
const CHANGE: &str = "master key: change it";

/// The data key of a store, once it is open; shared by its connections.
pub(super) type SharedSealingKey = Arc<OnceLock<SealingKey>>;

/// The master key, and the previous one while it is being changed.
#[derive(Clone, Debug, Default)]
pub struct MasterKeys {
    current: Option<SealingKey>,
    previous: Option<SealingKey>,
}

impl MasterKeys {
    /// Reads the keys from the sources that the environment names.
    ///
    /// # Errors
    /// A source cannot be read, or its text is not a key.
    pub fn from_environment() -> Result<Self> {
        let key = |suffix: &str| {
            let given = text_from_environment(&format!("{VARIABLE}{suffix}"))?;
            given.map(|(text, place)| key_of(&text, &place)).transpose()
        };
        Ok(Self {
            current: key("")?,
            previous: key(PREVIOUS)?,
        })
    }

    /// Parses keys given as hexadecimal digits.
    ///
    /// # Errors
    /// A text is not a key.
    pub fn of(current: &str, previous: Option<&str>) -> Result<Self> {
        Ok(Self {
            current: Some(key_of(current, VARIABLE)?),
            previous: previous.map(|text| key_of(text, VARIABLE)).transpose()?,
        })
    }
}

/// Reads the text of a key. Also returns its source for messages: the variable, the file or the command.
fn text_from_environment(name: &str) -> Result<Option<(Zeroizing<String>, String)>> {
    if let Ok(text) = std::env::var(name) {
        return Ok(Some((text.into(), name.to_owned())));
    }
    if let Ok(path) = std::env::var(format!("{name}_FILE")) {
        return match std::fs::read_to_string(&path) {
            Ok(text) => Ok(Some((text.into(), path))),
            Err(error) => Err(Error::MasterKey(format!("{path}: {error}"))),
        };
    }
    let Ok(command) = std::env::var(format!("{name}_COMMAND")) else {
        return Ok(None);
    };
    let place = format!("the command of {name}_COMMAND");
    let failed = |reason: String| Error::MasterKey(format!("{place} {reason}"));
    let output = Command::new("sh")
        .args(["-c", &command])
        .output()
        .map_err(|error| failed(format!("cannot be run: {error}")))?;
    let stdout = Zeroizing::new(output.stdout);
    if output.status.success() {
        let text = String::from_utf8_lossy(&stdout).into_owned();
        Ok(Some((text.into(), place)))
    } else {
        Err(failed(format!("failed: {}", output.status)))
    }
}

fn key_of(text: &str, place: &str) -> Result<SealingKey> {
    let bytes = from_hex(text.trim()).map(Zeroizing::new);
    let bytes = bytes.filter(|bytes| bytes.len() == KEY_BYTES);
    let key = bytes.map(|bytes| SealingKey::derived(PURPOSE, &[&bytes]));
    let rule = "must be 64 hexadecimal digits, as from `openssl rand -hex 32`";
    key.ok_or_else(|| Error::MasterKey(format!("{place}: {rule}")))
}

/// Returns whether a store has no data key yet and a master key is given to wrap one.
///
/// # Errors
/// The connection fails.
pub(super) fn is_first(connection: &Connection, keys: &MasterKeys) -> Result<bool> {
    Ok(keys.current.is_some() && wrapped_key(connection)?.is_none())
}

fn wrapped_key(connection: &Connection) -> Result<Option<Vec<u8>>> {
    let sql = "SELECT wrapped FROM sealing_key";
    let found = connection.query_row(sql, [], |row| row.get(0));
    Ok(found.optional()?)
}

fn damaged() -> Error {
    Error::MasterKey("the data key of this store is damaged".to_owned())
}

/// Creates the data key of a store that has none, and wraps it with the given master key.
///
/// # Errors
/// The store cannot be written.
pub(super) fn make_data_key(
    transaction: &Transaction<'_>,
    shared: &SharedSealingKey,
    keys: &MasterKeys,
) -> Result<()> {
    let Some(current) = &keys.current else {
        return Ok(());
    };
    let data_key: Zeroizing<[u8; KEY_BYTES]> = Zeroizing::new(rand::random());
    let _ = shared.set(SealingKey::new(&data_key));
    wrap(transaction, current, &data_key)
}

fn wrap(
    transaction: &Transaction<'_>,
    current: &SealingKey,
    data_key: &[u8; KEY_BYTES],
) -> Result<()> {
    let sealed = current.seal(data_key, WRAPPED).map_err(|_| damaged())?;
    let put = "INSERT INTO sealing_key (one, wrapped) VALUES (1, ?1)
               ON CONFLICT (one) DO UPDATE SET wrapped = excluded.wrapped";
    transaction.execute(put, [sealed])?;
    Ok(())
}

/// Unwraps the data key of a store, and wraps it again if the master key has changed. A store without a data key stays
/// unchanged.
///
/// # Errors
/// The store was sealed with another master key, or needs one and none is given.
pub(super) fn unlock(
    connection: &mut Connection,
    shared: &SharedSealingKey,
    keys: &MasterKeys,
) -> Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let Some(wrapped) = wrapped_key(&transaction)? else {
        return Ok(());
    };
    let Some(current) = &keys.current else {
        return Err(Error::MasterKey(format!(
            "the secrets of this store are encrypted; give the master key in {VARIABLE}, {VARIABLE}_FILE or \
             {VARIABLE}_COMMAND"
        )));
    };
    let (data_key, is_former) = match current.open(&wrapped, WRAPPED) {
        Ok(data_key) => (data_key, false),
        Err(_) => {
            let previous = keys.previous.as_ref();
            let opened = previous.and_then(|key| key.open(&wrapped, WRAPPED).ok());
            let opened = opened.ok_or_else(|| {
                Error::MasterKey(format!(
                    "the master key does not belong to this store; give the previous one in {VARIABLE}{PREVIOUS}"
                ))
            })?;
            (opened, true)
        }
    };
    let data_key = Zeroizing::new(data_key);
    let bytes: &[u8; KEY_BYTES] = data_key.as_slice().try_into().map_err(|_| damaged())?;
    // It may already be set, but only to the same key.
    let _ = shared.set(SealingKey::new(bytes));
    if is_former {
        // A wrapped key that is replaced must not stay readable in free space.
        transaction.pragma_update(None, "secure_delete", true)?;
        wrap(&transaction, current, bytes)?;
        // Both entries are in the transaction of the change, so that all three are written or none.
        let at_ms = Clock::system().now().timestamp_millis();
        let act = Act::at_command_line(CHANGE);
        audit::append(&transaction, at_ms, act.clone())?;
        audit::append(&transaction, at_ms, act.ended(DONE.to_owned()))?;
    }
    transaction.commit()?;
    connection.pragma_update(None, "secure_delete", false)?;
    Ok(())
}

/// Changes secrets so that no trace of the previous ones stays in free space of the file.
///
/// # Errors
/// Those of `change`, or the connection fails.
pub fn overwriting<T>(
    transaction: &Transaction<'_>,
    change: impl FnOnce() -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    transaction.pragma_update(None, "secure_delete", true)?;
    let changed = change();
    transaction.pragma_update(None, "secure_delete", false)?;
    changed
}

/// Registers `conceal` and `reveal` on a connection.
pub(super) fn register_functions(
    connection: &Connection,
    shared: &SharedSealingKey,
) -> rusqlite::Result<()> {
    // Not allowed in schemas: only statements of this program may use them.
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DIRECTONLY;
    let key = Arc::clone(shared);
    connection.create_scalar_function("conceal", 2, flags, move |context| {
        let place: String = context.get(1)?;
        conceal(key.get(), context, &place)
    })?;
    let key = Arc::clone(shared);
    connection.create_scalar_function("reveal", 2, flags, move |context| {
        let place: String = context.get(1)?;
        reveal(key.get(), context, &place)
    })
}

/// Seals bytes as `conceal` does; without a key they stay unchanged.
///
/// # Errors
/// Never for less than 64 GiB.
pub(super) fn conceal_bytes(
    key: Option<&SealingKey>,
    bytes: Vec<u8>,
    place: &str,
) -> std::result::Result<Vec<u8>, SealError> {
    let Some(key) = key else {
        return Ok(bytes);
    };
    Ok([SEALED, &key.seal(&bytes, place.as_bytes())?].concat())
}

fn failed(reason: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> rusqlite::Error {
    rusqlite::Error::UserFunctionError(reason.into())
}

fn conceal(
    key: Option<&SealingKey>,
    context: &Context<'_>,
    place: &str,
) -> rusqlite::Result<Value> {
    let value = context.get_raw(0);
    let Some(key) = key else {
        return Value::try_from(value).map_err(failed);
    };
    match value {
        ValueRef::Blob(bytes) => {
            let sealed = conceal_bytes(Some(key), bytes.to_vec(), place);
            sealed.map(Value::Blob).map_err(failed)
        }
        ValueRef::Text(bytes) => {
            let sealed = key.seal(bytes, place.as_bytes()).map_err(failed)?;
            Ok(Value::Text(format!("{SEALED_TEXT}{}", to_hex(&sealed))))
        }
        other => Value::try_from(other).map_err(failed),
    }
}

fn reveal(key: Option<&SealingKey>, context: &Context<'_>, place: &str) -> rusqlite::Result<Value> {
    let open = |sealed: &[u8]| {
        let key =
            key.ok_or_else(|| failed("the secret is encrypted and there is no master key"))?;
        key.open(sealed, place.as_bytes()).map_err(failed)
    };
    match context.get_raw(0) {
        ValueRef::Blob(bytes) => match bytes.strip_prefix(SEALED) {
            Some(sealed) => open(sealed).map(Value::Blob),
            None => Ok(Value::Blob(bytes.to_vec())),
        },
        ValueRef::Text(bytes) => {
            let text = std::str::from_utf8(bytes).map_err(failed)?;
            let Some(sealed) = text.strip_prefix(SEALED_TEXT) else {
                return Ok(Value::Text(text.to_owned()));
            };
            let sealed = from_hex(sealed).ok_or_else(|| failed("a sealed text is damaged"))?;
            let opened = String::from_utf8(open(&sealed)?).map_err(failed)?;
            Ok(Value::Text(opened))
        }
        other => Value::try_from(other).map_err(failed),
    }
}

fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes();
    if !digits.len().is_multiple_of(2) || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    // Allocated once, because growing would leave a copy of the key behind.
    let mut bytes = Vec::with_capacity(digits.len() / 2);
    for pair in digits.chunks(2) {
        let pair = std::str::from_utf8(pair).ok()?;
        bytes.push(u8::from_str_radix(pair, 16).ok()?);
    }
    Some(bytes)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::Store;
    use toise_base::supervise::Supervisor;

    pub(crate) const FIRST: &str =
        "0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f";
    const SECOND: &str = "1f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f";
    const TEXT: &str = "whk_a-key-that-a-receiver-compares";

    pub(crate) fn open(folder: &std::path::Path, keys: &MasterKeys) -> Result<Store> {
        Store::open_with(folder, &Supervisor::default(), keys)
    }

    fn put(store: &Store) {
        let change = |transaction: &rusqlite::Transaction<'_>| {
            transaction.execute("INSERT INTO accounts VALUES ('a', 'a', 0)", [])?;
            let sql = "INSERT INTO webhook_keys (account_id, value) VALUES ('a', conceal(?1, 'webhook_keys a'))";
            transaction.execute(sql, [TEXT])
        };
        store.write(change).unwrap();
    }

    fn read(store: &Store) -> String {
        let sql = "SELECT reveal(value, 'webhook_keys ' || account_id) FROM webhook_keys";
        store
            .read(|connection| connection.query_row(sql, [], |row| row.get(0)))
            .unwrap()
    }

    pub(crate) fn files_show(folder: &std::path::Path, text: &[u8]) -> bool {
        // The threads of a dropped store close its files a little later. If the last two connections close at the same
        // time, the log stays; the next connection picks it up.
        let since = std::time::Instant::now();
        for file in ["store.sqlite", "ledger.sqlite"] {
            while folder.join(format!("{file}-wal")).exists() {
                assert!(since.elapsed().as_secs() < 10, "{file} is not closed");
                std::thread::sleep(std::time::Duration::from_millis(20));
                let last = rusqlite::Connection::open(folder.join(file)).unwrap();
                let count = "SELECT count(*) FROM sqlite_master";
                let _ = last.query_row(count, [], |row| row.get::<_, i64>(0));
            }
        }
        let mut entries = std::fs::read_dir(folder).unwrap();
        entries.any(|entry| {
            let bytes = std::fs::read(entry.unwrap().path()).unwrap();
            bytes.windows(text.len()).any(|part| part == text)
        })
    }

    #[test]
    fn a_stolen_store_shows_no_secret_and_opens_with_its_master_key_alone() {
        let folder = tempfile::tempdir().unwrap();
        let none = MasterKeys::default();
        let first = MasterKeys::of(FIRST, None).unwrap();
        let store = open(folder.path(), &none).unwrap();
        put(&store);
        let cursors = store.secret("cursor").unwrap();
        drop(store);
        assert!(files_show(folder.path(), TEXT.as_bytes()));

        let store = open(folder.path(), &first).unwrap();
        assert_eq!(read(&store), TEXT);
        assert_eq!(store.secret("cursor").unwrap(), cursors);
        let copies = folder.path().join("copies");
        std::fs::create_dir(&copies).unwrap();
        store.backup(&copies).unwrap();
        drop(store);
        assert!(!files_show(&copies, TEXT.as_bytes()));
        assert!(!files_show(&copies, &cursors));
        std::fs::remove_dir_all(&copies).unwrap();
        assert!(!files_show(folder.path(), TEXT.as_bytes()));

        let refused = open(folder.path(), &none).unwrap_err().to_string();
        assert!(refused.contains("TOISE_MASTER_KEY"), "{refused}");
        let second = MasterKeys::of(SECOND, None).unwrap();
        let refused = open(folder.path(), &second).unwrap_err().to_string();
        assert!(
            refused.contains("does not belong to this store"),
            "{refused}"
        );
    }

    #[test]
    fn the_master_key_changes_while_a_server_runs() {
        let folder = tempfile::tempdir().unwrap();
        let first = MasterKeys::of(FIRST, None).unwrap();
        let server = open(folder.path(), &first).unwrap();
        put(&server);
        let both = MasterKeys::of(SECOND, Some(FIRST)).unwrap();
        let command = open(folder.path(), &both).unwrap();
        assert_eq!(read(&command), TEXT);
        assert_eq!(read(&server), TEXT);
        drop((command, server));
        let second = MasterKeys::of(SECOND, None).unwrap();
        assert_eq!(read(&open(folder.path(), &second).unwrap()), TEXT);
        assert!(open(folder.path(), &first).is_err());
    }

    #[test]
    fn a_master_key_is_64_hexadecimal_digits() {
        assert!(MasterKeys::of(&format!("{FIRST}\n"), None).is_ok());
        for text in ["", "0f", &FIRST[1..], &FIRST.replace('f', "g")] {
            assert!(MasterKeys::of(text, None).is_err(), "{text}");
        }
    }
}
