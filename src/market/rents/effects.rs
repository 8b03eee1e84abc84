//! Fits the effects of a home's features on its rent: a linear model of the logarithm of the rent per square metre,
//! with a random level for each commune (generalised least squares, after quasi-demeaning by commune).
//!
//! With few adverts, the effects stay close to their start values: the slope between small and large flats on the
//! official map if it is known, otherwise no effect. A larger home never has a lower rent.

use super::map::{MapKind, RentMap};
use toise_estimate::{Home, HomeClass};

/// Number of features.
pub const FEATURES: usize = 7;
/// The constant, and the features.
const TERMS: usize = FEATURES + 1;
/// Variance of rents within a commune divided by the variance between communes. It is the number of adverts at which
/// the level of a commune is as certain as the level of all communes together.
const COMMUNE_ADVERTS: f64 = 4.0;
/// Pull of the effects towards their start values, expressed as a number of adverts with one unit of the feature.
const PULL: f64 = 0.5;
/// Usual surface per room, square metres.
const M2_PER_ROOM: f64 = 22.0;
/// Maximum deviation from [`M2_PER_ROOM`], as a logarithm; a larger one means that rooms were counted differently.
const M2_PER_ROOM_LOG_MAX: f64 = 0.7;
const YEAR_DAYS: f64 = 365.25;

/// The features of a home that its rent depends on, in the same order as in [`Effects`].
pub type Features = [f64; FEATURES];

/// Index of the feature of a flat smaller than the reference.
pub const SMALLER: usize = 0;
/// Index of the feature of a flat larger than the reference.
pub const LARGER: usize = 1;
/// Index of the feature of a house's surface.
pub const HOUSE_SURFACE: usize = 2;
/// Index of the feature of the surface per room.
pub const ROOMS: usize = 3;
/// Index of the feature of furniture.
pub const FURNISHED: usize = 4;
/// Index of the feature of the class.
pub const HOUSE: usize = 5;
/// Index of the feature of an advert's age in years.
pub const AGE: usize = 6;

/// Inputs of the features of a home.
#[derive(Clone, Copy, Debug)]
pub struct RentedHome {
    /// Flat or house.
    pub class: HomeClass,
    /// Surface, square metres.
    pub surface_m2: f64,
    /// Main rooms.
    pub rooms: Option<f64>,
    /// Whether it is let furnished; `None` if unknown.
    pub is_furnished: Option<bool>,
}

impl RentedHome {
    /// Returns the home of a request.
    pub fn of(home: &Home) -> Self {
        Self {
            class: home.class,
            surface_m2: home.surface_m2,
            rooms: home.rooms,
            is_furnished: home.extras.furniture.map(super::adverts::is_furnished),
        }
    }

    /// Returns its features. `furnished_share` is the share of furnished homes among those for which this is known; it
    /// stands in for homes for which it is not.
    pub fn features(&self, map: &RentMap, furnished_share: f64, age_days: i32) -> Features {
        let kind = map
            .for_home(self.class, self.rooms)
            .map(|map| map.description.kind);
        let kind = kind.unwrap_or(MapKind::of_home(self.class, None)[0]);
        let surface = (self.surface_m2 / kind.reference_m2()).ln();
        let mut features = [0.0; FEATURES];
        match self.class {
            HomeClass::Flat if surface < 0.0 => features[SMALLER] = surface,
            HomeClass::Flat => features[LARGER] = surface,
            HomeClass::House => {
                features[HOUSE_SURFACE] = surface;
                features[HOUSE] = 1.0;
            }
        }
        if let Some(rooms) = self.rooms.filter(|rooms| *rooms > 0.0) {
            let per_room = (self.surface_m2 / rooms / M2_PER_ROOM).ln();
            features[ROOMS] = per_room.clamp(-M2_PER_ROOM_LOG_MAX, M2_PER_ROOM_LOG_MAX);
        }
        if let Some(is_furnished) = self.is_furnished {
            features[FURNISHED] = f64::from(u8::from(is_furnished)) - furnished_share;
        }
        features[AGE] = f64::from(age_days) / YEAR_DAYS;
        features
    }
}

/// Coefficients of the features: their effect on the logarithm of the rent per square metre, per unit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Effects(pub [f64; FEATURES]);

/// A home to learn from.
#[derive(Clone, Copy, Debug)]
pub struct Observation {
    /// Its features.
    pub features: Features,
    /// Logarithm of its rent per square metre minus the logarithm of the map's.
    pub log_rent: f64,
    /// Number of its commune, from 0 without gaps.
    pub commune: usize,
    /// Its weight, 1 for a home on offer today.
    pub weight: f64,
}

impl Effects {
    /// Returns the start values of the effects, before any advert is known.
    pub fn start(map: &RentMap) -> Self {
        let slope = map.elasticity().unwrap_or(0.0);
        let mut effects = [0.0; FEATURES];
        effects[SMALLER] = slope;
        effects[LARGER] = slope;
        effects[HOUSE_SURFACE] = slope;
        Self(effects).with_growing_rents()
    }

    /// Fits the effects to homes of `communes` communes, in two passes over them.
    pub fn fit(observations: &[Observation], communes: usize, map: &RentMap) -> Self {
        let start = Self::start(map);
        let mut sums = vec![[0.0; TERMS + 2]; communes];
        for one in observations {
            let sum = &mut sums[one.commune];
            let terms = terms(one, &start);
            for (total, term) in sum.iter_mut().zip(terms) {
                *total += one.weight * term;
            }
            sum[TERMS + 1] += one.weight;
        }
        let (mut matrix, mut right) = ([[0.0; TERMS]; TERMS], [0.0; TERMS]);
        for one in observations {
            let sum = &sums[one.commune];
            let weight = sum[TERMS + 1];
            let share = 1.0 - (COMMUNE_ADVERTS / (COMMUNE_ADVERTS + weight)).sqrt();
            let mut terms = terms(one, &start);
            for (term, total) in terms.iter_mut().zip(sum) {
                *term -= share * total / weight;
            }
            for row in 0..TERMS {
                for column in 0..TERMS {
                    matrix[row][column] += one.weight * terms[row] * terms[column];
                }
                right[row] += one.weight * terms[row] * terms[TERMS];
            }
        }
        for (term, row) in matrix.iter_mut().enumerate().skip(1) {
            row[term] += PULL;
        }
        let mut effects = start;
        if let Some(found) = solve(matrix, right) {
            for (effect, change) in effects.0.iter_mut().zip(&found[1..]) {
                *effect += change;
            }
        }
        effects.with_growing_rents()
    }

    /// Returns what the features add to the logarithm of the rent per square metre.
    pub fn of(&self, features: &Features) -> f64 {
        self.0
            .iter()
            .zip(features)
            .map(|(effect, value)| effect * value)
            .sum()
    }

    /// Raises the effects of the surface so that the whole rent never falls with it.
    fn with_growing_rents(mut self) -> Self {
        self.0[ROOMS] = self.0[ROOMS].max(-1.0);
        let least = -1.0 - self.0[ROOMS].min(0.0);
        for effect in [SMALLER, LARGER, HOUSE_SURFACE] {
            self.0[effect] = self.0[effect].max(least);
        }
        self
    }
}

/// Returns the constant, the features, and the rent that the start values do not explain.
fn terms(one: &Observation, start: &Effects) -> [f64; TERMS + 1] {
    let mut terms = [1.0; TERMS + 1];
    terms[1..TERMS].copy_from_slice(&one.features);
    terms[TERMS] = one.log_rent - start.of(&one.features);
    terms
}

/// Solves a linear system with a positive definite matrix (Cholesky); `None` if the matrix is not positive definite.
fn solve(matrix: [[f64; TERMS]; TERMS], right: [f64; TERMS]) -> Option<[f64; TERMS]> {
    let mut lower = [[0.0; TERMS]; TERMS];
    for row in 0..TERMS {
        for column in 0..=row {
            let known: f64 = (0..column).map(|k| lower[row][k] * lower[column][k]).sum();
            let rest = matrix[row][column] - known;
            if row == column {
                lower[row][row] = (rest > 0.0).then(|| rest.sqrt())?;
            } else {
                lower[row][column] = rest / lower[column][column];
            }
        }
    }
    let mut solved = right;
    for row in 0..TERMS {
        let known: f64 = (0..row).map(|k| lower[row][k] * solved[k]).sum();
        solved[row] = (solved[row] - known) / lower[row][row];
    }
    for row in (0..TERMS).rev() {
        let known: f64 = (row + 1..TERMS).map(|k| lower[k][row] * solved[k]).sum();
        solved[row] = (solved[row] - known) / lower[row][row];
    }
    Some(solved)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rents::map::invented;
    use toise_base::splitmix::SplitMix64;

    #[test]
    fn effects_are_found_whatever_the_level_of_each_commune() {
        let mut draws = SplitMix64::new(1);
        let mut unit = move || draws.unit();
        let map = RentMap::default();
        let truth = [-0.4, -0.25, -0.3, -0.1, 0.12, -0.08, -0.03];
        let levels: Vec<f64> = (0..40).map(|_| 2.0 + unit()).collect();
        let observations: Vec<Observation> = (0..4_000)
            .map(|nth| {
                // Both classes are in every commune.
                let class = if (nth / levels.len()).is_multiple_of(4) {
                    HomeClass::House
                } else {
                    HomeClass::Flat
                };
                let home = RentedHome {
                    class,
                    surface_m2: 18.0 + 120.0 * unit(),
                    rooms: (nth % 3 > 0).then_some(1.0 + (4.0 * unit()).floor()),
                    is_furnished: Some(unit() < 0.3),
                };
                let features = home.features(&map, 0.3, (800.0 * unit()) as i32);
                let commune = nth % levels.len();
                let noise = 0.1 * (unit() - 0.5);
                Observation {
                    features,
                    log_rent: levels[commune] + Effects(truth).of(&features) + noise,
                    commune,
                    weight: 1.0,
                }
            })
            .collect();
        let found = Effects::fit(&observations, levels.len(), &map);
        for (effect, truth) in found.0.iter().zip(truth) {
            assert!((effect - truth).abs() < 0.02, "{found:?}");
        }
    }

    #[test]
    fn without_adverts_the_map_gives_the_slope_and_rents_grow_with_the_surface() {
        let map = invented(&[
            (MapKind::SmallFlats, "48095", 12.0),
            (MapKind::LargeFlats, "48095", 9.0),
        ]);
        let start = Effects::fit(&[], 0, &map);
        let expected = (9.0_f64 / 12.0).ln() / (72.0_f64 / 37.0).ln();
        assert!((start.0[SMALLER] - expected).abs() < 1e-9, "{start:?}");
        let steep = Effects([-3.0, -3.0, -3.0, -0.4, 0.0, 0.0, 0.0]).with_growing_rents();
        assert_eq!(steep.0[..4], [-0.6, -0.6, -0.6, -0.4]);
    }
}
