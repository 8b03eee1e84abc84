//! The communes of the generator, and invented but stable addresses in them.
//!
//! An address (commune, street, number) determines one position, building, postal code and parcel, so that sales and
//! diagnostics of one address agree without shared state. Positions are scattered around the centre of the commune over
//! a disc that grows with population.

use std::f64::consts::TAU;
use std::sync::LazyLock;

use super::prices;
use super::random::{mix2, to_unit, weighted_at};
use super::streets::{KINDS, NAMES};
use toise_geo::places::{DIVIDED_CITIES, Place, PlaceKind, Places};
use toise_geo::regions;

/// A commune (or an arrondissement of Paris, Lyon or Marseille).
#[derive(Debug)]
pub struct SynthCommune {
    /// INSEE code.
    pub insee: &'static str,
    /// Official name.
    pub name: &'static str,
    /// Postal codes; never empty.
    pub postal_codes: Vec<&'static str>,
    /// Department code.
    pub department: &'static str,
    /// Region code.
    pub region: &'static str,
    /// Number of inhabitants.
    pub population: f64,
    /// Latitude of the centre, degrees.
    pub lat: f64,
    /// Longitude of the centre, degrees.
    pub lon: f64,
    /// Radius of the inhabited disc, kilometres.
    pub radius_km: f64,
    /// From 0 for a village of houses to 1 for a city of flats.
    pub urbanity: f64,
    /// Price of flats in 2021, EUR per square metre.
    pub price_level: f64,
    /// Distinguishes this commune from others when numbers are mixed.
    key: u64,
    /// Number of streets.
    street_count: usize,
}

static PLACES: LazyLock<Vec<SynthCommune>> = LazyLock::new(|| {
    let mut places: Vec<&Place> = Places::get()
        .all()
        .iter()
        .filter(|place| is_drawn(place))
        .collect();
    places.sort_by_key(|place| place.code);
    let ranks = 0..;
    ranks
        .zip(places)
        .filter_map(|(rank, place)| commune(place, rank))
        .collect()
});

/// Returns whether addresses in a commune are generated: the inhabited communes of departments, with Paris, Lyon and
/// Marseille by arrondissement. This follows the sources of sales, which do not cover the overseas collectivities.
fn is_drawn(place: &Place) -> bool {
    let is_today = matches!(place.kind, PlaceKind::Commune | PlaceKind::Arrondissement);
    let is_of_department = place.code.starts_with(place.department);
    is_today && is_of_department && !DIVIDED_CITIES.contains(&place.code) && place.population > 0
}

fn commune(place: &'static Place, key: u64) -> Option<SynthCommune> {
    let (insee, department) = (place.code, place.department);
    let population = f64::from(place.population);
    let density_per_km2 = match department {
        "75" => 20_000.0,
        "92" | "93" | "94" => 8_000.0,
        _ if is_city_district(insee) => 7_000.0,
        _ => (250.0 + population * 0.03).min(5_000.0),
    };
    let urbanity = match department {
        "75" => 1.0,
        "92" => 0.94,
        "93" | "94" => 0.85,
        _ if is_city_district(insee) => 0.95,
        _ => (population.max(1.0).log10() / 1.75 - 2.05).clamp(0.04, 0.95),
    };
    let (lat, lon) = place.centre;
    Some(SynthCommune {
        insee,
        name: place.name,
        postal_codes: place.postal_codes.clone(),
        department,
        region: regions::for_department(department)?.code,
        population,
        lat,
        lon,
        radius_km: (population / (density_per_km2 * std::f64::consts::PI)).sqrt(),
        urbanity,
        price_level: prices::level(insee, department, population),
        key,
        street_count: ((population / 90.0) as usize).clamp(6, 2_500),
    })
}

fn is_city_district(insee: &str) -> bool {
    insee.starts_with("6938") || insee.starts_with("132")
}

/// Returns all communes, sorted by code.
pub fn all() -> &'static [SynthCommune] {
    &PLACES
}

/// A sampler of communes in proportion to a weight, by quantile.
#[derive(Debug)]
pub struct CommuneSampler {
    /// Index of each commune with the cumulative weight up to and including it.
    cumulated: Vec<(usize, f64)>,
    total: f64,
}

impl CommuneSampler {
    /// Creates a sampler of communes weighted by a function; those of weight 0 are never drawn.
    pub fn new(weight: impl Fn(&SynthCommune) -> f64) -> Self {
        let mut total = 0.0;
        let mut cumulated = Vec::new();
        for (index, place) in all().iter().enumerate() {
            let own = weight(place);
            if own > 0.0 {
                total += own;
                cumulated.push((index, total));
            }
        }
        Self { cumulated, total }
    }

    /// Returns the commune at quantile `unit`, in [0, 1).
    pub fn at(&self, unit: f64) -> &'static SynthCommune {
        let sought = unit * self.total;
        let found = self.cumulated.partition_point(|(_, upto)| *upto <= sought);
        let found = found.min(self.cumulated.len().saturating_sub(1));
        &all()[self.cumulated[found].0]
    }
}

/// An address of a commune.
#[derive(Clone, Copy, Debug)]
pub struct SynthAddress {
    /// Commune of the address.
    pub place: &'static SynthCommune,
    /// Index of the street, below the commune's number of streets.
    pub street: usize,
    /// House number.
    pub number: u32,
}

impl SynthAddress {
    /// Returns the address determined by 64 random bits.
    pub fn draw(place: &'static SynthCommune, bits: u64) -> Self {
        let street = ((u128::from(mix2(bits, 1)) * place.street_count as u128) >> 64) as usize;
        // Low numbers are more common: every street has a 1, few have a 100.
        let longest = 12.0 + place.urbanity * 130.0;
        let number = 1 + (to_unit(mix2(bits, 2)).powf(1.7) * longest) as u32;
        Self {
            place,
            street,
            number,
        }
    }

    /// A number that depends on the street alone.
    pub fn street_bits(&self, purpose: u64) -> u64 {
        mix2(
            mix2(self.place.key, self.street as u64),
            purpose.wrapping_add(1_000),
        )
    }

    /// A number that depends on the address alone.
    pub fn bits(&self, purpose: u64) -> u64 {
        mix2(self.street_bits(0) ^ u64::from(self.number), purpose)
    }

    /// A quantile that depends on the address alone.
    pub fn unit(&self, purpose: u64) -> f64 {
        to_unit(self.bits(purpose))
    }

    /// Kind of street, as an index into [`KINDS`].
    fn kind(&self) -> usize {
        const WEIGHTS: [f64; 9] = {
            let mut weights = [0.0; 9];
            let mut index = 0;
            while index < weights.len() {
                weights[index] = KINDS[index].2;
                index += 1;
            }
            weights
        };
        weighted_at(to_unit(self.street_bits(1)), &WEIGHTS)
    }

    /// Kind and name of the street, as spelt in the national address base.
    pub fn street_name(&self) -> (&'static str, &'static str) {
        (KINDS[self.kind()].0, NAMES[self.name()].0)
    }

    /// Kind and name of the street, as spelt in the tax office's files.
    pub fn street_name_in_capitals(&self) -> (&'static str, &'static str) {
        (KINDS[self.kind()].1, NAMES[self.name()].1.as_str())
    }

    fn name(&self) -> usize {
        // Streets take the names in order, so that no name is repeated in a small commune.
        let shift = mix2(self.place.key, 77) as usize % NAMES.len();
        (self.street + shift) % NAMES.len()
    }

    /// Street code of the tax office, four digits.
    pub fn street_code(&self) -> u64 {
        20 + (self.street as u64 * 37) % 9_900
    }

    /// Suffix of the house number, for one address in twenty-five.
    pub fn suffix(&self) -> Option<&'static str> {
        match self.bits(3) % 50 {
            0 => Some("B"),
            1 => Some("A"),
            _ => None,
        }
    }

    /// Postal code of the street.
    pub fn postal_code(&self) -> &'static str {
        let codes = &self.place.postal_codes;
        codes[(self.street_bits(2) % codes.len() as u64) as usize]
    }

    /// Distance of the street from the centre, 0 to 1 of the commune's radius.
    pub fn eccentricity(&self) -> f64 {
        to_unit(self.street_bits(3)).powf(0.62)
    }

    /// Position in degrees (latitude, longitude): on a line through the middle of the street, about 15 metres per house
    /// number.
    pub fn position(&self) -> (f64, f64) {
        let bearing = to_unit(self.street_bits(4)) * TAU;
        let distance_km = self.eccentricity() * self.place.radius_km;
        let direction = to_unit(self.street_bits(5)) * TAU;
        let along_km = f64::from(self.number) * 0.008 + 0.004 * self.unit(4);
        let side_km = if self.number.is_multiple_of(2) {
            0.012
        } else {
            -0.012
        };
        let north_km =
            distance_km * bearing.sin() + along_km * direction.sin() + side_km * direction.cos();
        let east_km =
            distance_km * bearing.cos() + along_km * direction.cos() - side_km * direction.sin();
        let lat = self.place.lat + north_km / 111.195;
        let lon = self.place.lon + east_km / (111.195 * self.place.lat.to_radians().cos());
        (lat, lon)
    }

    /// Price factor of the neighbourhood, about 0.75 to 1.35: higher near the centre and along one side.
    pub fn neighbourhood(&self) -> f64 {
        let bearing = to_unit(self.street_bits(4)) * TAU;
        let good_side = to_unit(mix2(self.place.key, 78)) * TAU;
        let from_centre = self.eccentricity();
        let centre_premium = 0.16 * self.place.urbanity * (0.5 - from_centre);
        let side_premium = 0.16 * from_centre * (bearing - good_side).cos();
        let street_premium = 0.10 * (to_unit(self.street_bits(6)) - 0.5);
        (centre_premium + side_premium + street_premium).exp()
    }

    /// The building at this address.
    pub fn building(&self) -> Building {
        let urbanity = self.place.urbanity;
        // Old centres, post-war estates, recent outskirts; the shares follow the housing census.
        let old = 1.0 - self.eccentricity();
        let south_or_west = matches!(self.place.region, "93" | "76" | "53" | "94");
        let recent = if south_or_west { 1.3 } else { 1.0 };
        let weights = [
            16.0 + 34.0 * old,
            18.0 + 14.0 * urbanity,
            6.0,
            7.0,
            8.0 * recent,
            13.0 * recent,
            7.0 * recent,
            11.0 * recent,
            9.0 * recent,
            0.6 * recent,
        ];
        let period = weighted_at(self.unit(5), &weights);
        let floors = 2 + (self.unit(6).powf(1.6) * (2.5 + 7.0 * urbanity)) as u32;
        let per_floor = 1 + (self.unit(7).powf(1.5) * (1.5 + 4.5 * urbanity)) as u32;
        Building {
            period,
            floors,
            dwellings: (floors * per_floor).max(2),
        }
    }

    /// Appends the 14-character parcel code; `plot` distinguishes the parcels of one address.
    pub fn push_parcel(&self, out: &mut Vec<u8>, plot: u64) {
        out.extend_from_slice(self.place.insee.as_bytes());
        out.extend_from_slice(b"000");
        let section = self.street as u64 / 4;
        let letter = |rank: u64| b'A' + (rank % 26) as u8;
        if self.place.population < 3_000.0 {
            out.extend_from_slice(&[b'0', letter(section)]);
        } else {
            out.extend_from_slice(&[letter(section / 26), letter(section)]);
        }
        let number = (self.street as u64 % 4) * 2_400 + u64::from(self.number) * 15 + plot % 15;
        super::text::push_digits(out, 1 + number % 9_998, 4);
    }
}

/// The building at an address.
#[derive(Clone, Copy, Debug)]
pub struct Building {
    /// Construction period, as an index into [`toise_opendata::dpe::CONSTRUCTION_PERIODS`].
    pub period: usize,
    /// Number of floors including the ground floor, for a block of flats.
    pub floors: u32,
    /// Number of flats, for a block of flats.
    pub dwellings: u32,
}

#[cfg(test)]
mod tests {
    use super::*;
    use toise_geo::departments;

    #[test]
    fn every_department_is_drawn_with_plausible_positions() {
        for code in departments::CODES {
            assert!(all().iter().any(|place| place.department == code), "{code}");
        }
        for place in all() {
            assert_eq!(
                departments::for_commune(place.insee),
                Some(place.department)
            );
            assert!(
                place.postal_codes.iter().all(|code| code.len() == 5),
                "{place:?}"
            );
            let mainland = !place.department.starts_with("97");
            if mainland {
                assert!((41.3..51.2).contains(&place.lat), "{place:?}");
                assert!((-5.3..9.7).contains(&place.lon), "{place:?}");
            }
        }
    }

    #[test]
    fn an_address_lies_near_its_commune() {
        let place = CommuneSampler::new(|place| place.population).at(0.4);
        for bits in 0..200 {
            let address = SynthAddress::draw(place, bits);
            let (lat, lon) = address.position();
            let distance = toise_geo::distance::planar_distance_m(place.lat, place.lon, lat, lon);
            assert!(distance < place.radius_km * 1_000.0 + 2_000.0);
        }
    }
}
