//! What features and place explain of a price before the market does: trees of own features alone, mixed with trees of
//! features and place.

use rayon::prelude::*;

use super::error::Error;
use super::features::{self, Own, own_of};
use super::market::Quality;
use super::sale::Sales;
use super::trees::{Boosted, Trees};

/// Part of the slope of price over surface that is taken off before trees: the trees, who may only add to it, grow the
/// rest. By class.
pub(super) const SLOPE: [f64; 2] = [0.7, 0.4];
/// Trees of place are grown once for each fold of the sales, without it: what they leave of a sale is then left by
/// trees that never saw it.
pub const FOLDS: usize = 2;
/// What trees of place count beside those of own features. On sales inside the training years anything from a half to
/// one does as well.
const PLACE_SHARE: f64 = 0.65;

/// The part of a price that goes with surface before trees.
pub(super) fn surface_term(home: &Own) -> f64 {
    SLOPE[home.class as usize] * home.surface_m2.ln()
}

/// Trees that explain a price by features, without the market.
#[derive(Debug)]
pub(super) struct Hedonic {
    /// By a home's own features.
    pub own: Boosted,
    /// By features and place, for each fold of the sales those that were grown without it.
    pub place: [Boosted; FOLDS],
}

impl Hedonic {
    /// Logarithm of price that a home's own features explain.
    pub fn own(&self, home: &Own) -> Result<f64, Error> {
        Ok(surface_term(home) + self.own.predict(&features::own(home))?)
    }

    /// What trees of place say of a home, those of all folds or of some: logarithm of price above the level of the
    /// country, without the part that goes with surface before trees.
    pub fn placed(row: &[f32], trees: &[Boosted]) -> Result<f64, Error> {
        let mut sum = 0.0;
        for trees in trees {
            sum += trees.predict(row)?;
        }
        Ok(sum / trees.len() as f64)
    }

    /// What is added for it to `own`, which a home's own features explain.
    pub fn place(home: &Own, placed: f64, own: f64) -> f64 {
        PLACE_SHARE * (surface_term(home) + placed - own)
    }

    /// What is left of the sales that it was grown on.
    pub fn left(&self, sales: &Sales) -> Result<Quality, Error> {
        let left = (0..sales.len()).into_par_iter().map(|row| {
            let home = own_of(sales, row);
            let fold = fold(&sales.id[row]);
            let own = self.own(&home)?;
            let shown = features::placed(&home, sales.position[row]);
            let placed = Self::placed(&shown, &self.place[fold..=fold])?;
            let place = Self::place(&home, placed, own);
            let left = sales.price[row].ln() - own;
            Ok((left as f32, (left - place) as f32))
        });
        let left: Result<Vec<(f32, f32)>, Error> = left.collect();
        let (own, placed) = left?.into_iter().unzip();
        Ok(Quality { own, placed })
    }
}

/// The fold a sale is of: of its id alone.
pub(super) fn fold(id: &[u8; super::sale::ID_BYTES]) -> usize {
    usize::from(id[super::sale::ID_BYTES - 1]) % FOLDS
}
