//! All trees in one array, for fast predictions. Several trees are walked side by side, so that the processor does not
//! wait for the memory of one node after another. The loop has no branches that the processor would have to predict.

use super::FEATURES_MAX;
use super::tree::Tree;

/// Trees walked side by side.
const SIDE_BY_SIDE: usize = 16;
/// Values that a row is expanded to: each feature for splits that send missing values left, then each for the others.
const VALUES: usize = 2 * FEATURES_MAX;

/// A split; or a leaf, whose child is itself.
#[derive(Clone, Copy, Debug)]
struct Step {
    /// Smaller values go left. NaN for a leaf.
    threshold: f32,
    /// Index of the left child in its tree; the right child follows it.
    left: u16,
    /// Index of the value that is compared.
    value: u16,
}

/// Trees whose leaves are summed.
#[derive(Clone, Debug)]
pub(super) struct Forest {
    steps: Vec<Step>,
    /// Value of each leaf; 0 for splits.
    leaves: Vec<f32>,
    roots: Vec<usize>,
    /// Depth of the deepest tree.
    depth: usize,
}

impl Forest {
    pub fn new(trees: &[Tree]) -> Self {
        let mut forest = Self {
            steps: Vec::new(),
            leaves: Vec::new(),
            roots: Vec::with_capacity(trees.len()),
            depth: trees.iter().map(Tree::depth).max().unwrap_or_default(),
        };
        for tree in trees {
            forest.roots.push(forest.steps.len());
            for (node, index) in tree.nodes.iter().zip(0u16..) {
                let further = if node.missing_left {
                    0
                } else {
                    FEATURES_MAX as u16
                };
                let (step, leaf) = match node.feature {
                    Some(feature) => {
                        let step = Step {
                            threshold: node.value,
                            left: node.left as u16,
                            value: feature + further,
                        };
                        (step, 0.0)
                    }
                    // No value is smaller than NaN, so all rows go right, where the leaf itself is.
                    None => {
                        let step = Step {
                            threshold: f32::NAN,
                            left: index.wrapping_sub(1),
                            value: 0,
                        };
                        (step, node.value)
                    }
                };
                forest.steps.push(step);
                forest.leaves.push(leaf);
            }
        }
        forest
    }

    /// Returns the sum of the leaves that a row falls into.
    pub fn sum(&self, row: &[f32]) -> f64 {
        let mut values = [0.0; VALUES];
        for (feature, value) in row.iter().take(FEATURES_MAX).enumerate() {
            let is_missing = value.is_nan();
            values[feature] = if is_missing {
                f32::NEG_INFINITY
            } else {
                *value
            };
            values[FEATURES_MAX + feature] = if is_missing { f32::INFINITY } else { *value };
        }
        let (groups, rest) = self.roots.as_chunks::<SIDE_BY_SIDE>();
        let mut sum = 0.0;
        for roots in groups {
            sum = self.walk(&values, *roots, sum);
        }
        for root in rest {
            sum = self.walk(&values, [*root], sum);
        }
        sum
    }

    /// Walks some trees, and adds their leaves to a sum.
    fn walk<const TREES: usize>(
        &self,
        values: &[f32; VALUES],
        roots: [usize; TREES],
        sum: f64,
    ) -> f64 {
        let mut nodes = [0u16; TREES];
        for _ in 0..self.depth {
            for (node, root) in nodes.iter_mut().zip(roots) {
                let step = self.steps[root + usize::from(*node)];
                // The remainder changes nothing; it shows the compiler that the index is valid.
                let value = values[usize::from(step.value) % VALUES];
                let goes_left = value < step.threshold;
                *node = step.left.wrapping_add(u16::from(!goes_left));
            }
        }
        let leaves = nodes.iter().zip(roots);
        leaves.fold(sum, |sum, (node, root)| {
            sum + f64::from(self.leaves[root + usize::from(*node)])
        })
    }
}
