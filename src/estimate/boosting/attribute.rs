//! Attributes a prediction to the features: the Shapley values of a tree under the rows it was trained on, computed
//! exactly in one walk over its nodes (Lundberg, Erion and Lee 2018, algorithm 2).

use std::ops::Range;

use super::BoostedTrees;
use super::tree::Tree;

impl BoostedTrees {
    /// Returns the contribution of each feature to the prediction of a row, followed by the mean prediction over the
    /// training rows. They sum to the prediction.
    pub fn attribute(&self, row: &[f32]) -> Vec<f64> {
        let mut parts = vec![0.0; self.features + 1];
        parts[self.features] = self.mean;
        let (mut steps, mut weights) = (Vec::new(), Vec::new());
        for tree in &self.trees {
            let mut walk = Walk {
                tree,
                row,
                parts: &mut parts,
                steps: &mut steps,
                weights: &mut weights,
            };
            walk.visit(0, 0..0, Step::ROOT);
        }
        parts
    }
}

/// A feature on the path from the root to a node.
#[derive(Clone, Copy)]
struct Step {
    /// `None` at the root.
    feature: Option<usize>,
    /// Share of the rows that follow the path if the feature is unknown.
    unknown: f64,
    /// 1 if the explained row follows the path, 0 otherwise.
    known: f64,
    /// Total weight of the subsets of the path's features whose size is the index of this step.
    weight: f64,
}

impl Step {
    const ROOT: Self = Self {
        feature: None,
        unknown: 1.0,
        known: 1.0,
        weight: 0.0,
    };
}

/// Adds the last step of a path to the sets of features.
fn add_last(path: &mut [Step]) {
    let last = path.len() - 1;
    let step = path[last];
    let divisor = path.len() as f64;
    path[last].weight = if last == 0 { 1.0 } else { 0.0 };
    for at in (0..last).rev() {
        path[at + 1].weight += step.known * path[at].weight * (at + 1) as f64 / divisor;
        path[at].weight *= step.unknown * (last - at) as f64 / divisor;
    }
}

/// Computes the weights of the sets without the feature at `index`, from the largest sets to the empty one. This undoes
/// [`add_last`] for that feature.
fn weights_without(path: &[Step], index: usize) -> impl Iterator<Item = f64> {
    let Step { known, unknown, .. } = path[index];
    let (last, rest) = path.split_last().unwrap_or((&Step::ROOT, &[]));
    let length = path.len() as f64;
    let mut next = last.weight;
    rest.iter().enumerate().rev().map(move |(at, step)| {
        let share = unknown / length * (rest.len() - at) as f64;
        if known == 0.0 {
            return step.weight / share;
        }
        // `known` is 1: a row follows a path or not.
        let weight = next * (length / (at + 1) as f64);
        next = step.weight - weight * share;
        weight
    })
}

/// A walk over all nodes of a tree.
struct Walk<'a> {
    tree: &'a Tree,
    row: &'a [f32],
    parts: &'a mut [f64],
    /// The paths to the visited nodes, one after another.
    steps: &'a mut Vec<Step>,
    /// Buffer.
    weights: &'a mut Vec<f64>,
}

impl Walk<'_> {
    /// Visits a node that is one step from the end of a path among [`Self::steps`].
    fn visit(&mut self, index: usize, parent: Range<usize>, step: Step) {
        let start = parent.end;
        self.steps.truncate(start);
        self.steps.extend_from_within(parent);
        self.steps.push(step);
        add_last(&mut self.steps[start..]);
        let node = self.tree.nodes[index];
        let Some(feature) = node.feature.map(usize::from) else {
            self.add_leaf(start, node.value);
            return;
        };
        let mut earlier = Step::ROOT;
        let path = &self.steps[start..];
        if let Some(at) = path.iter().position(|step| step.feature == Some(feature)) {
            // The feature is already on the path. It is one member of a set, however often it is used.
            earlier = path[at];
            self.weights.clear();
            self.weights.extend(weights_without(path, at));
            self.steps.remove(start + at);
            for (step, weight) in self.steps[start..].iter_mut().rev().zip(&*self.weights) {
                step.weight = *weight;
            }
        }
        let end = self.steps.len();
        let followed = node.child(self.row[feature]);
        for child in [node.left as usize, node.left as usize + 1] {
            let share = f64::from(self.tree.nodes[child].cover) / f64::from(node.cover);
            let step = Step {
                feature: Some(feature),
                unknown: earlier.unknown * share,
                known: if child == followed {
                    earlier.known
                } else {
                    0.0
                },
                weight: 0.0,
            };
            self.visit(child, start..end, step);
        }
    }

    /// Adds a leaf at the end of the last path to the parts of the path's features.
    fn add_leaf(&mut self, start: usize, value: f32) {
        let path = &self.steps[start..];
        for (at, step) in path.iter().enumerate() {
            if let Some(feature) = step.feature {
                let weight: f64 = weights_without(path, at).sum();
                self.parts[feature] += weight * (step.known - step.unknown) * f64::from(value);
            }
        }
    }
}
