//! Computes the level of rents at a place from four steps: the country, the department, the commune and the nearest
//! adverts. Each level is pulled towards the one above it, and less so if it has more adverts. With a map of rents, all
//! levels are deviations from the map.
//!
//! The strength of the pull is chosen so that the levels of homes are predicted best from the other homes. The nearest
//! adverts come from an R-tree; finding them for every home is most of the cost of a fit.

use std::collections::HashMap;

use rayon::iter::{IntoParallelIterator, ParallelIterator};
use rstar::primitives::GeomWithData;
use rstar::{PointDistance, RTree};

use super::adverts::Rental;
use toise_estimate::HomeClass;
use toise_geo::distance::planar_distance_m;

/// Maximum number of nearest adverts.
pub const NEAREST: usize = 24;
/// Maximum distance of the nearest adverts, metres.
const REACH_M: f64 = 3_000.0;
/// Distance at which an advert has half its weight, metres.
const HALF_M: f64 = 400.0;
/// Weight of an advert of the other class.
const OTHER_CLASS: f64 = 0.5;
/// Days after which an advert has half its weight.
const HALF_LIFE_DAYS: f64 = 365.0;
/// Number of adverts at which the national deviation from the map counts half.
const NATIONAL_PULL: f64 = 20.0;
/// Pulls to choose from, each the number of adverts at which a level is as certain as the one above it.
const PULLS: [f64; 7] = [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0];
/// Metres of one degree of latitude.
const DEGREE_M: f64 = 111_195.0;
/// Cosine of the middle latitude of France: the R-tree measures roughly in a plane, and distances are then measured
/// again.
const MIDDLE_COSINE: f64 = 0.69;

/// Sum of weights, and of weighted residuals.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    weight: f64,
    residual: f64,
    count: usize,
}

impl Sums {
    fn add(&mut self, weight: f64, residual: f64) {
        self.weight += weight;
        self.residual += weight * residual;
        self.count += 1;
    }

    /// Returns the sums without one home.
    fn without(self, weight: f64, residual: f64) -> Self {
        Self {
            weight: (self.weight - weight).max(0.0),
            residual: self.residual - weight * residual,
            count: self.count.saturating_sub(1),
        }
    }

    /// Returns the mean, pulled towards the level above.
    fn pulled(self, above: f64, pull: f64) -> f64 {
        (self.residual + pull * above) / (self.weight + pull)
    }
}

/// The nearest adverts of a position.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Nearest {
    /// Their number.
    pub count: usize,
    /// Distance of the nearest one, metres.
    pub nearest_m: f64,
    /// Median distance, metres.
    pub median_m: f64,
    /// Median days since they were last on offer.
    pub median_age_days: i32,
}

/// Contribution of each step to the logarithm of the rent at a place.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PlaceLevel {
    /// The country.
    pub national: f64,
    /// Contribution of the department.
    pub department: f64,
    /// Contribution of the commune.
    pub commune: f64,
    /// Contribution of the nearest adverts.
    pub nearest: f64,
    /// Adverts in the department.
    pub department_adverts: usize,
    /// Adverts in the commune.
    pub commune_adverts: usize,
    /// The nearest adverts.
    pub near: Nearest,
}

impl PlaceLevel {
    /// Returns the whole level.
    pub fn total(&self) -> f64 {
        self.national + self.department + self.commune + self.nearest
    }

    /// Returns the number of adverts that inform about the place itself.
    pub fn local_adverts(&self) -> usize {
        self.commune_adverts.max(self.near.count)
    }
}

/// The data of a home that the levels need.
#[derive(Clone, Copy, Debug)]
pub struct PlacedHome<'h> {
    /// Flat or house.
    pub class: HomeClass,
    /// Latitude and longitude, degrees.
    pub position: Option<(f64, f64)>,
    /// INSEE code of its commune.
    pub commune: &'h str,
    /// Code of its department.
    pub department: &'h str,
}

impl<'h> From<&'h Rental> for PlacedHome<'h> {
    fn from(home: &'h Rental) -> Self {
        Self {
            class: home.class,
            position: home.position,
            commune: home.place.code,
            department: home.place.department,
        }
    }
}

type Point = GeomWithData<[f64; 2], usize>;

/// The levels of all places.
#[derive(Clone, Debug)]
pub struct Levels {
    homes: Vec<Rental>,
    residuals: Vec<f64>,
    national: Sums,
    national_pull: f64,
    departments: HashMap<&'static str, Sums>,
    communes: HashMap<&'static str, Sums>,
    tree: RTree<Point>,
    /// Pull of the departments, the communes and the nearest adverts.
    pulls: [f64; 3],
}

/// Returns the weight of a home by its age.
pub fn weight(home: &Rental) -> f64 {
    0.5_f64.powf(f64::from(home.age_days) / HALF_LIFE_DAYS)
}

fn plane((lat, lon): (f64, f64)) -> [f64; 2] {
    [lon * DEGREE_M * MIDDLE_COSINE, lat * DEGREE_M]
}

impl Levels {
    /// Computes levels from the residuals of homes: the part of the logarithm of their rents that features do not
    /// explain. `has_map` says whether residuals are relative to the map. Uses the rayon pool.
    pub fn new(homes: Vec<Rental>, residuals: Vec<f64>, has_map: bool) -> Self {
        let (mut national, mut departments, mut communes) =
            (Sums::default(), HashMap::new(), HashMap::new());
        for (home, residual) in homes.iter().zip(&residuals) {
            let weight = weight(home);
            national.add(weight, *residual);
            let department: &mut Sums = departments.entry(home.place.department).or_default();
            department.add(weight, *residual);
            let commune: &mut Sums = communes.entry(home.place.code).or_default();
            commune.add(weight, *residual);
        }
        let points = homes.iter().enumerate();
        let points =
            points.filter_map(|(index, home)| Some(Point::new(plane(home.position?), index)));
        let tree = RTree::bulk_load(points.collect());
        let mut levels = Self {
            homes,
            residuals,
            national,
            national_pull: if has_map {
                NATIONAL_PULL
            } else {
                f64::MIN_POSITIVE
            },
            departments,
            communes,
            tree,
            pulls: [4.0; 3],
        };
        levels.choose_pulls();
        levels
    }

    /// Chooses the pulls one after the other, from the widest level to the narrowest.
    fn choose_pulls(&mut self) {
        let near: Vec<Sums> = (0..self.homes.len())
            .into_par_iter()
            .map(|index| self.near((&self.homes[index]).into(), Some(index)).0)
            .collect();
        for level in 0..self.pulls.len() {
            let errors = PULLS.map(|pull| {
                let mut pulls = self.pulls;
                pulls[level] = pull;
                self.error(&near, pulls, level)
            });
            let best = errors.iter().zip(PULLS);
            let best = best.min_by(|(one, _), (other, _)| one.total_cmp(other));
            if let Some((_, pull)) = best {
                self.pulls[level] = pull;
            }
        }
    }

    /// Returns the weighted sum of absolute errors when each home is predicted from the others, with the levels down to
    /// `until`.
    fn error(&self, near: &[Sums], pulls: [f64; 3], until: usize) -> f64 {
        let errors = self.homes.iter().zip(&self.residuals).zip(near);
        let errors = errors.map(|((home, residual), near)| {
            let weight = weight(home);
            let without = |sums: Sums| sums.without(weight, *residual);
            let of = |groups: &HashMap<&str, Sums>, code: &str| {
                without(groups.get(code).copied().unwrap_or_default())
            };
            let mut level = without(self.national).pulled(0.0, self.national_pull);
            let steps = [
                of(&self.departments, home.place.department),
                of(&self.communes, home.place.code),
                *near,
            ];
            for (sums, pull) in steps.into_iter().zip(pulls).take(until + 1) {
                level = sums.pulled(level, pull);
            }
            weight * (residual - level).abs()
        });
        errors.sum()
    }

    /// Returns the sums and a summary of the nearest adverts, without one home.
    fn near(&self, home: PlacedHome<'_>, without: Option<usize>) -> (Sums, Nearest) {
        let (mut sums, mut distances, mut ages) = (Sums::default(), Vec::new(), Vec::new());
        let Some((lat, lon)) = home.position else {
            return (sums, Nearest::default());
        };
        let here = plane((lat, lon));
        // The plane distorts distances by at most half.
        let reach = (2.0 * REACH_M).powi(2);
        for point in self.tree.nearest_neighbor_iter(&here) {
            if distances.len() >= NEAREST || point.distance_2(&here) > reach {
                break;
            }
            let other = &self.homes[point.data];
            let Some((other_lat, other_lon)) = other.position else {
                continue;
            };
            let metres = planar_distance_m(lat, lon, other_lat, other_lon);
            if without == Some(point.data) || metres > REACH_M {
                continue;
            }
            let of_class = if other.class == home.class {
                1.0
            } else {
                OTHER_CLASS
            };
            let of_distance = 1.0 / (1.0 + (metres / HALF_M).powi(2));
            sums.add(
                weight(other) * of_class * of_distance,
                self.residuals[point.data],
            );
            distances.push(metres);
            ages.push(other.age_days);
        }
        distances.sort_unstable_by(f64::total_cmp);
        ages.sort_unstable();
        let near = Nearest {
            count: distances.len(),
            nearest_m: distances.first().copied().unwrap_or_default(),
            median_m: distances
                .get(distances.len() / 2)
                .copied()
                .unwrap_or_default(),
            median_age_days: ages.get(ages.len() / 2).copied().unwrap_or_default(),
        };
        (sums, near)
    }

    /// Returns the number of homes.
    pub fn count(&self) -> usize {
        self.homes.len()
    }

    /// Returns the level for a home that is not among those that the levels were computed from.
    pub fn at(&self, home: PlacedHome<'_>) -> PlaceLevel {
        let of = |groups: &HashMap<&str, Sums>, code: &str| {
            groups.get(code).copied().unwrap_or_default()
        };
        let [department, commune] = [
            of(&self.departments, home.department),
            of(&self.communes, home.commune),
        ];
        let (sums, near) = self.near(home, None);
        let national = self.national.pulled(0.0, self.national_pull);
        let [first, second, third] = self.pulls;
        let at_department = department.pulled(national, first);
        let at_commune = commune.pulled(at_department, second);
        PlaceLevel {
            national,
            department: at_department - national,
            commune: at_commune - at_department,
            nearest: sums.pulled(at_commune, third) - at_commune,
            department_adverts: department.count,
            commune_adverts: commune.count,
            near,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use toise_base::splitmix::SplitMix64;
    use toise_geo::communes::find_by_code;

    const MENDE: (f64, f64) = (44.518, 3.501);

    fn home(code: &str, position: Option<(f64, f64)>) -> Rental {
        Rental {
            position,
            place: find_by_code(code).unwrap(),
            class: HomeClass::Flat,
            surface_m2: 50.0,
            rooms: None,
            is_furnished: None,
            rent_eur: 500.0,
            age_days: 0,
            key: 0,
        }
    }

    /// Homes in Mende whose level rises by 0.4 from west to east, and a few in Langogne without a position.
    fn levels() -> Levels {
        let mut draws = SplitMix64::new(5);
        let (mut homes, mut residuals) = (Vec::new(), Vec::new());
        for _ in 0..300 {
            let (east, noise) = (draws.unit(), 0.1 * (draws.unit() - 0.5));
            let (lat, lon) = MENDE;
            homes.push(home("48095", Some((lat, lon + 0.04 * east))));
            residuals.push(2.0 + 0.4 * east + noise);
        }
        for _ in 0..4 {
            homes.push(home("48080", None));
            residuals.push(1.6);
        }
        Levels::new(homes, residuals, false)
    }

    #[test]
    fn the_nearest_adverts_refine_the_commune_and_few_adverts_are_pulled_to_the_department() {
        let levels = levels();
        let (lat, lon) = MENDE;
        for (east, expected) in [(0.1, 2.04), (0.5, 2.2), (0.9, 2.36)] {
            let level = levels.at((&home("48095", Some((lat, lon + 0.04 * east)))).into());
            assert!((level.total() - expected).abs() < 0.06, "{level:?}");
            assert_eq!((level.commune_adverts, level.near.count), (300, NEAREST));
        }
        let few = levels.at((&home("48080", None)).into());
        assert!((1.6..2.0).contains(&few.total()), "{few:?}");
        assert_eq!((few.local_adverts(), few.department_adverts), (4, 304));
        // A department without an advert has the level of the country.
        let elsewhere = levels.at((&home("75111", None)).into());
        assert_eq!(elsewhere.total(), elsewhere.national);
        assert_eq!(elsewhere.local_adverts(), 0);
    }

    #[test]
    fn a_home_is_not_its_own_neighbour_when_pulls_are_chosen() {
        let levels = levels();
        let first = levels.homes[0];
        let with = levels.near((&first).into(), None);
        let without = levels.near((&first).into(), Some(0));
        assert_eq!(with.1.nearest_m, 0.0);
        assert!(without.1.nearest_m > 0.0);
    }
}
