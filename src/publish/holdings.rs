//! The part of a publication that a replica holds on its disk: all of it, or the data files of some departments.
//!
//! A replica of some departments holds the data files that may have rows of these departments, and all other files
//! completely: the lists of tables, checksums, addresses, the model, the text index, the rows of the store. The
//! remaining data files are on disk at their full length, as holes ([`toise_lake::partial`]). Bytes of them that a
//! request reads are fetched from the object store, verified, and kept. [`RemoteSpans`] counts them. When they exceed
//! the replica's limit, the fetched bytes of the least recently fetched files are dropped.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use toise_base::missing::optional;
use toise_lake::partial::{self, SpanSource};
use toise_lake::snapshot::{DataFileEntry, Snapshot};
use tokio::runtime::Builder;
use tokio::sync::mpsc;

use super::digests::replace;
use super::manifest::{Content, Manifest, to_json};
use super::remote::Remote;
use super::{Error, Result};

/// Maximum wait of a reader for bytes from the object store, all attempts included.
const FETCH_WAIT_MAX: Duration = Duration::from_secs(20);
/// Name of the holdings file in messages.
const HOLDINGS_NAME: &str = "holdings of the replica";
/// Maximum requests for bytes that wait for the thread that sends them.
const FETCHES_WAITING_MAX: usize = 256;

/// The part of a publication that a replica holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holdings {
    /// Codes of departments; empty for all of France.
    pub departments: Vec<String>,
    /// Maximum bytes of other departments that are kept after they were fetched.
    pub fetched_bytes_max: u64,
}

impl Holdings {
    /// Returns whether all data files are held.
    pub fn is_all(&self) -> bool {
        self.departments.is_empty()
    }

    /// Reads the holdings with which a snapshot was installed; all departments if there is no file.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let Some(text) = optional(fs::read(path)).map_err(Error::io(path))? else {
            return Ok(Self::default());
        };
        serde_json::from_slice(&text).map_err(|error| Error::Unreadable {
            path: path.display().to_string(),
            reason: error.to_string(),
        })
    }

    /// Writes the holdings to a file.
    pub(crate) fn write(&self, path: &Path) -> Result<()> {
        replace(path, &to_json(self, HOLDINGS_NAME)?)
    }

    /// Adds the paths of a table's files that are held only as holes to a set.
    pub(crate) fn add_holes(&self, folder: &str, snapshot: &Snapshot, holes: &mut HashSet<String>) {
        for entry in &snapshot.parts {
            if !entry.may_have_rows_of(&self.departments) {
                holes.extend(files_with_holes(entry).map(|name| format!("{folder}/{name}")));
            }
        }
    }
}

/// Returns the names of the files of a data file that may have holes: all but the checksums.
fn files_with_holes(entry: &DataFileEntry) -> impl Iterator<Item = String> {
    let [rows, ids, _sums] = entry.files();
    [rows, ids].into_iter()
}

/// Fetches the bytes that a replica does not hold.
#[derive(Debug)]
pub struct RemoteSpans {
    requests: mpsc::Sender<SpanRequest>,
    files: Mutex<KnownFiles>,
    fetched_bytes_max: u64,
}

#[derive(Debug)]
struct SpanRequest {
    content: Content,
    bytes: Range<u64>,
    answer: SyncSender<Result<Bytes>>,
}

/// The content of the data files and, for those with holes, how many bytes were fetched.
#[derive(Debug, Default)]
struct KnownFiles {
    contents: HashMap<PathBuf, Content>,
    /// For each file with holes: the bytes that are on disk, and the number of the last fetch from it.
    fetched: HashMap<PathBuf, (u64, u64)>,
    fetches: u64,
}

impl RemoteSpans {
    /// Starts the thread that talks to the object store. The thread ends when the returned value is dropped.
    ///
    /// # Errors
    /// The system cannot start a thread.
    pub fn start(remote: Remote, fetched_bytes_max: u64) -> io::Result<Self> {
        let (requests, mut received) = mpsc::channel::<SpanRequest>(FETCHES_WAITING_MAX);
        // Readers block until they have their bytes, on any thread, so the requests have a separate runtime.
        let runtime = Builder::new_current_thread().enable_all().build()?;
        thread::Builder::new().name("spans".into()).spawn(move || {
            runtime.block_on(async move {
                while let Some(request) = received.recv().await {
                    let remote = remote.clone();
                    tokio::spawn(async move {
                        let fetched = remote.range(&request.content, request.bytes).await;
                        // The reader may have given up waiting.
                        let _ = request.answer.try_send(fetched);
                    });
                }
            });
        })?;
        Ok(Self {
            requests,
            files: Mutex::default(),
            fetched_bytes_max,
        })
    }

    /// Sets the content of the data files of the installed snapshots, and which of them have holes.
    pub(crate) fn set_known_files<'m>(
        &self,
        data: &Path,
        manifests: impl Iterator<Item = &'m Manifest>,
        holes: &HashSet<String>,
    ) {
        let mut files = self.files.lock();
        files.contents = manifests
            .flat_map(|manifest| &manifest.files)
            .map(|file| (data.join(&file.path), file.content.clone()))
            .collect();
        let former = std::mem::take(&mut files.fetched);
        files.fetched = holes
            .iter()
            .map(|path| {
                let path = data.join(path);
                let known = former.get(&path).copied();
                let known = known.or_else(|| Some((partial::allocated(&path).ok()?, 0)));
                (path, known.unwrap_or_default())
            })
            .collect();
    }

    /// Counts bytes fetched of a file, and frees space if there are too many.
    fn count(&self, file: &Path, bytes: u64) {
        let mut files = self.files.lock();
        files.fetches += 1;
        let now = files.fetches;
        let Some(fetched) = files.fetched.get_mut(file) else {
            // The file has no holes; the fetched bytes replace damaged ones and need no more space.
            return;
        };
        *fetched = (fetched.0 + bytes, now);
        let mut total: u64 = files.fetched.values().map(|(bytes, _)| bytes).sum();
        while total > self.fetched_bytes_max {
            let others = files.fetched.iter_mut();
            let oldest = others
                .filter(|(path, (bytes, _))| *bytes > 0 && path.as_path() != file)
                .min_by_key(|(_, (_, at))| *at);
            let Some((path, (bytes, _))) = oldest else {
                return;
            };
            if let Err(error) = partial::release_disk_space(path) {
                tracing::warn!(file = %path.display(), %error, "cannot free the space of a file");
            }
            total -= *bytes;
            *bytes = 0;
        }
    }
}

impl SpanSource for RemoteSpans {
    fn fetch(&self, file: &Path, bytes: Range<u64>) -> io::Result<Bytes> {
        let content = self.files.lock().contents.get(file).cloned();
        let content = content.ok_or_else(|| {
            io::Error::new(
                io::ErrorKind::NotFound,
                "no installed snapshot names this file",
            )
        })?;
        let (answer, answered) = sync_channel(1);
        let length = bytes.end - bytes.start;
        let request = SpanRequest {
            content,
            bytes,
            answer,
        };
        let busy = |_| io::Error::other("too many requests wait for the object store");
        self.requests.try_send(request).map_err(busy)?;
        match answered.recv_timeout(FETCH_WAIT_MAX) {
            Ok(Ok(fetched)) => {
                self.count(file, length);
                Ok(fetched)
            }
            Ok(Err(error)) => Err(io::Error::other(error)),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                let seconds = FETCH_WAIT_MAX.as_secs();
                let text = format!("the object store did not answer within {seconds} s");
                Err(io::Error::new(io::ErrorKind::TimedOut, text))
            }
        }
    }
}
