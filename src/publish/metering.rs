//! Files with the consumption that replicas metered, beside the snapshots: `metering/<replica>/<number>.json`.
//!
//! A file is created once and never changed; the writer deletes it when its sums are in the ledger. What is in the files is
//! the business of the room `accounts`.

use bytes::Bytes;

use super::remote::Remote;
use super::{Error, Result};

/// Folder of the files.
const FOLDER: &str = "metering";
/// Maximum length of a file, bytes.
const BYTES_MAX: u64 = 16 << 20;

/// Creates the file of a shipment; one that is there with the same bytes is its own.
///
/// # Errors
/// There is one with other bytes: two replicas have the identity of one, because a data folder was copied. The object store
/// fails.
pub async fn send(remote: &Remote, replica: &str, shipment: i64, body: String) -> Result<()> {
    let path = format!("{FOLDER}/{replica}/{shipment:010}.json");
    match remote.create(&path, &Bytes::from(body)).await? {
        true => Ok(()),
        false => Err(Error::Unreadable {
            path,
            reason: "was sent by another replica with the identity of this one: a data folder was copied".into(),
        }),
    }
}

/// Paths of the files that are there.
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

/// The bytes of a file; `None` if it is gone.
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
