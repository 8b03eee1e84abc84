//! Divides addresses among communes, and lists the parts of merged communes.
//!
//! The number of addresses grows a little less than population: in larger communes, more inhabitants share a house. A
//! part of a merged commune is a former commune with its own name and code; the rest of the commune is a part without a
//! name.

use std::collections::BTreeMap;
use std::f64::consts::TAU;

use crate::random::{mix2, to_unit};
use toise_geo::departments;
use toise_geo::distance::planar_distance_m;
use toise_geo::places::{DIVIDED_CITIES, Place, PlaceKind, Places};

/// Addresses of the country, about as many as the national base holds.
pub const NATIONAL_ADDRESSES: u64 = 26_000_000;
/// The number of addresses is proportional to the population to this power.
const POPULATION_EXPONENT: f64 = 0.9;
/// Addresses of Paris per inhabitant, as a share of what other cities have.
const PARIS_SHARE: f64 = 0.2;
/// Reach of a commune, as a share of the distance to the nearest other.
const REACH_SHARE: f64 = 0.55;
/// Minimum and maximum reach, metres.
const REACH_M: (f64, f64) = (350.0, 4_000.0);
/// Maximum number of communes that give their names to roads of a commune: the nearest ones of the department.
const NEIGHBOURS: usize = 6;

/// Metres per degree of latitude.
pub const METRES_PER_DEGREE: f64 = 111_195.0;

/// A former commune within a commune, or the rest of the commune.
#[derive(Debug)]
pub struct Part {
    /// INSEE code of the former commune; empty for the rest of the commune.
    pub code: &'static str,
    /// Name of the former commune; empty for the rest of the commune.
    pub name: &'static str,
    /// Centre, latitude and longitude, degrees.
    pub centre: (f64, f64),
    /// Postal codes.
    pub postal_codes: &'static [&'static str],
    /// Share of the commune's addresses.
    pub share: f64,
}

/// A commune with the inputs for its invented addresses.
#[derive(Debug)]
pub struct BanCommune {
    /// The commune or arrondissement.
    pub place: &'static Place,
    /// House numbers to generate.
    pub addresses: u64,
    /// Its parts; one without a name if nothing was merged.
    pub parts: Vec<Part>,
    /// How far its streets reach from the centre of a part, metres.
    pub reach_m: f64,
    /// Names of the neighbouring communes.
    pub neighbours: Vec<&'static str>,
}

/// Returns the communes of each department with their shares of `addresses`, or of [`NATIONAL_ADDRESSES`] if it is
/// `None`. Skips communes without inhabitants.
pub fn communes(
    wanted: &[String],
    addresses: Option<u64>,
) -> BTreeMap<&'static str, Vec<BanCommune>> {
    let of_department = by_department();
    let weight_of = |code: &str| {
        let places = of_department.get(code);
        places.map_or(0.0, |places| places.iter().map(|one| weight(one)).sum())
    };
    let weights: Vec<f64> = departments::CODES.map(weight_of).to_vec();
    let is_wanted =
        |code: &&str| wanted.is_empty() || wanted.iter().any(|one| one.as_str() == *code);
    let selected: f64 = departments::CODES
        .iter()
        .zip(&weights)
        .filter(|(code, _)| is_wanted(code))
        .map(|(_, weight)| weight)
        .sum();
    let (total, of_all) = match addresses {
        Some(addresses) => (addresses, selected),
        None => (NATIONAL_ADDRESSES, weights.iter().sum()),
    };
    let mut former = BTreeMap::<u32, Vec<&'static Place>>::new();
    for place in Places::get().all() {
        if let (PlaceKind::Former, Some(parent), false) =
            (place.kind, place.parent, place.code.is_empty())
        {
            former.entry(parent).or_default().push(place);
        }
    }
    let mut quota = Quota::new(total, of_all);
    let mut made = BTreeMap::new();
    for (code, weight) in departments::CODES.into_iter().zip(weights) {
        let counts = addresses.is_none() || is_wanted(&code);
        let own = if counts { quota.next(weight) } else { 0 };
        if let (true, Some(places)) = (is_wanted(&code), of_department.get(code)) {
            made.insert(code, department(places, own, weight, &former));
        }
    }
    made
}

/// A whole number that is divided in proportion to weights, so that the shares add up.
#[derive(Debug)]
pub struct Quota {
    total: u64,
    of_all: f64,
    weight_so_far: f64,
    given: u64,
}

impl Quota {
    /// `of_all` is the sum of the weights to come.
    pub fn new(total: u64, of_all: f64) -> Self {
        Self {
            total,
            of_all,
            weight_so_far: 0.0,
            given: 0,
        }
    }

    /// Returns the share of the next weight.
    pub fn next(&mut self, weight: f64) -> u64 {
        self.weight_so_far += weight;
        let share = (self.weight_so_far / self.of_all.max(f64::MIN_POSITIVE)).min(1.0);
        let upto = (share * self.total as f64).round() as u64;
        let own = upto.saturating_sub(self.given);
        self.given += own;
        own
    }
}

fn by_department() -> BTreeMap<&'static str, Vec<&'static Place>> {
    let mut found = BTreeMap::<_, Vec<&'static Place>>::new();
    for place in Places::get().all() {
        let is_own = matches!(place.kind, PlaceKind::Commune | PlaceKind::Arrondissement);
        let is_divided = DIVIDED_CITIES.contains(&place.code);
        if is_own && !is_divided && place.population > 0 && !place.postal_codes.is_empty() {
            found.entry(place.department).or_default().push(place);
        }
    }
    found
}

fn weight(place: &Place) -> f64 {
    let weight = f64::from(place.population).powf(POPULATION_EXPONENT);
    match place.department {
        "75" => weight * PARIS_SHARE,
        _ => weight,
    }
}

fn department(
    places: &[&'static Place],
    addresses: u64,
    of_all: f64,
    former: &BTreeMap<u32, Vec<&'static Place>>,
) -> Vec<BanCommune> {
    let mut quota = Quota::new(addresses, of_all);
    let mut made = Vec::with_capacity(places.len());
    for place in places {
        let addresses = quota.next(weight(place));
        let mut others: Vec<(f64, &'static str)> = places
            .iter()
            .filter(|other| other.code != place.code)
            .map(|other| {
                let (one, two) = (place.centre, other.centre);
                (planar_distance_m(one.0, one.1, two.0, two.1), other.name)
            })
            .collect();
        others.sort_by(|one, two| one.0.total_cmp(&two.0));
        let nearest = others.first().map_or(REACH_M.1, |(distance, _)| *distance);
        let reach_m = (nearest * REACH_SHARE).clamp(REACH_M.0, REACH_M.1);
        let index = Places::get().find(place.code);
        let former = index.and_then(|index| former.get(&index));
        made.push(BanCommune {
            place,
            addresses,
            parts: parts(place, former.map_or(&[], Vec::as_slice), reach_m),
            reach_m,
            neighbours: others
                .iter()
                .take(NEIGHBOURS)
                .map(|(_, name)| *name)
                .collect(),
        });
    }
    made
}

fn parts(place: &'static Place, former: &[&'static Place], reach_m: f64) -> Vec<Part> {
    let has_seat = former.iter().any(|part| part.code == place.code);
    let rest = (!has_seat).then_some((place, "", ""));
    let named = former.iter().map(|part| (*part, part.code, part.name));
    let parts: Vec<(&'static Place, &str, &str)> = rest.into_iter().chain(named).collect();
    // The seat of a merged commune is larger than the communes merged into it.
    let weight = |code: &str| {
        if code == place.code || code.is_empty() {
            3.0
        } else {
            1.0
        }
    };
    let sum: f64 = parts.iter().map(|(_, code, _)| weight(code)).sum();
    parts
        .into_iter()
        .map(|(part, code, name)| Part {
            code,
            name,
            centre: if part.centre == place.centre && weight(code) == 1.0 {
                position_near(place.centre, part.code, reach_m)
            } else {
                part.centre
            },
            postal_codes: &part.postal_codes,
            share: weight(code) / sum,
        })
        .collect()
}

/// Returns a point away from the centre of the commune, for a part whose own centre is not known.
fn position_near(centre: (f64, f64), code: &str, reach_m: f64) -> (f64, f64) {
    let bits = key(code);
    let direction = to_unit(mix2(bits, 1)) * TAU;
    let away = reach_m * (0.9 + 0.5 * to_unit(mix2(bits, 2)));
    offset(centre, away * direction.sin(), away * direction.cos())
}

/// Returns the position that is a number of metres north and east of another.
pub fn offset((lat, lon): (f64, f64), north_m: f64, east_m: f64) -> (f64, f64) {
    let per_degree = METRES_PER_DEGREE * lat.to_radians().cos();
    (lat + north_m / METRES_PER_DEGREE, lon + east_m / per_degree)
}

/// Returns a number that depends on a code alone.
pub fn key(code: &str) -> u64 {
    code.bytes().fold(0, |key, byte| mix2(key, u64::from(byte)))
}
