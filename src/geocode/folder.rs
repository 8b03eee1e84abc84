//! Builds the address index from the lake's table `ban` and publishes it in `index/ban/` of the data folder.
//!
//! `current.json` lists the segments of an edition by department, with the length and the digest of each. Segments are
//! immutable and carry their digest in their name. They are written and flushed before the new `current.json` replaces
//! the old one by rename, so that a reader sees one edition or the other, even after a crash. Files that are no longer
//! listed are deleted afterwards; a server that has them mapped continues to read them.
//!
//! The index is derived, so [`rebuild`] also replaces what is damaged: segments that differ from their digest, and a
//! list that cannot be read.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{Float64Type, Int32Type};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::index::builder::{AddressRow, SegmentBuilder};
use super::index::layout::FORMAT;
use super::index::segment::{self, Segment};
use crate::search::Geocoder;
use crate::table;
use toise_base::durable;
use toise_lake::data_file::DataFile;
use toise_lake::{self as lake, Lake};

/// Name of the file that lists the segments.
const CURRENT: &str = "current.json";
/// End of the names of segments.
const SEGMENT: &str = ".segment";
/// Hexadecimal digits of a digest in a file's name.
const NAME_DIGITS: usize = 16;
/// Columns that segments are built from.
const COLUMNS: [&str; 11] = [
    "id",
    "number",
    "suffix",
    "name",
    "postal_code",
    "insee_code",
    "city",
    "former_insee_code",
    "former_city",
    "lat",
    "lon",
];

/// Errors of building or reading the index.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file of the index cannot be read or written.
    #[error("{path}: {source}")]
    Io {
        /// Path of the file.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// The list of segments cannot be read.
    #[error("{path}: {reason}")]
    Damaged {
        /// Path of the file.
        path: PathBuf,
        /// The fault, for the message.
        reason: String,
    },
    /// A segment cannot be read.
    #[error(transparent)]
    Segment(#[from] segment::Error),
    /// The table of addresses cannot be read.
    #[error(transparent)]
    Lake(#[from] lake::Error),
}

/// Lists the segments of an edition.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Number of the format.
    pub format: u8,
    /// Sequence number of the table's snapshot that the segments were built from.
    pub snapshot: u64,
    /// Segment of each department.
    pub segments: BTreeMap<String, SegmentEntry>,
    /// Digest of all of the above: BLAKE3 of the compact JSON, hexadecimal.
    #[serde(default)]
    pub checksum: String,
}

impl Manifest {
    fn digest(&self) -> String {
        let undigested = Self {
            checksum: String::new(),
            ..self.clone()
        };
        // Numbers, strings and maps of strings can always be written as JSON.
        let text = serde_json::to_vec(&undigested).unwrap_or_default();
        blake3::hash(&text).to_hex().to_string()
    }
}

/// One segment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SegmentEntry {
    /// File name.
    pub file: String,
    /// Length, bytes.
    pub bytes: u64,
    /// BLAKE3 of the file, hexadecimal.
    pub checksum: String,
    /// Digest of the row groups that it was built from: BLAKE3 of their files' checksums and numbers, hexadecimal.
    pub rows: String,
    /// Streets and named places.
    pub streets: u64,
    /// House numbers.
    pub numbers: u64,
}

/// Returns the folder of the index in a data folder.
pub fn folder(data: &Path) -> PathBuf {
    data.join("index").join("ban")
}

/// Returns the path of the file that lists the segments of the current edition.
pub fn current(data: &Path) -> PathBuf {
    folder(data).join(CURRENT)
}

/// Reads the list of segments of the current edition; empty before the first import.
///
/// # Errors
/// The list cannot be read.
pub fn manifest(data: &Path) -> Result<Manifest, Error> {
    let path = current(data);
    let text = match fs::read(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Manifest::default()),
        Err(source) => return Err(Error::Io { path, source }),
    };
    let damaged = |reason| Error::Damaged {
        path: path.clone(),
        reason,
    };
    let manifest: Manifest = serde_json::from_slice(&text)
        .map_err(|error| damaged(format!("not a list of segments: {error}")))?;
    if manifest.checksum != manifest.digest() {
        return Err(damaged("it does not match its checksum".to_owned()));
    }
    Ok(manifest)
}

/// Opens the current edition. Segments are memory-mapped; only their communes and postal codes are read now.
///
/// # Errors
/// The list cannot be read, or a segment is missing, truncated or of another format.
pub fn open(data: &Path) -> Result<Geocoder, Error> {
    let manifest = manifest(data)?;
    let folder = folder(data);
    let mut segments = Vec::with_capacity(manifest.segments.len());
    for entry in manifest.segments.values() {
        segments.push(Arc::new(Segment::open(&folder.join(&entry.file))?));
    }
    Ok(Geocoder::new(segments))
}

/// Opens the segments of the current edition that can be opened, and returns the names of the files that cannot.
pub fn open_intact(data: &Path) -> (Geocoder, Vec<String>) {
    let Ok(manifest) = manifest(data) else {
        return (Geocoder::new(Vec::new()), vec![CURRENT.to_owned()]);
    };
    let folder = folder(data);
    let open_all = |entries: Vec<&SegmentEntry>| {
        let (mut segments, mut damaged) = (Vec::new(), Vec::new());
        for entry in entries {
            match Segment::open(&folder.join(&entry.file)) {
                Ok(segment) => segments.push(Arc::new(segment)),
                Err(_) => damaged.push(entry.file.clone()),
            }
        }
        (Geocoder::new(segments), damaged)
    };
    let entries = manifest.segments.values();
    // Reading damaged bytes may panic. In that case, opens only the files that pass verification.
    catch_unwind(|| open_all(entries.clone().collect())).unwrap_or_else(|_| {
        let (intact, damaged): (Vec<_>, Vec<_>) =
            entries.partition(|entry| is_intact(&folder, entry));
        let (geocoder, missing) = open_all(intact);
        let damaged = damaged.into_iter().map(|entry| entry.file.clone());
        (geocoder, damaged.chain(missing).collect())
    })
}

/// Checks the list of segments and every segment of the current edition against their digests, and returns the names of
/// files that differ or are missing.
pub fn verify(data: &Path) -> Vec<String> {
    let folder = folder(data);
    let manifest = match manifest(data) {
        Ok(manifest) if !manifest.segments.is_empty() || !has_segments(&folder) => manifest,
        _ => return vec![CURRENT.to_owned()],
    };
    let entries = manifest.segments.into_values();
    let damaged = entries.filter(|entry| !is_intact(&folder, entry));
    damaged.map(|entry| entry.file).collect()
}

fn has_segments(folder: &Path) -> bool {
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names = files.map(|file| file.file_name());
    names.any(|name| name.to_string_lossy().ends_with(SEGMENT))
}

/// Returns whether a segment's file is unchanged since it was written.
fn is_intact(folder: &Path, entry: &SegmentEntry) -> bool {
    let digest = || {
        let mut file = File::open(folder.join(&entry.file))?;
        let mut hasher = blake3::Hasher::new();
        io::copy(&mut file, &mut hasher)?;
        Ok::<_, io::Error>(hasher.finalize().to_hex().to_string())
    };
    digest().is_ok_and(|digest| digest == entry.checksum)
}

/// Updates the index to the table's current snapshot: rebuilds damaged segments and those of departments whose rows
/// have moved to other row groups since the last build, then publishes the edition. Does nothing if there are neither
/// addresses nor an index. `progress` is called with the number of rows read.
///
/// # Errors
/// The table cannot be read or is damaged, or files cannot be written. The index then stays unchanged.
pub fn rebuild(data: &Path, progress: &(dyn Fn(u64) + Sync)) -> Result<Manifest, Error> {
    let schema = table::schema();
    let folder = folder(data);
    let lake = match Lake::open_existing(data) {
        Err(lake::Error::Io { source, .. })
            if source.kind() == io::ErrorKind::NotFound && !folder.exists() =>
        {
            return Ok(Manifest::default());
        }
        opened => opened?,
    };
    if !lake.folder(schema).exists() && !folder.exists() {
        return Ok(Manifest::default());
    }
    let _lock = lock(&folder)?;
    let snapshot = lake.snapshot(schema)?;
    let files = snapshot.parts.iter();
    let files: Vec<DataFile> = files
        .map(|entry| DataFile::open(&lake.folder(schema), entry, schema))
        .collect::<Result<_, _>>()?;
    let groups = groups_by_department(&files)?;
    let former = manifest(data).unwrap_or_default();
    let mut segments = if former.format == FORMAT {
        former.segments
    } else {
        BTreeMap::new()
    };
    segments.retain(|department, entry| {
        let groups = groups.get(department);
        groups.is_some_and(|groups| entry.rows == rows_digest(&files, groups))
            && is_intact(&folder, entry)
    });
    let due: Vec<_> = groups
        .iter()
        .filter(|(department, _)| !segments.contains_key(*department))
        .collect();
    let built: Vec<(String, SegmentEntry)> = due
        .into_par_iter()
        .map(|(department, groups)| {
            let builder = read_department(&files, groups, department, progress)?;
            let rows = rows_digest(&files, groups);
            let entry = write_segment(&folder, department, builder, rows)?;
            Ok((department.clone(), entry))
        })
        .collect::<Result<_, Error>>()?;
    segments.extend(built);
    let mut manifest = Manifest {
        format: FORMAT,
        snapshot: snapshot.sequence,
        segments,
        checksum: String::new(),
    };
    manifest.checksum = manifest.digest();
    publish(&folder, &manifest)?;
    remove_unnamed(&folder, &manifest);
    Ok(manifest)
}

/// Waits until no other process builds the index. The lock is held until the returned file is dropped.
fn lock(folder: &Path) -> Result<File, Error> {
    let path = folder.join("lock");
    let locked = || {
        fs::create_dir_all(folder)?;
        let file = File::create(&path)?;
        file.lock()?;
        Ok(file)
    };
    locked().map_err(|source| Error::Io {
        path: path.clone(),
        source,
    })
}

/// Returns the files and row groups that hold the rows of each department.
fn groups_by_department(
    files: &[DataFile],
) -> Result<BTreeMap<String, Vec<(usize, usize)>>, Error> {
    let mut groups: BTreeMap<String, Vec<(usize, usize)>> = BTreeMap::new();
    for (number, file) in files.iter().enumerate() {
        for group in 0..file.metadata().num_row_groups() {
            let codes = column(file, group, "departement_code")?;
            let codes = codes.as_dictionary::<Int32Type>();
            let names = codes.values().as_string::<i32>();
            let used: BTreeSet<i32> = codes.keys().iter().flatten().collect();
            for code in used {
                let of_department = groups
                    .entry(names.value(code as usize).to_owned())
                    .or_default();
                of_department.push((number, group));
            }
        }
    }
    Ok(groups)
}

/// Returns a digest of the row groups that hold the rows of a department.
fn rows_digest(files: &[DataFile], groups: &[(usize, usize)]) -> String {
    let mut digest = blake3::Hasher::new();
    for (file, group) in groups {
        digest.update(files[*file].entry().sums.as_bytes());
        digest.update(&(*group as u64).to_le_bytes());
    }
    digest.finalize().to_hex().to_string()
}

fn column(file: &DataFile, group: usize, name: &str) -> Result<ArrayRef, lake::Error> {
    let found = table::schema().column(name);
    let (index, _) =
        found.ok_or_else(|| lake::Error::damaged(file.path(), format!("no column {name}")))?;
    file.read_column(group, index)
}

fn read_department(
    files: &[DataFile],
    groups: &[(usize, usize)],
    department: &str,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<SegmentBuilder, Error> {
    let mut builder = SegmentBuilder::default();
    for (number, group) in groups {
        let file = &files[*number];
        let codes = column(file, *group, "departement_code")?;
        let columns = COLUMNS.iter().map(|name| column(file, *group, name));
        let columns: Vec<ArrayRef> = columns.collect::<Result<_, _>>()?;
        let mut read = 0;
        for row in 0..codes.len() {
            if text(&codes, row) == department {
                builder.push(&address(&columns, row));
                read += 1;
            }
        }
        progress(read);
    }
    builder.merge_copies();
    Ok(builder)
}

fn address(columns: &[ArrayRef], row: usize) -> AddressRow {
    let text = |column: usize| text(&columns[column], row).to_owned();
    let degrees = |column: usize| columns[column].as_primitive::<Float64Type>().value(row);
    let numbers = columns[1].as_primitive::<Int32Type>();
    AddressRow {
        id: text(0),
        number: numbers.is_valid(row).then(|| numbers.value(row) as u32),
        suffix: text(2),
        name: text(3),
        postal_code: text(4),
        insee_code: text(5),
        commune: text(6),
        former_code: text(7),
        former_name: text(8),
        lat: degrees(9),
        lon: degrees(10),
    }
}

/// Returns a string or category; empty if it is null.
fn text(column: &ArrayRef, row: usize) -> &str {
    if let Some(values) = column.as_dictionary_opt::<Int32Type>() {
        let code = values.key(row);
        return code.map_or("", |code| values.values().as_string::<i32>().value(code));
    }
    let values = column.as_string::<i32>();
    if values.is_valid(row) {
        values.value(row)
    } else {
        ""
    }
}

fn write_segment(
    folder: &Path,
    department: &str,
    builder: SegmentBuilder,
    rows: String,
) -> Result<SegmentEntry, Error> {
    let draft = folder.join(format!("{department}.draft"));
    let failed = |source| Error::Io {
        path: draft.clone(),
        source,
    };
    let (streets, numbers) = (builder.streets() as u64, builder.numbers());
    let mut bytes = Vec::new();
    builder.write(department, &mut bytes).map_err(failed)?;
    let checksum = blake3::hash(&bytes).to_hex().to_string();
    let name = format!("{department}-{}{SEGMENT}", &checksum[..NAME_DIGITS]);
    let mut file = BufWriter::new(File::create(&draft).map_err(failed)?);
    file.write_all(&bytes).map_err(failed)?;
    let file = file
        .into_inner()
        .map_err(|error| failed(error.into_error()))?;
    file.sync_all().map_err(failed)?;
    fs::rename(&draft, folder.join(&name)).map_err(failed)?;
    Ok(SegmentEntry {
        file: name,
        bytes: bytes.len() as u64,
        checksum,
        rows,
        streets,
        numbers,
    })
}

fn publish(folder: &Path, manifest: &Manifest) -> Result<(), Error> {
    let path = folder.join(CURRENT);
    let text = serde_json::to_vec_pretty(manifest).map_err(std::io::Error::from);
    // The segments' names must be on disk before the list that refers to them.
    text.and_then(|text| {
        durable::sync_folder(folder)?;
        durable::replace(&path, &text)
    })
    .map_err(|source| Error::Io { path, source })
}

/// Deletes segments of previous editions. A file that cannot be deleted is left for the next rebuild.
fn remove_unnamed(folder: &Path, manifest: &Manifest) {
    let named: BTreeSet<&str> = manifest
        .segments
        .values()
        .map(|entry| entry.file.as_str())
        .collect();
    let Ok(files) = fs::read_dir(folder) else {
        return;
    };
    for file in files.flatten() {
        let name = file.file_name().to_string_lossy().into_owned();
        let is_ours = name.ends_with(SEGMENT) || name.ends_with(".draft");
        if is_ours && !named.contains(name.as_str()) {
            let _ = fs::remove_file(file.path());
        }
    }
}
