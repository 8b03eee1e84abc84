//! Predicts the part of a price that features and place explain without the market. It mixes trees that use only the
//! features of the home with trees that also use its place.

use rayon::prelude::*;

use super::boosting::BoostedTrees;
use super::features::{self, OwnFeatures, own_features_of};
use super::market::SaleResiduals;
use super::sale::SaleColumns;

/// Slope of log price over log surface that is subtracted before the trees are trained, by class. It is lower than the
/// real slope, because the trees can only add to it.
pub(super) const SLOPE: [f64; 2] = [0.7, 0.4];
/// Number of folds. Trees of place are grown once per fold without its sales, so the residual of each sale is out of
/// fold.
pub const FOLDS: usize = 2;
/// Weight of the trees of place against the trees of own features. Within the training years, any value from one half
/// to one performs equally well.
const PLACE_SHARE: f64 = 0.65;

/// Returns the log-price term in surface that is subtracted before the trees.
pub(super) fn surface_term(home: &OwnFeatures) -> f64 {
    SLOPE[home.class as usize] * home.surface_m2.ln()
}

/// Trees that explain a price by features, without the market.
#[derive(Debug)]
pub(super) struct Hedonic {
    /// Trees of the home's own features.
    pub own: BoostedTrees,
    /// Trees of features and place, one set per fold, grown without that fold's sales.
    pub place: [BoostedTrees; FOLDS],
}

impl Hedonic {
    /// Returns the log price that a home's own features explain.
    pub fn own(&self, home: &OwnFeatures) -> f64 {
        surface_term(home) + self.own.predict(&features::own_row(home))
    }

    /// Returns the mean prediction of the given trees of place for a row: log price above the level of the country,
    /// without the surface term.
    pub fn placed(row: &[f32], trees: &[BoostedTrees]) -> f64 {
        let sum: f64 = trees.iter().map(|trees| trees.predict(row)).sum();
        sum / trees.len() as f64
    }

    /// Returns the term that the trees of place add to `own`, the log price that the home's own features explain.
    pub fn place(home: &OwnFeatures, placed: f64, own: f64) -> f64 {
        PLACE_SHARE * (surface_term(home) + placed - own)
    }

    /// Computes the residuals of sales, each with the trees of place that were grown without its fold.
    pub fn residuals(&self, sales: &SaleColumns) -> SaleResiduals {
        let left = (0..sales.len()).into_par_iter().map(|row| {
            let home = own_features_of(sales, row);
            let fold = fold(&sales.id[row]);
            let own = self.own(&home);
            let shown = features::placed_row(&home, sales.position[row]);
            let placed = Self::placed(&shown, &self.place[fold..=fold]);
            let place = Self::place(&home, placed, own);
            let left = sales.price[row].ln() - own;
            (left as f32, (left - place) as f32)
        });
        let (own, placed) = left.unzip();
        SaleResiduals { own, placed }
    }
}

/// Returns the fold of a sale, derived from its id alone.
pub(super) fn fold(id: &[u8; super::sale::ID_BYTES]) -> usize {
    usize::from(id[super::sale::ID_BYTES - 1]) % FOLDS
}
