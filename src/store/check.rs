//! Verifies everything in the store: documents and responses with checksums, the rows of every table, and SQLite's own
//! structures. Called by `toise check` and for every backup.

use rusqlite::Connection;
use serde::Serialize;

use super::checksum::is_intact_answer;
use super::error::Result;
use super::{Database, Store, document, row_digests};

/// Maximum items of damage that are named; the others are only counted.
const NAMED_MAX: usize = 1_000;

/// Result of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StoreCheck {
    /// Documents and stored responses that were verified.
    pub rows: u64,
    /// Names of the damaged rows and the errors that SQLite found, at most the first thousand.
    pub damaged: Vec<String>,
    /// Number of items of damage found.
    pub damaged_count: u64,
}

/// A table of documents: the name of its rows in messages, and the query that returns identifier and document.
struct DocumentTable {
    name: &'static str,
    sql: &'static str,
}

const TABLES: [DocumentTable; 5] = [
    DocumentTable {
        name: "property",
        sql: "SELECT coalesce(hex(property_id), 'with record ' || record), document
              FROM records LEFT JOIN properties USING (record)",
    },
    DocumentTable {
        name: "advert",
        sql: "SELECT hex(advert_id), document FROM adverts",
    },
    DocumentTable {
        name: "notified record",
        sql: "SELECT CAST(snapshot AS TEXT), document FROM snapshots",
    },
    DocumentTable {
        name: "rent map",
        sql: "SELECT kind, document FROM rent_maps",
    },
    DocumentTable {
        name: "answer of the upstream geocoding service",
        sql: "SELECT hex(digest), answer FROM geocoding_upstream",
    },
];

impl StoreCheck {
    fn found(&mut self, place: String) {
        self.damaged_count += 1;
        if self.damaged.len() < NAMED_MAX {
            self.damaged.push(place);
        }
    }

    /// Verifies the documents of a store's file.
    fn documents(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        for table in &TABLES {
            let mut statement = connection.prepare(table.sql)?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                self.rows += 1;
                if let Err(error) = document::verify(row.get_ref(1)?.as_blob()?) {
                    let name = uuid_of(&row.get::<_, String>(0)?);
                    self.found(format!("{} {name}: {error}", table.name));
                }
            }
        }
        Ok(())
    }

    /// Verifies the stored responses of a ledger's file.
    fn answers(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        let mut statement = connection.prepare(
            "SELECT request_digest, status, content_type, bytes, body, checksum, idempotency_key FROM stored_answers",
        )?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            self.rows += 1;
            if !is_intact_answer(row)? {
                let key: String = row.get(6)?;
                self.found(format!("response stored under the idempotency key {key:?}"));
            }
        }
        Ok(())
    }

    /// Verifies that every table has exactly the rows that were written.
    fn tables(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        for damaged in row_digests::damaged(connection)? {
            self.found(damaged);
        }
        Ok(())
    }

    /// Verifies the structures of a file with SQLite, indexes included.
    fn structures(&mut self, connection: &Connection, name: &str) -> rusqlite::Result<()> {
        let mut statement = connection.prepare("PRAGMA integrity_check")?;
        let found = statement.query_map([], |row| row.get::<_, String>(0))?;
        for line in found {
            let line = line?;
            if line != "ok" {
                self.found(format!("{name}: {line}"));
            }
        }
        Ok(())
    }
}

/// Formats an identifier of 32 hexadecimal digits as a UUID; other names stay unchanged.
fn uuid_of(name: &str) -> String {
    let is_uuid = name.len() == 32 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_uuid {
        let name = name.to_lowercase();
        let parts = [
            &name[..8],
            &name[8..12],
            &name[12..16],
            &name[16..20],
            &name[20..],
        ];
        parts.join("-")
    } else {
        name.to_owned()
    }
}

/// The kind of a store file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Contents {
    Store,
    Ledger,
}

/// Verifies the rows of a connection's file.
pub(super) fn check_rows(
    connection: &Connection,
    contents: Contents,
) -> rusqlite::Result<StoreCheck> {
    let mut check = StoreCheck::default();
    match contents {
        Contents::Store => check.documents(connection)?,
        Contents::Ledger => check.answers(connection)?,
    }
    check.tables(connection)?;
    Ok(check)
}

impl Store {
    /// Verifies every document and stored response against its checksum, and the structures of both files. Reads all of
    /// them; while a server is running, each file is one snapshot. Blocks.
    ///
    /// # Errors
    /// A file cannot be read at all.
    pub fn check(&self) -> Result<StoreCheck> {
        let mut check = StoreCheck::default();
        let mut one = |database: &Database, contents, name| {
            let found = database.read_snapshot(|connection| {
                let mut found = StoreCheck::default();
                found.structures(connection, name)?;
                let rows = check_rows(connection, contents)?;
                found.rows += rows.rows;
                found.damaged.extend(rows.damaged);
                found.damaged_count += rows.damaged_count;
                Ok(found)
            })?;
            check.rows += found.rows;
            check.damaged.extend(found.damaged);
            check.damaged_count += found.damaged_count;
            Result::Ok(())
        };
        one(&self.database, Contents::Store, "store")?;
        one(&self.ledger, Contents::Ledger, "ledger")?;
        Ok(check)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;

    /// Returns a store with two records; the second has a flipped bit.
    fn damaged(folder: &std::path::Path) -> Store {
        let store = Store::open(folder).unwrap();
        let document = document::compress(b"{}").unwrap();
        store
            .write(move |transaction| {
                let mut flipped = document.clone();
                *flipped.last_mut().unwrap() ^= 4;
                let insert = "INSERT INTO records VALUES (?1, ?2)";
                transaction.execute(insert, (1, &document))?;
                transaction.execute(insert, (2, &flipped))?;
                let id = [0xab_u8; 16];
                transaction.execute("INSERT INTO properties VALUES (1, ?1, 1, NULL, 2)", [id])
            })
            .unwrap();
        store
    }

    #[test]
    fn a_damaged_record_is_named_and_is_not_backed_up() {
        let folder = tempfile::tempdir().unwrap();
        let store = damaged(folder.path());
        let check = store.check().unwrap();
        assert_eq!((check.rows, check.damaged_count), (2, 1), "{check:?}");
        let name = "property abababab-abab-abab-abab-abababababab: ";
        assert!(check.damaged[0].starts_with(name), "{check:?}");
        let copies = folder.path().join("copies");
        std::fs::create_dir(&copies).unwrap();
        let refused = store.backup(&copies);
        let Err(Error::DamagedCopy { reason, .. }) = refused else {
            panic!("{refused:?}");
        };
        assert!(reason.starts_with(name), "{reason}");
    }

    #[test]
    fn a_row_that_changes_on_disk_is_found_in_its_table() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let name = "the name of an account";
        store
            .write(move |transaction| {
                let sql =
                    "INSERT INTO accounts (account_id, name, created_at_ms) VALUES ('a', ?1, 0)";
                transaction.execute(sql, [name])
            })
            .unwrap();
        crate::tests::close(store);
        let path = folder.path().join(crate::FILE_NAME);
        let mut bytes = std::fs::read(&path).unwrap();
        let at = bytes
            .windows(name.len())
            .position(|text| text == name.as_bytes());
        bytes[at.unwrap()] ^= 1;
        std::fs::write(&path, bytes).unwrap();
        let store = Store::open(folder.path()).unwrap();
        let check = store.check().unwrap();
        let told = "table accounts: a value is not the one that was written";
        assert!(check.damaged.iter().any(|it| it == told), "{check:?}");
        let copies = folder.path().join("copies");
        std::fs::create_dir(&copies).unwrap();
        let refused = store.backup(&copies);
        assert!(
            matches!(refused, Err(Error::DamagedCopy { .. })),
            "{refused:?}"
        );
    }

    #[test]
    fn an_intact_store_has_nothing_damaged() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        assert_eq!(store.check().unwrap(), StoreCheck::default());
    }
}
