//! The model of rents: effects of a home's features, levels of places, and the interval.
//!
//! The model is fitted in memory from the homes to rent and the official map; nothing is stored. The interval comes
//! from five more fits, each without a fifth of the homes, which it then predicts.

use std::collections::HashMap;
use std::sync::Arc;

use rayon::iter::{IntoParallelIterator, ParallelIterator};

use super::adverts::{Rental, Rentals};
use super::effects::{AGE, Effects, FURNISHED, Features, HOUSE, Observation, ROOMS, RentedHome};
use super::interval::{ERRORS_MIN, HeldOutError, Intervals};
use super::levels::{Levels, PlaceLevel, PlacedHome, weight};
use super::map::{CommuneRent, KindMap, MapDescription, RentMap};
use toise_base::splitmix::mix;
use toise_geo::places::Place;

/// Number of parts that the homes are divided into; each is predicted from the others.
const PARTS: u64 = 5;
/// Minimum number of adverts near a home or in its commune if there is no map.
const LOCAL_MIN: usize = 5;
/// Minimum number of adverts in the department if there is no map.
const DEPARTMENT_MIN: usize = 20;
/// Half-width of an 80 % interval divided by that of the map's 95 % interval, for a normal distribution.
const WIDTH_OF_MAP: f64 = 1.281_551_6 / 1.959_964;
/// A home is not learned from if its error exceeds the median error this many times.
const OUTLIER_SIZES: f64 = 6.0;

toise_base::named! {
    /// The data that a rent is estimated from.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum RentMethod {
        /// Adverts alone.
        Adverts = "adverts",
        /// Adverts, and the map of rents.
        AdvertsAndMap = "adverts_and_rent_map",
        /// The map of rents alone.
        Map = "rent_map",
    }
}

/// Why no rent can be estimated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RentUnavailable {
    /// Nothing is known anywhere.
    #[error(
        "no rents to estimate from: ingest adverts of homes to rent ({known} of {ERRORS_MIN} are known), or import the \
         map of rents with `toise import rents`"
    )]
    Anywhere {
        /// Homes to rent that are known.
        known: usize,
    },
    /// Too few rents are known at the place.
    #[error(
        "too few adverts of homes to rent: {local} in {name} ({code}) or near it and {department} in its department; \
         import the map of rents with `toise import rents`"
    )]
    Here {
        /// Name of the commune.
        name: &'static str,
        /// Its INSEE code.
        code: &'static str,
        /// Adverts in the commune or near the home.
        local: usize,
        /// Adverts in the department.
        department: usize,
    },
}

/// A part of a rent, EUR per month.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RentPart {
    /// Name of the part.
    pub name: &'static str,
    /// Its contribution to the rent.
    pub eur: f64,
}

/// The rent of a commune on the map.
#[derive(Clone, Debug)]
pub struct RentOnMap {
    /// The rent.
    pub rent: CommuneRent,
    /// The map of its kind of home.
    pub map: MapDescription,
}

/// A predicted rent.
#[derive(Clone, Debug)]
pub struct Prediction {
    /// Monthly rent, EUR.
    pub rent_eur: f64,
    /// Lower end of its interval.
    pub lower_eur: f64,
    /// Upper end of its interval.
    pub upper_eur: f64,
    /// The data that it was estimated from.
    pub method: RentMethod,
    /// The levels of its place.
    pub level: PlaceLevel,
    /// The rent of its commune on the map.
    pub on_map: Option<RentOnMap>,
    /// Parts that add up to the rent.
    pub parts: Vec<RentPart>,
}

/// The model.
#[derive(Clone, Debug)]
pub struct RentModel {
    map: Arc<RentMap>,
    furnished_share: f64,
    effects: Effects,
    levels: Levels,
    intervals: Option<Intervals>,
    /// Number of homes skipped when the adverts were read.
    pub left_out: u64,
}

/// A home that was predicted by a model that did not know it, and the error.
#[derive(Clone, Copy, Debug)]
pub struct HeldOut {
    /// Number of the part that it was held out with.
    pub part: u64,
    /// The home.
    pub home: Rental,
    /// The error.
    pub error: HeldOutError,
    /// Logarithm of its rent divided by the map's rent.
    pub map_log_error: Option<f64>,
}

/// A fit without an interval.
struct Fit {
    furnished_share: f64,
    effects: Effects,
    levels: Levels,
}

impl Fit {
    fn new(homes: Vec<Rental>, map: &RentMap) -> Self {
        let known = homes.iter().filter_map(|home| home.is_furnished);
        let (furnished, said) = known.fold((0.0, 0.0), |(furnished, said), is_furnished| {
            (furnished + f64::from(u8::from(is_furnished)), said + 1.0)
        });
        let furnished_share = if said > 0.0 { furnished / said } else { 0.0 };
        let mut communes: HashMap<&str, usize> = HashMap::new();
        let observations: Vec<Observation> = homes
            .iter()
            .map(|home| {
                let next = communes.len();
                Observation {
                    features: rented(home).features(map, furnished_share, home.age_days),
                    log_rent: log_rent(home) - base(map, &rented(home), home.place.code).1,
                    commune: *communes.entry(home.place.code).or_insert(next),
                    weight: weight(home),
                }
            })
            .collect();
        let effects = Effects::fit(&observations, communes.len(), map);
        let residual =
            |one: &Observation, effects: &Effects| one.log_rent - effects.of(&one.features);
        let residuals = observations
            .iter()
            .map(|one| residual(one, &effects))
            .collect();
        let levels = Levels::new(homes.clone(), residuals, !map.is_empty());
        // Fits a second time without outliers, such as wrong prices and rents per room or per week.
        let errors: Vec<f64> = homes
            .iter()
            .zip(&observations)
            .map(|(home, one)| (residual(one, &effects) - levels.at(home.into()).total()).abs())
            .collect();
        let most = OUTLIER_SIZES * median(errors.clone()).unwrap_or(f64::INFINITY);
        if errors.iter().all(|error| *error <= most) {
            return Self {
                furnished_share,
                effects,
                levels,
            };
        }
        let kept = errors.iter().map(|error| *error <= most);
        let kept: Vec<bool> = kept.collect();
        let observations: Vec<Observation> = only(&kept, observations);
        let homes = only(&kept, homes);
        let effects = Effects::fit(&observations, communes.len(), map);
        let residuals = observations
            .iter()
            .map(|one| residual(one, &effects))
            .collect();
        Self {
            furnished_share,
            effects,
            levels: Levels::new(homes, residuals, !map.is_empty()),
        }
    }

    /// Predicts the logarithm of the rent per square metre of a home that the model does not know.
    fn log_of(&self, home: &Rental, map: &RentMap) -> (f64, PlaceLevel) {
        let rented = rented(home);
        let features = rented.features(map, self.furnished_share, home.age_days);
        let level = self.levels.at(home.into());
        let base = base(map, &rented, home.place.code).1;
        (base + self.effects.of(&features) + level.total(), level)
    }
}

fn only<T>(kept: &[bool], all: Vec<T>) -> Vec<T> {
    let marked = all.into_iter().zip(kept);
    marked
        .filter_map(|(one, is_kept)| is_kept.then_some(one))
        .collect()
}

/// Returns the upper median.
pub(super) fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

fn rented(home: &Rental) -> RentedHome {
    RentedHome {
        class: home.class,
        surface_m2: home.surface_m2,
        rooms: home.rooms,
        is_furnished: home.is_furnished,
    }
}

fn log_rent(home: &Rental) -> f64 {
    (home.rent_eur / home.surface_m2).ln()
}

/// Returns the rent of a home's commune on the map, and the logarithm that the model's levels are relative to. This is
/// the logarithm of the rent; the mean of the map if it lacks the commune or the kind of home; 0 without a map.
fn base<'m>(
    map: &'m RentMap,
    home: &RentedHome,
    commune: &str,
) -> (Option<(&'m CommuneRent, &'m KindMap)>, f64) {
    match map.for_home(home.class, home.rooms) {
        None => (None, map.mean_log()),
        Some(kind) => match kind.rent(commune) {
            Some(rent) => (Some((rent, kind)), rent.rent.ln()),
            None => (None, kind.mean_log),
        },
    }
}

/// Predicts every home from a model without it and the homes of its part. Uses the rayon pool.
pub fn held_out(homes: &[Rental], map: &RentMap) -> Vec<HeldOut> {
    let part_of = |home: &Rental| mix(home.key) % PARTS;
    let parts = (0..PARTS).into_par_iter().flat_map_iter(|part| {
        let others = homes.iter().filter(|home| part_of(home) != part);
        let fit = Fit::new(others.copied().collect(), map);
        let own: Vec<HeldOut> = homes
            .iter()
            .filter(|home| part_of(home) == part)
            .map(|home| {
                let (predicted, level) = fit.log_of(home, map);
                let (on_map, base) = base(map, &rented(home), home.place.code);
                HeldOut {
                    part,
                    home: *home,
                    error: HeldOutError {
                        class: home.class,
                        local_adverts: level.local_adverts(),
                        log_error: log_rent(home) - predicted,
                    },
                    map_log_error: on_map.map(|_| log_rent(home) - base),
                }
            })
            .collect();
        own
    });
    parts.collect()
}

impl RentModel {
    /// Fits the model, and five more times for the interval. Uses the rayon pool.
    pub fn fit(rentals: Rentals, map: Arc<RentMap>) -> Self {
        let errors: Vec<HeldOutError> = match rentals.homes.len() {
            few if few < ERRORS_MIN => Vec::new(),
            _ => {
                let held_out = held_out(&rentals.homes, &map);
                held_out.into_iter().map(|one| one.error).collect()
            }
        };
        let intervals = Intervals::calibrate(&errors);
        let fit = Fit::new(rentals.homes, &map);
        Self {
            map,
            furnished_share: fit.furnished_share,
            effects: fit.effects,
            levels: fit.levels,
            intervals,
            left_out: rentals.left_out,
        }
    }

    /// Returns the number of homes that it learned from.
    pub fn adverts(&self) -> usize {
        self.levels.count()
    }

    /// Predicts the rent of a home in a commune, as of today.
    ///
    /// # Errors
    /// There are neither enough adverts nor a map for the place.
    pub fn predict(
        &self,
        home: &RentedHome,
        position: (f64, f64),
        place: &'static Place,
    ) -> Result<Prediction, RentUnavailable> {
        let level = self.levels.at(PlacedHome {
            class: home.class,
            position: Some(position),
            commune: place.code,
            department: place.department,
        });
        let (on_map, base) = base(&self.map, home, place.code);
        let local = level.local_adverts();
        let of_map = on_map.map(|(rent, _)| WIDTH_OF_MAP * (rent.upper / rent.lower).ln() / 2.0);
        let half_width = match (&self.intervals, of_map) {
            (None, None) => {
                return Err(RentUnavailable::Anywhere {
                    known: self.adverts(),
                });
            }
            (Some(_), None) if local < LOCAL_MIN && level.department_adverts < DEPARTMENT_MIN => {
                return Err(RentUnavailable::Here {
                    name: place.name,
                    code: place.code,
                    local,
                    department: level.department_adverts,
                });
            }
            (None, Some(of_map)) => of_map,
            (Some(known), Some(of_map)) if local == 0 => {
                known.half_width(home.class, local).max(of_map)
            }
            (Some(known), _) => known.half_width(home.class, local),
        };
        let method = match (self.adverts(), on_map) {
            (0, Some(_)) => RentMethod::Map,
            (_, Some(_)) => RentMethod::AdvertsAndMap,
            (_, None) => RentMethod::Adverts,
        };
        let features = home.features(&self.map, self.furnished_share, 0);
        let first = if on_map.is_some() {
            "rent_map"
        } else {
            "country"
        };
        let parts = self.parts(home.surface_m2, (first, base), &level, &features);
        let rent_eur: f64 = parts.iter().map(|part| part.eur).sum();
        Ok(Prediction {
            rent_eur,
            lower_eur: rent_eur * (-half_width).exp(),
            upper_eur: rent_eur * half_width.exp(),
            method,
            level,
            on_map: on_map.map(|(rent, kind)| RentOnMap {
                rent: rent.clone(),
                map: kind.description.clone(),
            }),
            parts,
        })
    }

    /// Splits a rent into parts that add up to it, each given the previous ones.
    fn parts(
        &self,
        surface_m2: f64,
        (first, base): (&'static str, f64),
        level: &PlaceLevel,
        features: &Features,
    ) -> Vec<RentPart> {
        let of = |feature: usize| self.effects.0[feature] * features[feature];
        let surface = self.effects.of(features) - of(ROOMS) - of(FURNISHED) - of(HOUSE) - of(AGE);
        let adverts = match first {
            "country" => 0.0,
            _ => level.national,
        };
        let start = base + level.national - adverts;
        let steps = [
            ("adverts", adverts),
            ("department", level.department),
            ("commune", level.commune),
            ("nearest", level.nearest),
            ("type", of(HOUSE)),
            ("surface", surface),
            ("rooms", of(ROOMS)),
            ("furniture", of(FURNISHED)),
        ];
        let mut log = start;
        let mut parts = vec![RentPart {
            name: first,
            eur: surface_m2 * start.exp(),
        }];
        for (name, step) in steps {
            let before = surface_m2 * log.exp();
            log += step;
            if step != 0.0 {
                let eur = surface_m2 * log.exp() - before;
                parts.push(RentPart { name, eur });
            }
        }
        parts
    }
}
