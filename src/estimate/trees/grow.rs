//! Grows boosted trees on histograms of binned features, level by level (Chen and Guestrin 2016; Ke et al. 2017).
//!
//! The loss is the pinball loss of the quantile. A split maximises the gain of its gradients; a leaf is the weighted quantile
//! of the residuals of its rows, times the learning rate. Each tree sees a share of the rows and of the features, drawn from
//! the seed. Sums are taken in the order of rows within one feature, so the result does not depend on the number of threads.
//! A tree over 500,000 rows of 24 features takes about 60 ms on two cores.

use rayon::prelude::*;

use super::{BoostedTrees, DEPTH_MAX, Direction, Node, TrainingMatrix, Tree, TreeSettings};
use crate::error::Error;
use toise_base::splitmix::{SplitMix64, hash_unit, mix, mix_into};

/// Share of rows drawn for each tree.
const ROW_SHARE: f64 = 0.7;
/// Share of features drawn for each tree.
const FEATURE_SHARE: f64 = 0.6;
/// Maximum bins of a feature; a further one holds unknown values.
const BINS_MAX: usize = 255;
/// The bin of unknown values.
const UNKNOWN: u8 = 255;
/// Rows that are looked at for the bounds of bins.
const BINNED_ROWS_MAX: usize = 200_000;
/// L2 regularisation of gains.
const LAMBDA: f64 = 1.0;
/// Minimum gain of a split.
const GAIN_MIN: f64 = 1e-6;
/// Weights up to this are none: differences of sums are not exact.
const WEIGHT_MIN: f64 = 1e-6;
/// Rows that a thread handles at least.
const ROWS_PER_THREAD_MIN: usize = 4_096;

/// Sums of gradients and weights.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    gradient: f64,
    weight: f64,
}

impl Sums {
    fn add(&mut self, other: Self) {
        self.gradient += other.gradient;
        self.weight += other.weight;
    }

    fn minus(self, other: Self) -> Self {
        Self {
            gradient: self.gradient - other.gradient,
            weight: self.weight - other.weight,
        }
    }

    fn score(self) -> f64 {
        self.gradient * self.gradient / (self.weight + LAMBDA)
    }

    /// The change of the prediction that the gradients ask for.
    fn step(self) -> f64 {
        -self.gradient / (self.weight + LAMBDA)
    }
}

/// The sums of each bin of a feature.
type Histogram = Vec<Sums>;

/// The features as bins, column by column.
struct Binned {
    /// Lower bounds of the bins from the second on, by feature.
    cuts: Vec<Vec<f32>>,
    columns: Vec<Vec<u8>>,
}

/// A split of a node.
#[derive(Clone, Copy, Debug)]
struct Split {
    gain: f64,
    feature: usize,
    /// Bins up to this one go left.
    bin: usize,
    is_default_left: bool,
}

impl Split {
    fn is_left(&self, bin: u8) -> bool {
        if bin == UNKNOWN {
            self.is_default_left
        } else {
            usize::from(bin) <= self.bin
        }
    }
}

/// A node that may be split.
struct Open<'r> {
    index: usize,
    /// Its rows, ascending.
    rows: &'r mut [u32],
    histograms: Vec<Histogram>,
}

/// A node that was split, with its children.
struct Opened<'r> {
    index: usize,
    split: Split,
    children: [(&'r mut [u32], Vec<Histogram>); 2],
}

/// The outcome for one node: split, or a leaf with its rows.
enum Visited<'r> {
    Split(Opened<'r>),
    Leaf(usize, &'r mut [u32]),
}

/// A grown tree, with the bin of each split, and the rows of each leaf.
struct Grown<'r> {
    tree: Tree,
    splits: Vec<Option<Split>>,
    leaves: Vec<(usize, &'r mut [u32])>,
}

/// The data of a training, and the settings.
struct Trainer<'t> {
    binned: Binned,
    labels: Vec<f32>,
    weights: Vec<f32>,
    predictions: Vec<f32>,
    settings: &'t TreeSettings,
}

impl BoostedTrees {
    /// Grows trees. The result does not depend on the number of threads. Takes all cores.
    ///
    /// # Errors
    /// There is no row, or the numbers of values, labels, weights and constraints do not fit together.
    pub fn grow(rows: TrainingMatrix, settings: &TreeSettings) -> Result<Self, Error> {
        let features = settings.directions.len();
        let count = rows.labels.len();
        let is_sound = rows.values.len() == count * features && rows.weights.len() == count;
        if count == 0 || !is_sound || features == 0 || u32::try_from(count).is_err() {
            let message = format!("{count} rows of {features} features cannot be trained on");
            return Err(Error::Trees(message));
        }
        let mut all: Vec<(f32, f32)> = rows
            .labels
            .iter()
            .copied()
            .zip(rows.weights.iter().copied())
            .collect();
        let base = weighted_quantile(&mut all, settings.quantile);
        let mut trainer = Trainer {
            binned: Binned::new(&rows.values, features),
            predictions: vec![base; count],
            labels: rows.labels,
            weights: rows.weights,
            settings,
        };
        let trees = (0..settings.trees)
            .map(|number| trainer.next_tree(number))
            .collect();
        Ok(Self::new(base, features, settings.quantile, trees))
    }
}

impl Binned {
    fn new(values: &[f32], features: usize) -> Self {
        let count = values.len() / features;
        let columns = (0..features).into_par_iter().map(|feature| {
            let column = || values.iter().skip(feature).step_by(features).copied();
            let step = count.div_ceil(BINNED_ROWS_MAX);
            let mut seen: Vec<f32> = column()
                .step_by(step)
                .filter(|value| !value.is_nan())
                .collect();
            seen.sort_unstable_by(f32::total_cmp);
            let cuts = cuts(&seen);
            let bins = column().map(|value| {
                if value.is_nan() {
                    UNKNOWN
                } else {
                    cuts.partition_point(|cut| *cut <= value) as u8
                }
            });
            let bins = bins.collect();
            (cuts, bins)
        });
        let (cuts, columns) = columns.unzip();
        Self { cuts, columns }
    }
}

/// Returns the lower bounds of the bins of sorted values, from the second bin on: between all distinct values if they are
/// few, otherwise at quantiles.
fn cuts(sorted: &[f32]) -> Vec<f32> {
    let mut distinct: Vec<f32> = sorted.to_vec();
    distinct.dedup();
    if distinct.len() > BINS_MAX {
        distinct = (0..BINS_MAX)
            .map(|bin| sorted[bin * sorted.len() / BINS_MAX])
            .collect();
        distinct.dedup();
    }
    let between = distinct.windows(2).map(|pair| {
        let middle = pair[0] + (pair[1] - pair[0]) / 2.0;
        if middle > pair[0] { middle } else { pair[1] }
    });
    between.collect()
}

impl Trainer<'_> {
    /// Grows the tree of a number, and adds it to the predictions.
    fn next_tree(&mut self, number: usize) -> Tree {
        let seed = mix_into(mix(self.settings.seed), number as u64);
        let count = self.labels.len();
        let is_drawn = |row: &u32| hash_unit(mix_into(seed, u64::from(*row))) < ROW_SHARE;
        let mut rows: Vec<u32> = (0..count as u32).filter(is_drawn).collect();
        let features = self.drawn_features(seed);
        let pairs = self.pairs(&rows);
        let (tree, updates) = {
            let grown = self.grow_tree(seed, &mut rows, &features, &pairs);
            self.finished(grown)
        };
        for (row, value) in updates {
            self.predictions[row as usize] += value;
        }
        tree
    }

    fn drawn_features(&self, seed: u64) -> Vec<usize> {
        let count = self.settings.directions.len();
        let drawn = ((count as f64 * FEATURE_SHARE) as usize).max(1);
        let mut random = SplitMix64::new(mix(seed));
        let mut features: Vec<usize> = (0..count).collect();
        for place in 0..drawn {
            features.swap(place, place + random.below(count - place));
        }
        features.truncate(drawn);
        features.sort_unstable();
        features
    }

    /// Returns gradient and weight of all rows; those of rows that were not drawn are zero.
    fn pairs(&self, rows: &[u32]) -> Vec<[f32; 2]> {
        let quantile = self.settings.quantile as f32;
        let mut pairs = vec![[0.0; 2]; self.labels.len()];
        for row in rows {
            let row = *row as usize;
            let is_above = self.predictions[row] > self.labels[row];
            let slope = if is_above { 1.0 - quantile } else { -quantile };
            let weight = self.weights[row];
            pairs[row] = [slope * weight, weight];
        }
        pairs
    }

    fn histograms(&self, rows: &[u32], features: &[usize], pairs: &[[f32; 2]]) -> Vec<Histogram> {
        let of_feature = |feature: &usize| {
            let column = &self.binned.columns[*feature];
            let mut histogram = vec![Sums::default(); BINS_MAX + 1];
            for row in rows {
                let row = *row as usize;
                let sums = &mut histogram[usize::from(column[row])];
                let [gradient, weight] = pairs[row];
                sums.gradient += f64::from(gradient);
                sums.weight += f64::from(weight);
            }
            histogram
        };
        if rows.len() < ROWS_PER_THREAD_MIN {
            features.iter().map(of_feature).collect()
        } else {
            features.par_iter().map(of_feature).collect()
        }
    }

    fn grow_tree<'r>(
        &self,
        seed: u64,
        rows: &'r mut [u32],
        features: &[usize],
        pairs: &[[f32; 2]],
    ) -> Grown<'r> {
        let root = self.histograms(rows, features, pairs);
        let mut tree = Tree {
            nodes: vec![leaf(total(&root).weight)],
        };
        let (mut splits, mut leaves) = (vec![None], Vec::new());
        let mut open = vec![Open {
            index: 0,
            rows,
            histograms: root,
        }];
        let depth_max = self.settings.depth.min(DEPTH_MAX);
        for depth in 0..=depth_max {
            let is_last = depth == depth_max;
            let visited: Vec<Visited<'r>> = open
                .into_par_iter()
                .map(|node| {
                    if is_last {
                        return Visited::Leaf(node.index, node.rows);
                    }
                    self.visit(seed, node, features, pairs)
                })
                .collect();
            open = Vec::new();
            for one in visited {
                let Opened {
                    index,
                    split,
                    children,
                } = match one {
                    Visited::Split(opened) => opened,
                    Visited::Leaf(index, rows) => {
                        leaves.push((index, rows));
                        continue;
                    }
                };
                let left = tree.nodes.len();
                let node = &mut tree.nodes[index];
                node.left = left as u32;
                node.feature = split.feature as u32;
                node.threshold = self.binned.cuts[split.feature][split.bin];
                node.is_default_left = split.is_default_left;
                splits[index] = Some(split);
                for (rows, histograms) in children {
                    open.push(Open {
                        index: tree.nodes.len(),
                        rows,
                        histograms: Vec::new(),
                    });
                    tree.nodes.push(leaf(total(&histograms).weight));
                    splits.push(None);
                    if let Some(last) = open.last_mut() {
                        last.histograms = histograms;
                    }
                }
            }
        }
        Grown {
            tree,
            splits,
            leaves,
        }
    }

    /// Splits a node at its best split, if it has one.
    fn visit<'r>(
        &self,
        seed: u64,
        node: Open<'r>,
        features: &[usize],
        pairs: &[[f32; 2]],
    ) -> Visited<'r> {
        let Open {
            index,
            rows,
            histograms,
        } = node;
        let all = total(&histograms);
        let candidates = features.iter().zip(&histograms);
        let best = candidates
            .filter_map(|(feature, histogram)| {
                let seed = mix_into(mix_into(seed, index as u64), *feature as u64);
                self.best_split(*feature, histogram, all, seed)
            })
            .reduce(|best, other| if other.gain > best.gain { other } else { best });
        let Some(split) = best else {
            return Visited::Leaf(index, rows);
        };
        let left_count = partition(rows, &self.binned.columns[split.feature], &split);
        let (left, right) = rows.split_at_mut(left_count);
        let is_left_smaller = left.len() <= right.len();
        let smaller = if is_left_smaller { &*left } else { &*right };
        let of_smaller = self.histograms(smaller, features, pairs);
        let mut of_larger = histograms;
        for (larger, smaller) in of_larger.iter_mut().zip(&of_smaller) {
            for (sums, other) in larger.iter_mut().zip(smaller) {
                *sums = sums.minus(*other);
            }
        }
        let (of_left, of_right) = if is_left_smaller {
            (of_smaller, of_larger)
        } else {
            (of_larger, of_smaller)
        };
        Visited::Split(Opened {
            index,
            split,
            children: [(left, of_left), (right, of_right)],
        })
    }

    /// Returns the best split of a node by a feature: of all thresholds, or of one random threshold for extra trees.
    fn best_split(
        &self,
        feature: usize,
        histogram: &Histogram,
        all: Sums,
        seed: u64,
    ) -> Option<Split> {
        let bins = self.binned.cuts[feature].len() + 1;
        let known = &histogram[..bins];
        let is_seen = |sums: &Sums| sums.weight > WEIGHT_MIN;
        let first = known.iter().position(is_seen)?;
        let last = known.iter().rposition(is_seen)?;
        if first == last {
            return None;
        }
        let tried = if self.settings.extra_trees {
            let bin = first + SplitMix64::new(seed).below(last - first);
            bin..bin + 1
        } else {
            first..last
        };
        let mut left = Sums::default();
        for sums in &known[first..tried.start] {
            left.add(*sums);
        }
        let mut best: Option<Split> = None;
        for bin in tried {
            left.add(known[bin]);
            let found = self.split_at(feature, bin, left, histogram[usize::from(UNKNOWN)], all);
            best = match (best, found) {
                (Some(best), Some(found)) if found.gain > best.gain => Some(found),
                (None, found) => found,
                (best, _) => best,
            };
        }
        best
    }

    /// Returns the split after a bin, with unknown values on the better side; `None` if it is not allowed or gains nothing.
    fn split_at(
        &self,
        feature: usize,
        bin: usize,
        known_left: Sums,
        unknown: Sums,
        all: Sums,
    ) -> Option<Split> {
        let evaluated = |is_default_left: bool| {
            let mut left = known_left;
            if is_default_left {
                left.add(unknown);
            }
            let right = all.minus(left);
            let leaf_min = self.settings.leaf_min;
            let is_allowed = match self.settings.directions[feature] {
                Direction::Free => true,
                Direction::Up => left.step() <= right.step(),
                Direction::Down => left.step() >= right.step(),
            };
            let gain = left.score() + right.score() - all.score();
            let is_worth = gain > GAIN_MIN && left.weight >= leaf_min && right.weight >= leaf_min;
            (is_allowed && is_worth).then_some(Split {
                gain,
                feature,
                bin,
                is_default_left,
            })
        };
        if unknown.weight <= WEIGHT_MIN {
            // Unknown values, should any come, go where most rows go.
            return evaluated(known_left.weight >= all.weight / 2.0);
        }
        match (evaluated(true), evaluated(false)) {
            (Some(left), Some(right)) if right.gain > left.gain => Some(right),
            (None, right) => right,
            (left, _) => left,
        }
    }

    /// Sets the values of the leaves, and returns what the tree adds to the prediction of each row.
    fn finished(&self, grown: Grown<'_>) -> (Tree, Vec<(u32, f32)>) {
        let Grown {
            mut tree,
            splits,
            leaves,
        } = grown;
        let values: Vec<(usize, f32)> = leaves
            .par_iter()
            .map(|(index, rows)| {
                let residuals = rows.iter().map(|row| {
                    let row = *row as usize;
                    (self.labels[row] - self.predictions[row], self.weights[row])
                });
                let mut residuals: Vec<(f32, f32)> = residuals.collect();
                let quantile = weighted_quantile(&mut residuals, self.settings.quantile);
                (*index, quantile * self.settings.rate as f32)
            })
            .collect();
        for (index, value) in values {
            tree.nodes[index].threshold = value;
        }
        constrain(&mut tree, &self.settings.directions);
        let updates = (0..self.labels.len() as u32)
            .into_par_iter()
            .with_min_len(ROWS_PER_THREAD_MIN)
            .map(|row| {
                let mut index = 0;
                while let Some(split) = &splits[index] {
                    let bin = self.binned.columns[split.feature][row as usize];
                    index = tree.nodes[index].left as usize + usize::from(!split.is_left(bin));
                }
                (row, tree.nodes[index].threshold)
            })
            .collect();
        (tree, updates)
    }
}

fn leaf(weight: f64) -> Node {
    Node {
        left: 0,
        feature: 0,
        threshold: 0.0,
        is_default_left: false,
        cover: weight as f32,
    }
}

/// Returns the sums of a node, from the histogram of any of its features.
fn total(histograms: &[Histogram]) -> Sums {
    let mut all = Sums::default();
    for sums in histograms.first().into_iter().flatten() {
        all.add(*sums);
    }
    all
}

/// Moves the rows that go left before the others, both in their order; returns how many go left.
fn partition(rows: &mut [u32], column: &[u8], split: &Split) -> usize {
    let mut right = Vec::new();
    let mut left = 0;
    for at in 0..rows.len() {
        let row = rows[at];
        if split.is_left(column[row as usize]) {
            rows[left] = row;
            left += 1;
        } else {
            right.push(row);
        }
    }
    rows[left..].copy_from_slice(&right);
    left
}

/// Bounds the leaves on both sides of a constrained split by the middle of their mean values, so that no prediction breaks a
/// constraint.
fn constrain(tree: &mut Tree, directions: &[Direction]) {
    let means = means(tree);
    let mut open = vec![(0, f32::NEG_INFINITY, f32::INFINITY)];
    while let Some((index, low, high)) = open.pop() {
        let node = tree.nodes[index];
        if node.is_leaf() {
            tree.nodes[index].threshold = node.threshold.clamp(low, high);
            continue;
        }
        let (left, right) = (node.left as usize, node.left as usize + 1);
        let middle = ((means[left] + means[right]) / 2.0).clamp(low, high);
        let (of_left, of_right) = match directions[node.feature as usize] {
            Direction::Free => ((low, high), (low, high)),
            Direction::Up => ((low, middle), (middle, high)),
            Direction::Down => ((middle, high), (low, middle)),
        };
        open.push((left, of_left.0, of_left.1));
        open.push((right, of_right.0, of_right.1));
    }
}

/// Returns the mean value of the leaves under each node, weighted by their rows.
fn means(tree: &Tree) -> Vec<f32> {
    let mut means = vec![0.0; tree.nodes.len()];
    // Children follow their parent.
    for (index, node) in tree.nodes.iter().enumerate().rev() {
        means[index] = if node.is_leaf() {
            node.threshold
        } else {
            let left = node.left as usize;
            let [one, other] =
                [left, left + 1].map(|child| (means[child], tree.nodes[child].cover));
            (one.0 * one.1 + other.0 * other.1) / (one.1 + other.1)
        };
    }
    means
}

/// Returns the smallest value with at least a share of the weight at or below it; 0 of nothing. Expected linear time.
fn weighted_quantile(values: &mut [(f32, f32)], quantile: f64) -> f32 {
    let weight: f64 = values.iter().map(|(_, weight)| f64::from(*weight)).sum();
    let mut wanted = weight * quantile;
    let mut rest = values;
    loop {
        if rest.len() <= 1 {
            return rest.first().map_or(0.0, |(value, _)| *value);
        }
        let middle = rest.len() / 2;
        rest.select_nth_unstable_by(middle, |one, other| one.0.total_cmp(&other.0));
        let (left, right) = rest.split_at_mut(middle);
        let below: f64 = left.iter().map(|(_, weight)| f64::from(*weight)).sum();
        if below >= wanted {
            rest = left;
        } else {
            wanted -= below;
            rest = right;
        }
    }
}
