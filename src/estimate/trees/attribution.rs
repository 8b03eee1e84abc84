//! The contribution of each feature to a prediction: Shapley values along the paths of a tree, weighted by the training
//! rows of each node (TreeSHAP, Lundberg, Erion and Lee 2018, algorithm 2). O(leaves · depth²) per tree.

use super::{DEPTH_MAX, Tree};

/// Maximum elements of a path: the root and one per level.
const PATH_MAX: usize = DEPTH_MAX + 1;

/// A feature on the path from the root, with the shares of subsets that follow the path without and with it.
#[derive(Clone, Copy, Debug, Default)]
struct PathElement {
    feature: usize,
    /// Share of the training rows that follow the path when the feature is unknown.
    zero: f64,
    /// 1 if the row follows the path by this feature, otherwise 0.
    one: f64,
    /// Summed weight of the subsets of this size.
    weight: f64,
}

/// The features on the path from the root. The first element is the root itself.
#[derive(Clone, Copy, Debug, Default)]
struct Path {
    elements: [PathElement; PATH_MAX],
    length: usize,
}

/// Returns the mean value of a tree's leaves, weighted by their training rows.
pub(super) fn expected(tree: &Tree) -> f64 {
    let root = f64::from(tree.nodes[0].cover);
    let leaves = tree.nodes.iter().filter(|node| node.is_leaf());
    leaves
        .map(|leaf| f64::from(leaf.threshold) * f64::from(leaf.cover) / root)
        .sum()
}

/// Adds the contribution of each feature to a tree's prediction to `parts`.
pub(super) fn add(tree: &Tree, row: &[f32], parts: &mut [f64]) {
    let mut walk = Walk { tree, row, parts };
    let mut path = Path::default();
    path.extend(1.0, 1.0, usize::MAX);
    walk.descend(0, path);
}

struct Walk<'w> {
    tree: &'w Tree,
    row: &'w [f32],
    parts: &'w mut [f64],
}

impl Walk<'_> {
    fn descend(&mut self, index: usize, mut path: Path) {
        let node = &self.tree.nodes[index];
        if node.is_leaf() {
            for at in 1..path.length {
                let element = path.elements[at];
                let share = path.unwound_weight(at) * (element.one - element.zero);
                self.parts[element.feature] += share * f64::from(node.threshold);
            }
            return;
        }
        let feature = node.feature as usize;
        let followed = node.child(self.row[feature]);
        let left = node.left as usize;
        let other = if followed == left { left + 1 } else { left };
        let (mut zero, mut one) = (1.0, 1.0);
        if let Some(at) = path.position(feature) {
            (zero, one) = (path.elements[at].zero, path.elements[at].one);
            path.unwind(at);
        }
        let cover = f64::from(node.cover);
        for (child, one) in [(followed, one), (other, 0.0)] {
            let share = zero * f64::from(self.tree.nodes[child].cover) / cover;
            let mut path = path;
            path.extend(share, one, feature);
            self.descend(child, path);
        }
    }
}

impl Path {
    fn position(&self, feature: usize) -> Option<usize> {
        let elements = &self.elements[..self.length];
        elements
            .iter()
            .position(|element| element.feature == feature)
    }

    /// Adds a feature.
    fn extend(&mut self, zero: f64, one: f64, feature: usize) {
        let depth = self.length;
        self.elements[depth] = PathElement {
            feature,
            zero,
            one,
            weight: if depth == 0 { 1.0 } else { 0.0 },
        };
        self.length += 1;
        let size = self.length as f64;
        for at in (0..depth).rev() {
            let weight = self.elements[at].weight;
            self.elements[at + 1].weight += one * weight * (at as f64 + 1.0) / size;
            self.elements[at].weight = zero * weight * (depth - at) as f64 / size;
        }
    }

    /// Removes a feature.
    fn unwind(&mut self, at: usize) {
        let depth = self.length - 1;
        let size = self.length as f64;
        let PathElement { zero, one, .. } = self.elements[at];
        let mut next = self.elements[depth].weight;
        for place in (0..depth).rev() {
            let weight = self.elements[place].weight;
            if one == 0.0 {
                self.elements[place].weight = weight * size / (zero * (depth - place) as f64);
            } else {
                let unwound = next * size / ((place as f64 + 1.0) * one);
                self.elements[place].weight = unwound;
                next = weight - unwound * zero * (depth - place) as f64 / size;
            }
        }
        for place in at..depth {
            let weight = self.elements[place].weight;
            self.elements[place] = PathElement {
                weight,
                ..self.elements[place + 1]
            };
        }
        self.length = depth;
    }

    /// Returns the summed weight without a feature.
    fn unwound_weight(&self, at: usize) -> f64 {
        let mut path = *self;
        path.unwind(at);
        let elements = &path.elements[..path.length];
        elements.iter().map(|element| element.weight).sum()
    }
}
