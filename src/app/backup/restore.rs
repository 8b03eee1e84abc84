//! Restores a backup: verifies every byte against the manifest, then renames the result to the data folder.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use indicatif::ProgressBar;

use super::{
    BUFFER_BYTES, Error, MANIFEST_FILE, Manifest, ManifestEntry, RESTORE_PREFIX, Result,
    copy_hashed, parent_of, sync_folder,
};
use toise_base::missing::optional;
use toise_base::staging::Stage;
use toise_store::Store;

/// Name of the restored folder inside its stage, which only the owner can read.
const INNER: &str = "data";
/// Maximum length of a manifest, in bytes: enough for some hundred thousand files.
const MANIFEST_BYTES_MAX: u64 = 64 << 20;

/// A restored data folder that is not in its final place yet. Dropping it deletes it.
#[derive(Debug)]
pub struct StagedRestore {
    stage: Stage,
    data: PathBuf,
    manifest: Manifest,
}

impl StagedRestore {
    /// Copies a backup, a folder or a tar file, to a stage next to the future data folder. Blocks.
    ///
    /// # Errors
    /// A data folder that is not empty, a path that is not a backup, a file that does not match the manifest.
    pub fn prepare(from: &Path, data: &Path, progress: &ProgressBar) -> Result<Self> {
        refuse_unless_empty(data)?;
        let parent = parent_of(data);
        fs::create_dir_all(&parent).map_err(Error::io(&parent))?;
        let stage = Stage::create(RESTORE_PREFIX, &parent)?;
        let folder = stage.path().join(INNER);
        fs::create_dir(&folder).map_err(Error::io(&folder))?;
        let source = fs::metadata(from).map_err(Error::io(from))?;
        let manifest = if source.is_dir() {
            from_folder(from, &folder, progress)?
        } else {
            from_tar(from, &folder, progress)?
        };
        sync_folder(&folder)?;
        Ok(Self {
            stage,
            data: data.to_owned(),
            manifest,
        })
    }

    /// Returns the restored folder, for checks before publication.
    pub fn folder(&self) -> PathBuf {
        self.stage.path().join(INNER)
    }

    /// Renames the restored folder to the data folder. Returns once the rename is durable.
    ///
    /// # Errors
    /// The data folder is no longer empty.
    pub fn publish(self) -> Result<Manifest> {
        refuse_unless_empty(&self.data)?;
        // A rename replaces an empty folder and nothing else.
        fs::rename(self.folder(), &self.data).map_err(Error::io(&self.data))?;
        sync_folder(&parent_of(&self.data))?;
        Ok(self.manifest)
    }
}

fn refuse_unless_empty(data: &Path) -> Result<()> {
    let entries = optional(fs::read_dir(data)).map_err(Error::io(data))?;
    match entries.into_iter().flatten().next() {
        None => Ok(()),
        Some(_) => Err(Error::NotEmpty(data.to_owned())),
    }
}

fn from_folder(from: &Path, to: &Path, progress: &ProgressBar) -> Result<Manifest> {
    let path = from.join(MANIFEST_FILE);
    let read = || {
        let mut text = Vec::new();
        let file = open_plain(&path)?;
        file.take(MANIFEST_BYTES_MAX).read_to_end(&mut text)?;
        Ok(text)
    };
    let text = read().map_err(|error: io::Error| Error::NotABackup {
        path: from.to_owned(),
        reason: format!("{MANIFEST_FILE}: {error}"),
    })?;
    let manifest = Manifest::parse(&text, from)?;
    progress.set_length(manifest.bytes());
    for entry in &manifest.files {
        let path = from.join(&entry.path);
        let mut file = open_plain(&path).map_err(Error::io(&path))?;
        put(entry, &path, &mut file, to, progress)?;
    }
    Ok(manifest)
}

/// Opens a plain file. Anything else is refused: a pipe that nobody writes to would block forever.
fn open_plain(path: &Path) -> io::Result<File> {
    if fs::metadata(path)?.is_file() {
        File::open(path)
    } else {
        Err(io::Error::other("is not a file"))
    }
}

fn from_tar(from: &Path, to: &Path, progress: &ProgressBar) -> Result<Manifest> {
    read_tar(
        from,
        |manifest| progress.set_length(manifest.bytes()),
        |entry, from, content| put(entry, from, content, to, progress),
    )
}

/// Verifies every byte of a tar file against the manifest in it.
pub(super) fn check_tar(from: &Path) -> Result<()> {
    let check = |entry: &ManifestEntry, from: &Path, content: &mut dyn Read| {
        let found =
            copy_hashed(content, &mut io::sink(), |_| ()).map_err(|error| error.at(from, from))?;
        refuse_unless_same(entry, from, &found)
    };
    read_tar(from, |_| (), check).map(drop)
}

/// Reads a tar file in order: the manifest, then each file it lists, which is passed to `take`.
fn read_tar(
    from: &Path,
    begin: impl FnOnce(&Manifest),
    mut take: impl FnMut(&ManifestEntry, &Path, &mut dyn Read) -> Result<()>,
) -> Result<Manifest> {
    let file = File::open(from).map_err(Error::io(from))?;
    let mut archive = tar::Archive::new(BufReader::with_capacity(BUFFER_BYTES, file));
    let not_a_backup = |reason: String| Error::NotABackup {
        path: from.to_owned(),
        reason,
    };
    let unreadable = |error: io::Error| not_a_backup(error.to_string());
    // Read raw: backups contain only plain files, so special entries of other archives are not interpreted.
    let mut files = archive.entries().map_err(unreadable)?.raw(true);
    let mut text = Vec::new();
    match files.next().transpose().map_err(unreadable)? {
        Some(mut file) if is_file(&file, MANIFEST_FILE) && file.size() <= MANIFEST_BYTES_MAX => {
            file.read_to_end(&mut text).map_err(Error::io(from))?;
        }
        _ => {
            let reason = format!(
                "{MANIFEST_FILE} is not its first file; unpack it and restore from the folder"
            );
            return Err(not_a_backup(reason));
        }
    }
    let manifest = Manifest::parse(&text, from)?;
    begin(&manifest);
    for entry in &manifest.files {
        let in_archive = from.join(&entry.path);
        let damaged = |reason: String| Error::Damaged {
            path: in_archive.clone(),
            reason,
        };
        let found = files.next().transpose();
        match found.map_err(|error| damaged(error.to_string()))? {
            Some(mut file) if is_file(&file, &entry.path) && file.size() == entry.bytes => {
                take(entry, &in_archive, &mut file)?;
            }
            _ => return Err(damaged("not where the manifest says".into())),
        }
    }
    Ok(manifest)
}

/// Returns whether an entry of a tar file is a plain file with this name.
fn is_file(entry: &tar::Entry<'_, impl Read>, name: &str) -> bool {
    entry.header().entry_type().is_file() && *entry.path_bytes() == *name.as_bytes()
}

/// Writes one file of a backup and checks it against the manifest; durable on return.
fn put(
    entry: &ManifestEntry,
    from: &Path,
    content: &mut dyn Read,
    folder: &Path,
    progress: &ProgressBar,
) -> Result<()> {
    let path = folder.join(&entry.path);
    let inside = parent_of(&path);
    fs::create_dir_all(&inside).map_err(Error::io(&inside))?;
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    // The store holds secrets, and the ledger the usage of customers.
    #[cfg(unix)]
    if Store::is_private(&entry.path) {
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    }
    let mut file = options.open(&path).map_err(Error::io(&path))?;
    let found = copy_hashed(content, &mut file, |copied| progress.inc(copied))
        .map_err(|error| error.at(from, &path))?;
    refuse_unless_same(entry, from, &found)?;
    file.sync_all().map_err(Error::io(&path))?;
    sync_folder(&inside)
}

fn refuse_unless_same(entry: &ManifestEntry, from: &Path, found: &(u64, String)) -> Result<()> {
    let (bytes, blake3) = found;
    if *bytes == entry.bytes && *blake3 == entry.blake3 {
        return Ok(());
    }
    Err(Error::Damaged {
        path: from.to_owned(),
        reason: "content differs from the backup's manifest".into(),
    })
}
