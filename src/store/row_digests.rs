//! The digest of all rows of a table, with which a check finds changes made on disk.
//!
//! Documents and stored responses have their own checksums, which every read verifies ([`super::checksum`]). This
//! digest, the sum of the digests of a table's rows, covers all other columns, such as the prices of an advert, the
//! limits of a key or the charges of a ledger. Triggers update it in the transaction of each change, so that it costs
//! no read. It shows that a table's rows differ from those that were written, but not which row is wrong.
//!
//! Tables that are derived from documents, and are written several times for each advert, have no digest.

use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row};

use super::checksum::checksum;

/// The table of digests.
const DIGESTS: &str = "row_digests";
/// Tables without a digest: those for the matching of adverts, which can be rebuilt from the documents.
const DERIVED: [&str; 6] = [
    "blocks", "fingerprints", "likely_pairs", "marks", "common_marks", "portal_rates",
];
/// Prefix of the names of the triggers.
const TRIGGER: &str = "row_digest_";

struct DigestedTable {
    name: String,
    /// All columns. SQLite's row id is excluded unless it is declared as a column, because it may change on its own.
    columns: Vec<String>,
}

impl DigestedTable {
    /// Returns the columns of the row before or after a change, as SQL.
    fn row(&self, which: &str) -> String {
        let columns = self.columns.iter();
        let columns: Vec<String> = columns.map(|column| format!("{which}.{column}")).collect();
        columns.join(", ")
    }

    /// Returns the SQL that creates the trigger for one kind of change.
    fn trigger(&self, change: &str, rows: &str, digest: &str) -> String {
        let name = &self.name;
        let suffix = change.to_lowercase();
        format!(
            "CREATE TRIGGER {TRIGGER}{name}_{suffix} AFTER {change} ON {name} BEGIN
               UPDATE {DIGESTS} SET rows = rows + {rows}, digest = {digest} WHERE name = '{name}';
             END"
        )
    }
}

/// Registers the functions of the triggers, on every connection: `row_digest_with(digest, columns…)` and
/// `row_digest_without(digest, columns…)`. A replaced row counts as a deleted one too.
pub(super) fn register(connection: &Connection) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8
        | FunctionFlags::SQLITE_DETERMINISTIC
        | FunctionFlags::SQLITE_INNOCUOUS;
    connection.create_scalar_function("row_digest_with", -1, flags, |context| {
        Ok(context.get::<i64>(0)?.wrapping_add(of_arguments(context)))
    })?;
    connection.create_scalar_function("row_digest_without", -1, flags, |context| {
        Ok(context.get::<i64>(0)?.wrapping_sub(of_arguments(context)))
    })?;
    connection.pragma_update(None, "recursive_triggers", true)
}

fn of_arguments(context: &Context<'_>) -> i64 {
    of_values((1..context.len()).map(|index| context.get_raw(index)))
}

/// Returns the digest of one row.
fn of_values<'v>(values: impl Iterator<Item = ValueRef<'v>>) -> i64 {
    let mut bytes = Vec::new();
    for value in values {
        let (kind, number, text): (u8, [u8; 8], &[u8]) = match value {
            ValueRef::Null => (0, [0; 8], &[]),
            ValueRef::Integer(number) => (1, number.to_le_bytes(), &[]),
            ValueRef::Real(number) => (2, number.to_le_bytes(), &[]),
            ValueRef::Text(text) => (3, (text.len() as u64).to_le_bytes(), text),
            ValueRef::Blob(blob) => (4, (blob.len() as u64).to_le_bytes(), blob),
        };
        bytes.push(kind);
        bytes.extend_from_slice(&number);
        bytes.extend_from_slice(text);
    }
    i64::from_le_bytes(checksum([bytes.as_slice()]))
}

/// Rebuilds the triggers and digests of all tables, in the transaction that changed the tables. Does nothing in a file
/// whose schema has no digests yet.
pub(super) fn install(connection: &Connection) -> rusqlite::Result<()> {
    let sql = "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?1)";
    if !connection.query_row(sql, [DIGESTS], |row| row.get::<_, bool>(0))? {
        return Ok(());
    }
    let sql = "SELECT name FROM sqlite_schema WHERE type = 'trigger' AND substr(name, 1, length(?1)) = ?1";
    let mut statement = connection.prepare(sql)?;
    let triggers = statement.query_map([TRIGGER], |row| row.get(0))?;
    let triggers: Vec<String> = triggers.collect::<rusqlite::Result<_>>()?;
    for trigger in triggers {
        connection.execute_batch(&format!("DROP TRIGGER {trigger}"))?;
    }
    connection.execute(&format!("DELETE FROM {DIGESTS}"), [])?;
    for table in tables(connection)? {
        let (rows, digest) = digest(connection, &table)?;
        let insert = format!("INSERT INTO {DIGESTS} VALUES (?1, ?2, ?3)");
        connection.execute(&insert, (&table.name, rows, digest))?;
        let (old, new) = (table.row("OLD"), table.row("NEW"));
        let with = format!("row_digest_with(digest, {new})");
        let without = format!("row_digest_without(digest, {old})");
        let changed = format!("row_digest_with({without}, {new})");
        for trigger in [
            table.trigger("INSERT", "1", &with),
            table.trigger("UPDATE", "0", &changed),
            table.trigger("DELETE", "-1", &without),
        ] {
            connection.execute_batch(&trigger)?;
        }
    }
    Ok(())
}

/// Returns the tables that have digests.
fn tables(connection: &Connection) -> rusqlite::Result<Vec<DigestedTable>> {
    let sql = "SELECT name FROM pragma_table_list
               WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name";
    let mut statement = connection.prepare(sql)?;
    let names = statement.query_map([], |row| row.get(0))?;
    let names: Vec<String> = names.collect::<rusqlite::Result<_>>()?;
    let mut tables = Vec::new();
    for name in names {
        if name == DIGESTS || DERIVED.contains(&name.as_str()) {
            continue;
        }
        let mut statement = connection.prepare("SELECT name FROM pragma_table_info(?1)")?;
        let columns = statement.query_map([&name], |row| row.get(0))?;
        let columns = columns.collect::<rusqlite::Result<_>>()?;
        tables.push(DigestedTable { name, columns });
    }
    Ok(tables)
}

/// Returns the number and digest of the rows that a table has.
fn digest(connection: &Connection, table: &DigestedTable) -> rusqlite::Result<(i64, i64)> {
    let columns = table.columns.join(", ");
    let mut statement = connection.prepare(&format!("SELECT {columns} FROM {}", table.name))?;
    let mut found = statement.query([])?;
    let (mut rows, mut digest) = (0, 0_i64);
    while let Some(row) = found.next()? {
        rows += 1;
        digest = digest.wrapping_add(of_row(row, table.columns.len())?);
    }
    Ok((rows, digest))
}

fn of_row(row: &Row<'_>, columns: usize) -> rusqlite::Result<i64> {
    let values = (0..columns).map(|index| row.get_ref(index));
    let values: Vec<ValueRef<'_>> = values.collect::<rusqlite::Result<_>>()?;
    Ok(of_values(values.into_iter()))
}

/// Returns the tables whose rows differ from those that were written, each with a description. Reads all tables.
pub(super) fn damaged(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut found = Vec::new();
    let sql = format!("SELECT rows, digest FROM {DIGESTS} WHERE name = ?1");
    let mut kept = connection.prepare(&sql)?;
    for table in tables(connection)? {
        let (rows, digest) = digest(connection, &table)?;
        let kept = kept.query_map([&table.name], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let kept: Vec<(i64, i64)> = kept.collect::<rusqlite::Result<_>>()?;
        let wrong = match kept.first() {
            None => "its digest is missing".to_owned(),
            Some((written, _)) if *written != rows => {
                format!("has {rows} rows, and {written} were written")
            }
            Some((_, written)) if *written != digest => {
                "a value is not the one that was written".to_owned()
            }
            Some(_) => continue,
        };
        found.push(format!("table {}: {wrong}", table.name));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SCHEMA: &str = "
        CREATE TABLE parents (parent INTEGER PRIMARY KEY, name TEXT UNIQUE, weight REAL);
        CREATE TABLE children (
          id BLOB PRIMARY KEY NOT NULL, parent INTEGER REFERENCES parents ON DELETE CASCADE
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE plain (value);
        CREATE TABLE row_digests (
          name TEXT PRIMARY KEY NOT NULL, rows INTEGER NOT NULL, digest INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;";

    fn database() -> Connection {
        let connection = Connection::open_in_memory().unwrap();
        register(&connection).unwrap();
        connection
            .pragma_update(None, "foreign_keys", true)
            .unwrap();
        connection.execute_batch(SCHEMA).unwrap();
        let before = "INSERT INTO plain VALUES ('before')";
        connection.execute_batch(before).unwrap();
        install(&connection).unwrap();
        connection
    }

    /// Changes a row as a faulty disk would: no trigger sees it.
    fn change_without_triggers(connection: &Connection, sql: &str) {
        let restore = "SELECT group_concat(sql, ';') FROM sqlite_schema WHERE type = 'trigger'";
        let triggers: String = connection.query_row(restore, [], |row| row.get(0)).unwrap();
        let names = "SELECT group_concat('DROP TRIGGER ' || name, ';') FROM sqlite_schema WHERE type = 'trigger'";
        let drops: String = connection.query_row(names, [], |row| row.get(0)).unwrap();
        connection.execute_batch(&drops).unwrap();
        connection.execute_batch(sql).unwrap();
        connection.execute_batch(&triggers).unwrap();
    }

    #[test]
    fn what_changes_on_disk_is_found_in_its_table() {
        for (change, expected) in [
            ("UPDATE parents SET weight = 2.5", "table parents: a value"),
            ("UPDATE children SET parent = 2", "table children: a value"),
            ("UPDATE plain SET value = 7", "table plain: a value"),
            ("DELETE FROM plain", "table plain: has 0 rows, and 1 were"),
            (
                "DELETE FROM row_digests WHERE name = 'plain'",
                "table plain: its digest",
            ),
        ] {
            let connection = database();
            let rows = "INSERT INTO parents VALUES (1, 'a', 0.5), (2, 'b', 1.5);
                        INSERT INTO children VALUES (x'01', 1);";
            connection.execute_batch(rows).unwrap();
            assert_eq!(damaged(&connection).unwrap(), Vec::<String>::new());
            change_without_triggers(&connection, change);
            let found = damaged(&connection).unwrap();
            assert!(
                found.len() == 1 && found[0].starts_with(expected),
                "{change}: {found:?}"
            );
            // A later change does not hide the damage.
            let later = "INSERT INTO plain VALUES (1); UPDATE parents SET weight = 9; DELETE FROM children;";
            connection.execute_batch(later).unwrap();
            assert!(!damaged(&connection).unwrap().is_empty(), "{change}");
            install(&connection).unwrap();
            assert!(damaged(&connection).unwrap().is_empty());
        }
    }

    proptest! {
        #[test]
        fn whatever_is_written_the_digests_follow(changes in prop::collection::vec((0..9_u8, 0..6_i64, 0..6_i64), 0..60)) {
            let connection = database();
            for (kind, a, b) in changes {
                let sql = match kind {
                    0 => format!("INSERT OR REPLACE INTO parents VALUES ({a}, 'n{b}', {b}.5)"),
                    1 => format!("INSERT OR IGNORE INTO children VALUES (x'0{b}', {a})"),
                    2 => format!("INSERT INTO plain VALUES ({a}), (NULL), (x'0{b}')"),
                    3 => format!("UPDATE OR REPLACE parents SET name = 'n{b}' WHERE parent = {a}"),
                    4 => format!("DELETE FROM parents WHERE parent = {a}"),
                    5 => format!("INSERT INTO parents VALUES ({a}, 'n{b}', 1) ON CONFLICT DO UPDATE SET weight = {b}"),
                    6 => format!("UPDATE children SET parent = {b} WHERE parent = {a}"),
                    7 => "DELETE FROM plain".to_owned(),
                    _ => format!("BEGIN; DELETE FROM parents WHERE parent > {a}; ROLLBACK"),
                };
                // Some statements break a constraint and are undone.
                let _ = connection.execute_batch(&sql);
                prop_assert_eq!(damaged(&connection).unwrap(), Vec::<String>::new(), "{}", sql);
            }
        }
    }
}
