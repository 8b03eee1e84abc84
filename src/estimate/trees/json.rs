//! The XGBoost JSON format, which XGBoost and the tools around it read. A decoded model predicts the same to the last bit.

use serde::{Deserialize, Serialize};

use super::{BoostedTrees, DEPTH_MAX, Node, Tree};
use crate::error::Error;

/// The parent of a root.
const NO_PARENT: i64 = 2_147_483_647;
/// A missing child.
const NO_CHILD: i64 = -1;

#[derive(Serialize, Deserialize)]
struct Document {
    learner: Learner,
    version: [u32; 3],
}

#[derive(Serialize, Deserialize)]
struct Learner {
    attributes: serde_json::Map<String, serde_json::Value>,
    feature_names: Vec<String>,
    feature_types: Vec<String>,
    gradient_booster: Booster,
    learner_model_param: ModelParameters,
    objective: Objective,
}

#[derive(Serialize, Deserialize)]
struct Booster {
    model: Model,
    name: String,
}

#[derive(Serialize, Deserialize)]
struct Model {
    gbtree_model_param: BoosterParameters,
    iteration_indptr: Vec<usize>,
    tree_info: Vec<u32>,
    trees: Vec<TreeDocument>,
}

#[derive(Serialize, Deserialize)]
struct BoosterParameters {
    num_parallel_tree: String,
    num_trees: String,
}

#[derive(Serialize, Deserialize)]
struct ModelParameters {
    base_score: String,
    boost_from_average: String,
    num_class: String,
    num_feature: String,
    num_target: String,
}

#[derive(Serialize, Deserialize)]
struct Objective {
    name: String,
    quantile_loss_param: QuantileParameters,
}

#[derive(Serialize, Deserialize)]
struct QuantileParameters {
    quantile_alpha: String,
}

#[derive(Serialize, Deserialize)]
struct TreeDocument {
    base_weights: Vec<f32>,
    categories: Vec<u32>,
    categories_nodes: Vec<u32>,
    categories_segments: Vec<u32>,
    categories_sizes: Vec<u32>,
    default_left: Vec<u8>,
    id: usize,
    left_children: Vec<i64>,
    loss_changes: Vec<f32>,
    parents: Vec<i64>,
    right_children: Vec<i64>,
    split_conditions: Vec<f32>,
    split_indices: Vec<u32>,
    split_type: Vec<u8>,
    sum_hessian: Vec<f32>,
    tree_param: TreeParameters,
}

#[derive(Serialize, Deserialize)]
struct TreeParameters {
    num_deleted: String,
    num_feature: String,
    num_nodes: String,
    size_leaf_vector: String,
}

impl BoostedTrees {
    /// Encodes the trees as XGBoost JSON.
    ///
    /// # Errors
    /// Never with trees that were grown or decoded: their numbers are finite.
    pub fn encode(&self) -> Result<Vec<u8>, Error> {
        let count = self.trees.len();
        let trees = self.trees.iter().enumerate();
        let document = Document {
            learner: Learner {
                attributes: serde_json::Map::new(),
                feature_names: Vec::new(),
                feature_types: Vec::new(),
                gradient_booster: Booster {
                    model: Model {
                        gbtree_model_param: BoosterParameters {
                            num_parallel_tree: "1".to_owned(),
                            num_trees: count.to_string(),
                        },
                        iteration_indptr: (0..=count).collect(),
                        tree_info: vec![0; count],
                        trees: trees
                            .map(|(id, tree)| tree.document(id, self.features))
                            .collect(),
                    },
                    name: "gbtree".to_owned(),
                },
                learner_model_param: ModelParameters {
                    base_score: format!("{:e}", self.base),
                    boost_from_average: "1".to_owned(),
                    num_class: "0".to_owned(),
                    num_feature: self.features.to_string(),
                    num_target: "1".to_owned(),
                },
                objective: Objective {
                    name: "reg:quantileerror".to_owned(),
                    quantile_loss_param: QuantileParameters {
                        quantile_alpha: format!("[{:e}]", self.quantile),
                    },
                },
            },
            version: [2, 1, 0],
        };
        serde_json::to_vec(&document).map_err(invalid)
    }

    /// Decodes trees from XGBoost JSON.
    ///
    /// # Errors
    /// The bytes are not such trees, or a node refers to a node or feature that does not exist.
    pub fn decode(bytes: &[u8]) -> Result<Self, Error> {
        let document: Document = serde_json::from_slice(bytes).map_err(invalid)?;
        let learner = document.learner;
        let parameters = &learner.learner_model_param;
        let features = parameters.num_feature.parse().map_err(invalid)?;
        let quantile = &learner.objective.quantile_loss_param.quantile_alpha;
        let quantile = quantile.trim_matches(['[', ']']);
        let trees = learner.gradient_booster.model.trees;
        let trees: Result<Vec<Tree>, Error> =
            trees.iter().map(|tree| tree.decoded(features)).collect();
        let base = parameters.base_score.parse().map_err(invalid)?;
        let quantile = quantile.parse().map_err(invalid)?;
        Ok(Self::new(base, features, quantile, trees?))
    }
}

fn invalid(error: impl std::fmt::Display) -> Error {
    Error::Trees(error.to_string())
}

impl Tree {
    fn document(&self, id: usize, features: usize) -> TreeDocument {
        let nodes = &self.nodes;
        let mut parents = vec![NO_PARENT; nodes.len()];
        for (index, node) in nodes.iter().enumerate().filter(|(_, node)| !node.is_leaf()) {
            let left = node.left as usize;
            parents[left] = index as i64;
            parents[left + 1] = index as i64;
        }
        let child = |node: &Node, offset: i64| {
            if node.is_leaf() {
                NO_CHILD
            } else {
                i64::from(node.left) + offset
            }
        };
        TreeDocument {
            base_weights: vec![0.0; nodes.len()],
            categories: Vec::new(),
            categories_nodes: Vec::new(),
            categories_segments: Vec::new(),
            categories_sizes: Vec::new(),
            default_left: nodes
                .iter()
                .map(|node| u8::from(node.is_default_left))
                .collect(),
            id,
            left_children: nodes.iter().map(|node| child(node, 0)).collect(),
            loss_changes: vec![0.0; nodes.len()],
            parents,
            right_children: nodes.iter().map(|node| child(node, 1)).collect(),
            split_conditions: nodes.iter().map(|node| node.threshold).collect(),
            split_indices: nodes.iter().map(|node| node.feature).collect(),
            split_type: vec![0; nodes.len()],
            sum_hessian: nodes.iter().map(|node| node.cover).collect(),
            tree_param: TreeParameters {
                num_deleted: "0".to_owned(),
                num_feature: features.to_string(),
                num_nodes: nodes.len().to_string(),
                size_leaf_vector: "1".to_owned(),
            },
        }
    }
}

impl TreeDocument {
    fn decoded(&self, features: usize) -> Result<Tree, Error> {
        let count = self.split_conditions.len();
        let columns = [
            self.default_left.len(),
            self.left_children.len(),
            self.right_children.len(),
            self.split_indices.len(),
            self.sum_hessian.len(),
        ];
        if count == 0 || columns.iter().any(|length| *length != count) {
            return Err(invalid(format!("tree {} is incomplete", self.id)));
        }
        let mut depths = vec![0; count];
        let nodes = (0..count).map(|index| {
            let (left, right) = (self.left_children[index], self.right_children[index]);
            let is_leaf = left == NO_CHILD;
            // Children follow their parent, so that every path ends.
            let is_sound = left > index as i64
                && right == left + 1
                && (right as usize) < count
                && (self.split_indices[index] as usize) < features
                && depths[index] < DEPTH_MAX;
            if !is_leaf && is_sound {
                depths[left as usize] = depths[index] + 1;
                depths[right as usize] = depths[index] + 1;
            }
            if (!is_leaf && !is_sound) || self.sum_hessian[index] <= 0.0 {
                return Err(invalid(format!(
                    "node {index} of tree {} is wrong",
                    self.id
                )));
            }
            Ok(Node {
                left: if is_leaf { 0 } else { left as u32 },
                feature: self.split_indices[index],
                threshold: self.split_conditions[index],
                is_default_left: self.default_left[index] != 0,
                cover: self.sum_hessian[index],
            })
        });
        let nodes = nodes.collect::<Result<_, _>>()?;
        Ok(Tree { nodes })
    }
}
