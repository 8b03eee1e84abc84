//! Reads and writes the files of commands on object storage: input that is read to a local file, and results that
//! replace previous ones.

use std::path::Path as FilePath;

use bytes::Bytes;
use futures::StreamExt;
use object_store::{GetOptions, GetRange, PutMode, PutPayload};
use tokio::fs::File;
use tokio::io::AsyncWriteExt;

use super::{Remote, cut_short};
use crate::retry::remote;
use crate::{Error, Result};

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
        self.send_in_parts(path, None, from).await?;
        self.flush(path)
    }
}
