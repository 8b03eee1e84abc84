//! Block keys: two adverts are compared only if they share one.
//!
//! An advert is stored under few keys and looks up many. It is stored under its own cell and area
//! ([`Fingerprint::blocks`], 1 to 8 keys), and also looks up the neighbouring ones ([`Fingerprint::probes`], 6 to 30
//! keys; up to 180 if neither its area nor its rooms are known). Two adverts of the same asset find each other through
//! any of
//! - their cells of 1.2 km, if both have a position: up to 600 m apart north and east, regardless of their codes;
//! - their INSEE or postal code, if one of them has no position better than its commune;
//! - a reference they share within a department, regardless of their areas;
//! - their price and area, if both are equal, areas to the square metre: homes in neighbouring communes, or a flat on
//!   one portal that is a house on another ([`Fingerprint::exact_probes`]; adverts found by these keys alone do not
//!   count as surroundings).
//!
//! Areas always match if they differ by up to 6 %, and mostly up to 12 %. An advert without an area is found by all
//! others, and looks up the areas that fit its number of rooms. A home without either looks up all usual areas.

use std::ops::RangeInclusive;

use super::digest;
use super::fingerprint::{ApproximatePosition, COMMUNE_BLUR_M, Fingerprint, USUAL_BLUR_M};
use toise_contract::enums::{EnumPropertyClass as Class, EnumPropertyOfferType as OfferType};
use toise_geo::departments;

/// A key under which adverts are stored and looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlockKey(pub i64);

/// Edge of a cell, degrees of latitude: 1.2 km.
const CELL_LAT_DEGREES: f64 = 1.2 / 111.195;
/// Rows of cells that share one width in degrees of longitude; cells on the two sides of a band's edge need not line
/// up.
const BAND_CELLS: i64 = 64;
/// Edge of a region, degrees of latitude and longitude: about 30 km.
const REGION_DEGREES: f64 = 0.3;
/// Width of a class of areas, as a natural logarithm.
const AREA_CLASS_WIDTH: f64 = 0.12;
/// Class of adverts without an area.
const AREA_NOT_GIVEN: i64 = i64::MIN;
/// Habitable area per room, square metres: minimum and maximum.
const ROOM_M2: (f64, f64) = (11.0, 42.0);
/// Habitable area of a home, square metres: usual minimum and maximum.
const HOME_M2: (f64, f64) = (9.0, 250.0);

/// The source of a block key.
#[derive(Clone, Copy)]
enum BlockKeyKind {
    /// Cell.
    Cell = 1,
    /// Commune or postal code.
    Commune,
    /// Commune or postal code of an advert without a more precise position.
    CommuneOnly,
    /// Reference.
    Reference,
    /// Price and area in a region.
    Exact,
}

/// Returns the group of classes that portals confuse; adverts of different groups are never the same asset.
fn class_group(class: Class) -> u8 {
    match class {
        Class::Unknown | Class::Other => 0,
        Class::House => 1,
        Class::Flat => 2,
        Class::Program => 3,
        Class::Shop | Class::Premises | Class::Office => 4,
        Class::Land => 5,
        Class::Building => 6,
        Class::Parking => 7,
        Class::Room => 8,
    }
}

/// Returns the group of offers that portals confuse.
fn offer_group(offer: OfferType) -> u8 {
    match offer {
        OfferType::Unknown
        | OfferType::Buy
        | OfferType::Auction
        | OfferType::LeaseBack
        | OfferType::LifeAnnuitySale => 0,
        OfferType::Rent => 1,
        OfferType::Holidays => 2,
        OfferType::BusinessTakeOver => 3,
    }
}

/// Returns whether portals could use both classes and offers for the same asset.
pub fn compatible(one: &Fingerprint, other: &Fingerprint) -> bool {
    let (first, second) = (class_group(one.class), class_group(other.class));
    (first == second || first == 0 || second == 0 || (is_home(first) && is_home(second)))
        && offer_group(one.offer) == offer_group(other.offer)
}

/// Returns whether the classes of two adverts are both known and differ.
pub(super) fn classes_differ(one: &Fingerprint, other: &Fingerprint) -> bool {
    let (first, second) = (class_group(one.class), class_group(other.class));
    first != second && first != 0 && second != 0
}

/// Returns whether a group consists of homes: a flat on one portal may be a house or a lot of a programme on another.
fn is_home(group: u8) -> bool {
    (1..=3).contains(&group)
}

impl Fingerprint {
    /// Returns the keys under which an advert is stored: 1 to 8, without duplicates; three times as many if its class
    /// is unknown.
    pub fn blocks(&self) -> Vec<BlockKey> {
        let mut keys = Vec::with_capacity(8);
        let (places, areas) = (self.places(), [self.area_class().unwrap_or(AREA_NOT_GIVEN)]);
        for group in self.groups() {
            let mut add = |kind, places: &[u64]| push_all(&mut keys, group, kind, places, &areas);
            match self.precise() {
                Some(spot) => add(BlockKeyKind::Cell, &[cell(spot, 0.0, 0.0)]),
                None => add(BlockKeyKind::CommuneOnly, &places),
            }
            add(BlockKeyKind::Commune, &places);
        }
        self.push_references(&mut keys);
        keys.extend(self.exact_key([(0.0, 0.0)]));
        distinct(keys)
    }

    /// Returns the keys by which an advert looks up others of its price and area in its region, in any commune: 4 keys
    /// or none.
    pub fn exact_probes(&self) -> Vec<BlockKey> {
        distinct(
            self.exact_key([(-0.5, -0.5), (-0.5, 0.5), (0.5, -0.5), (0.5, 0.5)])
                .collect(),
        )
    }

    /// Returns the keys of price and area for regions shifted by fractions of a region; none if one of them is unknown.
    fn exact_key<const N: usize>(
        &self,
        shifts: [(f64, f64); N],
    ) -> impl Iterator<Item = BlockKey> + use<N> {
        let class = class_group(self.class);
        let class = if is_home(class) { 1 } else { class };
        let group = (u64::from(offer_group(self.offer)) << 8) | u64::from(class);
        let area = self.area().map(|area| area.round() as u64);
        let exact = (class != 0).then_some(()).and_then(|()| {
            let value = digest::with(digest::hash(&self.price_eur?.to_le_bytes()), area?);
            Some((self.spot?, digest::with(value, group)))
        });
        exact.into_iter().flat_map(move |(spot, value)| {
            shifts.map(|(north, east)| {
                let at = |degrees_e6: i32, shift: f64| {
                    (f64::from(degrees_e6) / 1e6 / REGION_DEGREES + shift).floor() as i64 as u64
                };
                let region =
                    digest::with(digest::mix(at(spot.lat_e6, north)), at(spot.lon_e6, east));
                let key = digest::with(digest::with(value, region), BlockKeyKind::Exact as u64);
                BlockKey(key as i64)
            })
        })
    }

    /// Returns the keys by which an advert looks up others: those of its own cell, codes, area and references, and of
    /// neighbouring cells and areas.
    pub fn probes(&self) -> Vec<BlockKey> {
        let mut keys = Vec::with_capacity(32);
        let (places, areas) = (self.places(), self.near_area_classes());
        for group in self.groups() {
            let mut add = |kind, places: &[u64]| push_all(&mut keys, group, kind, places, &areas);
            match self.precise() {
                Some(spot) => {
                    add(BlockKeyKind::Cell, &near_cells(spot));
                    add(BlockKeyKind::CommuneOnly, &places);
                }
                None => add(BlockKeyKind::Commune, &places),
            }
        }
        self.push_references(&mut keys);
        distinct(keys)
    }

    /// Returns the position if it is more precise than the commune.
    pub(super) fn precise(&self) -> Option<ApproximatePosition> {
        self.spot.filter(|spot| spot.blur_m <= USUAL_BLUR_M)
    }

    /// Returns the groups of class and offer; an unknown class also counts as house and as flat.
    fn groups(&self) -> Vec<u64> {
        let offer = u64::from(offer_group(self.offer)) << 8;
        let class = u64::from(class_group(self.class));
        match class {
            0 => vec![offer, offer | 1, offer | 2],
            class => vec![offer | class],
        }
    }

    /// Returns commune and postal code, or a coarse cell if neither is given.
    fn places(&self) -> Vec<u64> {
        let mut places = Vec::with_capacity(2);
        if let Some(code) = self.commune {
            places.push(digest::with(digest::hash(&code), 1));
        }
        if let Some(code) = self.postal_code {
            places.push(digest::with(u64::from(code), 2));
        }
        if let (true, Some(spot)) = (places.is_empty(), self.spot) {
            let step = f64::from(COMMUNE_BLUR_M) / 111_195.0 * 1e6;
            let at = |degrees_e6: i32| (f64::from(degrees_e6) / step).round() as i64 as u64;
            places.push(digest::with(
                digest::with(at(spot.lat_e6), at(spot.lon_e6)),
                3,
            ));
        }
        places
    }

    fn push_references(&self, keys: &mut Vec<BlockKey>) {
        let department = match (self.commune, self.postal_code) {
            (Some(code), _) => department_of_commune(&code),
            (None, Some(code)) => department_of_postal_code(code),
            (None, None) => 0,
        };
        for group in self.groups() {
            let place = digest::with(group, department);
            for reference in self.references.iter() {
                let number = digest::with(
                    digest::with(*reference, place),
                    BlockKeyKind::Reference as u64,
                );
                keys.push(BlockKey(number as i64));
            }
        }
    }

    /// Returns the area that classes are derived from, square metres: habitable area, or plot area for land.
    fn area(&self) -> Option<f64> {
        match self.class {
            Class::Land => self.land_m2.map(f64::from),
            _ => self.surface_dm2.map(|area| f64::from(area) / 100.0),
        }
    }

    fn area_class(&self) -> Option<i64> {
        self.area().map(|area| area_scale(area).floor() as i64)
    }

    fn near_area_classes(&self) -> Vec<i64> {
        let mut classes = vec![AREA_NOT_GIVEN];
        match (self.area(), self.rooms) {
            (Some(area), _) => {
                let scale = area_scale(area);
                let own = scale.floor() as i64;
                classes.push(own);
                classes.push(if scale.fract().abs() < 0.5 {
                    own - 1
                } else {
                    own + 1
                });
            }
            (None, Some(rooms)) if self.class != Class::Land => {
                let rooms = f64::from(rooms);
                classes.extend(area_classes(rooms * ROOM_M2.0, rooms * ROOM_M2.1));
            }
            (None, None) if is_home(class_group(self.class)) => {
                classes.extend(area_classes(HOME_M2.0, HOME_M2.1));
            }
            (None, _) => {}
        }
        classes
    }
}

/// Returns the classes of the areas between two areas, square metres.
fn area_classes(from: f64, to: f64) -> RangeInclusive<i64> {
    area_scale(from).floor() as i64..=area_scale(to).floor() as i64
}

fn area_scale(area: f64) -> f64 {
    area.max(1.0).ln() / AREA_CLASS_WIDTH
}

/// Returns the rank of the department; 0 for both departments of Corsica, which postal codes do not distinguish.
fn department_of_commune(code: &[u8; 5]) -> u64 {
    match std::str::from_utf8(code)
        .ok()
        .and_then(departments::for_commune)
    {
        Some("2A" | "2B") | None => 0,
        Some(department) => u64::from(departments::rank(department)),
    }
}

fn department_of_postal_code(code: u32) -> u64 {
    let code = if code >= 97_000 {
        format!("{:03}", code / 100)
    } else {
        format!("{:02}", code / 1_000)
    };
    u64::from(departments::rank(&code))
}

/// Returns the cell of a position shifted by `north` and `east` cells.
fn cell(spot: ApproximatePosition, north: f64, east: f64) -> u64 {
    let row = (f64::from(spot.lat_e6) / 1e6 / CELL_LAT_DEGREES + north).floor() as i64;
    let band = row.div_euclid(BAND_CELLS) * BAND_CELLS + BAND_CELLS / 2;
    let parallel = band as f64 * CELL_LAT_DEGREES;
    let width = CELL_LAT_DEGREES / parallel.to_radians().cos().max(0.01);
    let column = (f64::from(spot.lon_e6) / 1e6 / width + east).floor() as i64;
    digest::with(digest::mix(row as u64), column as u64)
}

/// Returns the four cells within half a cell of a position.
fn near_cells(spot: ApproximatePosition) -> [u64; 4] {
    [(-0.5, -0.5), (-0.5, 0.5), (0.5, -0.5), (0.5, 0.5)]
        .map(|(north, east)| cell(spot, north, east))
}

fn push_all(
    keys: &mut Vec<BlockKey>,
    group: u64,
    kind: BlockKeyKind,
    places: &[u64],
    areas: &[i64],
) {
    for place in places {
        let placed = digest::with(digest::with(*place, group), kind as u64);
        for area in areas {
            keys.push(BlockKey(digest::with(placed, *area as u64) as i64));
        }
    }
}

fn distinct(mut keys: Vec<BlockKey>) -> Vec<BlockKey> {
    keys.sort_unstable();
    keys.dedup();
    keys
}
