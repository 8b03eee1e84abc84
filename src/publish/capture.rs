//! Captures one state of a data folder: its files by hard links in a stage, then the rows of its store.
//!
//! Some files name others: a snapshot, `current.json`, the list of a text index. The named files are linked between two
//! reads of the naming file; if it is unchanged, all of them were present. Writers delete files only after they have
//! replaced the file that names them. The store is read last, so that it has all rows that tables and indexes show.
//! Backups use the same order. A stage shares its files with the data folder and takes no space.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;

use super::digests::Digests;
use super::manifest::{Content, PublishedBlock, PublishedFile};
use super::{Error, Result};
use toise_base::missing::optional;
use toise_base::staging::{self, Stage};
use toise_lake::check::Damage;
use toise_lake::checksums::{DataFileChecksums, SpanChecksums};
use toise_lake::snapshot::{self, DataFileEntry, Snapshot};
use toise_store::Store;
use toise_store::exchange::RowBlock;

/// Folder of the tables.
pub(crate) const LAKE: &str = "lake";
/// Folder of the models of the estimator, and of the reports on them.
pub(crate) const MODELS: &str = "models";
const REPORT_CARDS: &str = "models/reports";
/// Folder of the index of addresses.
pub(crate) const ADDRESSES: &str = "index/ban";
/// Folder of the text indexes of properties, one folder each.
pub(crate) const TEXTS: &str = "index/properties";
/// File that names the current model, or the current segments of addresses.
pub(crate) const CURRENT: &str = "current.json";
/// Files of a text index that name its segments.
const TEXT_LISTS: [&str; 2] = ["meta.json", ".managed.json"];
/// Folder of layers, one folder each.
pub(crate) const LAYERS: &str = "layers";
/// File that describes a layer and names its data file.
pub(crate) const LAYER_METADATA: &str = "layer.json";
/// Folders that are published completely: contours, rules of portals, layers.
const COMPANIONS: [&str; 3] = ["reference", "portals", LAYERS];
/// Folders of models, indexes and layers, which have their own checksums.
const DERIVED: [&str; 4] = [MODELS, ADDRESSES, TEXTS, LAYERS];
/// Lock file in the data folder that a running publication holds.
const LOCK_FILE: &str = "publish.lock";
/// Prefix of the names of stages.
pub const STAGE_PREFIX: &str = ".publish-";
/// Maximum attempts for something that is replaced while its files are linked.
const ATTEMPTS: usize = 20;
/// Pause between two attempts.
const BETWEEN_ATTEMPTS: Duration = Duration::from_millis(20);
/// Bytes read at once.
const BUFFER_BYTES: u64 = 4 << 20;
/// Folder in the stage of the blocks of rows.
const ROWS: &str = ".rows";

/// One state of a data folder. Dropping it deletes the stage.
#[derive(Debug)]
pub struct Capture {
    stage: Stage,
    /// The files, by path.
    pub files: Vec<PublishedFile>,
    /// The rows of the store.
    pub rows: Vec<PublishedBlock>,
    _lock: File,
}

/// A data file in the stage and the checksums of its bytes.
struct CheckedPart {
    folder: PathBuf,
    entry: DataFileEntry,
}

impl Capture {
    /// Captures a data folder while other processes read and write it. `is_known` returns whether content was published
    /// before and does not have to be written to the stage. Verifies files that were not published before against their
    /// checksums; `verify` returns the damage in the models and indexes of a folder. Blocks.
    ///
    /// # Errors
    /// Another publication is running; there is no data; a file is damaged or cannot be read.
    pub fn take(
        data: &Path,
        is_known: &dyn Fn(&Content) -> bool,
        verify: &dyn Fn(&Path) -> Vec<Damage>,
        progress: &dyn Fn(u64),
    ) -> Result<Self> {
        if !Store::exists(data) && !data.join(LAKE).exists() {
            return Err(Error::NoData(data.to_owned()));
        }
        let lock = staging::lock(data, LOCK_FILE)?;
        let stage = Stage::create(STAGE_PREFIX, data)?;
        let root = stage.path();
        let parts = link_tables(data, root)?;
        link_named(data, root, MODELS, model_files)?;
        link_named(data, root, ADDRESSES, segment_files)?;
        link_texts(data, root)?;
        for folder in COMPANIONS.into_iter().chain([REPORT_CARDS]) {
            link_tree(&data.join(folder), &root.join(folder))?;
        }
        let mut digests = Digests::open(data);
        let mut files = Vec::new();
        let mut is_derived_new = false;
        list(root, "", &mut |path, file| {
            let blake3 = digests.of(&path, file, || {
                is_derived_new |= DERIVED.iter().any(|folder| path.starts_with(folder));
                let part = parts.iter().find(|part| part.is_of(file));
                part.map_or_else(
                    || digest_plain(file, progress),
                    |part| part.digest(file, progress),
                )
            })?;
            let bytes = fs::metadata(file).map_err(Error::io(file))?.len();
            let content = Content { bytes, blake3 };
            files.push(PublishedFile { path, content });
            Ok(())
        })?;
        let damaged = if is_derived_new {
            verify(root)
        } else {
            Vec::new()
        };
        if let Some(Damage { file, reason }) = damaged.into_iter().next() {
            return Err(Error::Damaged {
                path: data.join(file.trim_start_matches(&format!("{}/", root.display()))),
                reason,
            });
        }
        digests.save()?;
        let rows = match Store::open_existing(data)? {
            Some(store) => read_rows(&store, &root.join(ROWS), is_known)?,
            None => Vec::new(),
        };
        Ok(Self {
            stage,
            files,
            rows,
            _lock: lock,
        })
    }

    /// Returns the file in the stage that holds this content.
    pub fn file_of(&self, content: &Content) -> PathBuf {
        let root = self.stage.path();
        let file = self.files.iter().find(|file| file.content == *content);
        match file {
            Some(file) => root.join(&file.path),
            None => root.join(ROWS).join(&content.blake3),
        }
    }
}

/// Links the files of every table's current snapshot. Returns the data files.
fn link_tables(data: &Path, root: &Path) -> Result<Vec<CheckedPart>> {
    let lake = data.join(LAKE);
    let mut parts = Vec::new();
    for table in entries(&lake)? {
        let from = lake.join(&table);
        // Folders without an underscore are derived from these for other programs.
        if !table.starts_with('_') || !from.is_dir() {
            continue;
        }
        let folder = root.join(LAKE).join(&table);
        let linked = settled(&from, &folder, snapshot::FILE_NAME, |text| {
            write(&folder.join(snapshot::FILE_NAME), text)?;
            let snapshot = Snapshot::load(&folder)?;
            let files = snapshot.parts.iter().flat_map(DataFileEntry::files);
            link_all(&from, &folder, files)?;
            Ok(snapshot)
        })?;
        let entries = linked.into_iter().flat_map(|snapshot| snapshot.parts);
        parts.extend(entries.map(|entry| CheckedPart {
            folder: folder.clone(),
            entry,
        }));
    }
    Ok(parts)
}

/// Links `current.json` of a folder and the files that it names.
fn link_named(
    data: &Path,
    root: &Path,
    folder: &str,
    named: fn(&Path, &[u8]) -> Option<Vec<String>>,
) -> Result<()> {
    let (from, to) = (data.join(folder), root.join(folder));
    settled(&from, &to, CURRENT, |text| {
        let files = named(&from, text).ok_or_else(|| Error::Damaged {
            path: from.join(CURRENT),
            reason: "it names nothing that exists".into(),
        })?;
        link_all(&from, &to, files)?;
        write(&to.join(CURRENT), text)
    })?;
    Ok(())
}

/// Returns the files of the current model, relative to the folder of models.
fn model_files(folder: &Path, text: &[u8]) -> Option<Vec<String>> {
    #[derive(Deserialize)]
    struct CurrentModel {
        version: String,
    }
    let version = serde_json::from_slice::<CurrentModel>(text).ok()?.version;
    let names = entries(&folder.join(&version)).ok()?;
    let files = names.iter().map(|name| format!("{version}/{name}"));
    Some(files.collect::<Vec<_>>()).filter(|files| !files.is_empty())
}

/// Returns the segments of the current edition of addresses.
fn segment_files(_folder: &Path, text: &[u8]) -> Option<Vec<String>> {
    #[derive(Deserialize)]
    struct Edition {
        segments: std::collections::BTreeMap<String, SegmentFile>,
    }
    #[derive(Deserialize)]
    struct SegmentFile {
        file: String,
    }
    let edition = serde_json::from_slice::<Edition>(text).ok()?;
    Some(edition.segments.into_values().map(|it| it.file).collect())
}

/// Links the current text index: its lists and the files of the segments that they name.
fn link_texts(data: &Path, root: &Path) -> Result<()> {
    let folder = data.join(TEXTS);
    let numbers = entries(&folder)?
        .into_iter()
        .filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()));
    let Some(current) = numbers.max() else {
        return Ok(());
    };
    let (from, to) = (folder.join(&current), root.join(TEXTS).join(&current));
    settled(&from, &to, TEXT_LISTS[0], |text| {
        let segments = text_segments(text).ok_or_else(|| Error::Damaged {
            path: from.join(TEXT_LISTS[0]),
            reason: "it is not a list of segments".into(),
        })?;
        let is_named = |name: &String| {
            let stem = name.split('.').next().unwrap_or_default();
            segments.contains(stem)
        };
        link_all(&from, &to, entries(&from)?.into_iter().filter(is_named))?;
        // The list of all files is replaced together with the list of segments; files that it names beyond the segments
        // are not captured.
        let managed = fs::read(from.join(TEXT_LISTS[1])).unwrap_or_default();
        if !managed.is_empty() {
            write(&to.join(TEXT_LISTS[1]), &managed)?;
        }
        write(&to.join(TEXT_LISTS[0]), text)
    })?;
    Ok(())
}

/// Returns the stems of the files of a text index's segments: their identifiers without hyphens.
fn text_segments(text: &[u8]) -> Option<HashSet<String>> {
    #[derive(Deserialize)]
    struct IndexMeta {
        segments: Vec<IndexSegment>,
    }
    #[derive(Deserialize)]
    struct IndexSegment {
        segment_id: String,
    }
    let meta = serde_json::from_slice::<IndexMeta>(text).ok()?;
    let stems = meta.segments.into_iter();
    Some(stems.map(|it| it.segment_id.replace('-', "")).collect())
}

/// Reads the file that names others and runs `link` on its text, until the file is unchanged afterwards. `None` if
/// there is no such file.
fn settled<T>(
    from: &Path,
    to: &Path,
    name: &str,
    link: impl Fn(&[u8]) -> Result<T>,
) -> Result<Option<T>> {
    let path = from.join(name);
    let mut failure = Error::Unsettled(from.to_owned());
    for _attempt in 0..ATTEMPTS {
        let Some(text) = optional(fs::read(&path)).map_err(Error::io(&path))? else {
            return Ok(None);
        };
        fs::create_dir_all(to).map_err(Error::io(to))?;
        let linked = link(&text);
        let is_current = fs::read(&path).map_err(Error::io(&path))? == text;
        failure = match linked {
            _ if !is_current => Error::Unsettled(from.to_owned()),
            // A file that is missing although nothing was replaced may be about to be renamed into place.
            Err(error) if is_missing(&error) => error,
            linked => return linked.map(Some),
        };
        fs::remove_dir_all(to).map_err(Error::io(to))?;
        std::thread::sleep(BETWEEN_ATTEMPTS);
    }
    Err(failure)
}

fn is_missing(error: &Error) -> bool {
    matches!(error, Error::Io { source, .. } if source.kind() == ErrorKind::NotFound)
}

fn link_all(from: &Path, to: &Path, names: impl IntoIterator<Item = String>) -> Result<()> {
    for name in names {
        let target = to.join(&name);
        if let Some(folder) = target.parent() {
            fs::create_dir_all(folder).map_err(Error::io(folder))?;
        }
        let _ = fs::remove_file(&target);
        link_or_copy(&from.join(&name), &target)?;
    }
    Ok(())
}

/// Gives a file a second name, or copies it if the file system does not allow that.
pub(crate) fn link_or_copy(from: &Path, to: &Path) -> Result<()> {
    if fs::hard_link(from, to).is_ok() {
        return Ok(());
    }
    fs::copy(from, to).map_err(Error::io(from))?;
    File::open(to)
        .and_then(|file| file.sync_all())
        .map_err(Error::io(to))
}

/// Links the files of a folder; does nothing if there is none.
fn link_tree(from: &Path, to: &Path) -> Result<()> {
    for name in entries(from)? {
        let (from, to) = (from.join(&name), to.join(&name));
        if from.is_dir() {
            link_tree(&from, &to)?;
        } else if let Some(folder) = to.parent() {
            fs::create_dir_all(folder).map_err(Error::io(folder))?;
            // If it is edited in place during the capture, it does not match its digest and is not published.
            link_or_copy(&from, &to)?;
        }
    }
    Ok(())
}

/// Returns the names in a folder, sorted; empty if it does not exist.
pub(crate) fn entries(folder: &Path) -> Result<Vec<String>> {
    let listed = optional(fs::read_dir(folder)).map_err(Error::io(folder))?;
    let listed = listed.into_iter().flatten();
    let names = listed.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
    let mut names = names
        .collect::<std::io::Result<Vec<_>>>()
        .map_err(Error::io(folder))?;
    names.sort();
    Ok(names)
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    fs::write(path, bytes).map_err(Error::io(path))
}

/// Calls `take` with the path, relative to a folder, of each file in it, in order.
fn list(
    folder: &Path,
    prefix: &str,
    take: &mut dyn FnMut(String, &Path) -> Result<()>,
) -> Result<()> {
    for name in entries(folder)? {
        let (path, inside) = (folder.join(&name), format!("{prefix}{name}"));
        if path.is_dir() {
            list(&path, &format!("{inside}/"), take)?
        } else {
            take(inside, &path)?
        }
    }
    Ok(())
}

/// Returns the digest of a file that has no checksums, or whose checksums its readers verify.
fn digest_plain(file: &Path, progress: &dyn Fn(u64)) -> Result<String> {
    let mut open = File::open(file).map_err(Error::io(file))?;
    let mut hasher = blake3::Hasher::new();
    let mut buffer = vec![0; BUFFER_BYTES as usize];
    loop {
        let read = open.read(&mut buffer).map_err(Error::io(file))?;
        if read == 0 {
            return Ok(hasher.finalize().to_hex().to_string());
        }
        hasher.update(&buffer[..read]);
        progress(read as u64);
    }
}

impl CheckedPart {
    /// Returns whether a file is one of the three of this data file.
    fn is_of(&self, file: &Path) -> bool {
        let names = self.entry.files();
        names.iter().any(|name| self.folder.join(name) == file)
    }

    /// Returns the digest of one of its files, after verifying each byte against its checksum.
    fn digest(&self, file: &Path, progress: &dyn Fn(u64)) -> Result<String> {
        let sums = DataFileChecksums::load(&self.folder, &self.entry.file, &self.entry.sums)?;
        let [rows, ids, _sums] = self.entry.files().map(|name| self.folder.join(name));
        if file == rows {
            digest_checked(file, &sums.parquet, progress)
        } else if file == ids {
            digest_checked(file, &sums.ids, progress)
        } else {
            // Loading the checksums has compared them with the snapshot.
            digest_plain(file, progress)
        }
    }
}

fn digest_checked(file: &Path, sums: &SpanChecksums, progress: &dyn Fn(u64)) -> Result<String> {
    let mut open = File::open(file).map_err(Error::io(file))?;
    let length = open.metadata().map_err(Error::io(file))?.len();
    let damaged = |reason: String| Error::Damaged {
        path: file.to_owned(),
        reason,
    };
    if length != sums.length() {
        return Err(damaged(format!(
            "{length} bytes, expected {}",
            sums.length()
        )));
    }
    let mut hasher = blake3::Hasher::new();
    let mut buffer = Vec::new();
    for run in sums.runs(BUFFER_BYTES) {
        let bytes = sums.bytes_of(&run);
        buffer.resize((bytes.end - bytes.start) as usize, 0);
        open.seek(SeekFrom::Start(bytes.start))
            .and_then(|_| open.read_exact(&mut buffer))
            .map_err(Error::io(file))?;
        if let Some(span) = sums.damaged(run, &buffer).next() {
            return Err(damaged(format!("checksum {span} does not match")));
        }
        hasher.update(&buffer);
        progress(buffer.len() as u64);
    }
    Ok(hasher.finalize().to_hex().to_string())
}

/// Reads the replicated rows. Blocks of unknown content are written to a folder under their digests.
fn read_rows(
    store: &Store,
    folder: &Path,
    is_known: &dyn Fn(&Content) -> bool,
) -> Result<Vec<PublishedBlock>> {
    fs::create_dir_all(folder).map_err(Error::io(folder))?;
    let mut rows = Vec::new();
    store.read_blocks(|block: RowBlock, bytes: &[u8]| -> Result<()> {
        let content = Content::of(bytes);
        if !is_known(&content) {
            write(&folder.join(&content.blake3), bytes)?;
        }
        rows.push(PublishedBlock { block, content });
        Ok(())
    })?;
    Ok(rows)
}
