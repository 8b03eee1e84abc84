//! Provides the single entry point to a model. HTTP, the bulk command and SQL all call [`Valuer::value`], so they
//! return the same numbers.
//!
//! Prices are whole euros. Contributions are rounded so that they still sum to the price exactly.

use std::sync::Arc;

use super::model::Error;
use super::{Detail, Estimate, Extras, Home, Model};

/// Whether adjustments for characteristics missing from sales are applied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Adjustments {
    /// Apply the adjustments documented in [`super::adjustments`].
    #[default]
    On,
    /// Ignore these characteristics.
    Off,
}

/// A model with its options. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Valuer {
    model: Arc<Model>,
    pub(super) adjustments: Adjustments,
}

impl Valuer {
    /// Combines a model with its options.
    pub fn new(model: Arc<Model>, adjustments: Adjustments) -> Self {
        Self { model, adjustments }
    }

    /// The model in use.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Values a home in whole euros. Takes tens of microseconds of CPU; no input or output.
    ///
    /// # Errors
    /// See [`Model::estimate`].
    pub fn value(&self, home: &Home, detail: Detail) -> Result<Estimate, Error> {
        let plain;
        let home = match self.adjustments {
            Adjustments::On => home,
            Adjustments::Off => {
                plain = Home {
                    extras: Extras::default(),
                    ..home.clone()
                };
                &plain
            }
        };
        Ok(in_whole_euros(self.model.estimate(home, detail)?))
    }
}

/// Rounds the estimate to whole euros; the largest contribution absorbs the rounding error.
fn in_whole_euros(mut estimate: Estimate) -> Estimate {
    estimate.price = estimate.price.round();
    estimate.lower = estimate.lower.round().min(estimate.price);
    estimate.upper = estimate.upper.round().max(estimate.price);
    let parts = &mut estimate.contributions;
    for part in parts.iter_mut() {
        part.eur = part.eur.round();
    }
    let sum: f64 = parts.iter().map(|part| part.eur).sum();
    // The correction is at most a few euros, on a contribution of about a hundred thousand.
    let greatest = parts
        .iter_mut()
        .max_by(|one, other| one.eur.abs().total_cmp(&other.eur.abs()));
    if let Some(greatest) = greatest {
        greatest.eur += estimate.price - sum;
    }
    estimate
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Contribution, EstimateConfidence, Fallback};

    #[test]
    fn rounded_contributions_still_sum_to_the_price() {
        let part = |feature, eur| Contribution { feature, eur };
        let estimate = in_whole_euros(Estimate {
            price: 200_000.6,
            lower: 200_000.55,
            upper: 200_000.61,
            confidence: EstimateConfidence::High,
            fallback: Fallback::None,
            warning: None,
            nearest_sale_m: Some(40.0),
            comparables: Vec::new(),
            contributions: vec![
                part("place", 199_999.5),
                part("floor", 0.6),
                part("land", 0.5),
            ],
        });
        let parts: Vec<f64> = estimate.contributions.iter().map(|part| part.eur).collect();
        assert_eq!(parts, [199_999.0, 1.0, 1.0]);
        assert_eq!(
            (estimate.price, parts.iter().sum::<f64>()),
            (200_001.0, 200_001.0)
        );
        assert!(estimate.lower <= estimate.price && estimate.upper >= estimate.price);
    }
}
