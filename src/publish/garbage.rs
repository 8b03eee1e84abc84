//! Deletes manifests and objects that no kept snapshot needs.
//!
//! It keeps the newest snapshots and everything younger than a grace period: a running publication has written objects
//! that no manifest names yet, and a replica may still be downloading a snapshot that was just replaced. Manifests are
//! deleted before objects, so a snapshot that is listed is complete. Right before an object is deleted, its age is read
//! again, because a publication that needs it may have rewritten it.

use std::collections::HashSet;

use chrono::{DateTime, TimeDelta, Utc};
use futures::{StreamExt, TryStreamExt, stream};
use indicatif::ProgressBar;
use serde::Serialize;

use super::manifest::{MANIFEST_BYTES_MAX, Manifest, OBJECTS};
use super::remote::Remote;
use super::settings::OBJECTS_AT_ONCE;
use super::{Error, Result};

/// Limits on what a collection keeps.
#[derive(Clone, Copy, Debug)]
pub struct Retention {
    /// Snapshots, the current one included; at least 1.
    pub keep: usize,
    /// Age below which nothing is deleted.
    pub grace: TimeDelta,
}

/// Whether a collection deletes anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// It only reports what it would delete.
    DryRun,
    /// It deletes.
    Delete,
}

/// Result of a collection.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Collection {
    /// Numbers of the kept snapshots.
    pub kept: Vec<u64>,
    /// Numbers of the deleted snapshots; in a dry run, of those that would be deleted.
    pub snapshots: Vec<u64>,
    /// Number of deleted objects; in a dry run, of those that would be deleted.
    pub objects: usize,
    /// Total length of these objects, bytes.
    pub bytes: u64,
    /// Number of objects that no snapshot names but that are too young to delete.
    pub young: usize,
}

/// Deletes manifests and objects that no kept snapshot needs, as of `now`. `bar` counts snapshots as they are
/// read, and manifests and objects as they are deleted.
///
/// # Errors
/// Nothing was published; a kept manifest cannot be read, in which case nothing is deleted; the object store fails.
pub async fn collect(
    remote: &Remote,
    retention: Retention,
    now: DateTime<Utc>,
    mode: Mode,
    bar: &ProgressBar,
) -> Result<Collection> {
    let is_old = |written: DateTime<Utc>| now - written >= retention.grace;
    // Listed first, so that objects written later are not in the list.
    let objects = remote.list(OBJECTS).await?;
    let Some(current) = remote.pointer().await? else {
        return Err(Error::NothingPublished(remote.url().to_owned()));
    };
    let current = current.pointer.number;
    let snapshots = remote.snapshots().await?;
    let numbers = snapshots.iter().map(|(number, ..)| *number);
    let published: Vec<u64> = numbers.filter(|number| *number <= current).collect();
    let first_kept = published.len().saturating_sub(retention.keep.max(1));
    let kept: HashSet<u64> = published[first_kept..].iter().copied().collect();
    let mut found = Collection::default();
    let mut named = HashSet::new();
    let mut gone = Vec::new();
    bar.set_length(snapshots.len() as u64);
    for (number, path, meta) in &snapshots {
        bar.inc(1);
        // A number above the current one may become current at any time, until it is old.
        if !kept.contains(number) && is_old(meta.last_modified) {
            found.snapshots.push(*number);
            gone.push(path.clone());
            continue;
        }
        let Some(manifest) = remote.manifest_at(path, MANIFEST_BYTES_MAX).await? else {
            continue;
        };
        found.kept.push(*number);
        named.extend(manifest.contents().map(super::manifest::Content::path));
    }
    if !found.kept.contains(&current) {
        return Err(Error::Missing {
            name: format!("snapshot {current}"),
            path: Manifest::path_of(current),
        });
    }
    let (old, young): (Vec<_>, Vec<_>) = objects
        .into_iter()
        .filter(|(path, _)| !named.contains(path))
        .partition(|(_, meta)| is_old(meta.last_modified));
    found.young = young.len();
    if mode == Mode::DryRun {
        found.objects = old.len();
        found.bytes = old.iter().map(|(_, meta)| meta.size).sum();
        return Ok(found);
    }
    bar.inc_length((gone.len() + old.len()) as u64);
    for path in gone {
        remote.delete(&path).await?;
        bar.inc(1);
    }
    let deletions = old.into_iter().map(|(path, meta)| async move {
        let deleted = match remote.head(&path).await? {
            Some(present) if is_old(present.last_modified) => {
                remote.delete(&path).await?;
                Some(meta.size)
            }
            _ => None,
        };
        bar.inc(1);
        Ok::<_, Error>(deleted)
    });
    let deleted: Vec<Option<u64>> = stream::iter(deletions)
        .buffer_unordered(OBJECTS_AT_ONCE)
        .try_collect()
        .await?;
    found.objects = deleted.iter().flatten().count();
    found.bytes = deleted.iter().flatten().sum();
    Ok(found)
}
