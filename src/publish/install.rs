//! Moves downloaded files to their places in the data folder of a replica.
//!
//! Files are put in place before the files that name them. Data files, segments and models come first, then the rows of
//! the store, so that the store has all rows that tables and indexes show. The snapshots of tables and the files that
//! name the current model and addresses come last. Every step can be repeated. Running readers notice these last files
//! by themselves, as after an import by another process; a process that controls when it switches ([`super::follow`])
//! reads them at that time.

use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::capture::{
    ADDRESSES, CURRENT, LAKE, LAYER_METADATA, LAYERS, MODELS, TEXTS, entries, link_or_copy,
};
use super::digests::{replace, sync_folder};
use super::folder::{ReplicaFolder, applied_blocks};
use super::manifest::{Content, Manifest, PublishedBlock, PublishedFile};
use super::{Error, Result};
use toise_lake::{partial, snapshot};
use toise_store::Store;
use toise_store::exchange::{BlockExchange, ReplicatedRows};

/// Folder in which a text index is assembled.
const TEXTS_DRAFT: &str = "replica.new";

/// Puts the files that others name in place; those in `holes` without their content. A text index is installed once;
/// after that, it is updated from the rows.
pub(crate) fn place_files(
    replica: &ReplicaFolder,
    manifest: &Manifest,
    holes: &HashSet<String>,
) -> Result<()> {
    let mut folders = HashSet::new();
    for file in &manifest.files {
        if names_others(&file.path) || file.path.starts_with(TEXTS) {
            continue;
        }
        let to = replica.data().join(&file.path);
        if let Some(folder) = to.parent() {
            fs::create_dir_all(folder).map_err(Error::io(folder))?;
            folders.insert(folder.to_owned());
        }
        if holes.contains(&file.path) {
            place_hole(&replica.object(&file.content), &file.content, &to)?
        } else {
            place(&replica.object(&file.content), &to)?
        }
    }
    for folder in folders {
        sync_folder(&folder)?;
    }
    place_texts(replica, manifest)
}

/// Returns whether readers find other files through this one.
pub(crate) fn names_others(path: &str) -> bool {
    let is_snapshot = path.starts_with(LAKE) && path.ends_with(snapshot::FILE_NAME);
    let names = [MODELS, ADDRESSES].map(|folder| format!("{folder}/{CURRENT}"));
    let is_layer = path.starts_with(LAYERS) && path.ends_with(LAYER_METADATA);
    is_snapshot || is_layer || names.iter().any(|name| name == path)
}

/// Returns the folder of the table whose list has this path.
pub(crate) fn table_folder(path: &str) -> Option<&str> {
    let folder = path.strip_suffix(snapshot::FILE_NAME)?;
    folder
        .strip_suffix('/')
        .filter(|folder| folder.starts_with(LAKE))
}

/// Marks the tables whose files may have holes, so that no other program reads them.
pub(crate) fn mark(replica: &ReplicaFolder, manifest: &Manifest, is_whole: bool) -> Result<()> {
    for folder in manifest
        .files
        .iter()
        .filter_map(|file| table_folder(&file.path))
    {
        let folder = replica.data().join(folder);
        let marker = folder.join(partial::MARKER);
        if is_whole && !marker.exists() {
            continue;
        }
        let changed = if is_whole {
            fs::remove_file(&marker)
        } else {
            fs::write(&marker, "")
        };
        changed.map_err(Error::io(&marker))?;
        sync_folder(&folder)?;
    }
    Ok(())
}

/// Creates a hole of the length of some content, unless there is one already. Deletes the content if it was held.
fn place_hole(object: &Path, content: &Content, to: &Path) -> Result<()> {
    let was_held = object.exists();
    if was_held {
        fs::remove_file(object).map_err(Error::io(object))?;
    }
    if !was_held && fs::metadata(to).is_ok_and(|about| about.len() == content.bytes) {
        return Ok(());
    }
    partial::create_hole(to, content.bytes).map_err(Error::io(to))
}

/// Gives content the name of a file, atomically replacing a file with other content. Readers keep the file they opened.
fn place(object: &Path, to: &Path) -> Result<()> {
    let about = fs::metadata(object).map_err(Error::io(object))?;
    if fs::metadata(to).is_ok_and(|found| (found.dev(), found.ino()) == (about.dev(), about.ino()))
    {
        return Ok(());
    }
    let mut draft = to.as_os_str().to_owned();
    draft.push(".new");
    let draft = Path::new(&draft);
    let _ = fs::remove_file(draft);
    link_or_copy(object, draft)?;
    fs::rename(draft, to).map_err(Error::io(to))
}

/// Places the text index if there is none.
fn place_texts(replica: &ReplicaFolder, manifest: &Manifest) -> Result<()> {
    let folder = replica.data().join(TEXTS);
    if replica.has_text_index()? {
        return Ok(());
    }
    let inside = |file: &PublishedFile| {
        let rest = file.path.strip_prefix(TEXTS)?.strip_prefix('/')?;
        let (number, name) = rest.split_once('/')?;
        Some((number.to_owned(), name.to_owned(), file.content.clone()))
    };
    let files: Vec<(String, String, Content)> = manifest.files.iter().filter_map(inside).collect();
    let Some((number, ..)) = files.first() else {
        return Ok(());
    };
    let draft = folder.join(TEXTS_DRAFT);
    let _ = fs::remove_dir_all(&draft);
    fs::create_dir_all(&draft).map_err(Error::io(&draft))?;
    for (_, name, content) in &files {
        // Copied rather than linked, because this process writes the index and replaces its lists.
        let to = draft.join(name);
        fs::copy(replica.object(content), &to).map_err(Error::io(&to))?;
    }
    sync_folder(&draft)?;
    let to = folder.join(number);
    fs::rename(&draft, &to).map_err(Error::io(&to))?;
    sync_folder(&folder)
}

/// Exchanges the blocks of rows that differ, in one transaction.
pub(crate) fn exchange_rows(
    replica: &ReplicaFolder,
    manifest: &Manifest,
    store: &Store,
) -> Result<()> {
    let applied = store.replicated_rows()?;
    if applied.is_some_and(|applied| applied.number == manifest.number) {
        return Ok(());
    }
    let former = applied_blocks(store)?;
    let there: HashSet<&PublishedBlock> = former.iter().collect();
    let wanted: HashSet<&PublishedBlock> = manifest.rows.iter().collect();
    let removed = former.iter().filter(|block| !wanted.contains(block));
    let added = manifest.rows.iter().filter(|block| !there.contains(block));
    let blocks = super::manifest::to_json(&manifest.rows, "blocks of rows")?;
    store.exchange_blocks(BlockExchange {
        removed: removed.map(|block| block.block.clone()).collect(),
        added: added.map(|block| replica.object(&block.content)).collect(),
        next: ReplicatedRows {
            number: manifest.number,
            blocks: String::from_utf8_lossy(&blocks).into_owned(),
        },
    })?;
    Ok(())
}

/// Replaces the files that name others.
pub(crate) fn switch(replica: &ReplicaFolder, manifest: &Manifest) -> Result<()> {
    for file in manifest
        .files
        .iter()
        .filter(|file| names_others(&file.path))
    {
        let object = replica.object(&file.content);
        let text = fs::read(&object).map_err(Error::io(&object))?;
        let to = replica.data().join(&file.path);
        if fs::read(&to).is_ok_and(|present| present == text) {
            continue;
        }
        replace(&to, &text)?;
    }
    Ok(())
}

/// Deletes files that neither this nor the previous snapshot names, and content that is no longer needed. Requests that
/// started with the previous snapshot can finish with its files. Files that cannot be deleted are left for the next
/// call.
pub(crate) fn clean(replica: &ReplicaFolder, installed: &Manifest, former: Option<&Manifest>) {
    let files = installed.files.iter();
    let used: HashSet<&str> = files.map(|file| file.content.blake3.as_str()).collect();
    for name in entries(&replica.objects()).unwrap_or_default() {
        if !used.contains(name.as_str()) {
            let _ = fs::remove_file(replica.objects().join(name));
        }
    }
    let named: HashSet<&str> = [Some(installed), former]
        .into_iter()
        .flatten()
        .flat_map(|manifest| manifest.files.iter())
        .map(|file| file.path.as_str())
        .collect();
    let is_ours = |path: &str| {
        let ends = [".parquet", ".ids", ".sums", ".segment", LAYER_METADATA];
        ends.iter().any(|end| path.ends_with(end)) || path.starts_with(MODELS)
    };
    for folder in [LAKE, ADDRESSES, MODELS, LAYERS] {
        for child in entries(&replica.data().join(folder)).unwrap_or_default() {
            let path = format!("{folder}/{child}");
            let at = replica.data().join(&path);
            // Folders without an underscore are derived for other programs.
            if at.is_dir() && (folder != LAKE || child.starts_with('_')) {
                for name in entries(&at).unwrap_or_default() {
                    let inner = format!("{path}/{name}");
                    if is_ours(&inner) && !named.contains(inner.as_str()) {
                        let _ = fs::remove_file(at.join(name));
                    }
                }
                // Succeeds only if the folder is empty now.
                let _ = fs::remove_dir(&at);
            } else if is_ours(&path) && !named.contains(path.as_str()) {
                let _ = fs::remove_file(&at);
            }
        }
    }
}
