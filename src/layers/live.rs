//! Provides the current layers of a data folder. The most recently used ones stay in memory.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Map, Value};

use crate::attributes;
use crate::error::{Error, Result};
use crate::folder;
use crate::index::LayerIndex;
use crate::metadata::LayerMetadata;

/// Maximum vertices of the layers in memory, which bounds them to about 1 GB. The layer in use always stays in memory,
/// even if it is larger.
const OPEN_VERTICES_MAX: u64 = 12_000_000;

/// The layers of a data folder. Another process may import and remove them at any time. Cheap to clone.
#[derive(Clone)]
pub struct Layers(Arc<Inner>);

struct Inner {
    data: PathBuf,
    /// Layers in memory, the most recently used first.
    open: Mutex<Vec<OpenLayer>>,
}

#[derive(Clone)]
struct OpenLayer {
    metadata: LayerMetadata,
    index: Arc<LayerIndex>,
}

impl fmt::Debug for Layers {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Layers").field(&self.0.data).finish()
    }
}

impl Layers {
    /// Returns the layers of a data folder. Reads nothing.
    pub fn of(data: &Path) -> Self {
        Self(Arc::new(Inner {
            data: data.to_owned(),
            open: Mutex::new(Vec::new()),
        }))
    }

    /// Returns the data folder.
    pub(crate) fn data(&self) -> &Path {
        &self.0.data
    }

    /// Returns all layers, by name. Blocks.
    ///
    /// # Errors
    /// As for [`folder::list`].
    pub fn list(&self) -> Result<Vec<LayerMetadata>> {
        folder::list(&self.0.data)
    }

    /// Returns the attributes of a feature of a layer, in the order of the source file, without nulls; empty if it has
    /// none. Blocks: reads the data file.
    ///
    /// # Errors
    /// The data file cannot be read, or is damaged.
    pub fn attributes(&self, layer: &LayerMetadata, feature: i64) -> Result<Map<String, Value>> {
        let bytes = folder::read_verified(&self.0.data, layer)?;
        let found = attributes::read(bytes, layer, feature).map_err(|reason| Error::Damaged {
            name: layer.name.to_string(),
            reason,
        })?;
        Ok(found.unwrap_or_default())
    }

    /// Returns a digest of all layers; empty if there are none. Blocks.
    ///
    /// # Errors
    /// As for [`folder::list`].
    pub fn digest(&self) -> Result<String> {
        let layers = self.list()?;
        if layers.is_empty() {
            return Ok(String::new());
        }
        let mut hasher = blake3::Hasher::new();
        for layer in layers {
            hasher.update(layer.name.as_str().as_bytes());
            hasher.update(layer.checksum.as_bytes());
        }
        Ok(hasher.finalize().to_hex().to_string())
    }

    /// Returns the current index of a layer. Blocks: the first call after an import reads the layer, which takes a
    /// second per million vertices; other calls wait for it.
    ///
    /// # Errors
    /// There is no such layer, or it is damaged.
    pub fn index(&self, name: &str) -> Result<Arc<LayerIndex>> {
        let data = &self.0.data;
        let unknown = || folder::unknown(data, name);
        let parsed = name.parse().map_err(|_| unknown())?;
        let now = folder::find(data, &parsed)?.ok_or_else(unknown)?;
        let mut open = self.0.open.lock();
        let known = open.iter().position(|one| one.metadata == now);
        let asked = match known {
            Some(place) => open.remove(place),
            None => {
                open.retain(|one| one.metadata.name != now.name);
                let bytes = folder::read_verified(data, &now)?;
                let index =
                    LayerIndex::read(bytes, &now.checksum).map_err(|reason| Error::Damaged {
                        name: name.to_owned(),
                        reason,
                    })?;
                OpenLayer {
                    metadata: now,
                    index: Arc::new(index),
                }
            }
        };
        open.insert(0, asked.clone());
        let mut vertices = 0;
        open.retain(|one| {
            let is_first = vertices == 0;
            vertices += one.metadata.vertices;
            is_first || vertices <= OPEN_VERTICES_MAX
        });
        Ok(asked.index)
    }
}
