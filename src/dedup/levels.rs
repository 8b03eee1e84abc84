//! Levels of agreement of two fingerprints in each field.
//!
//! Each function returns the index of the level in the field's table of [`super::weights`], or `None` if the field is
//! missing in either.

use super::blocks::classes_differ;
use super::district::name_one_place;
use super::fingerprint::{ApproximatePosition, Fingerprint, OnlinePeriod};
use super::images;
use super::reference_number;
use super::seller::SellerKind;
use super::street;
use super::text;
use super::title::{self, TitleDifference};
use toise_contract::enums::{EnumPropertyClass as Class, EnumPropertyOfferType};
use toise_geo::distance::planar_distance_m;

/// Returns the index of the first limit that the value does not exceed; the number of limits if it exceeds all.
fn band(value: f64, limits: &[f64]) -> u8 {
    limits.iter().take_while(|limit| value > **limit).count() as u8
}

/// Returns the difference as a share of the greater value.
pub(super) fn relative_gap(one: u32, other: u32) -> f64 {
    f64::from(one.abs_diff(other)) / f64::from(one.max(other).max(1))
}

/// The relation between the communes of two adverts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Communes {
    /// One commune.
    Same,
    /// The same postal code; at least one commune is unknown.
    SamePostalCode,
    /// For one advert only the city is known, for the other an arrondissement of that city.
    Containing,
    /// Two communes.
    Different,
}

/// Compares the communes of two adverts by their codes; `None` if too little is known.
pub(super) fn communes(one: &Fingerprint, other: &Fingerprint) -> Option<Communes> {
    if let (Some(first), Some(second)) = (one.commune, other.commune) {
        return Some(if first == second {
            Communes::Same
        } else if contains(&first, &second) || contains(&second, &first) {
            Communes::Containing
        } else {
            Communes::Different
        });
    }
    let (first, second) = (one.postal_code?, other.postal_code?);
    Some(if first == second {
        Communes::SamePostalCode
    } else if is_whole_city(first, second) || is_whole_city(second, first) {
        Communes::Containing
    } else {
        Communes::Different
    })
}

/// Returns whether the code of a city contains that of one of its arrondissements.
fn contains(city: &[u8; 5], district: &[u8; 5]) -> bool {
    match city {
        b"75056" => district.starts_with(b"751"),
        b"69123" => district.starts_with(b"6938"),
        b"13055" => district.starts_with(b"132"),
        _ => false,
    }
}

/// Returns whether a postal code is that of a whole city, 75000 or 69000, and the other that of a part of the city.
fn is_whole_city(city: u32, district: u32) -> bool {
    city.is_multiple_of(1_000) && city / 1_000 == district / 1_000
}

/// Level of [`place`]: within 350 m.
pub const WITHIN_350_M: u8 = 2;
/// Level of [`place`]: communes that may border on each other.
pub const NEIGHBOURING_COMMUNE: u8 = 9;

/// Maximum distance between the centres of communes that may border on each other, metres.
const NEIGHBOURS_M: f64 = 4_000.0;

/// Compares places by distance if both positions are precise, otherwise by commune.
pub fn place(one: &Fingerprint, other: &Fingerprint) -> Option<u8> {
    const LIMITS_M: [f64; 5] = [40.0, 150.0, 350.0, 700.0, 1_500.0];
    if let (Some(first), Some(second)) = (one.precise(), other.precise()) {
        return Some(band(metres(first, second), &LIMITS_M));
    }
    let after = LIMITS_M.len() as u8;
    let is_near = || {
        let spots = one.spot.zip(other.spot);
        spots.is_some_and(|(first, second)| metres(first, second) <= NEIGHBOURS_M)
    };
    Some(match communes(one, other)? {
        Communes::Same => after + 1,
        Communes::SamePostalCode => after + 2,
        Communes::Containing => after + 3,
        Communes::Different if is_near() => after + 4,
        Communes::Different => after + 5,
    })
}

pub(super) fn metres(one: ApproximatePosition, other: ApproximatePosition) -> f64 {
    let degrees = |e6: i32| f64::from(e6) / 1e6;
    // Measured at the mean latitude, so that the distance is symmetric.
    let parallel = (degrees(one.lat_e6) + degrees(other.lat_e6)) / 2.0;
    let north = degrees(one.lat_e6) - degrees(other.lat_e6);
    let east = degrees(one.lon_e6) - degrees(other.lon_e6);
    planar_distance_m(parallel, 0.0, parallel + north, east)
}

/// Level of [`street_address`]: the same number and street.
const SAME_ADDRESS: u8 = 0;
/// Level of [`street_address`]: the same number and street, as the positions show already.
const SAME_AS_POSITION: u8 = 1;
/// Level of [`street_address`]: another number or suffix.
const OTHER_ADDRESS: u8 = 2;

/// Compares house numbers and streets, except of plots, which often have the number of a neighbour. Positions within
/// 350 m of each other follow from one address.
pub fn street_address(one: &Fingerprint, other: &Fingerprint) -> Option<u8> {
    let is_one = street::is_one(one.street_address?, other.street_address?)?;
    if one.class == Class::Land || other.class == Class::Land {
        return None;
    }
    Some(if !is_one {
        OTHER_ADDRESS
    } else if matches!(place(one, other), Some(0..=WITHIN_350_M)) {
        SAME_AS_POSITION
    } else {
        SAME_ADDRESS
    })
}

/// Level of [`surface`]: equal when rounded.
pub const SURFACE_ROUNDED: u8 = 2;
/// Level of [`surface`]: within 2.5 %.
pub const SURFACE_NEAR: u8 = 3;
/// Level of [`surface`]: within 6 %, as two people measure one home.
pub const MEASURED_AGAIN: u8 = 4;

/// Compares habitable areas, or plot areas for land.
pub fn surface(one: &Fingerprint, other: &Fingerprint) -> Option<u8> {
    if one.class == Class::Land {
        let gap = relative_gap(one.land_m2?, other.land_m2?);
        // Plot areas are stored in whole square metres, so equal means equal when rounded.
        return Some(if gap == 0.0 {
            1
        } else {
            3 + band(gap, &[0.025, 0.06, 0.12])
        });
    }
    let (first, second) = (one.surface_dm2?, other.surface_dm2?);
    let whole = |area: u32| area.is_multiple_of(100);
    if first == second {
        return Some(u8::from(whole(first)));
    }
    // To whole square metres or to tenths.
    let is_either_rounded =
        |step: u32| is_rounded(first, second, step) || is_rounded(second, first, step);
    if is_either_rounded(100) || is_either_rounded(10) {
        return Some(SURFACE_ROUNDED);
    }
    Some(3 + band(relative_gap(first, second), &[0.025, 0.06, 0.12]))
}

/// Returns whether a surface is another one, rounded or truncated to a step. One that is rounded up from below the middle
/// was rather measured differently.
fn is_rounded(rounded: u32, exact: u32, step: u32) -> bool {
    let is_truncated = rounded <= exact && exact - rounded < step;
    rounded.is_multiple_of(step) && (is_truncated || rounded.abs_diff(exact) <= step / 2)
}

/// Plots that are a multiple of this are rounded, square metres.
const ROUND_LAND_M2: u32 = 50;

/// Compares the plots of houses or possible houses: flats have no plot, and some portals repeat the surface as the
/// plot.
pub fn land(one: &Fingerprint, other: &Fingerprint) -> Option<u8> {
    let has_plot = |advert: &Fingerprint| {
        let areas = Some(advert.land_m2?.saturating_mul(100)).zip(advert.surface_dm2);
        let repeats_surface = areas.is_some_and(|(land, surface)| land.abs_diff(surface) < 100);
        let is_of_a_flat = matches!(
            advert.class,
            Class::Land | Class::Flat | Class::Parking | Class::Room
        );
        (!is_of_a_flat && !repeats_surface).then_some(())
    };
    let (first, second) = (one.land_m2?, other.land_m2?);
    has_plot(one).and(has_plot(other))?;
    Some(match relative_gap(first, second) {
        0.0 => u8::from(first.is_multiple_of(ROUND_LAND_M2)),
        gap => 2 + band(gap, &[0.03, 0.12]),
    })
}

/// Compares storeys: equal, one apart, more. A storey that equals the number of rooms in both adverts was probably
/// filled in by software, so it does not count.
pub fn floor(one: &Fingerprint, other: &Fingerprint) -> Option<u8> {
    let repeats_rooms = |advert: &Fingerprint| {
        let rooms = advert.rooms.map(i16::from);
        advert.floor.is_some() && advert.floor == rooms
    };
    match count_difference(one.floor, other.floor)? {
        _ if repeats_rooms(one) && repeats_rooms(other) => None,
        apart => Some(apart),
    }
}

/// Compares bedrooms. They follow from the rooms: if the rooms are known, equal bedrooms add no evidence, nor do
/// bedrooms that differ as the rooms do.
pub fn bedrooms(one: &Fingerprint, other: &Fingerprint) -> Option<u8> {
    let has_rooms = one.rooms.is_some() && other.rooms.is_some();
    let apart = count_difference(one.bedrooms, other.bedrooms)?;
    let gap = |first: Option<u8>, second: Option<u8>| Some(i16::from(first?) - i16::from(second?));
    if apart > 0 && gap(one.rooms, other.rooms) == gap(one.bedrooms, other.bedrooms) {
        return None;
    }
    Some(if apart == 0 && has_rooms {
        1
    } else {
        apart + u8::from(apart > 0)
    })
}

/// Returns whether the URLs of two adverts name two units of one page.
pub(super) fn are_two_units(one: &Fingerprint, other: &Fingerprint) -> bool {
    let units = one.unit.zip(other.unit);
    units.is_some_and(|(first, second)| first.page == second.page && first.unit != second.unit)
}

/// Returns whether two adverts with the same price and surface differ in a way that shows two homes.
pub(super) fn differs_elsewhere(one: &Fingerprint, other: &Fingerprint) -> bool {
    let clearly = |level: Option<u8>, from: u8| level.is_some_and(|level| level >= from);
    are_two_units(one, other)
        || clearly(floor(one, other), 1)
        || clearly(count_difference(one.rooms, other.rooms), 2)
        || clearly(count_difference(one.bedrooms, other.bedrooms), 1)
        || clearly(energy(one, other), ENERGY_DIFFERENT)
        || matches!(place(one, other), Some(4 | 5 | NEIGHBOURING_COMMUNE..))
        || street_address(one, other) == Some(OTHER_ADDRESS)
        || one.portal == other.portal && clearly(district(one, other), 1)
}

/// Compares counts or storeys: equal, one apart, more.
pub fn count_difference<T: Into<i64>>(one: Option<T>, other: Option<T>) -> Option<u8> {
    let apart = (one?.into() - other?.into()).abs();
    Some(apart.min(2) as u8)
}

/// Compares the year and the storeys of the building.
pub fn building(one: &Fingerprint, other: &Fingerprint) -> Option<u8> {
    let years = one
        .year
        .zip(other.year)
        .map(|(first, second)| first == second);
    let floors = one
        .floors
        .zip(other.floors)
        .map(|(first, second)| first == second);
    match (years, floors) {
        (None, None) => None,
        (Some(true), Some(true)) => Some(0),
        (Some(true), _) | (_, Some(true)) => Some(1),
        _ => Some(2),
    }
}

/// Compares prices.
pub fn price(one: &Fingerprint, other: &Fingerprint) -> Option<u8> {
    let gap = price_gap(one, other)?;
    Some(band(gap, &[0.0, 0.01, 0.04, 0.1, 0.2, 0.35]))
}

/// For adverts with the same price now, compares the prices before the last change.
pub fn previous_price(one: &Fingerprint, other: &Fingerprint) -> Option<u8> {
    let is_one_price = one.price_eur.is_some() && one.price_eur == other.price_eur;
    let was_one_price = one.previous_price_eur? == other.previous_price_eur?;
    let is_changed = one.previous_price_eur != one.price_eur;
    (is_one_price && was_one_price && is_changed).then_some(0)
}

/// Returns the gap between the closest prices of two adverts, with or without fees, as a share of the greater.
pub(super) fn price_gap(one: &Fingerprint, other: &Fingerprint) -> Option<f64> {
    // One portal shows the price with fees, another the net price.
    let prices = |advert: &Fingerprint| [advert.price_eur, advert.net_price_eur];
    let pairs = prices(one).into_iter().flatten().flat_map(|first| {
        let others = prices(other).into_iter().flatten();
        others.map(move |second| relative_gap(first, second))
    });
    pairs.min_by(f64::total_cmp)
}

/// Compares scores and classes of energy and climate.
pub fn energy(one: &Fingerprint, other: &Fingerprint) -> Option<u8> {
    let scores = one.energy_score.zip(other.energy_score);
    let gases = one.climate_score.zip(other.climate_score);
    let equal = |pair: Option<(u16, u16)>| pair.is_some_and(|(first, second)| first == second);
    let near = |pair: Option<(u16, u16)>| {
        pair.is_none_or(|(first, second)| {
            relative_gap(first.into(), second.into()) <= 0.03 || first.abs_diff(second) <= 1
        })
    };
    let classes = [
        one.energy_class.zip(other.energy_class),
        one.climate_class.zip(other.climate_class),
    ];
    let apart = classes
        .iter()
        .flatten()
        .map(|(first, second)| first.abs_diff(*second))
        .max();
    if equal(scores) && equal(gases) {
        return Some(0);
    }
    let scored = scores.is_some() || gases.is_some();
    if scored && near(scores) && near(gases) {
        return Some(match (equal(scores) || equal(gases), scores.zip(gases)) {
            (true, Some(_)) => 1,
            // The other score is unknown, which is not a contradiction.
            (true, None) => ENERGY_CLASSES_EQUAL,
            (false, _) => 2,
        });
    }
    match apart {
        None if scored => Some(SCORES_DIFFERENT),
        None => None,
        // Different scores outweigh a shared class.
        Some(0) if scored => Some(SCORES_DIFFERENT),
        Some(0) => Some(ENERGY_CLASSES_EQUAL),
        Some(1) => Some(ENERGY_CLASSES_NEXT),
        Some(_) => Some(ENERGY_DIFFERENT),
    }
}

/// Level of [`energy`]: the same class, or the only known score.
pub const ENERGY_CLASSES_EQUAL: u8 = 3;
/// Level of [`energy`]: classes next to each other.
pub const ENERGY_CLASSES_NEXT: u8 = 4;
/// Level of [`energy`]: different scores, with the same class or without known classes.
const SCORES_DIFFERENT: u8 = 5;
/// Level of [`energy`]: classes two or more apart.
pub const ENERGY_DIFFERENT: u8 = 6;

/// Level of [`kind`]: a house and a flat with one long text and one surface.
pub const KIND_OF_ONE_TEXT: u8 = 2;

/// Compares classes that differ: a house on one side and a flat on the other, or a programme.
pub fn kind(one: &Fingerprint, other: &Fingerprint) -> Option<u8> {
    let is_programme = |advert: &Fingerprint| advert.class == Class::Program;
    if !classes_differ(one, other) {
        return None;
    }
    if is_programme(one) || is_programme(other) {
        return Some(1);
    }
    let has_long_text = |advert: &Fingerprint| advert.text.is_some_and(|text| text.is_long());
    let is_one_text = has_long_text(one)
        && has_long_text(other)
        && description(one, other).is_some_and(|level| level <= NEARLY_ONE_TEXT)
        && titles(one, other).is_none()
        && surface(one, other).is_some_and(|level| level <= 2);
    Some(if is_one_text { KIND_OF_ONE_TEXT } else { 0 })
}

/// Compares the amenities that both mention as present or absent.
pub fn amenities(one: &Fingerprint, other: &Fingerprint) -> Option<u8> {
    let known = one.amenities_known & other.amenities_known;
    let unlike = (one.amenities ^ other.amenities) & known;
    match (known.count_ones(), unlike.count_ones()) {
        (0, _) => None,
        (4.., 0) => Some(0),
        (_, 0) => Some(1),
        (_, 1) => Some(2),
        _ => Some(3),
    }
}

/// Level of [`description`]: more than nine tenths in common.
pub const NEARLY_ONE_TEXT: u8 = 1;

/// Level of [`description`]: little in common.
const OTHER_TEXT: u8 = 5;
/// Level of [`description`]: little in common between two long texts of one seller that one portal shows at the same
/// time.
const OTHER_LONG_TEXT: u8 = 6;

/// Compares descriptions by the share of the shorter one that the other contains.
pub fn description(one: &Fingerprint, other: &Fingerprint) -> Option<u8> {
    const LIMITS: [f64; 4] = [0.1, 0.4, 0.7, 0.9];
    let (first, second) = (one.text.as_ref()?, other.text.as_ref()?);
    if first == second {
        return Some(0);
    }
    let level = OTHER_TEXT - band(first.containment(second), &LIMITS);
    let are_long_and_together =
        first.is_long() && second.is_long() && portal(one, other) == Some(ONLINE_TOGETHER);
    let is_one_seller = matches!(seller(one, other), Some(ONE_AGENCY | ONE_PERSON))
        || are_rentals_of_one_seller(one, other);
    Some(
        if level == OTHER_TEXT && are_long_and_together && is_one_seller {
            OTHER_LONG_TEXT
        } else {
            level
        },
    )
}

/// Returns whether two rentals that one portal shows at the same time count as those of one seller, because neither
/// names its seller: several agencies often sell one home, but rarely let one.
pub(super) fn are_rentals_of_one_seller(one: &Fingerprint, other: &Fingerprint) -> bool {
    seller(one, other).is_none()
        && one.offer == EnumPropertyOfferType::Rent
        && portal(one, other) == Some(ONLINE_TOGETHER)
}

/// Level of [`titles`]: the same long title, and no description on either side.
const SAME_TITLE: u8 = 0;
/// Level of [`titles`]: one portal shows both at the same time, and they differ in a name.
pub const OTHER_NAME: u8 = 1;
/// Level of [`titles`]: one portal shows both, and they differ in the number at their end.
const OTHER_NUMBER: u8 = 2;

/// Compares titles. From [`OTHER_NAME`] on they are of a series, such as rooms of one residence: two homes, even with
/// one text.
pub fn titles(one: &Fingerprint, other: &Fingerprint) -> Option<u8> {
    if one.portal == other.portal {
        match title::difference(&one.title, &other.title) {
            Some(TitleDifference::Number) => return Some(OTHER_NUMBER),
            Some(TitleDifference::Name) if portal(one, other) == Some(ONLINE_TOGETHER) => {
                return Some(OTHER_NAME);
            }
            _ => {}
        }
    }
    let is_same = one.text.is_none()
        && other.text.is_none()
        && one.title == other.title
        && title::is_long(&one.title);
    is_same.then_some(SAME_TITLE)
}

/// Compares the figures in the descriptions.
pub fn figures(one: &Fingerprint, other: &Fingerprint) -> Option<u8> {
    let of = one.figures.len().min(other.figures.len());
    match (text::shared_figures(&one.figures, &other.figures), of) {
        (_, 0) | (0, 1) => None,
        (0, _) => Some(3),
        (1, _) => Some(2),
        (shared @ 3.., of) if 5 * shared >= 3 * of => Some(0),
        _ => Some(1),
    }
}

/// Maximum difference of charges, as a share of the greater: portals show them by month or by year, which rounds them.
const CHARGES_GAP: f64 = 0.01;

/// Minimum pictures on both sides for which sharing none is evidence.
const PHOTOS_SIGNIFICANT_MIN: usize = 3;

/// Compares pictures by how many both adverts share.
pub fn photos(one: &Fingerprint, other: &Fingerprint) -> Option<u8> {
    let shared = images::shared(&one.photos, &other.photos);
    let named = one
        .picture_names
        .iter()
        .filter(|name| other.picture_names.contains(name))
        .count();
    if named > shared.matched {
        let of = one.picture_names.len().min(other.picture_names.len());
        return Some(match named {
            1 if of >= 2 => 2,
            _ if 3 * named >= 2 * of => 0,
            _ => 1,
        });
    }
    match (shared.matched, shared.of) {
        // Portals rename pictures, so different names are not evidence.
        (_, 0) => None,
        // With so few pictures, the other advert may simply not show them.
        (0, ..PHOTOS_SIGNIFICANT_MIN) => None,
        (0, _) => Some(3),
        (1, 2..) => Some(2),
        (matched, of) if 3 * matched >= 2 * of => Some(0),
        _ => Some(1),
    }
}

/// Level of [`seller`]: the same agency.
pub const ONE_AGENCY: u8 = 0;
/// Level of [`seller`]: the same network of agents.
pub const ONE_NETWORK: u8 = 1;
/// Level of [`seller`]: the same private person.
pub const ONE_PERSON: u8 = 2;
const OTHER_PROFESSIONALS: u8 = 3;
const PROFESSIONAL_AND_PRIVATE: u8 = 4;

/// Compares sellers.
pub fn seller(one: &Fingerprint, other: &Fingerprint) -> Option<u8> {
    let shared = one.seller.iter().any(|key| other.seller.contains(key));
    let kinds = (one.seller_kind, other.seller_kind);
    let either = |kind: SellerKind| kinds.0 == Some(kind) || kinds.1 == Some(kind);
    if shared {
        return Some(if either(SellerKind::Network) {
            ONE_NETWORK
        } else if either(SellerKind::Private) {
            ONE_PERSON
        } else {
            ONE_AGENCY
        });
    }
    match (kinds.0?, kinds.1?) {
        (SellerKind::Private, SellerKind::Private) => None,
        (SellerKind::Private, _) | (_, SellerKind::Private) => Some(PROFESSIONAL_AND_PRIVATE),
        _ if one.seller.is_empty() || other.seller.is_empty() => None,
        _ => Some(OTHER_PROFESSIONALS),
    }
}

/// Compares mandate references: equal, different, consecutive.
pub fn reference(one: &Fingerprint, other: &Fingerprint) -> Option<u8> {
    if one.references.is_empty() || other.references.is_empty() {
        return None;
    }
    let have_pair = |is_pair: fn(u64, u64) -> bool| {
        let mut references = one.references.iter();
        references.any(|first| other.references.iter().any(|next| is_pair(*first, *next)))
    };
    Some(if have_pair(|first, next| first == next) {
        0
    } else if have_pair(reference_number::are_consecutive) {
        2
    } else {
        1
    })
}

/// Compares the numbers in URLs, which portals of one group share.
pub fn identifier(one: &Fingerprint, other: &Fingerprint) -> Option<u8> {
    (one.address_number? == other.address_number? && one.portal != other.portal).then_some(0)
}

/// Compares the lots and charges of the condominium.
pub fn condominium(one: &Fingerprint, other: &Fingerprint) -> Option<u8> {
    let lots = one.condominium_lots.zip(other.condominium_lots);
    let charges = one.charges_eur.zip(other.charges_eur);
    let lots = lots.map(|(first, second)| first == second);
    let charges = charges.map(|(first, second)| relative_gap(first, second) <= CHARGES_GAP);
    match (lots, charges) {
        (None, None) => None,
        (Some(true), Some(true)) => Some(0),
        (_, Some(true)) => Some(1),
        (Some(true), None) => Some(2),
        _ => Some(3),
    }
}

/// Compares the names of districts: one portal names a district consistently, two portals may name it differently.
pub fn district(one: &Fingerprint, other: &Fingerprint) -> Option<u8> {
    let (first, second) = (one.district?, other.district?);
    Some(if first == second {
        0
    } else if one.portal == other.portal {
        1
    } else if name_one_place(first, second) {
        3
    } else {
        2
    })
}

/// Level of [`portal`]: one portal shows both at the same time.
pub const ONLINE_TOGETHER: u8 = 2;

/// Compares portals, and whether both adverts were on the same portal at the same time.
pub fn portal(one: &Fingerprint, other: &Fingerprint) -> Option<u8> {
    if one.portal != other.portal {
        return Some(0);
    }
    Some(if together(one.period?, other.period?) {
        ONLINE_TOGETHER
    } else {
        1
    })
}

/// Returns whether both were online at the same time. An advert that is online now counts as online since its first
/// sighting.
pub(super) fn together(one: OnlinePeriod, other: OnlinePeriod) -> bool {
    let end = |period: OnlinePeriod| {
        if period.online {
            u32::MAX
        } else {
            period.last_s
        }
    };
    one.first_s < end(other) && other.first_s < end(one)
}
