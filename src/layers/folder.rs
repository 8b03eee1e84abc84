//! Stores layers in folders: `layers/NAME/layer.json` and the data file that it names.
//!
//! A data file is named by its checksum and never changes. A layer is replaced by replacing `layer.json`; the previous
//! data file is kept until the next replacement, for queries that still read it.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use tempfile::NamedTempFile;
use toise_base::missing::optional;
use toise_base::staging;

use crate::error::{Error, Result};
use crate::metadata::{LayerMetadata, LayerName};

/// Folder of all layers in the data folder.
pub const FOLDER: &str = "layers";
/// File that describes a layer.
pub const METADATA_FILE: &str = "layer.json";
/// Maximum layers of a data folder.
pub const LAYERS_MAX: usize = 200;
/// Characters of a checksum in the name of a data file.
const CHECKSUM_CHARS: usize = 16;
/// Lock file in the data folder, held while a layer is stored or removed.
const LOCK_FILE: &str = "layers.lock";
/// Start of the names of files that are being written.
const DRAFT_PREFIX: &str = ".draft-";
/// Ending of data files.
const DATA_ENDING: &str = ".parquet";

/// Returns the folder of a layer.
pub(crate) fn folder(data: &Path, name: &LayerName) -> PathBuf {
    data.join(FOLDER).join(name.as_str())
}

/// Returns the path of the data file of a layer.
pub(crate) fn data_file(data: &Path, layer: &LayerMetadata) -> PathBuf {
    folder(data, &layer.name).join(&layer.data)
}

/// Reads all layers of a data folder, by name. Blocks.
///
/// # Errors
/// The folder cannot be read, or the description of a layer is damaged.
pub fn list(data: &Path) -> Result<Vec<LayerMetadata>> {
    let mut layers = Vec::new();
    for name in names(data)? {
        // A layer may be removed while the folder is read, so it may be absent here.
        layers.extend(find(data, &name)?);
    }
    Ok(layers)
}

/// Reads the layers of a data folder whose description is not damaged, by name. Blocks.
pub(crate) fn readable(data: &Path) -> Vec<LayerMetadata> {
    let names = names(data).unwrap_or_default();
    let found = names.iter().filter_map(|name| find(data, name).ok()?);
    found.collect()
}

/// Returns the names of the folders of layers, in order.
fn names(data: &Path) -> Result<Vec<LayerName>> {
    let path = data.join(FOLDER);
    let entries = optional(fs::read_dir(&path)).map_err(Error::io(&path))?;
    let mut names = Vec::new();
    for entry in entries.into_iter().flatten() {
        let name = entry.map_err(Error::io(&path))?.file_name();
        names.extend(name.to_str().and_then(|name| name.parse().ok()));
    }
    names.sort();
    Ok(names)
}

/// Reads the description of a layer; `None` if there is none. Blocks.
///
/// # Errors
/// It cannot be read, or is damaged.
pub fn find(data: &Path, name: &LayerName) -> Result<Option<LayerMetadata>> {
    let path = folder(data, name).join(METADATA_FILE);
    let Some(text) = optional(fs::read(&path)).map_err(Error::io(&path))? else {
        return Ok(None);
    };
    let damaged = |reason: String| Error::Damaged {
        name: name.to_string(),
        reason: format!("{METADATA_FILE}: {reason}"),
    };
    let layer: LayerMetadata =
        serde_json::from_slice(&text).map_err(|error| damaged(error.to_string()))?;
    if layer.name != *name || layer.data.contains(['/', '\\']) {
        return Err(damaged("it describes another layer".to_owned()));
    }
    Ok(Some(layer))
}

/// Returns the error for a layer that does not exist.
pub(crate) fn unknown(data: &Path, name: &str) -> Error {
    let known = names(data).unwrap_or_default();
    Error::Unknown {
        name: name.to_owned(),
        known: known.into_iter().map(String::from).collect(),
    }
}

/// Reads the data file of a layer and verifies it. Blocks.
///
/// # Errors
/// It cannot be read, or its checksum does not match.
pub(crate) fn read_verified(data: &Path, layer: &LayerMetadata) -> Result<Bytes> {
    let path = data_file(data, layer);
    let bytes = fs::read(&path).map_err(Error::io(&path))?;
    if blake3::hash(&bytes).to_hex().as_str() != layer.checksum {
        return Err(Error::Damaged {
            name: layer.name.to_string(),
            reason: format!("{}: its checksum does not match", layer.data),
        });
    }
    Ok(bytes.into())
}

/// Verifies all layers of a data folder. Returns each damaged one, and why. Blocks.
pub fn verify(data: &Path) -> Vec<Error> {
    let names = match names(data) {
        Ok(names) => names,
        Err(error) => return vec![error],
    };
    let check = |name: &LayerName| match find(data, name)? {
        Some(layer) => read_verified(data, &layer).map(drop),
        None => Ok(()),
    };
    names.iter().filter_map(|name| check(name).err()).collect()
}

/// Locks the layers of a data folder until the file is dropped.
fn lock(data: &Path) -> Result<File> {
    Ok(staging::lock(data, LOCK_FILE)?)
}

/// Creates a draft of a data file in the folder of a layer, and locks the layers until the returned lock is dropped.
///
/// # Errors
/// Another process is storing or removing a layer, there are [`LAYERS_MAX`] other layers, or a file cannot be created.
pub(crate) fn draft(data: &Path, name: &LayerName) -> Result<(NamedTempFile, File)> {
    let folder = folder(data, name);
    fs::create_dir_all(data).map_err(Error::io(data))?;
    let lock = lock(data)?;
    let others = names(data)?.into_iter().filter(|other| other != name);
    if others.count() >= LAYERS_MAX {
        return Err(Error::TooMany(LAYERS_MAX));
    }
    fs::create_dir_all(&folder).map_err(Error::io(&folder))?;
    Ok((new_draft(&folder)?, lock))
}

fn new_draft(folder: &Path) -> Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    let draft = builder.prefix(DRAFT_PREFIX).tempfile_in(folder);
    draft.map_err(Error::io(folder))
}

/// Stores a layer, replacing any of the same name. The draft becomes its data file. Returns once it is durable.
///
/// # Errors
/// A file cannot be written.
pub(crate) fn store(
    data: &Path,
    draft: NamedTempFile,
    mut layer: LayerMetadata,
) -> Result<LayerMetadata> {
    let folder = folder(data, &layer.name);
    let before = find(data, &layer.name).ok().flatten();
    layer.data = format!("{}{DATA_ENDING}", &layer.checksum[..CHECKSUM_CHARS]);
    let path = folder.join(&layer.data);
    draft.as_file().sync_all().map_err(Error::io(&path))?;
    draft
        .persist(&path)
        .map_err(|error| Error::io(&path)(error.error))?;
    sync(&folder)?;
    let path = folder.join(METADATA_FILE);
    let text = serde_json::to_vec_pretty(&layer).map_err(|error| Error::io(&path)(error.into()))?;
    let mut draft = new_draft(&folder)?;
    draft.write_all(&text).map_err(Error::io(&path))?;
    draft.as_file().sync_all().map_err(Error::io(&path))?;
    draft
        .persist(&path)
        .map_err(|error| Error::io(&path)(error.error))?;
    sync(&folder)?;
    let kept = [Some(&layer), before.as_ref()];
    remove_others(
        &folder,
        &kept.map(|layer| layer.map(|layer| layer.data.as_str())),
    )?;
    Ok(layer)
}

/// Removes the data files that are not kept, and drafts that killed processes left behind.
fn remove_others(folder: &Path, kept: &[Option<&str>]) -> Result<()> {
    for entry in fs::read_dir(folder).map_err(Error::io(folder))? {
        let entry = entry.map_err(Error::io(folder))?;
        let name = entry.file_name();
        let name = name.to_str().unwrap_or_default();
        let is_old = name.ends_with(DATA_ENDING) && !kept.contains(&Some(name));
        if is_old || name.starts_with(DRAFT_PREFIX) {
            let path = entry.path();
            fs::remove_file(&path).map_err(Error::io(&path))?;
        }
    }
    Ok(())
}

/// Removes a layer. Returns whether there was one. Blocks.
///
/// # Errors
/// Another process is storing or removing a layer, or a file cannot be removed.
pub fn remove(data: &Path, name: &LayerName) -> Result<bool> {
    let folder = folder(data, name);
    let _lock = lock(data)?;
    let path = folder.join(METADATA_FILE);
    let removed = optional(fs::remove_file(&path)).map_err(Error::io(&path))?;
    if removed.is_none() {
        return Ok(false);
    }
    fs::remove_dir_all(&folder).map_err(Error::io(&folder))?;
    sync(&data.join(FOLDER))?;
    Ok(true)
}

fn sync(folder: &Path) -> Result<()> {
    File::open(folder)
        .and_then(|opened| opened.sync_all())
        .map_err(Error::io(folder))
}
