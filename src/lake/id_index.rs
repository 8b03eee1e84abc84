//! The id index of a data file maps the digest of a row's id to its row number. A lookup by id then needs no scan, and
//! an import finds the rows that already exist.
//!
//! One file per data file, little-endian: 8 bytes of magic, the count, then arrays of that length in digest order: id
//! digests (16 bytes), content digests (8), versions (4), rows (4), table versions of addition and of the last change
//! (4 each), filled columns (2). Digests are uniformly distributed, so a lookup estimates the position and reads one
//! small window: about 5 µs, without a cache. Reads are verified against the data file's checksums
//! ([`super::checksums`]).
//!
//! The two table versions stay with a row when a merge copies it to another file. So the current snapshot shows what
//! changed since any version of the table, even if that version was deleted.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;

use super::Error;
use super::checked::CheckedFile;
use super::checksums::SpanChecksums;

const MAGIC: &[u8; 8] = b"TOISEID2";
const HEADER_BYTES: u64 = 16;
/// Bytes of an entry in all arrays together.
const ENTRY_BYTES: u64 = 42;
/// Digests first read on each side of the estimated position; multiplied by four until they bracket the digest.
const WINDOW_ROWS: u64 = 512;

/// Returns the name of the id index of a Parquet file.
pub fn file_name(parquet_file: &str) -> String {
    format!("{}.ids", parquet_file.trim_end_matches(".parquet"))
}

/// Returns the digest of a row's id.
pub fn digest(id: &str) -> u128 {
    let hash = blake3::hash(id.as_bytes());
    let mut first = [0u8; 16];
    first.copy_from_slice(&hash.as_bytes()[..16]);
    u128::from_be_bytes(first)
}

/// Returns the digest of a row's content, which was given to the hasher.
pub fn content_digest(content: &blake3::Hasher) -> u64 {
    let hash = content.finalize();
    let mut first = [0u8; 8];
    first.copy_from_slice(&hash.as_bytes()[..8]);
    u64::from_be_bytes(first)
}

/// The versions of a table, by sequence number, in which a row got its id and its content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RowVersions {
    /// Version that first contained a row with this id.
    pub added: u32,
    /// Version that first contained the row as it is.
    pub changed: u32,
}

/// The entry of a row in the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdEntry {
    /// Digest of the id.
    pub id: u128,
    /// Digest of the record text.
    pub content: u64,
    /// Day of the version column; `i32::MIN` when the row has none.
    pub version: i32,
    /// Row number in the file.
    pub row: u32,
    /// Versions of the table in which the row was added and last changed.
    pub versions: RowVersions,
    /// Number of columns that hold a value.
    pub filled: u16,
    /// Source rows that the row was made from. The index does not store it: 0 in entries read from a file, and in tables
    /// that do not have it.
    pub source_rows: u32,
}

/// Returns the number of source rows in a cell of the table's column; 0 if the cell is empty.
pub fn source_rows(cell: Option<i64>) -> u32 {
    cell.map_or(0, |count| u32::try_from(count).unwrap_or_default())
}

/// Writes the index of one data file. Returns its checksums once it is on disk.
pub fn write(path: &Path, entries: &mut [IdEntry]) -> Result<SpanChecksums, Error> {
    entries.sort_unstable_by_key(|entry| entry.id);
    let wrap = |error| Error::io(path, error);
    let file = File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(true)
        .open(path)
        .map_err(wrap)?;
    let mut out = BufWriter::with_capacity(1 << 20, file);
    let mut write_all = || -> std::io::Result<SpanChecksums> {
        out.write_all(MAGIC)?;
        out.write_all(&(entries.len() as u64).to_le_bytes())?;
        write_array(&mut out, entries, |entry| entry.id.to_le_bytes())?;
        write_array(&mut out, entries, |entry| entry.content.to_le_bytes())?;
        write_array(&mut out, entries, |entry| entry.version.to_le_bytes())?;
        write_array(&mut out, entries, |entry| entry.row.to_le_bytes())?;
        write_array(&mut out, entries, |entry| {
            entry.versions.added.to_le_bytes()
        })?;
        write_array(&mut out, entries, |entry| {
            entry.versions.changed.to_le_bytes()
        })?;
        write_array(&mut out, entries, |entry| entry.filled.to_le_bytes())?;
        out.flush()?;
        out.get_ref().sync_all()?;
        SpanChecksums::for_id_index(out.get_ref())
    };
    write_all().map_err(wrap)
}

/// Writes one value of each entry.
fn write_array<const N: usize>(
    out: &mut impl Write,
    entries: &[IdEntry],
    bytes: impl Fn(&IdEntry) -> [u8; N],
) -> std::io::Result<()> {
    let mut values = entries.iter().map(bytes);
    values.try_for_each(|value| out.write_all(&value))
}

/// An open id index.
#[derive(Debug)]
pub struct IdIndex {
    file: Arc<CheckedFile>,
    count: u64,
}

impl IdIndex {
    /// Opens the index of a data file that must have `rows` rows.
    pub fn open(path: &Path, rows: u64, sums: SpanChecksums) -> Result<Self, Error> {
        let file = Arc::new(CheckedFile::open(path, sums)?);
        let count = rows;
        let expected = [&MAGIC[..], &count.to_le_bytes()].concat();
        if file.length() != HEADER_BYTES + count * ENTRY_BYTES
            || file.read(0..HEADER_BYTES)? != expected
        {
            return Err(Error::damaged(path, "not the id index of its data file"));
        }
        Ok(Self { file, count })
    }

    /// Returns the open file.
    pub(super) fn file(&self) -> &Arc<CheckedFile> {
        &self.file
    }

    /// Returns the row of an id; `None` if the data file does not contain it.
    pub fn row(&self, id: u128) -> Result<Option<u32>, Error> {
        let Some(position) = self.find(id)? else {
            return Ok(None);
        };
        let row = self.read(HEADER_BYTES + self.count * 28 + position * 4, 4)?;
        let row = row[..].try_into().unwrap_or_default();
        Ok(Some(u32::from_le_bytes(row)))
    }

    fn find(&self, id: u128) -> Result<Option<u64>, Error> {
        if self.count == 0 {
            return Ok(None);
        }
        let guess = (((id >> 64) * u128::from(self.count)) >> 64) as u64;
        let mut reach = WINDOW_ROWS;
        loop {
            let first = guess.saturating_sub(reach);
            let last = (guess + reach).min(self.count);
            let window = self.read(HEADER_BYTES + first * 16, (last - first) * 16)?;
            let at = |index: usize| {
                let mut digest = [0u8; 16];
                digest.copy_from_slice(&window[index * 16..index * 16 + 16]);
                u128::from_le_bytes(digest)
            };
            let length = window.len() / 16;
            let starts_before = first == 0 || at(0) <= id;
            let ends_after = last == self.count || at(length - 1) >= id;
            if starts_before && ends_after {
                let (mut low, mut high) = (0, length);
                while low < high {
                    let middle = (low + high) / 2;
                    if at(middle) < id {
                        low = middle + 1
                    } else {
                        high = middle
                    }
                }
                return Ok((low < length && at(low) == id).then_some(first + low as u64));
            }
            reach *= 4;
        }
    }

    /// Returns all entries, in digest order. Memory: 48 bytes per row.
    pub fn entries(&self) -> Result<Vec<IdEntry>, Error> {
        let count = self.count as usize;
        let bytes = self.read(HEADER_BYTES, self.count * ENTRY_BYTES)?;
        let (ids, rest) = bytes.split_at(count * 16);
        let (contents, rest) = rest.split_at(count * 8);
        let (versions, rest) = rest.split_at(count * 4);
        let (rows, rest) = rest.split_at(count * 4);
        let (added, rest) = rest.split_at(count * 4);
        let (changed, filled) = rest.split_at(count * 4);
        let entries = ids
            .as_chunks::<16>()
            .0
            .iter()
            .zip(contents.as_chunks::<8>().0)
            .zip(versions.as_chunks::<4>().0)
            .zip(rows.as_chunks::<4>().0)
            .zip(
                added
                    .as_chunks::<4>()
                    .0
                    .iter()
                    .zip(changed.as_chunks::<4>().0),
            )
            .zip(filled.as_chunks::<2>().0)
            .map(
                |(((((id, content), version), row), (added, changed)), filled)| IdEntry {
                    id: u128::from_le_bytes(*id),
                    content: u64::from_le_bytes(*content),
                    version: i32::from_le_bytes(*version),
                    row: u32::from_le_bytes(*row),
                    versions: RowVersions {
                        added: u32::from_le_bytes(*added),
                        changed: u32::from_le_bytes(*changed),
                    },
                    filled: u16::from_le_bytes(*filled),
                    source_rows: 0,
                },
            )
            .collect();
        Ok(entries)
    }

    /// Returns the versions of all rows, by row number. Memory: 48 bytes per row while reading, then 8.
    pub fn row_versions(&self) -> Result<Vec<RowVersions>, Error> {
        let mut versions = vec![RowVersions::default(); self.count as usize];
        for entry in self.entries()? {
            if let Some(place) = versions.get_mut(entry.row as usize) {
                *place = entry.versions;
            }
        }
        Ok(versions)
    }

    /// Returns the last version of the table in which the content of a row changed; 0 if there is none. Reads 8 bytes
    /// per row.
    pub fn last_correction(&self) -> Result<u32, Error> {
        let bytes = self.read(HEADER_BYTES + self.count * 32, self.count * 8)?;
        let (added, changed) = bytes.split_at(self.count as usize * 4);
        let versions = added.as_chunks::<4>().0.iter();
        let versions = versions.zip(changed.as_chunks::<4>().0);
        let corrections = versions.filter_map(|(added, changed)| {
            let (added, changed) = (u32::from_le_bytes(*added), u32::from_le_bytes(*changed));
            (changed > added).then_some(changed)
        });
        Ok(corrections.max().unwrap_or(0))
    }

    fn read(&self, offset: u64, length: u64) -> Result<Bytes, Error> {
        self.file.read(offset..offset + length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_the_indexed_ids_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("part.ids");
        let mut entries: Vec<IdEntry> = (0..20_000u32)
            .map(|row| IdEntry {
                id: digest(&format!("id-{row}")),
                content: u64::from(row) * 3,
                version: row as i32,
                row,
                versions: RowVersions {
                    added: row / 2,
                    changed: row,
                },
                filled: 7,
                source_rows: 0,
            })
            .collect();
        let sums = write(&path, &mut entries).unwrap();
        let index = IdIndex::open(&path, 20_000, sums.clone()).unwrap();
        for row in (0..20_000u32).step_by(37) {
            assert_eq!(index.row(digest(&format!("id-{row}"))).unwrap(), Some(row));
        }
        assert_eq!(index.row(digest("another")).unwrap(), None);
        assert_eq!(index.row(0).unwrap(), None);
        assert_eq!(index.row(u128::MAX).unwrap(), None);
        assert_eq!(index.entries().unwrap(), entries);
        let versions = index.row_versions().unwrap();
        assert_eq!(versions[7].added, 3);
        assert_eq!(versions[7].changed, 7);
        assert_eq!(index.last_correction().unwrap(), 19_999);
        assert!(IdIndex::open(&path, 19_999, sums).is_err());
    }
}
