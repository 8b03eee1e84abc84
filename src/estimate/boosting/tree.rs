//! One regression tree and its nodes.

use serde::{Deserialize, Serialize};

/// A split or a leaf.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Node {
    /// The feature of a split; `None` for a leaf.
    pub feature: Option<u16>,
    /// Whether rows without a value go left.
    pub missing_left: bool,
    /// The threshold of a split: smaller values go left. The value of a leaf.
    pub value: f32,
    /// Index of the left child; the right child follows it. 0 for a leaf.
    pub left: u32,
    /// Curvature of the loss, summed over the training rows of this node.
    pub cover: f32,
}

impl Node {
    /// Returns a leaf.
    pub fn leaf(value: f32, cover: f32) -> Self {
        Self {
            feature: None,
            missing_left: true,
            value,
            left: 0,
            cover,
        }
    }

    /// Returns the index of the child that a feature's value leads to.
    #[inline]
    pub fn child(&self, value: f32) -> usize {
        let goes_left = if value.is_nan() {
            self.missing_left
        } else {
            value < self.value
        };
        self.left as usize + usize::from(!goes_left)
    }
}

/// A tree. The first node is its root, and children follow their parents.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Tree {
    pub nodes: Vec<Node>,
}

impl Tree {
    /// Returns the number of splits on the longest path.
    pub fn depth(&self) -> usize {
        let mut depths = vec![0; self.nodes.len()];
        for (index, node) in self.nodes.iter().enumerate() {
            if node.feature.is_some() {
                let (left, depth) = (node.left as usize, depths[index] + 1);
                depths[left..left + 2].fill(depth);
            }
        }
        depths.into_iter().max().unwrap_or_default()
    }

    /// Returns the mean value of the leaves, weighted by their cover.
    pub fn mean(&self) -> f64 {
        // Without any curvature there are no splits.
        if let [leaf] = &self.nodes[..] {
            return f64::from(leaf.value);
        }
        let leaves = self.nodes.iter().filter(|node| node.feature.is_none());
        let (sum, cover) = leaves.fold((0.0, 0.0), |(sum, cover), leaf| {
            let weight = f64::from(leaf.cover);
            (sum + weight * f64::from(leaf.value), cover + weight)
        });
        sum / cover
    }
}
