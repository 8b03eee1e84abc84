//! Copies rows from the store of a writer to those of its replicas: accounts, keys (digests, never secrets), properties
//! and adverts with their records.
//!
//! A table is cut into blocks. A block holds the rows of a range of keys in a canonical form, so that equal rows give
//! equal bytes. Whether a block begins at a key depends on that key alone, so adding, removing or changing a row alters
//! only its own block, and a publication sends only that block again. Blocks hold 256 rows on average, about 300 KiB of
//! records: larger blocks would need fewer requests, smaller ones fewer bytes per change. Called by the `publish`
//! crate; reading all blocks costs one pass over the tables.

mod codec;

use std::path::PathBuf;

use codec::{Reader, append_length, append_text, append_value};
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Transaction};
use serde::{Deserialize, Serialize};

use super::{Error, Result, Store, files, migrations};
use toise_base::splitmix;

/// First bytes of every block.
const MAGIC: &[u8] = b"toise rows 1\n";
/// A block begins at keys whose hash ends in this many zero bits: one key in 256.
const BOUNDARY_BITS: u32 = 8;
/// Maximum rows of a block.
const ROWS_MAX: u64 = 2_048;
/// Maximum length of a block, bytes; a limit for blocks with long rows.
const BYTES_MAX: usize = 16 << 20;

/// A table whose rows are replicated.
struct ReplicatedTable {
    name: &'static str,
    columns: &'static [&'static str],
    keyed: Keyed,
}

/// The sort key of a table's rows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keyed {
    /// The first column, a whole number.
    ByNumber,
    /// The first column, a text; such tables are small and form one block.
    ByText,
}

/// The replicated tables, each after the tables that it refers to.
#[rustfmt::skip]
const TABLES: [ReplicatedTable; 9] = [
    table("accounts", Keyed::ByText, &["account_id", "name", "created_at_ms"]),
    table("keys", Keyed::ByText, &[
        "key_id", "account_id", "kind", "sha256", "grants", "created_at_ms", "expires_at_ms", "revoked_at_ms", "name",
        "rate_per_s", "monthly_quota", "max_concurrent_estimates", "sql_limits", "prefix", "allowed_from",
    ]),
    table("areas", Keyed::ByText, &["account_id", "name", "geometry", "created_at_ms", "updated_at_ms"]),
    table("letterheads", Keyed::ByText, &["account_id", "text", "logo", "updated_at_ms"]),
    table("rent_maps", Keyed::ByText, &[
        "kind", "year", "licence", "source", "communes", "imported_at_ms", "document",
    ]),
    table("records", Keyed::ByNumber, &["record", "document"]),
    table("properties", Keyed::ByNumber, &["property", "property_id", "sequence", "merged_into", "record"]),
    table("adverts", Keyed::ByNumber, &[
        "advert", "advert_id", "url_digest", "property", "sequence", "observed_at_ms", "first_seen_at_ms",
        "modified_at_ms", "published_at_ms", "online_at_ms", "offline_at_ms", "initial_price", "previous_price",
        "derived", "anomalies", "document",
    ]),
    table("advert_events", Keyed::ByNumber, &[
        "event", "advert", "type", "occurred_at_ms", "previous_price", "previous_is_online",
    ]),
];

const fn table(
    name: &'static str,
    keyed: Keyed,
    columns: &'static [&'static str],
) -> ReplicatedTable {
    ReplicatedTable {
        name,
        columns,
        keyed,
    }
}

/// The rows of a range of keys of one table.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RowBlock {
    /// Name of the table.
    pub table: String,
    /// First and last key in it; `None` for a block that is the whole table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keys: Option<(i64, i64)>,
    /// Number of rows.
    pub rows: u64,
}

/// The publication that a replica's rows come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplicatedRows {
    /// Number of the publication.
    pub number: u64,
    /// The blocks, in the form in which they were passed to [`Store::exchange_blocks`].
    pub blocks: String,
}

/// The change of a replica's rows from one publication to the next.
#[derive(Debug)]
pub struct BlockExchange {
    /// The next publication, and its blocks in any form that the caller can read again.
    pub next: ReplicatedRows,
    /// Blocks whose rows are removed.
    pub removed: Vec<RowBlock>,
    /// Files with the blocks whose rows are added; their bytes were verified.
    pub added: Vec<PathBuf>,
}

/// Returns the version of the store's tables: rows are replicated only between stores of the same version.
pub fn schema_version() -> usize {
    migrations::STORE.len()
}

impl Store {
    /// Reads all replicated rows in one snapshot and passes each block with its bytes to `take`. Blocks during a pass
    /// over the tables; the write-ahead log grows during that time.
    ///
    /// # Errors
    /// The store cannot be read; the error of `take`.
    pub fn read_blocks<E: From<Error>>(
        &self,
        mut take: impl FnMut(RowBlock, &[u8]) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        self.read_snapshot_with(|connection| {
            for table in &TABLES {
                read_table(connection, table, &mut take)?;
            }
            Ok(())
        })
    }

    /// Returns a value that changes whenever replicated rows do, except when records were only moved. Costs a few reads
    /// by index. Blocks.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn replicated_stamp(&self) -> Result<[i64; 5]> {
        self.read(|connection| {
            connection.query_row(
                "SELECT (SELECT count FROM key_changes), (SELECT count(*) FROM accounts),
                        (SELECT coalesce(max(sequence), 0) FROM properties),
                        (SELECT coalesce(max(sequence), 0) FROM adverts),
                        (SELECT coalesce(sum(imported_at_ms), 0) FROM rent_maps)",
                [],
                |row| {
                    Ok([
                        row.get(0)?,
                        row.get(1)?,
                        row.get(2)?,
                        row.get(3)?,
                        row.get(4)?,
                    ])
                },
            )
        })
    }

    /// Returns the publication that the rows of a replica's store come from; `None` in any other store. Blocks.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn replicated_rows(&self) -> Result<Option<ReplicatedRows>> {
        self.read(|connection| {
            let read = connection.query_row("SELECT number, blocks FROM replica", [], |row| {
                Ok(ReplicatedRows {
                    number: row.get::<_, i64>(0)?.cast_unsigned(),
                    blocks: row.get(1)?,
                })
            });
            read.optional()
        })
    }

    /// Replaces the rows of a replica's store with those of the next publication, in one transaction. Returns once they
    /// are on disk. Blocks.
    ///
    /// # Errors
    /// A file is not a block of a table known here; the store cannot be written. In either case, nothing is changed.
    pub fn exchange_blocks(&self, exchange: BlockExchange) -> Result<()> {
        self.write_with(move |transaction| {
            // Rows refer to rows that are inserted later in the transaction.
            transaction.pragma_update(None, "defer_foreign_keys", true)?;
            for block in exchange.removed.iter().rev() {
                remove_rows(transaction, block)?;
            }
            for path in &exchange.added {
                let bytes = files::read_block(path)?;
                insert_rows(transaction, &bytes)?.ok_or_else(|| Error::NotABlock(path.clone()))?;
            }
            transaction.execute(
                "INSERT INTO replica VALUES (1, ?1, ?2)
                 ON CONFLICT DO UPDATE SET number = excluded.number, blocks = excluded.blocks",
                (exchange.next.number.cast_signed(), exchange.next.blocks),
            )?;
            Ok(())
        })
    }
}

/// Returns whether a block begins at a key, regardless of its neighbours.
fn begins_block(key: i64) -> bool {
    splitmix::mix(key.cast_unsigned()).trailing_zeros() >= BOUNDARY_BITS
}

/// A block that is being filled with rows.
struct BlockWriter<'t> {
    table: &'t ReplicatedTable,
    keys: Option<(i64, i64)>,
    rows: u64,
    bytes: Vec<u8>,
}

impl<'t> BlockWriter<'t> {
    fn new(table: &'t ReplicatedTable) -> Self {
        let mut writer = Self {
            table,
            keys: None,
            rows: 0,
            bytes: Vec::new(),
        };
        writer.begin();
        writer
    }

    fn begin(&mut self) {
        (self.keys, self.rows) = (None, 0);
        self.bytes.clear();
        self.bytes.extend_from_slice(MAGIC);
        append_text(&mut self.bytes, self.table.name);
        append_length(&mut self.bytes, self.table.columns.len());
        for column in self.table.columns {
            append_text(&mut self.bytes, column);
        }
    }

    /// Returns whether the block ends before a row with this key.
    fn ends_before(&self, key: i64) -> bool {
        self.rows > 0
            && (begins_block(key) || self.rows >= ROWS_MAX || self.bytes.len() >= BYTES_MAX)
    }

    fn pass_on<E>(
        &mut self,
        take: &mut impl FnMut(RowBlock, &[u8]) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let block = RowBlock {
            table: self.table.name.to_owned(),
            keys: self.keys,
            rows: self.rows,
        };
        take(block, &self.bytes)?;
        self.begin();
        Ok(())
    }
}

fn read_table<E: From<Error>>(
    connection: &Connection,
    table: &ReplicatedTable,
    take: &mut impl FnMut(RowBlock, &[u8]) -> std::result::Result<(), E>,
) -> std::result::Result<(), E> {
    let columns = table.columns.join(", ");
    let sql = format!(
        "SELECT {columns} FROM {} ORDER BY {}",
        table.name, table.columns[0]
    );
    let mut statement = connection.prepare(&sql).map_err(Error::from)?;
    let mut rows = statement.query([]).map_err(Error::from)?;
    let mut block = BlockWriter::new(table);
    while let Some(row) = rows.next().map_err(Error::from)? {
        if table.keyed == Keyed::ByNumber {
            let key: i64 = row.get(0).map_err(Error::from)?;
            if block.ends_before(key) {
                block.pass_on(take)?;
            }
            let first = block.keys.map_or(key, |(first, _)| first);
            block.keys = Some((first, key));
        }
        for column in 0..table.columns.len() {
            append_value(&mut block.bytes, row.get_ref(column).map_err(Error::from)?);
        }
        block.rows += 1;
    }
    match block.rows {
        0 => Ok(()),
        _ => block.pass_on(take),
    }
}

/// Returns the table with a name, if its rows are replicated.
fn table_named(name: &str) -> Option<&'static ReplicatedTable> {
    TABLES.iter().find(|table| table.name == name)
}

fn remove_rows(transaction: &Transaction<'_>, block: &RowBlock) -> rusqlite::Result<()> {
    let Some(table) = table_named(&block.table) else {
        return Ok(());
    };
    let (name, key) = (table.name, table.columns[0]);
    match block.keys {
        Some(keys) => {
            let sql = format!("DELETE FROM {name} WHERE {key} BETWEEN ?1 AND ?2");
            transaction.prepare_cached(&sql)?.execute(keys)?;
        }
        None => {
            transaction.execute(&format!("DELETE FROM {name}"), [])?;
        }
    }
    Ok(())
}

/// Inserts the rows of a block. Returns `None` if the bytes are not a block of a table known here.
fn insert_rows(transaction: &Transaction<'_>, bytes: &[u8]) -> rusqlite::Result<Option<()>> {
    let mut bytes = Reader(bytes);
    let Some(table) = bytes.table() else {
        return Ok(None);
    };
    let places: Vec<String> = (1..=table.columns.len())
        .map(|place| format!("?{place}"))
        .collect();
    let (columns, places) = (table.columns.join(", "), places.join(", "));
    let sql = format!("INSERT INTO {} ({columns}) VALUES ({places})", table.name);
    let mut statement = transaction.prepare_cached(&sql)?;
    while !bytes.0.is_empty() {
        let values = (0..table.columns.len()).map(|_| bytes.value());
        let Some(values) = values.collect::<Option<Vec<Value>>>() else {
            return Ok(None);
        };
        statement.execute(rusqlite::params_from_iter(values))?;
    }
    Ok(Some(()))
}

#[cfg(test)]
mod tests;
