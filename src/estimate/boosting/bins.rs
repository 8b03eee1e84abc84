//! Puts the values of features into bins of about equally many rows, so that growing trees needs one byte per value.

use rayon::prelude::*;

/// Slots of a histogram per feature: bins of values, and one for missing values.
pub(super) const SLOTS: usize = 256;
/// Slot of missing values.
pub(super) const MISSING: u8 = (SLOTS - 1) as u8;
/// Maximum rows whose values determine the bins, taken at equal distances.
const SAMPLE_ROWS_MAX: usize = 1 << 20;
/// Rows per task.
const TASK_ROWS: usize = 1 << 14;

/// The features of all rows, as bins.
pub(super) struct BinnedRows {
    /// Number of features.
    pub features: usize,
    /// Bin of each value, row by row.
    bins: Vec<u8>,
    /// Thresholds between the bins of each feature, ascending.
    thresholds: Vec<Vec<f32>>,
}

impl BinnedRows {
    /// Bins values, which are given row by row.
    pub fn new(values: &[f32], features: usize) -> Self {
        let rows = values.len() / features;
        let step = rows.div_ceil(SAMPLE_ROWS_MAX).max(1);
        let thresholds: Vec<Vec<f32>> = (0..features)
            .into_par_iter()
            .map(|feature| {
                let column = values.iter().skip(feature).step_by(features * step);
                thresholds(column.copied().filter(|value| !value.is_nan()).collect())
            })
            .collect();
        let mut bins = vec![MISSING; values.len()];
        bins.par_chunks_mut(TASK_ROWS * features)
            .zip(values.par_chunks(TASK_ROWS * features))
            .for_each(|(bins, values)| {
                let features = thresholds.iter().cycle();
                for ((bin, value), thresholds) in bins.iter_mut().zip(values).zip(features) {
                    if !value.is_nan() {
                        *bin = thresholds.partition_point(|threshold| threshold <= value) as u8;
                    }
                }
            });
        Self {
            features,
            bins,
            thresholds,
        }
    }

    /// The bins of one row.
    #[inline]
    pub fn row(&self, row: usize) -> &[u8] {
        &self.bins[row * self.features..][..self.features]
    }

    /// The number of bins of a feature.
    pub fn count(&self, feature: usize) -> usize {
        self.thresholds[feature].len() + 1
    }

    /// The threshold below a bin, which must not be the first: smaller values are in the bins before it.
    pub fn threshold(&self, feature: usize, bin: usize) -> f32 {
        self.thresholds[feature][bin - 1]
    }
}

/// Returns the thresholds between the bins of a column: all values but the least if there are few, otherwise values at
/// equal distances in their order.
fn thresholds(mut column: Vec<f32>) -> Vec<f32> {
    const BINS: usize = MISSING as usize;
    column.sort_unstable_by(f32::total_cmp);
    let Some(&least) = column.first() else {
        return column;
    };
    let rows = column.len();
    let mut distinct = column.clone();
    distinct.dedup();
    if distinct.len() > BINS {
        distinct = (1..BINS).map(|bin| column[bin * rows / BINS]).collect();
        distinct.dedup();
    }
    distinct.retain(|value| *value > least);
    distinct
}
