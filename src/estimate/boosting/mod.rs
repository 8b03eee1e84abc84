//! Gradient-boosted trees for quantile regression: each tree is fitted to the gradient of the quantile loss at the sum
//! of the trees before it (Friedman 2001; the second-order steps of Chen and Guestrin 2016).
//!
//! Training puts each feature into at most 255 bins and sums gradients per bin. The sums are integers, so the same rows
//! give bit-identical trees on any number of threads.

mod attribute;
mod bins;
mod forest;
mod grow;
mod loss;
mod stored;
#[cfg(test)]
mod tests;
mod tree;

use forest::Forest;
use tree::Tree;

/// Maximum number of features.
pub const FEATURES_MAX: usize = 64;
/// Maximum depth of a tree.
pub const DEPTH_MAX: usize = 15;

/// How a prediction may change with a feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Never decreases as the feature grows.
    Up,
    /// Never increases as the feature grows.
    Down,
    /// Unconstrained.
    Free,
}

/// Settings for growing trees.
#[derive(Clone, Debug, PartialEq)]
pub struct TreeSettings {
    /// Quantile of the label to fit, between 0 and 1: 0.5 for the median.
    pub quantile: f32,
    /// Number of trees.
    pub trees: usize,
    /// Maximum depth of a tree, at most [`DEPTH_MAX`].
    pub depth: usize,
    /// Learning rate: the share of each fitted step that is taken.
    pub rate: f64,
    /// Minimum curvature of the loss in a leaf, summed over its rows. It grows with their weight.
    pub leaf_min: f64,
    /// Whether to grow extra trees: a node tries one random threshold per feature instead of all (Geurts, Ernst and
    /// Wehenkel 2006). The sum of many such trees is smoother than the sum of trees split at the best thresholds.
    pub extra_trees: bool,
    /// Monotonicity constraint of each feature; at most [`FEATURES_MAX`] features.
    pub directions: Vec<Direction>,
    /// Random seed; equal seeds grow equal trees.
    pub seed: u64,
}

/// Training rows, concatenated; NaN for unknown features.
#[derive(Clone, Debug, Default)]
pub struct TrainingMatrix {
    /// Feature values, row by row.
    pub values: Vec<f32>,
    /// Label of each row.
    pub labels: Vec<f32>,
    /// Weight of each row, positive.
    pub weights: Vec<f32>,
}

impl TrainingMatrix {
    /// Adds a row.
    pub fn push(&mut self, row: &[f32], label: f64, weight: f32) {
        self.values.extend_from_slice(row);
        self.labels.push(label as f32);
        self.weights.push(weight);
    }
}

/// Trees whose sum predicts one number per row.
#[derive(Clone, Debug)]
pub struct BoostedTrees {
    /// The prediction without trees.
    base: f32,
    /// Number of features of a row.
    features: usize,
    trees: Vec<Tree>,
    /// The same trees for predictions.
    forest: Forest,
    /// The mean prediction over the training rows, weighted by their curvature.
    mean: f64,
}

impl BoostedTrees {
    fn new(base: f32, features: usize, trees: Vec<Tree>) -> Self {
        let means = trees.iter().map(Tree::mean);
        Self {
            base,
            features,
            mean: f64::from(base) + means.sum::<f64>(),
            forest: Forest::new(&trees),
            trees,
        }
    }

    /// Predicts one row, which has a value or NaN for each feature.
    pub fn predict(&self, row: &[f32]) -> f64 {
        f64::from(self.base) + self.forest.sum(row)
    }
}
