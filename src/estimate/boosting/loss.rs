//! The loss, its gradients, and the leaf values that minimise it.
//!
//! The loss is the quantile loss with a rounded kink, as in XGBoost 3.4. Near the kink it is curved like a parabola, so
//! each leaf takes a Newton step instead of computing a quantile of its residuals.

use rayon::prelude::*;

/// Width of the rounded kink, as a share of the scale of the residuals.
const KINK: f32 = 0.04;
/// Minimum curvature far from the kink, as a share of the curvature at the kink.
const CURVATURE_MIN: f32 = 3e-4;
/// Curvature added to each leaf, which shrinks the values of small leaves.
const SHRINKAGE: f64 = 1.0;
/// Rows per task. It only affects speed.
pub(super) const TASK_ROWS: usize = 1 << 14;
/// Bits of the greatest gradient as an integer. Sums of 2^32 rows fit 64 bits.
const GRADIENT_BITS: i32 = 30;

/// Gradient and curvature of the loss, as multiples of [`Units`].
pub(super) type Sums = [i64; 2];

pub(super) fn add(one: Sums, other: Sums) -> Sums {
    [one[0] + other[0], one[1] + other[1]]
}

pub(super) fn subtract(one: Sums, other: Sums) -> Sums {
    [one[0] - other[0], one[1] - other[1]]
}

/// The value of one unit of the integer gradients and curvatures.
#[derive(Clone, Copy)]
pub(super) struct Units {
    gradient: f64,
    curvature: f64,
}

/// Gradient and curvature of the loss, summed over rows.
#[derive(Clone, Copy)]
pub(super) struct Loss {
    pub gradient: f64,
    pub curvature: f64,
}

impl Units {
    pub fn loss(self, sums: Sums) -> Loss {
        Loss {
            gradient: sums[0] as f64 * self.gradient,
            curvature: sums[1] as f64 * self.curvature,
        }
    }
}

impl Loss {
    /// The value of a leaf that minimises the loss, within bounds.
    pub fn best_value(self, bounds: Bounds) -> f64 {
        (-self.gradient / (self.curvature + SHRINKAGE)).clamp(bounds.min, bounds.max)
    }

    /// Twice the reduction of the loss by a leaf's value.
    pub fn reduction(self, value: f64) -> f64 {
        -(2.0 * self.gradient * value + (self.curvature + SHRINKAGE) * value * value)
    }
}

/// Bounds of the values below a node, which keep the tree monotonic.
#[derive(Clone, Copy)]
pub(super) struct Bounds {
    pub min: f64,
    pub max: f64,
}

/// Returns the label that the given share of the weight does not exceed.
pub(super) fn weighted_quantile(labels: &[f32], weights: &[f32], quantile: f32) -> f32 {
    let mut order: Vec<usize> = (0..labels.len()).collect();
    order.par_sort_by(|one, other| labels[*one].total_cmp(&labels[*other]));
    let total: f64 = weights.iter().copied().map(f64::from).sum();
    let wanted = f64::from(quantile) * total;
    let mut sum = 0.0;
    for row in &order {
        sum += f64::from(weights[*row]);
        if sum >= wanted {
            return labels[*row];
        }
    }
    order.last().map_or(f32::NAN, |row| labels[*row])
}

/// Computes gradient and curvature of the loss of each row, as integers.
pub(super) fn gradients(
    fitted: &[f32],
    labels: &[f32],
    weights: &[f32],
    quantile: f32,
) -> (Vec<[i32; 2]>, Units) {
    // Chunks of a fixed length, summed in their order, so that the sum does not depend on the threads.
    let sums: Vec<(f64, f64, f32)> = (fitted.par_chunks(TASK_ROWS))
        .zip(labels.par_chunks(TASK_ROWS))
        .zip(weights.par_chunks(TASK_ROWS))
        .map(|((fitted, labels), weights)| {
            let mut sums = (0.0, 0.0, 0f32);
            for ((fitted, label), weight) in fitted.iter().zip(labels).zip(weights) {
                sums.0 += f64::from(weight * (fitted - label).abs().sqrt());
                sums.1 += f64::from(*weight);
                sums.2 = sums.2.max(*weight);
            }
            sums
        })
        .collect();
    let roots: f64 = sums.iter().map(|sums| sums.0).sum();
    let weight: f64 = sums.iter().map(|sums| sums.1).sum();
    let weight_max = sums.iter().fold(0f32, |max, sums| max.max(sums.2));
    let scale = (roots / weight).powi(2) as f32;
    let unit = |greatest: f32| f64::from(greatest) / f64::from(1u32 << GRADIENT_BITS);
    let units = Units {
        gradient: unit(weight_max * scale),
        curvature: unit(weight_max * 0.5 / KINK),
    };
    let gradients = (fitted.par_iter().zip(labels).zip(weights))
        .with_min_len(TASK_ROWS)
        .map(|((fitted, label), weight)| {
            if scale <= 0.0 {
                return [0, 0];
            }
            let distance = (fitted - label) / (KINK * scale);
            let bent = distance.tanh();
            let gradient = 0.5 * scale * (bent + 1.0 - 2.0 * quantile);
            let ratio = if distance == 0.0 {
                1.0
            } else {
                bent / distance
            };
            let curvature = 0.5 / KINK * ratio.max(CURVATURE_MIN);
            let whole = |value: f32, unit: f64| (f64::from(weight * value) / unit).round() as i32;
            [
                whole(gradient, units.gradient),
                whole(curvature, units.curvature),
            ]
        })
        .collect();
    (gradients, units)
}
