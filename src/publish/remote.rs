//! The object store behind a URL: all reads and writes of it go through here.
//!
//! There are three kinds of writes. Content is named by its digest ([`Remote::upload`]), so writing it again writes the
//! same bytes. Manifests are created if absent ([`Remote::create`]). The pointer is exchanged conditionally
//! ([`Remote::exchange_pointer`]). Each write is retried after errors; if a response was lost, the object itself shows
//! whether the write succeeded. Reads verify lengths and digests.
//!
//! A folder (`file://`) has no conditional update: for it, the exchange holds a lock file in the folder, and written
//! files are flushed.

mod files;
#[cfg(feature = "cloud")]
mod open;
mod upload;

use std::fs::{File, OpenOptions};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use futures::StreamExt;
use futures::stream::BoxStream;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{
    Error as RemoteError, GetOptions, GetRange, ObjectMeta, ObjectStore, ObjectStoreExt,
    ObjectStoreScheme, PutMode, PutPayload, UpdateVersion,
};
use url::Url;

use super::manifest::{Content, Manifest, POINTER, POINTER_BYTES_MAX, Pointer, SNAPSHOTS, to_json};
use super::retry::{RetryPolicy, remote};
use super::{Error, Result};
#[cfg(feature = "cloud")]
use open::open_cloud;
pub use upload::Upload;

/// Refuses stores on the network, which need the feature `cloud`.
#[cfg(not(feature = "cloud"))]
fn open_cloud(
    _: &ObjectStoreScheme,
    _: &Url,
    _: &RetryPolicy,
) -> object_store::Result<Arc<dyn ObjectStore>> {
    Err(RemoteError::NotSupported {
        source: "this executable was built without object stores on the network: build it with --features cloud, or \
                 publish to a folder, file:///…"
            .into(),
    })
}

/// Lock file in a folder that is published to.
const FOLDER_LOCK: &str = ".publish.lock";

/// The bytes of a response as they arrive.
pub(crate) type Pieces = BoxStream<'static, std::result::Result<Bytes, RemoteError>>;

/// An object store, or a part of one.
#[derive(Clone, Debug)]
pub struct Remote {
    store: Arc<dyn ObjectStore>,
    prefix: Path,
    url: String,
    policy: RetryPolicy,
    /// The folder of `file://`.
    folder: Option<PathBuf>,
}

/// The pointer, and the version of it that was read.
#[derive(Clone, Debug)]
pub struct ReadPointer {
    /// The pointer.
    pub pointer: Pointer,
    /// Identifies this version of it.
    pub version: UpdateVersion,
}

/// The result of an exchange of the pointer.
#[derive(Clone, Debug)]
pub enum Exchange {
    /// The new pointer is current.
    Done,
    /// Another pointer is current.
    Lost(Option<Pointer>),
}

impl Remote {
    /// Opens the object store of a URL: `s3://bucket/prefix`, `gs://bucket/prefix`, `az://container/prefix`,
    /// `file:///folder`, `http://host/path`. Credentials and endpoints come from the usual environment variables of
    /// each (`AWS_…`, `GOOGLE_…`, `AZURE_…`). Sends nothing.
    ///
    /// # Errors
    /// The URL is of another kind, or the settings in the environment are incomplete.
    pub fn open(url: &str, policy: RetryPolicy) -> Result<Self> {
        let wrong = |reason: String| Error::Url {
            url: url.to_owned(),
            reason,
        };
        let parsed = Url::parse(url).map_err(|error| wrong(error.to_string()))?;
        let (scheme, prefix) =
            ObjectStoreScheme::parse(&parsed).map_err(|error| wrong(error.to_string()))?;
        if scheme == ObjectStoreScheme::Local {
            return Self::open_folder(url, &parsed, policy);
        }
        let store = open_cloud(&scheme, &parsed, &policy);
        let store = store.map_err(|error| wrong(error.to_string()))?;
        Ok(Self {
            store,
            prefix,
            url: url.trim_end_matches('/').to_owned(),
            policy,
            folder: None,
        })
    }

    fn open_folder(url: &str, parsed: &Url, policy: RetryPolicy) -> Result<Self> {
        let wrong = |reason: String| Error::Url {
            url: url.to_owned(),
            reason,
        };
        let folder = parsed
            .to_file_path()
            .map_err(|()| wrong("not the path of a folder".into()))?;
        std::fs::create_dir_all(&folder).map_err(Error::io(&folder))?;
        let store = LocalFileSystem::new_with_prefix(&folder);
        Ok(Self {
            store: Arc::new(store.map_err(|error| wrong(error.to_string()))?),
            prefix: Path::default(),
            url: url.trim_end_matches('/').to_owned(),
            policy,
            folder: Some(folder),
        })
    }

    /// Wraps a given object store.
    pub fn over(store: Arc<dyn ObjectStore>, prefix: &str, policy: RetryPolicy) -> Self {
        Self {
            url: store.to_string(),
            store,
            prefix: Path::from(prefix),
            policy,
            folder: None,
        }
    }

    /// Returns the URL, for messages.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the policy by which requests are retried.
    pub fn policy(&self) -> &RetryPolicy {
        &self.policy
    }

    fn at(&self, path: &str) -> Path {
        Path::from_iter(self.prefix.parts().chain(Path::from(path).parts()))
    }

    /// Reads a small object completely; `None` if there is none.
    async fn read(
        &self,
        path: &str,
        bytes_max: u64,
        options: &GetOptions,
    ) -> Result<Option<(Bytes, UpdateVersion)>> {
        let at = self.at(path);
        let read = self.policy.run(path, || async {
            let response = self.store.get_opts(&at, options.clone()).await?;
            if response.meta.size > bytes_max {
                return Ok(None);
            }
            let (length, version) = (response.meta.size, version_of(&response.meta));
            let bytes = response.bytes().await?;
            if bytes.len() as u64 == length {
                Ok(Some((bytes, version)))
            } else {
                Err(cut_short(bytes.len() as u64, length))
            }
        });
        match read.await {
            Ok(Some(found)) => Ok(Some(found)),
            Ok(None) => Err(Error::Unreadable {
                path: path.to_owned(),
                reason: format!("longer than {bytes_max} bytes"),
            }),
            Err(Error::Remote {
                source: RemoteError::NotFound { .. },
                ..
            }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Reads an object of at most `bytes_max` bytes; `None` if there is none.
    ///
    /// # Errors
    /// It is longer, or there is no response.
    pub async fn small(&self, path: &str, bytes_max: u64) -> Result<Option<Bytes>> {
        let found = self.read(path, bytes_max, &GetOptions::default()).await?;
        Ok(found.map(|(bytes, _)| bytes))
    }

    /// Reads the pointer; `None` if nothing was published.
    ///
    /// # Errors
    /// It cannot be read.
    pub async fn pointer(&self) -> Result<Option<ReadPointer>> {
        let found = self
            .read(POINTER, POINTER_BYTES_MAX, &GetOptions::default())
            .await?;
        found.map(read_pointer).transpose()
    }

    /// Reads the pointer if it has changed since it was last read; `None` if it is the same, or there is none.
    ///
    /// # Errors
    /// It cannot be read.
    pub async fn pointer_if_changed(&self, known: &ReadPointer) -> Result<Option<ReadPointer>> {
        let mut options = GetOptions::default();
        options.if_none_match.clone_from(&known.version.e_tag);
        match self.read(POINTER, POINTER_BYTES_MAX, &options).await {
            Ok(found) => found.map(read_pointer).transpose(),
            Err(Error::Remote {
                source: RemoteError::NotModified { .. },
                ..
            }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Reads the manifest that a pointer names.
    ///
    /// # Errors
    /// It is missing, does not match its digest, or is of another format.
    pub async fn manifest(&self, pointer: &Pointer) -> Result<Manifest> {
        let path = Manifest::path_of(pointer.number);
        let name = format!("snapshot {}", pointer.number);
        let found = self
            .read(&path, pointer.manifest.bytes, &GetOptions::default())
            .await?;
        let Some((bytes, _)) = found else {
            return Err(Error::Missing { name, path });
        };
        if Content::of(&bytes) != pointer.manifest {
            let reason = "it does not match the digest in the pointer".into();
            return Err(Error::Corrupt { name, path, reason });
        }
        Manifest::parse(&bytes, &path)
    }

    /// Reads a manifest by its path, without a pointer to verify it against; `None` if it is gone.
    ///
    /// # Errors
    /// It cannot be read.
    pub(crate) async fn manifest_at(&self, path: &str, bytes_max: u64) -> Result<Option<Manifest>> {
        let found = self.read(path, bytes_max, &GetOptions::default()).await?;
        found
            .map(|(bytes, _)| Manifest::parse(&bytes, path))
            .transpose()
    }

    /// Creates an object. Returns `false` if one with other bytes exists. One with the same bytes counts as created: it
    /// may come from an earlier attempt whose response was lost.
    ///
    /// # Errors
    /// The object store refuses it or does not answer.
    pub async fn create(&self, path: &str, bytes: &Bytes) -> Result<bool> {
        let at = self.at(path);
        let created = self.policy.run(path, || {
            let payload = PutPayload::from_bytes(bytes.clone());
            self.store.put_opts(&at, payload, PutMode::Create.into())
        });
        match created.await {
            Ok(_) => {}
            Err(Error::Remote {
                source: RemoteError::AlreadyExists { .. } | RemoteError::Precondition { .. },
                ..
            }) => {
                let length = bytes.len() as u64;
                let found = self.read(path, length, &GetOptions::default()).await;
                let is_ours = match found {
                    Ok(found) => found.is_some_and(|(found, _)| found == bytes),
                    Err(Error::Unreadable { .. }) => false,
                    Err(error) => return Err(error),
                };
                if !is_ours {
                    return Ok(false);
                }
            }
            Err(error) => return Err(error),
        }
        self.flush(path)?;
        Ok(true)
    }

    /// Makes a pointer current if the current one is still `former`.
    ///
    /// # Errors
    /// The object store refuses it or does not answer; the pointer may have been exchanged anyway.
    pub async fn exchange_pointer(
        &self,
        next: &Pointer,
        former: Option<&ReadPointer>,
    ) -> Result<Exchange> {
        let bytes = Bytes::from(to_json(next, POINTER)?);
        let _lock = self.lock_folder().await?;
        let mode = match (former, &self.folder) {
            (None, _) => PutMode::Create,
            (Some(former), None) => PutMode::Update(former.version.clone()),
            (Some(former), Some(_)) => {
                let found = self.pointer().await?.map(|found| found.pointer);
                if found.as_ref() != Some(&former.pointer) {
                    return Ok(Exchange::Lost(found));
                }
                PutMode::Overwrite
            }
        };
        let at = self.at(POINTER);
        let put = self.policy.run(POINTER, || {
            let payload = PutPayload::from_bytes(bytes.clone());
            self.store.put_opts(&at, payload, mode.clone().into())
        });
        match put.await {
            Ok(_) => {
                self.flush(POINTER)?;
                Ok(Exchange::Done)
            }
            Err(Error::Remote {
                source: RemoteError::AlreadyExists { .. } | RemoteError::Precondition { .. },
                ..
            }) => {
                // The response to an earlier attempt may have been lost.
                let found = self.pointer().await?.map(|found| found.pointer);
                if found.as_ref() == Some(next) {
                    Ok(Exchange::Done)
                } else {
                    Ok(Exchange::Lost(found))
                }
            }
            Err(error) => Err(error),
        }
    }

    /// Waits for the lock of a folder that is published to; does nothing for other object stores. The lock is released
    /// when the returned file is closed.
    async fn lock_folder(&self) -> Result<Option<File>> {
        let Some(folder) = self.folder.clone() else {
            return Ok(None);
        };
        let locked = tokio::task::spawn_blocking(move || {
            let path = folder.join(FOLDER_LOCK);
            let mut options = OpenOptions::new();
            let file = options.write(true).create(true).truncate(false).open(&path);
            let file = file.map_err(Error::io(&path))?;
            file.lock().map_err(Error::io(&path))?;
            Ok(file)
        });
        match locked.await {
            Ok(locked) => locked.map(Some),
            Err(error) => Err(remote(FOLDER_LOCK, error.into())),
        }
    }

    /// Flushes an object of a folder to disk, with its name; does nothing for other object stores.
    fn flush(&self, path: &str) -> Result<()> {
        let Some(folder) = &self.folder else {
            return Ok(());
        };
        let file = folder.join(path);
        for path in [file.as_path(), file.parent().unwrap_or(folder)] {
            let flushed = File::open(path).and_then(|open| open.sync_all());
            flushed.map_err(Error::io(path))?;
        }
        Ok(())
    }

    /// Returns the length of an object and when it was written; `None` if there is none.
    pub async fn head(&self, path: &str) -> Result<Option<ObjectMeta>> {
        let at = self.at(path);
        match self.policy.run(path, || self.store.head(&at)).await {
            Ok(found) => Ok(Some(found)),
            Err(Error::Remote {
                source: RemoteError::NotFound { .. },
                ..
            }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns the length of the object of some content, and its bytes from an offset on, in pieces. The bytes may end
    /// early or be wrong: the caller verifies the digest of the whole.
    ///
    /// # Errors
    /// There is no such object, or no response.
    pub(crate) async fn open_content(&self, content: &Content, from: u64) -> Result<(u64, Pieces)> {
        let path = content.path();
        let at = self.at(&path);
        let mut options = GetOptions::default();
        if from > 0 {
            options.range = Some(GetRange::Offset(from));
        }
        let response = self
            .policy
            .run(&path, || self.store.get_opts(&at, options.clone()))
            .await?;
        Ok((response.meta.size, response.into_stream()))
    }

    /// Reads some bytes of the object of some content. They may be wrong: the caller verifies them.
    ///
    /// # Errors
    /// There is no such object, it is shorter, or there is no response.
    pub(crate) async fn range(&self, content: &Content, bytes: Range<u64>) -> Result<Bytes> {
        let path = content.path();
        let at = self.at(&path);
        let read = self.policy.run(&path, || async {
            let fetched = self.store.get_range(&at, bytes.clone()).await?;
            let (found, expected) = (fetched.len() as u64, bytes.end - bytes.start);
            if found == expected {
                Ok(fetched)
            } else {
                Err(cut_short(found, expected))
            }
        });
        read.await
    }

    /// Returns the paths, relative to the prefix, of all objects in a folder, with their metadata.
    pub async fn list(&self, folder: &str) -> Result<Vec<(String, ObjectMeta)>> {
        let at = self.at(folder);
        let skipped = match self.prefix.as_ref() {
            "" => 0,
            prefix => prefix.len() + 1,
        };
        self.policy
            .run(folder, || async {
                let mut listed = self.store.list(Some(&at));
                let mut found = Vec::new();
                while let Some(object) = listed.next().await {
                    let object = object?;
                    found.push((object.location.as_ref()[skipped..].to_owned(), object));
                }
                Ok(found)
            })
            .await
    }

    /// Deletes an object; succeeds if it is already gone.
    pub async fn delete(&self, path: &str) -> Result<()> {
        let at = self.at(path);
        match self.policy.run(path, || self.store.delete(&at)).await {
            Err(Error::Remote {
                source: RemoteError::NotFound { .. },
                ..
            }) => Ok(()),
            deleted => deleted,
        }
    }

    /// Returns the numbers, paths and metadata of all manifests, oldest first.
    pub(crate) async fn snapshots(&self) -> Result<Vec<(u64, String, ObjectMeta)>> {
        let listed = self.list(SNAPSHOTS).await?.into_iter();
        let numbered =
            listed.filter_map(|(path, meta)| Some((Manifest::number_in(&path)?, path, meta)));
        let mut found: Vec<_> = numbered.collect();
        found.sort_by_key(|(number, ..)| *number);
        Ok(found)
    }
}

fn read_pointer((bytes, version): (Bytes, UpdateVersion)) -> Result<ReadPointer> {
    Ok(ReadPointer {
        pointer: Pointer::parse(&bytes, POINTER)?,
        version,
    })
}

fn version_of(meta: &ObjectMeta) -> UpdateVersion {
    UpdateVersion {
        e_tag: meta.e_tag.clone(),
        version: meta.version.clone(),
    }
}

/// Creates the error for a response that ended early; the request is retried.
fn cut_short(found: u64, expected: u64) -> RemoteError {
    RemoteError::Generic {
        store: "answer",
        source: format!("{found} bytes of {expected}").into(),
    }
}
