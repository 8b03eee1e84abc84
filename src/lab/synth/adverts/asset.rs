//! What is truly for sale or to let, before any portal tells it its own way.

use crate::synth::dvf::price;
use crate::synth::places::{Address, Place};
use crate::synth::random::{Stream, mix2, to_unit};
use crate::synth::text::Day;
use toise_contract::enums::{
    EnumExposure as Exposure, EnumPropertyClass as Class, EnumPropertyOfferType as OfferType,
};

/// Share of each class, the more urban the more flats: (class, in a village, in a city).
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
/// Share of flats by main rooms, from one.
const FLAT_ROOMS: [f64; 6] = [19.0, 30.0, 28.0, 15.0, 6.0, 2.0];
/// Habitable area of a flat by main rooms, square metres.
const FLAT_M2: [f64; 6] = [24.0, 42.0, 63.0, 82.0, 105.0, 140.0];
/// Share of houses by main rooms, from two.
const HOUSE_ROOMS: [f64; 7] = [3.0, 11.0, 27.0, 31.0, 16.0, 8.0, 4.0];
/// Energy by construction period, kWh per square metre and year.
const ENERGY: [f64; 10] = [
    300.0, 285.0, 265.0, 240.0, 215.0, 195.0, 175.0, 120.0, 70.0, 62.0,
];
/// Years of the construction periods.
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
/// A month's rent as a share of the price.
const RENT_OF_PRICE: f64 = 0.0043;

/// Amenities of a dwelling, as the contract names them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Amenities {
    /// Balcony.
    pub balcony: bool,
    /// Cellar.
    pub cellar: bool,
    /// Fireplace.
    pub fireplace: bool,
    /// Garage.
    pub garage: bool,
    /// Garden.
    pub garden: bool,
    /// Lift.
    pub lift: bool,
    /// Parking place.
    pub parking: bool,
    /// Swimming pool.
    pub pool: bool,
    /// Terrace.
    pub terrace: bool,
    /// Entry phone.
    pub interphone: bool,
}

/// A true asset on the market.
#[derive(Clone, Debug)]
pub struct Asset {
    /// Class.
    pub class: Class,
    /// Offer.
    pub offer: OfferType,
    /// Where it is.
    pub address: Address,
    /// Tells what is drawn for it from what is drawn for others.
    pub key: u64,
    /// What it shares with alike assets of its building: layout, words, pictures of the front.
    pub building_key: u64,
    /// Flats of one developer, or the programme itself.
    pub programme: bool,
    /// Habitable area (area for what is no dwelling), square metres; 0 for land and parking places.
    pub surface_m2: f64,
    /// Land, square metres.
    pub land_m2: Option<u32>,
    /// Main rooms; 0 for what is no dwelling.
    pub rooms: u32,
    /// Bedrooms.
    pub bedrooms: u32,
    /// Storey of a flat.
    pub floor: Option<i32>,
    /// Storeys of the building.
    pub floors: u32,
    /// Year of construction.
    pub year: i32,
    /// Primary energy, kWh per square metre and year.
    pub energy: u32,
    /// Greenhouse gas, kg per square metre and year.
    pub climate: u32,
    /// What it has.
    pub amenities: Amenities,
    /// Where its main rooms face.
    pub exposure: Exposure,
    /// First price, EUR; a month's for rents.
    pub price_eur: f64,
    /// Whether it wants renovation.
    pub to_renovate: bool,
}

impl Asset {
    /// Whether people live in it.
    pub fn is_dwelling(&self) -> bool {
        matches!(
            self.class,
            Class::Flat | Class::House | Class::Room | Class::Program
        )
    }

    /// Draws an asset of a place as the market is on a day.
    pub fn draw(stream: &mut Stream, place: &'static Place, day: Day) -> Self {
        let weights = CLASSES.map(|(_, village, city)| village + (city - village) * place.urbanity);
        let class = CLASSES[stream.weighted(&weights)].0;
        Self::of_class(stream, place, day, class)
    }

    /// Draws an asset of a class.
    pub fn of_class(stream: &mut Stream, place: &'static Place, day: Day, class: Class) -> Self {
        let address = Address::draw(place, stream.bits());
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
        // Flats are measured to the hundredth by law, houses to the metre by habit.
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
        // Facts of the building are the same for all its flats.
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

    /// What it may ask on a day, rounded as sellers round.
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

    /// Another flat of the same building that looks much the same: other floor, nearly the same area and price, or
    /// exactly the same ones.
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

    /// A flat of a programme that is not built yet, `rank` counting its flats.
    pub fn lot(&self, stream: &mut Stream, rank: u32) -> Self {
        let mut lot = self.clone();
        lot.class = Class::Flat;
        lot.key = stream.bits();
        lot.programme = true;
        lot.year = YEARS[YEARS.len() - 1].1 as i32;
        // Stacked lots share their plan; others are a little larger or smaller.
        if stream.chance(0.4) {
            lot.surface_m2 =
                ((self.surface_m2 + stream.between(-3, 3) as f64) * 10.0).round() / 10.0;
        }
        // Two flats a floor, mirrored or of another plan; what has plan, floor and price in common is one flat.
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

fn amenities(stream: &mut Stream, class: Class, address: &Address, floors: u32) -> Amenities {
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

/// A sale price as sellers write them: thousands, or five hundreds below a threshold.
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

/// A month's rent, to five euros.
pub fn rounded_rent(rent_eur: f64) -> f64 {
    ((rent_eur / 5.0).round() * 5.0).max(20.0)
}
