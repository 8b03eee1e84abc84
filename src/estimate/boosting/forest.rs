//! All trees in one array, for fast predictions: several trees are walked side by side, so that the processor does not
//! wait for the memory of one node after another, and without branches that it would have to guess.

use super::tree::Tree;

/// Trees walked side by side.
const SIDE_BY_SIDE: usize = 8;

/// A split; or a leaf, whose child is itself.
#[derive(Clone, Copy, Debug)]
struct Step {
    /// Smaller values go left. NaN for a leaf.
    threshold: f32,
    /// Index of the left child; the right child follows it.
    left: u32,
    feature: u16,
    missing_left: bool,
}

/// Trees whose leaves are summed.
#[derive(Clone, Debug)]
pub(super) struct Forest {
    steps: Vec<Step>,
    /// Value of each leaf; 0 for splits.
    values: Vec<f32>,
    roots: Vec<u32>,
    /// Depth of the deepest tree.
    depth: usize,
}

impl Forest {
    pub fn new(trees: &[Tree]) -> Self {
        let mut forest = Self {
            steps: Vec::new(),
            values: Vec::new(),
            roots: Vec::with_capacity(trees.len()),
            depth: trees.iter().map(Tree::depth).max().unwrap_or_default(),
        };
        for tree in trees {
            let root = forest.steps.len() as u32;
            forest.roots.push(root);
            for (index, node) in (root..).zip(&tree.nodes) {
                let step = match node.feature {
                    Some(feature) => Step {
                        threshold: node.value,
                        left: root + node.left,
                        feature,
                        missing_left: node.missing_left,
                    },
                    // No value is smaller than NaN, so all rows go right, where the leaf itself is.
                    None => Step {
                        threshold: f32::NAN,
                        left: index.wrapping_sub(1),
                        feature: 0,
                        missing_left: false,
                    },
                };
                forest.steps.push(step);
                let is_leaf = node.feature.is_none();
                forest.values.push(if is_leaf { node.value } else { 0.0 });
            }
        }
        forest
    }

    /// Returns the sum of the leaves that a row falls into.
    pub fn sum(&self, row: &[f32]) -> f64 {
        let (groups, rest) = self.roots.as_chunks::<SIDE_BY_SIDE>();
        let mut sum = 0.0;
        for group in groups {
            sum = self.walk(row, *group, sum);
        }
        for root in rest {
            sum = self.walk(row, [*root], sum);
        }
        sum
    }

    /// Walks some trees, and adds their leaves to a sum.
    fn walk<const TREES: usize>(&self, row: &[f32], mut at: [u32; TREES], sum: f64) -> f64 {
        for _ in 0..self.depth {
            for at in &mut at {
                let step = &self.steps[*at as usize];
                let value = row[usize::from(step.feature)];
                let goes_left = (value < step.threshold) | (value.is_nan() & step.missing_left);
                *at = step.left.wrapping_add(u32::from(!goes_left));
            }
        }
        let leaves = at.iter().map(|at| self.values[*at as usize]);
        leaves.fold(sum, |sum, leaf| sum + f64::from(leaf))
    }
}
