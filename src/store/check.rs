//! Verifies everything in the store: documents and responses with checksums, the rows of every table, and SQLite's own
//! structures. Called by `toise check` and for every backup.

use rusqlite::Connection;
use serde::Serialize;
use uuid::Uuid;

use super::checksum::is_intact_answer;
use super::error::Result;
use super::{Store, document, row_digests};

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
                    let name: String = row.get(0)?;
                    // Identifiers are read as 32 hexadecimal digits; other names are not UUIDs.
                    let name = Uuid::try_parse(&name).map_or(name, |id| id.to_string());
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

    /// Verifies the rows of a file, and that every table has exactly those that were written.
    fn all_rows(&mut self, connection: &Connection, contents: Contents) -> rusqlite::Result<()> {
        match contents {
            Contents::Store => self.documents(connection)?,
            Contents::Ledger => self.answers(connection)?,
        }
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
    check.all_rows(connection, contents)?;
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
        let contents = [Contents::Store, Contents::Ledger];
        for ((name, database), contents) in self.databases().into_iter().zip(contents) {
            database.read_snapshot(|connection| {
                check.structures(connection, name)?;
                check.all_rows(connection, contents)
            })?;
        }
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
        let expected = "table accounts: a value is not the one that was written";
        assert!(check.damaged.iter().any(|it| it == expected), "{check:?}");
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
