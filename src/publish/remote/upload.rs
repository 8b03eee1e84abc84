//! Uploads content: in one request or in parts, repeated after errors, and checked afterwards.

use std::path::Path as FilePath;
use std::time::Duration;

use bytes::Bytes;
use chrono::{DateTime, Utc};
use object_store::{
    Error as RemoteError, ObjectMeta, ObjectStoreExt, PutMode, PutPayload, WriteMultipart,
};
use tokio::io::AsyncReadExt;

use super::Remote;
use crate::manifest::Content;
use crate::retry::{is_final, remote};
use crate::{Error, Result};

/// Content up to this length is sent in one request, bytes; it is in memory during that time.
const SINGLE_BYTES_MAX: u64 = 16 << 20;
/// Length of the parts of longer content, bytes.
const PART_BYTES: usize = 8 << 20;
/// Maximum parts of one object in flight.
const PARTS_AT_ONCE: usize = 4;
/// Minimum speed of an upload of long content, bytes per second; a slower one times out.
const SLOWEST_BYTES_PER_S: u64 = 128 << 10;

/// The result of an upload of content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Upload {
    /// It was written.
    Written,
    /// It was already there.
    Present,
}

impl Remote {
    /// Uploads the content of a file, unless the object has the full length and was written at or after `since`.
    /// `progress` is called with the number of bytes that no longer have to be sent.
    ///
    /// # Errors
    /// The file does not hold that content, or the object store refuses it or does not answer.
    pub async fn upload(
        &self,
        content: &Content,
        from: &FilePath,
        since: DateTime<Utc>,
        progress: &(dyn Fn(u64) + Sync),
    ) -> Result<Upload> {
        let path = content.path();
        let upload = if content.bytes <= SINGLE_BYTES_MAX {
            self.upload_at_once(&path, content, from, since).await?
        } else {
            self.upload_in_parts(&path, content, from, since).await?
        };
        progress(content.bytes);
        Ok(upload)
    }

    async fn upload_at_once(
        &self,
        path: &str,
        content: &Content,
        from: &FilePath,
        since: DateTime<Utc>,
    ) -> Result<Upload> {
        let bytes = tokio::fs::read(from).await.map_err(Error::io(from))?;
        if Content::of(&bytes) != *content {
            return Err(changed(from));
        }
        let (at, bytes) = (self.at(path), Bytes::from(bytes));
        let put = |mode: PutMode| {
            let (at, payload) = (&at, PutPayload::from_bytes(bytes.clone()));
            async move { self.store.put_opts(at, payload, mode.into()).await }
        };
        match self.policy.run(path, || put(PutMode::Create)).await {
            Ok(_) => {}
            Err(Error::Remote {
                source: RemoteError::AlreadyExists { .. } | RemoteError::Precondition { .. },
                ..
            }) => {
                if self.is_present(path, content, since).await? {
                    return Ok(Upload::Present);
                }
                self.policy.run(path, || put(PutMode::Overwrite)).await?;
            }
            Err(error) => return Err(error),
        }
        self.confirm(path, content).await
    }

    /// Sends long content in parts. Uploads in parts cannot be conditional, so an existing object is looked up first.
    async fn upload_in_parts(
        &self,
        path: &str,
        content: &Content,
        from: &FilePath,
        since: DateTime<Utc>,
    ) -> Result<Upload> {
        if self.is_present(path, content, since).await? {
            return Ok(Upload::Present);
        }
        self.send_in_parts(path, Some(content), from).await?;
        self.confirm(path, content).await
    }

    /// Sends a file in parts, repeated after errors; with `content`, only if the file holds that.
    pub(super) async fn send_in_parts(
        &self,
        path: &str,
        content: Option<&Content>,
        from: &FilePath,
    ) -> Result<()> {
        let about = tokio::fs::metadata(from).await.map_err(Error::io(from))?;
        let longest =
            self.policy.answer_timeout + Duration::from_secs(about.len() / SLOWEST_BYTES_PER_S);
        let mut attempts = 1;
        loop {
            let sent = tokio::time::timeout(longest, self.send_parts(path, content, from)).await;
            let error = match sent {
                Ok(Err(Error::Remote { source, path })) if !is_final(&source) => {
                    Error::Remote { path, source }
                }
                Ok(sent) => return sent,
                Err(_elapsed) => self.policy.timed_out(path),
            };
            if attempts >= self.policy.attempts_max {
                return Err(error);
            }
            tokio::time::sleep(self.policy.backoff(attempts)).await;
            attempts += 1;
        }
    }

    async fn send_parts(
        &self,
        path: &str,
        content: Option<&Content>,
        from: &FilePath,
    ) -> Result<()> {
        let failed = |source| remote(path, source);
        let upload = self.store.put_multipart(&self.at(path)).await;
        let mut parts = WriteMultipart::new_with_chunk_size(upload.map_err(failed)?, PART_BYTES);
        match send_file(&mut parts, path, from).await {
            Ok(sent) if content.is_none_or(|content| sent == *content) => {
                parts.finish().await.map(drop).map_err(failed)
            }
            outcome => {
                // Discards the parts that were sent, which would be billed. If the store does not answer this either,
                // its rules for incomplete uploads remove them.
                let _ = parts.abort().await;
                outcome.and(Err(changed(from)))
            }
        }
    }

    /// Returns whether the content exists and does not have to be written again.
    async fn is_present(
        &self,
        path: &str,
        content: &Content,
        since: DateTime<Utc>,
    ) -> Result<bool> {
        let found = self.head(path).await?;
        let is_fresh =
            |found: ObjectMeta| found.size == content.bytes && found.last_modified >= since;
        Ok(found.is_some_and(is_fresh))
    }

    /// Checks that the written object has its full length, which an upload that was cut short lacks.
    async fn confirm(&self, path: &str, content: &Content) -> Result<Upload> {
        self.flush(path)?;
        match self.head(path).await? {
            Some(found) if found.size == content.bytes => Ok(Upload::Written),
            found => Err(Error::Corrupt {
                name: "an upload".into(),
                path: path.to_owned(),
                reason: format!(
                    "{} bytes were sent, {} are stored",
                    content.bytes,
                    found.map_or(0, |found| found.size)
                ),
            }),
        }
    }
}

/// Sends a file in parts. Returns the content that was sent.
async fn send_file(parts: &mut WriteMultipart, path: &str, from: &FilePath) -> Result<Content> {
    let mut file = tokio::fs::File::open(from).await.map_err(Error::io(from))?;
    let mut hasher = blake3::Hasher::new();
    let mut length = 0;
    loop {
        let mut part = bytes::BytesMut::with_capacity(PART_BYTES);
        while part.len() < PART_BYTES {
            let read = file.read_buf(&mut part).await.map_err(Error::io(from))?;
            if read == 0 {
                break;
            }
        }
        if part.is_empty() {
            break;
        }
        hasher.update(&part);
        length += part.len() as u64;
        let ready = parts.wait_for_capacity(PARTS_AT_ONCE).await;
        ready.map_err(|source| remote(path, source))?;
        parts.put(part.freeze());
    }
    Ok(Content {
        blake3: hasher.finalize().to_hex().to_string(),
        bytes: length,
    })
}

/// Creates the error for a file that does not hold the bytes that were captured.
fn changed(from: &FilePath) -> Error {
    Error::Damaged {
        path: from.to_owned(),
        reason: "its bytes changed while they were read".into(),
    }
}
