//! Files with the consumption that replicas metered, next to the snapshots: `metering/<replica>/<number>.json`.
//!
//! A file is created once and never changed; the writer deletes it when its sums are in the ledger. The `accounts`
//! crate defines the contents of the files.

use bytes::Bytes;

use super::remote::Remote;
use super::{Error, Result};

/// Folder of the files.
const FOLDER: &str = "metering";
/// Maximum length of a file, bytes.
const BYTES_MAX: u64 = 16 << 20;

/// Creates the file of a shipment. Succeeds if the file exists with the same bytes.
///
/// # Errors
/// The file exists with other bytes: two replicas have the same identity, because a data folder was copied. The object
/// store fails.
pub async fn send(remote: &Remote, replica: &str, shipment: i64, body: String) -> Result<()> {
    let path = format!("{FOLDER}/{replica}/{shipment:010}.json");
    if remote.create(&path, &Bytes::from(body)).await? {
        Ok(())
    } else {
        Err(Error::Unreadable {
            path,
            reason: "was sent by another replica with the identity of this one: a data folder was copied".into(),
        })
    }
}

/// Returns the paths of the files, sorted.
///
/// # Errors
/// The object store fails.
pub async fn list(remote: &Remote) -> Result<Vec<String>> {
    let mut paths: Vec<String> = remote
        .list(FOLDER)
        .await?
        .into_iter()
        .map(|it| it.0)
        .collect();
    paths.sort();
    Ok(paths)
}

/// Reads the bytes of a file; `None` if it is gone.
///
/// # Errors
/// The object store fails.
pub async fn read(remote: &Remote, path: &str) -> Result<Option<Bytes>> {
    remote.small(path, BYTES_MAX).await
}

/// Deletes a file whose sums are in the ledger.
///
/// # Errors
/// The object store fails.
pub async fn delete(remote: &Remote, path: &str) -> Result<()> {
    remote.delete(path).await
}
