//! A replica: a data folder whose files come from publications.
//!
//! [`Replica::poll`] reads the pointer and, if it names a newer snapshot, downloads the missing objects: several at
//! once, each continued where it broke off, each verified before it gets its name. Only then does [`Replica::install`]
//! move the files into place, exchange the rows of the store in one transaction, and replace the files that name
//! others, which running readers check (`install.rs`). A snapshot with a missing or corrupt object changes nothing: the
//! error names the file, and the previous state stays. A replica of some departments downloads only the data files of
//! its departments ([`super::holdings`]).
//!
//! ```text
//! replica/objects/3fa94c…      downloaded content; files of tables are hard links to it
//! replica/next.json            the manifest that is being installed: completed after a crash, without the network
//! replica/installed.json       the manifest that is installed
//! replica/holdings.json        the departments whose data files it holds
//! ```

use std::collections::HashSet;
use std::fs::{self, File, TryLockError};
use std::path::Path;
use std::sync::Arc;

use futures::{StreamExt, TryStreamExt, stream};
use indicatif::ProgressBar;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::capture::{LAKE, TEXTS};
use super::digests::sync_folder;
use super::folder::{ReplicaFolder, applied_blocks};
use super::holdings::{Holdings, RemoteSpans};
use super::install::{self, names_others, table_folder};
use super::manifest::{Content, Manifest, PublishedFile};
use super::remote::{ReadPointer, Remote};
use super::settings::OBJECTS_AT_ONCE;
use super::{Error, Result};
use toise_base::file_lock;
use toise_base::missing::optional;
use toise_lake::partial::{self, Registration};
use toise_lake::snapshot::Snapshot;
use toise_store::Store;
use toise_store::exchange::schema_version;

/// The manifest that is being installed.
const NEXT: &str = "next.json";
/// The manifest that is installed.
const INSTALLED: &str = "installed.json";
/// The departments whose data files are held.
const HOLDINGS: &str = "holdings.json";
/// Held while the replica runs.
const LOCK_FILE: &str = "lock";
/// Maximum times that content is fetched from its beginning: twice, in case it was damaged in transit.
const CORRUPT_MAX: u32 = 2;
/// Attempts in a row without a byte of progress after which a download fails.
const STALLS_MAX: u32 = 8;

/// A replica in a data folder.
#[derive(Debug)]
pub struct Replica {
    folder: ReplicaFolder,
    remote: Remote,
    /// The pointer whose snapshot is installed or was permanently refused.
    seen: Option<ReadPointer>,
    installed: Option<Manifest>,
    holdings: Holdings,
    /// Whether the installed snapshot was installed with these departments.
    is_held: bool,
    /// Fetches bytes that are not held. It is registered as long as the replica lives.
    spans: Option<(Arc<RemoteSpans>, Registration)>,
    _lock: File,
}

impl Replica {
    /// Opens a data folder as a replica that holds this part of publications, and creates it if it does not exist.
    /// Sends nothing.
    ///
    /// # Errors
    /// Another process runs this replica; the folder holds data that did not come from a publication.
    pub fn open(data: &Path, remote: Remote, holdings: Holdings) -> Result<Self> {
        let place = ReplicaFolder::of(data);
        let folder = place.own();
        if !folder.exists() && (Store::exists(data) || data.join(LAKE).exists()) {
            return Err(Error::OwnData(data.to_owned()));
        }
        let objects = place.objects();
        fs::create_dir_all(&objects).map_err(Error::io(&objects))?;
        let path = folder.join(LOCK_FILE);
        let lock = File::create(&path).map_err(Error::io(&path))?;
        match file_lock::try_lock(&lock) {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(Error::ReplicaRuns(path)),
            Err(TryLockError::Error(error)) => return Err(Error::io(&path)(error)),
        }
        let installed = read_manifest(&folder.join(INSTALLED))?;
        let held = Holdings::read(&folder.join(HOLDINGS))?;
        let spans = if holdings.is_all() && held.is_all() {
            None
        } else {
            let spans = RemoteSpans::start(remote.clone(), holdings.fetched_bytes_max);
            let spans = Arc::new(spans.map_err(Error::io(data))?);
            let registration = partial::register(data, Arc::clone(&spans) as _);
            Some((spans, registration))
        };
        let replica = Self {
            folder: place,
            remote,
            seen: None,
            is_held: held.departments == holdings.departments,
            holdings,
            spans,
            installed,
            _lock: lock,
        };
        if let Some(manifest) = &replica.installed {
            replica.set_known_files(None, &replica.holes(manifest, &held)?);
        }
        Ok(replica)
    }

    /// Returns the paths of the data files of a manifest that are not to be downloaded. The lists of their tables must
    /// be downloaded already.
    fn holes(&self, manifest: &Manifest, holdings: &Holdings) -> Result<HashSet<String>> {
        let mut holes = HashSet::new();
        if holdings.is_all() {
            return Ok(holes);
        }
        for file in manifest
            .files
            .iter()
            .filter(|file| names_others(&file.path))
        {
            let Some(folder) = table_folder(&file.path) else {
                continue;
            };
            if let Some(snapshot) = Snapshot::read(&self.folder.object(&file.content))? {
                holdings.add_holes(folder, &snapshot, &mut holes);
            }
        }
        Ok(holes)
    }

    /// Passes the files of the installed manifest, and of the next one, to the source that fetches bytes that are not
    /// held.
    fn set_known_files(&self, next: Option<&Manifest>, holes: &HashSet<String>) {
        if let Some((spans, _)) = &self.spans {
            let manifests = self.installed.iter().chain(next);
            spans.set_known_files(self.folder.data(), manifests, holes);
        }
    }

    /// Returns whether a data folder is a replica's.
    pub fn is_in(data: &Path) -> bool {
        ReplicaFolder::of(data).own().exists()
    }

    /// Returns the manifest of the installed snapshot; `None` before the first.
    pub fn installed(&self) -> Option<&Manifest> {
        self.installed.as_ref()
    }

    /// Returns the object store from which the snapshots come.
    pub fn remote(&self) -> &Remote {
        &self.remote
    }

    /// Completes an installation that a killed process left unfinished. All its content is already downloaded, unless
    /// the departments have changed since. Blocks.
    ///
    /// # Errors
    /// The installation fails again.
    pub fn recover(&mut self, store: &Store) -> Result<()> {
        let next = self.folder.own().join(NEXT);
        let Some(manifest) = read_manifest(&next)? else {
            return Ok(());
        };
        let holes = self.holes(&manifest, &self.holdings)?;
        let lacking = self.lacking(&manifest, store, &holes)?;
        if lacking.is_empty() {
            self.install(manifest, store)
        } else {
            fs::remove_file(&next).map_err(Error::io(&next))
        }
    }

    /// Checks for a newer snapshot, and downloads what it needs; `None` if there is none. `progress` counts bytes.
    ///
    /// # Errors
    /// Nothing was published; an object is missing or corrupt, which the error names; no answer. The installed snapshot
    /// stays, and the next poll tries again.
    pub async fn poll(
        &mut self,
        store: &Store,
        progress: &ProgressBar,
    ) -> Result<Option<Manifest>> {
        let found = match &self.seen {
            Some(seen) => self.remote.pointer_if_changed(seen).await?,
            None => self.remote.pointer().await?,
        };
        let Some(found) = found else {
            return match (&self.seen, &self.installed) {
                (None, None) => Err(Error::NothingPublished(self.remote.url().to_owned())),
                _ => Ok(None),
            };
        };
        let installed = self
            .installed
            .as_ref()
            .map_or(0, |manifest| manifest.number);
        // If other departments are wanted now, the installed snapshot is installed again.
        let wanted = installed + u64::from(self.is_held);
        let is_news = found.pointer.number >= wanted;
        if !is_news {
            // The installed snapshot, or a stale answer.
            if found.pointer.number == installed {
                self.seen = Some(found);
            }
            return Ok(None);
        }
        let manifest = self.remote.manifest(&found.pointer).await?;
        if manifest.store_schema != schema_version() {
            return Err(Error::OtherVersion {
                found: manifest.store_schema,
                known: schema_version(),
            });
        }
        self.download(&manifest, store, progress).await?;
        self.seen = Some(found);
        Ok(Some(manifest))
    }

    /// Downloads the content of a manifest that is missing.
    async fn download(
        &self,
        manifest: &Manifest,
        store: &Store,
        progress: &ProgressBar,
    ) -> Result<()> {
        if !self.holdings.is_all() {
            // The lists of tables show which files are held.
            let lists = manifest
                .files
                .iter()
                .filter(|file| names_others(&file.path));
            let lists = lists.filter(|file| !self.is_here(&file.content));
            let downloads =
                lists.map(|file| self.fetch(file.path.clone(), &file.content, progress));
            self.complete(downloads).await?;
        }
        let holes = self.holes(manifest, &self.holdings)?;
        let lacking = self.lacking(manifest, store, &holes)?;
        progress.set_length(lacking.iter().map(|(_, content)| content.bytes).sum());
        let downloads = lacking
            .into_iter()
            .map(|(name, content)| self.fetch(name, content, progress));
        self.complete(downloads).await?;
        // The names must be on disk before a manifest that relies on them.
        sync_folder(&self.folder.objects())
    }

    /// Completes downloads, several at once.
    async fn complete(
        &self,
        downloads: impl Iterator<Item = impl Future<Output = Result<()>>>,
    ) -> Result<()> {
        let downloads = stream::iter(downloads).buffer_unordered(OBJECTS_AT_ONCE);
        downloads.try_collect().await
    }

    /// Returns the content of a manifest that is to be held but is not downloaded, each once, and its name in messages.
    fn lacking<'m>(
        &self,
        manifest: &'m Manifest,
        store: &Store,
        holes: &HashSet<String>,
    ) -> Result<Vec<(String, &'m Content)>> {
        let applied = applied_blocks(store)?;
        let applied: HashSet<&Content> = applied.iter().map(|block| &block.content).collect();
        // A text index is installed once; then it is updated from the rows.
        let has_texts = self.folder.has_text_index()?;
        let is_held = |file: &&PublishedFile| {
            !(has_texts && file.path.starts_with(TEXTS) || holes.contains(&file.path))
        };
        let files = manifest.files.iter().filter(is_held);
        let of_files = files.map(|file| (file.path.clone(), &file.content));
        let rows = manifest.rows.iter();
        let of_rows = rows
            .filter(|block| !applied.contains(&block.content))
            .map(|block| (block.name(), &block.content));
        let mut seen = HashSet::new();
        let lacking = of_files.chain(of_rows);
        Ok(lacking
            .filter(|(_, content)| seen.insert(*content))
            .filter(|(_, content)| !self.is_here(content))
            .collect())
    }

    /// Returns whether content was downloaded: it gets its name once it is verified and on disk.
    fn is_here(&self, content: &Content) -> bool {
        fs::metadata(self.folder.object(content)).is_ok_and(|about| about.len() == content.bytes)
    }

    /// Downloads content, continuing an interrupted download.
    async fn fetch(&self, name: String, content: &Content, progress: &ProgressBar) -> Result<()> {
        let part = self.folder.object(content).with_extension("part");
        let mut corrupt = 0;
        loop {
            let reason = match self.fetch_once(&name, content, &part, progress).await {
                Ok(None) => break,
                Ok(Some(reason)) => reason,
                Err(error) => return Err(error),
            };
            corrupt += 1;
            tokio::fs::remove_file(&part)
                .await
                .map_err(Error::io(&part))?;
            if corrupt == CORRUPT_MAX {
                return Err(Error::Corrupt {
                    name,
                    path: content.path(),
                    reason,
                });
            }
        }
        let to = self.folder.object(content);
        tokio::fs::rename(&part, &to).await.map_err(Error::io(&to))
    }

    /// Downloads the rest of content that is partly there. Returns what is wrong with the whole, if anything.
    async fn fetch_once(
        &self,
        name: &str,
        content: &Content,
        part: &Path,
        progress: &ProgressBar,
    ) -> Result<Option<String>> {
        let mut options = tokio::fs::OpenOptions::new();
        let opened = options.read(true).append(true).create(true).open(part);
        let mut file = opened.await.map_err(Error::io(part))?;
        let (mut hasher, mut length) = (blake3::Hasher::new(), 0);
        let mut buffer = vec![0; 1 << 20];
        loop {
            let read = file.read(&mut buffer).await.map_err(Error::io(part))?;
            if read == 0 {
                break;
            }
            hasher.update(&buffer[..read]);
            length += read as u64;
        }
        progress.inc(length);
        let mut stalls = 0;
        while length < content.bytes {
            let before = length;
            let failed = self
                .append(name, content, &mut file, part, &mut hasher, &mut length)
                .await?;
            progress.inc(length - before);
            stalls = if length > before { 0 } else { stalls + 1 };
            if let Some(error) = failed.filter(|_| stalls >= STALLS_MAX) {
                return Err(error);
            }
            if stalls >= STALLS_MAX {
                return Ok(Some(format!(
                    "ends after {length} bytes of {}",
                    content.bytes
                )));
            }
            if stalls > 0 {
                tokio::time::sleep(self.remote.policy().backoff(stalls)).await;
            }
        }
        file.sync_all().await.map_err(Error::io(part))?;
        let digest = hasher.finalize().to_hex();
        let is_right = length == content.bytes && digest.as_str() == content.blake3;
        Ok((!is_right).then(|| "it does not match its digest".to_owned()))
    }

    /// Appends one answer of the object store to a file. Returns the error that ended it early, if one did.
    async fn append(
        &self,
        name: &str,
        content: &Content,
        file: &mut tokio::fs::File,
        part: &Path,
        hasher: &mut blake3::Hasher,
        length: &mut u64,
    ) -> Result<Option<Error>> {
        let mut pieces = match self.remote.open_content(content, *length).await {
            Ok((length, pieces)) if length == content.bytes => pieces,
            Ok((length, _)) => {
                let (name, path) = (name.to_owned(), content.path());
                let reason = format!("{length} bytes, expected {}", content.bytes);
                return Err(Error::Corrupt { name, path, reason });
            }
            Err(Error::Remote {
                source: object_store::Error::NotFound { .. },
                path,
            }) => {
                let name = name.to_owned();
                return Err(Error::Missing { name, path });
            }
            Err(error) => return Err(error),
        };
        let timeout = self.remote.policy().answer_timeout;
        loop {
            let piece = match tokio::time::timeout(timeout, pieces.next()).await {
                Ok(Some(Ok(piece))) => piece,
                Ok(Some(Err(source))) => {
                    return Ok(Some(super::retry::remote(&content.path(), source)));
                }
                Ok(None) => return Ok(None),
                Err(_elapsed) => {
                    return Ok(Some(self.remote.policy().timed_out(&content.path())));
                }
            };
            // Extra bytes are always wrong, so they are not written.
            if *length + piece.len() as u64 > content.bytes {
                let (name, path) = (name.to_owned(), content.path());
                let reason = format!("longer than {} bytes", content.bytes);
                return Err(Error::Corrupt { name, path, reason });
            }
            file.write_all(&piece).await.map_err(Error::io(part))?;
            hasher.update(&piece);
            *length += piece.len() as u64;
        }
    }

    /// Installs a downloaded snapshot. Returns once it is on disk; readers of the data folder notice it shortly after.
    /// If the process is killed during the installation, [`Replica::recover`] completes it. Blocks.
    ///
    /// # Errors
    /// Files or the store cannot be written.
    pub fn install(&mut self, manifest: Manifest, store: &Store) -> Result<()> {
        let folder = self.folder.own();
        let path = folder.join(NEXT);
        let text = super::manifest::to_json(&manifest, NEXT)?;
        super::digests::replace(&path, &text)?;
        let holes = self.holes(&manifest, &self.holdings)?;
        self.set_known_files(Some(&manifest), &holes);
        install::place_files(&self.folder, &manifest, &holes)?;
        install::mark(&self.folder, &manifest, self.holdings.is_all())?;
        install::exchange_rows(&self.folder, &manifest, store)?;
        install::switch(&self.folder, &manifest)?;
        self.holdings.write(&folder.join(HOLDINGS))?;
        self.is_held = true;
        let installed = folder.join(INSTALLED);
        fs::rename(&path, &installed).map_err(Error::io(&installed))?;
        sync_folder(&folder)?;
        install::clean(&self.folder, &manifest, self.installed.as_ref());
        self.installed = Some(manifest);
        Ok(())
    }
}

/// Reads a manifest that was downloaded; `None` if there is none.
fn read_manifest(path: &Path) -> Result<Option<Manifest>> {
    let text = optional(fs::read(path)).map_err(Error::io(path))?;
    text.map(|text| Manifest::parse(&text, &path.display().to_string()))
        .transpose()
}
