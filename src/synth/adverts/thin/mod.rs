//! Thin adverts of one dense city: price, surface, rooms, bedrooms, arrondissement, district and energy class, on two
//! portals; no text, pictures, positions, sellers or storeys.
//!
//! Homes, the adverts that show one again and the homes of one building follow tables that were measured on real adverts
//! and sales ([`measured`]), never what the decision makes of them. Adverts are one sighting each, a second apart, as one
//! crawl of both portals collects them, and those of one home are scattered over the whole crawl.
//!
//! Groups of [`ADVERTS_PER_GROUP`] adverts are derived from the seed. An advert is found by drawing its group again, which
//! costs some microseconds.

#[allow(
    clippy::approx_constant,
    reason = "measured shares may resemble mathematical constants"
)]
mod measured;

use super::lifecycle::SynthSighting;
use super::portal::{PORTALS, apply_sighting};
use super::{ADVERTS_PER_GROUP, AdvertsRequest, DATASET, Observation};
use crate::communes::{self, SynthCommune};
use crate::random::{Stream, mix};
use measured::*;
use toise_contract::enums::{
    EnumEnergyClassification as Energy, EnumPropertyClass as Class,
    EnumPropertyOfferType as OfferType,
};
use toise_contract::listings::Advert;
use toise_contract::listings::codes::{Department, InseeCode, PostalCode};
use toise_contract::listings::habitation::{Climate, Surface, TypeHabitation};
use toise_contract::listings::market::Offer;
use toise_contract::listings::place::AdLocation;
use toise_contract::listings::scalars::{Count, SquareMetres};

/// Code of the first arrondissement in the tables; the others follow.
const FIRST_ARRONDISSEMENT: u32 = 75_101;
/// How far sellers move a price to a customary one, as a share of it.
const ROUNDING: f64 = 0.03;
/// Most by which a second measurement of a surface differs, as a share of it.
const MEASURED_APART: f64 = 0.03;
/// Greatest surface, as a multiple of the last one in the table.
const SURFACE_SPAN: f64 = 2.0;
/// Energy classes in the order of the table, which ends with unknown.
const CLASSES: [Energy; 7] = [
    Energy::A,
    Energy::B,
    Energy::C,
    Energy::D,
    Energy::E,
    Energy::F,
    Energy::G,
];

/// What an advert shows of a home.
#[derive(Clone, Debug)]
struct ThinHome {
    /// Index of the arrondissement.
    place: usize,
    /// Index of the district in its arrondissement.
    district: usize,
    /// Whether the advert names the district.
    names_district: bool,
    /// Surface, tenths of a square metre.
    surface_dm: u32,
    rooms: u32,
    bedrooms: Option<u32>,
    /// Index of the energy class.
    energy: Option<usize>,
    price_eur: u32,
    /// Index of the portal: 0 or 1.
    portal: usize,
}

/// The sightings number `from..to` of a request, in time order.
pub(super) fn sightings(request: &AdvertsRequest, from: u64, to: u64) -> Vec<Observation> {
    (from..to).map(|turn| sighting(request, turn)).collect()
}

fn sighting(request: &AdvertsRequest, turn: u64) -> Observation {
    let rank = scattered(turn, request.adverts);
    let (group, place) = (rank / ADVERTS_PER_GROUP, rank % ADVERTS_PER_GROUP);
    let (home, number) = shown(request.seed, group, place as usize);
    let mut advert = home.advert(mix(rank ^ (request.seed << 40)));
    let at_s = request.until_s - (request.adverts - turn) as i64;
    let sighting = SynthSighting {
        at_s,
        price_eur: f64::from(home.price_eur),
        online: true,
    };
    apply_sighting(&mut advert, at_s, &sighting);
    Observation {
        advert,
        asset: group * ADVERTS_PER_GROUP + number,
        first: true,
    }
}

/// The advert seen at a turn: a permutation of all adverts.
fn scattered(turn: u64, adverts: u64) -> u64 {
    let is_coprime = |step: u64| {
        let (mut one, mut other) = (adverts, step);
        while other > 0 {
            (one, other) = (other, one % other);
        }
        one == 1
    };
    // A step near the golden section puts neighbours far apart.
    let golden = (adverts as f64 * 0.618) as u64;
    let step = (golden.max(1)..=adverts).find(|step| is_coprime(*step));
    let product = u128::from(turn) * u128::from(step.unwrap_or(1));
    (product % u128::from(adverts.max(1))) as u64
}

/// What an advert of a group shows, and the number of its home in the group.
fn shown(seed: u64, group: u64, wanted: usize) -> (ThinHome, u64) {
    let mut stream = Stream::new(seed, DATASET, group);
    let again = PAIRS_PER_ADVERT / (1.0 + PAIRS_PER_ADVERT);
    // A home with a twin is one of two.
    let twin = TWINS / (2.0 - TWINS);
    let (mut number, mut home) = (0, ThinHome::draw(&mut stream));
    let mut advert = home.clone();
    for _ in 0..wanted {
        if stream.chance(again) {
            advert = home.again(&mut stream);
            continue;
        }
        number += 1;
        home = if stream.chance(twin) {
            home.twin(&mut stream)
        } else {
            ThinHome::draw(&mut stream)
        };
        advert = home.clone();
    }
    (advert, number)
}

impl ThinHome {
    fn draw(stream: &mut Stream) -> Self {
        let cells = ADVERTS.as_flattened();
        let cell = at(stream, cells);
        let (place, band) = (cell / ADVERTS[0].len(), cell % ADVERTS[0].len());
        let surface_dm = surface_dm(stream, band);
        let district = {
            let counts: Vec<u16> = DISTRICTS[place].iter().map(|(count, _)| *count).collect();
            at(stream, &counts)
        };
        let dearer = f64::from(DISTRICTS[place][district].1) / 1_000.0;
        let deviation = dearer + residual(stream, band);
        let per_m2 = f64::from(LEVELS[place][band]) * deviation.exp();
        let price_eur = asked(stream, per_m2 * f64::from(surface_dm) / 10.0);
        let rooms = 1 + at(stream, &ROOMS[band]) as u32;
        let bedrooms = at(stream, &BEDROOMS[rooms as usize - 1]);
        let energy = at(stream, &ENERGY[band]);
        Self {
            place,
            district,
            names_district: !stream.chance(DISTRICT_UNKNOWN),
            surface_dm,
            rooms,
            bedrooms: (bedrooms + 1 < BEDROOMS[0].len()).then_some(bedrooms as u32),
            energy: (energy < CLASSES.len()).then_some(energy),
            price_eur,
            portal: portal(stream, price_eur, surface_dm),
        }
    }

    /// The same home in another advert.
    fn again(&self, stream: &mut Stream) -> Self {
        const GAPS: [f64; 6] = [0.0, 0.01, 0.02, 0.04, 0.07, 0.1];
        let band = class_of(&BANDS_M2, self.surface_dm / 10);
        let mut other = self.clone();
        other.price_eur = moved_price(stream, self.price_eur, &COPY_PRICES, &GAPS);
        let is_whole = self.surface_dm.is_multiple_of(10);
        other.surface_dm = match stream.weighted(&COPY_SURFACES[usize::from(!is_whole)]) {
            0 => self.surface_dm,
            1 if is_whole => self
                .surface_dm
                .saturating_add_signed(stream.between(-4, 9) as i32),
            1 if stream.chance(0.5) => self.surface_dm / 10 * 10,
            1 => self.surface_dm.div_ceil(10) * 10,
            _ => {
                let span = 2.0 * MEASURED_APART * (stream.unit() - 0.5);
                let step = if stream.chance(WITH_DECIMALS[band]) {
                    1.0
                } else {
                    10.0
                };
                ((f64::from(self.surface_dm) * (1.0 + span) / step).round() * step) as u32
            }
        };
        if stream.chance(COPY_ROOMS) {
            other.rooms = neighbour(stream, self.rooms, 1);
        }
        let bedrooms = &BEDROOMS[self.rooms as usize - 1];
        if flips(
            stream,
            self.bedrooms.is_some(),
            unknown_share(bedrooms),
            COPY_BEDROOMS_LONE,
        ) {
            other.bedrooms = self.bedrooms.is_none().then_some(self.rooms - 1);
        }
        if stream.chance(COPY_BEDROOMS) {
            other.bedrooms = other
                .bedrooms
                .map(|bedrooms| neighbour(stream, bedrooms, 0));
        }
        let classes = &ENERGY[band];
        if flips(
            stream,
            self.energy.is_some(),
            unknown_share(classes),
            COPY_ENERGY_LONE,
        ) {
            let drawn = at(stream, &classes[..CLASSES.len()]);
            other.energy = self.energy.is_none().then_some(drawn);
        }
        if stream.chance(COPY_ENERGY) {
            other.energy = other
                .energy
                .map(|class| (neighbour(stream, class as u32, 0) as usize).min(CLASSES.len() - 1));
        }
        other.names_district ^= flips(
            stream,
            self.names_district,
            DISTRICT_UNKNOWN,
            COPY_DISTRICT_LONE,
        );
        if stream.chance(COPY_DISTRICT) {
            other.district = stream.below(DISTRICTS[self.place].len());
        }
        other.portal = portal(stream, other.price_eur, other.surface_dm);
        other
    }

    /// Another home of the building, with the rooms and the surface in whole square metres.
    fn twin(&self, stream: &mut Stream) -> Self {
        const GAPS: [f64; 6] = [0.0, 0.01, 0.04, 0.1, 0.2, 0.35];
        let mut twin = self.clone();
        twin.price_eur = moved_price(stream, self.price_eur, &TWIN_PRICES, &GAPS);
        if !self.surface_dm.is_multiple_of(10) {
            twin.surface_dm = self.surface_dm / 10 * 10 + stream.between(1, 9) as u32;
        }
        let apart = stream.weighted(&TWIN_ENERGY);
        let better = stream.chance(0.5);
        twin.energy = self.energy.map(|class| {
            if better {
                class.saturating_sub(apart)
            } else {
                (class + apart).min(CLASSES.len() - 1)
            }
        });
        twin
    }

    fn advert(&self, number: u64) -> Advert {
        let place = arrondissement(self.place);
        let code = FIRST_ARRONDISSEMENT + self.place as u32;
        let portal = PORTALS[self.portal];
        let postal_code = code - 100;
        Advert {
            url: Some(format!(
                "https://{portal}/annonce/{postal_code}-{number:016x}"
            )),
            source: Some(portal.to_owned()),
            class: Some(Class::Flat),
            offer: Some(Offer {
                offer_type: Some(OfferType::Buy),
                ..Offer::default()
            }),
            location: Some(AdLocation {
                city: place.map(|place| place.name.to_owned()),
                department: place.and_then(|place| Department::parse(place.department)),
                insee_code: InseeCode::parse(&code.to_string()),
                postal_code: PostalCode::parse(&postal_code.to_string()),
                district: self
                    .names_district
                    .then(|| format!("Quartier {}-{}", self.place + 1, self.district + 1)),
                ..AdLocation::default()
            }),
            habitation: Some(TypeHabitation {
                surface: Some(Surface {
                    total: SquareMetres::new(f64::from(self.surface_dm) / 10.0),
                    ..Surface::default()
                }),
                room_count: Count::new(f64::from(self.rooms)),
                bedroom_count: self.bedrooms.and_then(|count| Count::new(f64::from(count))),
                climate: self.energy.map(|class| Climate {
                    epc_energy: Some(CLASSES[class]),
                    ..Climate::default()
                }),
                ..TypeHabitation::default()
            }),
            ..Advert::default()
        }
    }
}

fn arrondissement(place: usize) -> Option<&'static SynthCommune> {
    let code = (FIRST_ARRONDISSEMENT + place as u32).to_string();
    let all = communes::all();
    let found = all.binary_search_by(|place| place.insee.cmp(code.as_str()));
    found.ok().map(|index| &all[index])
}

/// Draws an index in proportion to counts.
fn at(stream: &mut Stream, counts: &[u16]) -> usize {
    let total: u64 = counts.iter().map(|count| u64::from(*count)).sum();
    let mut left = (stream.unit() * total as f64) as u64;
    for (index, count) in counts.iter().enumerate() {
        match left.checked_sub(u64::from(*count)) {
            None => return index,
            Some(rest) => left = rest,
        }
    }
    0
}

/// The class of a value among bounds, each of which belongs to the class above it.
fn class_of(bounds: &[u32], value: u32) -> usize {
    bounds.iter().filter(|bound| value >= **bound).count()
}

/// One more or one less, at least `least`.
fn neighbour(stream: &mut Stream, count: u32, least: u32) -> u32 {
    if stream.chance(0.5) && count > least {
        count - 1
    } else {
        count + 1
    }
}

/// Share of adverts that omit a field: the last of its counts.
fn unknown_share(counts: &[u16]) -> f64 {
    let total: u32 = counts.iter().map(|count| u32::from(*count)).sum();
    f64::from(counts[counts.len() - 1]) / f64::from(total.max(1))
}

/// Whether a further advert omits what the first one shows, or shows what it omits: `lone` is the share of pairs of which
/// only one shows it, `unknown` that of adverts that omit it.
fn flips(stream: &mut Stream, is_known: bool, unknown: f64, lone: f64) -> bool {
    let of = if is_known { 1.0 - unknown } else { unknown };
    stream.chance((lone / 2.0 / of.max(1e-6)).min(1.0))
}

/// Draws a surface of a band, tenths of a square metre.
fn surface_dm(stream: &mut Stream, band: usize) -> u32 {
    let last = SURFACES.len() - 1;
    let from = if band == 0 {
        0
    } else {
        BANDS_M2[band - 1] as usize
    };
    let to = BANDS_M2.get(band).map_or(SURFACES.len(), |to| *to as usize);
    let mut whole = (from + at(stream, &SURFACES[from..to])) as u32;
    if whole as usize == last {
        whole = (f64::from(whole) * (1.0 + (SURFACE_SPAN - 1.0) * stream.unit().powi(2))) as u32;
    }
    if stream.chance(WITH_DECIMALS[band]) {
        10 * whole + stream.between(1, 9) as u32
    } else {
        10 * whole
    }
}

/// Draws the portal of an advert, for each advert of a home again: twelve percent of the sure pairs are of both portals,
/// as many as this gives.
fn portal(stream: &mut Stream, price_eur: u32, surface_dm: u32) -> usize {
    let is_dear = f64::from(price_eur) >= DEAR_PER_M2 * f64::from(surface_dm) / 10.0;
    let first = FIRST_PORTAL[usize::from(is_dear)][class_of(&PORTAL_CLASSES_EUR, price_eur)];
    usize::from(!stream.chance(first))
}

/// How far the logarithm of a price per square metre is from what place and surface suggest.
fn residual(stream: &mut Stream, band: usize) -> f64 {
    let quantiles = &RESIDUALS[band];
    let scaled = stream.unit() * (quantiles.len() - 1) as f64;
    let (below, part) = (scaled as usize, scaled.fract());
    quantiles[below] + part * (quantiles[below + 1] - quantiles[below])
}

/// A price as sellers write it: mostly a customary number of thousands near a value.
fn asked(stream: &mut Stream, value_eur: f64) -> u32 {
    const STEPS_EUR: [u32; 5] = [1_000, 500, 100, 10, 1];
    let class = class_of(&PRICE_CLASSES_EUR, value_eur as u32);
    let step = STEPS_EUR[at(stream, &STEPS[class])];
    if step < 1_000 {
        return (value_eur / f64::from(step)).round() as u32 * step;
    }
    let from = (value_eur * (1.0 - ROUNDING) / 1_000.0).round() as usize;
    let to = (value_eur * (1.0 + ROUNDING) / 1_000.0).round() as usize;
    let customary: Vec<u16> = (from..=to)
        .map(|thousands| ENDINGS[class][thousands % 100])
        .collect();
    1_000 * (from + at(stream, &customary)) as u32
}

/// A price that differs by a share between two gaps, drawn by the weights of the gaps.
fn moved_price(stream: &mut Stream, price_eur: u32, weights: &[f64], gaps: &[f64]) -> u32 {
    let drawn = stream.weighted(weights);
    if drawn == 0 {
        return price_eur;
    }
    let gap = gaps[drawn - 1] + stream.unit() * (gaps[drawn] - gaps[drawn - 1]);
    let factor = if stream.chance(0.5) {
        1.0 - gap
    } else {
        1.0 / (1.0 - gap)
    };
    let moved = f64::from(price_eur) * factor;
    // A price within one percent keeps its kind of rounding: customary ones are farther apart.
    if gap < 0.01 {
        let step = if price_eur.is_multiple_of(1_000) {
            1_000
        } else {
            1
        };
        return ((moved / f64::from(step)).round() as u32 * step).max(1);
    }
    asked(stream, moved)
}

#[cfg(test)]
mod tests;
