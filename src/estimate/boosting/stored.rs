//! Stores trees as JSON.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::tree::Tree;
use super::{BoostedTrees, DEPTH_MAX, FEATURES_MAX};
use crate::error::Error;

#[derive(Serialize, Deserialize)]
struct StoredTrees<'t> {
    base: f32,
    features: usize,
    trees: Cow<'t, [Tree]>,
}

impl BoostedTrees {
    /// Encodes the trees as JSON.
    ///
    /// # Errors
    /// A value is not finite, because a label was not.
    pub fn encode(&self) -> Result<Vec<u8>, Error> {
        let mut nodes = self.trees.iter().flat_map(|tree| &tree.nodes);
        if !self.base.is_finite() || nodes.any(|node| !node.value.is_finite()) {
            return Err(Error::Trees("a value is not finite".to_owned()));
        }
        let stored = StoredTrees {
            base: self.base,
            features: self.features,
            trees: Cow::Borrowed(self.trees.as_slice()),
        };
        serde_json::to_vec(&stored).map_err(|error| Error::Trees(error.to_string()))
    }

    /// Decodes trees that [`Self::encode`] wrote.
    ///
    /// # Errors
    /// The bytes are not such trees.
    pub fn decode(bytes: &[u8]) -> Result<Self, Error> {
        let stored: StoredTrees<'_> =
            serde_json::from_slice(bytes).map_err(|error| Error::Trees(error.to_string()))?;
        let (features, trees) = (stored.features, stored.trees.into_owned());
        if features > FEATURES_MAX || !trees.iter().all(|tree| is_valid(tree, features)) {
            let message = "they are not as this program writes them";
            return Err(Error::Trees(message.to_owned()));
        }
        Ok(Self::new(stored.base, features, trees))
    }
}

/// Returns whether every row of `features` values reaches a leaf of a tree, within the maximum depth.
fn is_valid(tree: &Tree, features: usize) -> bool {
    let count = tree.nodes.len();
    let mut splits = 0;
    for (index, node) in tree.nodes.iter().enumerate() {
        let Some(feature) = node.feature else {
            continue;
        };
        let left = node.left as usize;
        // Children follow their parent.
        if usize::from(feature) >= features || left <= index || left + 1 >= count {
            return false;
        }
        splits += 1;
    }
    // Children that two nodes share would make this a graph.
    2 * splits + 1 == count && tree.depth() <= DEPTH_MAX
}
