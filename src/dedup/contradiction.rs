//! Contradictions: facts that cannot both be true of one home. Decisions and the measurement of their quality share
//! this definition.
//!
//! A contradiction keeps an advert out of a property. The exception is a single contradiction if other evidence
//! identifies the home ([`Comparison::is_identified`](super::Comparison::is_identified)); for a contradiction of
//! commune, energy or price, shared pictures or the same text are enough, and for one of surface or energy, the plot
//! and price of a house ([`Comparison::is_one_plot`](super::Comparison::is_one_plot)), and for one of energy, the storey,
//! price and surface of a flat ([`Comparison::is_one_flat`](super::Comparison::is_one_flat)). `toise evaluate dedup`
//! counts the merged pairs that have a contradiction.

use serde::Serialize;

use super::fingerprint::Fingerprint;
use super::levels::{self, metres, relative_gap, together};

/// Maximum difference of surfaces, as a share of the greater: two agencies measure differently.
const SURFACE_GAP: f64 = 0.03;
/// Maximum difference of prices at one time, as a share of the greater: with and without fees, or before and after a
/// reduction.
const PRICE_GAP: f64 = 0.15;
/// Maximum difference of energy scores, as a share of the greater.
const ENERGY_GAP: f64 = 0.15;
/// Energy scores within this difference never contradict, kWh per square metre and year.
const ENERGY_GAP_KWH: u16 = 10;
/// Maximum difference of plots, as a share of the greater.
const LAND_GAP: f64 = 0.12;
/// Different communes do not contradict if both positions are known and within this distance, metres.
const BORDER_M: f64 = 350.0;

toise_base::named! {
    /// A field in which two adverts contradict each other.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
    #[serde(rename_all = "camelCase")]
    pub enum Contradiction {
        /// They are in different communes.
        Commune = "commune",
        /// Their surfaces differ by more than 3 %.
        Surface = "surface",
        /// Their prices differ by more than 15 % while both are online.
        Price = "price",
        /// They are on different storeys.
        Floor = "floor",
        /// Their energy classes are two or more apart, or their scores differ by more than 15 %.
        Energy = "energy",
        /// Their plots differ by more than 12 %.
        Land = "land",
    }
}

impl Contradiction {
    fn is_between(self, one: &Fingerprint, other: &Fingerprint) -> bool {
        let gap = |first: Option<u32>, second: Option<u32>| {
            first
                .zip(second)
                .map(|(first, second)| relative_gap(first, second))
        };
        match self {
            Self::Commune => lie_in_different_communes(one, other),
            Self::Surface => {
                gap(one.surface_dm2, other.surface_dm2).is_some_and(|gap| gap > SURFACE_GAP)
            }
            Self::Price => {
                let periods = one.period.zip(other.period);
                levels::price_gap(one, other).is_some_and(|gap| gap > PRICE_GAP)
                    && periods.is_some_and(|(first, second)| together(first, second))
            }
            Self::Floor => levels::floor(one, other).is_some_and(|level| level > 0),
            Self::Energy => energy(one, other),
            Self::Land => {
                levels::land(one, other).is_some()
                    && gap(one.land_m2, other.land_m2).is_some_and(|gap| gap > LAND_GAP)
            }
        }
    }
}

/// Returns the fields in which two adverts contradict each other. Most pairs of one home have none.
pub fn contradictions(
    one: &Fingerprint,
    other: &Fingerprint,
) -> impl Iterator<Item = Contradiction> + use<> {
    let found = Contradiction::ALL.map(|kind| kind.is_between(one, other).then_some(kind));
    found.into_iter().flatten()
}

fn lie_in_different_communes(one: &Fingerprint, other: &Fingerprint) -> bool {
    if let (Some(first), Some(second)) = (one.precise(), other.precise())
        && metres(first, second) <= BORDER_M
    {
        return false;
    }
    levels::communes(one, other) == Some(levels::Communes::Different)
}

fn energy(one: &Fingerprint, other: &Fingerprint) -> bool {
    let apart = one.energy_class.zip(other.energy_class);
    if apart.is_some_and(|(first, second)| first.abs_diff(second) >= 2) {
        return true;
    }
    let scores = one.energy_score.zip(other.energy_score);
    scores.is_some_and(|(first, second)| {
        first.abs_diff(second) > ENERGY_GAP_KWH
            && relative_gap(first.into(), second.into()) > ENERGY_GAP
    })
}
