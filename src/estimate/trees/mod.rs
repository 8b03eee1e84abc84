//! Gradient-boosted regression trees for quantiles: training, prediction, attribution, and the XGBoost JSON format.
//!
//! [`BoostedTrees::grow`] trains on histograms of binned features (`grow.rs`); [`BoostedTrees::predict`] and
//! [`BoostedTrees::attribute`] (`attribution.rs`) serve. Everything is deterministic, whatever the number of threads. The
//! golden predictions in the tests of this crate fail if a prediction changes.

mod attribution;
mod grow;
mod json;
#[cfg(test)]
mod tests;

use super::error::Error;

/// Maximum depth of a tree.
const DEPTH_MAX: usize = 16;

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
    /// Quantile of the label to fit: 0.5 for the median.
    pub quantile: f64,
    /// Number of trees.
    pub trees: usize,
    /// Maximum depth of a tree, at most 16.
    pub depth: usize,
    /// Learning rate.
    pub rate: f64,
    /// Minimum weight of rows in a leaf.
    pub leaf_min: f64,
    /// Whether to grow extra trees: a node tries one random threshold per feature instead of all (Geurts, Ernst and
    /// Wehenkel 2006). The sum of many such trees is smoother than that of trees split at the best thresholds.
    pub extra_trees: bool,
    /// Monotonicity constraint of each feature.
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
    /// Weight of each row.
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

/// Trees that predict one number per row.
#[derive(Clone, Debug, PartialEq)]
pub struct BoostedTrees {
    /// Prediction before any tree.
    base: f32,
    /// Mean prediction over the training rows.
    expected: f64,
    features: usize,
    quantile: f64,
    trees: Vec<Tree>,
}

/// A tree. Node 0 is the root.
#[derive(Clone, Debug, Default, PartialEq)]
struct Tree {
    nodes: Vec<Node>,
}

/// A node of a tree.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Node {
    /// Left child; the right child is the next node. 0 for a leaf.
    left: u32,
    feature: u32,
    /// Values below it go left. For a leaf: the value that the tree adds.
    threshold: f32,
    /// Whether unknown values go left.
    is_default_left: bool,
    /// Weight of the training rows that reached the node.
    cover: f32,
}

impl Node {
    fn is_leaf(&self) -> bool {
        self.left == 0
    }

    /// Returns the child of a value.
    fn child(&self, value: f32) -> usize {
        let is_left = if value.is_nan() {
            self.is_default_left
        } else {
            value < self.threshold
        };
        self.left as usize + usize::from(!is_left)
    }
}

impl Tree {
    fn predict(&self, row: &[f32]) -> f32 {
        let mut node = &self.nodes[0];
        while !node.is_leaf() {
            node = &self.nodes[node.child(row[node.feature as usize])];
        }
        node.threshold
    }
}

impl BoostedTrees {
    fn new(base: f32, features: usize, quantile: f64, trees: Vec<Tree>) -> Self {
        let of_trees: f64 = trees.iter().map(attribution::expected).sum();
        Self {
            base,
            expected: f64::from(base) + of_trees,
            features,
            quantile,
            trees,
        }
    }

    /// Predicts one row.
    ///
    /// # Errors
    /// The row has another number of features, or an infinite value.
    pub fn predict(&self, row: &[f32]) -> Result<f64, Error> {
        self.check(row)?;
        let sum: f32 = self.trees.iter().map(|tree| tree.predict(row)).sum();
        Ok(f64::from(self.base + sum))
    }

    /// Returns the contribution of each feature to the prediction of a row, followed by the base value. They add up to the
    /// prediction.
    ///
    /// # Errors
    /// As for [`BoostedTrees::predict`].
    pub fn attribute(&self, row: &[f32]) -> Result<Vec<f64>, Error> {
        self.check(row)?;
        let mut parts = vec![0.0; self.features + 1];
        parts[self.features] = self.expected;
        for tree in &self.trees {
            attribution::add(tree, row, &mut parts);
        }
        Ok(parts)
    }

    fn check(&self, row: &[f32]) -> Result<(), Error> {
        if row.len() != self.features {
            let message = format!("a row of {} features, not {}", row.len(), self.features);
            return Err(Error::Trees(message));
        }
        match row.iter().position(|value| value.is_infinite()) {
            Some(feature) => Err(Error::Trees(format!("feature {feature} is infinite"))),
            None => Ok(()),
        }
    }
}
