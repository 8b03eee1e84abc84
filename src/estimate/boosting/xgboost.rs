//! Stores trees in the JSON format of XGBoost 3.4. XGBoost 3.2 also loads these files; see the tests.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::tree::{Node, Tree};
use super::{BoostedTrees, DEPTH_MAX, FEATURES_MAX};
use crate::error::Error;

/// Version of the format.
const VERSION: [u32; 3] = [3, 4, 2];
/// Parent of a root.
const NO_PARENT: i32 = i32::MAX;
/// Child of a leaf.
const NO_CHILD: i32 = -1;

#[derive(Serialize, Deserialize)]
struct Document {
    version: [u32; 3],
    learner: Learner,
}

#[derive(Serialize, Deserialize)]
struct Learner {
    attributes: NoEntries,
    feature_names: [(); 0],
    feature_types: [(); 0],
    gradient_booster: Booster,
    learner_model_param: LearnerParameters,
    objective: Objective,
}

#[derive(Serialize, Deserialize)]
struct NoEntries {}

#[derive(Serialize, Deserialize)]
struct Booster {
    name: Cow<'static, str>,
    model: BoosterModel,
}

#[derive(Serialize, Deserialize)]
struct BoosterModel {
    gbtree_model_param: BoosterParameters,
    iteration_indptr: Vec<usize>,
    tree_info: Vec<u32>,
    trees: Vec<StoredTree>,
}

/// Numbers are texts in this format's parameters.
#[derive(Serialize, Deserialize)]
struct BoosterParameters {
    num_parallel_tree: Cow<'static, str>,
    num_trees: String,
}

#[derive(Serialize, Deserialize)]
struct LearnerParameters {
    base_score: String,
    boost_from_average: Cow<'static, str>,
    num_class: Cow<'static, str>,
    num_feature: String,
    num_target: Cow<'static, str>,
}

#[derive(Serialize, Deserialize)]
struct Objective {
    name: Cow<'static, str>,
    quantile_loss_param: QuantileParameters,
}

#[derive(Serialize, Deserialize)]
struct QuantileParameters {
    quantile_alpha: String,
}

/// A tree as one column per property of a node.
#[derive(Serialize, Deserialize, Default)]
struct StoredTree {
    id: usize,
    tree_param: TreeParameters,
    left_children: Vec<i32>,
    right_children: Vec<i32>,
    parents: Vec<i32>,
    split_indices: Vec<u16>,
    split_conditions: Vec<f32>,
    default_left: Vec<u8>,
    base_weights: Vec<f32>,
    loss_changes: Vec<f32>,
    sum_hessian: Vec<f32>,
    split_type: Vec<u8>,
    categories: [(); 0],
    categories_nodes: [(); 0],
    categories_segments: [(); 0],
    categories_sizes: [(); 0],
}

#[derive(Serialize, Deserialize, Default)]
struct TreeParameters {
    num_deleted: Cow<'static, str>,
    num_feature: String,
    num_nodes: String,
    size_leaf_vector: Cow<'static, str>,
}

impl BoostedTrees {
    /// Encodes the trees as XGBoost JSON.
    ///
    /// # Errors
    /// A value is not finite, because a label was not.
    pub fn encode(&self) -> Result<Vec<u8>, Error> {
        let mut nodes = self.trees.iter().flat_map(|tree| &tree.nodes);
        if !self.base.is_finite() || nodes.any(|node| !node.value.is_finite()) {
            return Err(Error::Trees("a value is not finite".to_owned()));
        }
        let trees = self.trees.iter().enumerate();
        let document = Document {
            version: VERSION,
            learner: Learner {
                attributes: NoEntries {},
                feature_names: [],
                feature_types: [],
                gradient_booster: Booster {
                    name: "gbtree".into(),
                    model: BoosterModel {
                        gbtree_model_param: BoosterParameters {
                            num_parallel_tree: "1".into(),
                            num_trees: self.trees.len().to_string(),
                        },
                        iteration_indptr: (0..=self.trees.len()).collect(),
                        tree_info: vec![0; self.trees.len()],
                        trees: trees
                            .map(|(id, tree)| stored(id, tree, self.features))
                            .collect(),
                    },
                },
                learner_model_param: LearnerParameters {
                    base_score: format!("[{:E}]", self.base),
                    boost_from_average: "0".into(),
                    num_class: "0".into(),
                    num_feature: self.features.to_string(),
                    num_target: "1".into(),
                },
                objective: Objective {
                    name: "reg:quantileerror".into(),
                    quantile_loss_param: QuantileParameters {
                        quantile_alpha: format!("[{:E}]", self.quantile),
                    },
                },
            },
        };
        serde_json::to_vec(&document).map_err(|error| Error::Trees(error.to_string()))
    }

    /// Decodes trees that [`Self::encode`] wrote.
    ///
    /// # Errors
    /// The bytes are not such trees.
    pub fn decode(bytes: &[u8]) -> Result<Self, Error> {
        let document: Document =
            serde_json::from_slice(bytes).map_err(|error| Error::Trees(error.to_string()))?;
        let Learner {
            gradient_booster,
            learner_model_param,
            objective,
            ..
        } = document.learner;
        let features = learner_model_param.num_feature.parse();
        let features = features.ok().filter(|features| *features <= FEATURES_MAX);
        let features = features.ok_or_else(|| wrong("num_feature"))?;
        let trees = gradient_booster.model.trees.iter();
        let trees: Vec<Tree> = trees
            .map(|tree| tree.read(features))
            .collect::<Result<_, _>>()?;
        let base = only_number(&learner_model_param.base_score, "base_score")?;
        let quantile = &objective.quantile_loss_param.quantile_alpha;
        let quantile = only_number(quantile, "quantile_alpha")?;
        Ok(Self::new(base, quantile, features, trees))
    }
}

fn wrong(what: &str) -> Error {
    Error::Trees(format!("`{what}` is not as this program writes it"))
}

/// Reads a list of one number: `[5E-1]`.
fn only_number(text: &str, what: &str) -> Result<f32, Error> {
    let inside = text
        .strip_prefix('[')
        .and_then(|text| text.strip_suffix(']'));
    let number = inside.and_then(|number| number.parse().ok());
    number.ok_or_else(|| wrong(what))
}

fn stored(id: usize, tree: &Tree, features: usize) -> StoredTree {
    let mut stored = StoredTree {
        id,
        tree_param: TreeParameters {
            num_deleted: "0".into(),
            num_feature: features.to_string(),
            num_nodes: tree.nodes.len().to_string(),
            size_leaf_vector: "0".into(),
        },
        parents: vec![NO_PARENT; tree.nodes.len()],
        split_type: vec![0; tree.nodes.len()],
        ..StoredTree::default()
    };
    for (index, node) in tree.nodes.iter().enumerate() {
        let (mut children, mut weight) = ([NO_CHILD; 2], node.value);
        if node.feature.is_some() {
            children = [node.left as i32, node.left as i32 + 1];
            weight = 0.0;
            for child in children {
                stored.parents[child as usize] = index as i32;
            }
        }
        stored.left_children.push(children[0]);
        stored.right_children.push(children[1]);
        stored.split_indices.push(node.feature.unwrap_or_default());
        stored.split_conditions.push(node.value);
        stored.default_left.push(u8::from(node.missing_left));
        stored.base_weights.push(weight);
        stored.loss_changes.push(node.gain);
        stored.sum_hessian.push(node.cover);
    }
    stored
}

impl StoredTree {
    fn read(&self, features: usize) -> Result<Tree, Error> {
        let count = self.left_children.len();
        let lengths = [
            self.right_children.len(),
            self.split_indices.len(),
            self.split_conditions.len(),
            self.default_left.len(),
            self.loss_changes.len(),
            self.sum_hessian.len(),
        ];
        if count == 0 || lengths.iter().any(|length| *length != count) {
            return Err(wrong("trees"));
        }
        let node = |index: usize| {
            let (value, cover) = (self.split_conditions[index], self.sum_hessian[index]);
            let children = (self.left_children[index], self.right_children[index]);
            if children == (NO_CHILD, NO_CHILD) {
                return Ok(Node::leaf(value, cover));
            }
            let feature = self.split_indices[index];
            let left = u32::try_from(children.0).map_err(|_| wrong("left_children"))?;
            // Children follow their parent, so that every row reaches a leaf.
            if usize::from(feature) >= features || left as usize <= index {
                return Err(wrong("left_children"));
            }
            if left as usize + 1 >= count || children.1 != children.0 + 1 {
                return Err(wrong("right_children"));
            }
            Ok(Node {
                feature: Some(feature),
                missing_left: self.default_left[index] != 0,
                value,
                left,
                cover,
                gain: self.loss_changes[index],
            })
        };
        let nodes: Result<Vec<Node>, Error> = (0..count).map(node).collect();
        let tree = Tree { nodes: nodes? };
        // Children that two nodes share would make this a graph.
        let children = tree.nodes.iter().filter(|node| node.feature.is_some());
        if tree.depth() > DEPTH_MAX || 2 * children.count() + 1 != count {
            return Err(wrong("trees"));
        }
        Ok(tree)
    }
}
