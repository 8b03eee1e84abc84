//! Takes a backup: fills and verifies a stage, then renames it or writes it as one tar file.

use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use indicatif::ProgressBar;

use super::{
    COMPANIONS, Error, FORMAT, LAKE, MANIFEST_FILE, MODEL_IN_USE, MODELS, Manifest, ManifestEntry,
    REPORT_CARDS, Result, STAGE_PREFIX, copy_hashed, is_inside, parent_of, restore, sync_folder,
};
use toise_base::clock::{Clock, iso};
use toise_base::file_lock;
use toise_base::missing::optional;
use toise_base::staging::{self, Stage};
use toise_lake::check::is_snapshot_lost;
use toise_lake::snapshot::{self, Snapshot};
use toise_portfolios::{CHECKSUM, FOLDER as PORTFOLIOS};
use toise_store::Store;

/// Maximum attempts for a table or model that is published again while its files are linked.
const LINK_ATTEMPTS: usize = 20;
/// Pause between two attempts at a model; training may be replacing its folder.
const BETWEEN_ATTEMPTS: Duration = Duration::from_millis(20);
/// Lock file in the data folder that a running backup holds.
const LOCK_FILE: &str = "backup.lock";
/// Mode of the files in a tar file: readable by their owner only, because the store holds secrets.
const OWNER_ONLY: u32 = 0o600;
/// Bytes gathered before they are written to a tar file.
const TAR_BUFFER_BYTES: usize = 1 << 20;

/// Destination of a backup.
#[derive(Clone, Debug)]
enum BackupTarget {
    Folder(PathBuf),
    Tar(PathBuf),
}

/// A complete backup that is not in its final place yet. Dropping it deletes it.
#[derive(Debug)]
pub struct StagedBackup {
    folder: Stage,
    target: BackupTarget,
    manifest: Manifest,
    _lock: File,
}

impl StagedBackup {
    /// Copies a data folder while other processes read and write it. Blocks.
    ///
    /// # Errors
    /// A target that already exists, a folder without data, a table or store that cannot be read.
    pub fn take(data: &Path, target: &Path, clock: &Clock, progress: &ProgressBar) -> Result<Self> {
        if !Store::exists(data) && !data.join(LAKE).exists() {
            return Err(Error::NoData(data.to_owned()));
        }
        if fs::symlink_metadata(target).is_ok() {
            return Err(Error::Exists(target.to_owned()));
        }
        let lock = staging::lock(data, LOCK_FILE)?;
        let is_tar = target
            .extension()
            .is_some_and(|extension| extension == "tar");
        let (target, stage_parent) = if is_tar {
            (BackupTarget::Tar(target.to_owned()), data.to_owned())
        } else {
            // Staged next to the target, so that a rename suffices. Hard links require the data folder's file system.
            (BackupTarget::Folder(target.to_owned()), parent_of(target))
        };
        let folder = Stage::create(STAGE_PREFIX, &stage_parent)?;
        let created_at = iso(clock.now());
        let root = folder.path();
        copy_tables(&data.join(LAKE), &root.join(LAKE))?;
        copy_models(&data.join(MODELS), &root.join(MODELS))?;
        if Store::exists(data) {
            Store::open(data)?.backup(root)?;
        }
        // Copied after the store, which names their files: previous files are kept until the next valuation.
        copy_portfolios(&data.join(PORTFOLIOS), &root.join(PORTFOLIOS))?;
        for name in COMPANIONS {
            copy_tree(&data.join(name), &root.join(name))?;
        }
        progress.inc_length(bytes_in(root)?);
        let mut files = Vec::new();
        list(root, "", &mut files, progress)?;
        let manifest = Manifest {
            format: FORMAT,
            version: env!("CARGO_PKG_VERSION").into(),
            created_at,
            files,
        };
        write_manifest(&manifest, &root.join(MANIFEST_FILE))?;
        sync_folder(root)?;
        Ok(Self {
            folder,
            target,
            manifest,
            _lock: lock,
        })
    }

    /// Returns the length of all files.
    pub fn bytes(&self) -> u64 {
        self.manifest.bytes()
    }

    /// Returns the staged backup, which is itself a data folder, for checks before publication.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Moves the backup to its target. Returns once it is durable.
    ///
    /// # Errors
    /// The target was created in the meantime, or cannot be written.
    pub fn publish(self) -> Result<Manifest> {
        match &self.target {
            BackupTarget::Folder(path) => {
                // A rename would replace an empty folder that another process created in the meantime.
                if fs::symlink_metadata(path).is_ok() {
                    return Err(Error::Exists(path.clone()));
                }
                fs::rename(self.folder.path(), path).map_err(Error::io(path))?;
                sync_folder(&parent_of(path))?;
            }
            BackupTarget::Tar(path) => self.write_tar(path)?,
        }
        Ok(self.manifest)
    }

    fn write_tar(&self, path: &Path) -> Result<()> {
        let parent = parent_of(path);
        let draft = tempfile::Builder::new()
            .prefix(STAGE_PREFIX)
            .tempfile_in(&parent)
            .map_err(Error::io(&parent))?;
        // The lock keeps another backup from sweeping the draft away.
        file_lock::try_lock(draft.as_file()).map_err(|_| Error::Busy(parent.clone()))?;
        let mut out =
            tar::Builder::new(BufWriter::with_capacity(TAR_BUFFER_BYTES, draft.as_file()));
        let names = self.manifest.files.iter().map(|file| file.path.as_str());
        // The manifest comes first, so that a reader can verify the following files.
        for name in std::iter::once(MANIFEST_FILE).chain(names) {
            let from = self.folder.path().join(name);
            let mut file = File::open(&from).map_err(Error::io(&from))?;
            let metadata = file.metadata().map_err(Error::io(&from))?;
            let (bytes, modified_s) = (metadata.len(), modified_s(&metadata));
            append(&mut out, name, bytes, modified_s, &mut file).map_err(Error::io(path))?;
        }
        out.into_inner()
            .and_then(|mut out| out.flush())
            .and_then(|()| draft.as_file().sync_all())
            .map_err(Error::io(path))?;
        restore::check_tar(draft.path())?;
        draft
            .persist_noclobber(path)
            .map_err(|error| match error.error.kind() {
                io::ErrorKind::AlreadyExists => Error::Exists(path.to_owned()),
                _ => Error::io(path)(error.error),
            })?;
        sync_folder(&parent)
    }
}

/// Appends a file of exactly `bytes` bytes, last modified `modified_s` seconds after 1970.
pub(super) fn append(
    out: &mut tar::Builder<impl Write>,
    name: &str,
    bytes: u64,
    modified_s: u32,
    content: &mut dyn Read,
) -> io::Result<()> {
    let mut header = tar::Header::new_ustar();
    header.set_path(name)?;
    header.set_entry_type(tar::EntryType::Regular);
    header.set_mode(OWNER_ONLY);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(modified_s.into());
    header.set_size(bytes);
    header.set_cksum();
    let mut content = content.take(bytes);
    out.append(&header, &mut content)?;
    match content.limit() {
        0 => Ok(()),
        missing => {
            let fault = format!("{name} shrank by {missing} of {bytes} bytes while it was read");
            Err(io::Error::new(ErrorKind::UnexpectedEof, fault))
        }
    }
}

/// Returns when a file was last modified, in seconds after 1970; 0 if unknown.
fn modified_s(metadata: &fs::Metadata) -> u32 {
    let since_1970 = metadata
        .modified()
        .ok()
        .and_then(|modified| modified.duration_since(UNIX_EPOCH).ok());
    since_1970.map_or(0, |since| u32::try_from(since.as_secs()).unwrap_or(0))
}

/// Copies every table: each folder under `lake` that holds a snapshot. Shared folders and previous versions are not
/// copied; opening the restored tables creates the shared folders again.
fn copy_tables(lake: &Path, to: &Path) -> Result<()> {
    let tables = optional(fs::read_dir(lake)).map_err(Error::io(lake))?;
    for table in tables.into_iter().flatten() {
        let table = table.map_err(Error::io(lake))?;
        if !table.path().is_dir() {
            // Skips the lock file of the lake.
            continue;
        }
        if is_snapshot_lost(&table.path()) {
            return Err(Error::Lost(table.path().join(snapshot::FILE_NAME)));
        }
        copy_table(&table.path(), &to.join(table.file_name()))?;
    }
    if to.exists() {
        sync_folder(to)?;
    }
    Ok(())
}

/// Links the files of a table's current snapshot.
///
/// A publication replaces the snapshot before it deletes any file. So if the snapshot is unchanged after linking,
/// all its files were present.
fn copy_table(table: &Path, to: &Path) -> Result<()> {
    let path = table.join(snapshot::FILE_NAME);
    for _attempt in 0..LINK_ATTEMPTS {
        let Some(text) = optional(fs::read(&path)).map_err(Error::io(&path))? else {
            return Ok(());
        };
        fs::create_dir_all(to).map_err(Error::io(to))?;
        write_synced(&to.join(snapshot::FILE_NAME), &text)?;
        let linked = link_data_files(table, to, &Snapshot::load(to)?);
        if fs::read(&path).map_err(Error::io(&path))? == text {
            linked?;
            return sync_folder(to);
        }
        fs::remove_dir_all(to).map_err(Error::io(to))?;
    }
    Err(Error::Unsettled(table.to_owned()))
}

/// Links the files of every data file in the snapshot: rows, id index, checksums.
fn link_data_files(table: &Path, to: &Path, snapshot: &Snapshot) -> Result<()> {
    for part in &snapshot.parts {
        for name in part.files() {
            link_or_copy(&table.join(&name), &to.join(&name))?;
        }
        let found = fs::metadata(to.join(&part.file))
            .map_err(Error::io(&table.join(&part.file)))?
            .len();
        if found != part.bytes {
            return Err(Error::Damaged {
                path: table.join(&part.file),
                reason: format!("{found} bytes, expected {} as in the snapshot", part.bytes),
            });
        }
    }
    Ok(())
}

/// Links the estimator's current model, and copies the report cards.
///
/// Training makes a model current once it is complete, and deletes older ones later. So if the current model is
/// unchanged after linking, all its files were present, except while a model is replaced by one of the same version.
fn copy_models(models: &Path, to: &Path) -> Result<()> {
    copy_tree(&models.join(REPORT_CARDS), &to.join(REPORT_CARDS))?;
    let path = models.join(MODEL_IN_USE);
    let mut failure = Error::Unsettled(models.to_owned());
    for _attempt in 0..LINK_ATTEMPTS {
        let Some(text) = optional(fs::read(&path)).map_err(Error::io(&path))? else {
            return Ok(());
        };
        let version = version_named(&path, &text)?;
        let copy = to.join(&version);
        let linked = link_folder(&models.join(&version), &copy);
        let is_current = fs::read(&path).map_err(Error::io(&path))? == text;
        failure = match linked {
            Ok(()) if is_current => {
                write_synced(&to.join(MODEL_IN_USE), &text)?;
                return sync_folder(to);
            }
            // A file that is missing now may be about to be renamed into place.
            Err(error) if is_current => error,
            _ => Error::Unsettled(models.to_owned()),
        };
        if copy.exists() {
            fs::remove_dir_all(&copy).map_err(Error::io(&copy))?;
        }
        std::thread::sleep(BETWEEN_ATTEMPTS);
    }
    Err(failure)
}

/// Returns the folder name of the current model.
fn version_named(path: &Path, text: &[u8]) -> Result<String> {
    let no_model = |reason: String| Error::NamesNoModel {
        path: path.to_owned(),
        reason,
    };
    let named: serde_json::Value =
        serde_json::from_slice(text).map_err(|error| no_model(error.to_string()))?;
    match named["version"].as_str() {
        Some(version) if is_inside(version) => Ok(version.to_owned()),
        _ => Err(no_model("no version of a model".into())),
    }
}

/// Links the files of a folder without subfolders.
fn link_folder(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to).map_err(Error::io(to))?;
    for entry in fs::read_dir(from).map_err(Error::io(from))? {
        let entry = entry.map_err(Error::io(from))?;
        link_or_copy(&entry.path(), &to.join(entry.file_name()))?;
    }
    sync_folder(to)
}

/// Links the files of every portfolio. A portfolio that is deleted during the backup is skipped. A portfolio whose
/// files lack the latest valuation is valued again after the restore.
fn copy_portfolios(portfolios: &Path, to: &Path) -> Result<()> {
    let Ok(folders) = fs::read_dir(portfolios) else {
        return Ok(());
    };
    for folder in folders.flatten().filter(|folder| folder.path().is_dir()) {
        let copy = to.join(folder.file_name());
        fs::create_dir_all(&copy).map_err(Error::io(&copy))?;
        for file in fs::read_dir(folder.path()).into_iter().flatten().flatten() {
            let name = file.file_name();
            let is_complete = Path::new(&name)
                .extension()
                .is_some_and(|extension| extension == "parquet");
            match is_complete.then(|| link_or_copy(&file.path(), &copy.join(&name))) {
                Some(Err(error)) if file.path().exists() => return Err(error),
                _ => {}
            }
        }
        // Copied after the homes, and deleted before them: a checksum without homes means that they are lost.
        let checksum = folder.path().join(CHECKSUM);
        match link_or_copy(&checksum, &copy.join(CHECKSUM)) {
            Err(error) if checksum.exists() => return Err(error),
            _ => {}
        }
        sync_folder(&copy)?;
    }
    if to.exists() { sync_folder(to) } else { Ok(()) }
}

/// Links an immutable file; copies it if the file system does not allow the link.
fn link_or_copy(from: &Path, to: &Path) -> Result<()> {
    if fs::hard_link(from, to).is_ok() {
        return Ok(());
    }
    copy(from, to)
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::copy(from, to).map_err(Error::io(from))?;
    File::open(to)
        .and_then(|file| file.sync_all())
        .map_err(Error::io(to))
}

/// Copies a file or a folder with its contents; does nothing if it does not exist. A symbolic link is refused: its
/// target may be anything, and may not exist where the backup is restored.
fn copy_tree(from: &Path, to: &Path) -> Result<()> {
    let about = optional(fs::symlink_metadata(from)).map_err(Error::io(from))?;
    let Some(kind) = about.map(|about| about.file_type()) else {
        return Ok(());
    };
    if kind.is_symlink() {
        return Err(Error::Link(from.to_owned()));
    }
    if kind.is_file() {
        return copy(from, to);
    }
    if !kind.is_dir() {
        return Ok(());
    }
    fs::create_dir_all(to).map_err(Error::io(to))?;
    for entry in fs::read_dir(from).map_err(Error::io(from))? {
        let entry = entry.map_err(Error::io(from))?;
        copy_tree(&entry.path(), &to.join(entry.file_name()))?;
    }
    sync_folder(to)
}

/// Returns the length of all files under a folder.
fn bytes_in(folder: &Path) -> Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder).map_err(Error::io(folder))? {
        let path = entry.map_err(Error::io(folder))?.path();
        bytes += if path.is_dir() {
            bytes_in(&path)?
        } else {
            fs::metadata(&path).map_err(Error::io(&path))?.len()
        };
    }
    Ok(bytes)
}

/// Lists the files under a folder in name order, with their lengths and digests. Reads every file completely.
fn list(
    folder: &Path,
    prefix: &str,
    into: &mut Vec<ManifestEntry>,
    progress: &ProgressBar,
) -> Result<()> {
    let entries = fs::read_dir(folder).map_err(Error::io(folder))?;
    let mut names = entries
        .map(|entry| entry.map(|entry| entry.file_name().to_string_lossy().into_owned()))
        .collect::<io::Result<Vec<_>>>()
        .map_err(Error::io(folder))?;
    names.sort();
    for name in names {
        let path = folder.join(&name);
        let inside = format!("{prefix}{name}");
        if path.is_dir() {
            list(&path, &format!("{inside}/"), into, progress)?;
            continue;
        }
        let mut file = File::open(&path).map_err(Error::io(&path))?;
        let (bytes, blake3) = copy_hashed(&mut file, &mut io::sink(), |read| progress.inc(read))
            .map_err(|error| error.at(&path, &path))?;
        into.push(ManifestEntry {
            path: inside,
            bytes,
            blake3,
        });
    }
    Ok(())
}

fn write_manifest(manifest: &Manifest, path: &Path) -> Result<()> {
    let text = serde_json::to_vec_pretty(manifest).map_err(|error| Error::NotABackup {
        path: path.to_owned(),
        reason: error.to_string(),
    })?;
    write_synced(path, &text)
}

fn write_synced(path: &Path, bytes: &[u8]) -> Result<()> {
    File::create(path)
        .and_then(|mut file| {
            file.write_all(bytes)?;
            file.sync_all()
        })
        .map_err(Error::io(path))
}
