//! Grows trees level by level from histograms of gradients.

use rayon::prelude::*;
use toise_base::splitmix::{self, SplitMix64};

use super::bins::{BinnedRows, MISSING, SLOTS};
use super::loss::{Bounds, Sums, TASK_ROWS, Units, add, gradients, subtract, weighted_quantile};
use super::tree::{Node, Tree};
use super::{BoostedTrees, DEPTH_MAX, Direction, FEATURES_MAX, TrainingMatrix, TreeSettings};
use crate::error::Error;

/// Share of rows drawn for each tree.
const ROW_SHARE: f64 = 0.7;
/// Share of features drawn for each tree.
const FEATURE_SHARE: f64 = 0.6;
/// Minimum gain of a split: twice the reduction of the loss.
const GAIN_MIN: f64 = 1e-6;

/// A node that has no children yet.
struct OpenNode {
    index: usize,
    rows: Vec<u32>,
    sums: Sums,
    bounds: Bounds,
    /// Sums per drawn feature and slot.
    histogram: Vec<Sums>,
}

/// The best split of a node.
#[derive(Clone, Copy)]
struct Split {
    feature: usize,
    /// First bin on the right.
    bin: usize,
    missing_left: bool,
    gain: f64,
    /// Sums of the left and the right child.
    sums: [Sums; 2],
    /// Values of both as leaves.
    values: [f64; 2],
}

impl BoostedTrees {
    /// Grows trees. The result does not depend on the number of threads.
    ///
    /// # Errors
    /// There are no rows, their numbers of values, labels and weights do not fit, or there are too many features or
    /// levels.
    pub fn grow(rows: TrainingMatrix, settings: &TreeSettings) -> Result<Self, Error> {
        let TrainingMatrix {
            values,
            labels,
            weights,
        } = rows;
        let features = settings.directions.len();
        let rows = labels.len();
        if rows == 0 || values.len() != rows * features || weights.len() != rows {
            return Err(Error::Trees(format!(
                "{rows} labels, {} weights and {} values of {features} features to learn from",
                weights.len(),
                values.len()
            )));
        }
        if !(1..=FEATURES_MAX).contains(&features) || settings.depth > DEPTH_MAX {
            return Err(Error::Trees(format!(
                "{features} features and a depth of {}: at most {FEATURES_MAX} and {DEPTH_MAX} are possible",
                settings.depth
            )));
        }
        let binned = BinnedRows::new(&values, features);
        drop(values);
        let base = weighted_quantile(&labels, &weights, settings.quantile);
        let mut fitted = vec![base; rows];
        let mut trees = Vec::with_capacity(settings.trees);
        for number in 0..settings.trees {
            let seed = splitmix::mix_into(splitmix::mix(settings.seed), number as u64);
            let (gradients, units) = gradients(&fitted, &labels, &weights, settings.quantile);
            let grower = Grower {
                binned: &binned,
                gradients: &gradients,
                units,
                settings,
                features: draw_features(features, seed),
                seed,
            };
            let tree = grower.grow(draw_rows(rows, seed));
            fitted
                .par_chunks_mut(TASK_ROWS)
                .enumerate()
                .for_each(|(task, fitted)| {
                    for (row, fitted) in (task * TASK_ROWS..).zip(fitted) {
                        *fitted += tree.leaf(binned.row(row));
                    }
                });
            trees.push(tree.tree);
        }
        Ok(Self::new(base, features, trees))
    }
}

/// Draws the rows of a tree.
fn draw_rows(rows: usize, seed: u64) -> Vec<u32> {
    (0..rows as u32)
        .into_par_iter()
        .with_min_len(TASK_ROWS)
        .filter(|row| splitmix::to_unit(splitmix::mix_into(seed, u64::from(*row))) < ROW_SHARE)
        .collect()
}

/// Draws the features of a tree, in their order.
fn draw_features(features: usize, seed: u64) -> Vec<usize> {
    let mut drawn: Vec<usize> = (0..features).collect();
    let wanted = ((features as f64 * FEATURE_SHARE) as usize).max(1);
    let mut numbers = SplitMix64::new(seed);
    for at in 0..wanted {
        let other = at + numbers.below(features - at);
        drawn.swap(at, other);
    }
    drawn.truncate(wanted);
    drawn.sort_unstable();
    drawn
}

/// Grows one tree.
struct Grower<'a> {
    binned: &'a BinnedRows,
    gradients: &'a [[i32; 2]],
    units: Units,
    settings: &'a TreeSettings,
    features: Vec<usize>,
    seed: u64,
}

/// A grown tree, with the bins of its splits for rows that are binned.
struct GrownTree {
    tree: Tree,
    /// First bin on the right of each node.
    bins: Vec<u8>,
}

impl GrownTree {
    /// Returns the value of the leaf that a binned row falls into.
    fn leaf(&self, row: &[u8]) -> f32 {
        let mut index = 0;
        loop {
            let node = &self.tree.nodes[index];
            let Some(feature) = node.feature else {
                return node.value;
            };
            let goes_left = goes_left(
                row[usize::from(feature)],
                self.bins[index],
                node.missing_left,
            );
            index = node.left as usize + usize::from(!goes_left);
        }
    }
}

fn goes_left(bin: u8, first_right: u8, missing_left: bool) -> bool {
    if bin == MISSING {
        missing_left
    } else {
        bin < first_right
    }
}

impl Grower<'_> {
    fn grow(&self, rows: Vec<u32>) -> GrownTree {
        let root = OpenNode {
            index: 0,
            sums: self.sums(&rows),
            histogram: self.histogram(&rows),
            rows,
            bounds: Bounds {
                min: f64::NEG_INFINITY,
                max: f64::INFINITY,
            },
        };
        let mut nodes = vec![self.leaf(root.sums, root.bounds)];
        let mut bins = vec![0];
        let mut level = vec![root];
        for depth in 0..self.settings.depth {
            let splits: Vec<Option<Split>> =
                level.par_iter().map(|node| self.best_split(node)).collect();
            let mut parents = Vec::new();
            for (node, split) in level.into_iter().zip(splits) {
                let Some(split) = split else { continue };
                let left = nodes.len();
                let threshold = self.binned.threshold(split.feature, split.bin);
                nodes[node.index] = Node {
                    feature: Some(split.feature as u16),
                    missing_left: split.missing_left,
                    value: threshold,
                    left: left as u32,
                    ..nodes[node.index]
                };
                bins[node.index] = split.bin as u8;
                for (sums, bounds) in split.sums.into_iter().zip(self.bounds(&node, split)) {
                    nodes.push(self.leaf(sums, bounds));
                    bins.push(0);
                }
                parents.push((node, split, left));
            }
            let is_last = depth + 1 == self.settings.depth;
            if parents.is_empty() || is_last {
                break;
            }
            level = parents
                .into_par_iter()
                .flat_map_iter(|(node, split, left)| self.children(node, split, left))
                .collect();
        }
        GrownTree {
            tree: Tree { nodes },
            bins,
        }
    }

    fn leaf(&self, sums: Sums, bounds: Bounds) -> Node {
        let loss = self.units.loss(sums);
        let value = self.settings.rate * loss.best_value(bounds);
        Node::leaf(value as f32, loss.curvature as f32)
    }

    fn sums(&self, rows: &[u32]) -> Sums {
        rows.iter().fold([0; 2], |sums, row| {
            add(sums, self.gradients[*row as usize].map(i64::from))
        })
    }

    /// Sums the gradients of rows by feature and bin.
    fn histogram(&self, rows: &[u32]) -> Vec<Sums> {
        let empty = || vec![[0; 2]; self.features.len() * SLOTS];
        let of_chunk = |mut histogram: Vec<Sums>, rows: &[u32]| {
            for row in rows {
                let row = *row as usize;
                let sums = self.gradients[row].map(i64::from);
                let bins = self.binned.row(row);
                for (slots, feature) in histogram.chunks_exact_mut(SLOTS).zip(&self.features) {
                    let slot = &mut slots[usize::from(bins[*feature])];
                    *slot = add(*slot, sums);
                }
            }
            histogram
        };
        if rows.len() <= TASK_ROWS {
            return of_chunk(empty(), rows);
        }
        rows.par_chunks(TASK_ROWS)
            .fold(empty, of_chunk)
            .reduce(empty, |mut one, other| {
                for (one, other) in one.iter_mut().zip(other) {
                    *one = add(*one, other);
                }
                one
            })
    }

    /// Makes the open children of a node; `left` is the index of the first.
    fn children(
        &self,
        node: OpenNode,
        split: Split,
        left: usize,
    ) -> impl Iterator<Item = OpenNode> + use<> {
        let bounds = self.bounds(&node, split);
        let OpenNode {
            rows,
            mut histogram,
            ..
        } = node;
        let parts: Vec<(Vec<u32>, Vec<u32>)> = rows
            .par_chunks(TASK_ROWS)
            .map(|rows| {
                rows.iter().partition(|row| {
                    let bin = self.binned.row(**row as usize)[split.feature];
                    goes_left(bin, split.bin as u8, split.missing_left)
                })
            })
            .collect();
        let (of_left, of_right): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
        let rows = [of_left.concat(), of_right.concat()];
        // The histogram of the larger child is the rest of the parent's.
        let smaller = usize::from(rows[1].len() < rows[0].len());
        let of_smaller = self.histogram(&rows[smaller]);
        for (rest, taken) in histogram.iter_mut().zip(&of_smaller) {
            *rest = subtract(*rest, *taken);
        }
        let histograms = if smaller == 0 {
            [of_smaller, histogram]
        } else {
            [histogram, of_smaller]
        };
        let [left_rows, right_rows] = rows;
        let [left_histogram, right_histogram] = histograms;
        [(left_rows, left_histogram), (right_rows, right_histogram)]
            .into_iter()
            .enumerate()
            .map(move |(side, (rows, histogram))| OpenNode {
                index: left + side,
                rows,
                sums: split.sums[side],
                bounds: bounds[side],
                histogram,
            })
    }

    /// Bounds of the values of a node's children: the mean of their values separates those that must be in order.
    fn bounds(&self, node: &OpenNode, split: Split) -> [Bounds; 2] {
        let middle = (split.values[0] + split.values[1]) / 2.0;
        let Bounds { min, max } = node.bounds;
        let below = Bounds { min, max: middle };
        let above = Bounds { min: middle, max };
        match self.settings.directions[split.feature] {
            Direction::Free => [node.bounds; 2],
            Direction::Up => [below, above],
            Direction::Down => [above, below],
        }
    }

    /// Returns the split that reduces the loss most; `None` if no split reduces it.
    fn best_split(&self, node: &OpenNode) -> Option<Split> {
        let mut numbers = SplitMix64::new(splitmix::mix_into(self.seed, node.index as u64));
        let loss = self.units.loss(node.sums);
        let search = SplitSearch {
            grower: self,
            node,
            reduction: loss.reduction(loss.best_value(node.bounds)),
        };
        let mut best: Option<Split> = None;
        for (slots, feature) in node.histogram.chunks_exact(SLOTS).zip(&self.features) {
            let drawn = self.settings.extra_trees.then(|| numbers.unit());
            search.search(slots, *feature, drawn, &mut best);
        }
        best
    }
}

/// A search for the best split of a node.
struct SplitSearch<'a> {
    grower: &'a Grower<'a>,
    node: &'a OpenNode,
    /// Twice the reduction of the loss by the node as a leaf.
    reduction: f64,
}

impl SplitSearch<'_> {
    /// Tries the splits of a feature: all, or one at a drawn share of the bins in use.
    fn search(&self, slots: &[Sums], feature: usize, drawn: Option<f64>, best: &mut Option<Split>) {
        let bins = &slots[..self.grower.binned.count(feature)];
        let is_used = |sums: &Sums| sums[1] > 0;
        let (Some(first), Some(last)) = (
            bins.iter().position(is_used),
            bins.iter().rposition(is_used),
        ) else {
            return;
        };
        if first == last {
            return;
        }
        let missing = slots[usize::from(MISSING)];
        let only = drawn.map(|drawn| first + 1 + (drawn * (last - first) as f64) as usize);
        let mut left: Sums = [0; 2];
        for bin in first + 1..=only.unwrap_or(last) {
            left = add(left, bins[bin - 1]);
            if only.is_some_and(|only| only != bin) {
                continue;
            }
            self.offer(left, feature, bin, false, best);
            if is_used(&missing) {
                self.offer(add(left, missing), feature, bin, true, best);
            }
        }
    }

    /// Keeps a split if it is allowed and better than the best.
    fn offer(
        &self,
        left: Sums,
        feature: usize,
        bin: usize,
        missing_left: bool,
        best: &mut Option<Split>,
    ) {
        let Grower {
            units, settings, ..
        } = self.grower;
        let sums = [left, subtract(self.node.sums, left)];
        let losses = sums.map(|sums| units.loss(sums));
        if losses.iter().any(|loss| loss.curvature < settings.leaf_min) {
            return;
        }
        let values = losses.map(|loss| loss.best_value(self.node.bounds));
        let is_in_order = match settings.directions[feature] {
            Direction::Free => true,
            Direction::Up => values[0] <= values[1],
            Direction::Down => values[0] >= values[1],
        };
        let reductions = [0, 1].map(|side| losses[side].reduction(values[side]));
        let gain = reductions[0] + reductions[1] - self.reduction;
        let least = best.map_or(GAIN_MIN, |best| best.gain);
        if is_in_order && gain > least {
            *best = Some(Split {
                feature,
                bin,
                missing_left,
                gain,
                sums,
                values,
            });
        }
    }
}
