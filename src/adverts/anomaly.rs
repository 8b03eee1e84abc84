//! Anomalies: contradictions and absurd values in an advert, the reasons behind `hasAnomaly`.
//!
//! Called when a record is built for the store ([`super::prepare`]). Bounds are wide: they catch a price without its
//! thousands or a rent given for a sale, not a bargain. Each anomaly is one row of a table: a bit (which is stored), a
//! text and a check. An anomaly flags the advert and never rejects it.

use std::ops::RangeInclusive;

use chrono::Datelike;
use toise_contract::enums::{EnumPropertyClass, EnumPropertyOfferType};
use toise_contract::listings::Advert;
use toise_contract::listings::codes::{Department, InseeCode};
use toise_geo::communes;
use toise_geo::distance::planar_distance_m;
use toise_geo::price_levels;

/// Maximum distance of a position from its commune's centre, metres. The largest commune of France reaches 30 km,
/// except for those of French Guiana.
const COMMUNE_REACH_M: f64 = 40_000.0;
/// The same for French Guiana, where communes reach from the coast far into the forest.
const GUIANA_REACH_M: f64 = 250_000.0;
/// Approximate yearly rent of a dwelling as a share of its price.
const YEARLY_YIELD: f64 = 0.05;
/// Price level if the department is unknown, EUR per m².
const LEVEL_DEFAULT: f64 = 2_500.0;
/// Maximum factor by which a dwelling's price per area may be below its department's level; a ruin costs little.
const BELOW_LEVEL_MAX: f64 = 25.0;
/// Maximum factor by which a dwelling's price per area may be above its department's level.
const ABOVE_LEVEL_MAX: f64 = 8.0;
/// Maximum factor by which a dwelling's rent per area may be below its department's level.
const BELOW_RENT_MAX: f64 = 8.0;
/// Minimum rent of a dwelling, EUR per m² and month.
const RENT_PER_M2_MIN: f64 = 1.5;
/// First year with portals for adverts. A date in 1970 comes from a zero that was read as a timestamp.
const YEAR_MIN: i32 = 1995;
/// Maximum habitable area of a flat, m².
const FLAT_AREA_MAX: f64 = 1_500.0;
/// Maximum habitable area of a house, m²; castles are sold too.
const HOUSE_AREA_MAX: f64 = 6_000.0;
/// Minimum habitable area of a dwelling, m².
const DWELLING_AREA_MIN: f64 = 5.0;
/// Minimum and maximum habitable area per main room, m².
const AREA_PER_ROOM: (f64, f64) = (5.0, 150.0);
/// Maximum main rooms of a dwelling.
const ROOMS_MAX: f64 = 60.0;

/// The anomalies of an advert; bit `n` stands for the `n`-th row of `REASONS`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Anomalies(pub u32);

type Check = fn(&Advert) -> bool;

/// All anomalies: text and check of each. Append only, because the index of a row is the bit that is stored.
const REASONS: [(&str, Check); 6] = [
    (
        "price is implausible for the class, place or surface",
        has_absurd_price,
    ),
    ("surface is implausible for the class", has_absurd_surface),
    (
        "rooms contradict each other or the surface",
        has_incoherent_rooms,
    ),
    (
        "floor is above the building's top floor",
        is_above_top_floor,
    ),
    ("position is far from the commune", is_far_from_commune),
    (
        "first seen before property portals existed",
        is_seen_too_early,
    ),
];

impl Anomalies {
    /// Finds the anomalies of an advert whose location and price per area are complete.
    pub fn detect(advert: &Advert) -> Self {
        let mut found = 0;
        for (bit, (_, holds)) in REASONS.iter().enumerate() {
            found |= u32::from(holds(advert)) << bit;
        }
        Self(found)
    }

    /// Returns whether there are no anomalies.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the texts of the anomalies.
    pub fn reasons(self) -> impl Iterator<Item = &'static str> {
        let held = move |bit: &usize| self.0 & (1 << bit) != 0;
        (0..REASONS.len()).filter(held).map(|bit| REASONS[bit].0)
    }
}

fn is_dwelling(advert: &Advert) -> bool {
    use EnumPropertyClass::{Flat, House, Room};
    matches!(advert.class, Some(Flat | House | Room))
}

fn habitable_area(advert: &Advert) -> Option<f64> {
    Some(advert.habitation.as_ref()?.surface.as_ref()?.total?.get())
}

fn has_absurd_price(advert: &Advert) -> bool {
    let Some(price) = advert.current_price.as_ref() else {
        return false;
    };
    let Some(value) = price.value.map(|value| value.get()) else {
        return false;
    };
    let Some(bounds) = price_bounds(advert) else {
        return false;
    };
    let per_area = price.value_per_area.map(|value| value.get());
    !bounds.contains(&value)
        || per_area.is_some_and(|per_area| !price_per_area_bounds(advert).contains(&per_area))
}

fn offer_type(advert: &Advert) -> Option<EnumPropertyOfferType> {
    advert.offer.as_ref()?.offer_type
}

/// Returns the plausible prices or rents of a class, EUR; `None` for life annuities, auctions and holiday lets, which
/// have other price scales.
fn price_bounds(advert: &Advert) -> Option<RangeInclusive<f64>> {
    Some(match (offer_type(advert)?, advert.class) {
        (EnumPropertyOfferType::Buy, Some(EnumPropertyClass::Parking)) => 200.0..=500_000.0,
        (EnumPropertyOfferType::Buy, Some(EnumPropertyClass::Land)) => 100.0..=100e6,
        (EnumPropertyOfferType::Buy, _) => 1_000.0..=200e6,
        (EnumPropertyOfferType::Rent, Some(EnumPropertyClass::Parking)) => 5.0..=5_000.0,
        (EnumPropertyOfferType::Rent, Some(EnumPropertyClass::Land)) => 1.0..=1e6,
        (EnumPropertyOfferType::Rent, _) => 50.0..=1e6,
        _ => return None,
    })
}

/// Returns the plausible prices or rents per area of a class in a department, EUR per m².
fn price_per_area_bounds(advert: &Advert) -> RangeInclusive<f64> {
    let level = level(advert);
    match (offer_type(advert), advert.class) {
        (_, Some(EnumPropertyClass::Land)) => 0.01..=20_000.0,
        (Some(EnumPropertyOfferType::Buy), _) if is_dwelling(advert) => {
            level / BELOW_LEVEL_MAX..=level * ABOVE_LEVEL_MAX
        }
        (Some(EnumPropertyOfferType::Rent), _) if is_dwelling(advert) => {
            let monthly = level * YEARLY_YIELD / 12.0;
            let least = (monthly / BELOW_RENT_MAX).max(RENT_PER_M2_MIN);
            least..=monthly * ABOVE_LEVEL_MAX
        }
        _ => 0.1..=100_000.0,
    }
}

fn level(advert: &Advert) -> f64 {
    let department = advert
        .location
        .as_ref()
        .and_then(|place| place.department.as_ref());
    department
        .map(Department::as_str)
        .and_then(price_levels::flat_price_per_m2)
        .unwrap_or(LEVEL_DEFAULT)
}

fn has_absurd_surface(advert: &Advert) -> bool {
    let area_max = match advert.class {
        Some(EnumPropertyClass::House) => HOUSE_AREA_MAX,
        Some(EnumPropertyClass::Flat | EnumPropertyClass::Room) => FLAT_AREA_MAX,
        _ => return false,
    };
    habitable_area(advert).is_some_and(|area| !(DWELLING_AREA_MIN..=area_max).contains(&area))
}

fn has_incoherent_rooms(advert: &Advert) -> bool {
    let Some(habitation) = advert.habitation.as_ref().filter(|_| is_dwelling(advert)) else {
        return false;
    };
    let rooms = habitation.room_count.map(|count| count.get());
    let bedrooms = habitation.bedroom_count.map(|count| count.get());
    let Some(rooms) = rooms.filter(|rooms| *rooms > 0.0) else {
        return bedrooms.is_some_and(|bedrooms| bedrooms > ROOMS_MAX);
    };
    let per_room = habitable_area(advert).map(|area| area / rooms);
    rooms > ROOMS_MAX
        || bedrooms.is_some_and(|bedrooms| bedrooms > rooms)
        || per_room.is_some_and(|area| area < AREA_PER_ROOM.0 || area > AREA_PER_ROOM.1)
}

fn is_above_top_floor(advert: &Advert) -> bool {
    let features = advert
        .habitation
        .as_ref()
        .and_then(|habitation| habitation.features.as_ref());
    let floors = features
        .and_then(|features| Some((features.property_floor?, features.property_total_floor?)));
    floors.is_some_and(|(floor, last)| floor.get() > last.get())
}

fn is_seen_too_early(advert: &Advert) -> bool {
    let first = advert.first_seen_at.map(|moment| moment.get().year());
    first.is_some_and(|year| year < YEAR_MIN)
}

fn is_far_from_commune(advert: &Advert) -> bool {
    let far = || {
        let place = advert.location.as_ref()?;
        let commune = communes::find_by_code(place.insee_code.as_ref().map(InseeCode::as_str)?)?;
        let position = place.location_coordinate.as_ref()?.location?;
        let (latitude, longitude) = (position.latitude(), position.longitude());
        let (lat, lon) = commune.centre;
        let metres = planar_distance_m(lat, lon, latitude, longitude);
        let reach_m = match commune.department {
            "973" => GUIANA_REACH_M,
            _ => COMMUNE_REACH_M,
        };
        Some(metres > reach_m)
    };
    far().unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::complete::complete;
    use crate::locating::PlaceSources;
    use serde_json::{Value, json};
    use toise_contract::read::read;

    fn reasons(change: Value) -> Vec<&'static str> {
        let mut advert = json!({
            "type": "CLASS_FLAT", "offer": {"type": "OFFER_BUY"}, "currentPrice": {"value": 250_000},
            "firstSeenAt": "2026-11-21T12:00:00Z",
            "location": {"inseeCode": "69383"},
            "habitation": {"roomCount": 3, "bedroomCount": 2, "surface": {"total": 62},
                "features": {"propertyFloor": 2, "propertyTotalFloor": 5}},
            "medias": {"images": [{"gaussianHash": "0", "imageId": "i", "meanHash": "0", "perceptualHash": "0"}]},
        });
        for (path, value) in change.as_object().unwrap() {
            *advert.pointer_mut(path).unwrap() = value.clone();
        }
        let mut advert: Advert = read(&advert).unwrap();
        complete(&mut advert, PlaceSources::default());
        Anomalies::detect(&advert).reasons().collect()
    }

    #[test]
    fn an_ordinary_advert_has_no_anomaly() {
        assert!(reasons(json!({})).is_empty());
        assert!(reasons(json!({"/currentPrice": null})).is_empty());
        assert!(
            reasons(json!({"/medias/images": []})).is_empty(),
            "portals' files rarely hold pictures"
        );
        assert!(
            reasons(json!({"/offer/type": "OFFER_RENT", "/currentPrice/value": 980})).is_empty()
        );
        assert!(reasons(json!({"/type": "CLASS_HOUSE", "/location/inseeCode": "48095", "/currentPrice/value": 20_000})).is_empty());
        // Maripasoula in Guiana reaches far beyond its town.
        let far = json!({"inseeCode": "97353", "locationCoordinate": {"location": [-53.2, 2.6]}});
        assert!(reasons(json!({"/location": far})).is_empty());
    }

    #[test]
    fn each_anomaly_has_its_text() {
        for (change, reason) in [
            (
                json!({"/currentPrice/value": 250}),
                "price is implausible for the class, place or surface",
            ),
            (
                json!({"/currentPrice/value": 25_000_000}),
                "price is implausible for the class, place or surface",
            ),
            (
                json!({"/offer/type": "OFFER_RENT"}),
                "price is implausible for the class, place or surface",
            ),
            (
                json!({"/offer/type": "OFFER_RENT", "/currentPrice/value": 80, "/location/inseeCode": "48095"}),
                "price is implausible for the class, place or surface",
            ),
            (
                json!({"/firstSeenAt": "1970-01-01T00:00:00Z"}),
                "first seen before property portals existed",
            ),
            (
                json!({"/habitation/bedroomCount": 4}),
                "rooms contradict each other or the surface",
            ),
            (
                json!({"/habitation/features/propertyFloor": 6}),
                "floor is above the building's top floor",
            ),
            (
                json!({"/location": {"inseeCode": "69383", "locationCoordinate": {"location": [2.35, 48.85]}}}),
                "position is far from the commune",
            ),
        ] {
            assert_eq!(reasons(change.clone()), [reason], "{change}");
        }
        let tiny = reasons(json!({"/habitation/surface/total": 2}));
        assert!(
            tiny.contains(&"surface is implausible for the class"),
            "{tiny:?}"
        );
    }
}
