//! Reads and writes the files of commands on object storage: input that is read to a local file, and results that
//! replace previous ones.

use std::path::Path as FilePath;

use bytes::{Bytes, BytesMut};
use futures::StreamExt;
use object_store::{
    Error as RemoteError, GetOptions, GetRange, ObjectStoreExt, PutMode, PutPayload, WriteMultipart,
};
use tokio::fs::File;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::{Remote, cut_short};
use crate::retry::remote;
use crate::{Error, Result};

/// Bytes per request of an upload.
const PART_BYTES: usize = 8 << 20;
/// Maximum parts in flight.
const PARTS_AT_ONCE: usize = 4;
/// Maximum times in a row that a download is continued without a byte of progress.
const STALLS_MAX: u32 = 8;

impl Remote {
    /// Opens the folder that contains the object of a URL. Returns it with the name of the object in it.
    ///
    /// # Errors
    /// As for [`Remote::open`]; the URL names no object.
    pub fn of_object(url: &str, policy: crate::retry::RetryPolicy) -> Result<(Self, String)> {
        let wrong = |reason: &str| Error::Url {
            url: url.to_owned(),
            reason: reason.to_owned(),
        };
        match url.rsplit_once('/') {
            Some((folder, name)) if !name.is_empty() && folder.contains("://") => {
                Ok((Self::open(folder, policy)?, name.to_owned()))
            }
            _ => Err(wrong("it does not name an object")),
        }
    }

    /// Reads a whole object of at most `bytes_max` bytes; `None` if there is none.
    ///
    /// # Errors
    /// It is longer, or there is no answer.
    pub async fn whole(&self, path: &str, bytes_max: u64) -> Result<Option<Bytes>> {
        self.small(path, bytes_max).await
    }

    /// Returns the length of an object; `None` if there is none.
    ///
    /// # Errors
    /// No answer.
    pub async fn length(&self, path: &str) -> Result<Option<u64>> {
        Ok(self.head(path).await?.map(|found| found.size))
    }

    /// Returns the names of the objects in a folder, relative to the prefix.
    ///
    /// # Errors
    /// No answer.
    pub async fn names(&self, folder: &str) -> Result<Vec<String>> {
        let listed = self.list(folder).await?.into_iter();
        Ok(listed.map(|(path, _)| path).collect())
    }

    /// Writes an object, replacing the previous one.
    ///
    /// # Errors
    /// The object store refuses it or does not answer.
    pub async fn replace(&self, path: &str, bytes: &Bytes) -> Result<()> {
        let at = self.at(path);
        let put = self.policy.run(path, || {
            let payload = PutPayload::from_bytes(bytes.clone());
            self.store.put_opts(&at, payload, PutMode::Overwrite.into())
        });
        put.await?;
        self.flush(path)
    }

    /// Deletes an object; succeeds if it is already gone.
    ///
    /// # Errors
    /// No answer.
    pub async fn remove(&self, path: &str) -> Result<()> {
        self.delete(path).await
    }

    /// Reads an object to a local file, continuing where an answer broke off.
    ///
    /// # Errors
    /// There is no such object, it changes during the download, no answer, or the file cannot be written.
    pub async fn download(
        &self,
        path: &str,
        to: &FilePath,
        progress: &(dyn Fn(u64) + Sync),
    ) -> Result<()> {
        let found = self.head(path).await?.ok_or_else(|| Error::Missing {
            name: "the file".into(),
            path: path.to_owned(),
        })?;
        let at = self.at(path);
        let mut file = File::create(to).await.map_err(Error::io(to))?;
        let (mut length, mut stalls) = (0, 0);
        while length < found.size {
            let options = GetOptions {
                range: Some(GetRange::Offset(length)),
                if_match: found.e_tag.clone(),
                ..GetOptions::default()
            };
            let answer = self
                .policy
                .run(path, || self.store.get_opts(&at, options.clone()))
                .await?;
            let (mut pieces, begun) = (answer.into_stream(), length);
            while let Some(Ok(piece)) = pieces.next().await {
                file.write_all(&piece).await.map_err(Error::io(to))?;
                length += piece.len() as u64;
                progress(piece.len() as u64);
            }
            stalls = if length > begun { 0 } else { stalls + 1 };
            if stalls > STALLS_MAX {
                return Err(remote(path, cut_short(length, found.size)));
            }
        }
        file.flush().await.map_err(Error::io(to))
    }

    /// Writes a local file as an object. Readers see the previous object until the last byte was sent.
    ///
    /// # Errors
    /// The file cannot be read, or the object store refuses it or does not answer.
    pub async fn store_file(&self, path: &str, from: &FilePath) -> Result<()> {
        let mut attempts = 1;
        loop {
            let error = match self.send_file(path, from).await {
                Ok(()) => return self.flush(path),
                Err(error) => error,
            };
            let is_lasting = !matches!(error, Error::Remote { .. });
            if is_lasting || attempts >= self.policy.attempts_max {
                return Err(error);
            }
            tokio::time::sleep(self.policy.backoff(attempts)).await;
            attempts += 1;
        }
    }

    async fn send_file(&self, path: &str, from: &FilePath) -> Result<()> {
        let failed = |source: RemoteError| remote(path, source);
        let mut file = File::open(from).await.map_err(Error::io(from))?;
        let upload = self.store.put_multipart(&self.at(path)).await;
        let mut parts = WriteMultipart::new_with_chunk_size(upload.map_err(failed)?, PART_BYTES);
        loop {
            let mut part = BytesMut::with_capacity(PART_BYTES);
            if file.read_buf(&mut part).await.map_err(Error::io(from))? == 0 {
                break;
            }
            parts
                .wait_for_capacity(PARTS_AT_ONCE)
                .await
                .map_err(failed)?;
            parts.put(part.freeze());
        }
        parts.finish().await.map_err(failed)?;
        Ok(())
    }
}
