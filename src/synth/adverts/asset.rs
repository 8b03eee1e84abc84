//! Draws the real homes, plots and buildings on the market. Portals then describe them with errors.

use crate::communes::{SynthAddress, SynthCommune};
use crate::dvf::price;
use crate::random::{Stream, mix2, to_unit};
use crate::text::Day;
use toise_contract::enums::{
    EnumExposure as Exposure, EnumPropertyClass as Class, EnumPropertyOfferType as OfferType,
};

/// Weight of each class: (class, in a village, in a city).
const CLASSES: [(Class, f64, f64); 9] = [
    (Class::Flat, 10.0, 76.0),
    (Class::House, 68.0, 8.0),
    (Class::Land, 13.0, 1.0),
    (Class::Parking, 0.5, 6.0),
    (Class::Building, 3.0, 1.5),
    (Class::Shop, 2.0, 3.0),
    (Class::Premises, 1.5, 1.5),
    (Class::Office, 0.5, 2.0),
    (Class::Room, 0.5, 1.5),
];
/// Weights of flats by number of main rooms, from one.
const FLAT_ROOMS: [f64; 6] = [19.0, 30.0, 28.0, 15.0, 6.0, 2.0];
/// Habitable area of a flat by number of main rooms, from one, square metres.
const FLAT_M2: [f64; 6] = [24.0, 42.0, 63.0, 82.0, 105.0, 140.0];
/// Weights of houses by number of main rooms, from two.
const HOUSE_ROOMS: [f64; 7] = [3.0, 11.0, 27.0, 31.0, 16.0, 8.0, 4.0];
/// Primary energy by construction period, kWh per square metre and year.
const ENERGY: [f64; 10] = [
    300.0, 285.0, 265.0, 240.0, 215.0, 195.0, 175.0, 120.0, 70.0, 62.0,
];
/// First and last year of the construction periods.
const YEARS: [(i64, i64); 10] = [
    (1860, 1947),
    (1948, 1974),
    (1975, 1977),
    (1978, 1982),
    (1983, 1988),
    (1989, 2000),
    (2001, 2005),
    (2006, 2012),
    (2013, 2021),
    (2022, 2026),
];
/// Monthly rent as a share of the sale price.
const RENT_OF_PRICE: f64 = 0.0043;

/// Amenities of a dwelling, named as in the contract.
#[derive(Clone, Copy, Debug, Default)]
pub struct Amenities {
    /// Has a balcony.
    pub balcony: bool,
    /// Has a cellar.
    pub cellar: bool,
    /// Has a fireplace.
    pub fireplace: bool,
    /// Has a garage.
    pub garage: bool,
    /// Has a garden.
    pub garden: bool,
    /// Has a lift.
    pub lift: bool,
    /// Has a parking space.
    pub parking: bool,
    /// Has a swimming pool.
    pub pool: bool,
    /// Has a terrace.
    pub terrace: bool,
    /// Has an entry phone.
    pub interphone: bool,
}

/// A true asset on the market.
#[derive(Clone, Debug)]
pub struct SynthAsset {
    /// Class.
    pub class: Class,
    /// Kind of offer.
    pub offer: OfferType,
    /// Address of the asset.
    pub address: SynthAddress,
    /// Random key that distinguishes its drawn values from those of other assets.
    pub key: u64,
    /// Key shared by similar assets of one building: layout, text, pictures of the facade.
    pub building_key: u64,
    /// Whether it is a flat of a developer's programme, or the programme itself.
    pub programme: bool,
    /// Habitable area (total area if not a dwelling), square metres; 0 for land and parking spaces.
    pub surface_m2: f64,
    /// Land, square metres.
    pub land_m2: Option<u32>,
    /// Number of main rooms; 0 if not a dwelling.
    pub rooms: u32,
    /// Number of bedrooms.
    pub bedrooms: u32,
    /// Storey of a flat; the ground floor is 0.
    pub floor: Option<i32>,
    /// Number of storeys of the building.
    pub floors: u32,
    /// Year of construction.
    pub year: i32,
    /// Primary energy, kWh per square metre and year.
    pub energy: u32,
    /// Greenhouse gas emissions, kg per square metre and year.
    pub climate: u32,
    /// Amenities.
    pub amenities: Amenities,
    /// Orientation of its main rooms.
    pub exposure: Exposure,
    /// Initial price in EUR; per month for rentals.
    pub price_eur: f64,
    /// Whether it needs renovation.
    pub to_renovate: bool,
}

impl SynthAsset {
    /// Whether it is a dwelling.
    pub fn is_dwelling(&self) -> bool {
        matches!(
            self.class,
            Class::Flat | Class::House | Class::Room | Class::Program
        )
    }

    /// Draws an asset in a place, priced as of `day`.
    pub fn draw(stream: &mut Stream, place: &'static SynthCommune, day: Day) -> Self {
        let weights = CLASSES.map(|(_, village, city)| village + (city - village) * place.urbanity);
        let class = CLASSES[stream.weighted(&weights)].0;
        Self::of_class(stream, place, day, class)
    }

    /// Draws an asset of a given class.
    pub fn of_class(
        stream: &mut Stream,
        place: &'static SynthCommune,
        day: Day,
        class: Class,
    ) -> Self {
        let address = SynthAddress::draw(place, stream.bits());
        let building = address.building();
        let key = stream.bits();
        let dwelling = matches!(
            class,
            Class::Flat | Class::House | Class::Room | Class::Program
        );
        let rooms = match class {
            Class::Flat | Class::Program => 1 + stream.weighted(&FLAT_ROOMS) as u32,
            Class::House => 2 + stream.weighted(&HOUSE_ROOMS) as u32,
            Class::Room => 1,
            _ => 0,
        };
        let surface_m2 = match class {
            Class::Flat | Class::Program => {
                FLAT_M2[(rooms as usize - 1).min(FLAT_M2.len() - 1)] * stream.spread(0.15)
            }
            Class::House => (28.0 + 17.5 * f64::from(rooms)) * stream.spread(0.17),
            Class::Room => 12.0 * stream.spread(0.2),
            Class::Building => 280.0 * stream.spread(0.5),
            Class::Shop | Class::Premises | Class::Office => 75.0 * stream.spread(0.7),
            _ => 0.0,
        };
        // By law flats are measured to 0.01 m²; houses usually to 1 m².
        let step = match class {
            Class::Flat | Class::Program => 100.0,
            Class::House if stream.chance(0.4) => 10.0,
            _ => 1.0,
        };
        let surface_m2 = (surface_m2 * step).round() / step;
        let land_m2 = match class {
            Class::Land => Some((950.0 * stream.spread(0.6)) as u32),
            Class::House if stream.chance(0.86) => {
                let usual = 520.0 * (1.6 - place.urbanity);
                Some((usual * stream.spread(0.65)) as u32 + 40)
            }
            _ => None,
        };
        let period = building.period;
        let (from, to) = YEARS[period.min(YEARS.len() - 1)];
        // Characteristics of the building are the same for all its flats.
        let year = from + (address.unit(31) * (to - from + 1) as f64) as i64;
        let gas = address.unit(32) < 0.45;
        let energy = ENERGY[period.min(ENERGY.len() - 1)] * stream.spread(0.24);
        let mut asset = Self {
            class,
            offer: OfferType::Buy,
            address,
            key,
            building_key: mix2(address.bits(33), 7),
            programme: class == Class::Program,
            surface_m2,
            land_m2,
            rooms,
            bedrooms: rooms.saturating_sub(1 + u32::from(stream.chance(0.12))),
            floor: (class == Class::Flat).then(|| stream.below(building.floors as usize) as i32),
            floors: building.floors,
            year: year as i32,
            energy: energy.round().clamp(20.0, 900.0) as u32,
            climate: (energy * if gas { 0.2 } else { 0.055 } * stream.spread(0.1))
                .round()
                .max(1.0) as u32,
            amenities: if dwelling {
                amenities(stream, class, &address, building.floors)
            } else {
                Amenities::default()
            },
            exposure: stream.pick(&[
                Exposure::South,
                Exposure::SouthWest,
                Exposure::West,
                Exposure::East,
                Exposure::SouthEast,
                Exposure::North,
            ]),
            price_eur: 0.0,
            to_renovate: stream.chance(0.16),
        };
        asset.offer = offer(stream, class, place.urbanity);
        asset.price_eur = asset.price(stream, day);
        asset
    }

    /// Returns the asking price on `day`, rounded as sellers round.
    fn price(&self, stream: &mut Stream, day: Day) -> f64 {
        let (year, month, _) = day.civil();
        let moment = (year, month);
        let address = &self.address;
        let land_m2 = f64::from(self.land_m2.unwrap_or(250));
        let value = match self.class {
            Class::House => price::house(stream, address, moment, self.surface_m2, land_m2),
            Class::Land => price::land(stream, address, true, land_m2),
            Class::Parking => price::outbuilding(stream, address),
            Class::Shop | Class::Premises | Class::Office => {
                price::premises(stream, address, moment, self.surface_m2)
            }
            Class::Building => price::flat(stream, address, moment, self.surface_m2) * 0.75,
            _ => price::flat(stream, address, moment, self.surface_m2),
        };
        let condition = if self.to_renovate { 0.88 } else { 1.0 };
        match self.offer {
            OfferType::Rent => {
                rounded_rent(value * RENT_OF_PRICE * (self.surface_m2.max(12.0) / 60.0).powf(-0.15))
            }
            OfferType::LifeAnnuitySale => rounded_price(value * 0.4),
            OfferType::Auction => rounded_price(value * 0.5),
            _ => rounded_price(value * condition),
        }
    }

    /// Returns a similar flat of the same building: another floor, with nearly or exactly the same area and price.
    pub fn twin(&self, stream: &mut Stream) -> Self {
        let mut twin = self.clone();
        twin.key = stream.bits();
        if let Some(floor) = self.floor {
            let others = self.floors.max(2) as usize - 1;
            let other = stream.below(others) as i32;
            twin.floor = Some(if other >= floor { other + 1 } else { other });
        }
        if stream.chance(0.6) {
            let moved = self.surface_m2 + 2.4 * (stream.unit() - 0.5);
            twin.surface_m2 = (moved * 100.0).round() / 100.0;
        }
        if stream.chance(0.75) {
            let factor = 1.0 + 0.08 * (stream.unit() - 0.5);
            twin.price_eur = match self.offer {
                OfferType::Rent => rounded_rent(self.price_eur * factor),
                _ => rounded_price(self.price_eur * factor),
            };
        }
        if stream.chance(0.8) {
            twin.energy = (f64::from(self.energy) * stream.spread(0.1))
                .round()
                .max(20.0) as u32;
            twin.climate = (f64::from(self.climate) * stream.spread(0.1))
                .round()
                .max(1.0) as u32;
        }
        twin.amenities.cellar ^= stream.chance(0.2);
        twin.amenities.parking ^= stream.chance(0.2);
        if stream.chance(0.3) {
            twin.exposure = stream.pick(&[Exposure::South, Exposure::North, Exposure::East]);
        }
        twin
    }

    /// Returns the flat number `rank` of a programme that is not built yet.
    pub fn lot(&self, stream: &mut Stream, rank: u32) -> Self {
        let mut lot = self.clone();
        lot.class = Class::Flat;
        lot.key = stream.bits();
        lot.programme = true;
        lot.year = YEARS[YEARS.len() - 1].1 as i32;
        // Flats above one another share a plan; others are slightly larger or smaller.
        if stream.chance(0.4) {
            lot.surface_m2 =
                ((self.surface_m2 + stream.between(-3, 3) as f64) * 10.0).round() / 10.0;
        }
        // Two flats per floor, mirrored or with different plans. Nothing would distinguish two flats with the same
        // plan, floor and price.
        lot.floors = self.floors.max(6);
        lot.floor = Some(1 + rank as i32 / 2);
        let per_floor = 1.0 + 0.008 * f64::from(rank);
        lot.price_eur =
            rounded_price(self.price_eur * per_floor * lot.surface_m2 / self.surface_m2.max(1.0));
        lot
    }
}

fn offer(stream: &mut Stream, class: Class, urbanity: f64) -> OfferType {
    let rent = match class {
        Class::Flat => 0.24 + 0.16 * urbanity,
        Class::House => 0.09,
        Class::Room => 1.0,
        Class::Parking => 0.45,
        Class::Shop | Class::Premises | Class::Office => 0.5,
        _ => 0.0,
    };
    if stream.chance(rent) {
        OfferType::Rent
    } else if matches!(class, Class::Flat | Class::House) && stream.chance(0.015) {
        stream.pick(&[
            OfferType::LifeAnnuitySale,
            OfferType::LifeAnnuitySale,
            OfferType::Auction,
        ])
    } else if class == Class::Shop && stream.chance(0.5) {
        OfferType::BusinessTakeOver
    } else {
        OfferType::Buy
    }
}

fn amenities(stream: &mut Stream, class: Class, address: &SynthAddress, floors: u32) -> Amenities {
    let house = class == Class::House;
    let urbanity = address.place.urbanity;
    Amenities {
        balcony: !house && stream.chance(0.35),
        cellar: stream.chance(if house { 0.3 } else { 0.5 }),
        fireplace: stream.chance(if house { 0.35 } else { 0.12 }),
        garage: stream.chance(if house { 0.6 } else { 0.12 }),
        garden: house && stream.chance(0.85),
        lift: !house && floors > 3 && to_unit(address.bits(34)) < 0.75,
        parking: stream.chance(0.5 - 0.25 * urbanity),
        pool: house && stream.chance(0.12),
        terrace: stream.chance(if house { 0.55 } else { 0.18 }),
        interphone: !house && to_unit(address.bits(35)) < 0.8,
    }
}

/// Rounds a sale price as sellers do: to 500 EUR below 20,000 EUR, to 1,000 EUR below a million, and to 10,000 EUR
/// above.
pub fn rounded_price(price_eur: f64) -> f64 {
    let step = if price_eur < 20_000.0 {
        500.0
    } else if price_eur < 1_000_000.0 {
        1_000.0
    } else {
        10_000.0
    };
    ((price_eur / step).round() * step).max(step)
}

/// Rounds a monthly rent to 5 EUR.
pub fn rounded_rent(rent_eur: f64) -> f64 {
    ((rent_eur / 5.0).round() * 5.0).max(20.0)
}
