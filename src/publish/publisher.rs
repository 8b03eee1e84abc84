//! Publishes a data folder: captures its state, uploads new content, and makes the snapshot current.
//!
//! 1. Read the pointer and the manifest that it names: their objects exist and are not sent again.
//! 2. Capture the data folder ([`super::capture`]).
//! 3. Upload content that the manifest does not name, several objects at once, each named by its digest.
//! 4. Create the numbered manifest. A number is skipped if it is taken by a publication that never ended or is running.
//! 5. Replace the pointer if it is still the one that step 1 read. Otherwise another publisher was faster: the error
//!    names it, and nothing changes for readers.
//!
//! A process that is killed in between leaves objects that nobody reads; the next publication finds them and continues.

use std::collections::HashSet;
use std::path::Path;

use bytes::Bytes;
use chrono::{DateTime, TimeDelta, Utc};
use futures::{StreamExt, TryStreamExt, stream};
use indicatif::ProgressBar;
use serde::Serialize;

use super::capture::Capture;
use super::manifest::{Content, FORMAT, Manifest, Pointer, to_json};
use super::remote::{Exchange, ReadPointer, Remote, Upload};
use super::settings::OBJECTS_AT_ONCE;
use super::{Error, Result};
use toise_base::clock::{Clock, iso};
use toise_lake::check::Damage;
use toise_store::exchange::schema_version;

/// Existing content older than this is written again. A garbage collection that found it unused then sees that it is in
/// use again.
const RENEWED_AFTER: TimeDelta = TimeDelta::hours(1);
/// Maximum numbers to try for a new manifest.
const NUMBERS_TRIED: u64 = 64;

/// Who publishes, and what it publishes.
#[derive(Clone, Debug)]
pub struct Publisher {
    /// Host and process; named in the error of a publisher that is overtaken.
    pub name: String,
    /// Version of toise.
    pub version: String,
    /// Address at which the writer takes requests that replicas refuse.
    pub writer: Option<String>,
    /// Which content is sent.
    pub extent: Extent,
    /// Returns the damage in the models and indexes of a copy of a data folder.
    pub verify: fn(&Path) -> Vec<Damage>,
}

/// The content that a publication sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Content that the previous snapshot does not name.
    New,
    /// All content, even if it exists: repairs a prefix in which objects were lost or damaged.
    All,
}

/// Result of a publication.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Publication {
    /// Number of the snapshot that is current now.
    pub number: u64,
    /// When its state was captured, ISO 8601.
    pub created_at: String,
    /// Whether this publication created it; otherwise nothing had changed since the previous one.
    pub is_new: bool,
    /// Files of the data folder.
    pub files: usize,
    /// Blocks of rows of the store.
    pub blocks: usize,
    /// Length of all of them, bytes.
    pub bytes: u64,
    /// Objects that were sent.
    pub uploaded: usize,
    /// Total length of these objects, bytes.
    pub uploaded_bytes: u64,
}

impl Publication {
    fn of(manifest: &Manifest, uploaded: Option<(usize, u64)>) -> Self {
        let (count, bytes) = uploaded.unwrap_or_default();
        Self {
            number: manifest.number,
            created_at: manifest.created_at.clone(),
            is_new: uploaded.is_some(),
            files: manifest.files.len(),
            blocks: manifest.rows.len(),
            bytes: manifest.bytes(),
            uploaded: count,
            uploaded_bytes: bytes,
        }
    }
}

/// Publishes a data folder. Returns once the snapshot is current.
///
/// # Errors
/// The data folder cannot be captured; the object store fails; [`Error::Overtaken`] if another publisher was faster.
/// Readers then see the previous snapshot.
pub async fn publish(
    data: &Path,
    remote: &Remote,
    publisher: &Publisher,
    clock: &Clock,
    progress: &ProgressBar,
) -> Result<Publication> {
    let former = remote.pointer().await?;
    let base = match &former {
        Some(former) => Some(remote.manifest(&former.pointer).await?),
        None => None,
    };
    let captured = clock.now();
    let known: HashSet<Content> = match publisher.extent {
        Extent::New => base.iter().flat_map(Manifest::contents).cloned().collect(),
        Extent::All => HashSet::new(),
    };
    let (folder, reading) = (data.to_owned(), progress.clone());
    let verify = publisher.verify;
    let capture = tokio::task::spawn_blocking(move || {
        let is_known = |content: &Content| known.contains(content);
        let capture = Capture::take(&folder, &is_known, &verify, &|read| reading.inc(read));
        capture.map(|capture| (capture, known))
    });
    let (capture, known) = match capture.await {
        Ok(capture) => capture?,
        Err(error) => return Err(super::retry::remote("the data folder", error.into())),
    };
    let number = former.as_ref().map_or(0, |former| former.pointer.number);
    let manifest = Manifest {
        format: FORMAT,
        number: number + 1,
        created_at: iso(captured),
        publisher: publisher.name.clone(),
        version: publisher.version.clone(),
        writer: publisher.writer.clone(),
        store_schema: schema_version(),
        files: capture.files.clone(),
        rows: capture.rows.clone(),
    };
    let same = base.as_ref().filter(|base| base.is_same_state(&manifest));
    if let (Some(base), Extent::New) = (same, publisher.extent) {
        return Ok(Publication::of(base, None));
    }
    let since = match publisher.extent {
        Extent::New => captured - RENEWED_AFTER,
        Extent::All => DateTime::<Utc>::MAX_UTC,
    };
    let sent = upload(&capture, &manifest, &known, remote, since, progress).await?;
    let (manifest, content) = number_manifest(manifest, remote).await?;
    make_current(&manifest, content, former.as_ref(), remote).await?;
    Ok(Publication::of(&manifest, Some(sent)))
}

/// Uploads new content. Returns the number and bytes of the objects that were sent.
async fn upload(
    capture: &Capture,
    manifest: &Manifest,
    known: &HashSet<Content>,
    remote: &Remote,
    since: DateTime<Utc>,
    progress: &ProgressBar,
) -> Result<(usize, u64)> {
    let contents = manifest.distinct_contents().into_iter();
    let new: Vec<&Content> = contents
        .filter(|content| !known.contains(*content))
        .collect();
    progress.set_position(0);
    progress.set_message("uploading");
    progress.set_length(new.iter().map(|content| content.bytes).sum());
    let uploads = new.into_iter().map(|content| async move {
        let file = capture.file_of(content);
        let sent = remote
            .upload(content, &file, since, &|bytes| progress.inc(bytes))
            .await?;
        Ok::<u64, Error>(match sent {
            Upload::Written => content.bytes,
            Upload::Present => 0,
        })
    });
    stream::iter(uploads)
        .buffer_unordered(OBJECTS_AT_ONCE)
        .try_fold((0, 0), async |(count, bytes), sent| {
            Ok((count + usize::from(sent > 0), bytes + sent))
        })
        .await
}

/// Creates the manifest under the next free number.
async fn number_manifest(mut manifest: Manifest, remote: &Remote) -> Result<(Manifest, Content)> {
    let first = manifest.number;
    for number in first..first + NUMBERS_TRIED {
        manifest.number = number;
        let path = Manifest::path_of(number);
        let bytes = Bytes::from(to_json(&manifest, &path)?);
        let content = Content::of(&bytes);
        if remote.create(&path, &bytes).await? {
            return Ok((manifest, content));
        }
    }
    Err(Error::NoFreeNumber { number: first - 1 })
}

async fn make_current(
    manifest: &Manifest,
    content: Content,
    former: Option<&ReadPointer>,
    remote: &Remote,
) -> Result<()> {
    let pointer = Pointer {
        format: FORMAT,
        number: manifest.number,
        manifest: content,
        created_at: manifest.created_at.clone(),
        publisher: manifest.publisher.clone(),
    };
    match remote.exchange_pointer(&pointer, former).await? {
        Exchange::Done => Ok(()),
        Exchange::Lost(Some(found)) => Err(Error::Overtaken {
            number: found.number,
            publisher: found.publisher,
            created_at: found.created_at,
        }),
        Exchange::Lost(None) => Err(Error::NothingPublished(remote.url().to_owned())),
    }
}
