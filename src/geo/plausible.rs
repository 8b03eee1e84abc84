//! Checks that a position is plausible for a home in France: not abroad, not at sea, latitude and longitude not
//! swapped.
//!
//! Every entry point that takes the position of a home calls [`check_position`]: requests, portfolios, SQL and adverts.
//! Imports of sales and addresses compare a position with its commune ([`far_from_commune_m`]).
//! France is the area that the contours of its communes cover, overseas departments included, with a tolerance. At a
//! coast this is some kilometres, because quays and islets are outside the simplified contours. At a border with
//! another country, it is only the inaccuracy of the contours. The overseas collectivities have no contours: there, the
//! surroundings of a commune's centre count as France. Monaco is abroad. A check takes about a microsecond; the
//! contours are read on first use, which takes about 50 ms.

use std::sync::LazyLock;

use super::communes::find_by_code;
use super::contours::{BorderPoint, nearest_border};
use super::distance::planar_distance_m;
use super::places::Places;

/// Maximum distance from a coast at which a position counts as in France, metres.
pub const SHORE_M: f64 = 3_000.0;
/// Maximum distance from a border with another country at which a position counts as in France, metres.
pub const BORDER_M: f64 = 400.0;

/// Maximum distance of a position from the centre of its commune, metres. The largest commune of France reaches 30 km,
/// except for those of French Guiana.
const COMMUNE_REACH_M: f64 = 50_000.0;
/// The same for French Guiana, where communes reach from the coast far into the forest.
const GUIANA_REACH_M: f64 = 250_000.0;
/// Start of the codes of collectivities whose communes are scattered islands.
const SCATTERED: &str = "98";

/// Boxes in which outer borders of communes are borders with another country: latitude from, to, longitude from, to,
/// degrees.
const LAND_BORDERS: [[f64; 4]; 4] = [
    // From Bray-Dunes to Menton: the coast is west or south of it.
    [43.79, 51.2, 2.55, 8.3],
    // From Hendaye to the eastern Pyrenees, with Andorra and Llívia.
    [42.3, 43.37, -1.79, 3.02],
    // The eastern end of the Pyrenees, south of Cerbère.
    [42.3, 42.44, 3.02, 3.18],
    // Monaco.
    [43.72, 43.753, 7.408, 7.44],
];

/// Maximum distance of a position from the centre of a commune to count as in an overseas collectivity, metres, by the
/// first characters of the commune's code.
const COLLECTIVITIES: [(&str, f64); 6] = [
    ("975", 25_000.0),
    ("977", 12_000.0),
    ("978", 12_000.0),
    ("986", 20_000.0),
    ("987", 45_000.0),
    ("988", 45_000.0),
];

/// Centres of the collectivities' communes, latitude and longitude in degrees, with their reach in metres.
static COLLECTIVITY_CENTRES: LazyLock<Vec<((f64, f64), f64)>> = LazyLock::new(|| {
    let places = Places::get().all().iter();
    let centres = places.filter_map(|place| {
        let mut known = COLLECTIVITIES.iter();
        let (_, reach_m) = known.find(|(code, _)| place.code.starts_with(code))?;
        Some((place.centre, *reach_m))
    });
    centres.collect()
});

/// Why a position is not plausible for a home in France.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum PositionFault {
    /// The position is abroad or at sea.
    #[error("outside_france: the position is abroad or at sea")]
    OutsideFrance,
    /// The position is abroad or at sea, but in France if its two numbers are swapped.
    #[error(
        "coordinates_swapped?: the position is outside France, but inside it if latitude and longitude are swapped"
    )]
    CoordinatesSwapped,
}

impl PositionFault {
    /// Returns the name under which results and reports count the fault.
    pub fn name(self) -> &'static str {
        match self {
            Self::OutsideFrance => "outside_france",
            Self::CoordinatesSwapped => "coordinates_swapped?",
        }
    }
}

/// Checks that a position, in WGS 84 degrees, is plausible for a home in France.
///
/// # Errors
/// The position is abroad, at sea or not finite, or its two numbers seem to be swapped.
pub fn check_position(latitude: f64, longitude: f64) -> Result<(), PositionFault> {
    if is_in_france(latitude, longitude) {
        return Ok(());
    }
    Err(if is_in_france(longitude, latitude) {
        PositionFault::CoordinatesSwapped
    } else {
        PositionFault::OutsideFrance
    })
}

/// Returns the distance of a position from the centre of its commune, metres, if no home of the commune is so far away;
/// `None` otherwise, and if the commune is unknown. The position is in WGS 84 degrees.
pub fn far_from_commune_m(insee_code: &str, latitude: f64, longitude: f64) -> Option<f64> {
    let commune = find_by_code(insee_code).filter(|_| !insee_code.starts_with(SCATTERED))?;
    let reach_m = match commune.department {
        "973" => GUIANA_REACH_M,
        _ => COMMUNE_REACH_M,
    };
    let (lat, lon) = commune.centre;
    let metres = planar_distance_m(lat, lon, latitude, longitude);
    (metres > reach_m).then_some(metres)
}

/// Returns whether a position, WGS 84 degrees, is outside France but inside it if its two numbers are swapped.
pub fn is_swapped(latitude: f64, longitude: f64) -> bool {
    check_position(latitude, longitude) == Err(PositionFault::CoordinatesSwapped)
}

fn is_in_france(latitude: f64, longitude: f64) -> bool {
    let border = nearest_border(latitude, longitude, SHORE_M);
    border.is_some_and(|border| border.metres <= tolerance_m(border))
        || is_in_collectivity(latitude, longitude)
}

/// Returns how far outside a border a position may be, metres.
fn tolerance_m(border: BorderPoint) -> f64 {
    let BorderPoint {
        latitude,
        longitude,
        ..
    } = border;
    let is_land_border = LAND_BORDERS.iter().any(|[south, north, west, east]| {
        (*south..=*north).contains(&latitude) && (*west..=*east).contains(&longitude)
    });
    if is_land_border { BORDER_M } else { SHORE_M }
}

fn is_in_collectivity(latitude: f64, longitude: f64) -> bool {
    let mut centres = COLLECTIVITY_CENTRES.iter();
    centres
        .any(|((lat, lon), reach_m)| planar_distance_m(latitude, longitude, *lat, *lon) <= *reach_m)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::places::PlaceKind;

    #[test]
    fn a_position_is_far_from_its_commune_only_beyond_any_home() {
        assert_eq!(far_from_commune_m("83137", 43.12, 5.93), None);
        let metres = far_from_commune_m("39346", 47.65, 5.39).unwrap();
        assert!((132_000.0..134_000.0).contains(&metres), "{metres}");
        let of_guiana = far_from_commune_m("97353", 3.0, -54.0);
        assert_eq!(of_guiana, None);
        let of_no_commune = far_from_commune_m("99999", 48.85, 2.35);
        assert_eq!(of_no_commune, None);
    }

    #[test]
    fn homes_on_both_sides_of_the_border_are_told_apart() {
        for (lat, lon, place) in [
            (48.8566, 2.3522, "Paris"),
            (51.0780, 2.5250, "Bray-Dunes"),
            (50.7236, 3.1609, "Tourcoing"),
            (48.5734, 7.7521, "Strasbourg"),
            (47.5888, 7.5620, "Saint-Louis next to Basel"),
            (46.3700, 6.4790, "Thonon"),
            (46.2570, 6.1090, "Ferney-Voltaire"),
            (43.7745, 7.4975, "Menton"),
            (43.7435, 7.4200, "Beausoleil"),
            (43.3580, -1.7740, "Hendaye"),
            (42.4410, 3.1640, "Cerbère"),
            (42.4580, 1.9470, "Bourg-Madame"),
            (48.6360, -1.5110, "Mont-Saint-Michel"),
            (48.4570, -5.0960, "Ouessant"),
            (41.3870, 9.1590, "Bonifacio"),
            (16.2410, -61.5330, "Pointe-à-Pitre"),
            (14.6161, -61.0588, "Fort-de-France"),
            (4.9224, -52.3135, "Cayenne"),
            (-20.8789, 55.4481, "Saint-Denis"),
            (-12.7809, 45.2279, "Mamoudzou"),
            (18.0680, -63.0830, "Marigot"),
            (-22.2758, 166.4580, "Nouméa"),
            (46.7790, -56.1770, "Saint-Pierre"),
        ] {
            assert_eq!(check_position(lat, lon), Ok(()), "{place}");
            assert_eq!(
                check_position(lon, lat),
                Err(PositionFault::CoordinatesSwapped),
                "{place} swapped"
            );
        }
        for (lat, lon, place) in [
            (51.5074, -0.1278, "London"),
            (51.1279, 1.3134, "Dover"),
            (49.1868, -2.1060, "Saint Helier"),
            (51.0940, 2.5990, "De Panne"),
            (50.7430, 3.2140, "Mouscron"),
            (50.8467, 4.3517, "Brussels"),
            (49.6116, 6.1319, "Luxembourg"),
            (48.5730, 7.8150, "Kehl"),
            (47.5596, 7.5886, "Basel"),
            (46.2044, 6.1432, "Geneva"),
            (45.4642, 9.1900, "Milan"),
            (43.7912, 7.6070, "Ventimiglia"),
            (43.3380, -1.7890, "Irun"),
            (42.5063, 1.5218, "Andorra la Vella"),
            (41.3874, 2.1686, "Barcelona"),
            (41.2380, 9.1930, "Santa Teresa Gallura"),
            (46.0, -6.0, "the Bay of Biscay"),
            (42.5, 5.5, "the Mediterranean"),
            (0.0, 0.0, "null island"),
            (f64::NAN, 2.0, "nowhere"),
            (f64::INFINITY, 2.0, "nowhere"),
        ] {
            assert_eq!(
                check_position(lat, lon),
                Err(PositionFault::OutsideFrance),
                "{place}"
            );
        }
    }

    #[test]
    fn the_centre_of_every_commune_is_in_france() {
        let communes = Places::get().all().iter();
        let known = |code: &str| {
            let mut collectivities = COLLECTIVITIES.iter();
            collectivities.any(|(start, _)| code.starts_with(start))
        };
        let communes = communes
            .filter(|place| place.kind == PlaceKind::Commune)
            .filter(|place| !place.department.is_empty() || known(place.code));
        let outside =
            communes.filter(|place| check_position(place.centre.0, place.centre.1).is_err());
        let outside: Vec<&str> = outside.map(|place| place.name).collect();
        // The official centre of La Désirade is in the sea between its islands.
        assert_eq!(outside, ["La Désirade"]);
    }
}
