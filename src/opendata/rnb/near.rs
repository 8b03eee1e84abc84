//! Attaches diagnostics to buildings by position, if neither their identifier of a building nor their address links
//! them to the register.
//!
//! The register has an address of most buildings. This module handles the rest: diagnostics at house numbers that the
//! register gives to no building, and diagnostics with a position but no address. Such a diagnostic belongs to the most
//! likely building within [`REACH_M`]. The likelihood is halved every [`HALVING_M`] from the building, and it is lower
//! if the addresses agree less. Outlines are not stored, so a building is treated as a circle around its point with its
//! ground surface. The score is the likelihood times the building's share of the likelihoods of all buildings within
//! reach. It is lower for a distant building, and if other buildings are equally near.
//!
//! A request for one building needs three scans that filter on positions or identifiers. The statistics of row groups
//! let each scan skip those of other places.

use std::collections::{BTreeMap, BTreeSet};
use std::f64::consts::PI;

use arrow::array::{Array, AsArray};
use arrow::datatypes::Float64Type;

use super::ADDRESSES;
use super::links::RegisteredBuilding;
use crate::OpenData;
use crate::dpe::{self, ADDRESS, BUILDING};
use toise_contract::filter::{Clause, ClauseTest, POSITION};
use toise_engine::Error;
use toise_geo::distance::planar_distance_m;

/// Maximum distance of a diagnostic from the circle of its building, metres.
pub const REACH_M: f64 = 30.0;
/// Maximum diagnostics, and maximum buildings, within reach that are compared.
const COMPARED_MAX: usize = 1_000;
/// Maximum radius of the circle of a building, metres.
const RADIUS_MAX_M: f64 = 20.0;
/// Distance over which the likelihood is halved, metres.
const HALVING_M: f64 = 10.0;
/// Likelihood of a building with an address of the same street and number, at its circle.
const SAME_NUMBER: f64 = 1.0;
/// Likelihood of a building with an address in the same street.
const SAME_STREET: f64 = 0.8;
/// Likelihood if the address of the building or of the diagnostic is not known.
const UNKNOWN_ADDRESS: f64 = 0.6;
/// Likelihood of a building whose addresses are all in other streets.
const OTHER_STREET: f64 = 0.4;

/// A diagnostic that names no building.
#[derive(Clone, Debug, PartialEq)]
struct UnnamedDiagnostic {
    id: String,
    /// Its address, by its identifier in the national address base.
    address: Option<String>,
    lat: f64,
    lon: f64,
}

impl UnnamedDiagnostic {
    /// Returns whether the position is that of a whole street or commune.
    fn is_without_number(&self) -> bool {
        let address = self.address.as_deref();
        address.is_some_and(|address| street_and_number(address).is_none())
    }
}

impl OpenData {
    /// Returns the diagnostics that belong to a building by their position, with their scores, 0 to 1. Empty if the
    /// building is gone. At most [`COMPARED_MAX`] diagnostics within reach are compared.
    ///
    /// # Errors
    /// A table cannot be read.
    pub(crate) fn diagnostics_near(
        &self,
        building: &RegisteredBuilding,
    ) -> Result<BTreeMap<String, f64>, Error> {
        let mut scores = BTreeMap::new();
        if !building.is_present() {
            return Ok(scores);
        }
        let reach_m = REACH_M + radius_m(building);
        let mut diagnostics = self.unnamed_diagnostics(around(building, reach_m))?;
        diagnostics.retain(|diagnostic| !diagnostic.is_without_number());
        diagnostics.truncate(COMPARED_MAX);
        if diagnostics.is_empty() {
            return Ok(scores);
        }
        let addresses: BTreeSet<String> = diagnostics
            .iter()
            .filter_map(|diagnostic| diagnostic.address.clone())
            .collect();
        let addresses: Vec<String> = addresses.into_iter().collect();
        let addressed = self.buildings(ADDRESSES, &addresses, usize::MAX)?;
        let registered: BTreeSet<&str> = addressed
            .iter()
            .flat_map(|other| other.address_ids.iter().map(String::as_str))
            .collect();
        let others_within_m = reach_m + REACH_M + RADIUS_MAX_M;
        let others = self.buildings_where(around(building, others_within_m), COMPARED_MAX)?;
        for diagnostic in diagnostics {
            let address = diagnostic.address.as_deref();
            if address.is_some_and(|address| registered.contains(address)) {
                continue;
            }
            let won = score(&diagnostic, building, &others);
            scores.extend(won.map(|score| (diagnostic.id, score)));
        }
        Ok(scores)
    }

    /// Returns the diagnostics that satisfy a clause and name no building, in the order of their identifiers.
    fn unnamed_diagnostics(&self, clause: Clause) -> Result<Vec<UnnamedDiagnostic>, Error> {
        let schema = dpe::schema();
        let names = [schema.id, BUILDING, ADDRESS, "lat", "lon"];
        let mut found = self.read_rows(schema, clause, &names, |columns, row| {
            if columns[1].values.is_valid(row) {
                return None;
            }
            let addresses = columns[2].values.as_string::<i32>();
            let address = addresses.is_valid(row).then(|| addresses.value(row));
            let degrees = |at: usize| columns[at].values.as_primitive::<Float64Type>().value(row);
            Some(UnnamedDiagnostic {
                id: columns[0].values.as_string::<i32>().value(row).to_owned(),
                address: address.filter(|id| !id.is_empty()).map(str::to_owned),
                lat: degrees(3),
                lon: degrees(4),
            })
        })?;
        found.sort_by(|one, other| one.id.cmp(&other.id));
        Ok(found)
    }
}

/// Returns the clause for positions within a distance of a building.
fn around(building: &RegisteredBuilding, radius_m: f64) -> Clause {
    let at = building.location;
    let within = ClauseTest::Within {
        lat: at.lat,
        lon: at.lon,
        radius_m,
    };
    Clause::new(POSITION, within)
}

/// Returns the radius of the circle of a building, metres.
fn radius_m(building: &RegisteredBuilding) -> f64 {
    (building.weight() / PI).sqrt().min(RADIUS_MAX_M)
}

/// Returns the score of a building for a diagnostic, two decimals; `None` if the diagnostic is out of reach or more
/// likely belongs to another building. Among equally likely buildings, the one with the first identifier wins.
fn score(
    diagnostic: &UnnamedDiagnostic,
    building: &RegisteredBuilding,
    others: &[RegisteredBuilding],
) -> Option<f64> {
    let own = likelihood(diagnostic, building)?;
    let mut total = own;
    let is_rival =
        |other: &&RegisteredBuilding| other.is_present() && other.id_rnb != building.id_rnb;
    for other in others.iter().filter(is_rival) {
        let Some(rival) = likelihood(diagnostic, other) else {
            continue;
        };
        let order = rival.total_cmp(&own);
        if order.then(building.id_rnb.cmp(&other.id_rnb)).is_gt() {
            return None;
        }
        total += rival;
    }
    Some((own * own / total * 100.0).round() / 100.0)
}

/// Returns how likely it is, relative to other buildings, that a diagnostic belongs to a building; `None` if it is out
/// of reach.
fn likelihood(diagnostic: &UnnamedDiagnostic, building: &RegisteredBuilding) -> Option<f64> {
    let at = building.location;
    let to_point_m = planar_distance_m(at.lat, at.lon, diagnostic.lat, diagnostic.lon);
    let distance_m = (to_point_m - radius_m(building)).max(0.0);
    (distance_m <= REACH_M)
        .then(|| agreement(diagnostic, building) * 0.5_f64.powf(distance_m / HALVING_M))
}

/// Returns how well the address of a diagnostic agrees with those of a building.
fn agreement(diagnostic: &UnnamedDiagnostic, building: &RegisteredBuilding) -> f64 {
    let address = diagnostic.address.as_deref().and_then(street_and_number);
    let Some((street, number)) = address.filter(|_| !building.address_ids.is_empty()) else {
        return UNKNOWN_ADDRESS;
    };
    let known = building.address_ids.iter();
    let in_street = known
        .filter_map(|id| street_and_number(id))
        .filter(|(other, _)| *other == street);
    let agreements = in_street.map(|(_, other)| {
        if other == number {
            SAME_NUMBER
        } else {
            SAME_STREET
        }
    });
    agreements.fold(OTHER_STREET, f64::max)
}

/// Returns the street and the number without suffix of an address in the national address base, such as
/// `48095_0100_00005_bis`; `None` for a street.
fn street_and_number(address: &str) -> Option<(&str, &str)> {
    let (end, _) = address.match_indices('_').nth(1)?;
    let number = address[end + 1..].split('_').next().unwrap_or_default();
    (!number.is_empty()).then_some((&address[..end], number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rnb::links::BuildingPosition;

    /// Degrees of latitude in a metre.
    const METRE_DEG: f64 = 1.0 / 111_195.08;

    /// A building of a radius, `north_m` metres to the north.
    fn building(id: &str, north_m: f64, radius_m: f64, addresses: &[&str]) -> RegisteredBuilding {
        RegisteredBuilding {
            id_rnb: id.to_owned(),
            status: Some("constructed".to_owned()),
            location: BuildingPosition {
                lat: 44.5 + north_m * METRE_DEG,
                lon: 3.5,
            },
            ground_m2: Some(PI * radius_m * radius_m),
            address_ids: addresses.iter().map(|id| (*id).to_owned()).collect(),
            parcel_ids: Vec::new(),
        }
    }

    fn diagnostic(address: Option<&str>) -> UnnamedDiagnostic {
        UnnamedDiagnostic {
            id: "D".to_owned(),
            address: address.map(str::to_owned),
            lat: 44.5,
            lon: 3.5,
        }
    }

    #[test]
    fn the_score_falls_with_the_distance_and_ends_at_the_reach() {
        let of = |north_m: f64| {
            let one = building("A", north_m, 5.0, &[]);
            score(&diagnostic(None), &one, std::slice::from_ref(&one))
        };
        assert_eq!(of(0.0), Some(0.6));
        // Inside the circle, and one and two halvings away from it.
        assert_eq!(
            [of(4.0), of(15.0), of(25.0)],
            [Some(0.6), Some(0.3), Some(0.15)]
        );
        assert_eq!(of(35.5), None);
        // A warehouse counts as a circle of at most 20 m.
        let large = building("A", 51.0, 300.0, &[]);
        assert_eq!(score(&diagnostic(None), &large, &[]), None);
    }

    #[test]
    fn the_score_falls_if_another_building_is_near() {
        let all = [
            building("A", 10.0, 5.0, &[]),
            building("B", -10.0, 5.0, &[]),
        ];
        let far = building("C", 30.0, 5.0, &[]);
        let of = |one: &RegisteredBuilding, others: &[RegisteredBuilding]| {
            score(&diagnostic(None), one, others).unwrap_or_default()
        };
        let alone = of(&all[0], &[]);
        let with_far = of(&all[0], std::slice::from_ref(&far));
        assert!(alone > with_far && with_far > of(&all[0], &all));
        // Equally near: the first identifier has it.
        assert_eq!(score(&diagnostic(None), &all[1], &all), None);
        let mut gone = all.clone();
        gone[0].status = Some("demolished".to_owned());
        assert!(score(&diagnostic(None), &gone[1], &gone).is_some());
    }

    #[test]
    fn an_address_that_agrees_raises_the_score_and_may_beat_a_nearer_building() {
        let number_of = Some("48095_0100_00005_bis");
        let of = |addresses: &[&str]| {
            let one = building("A", 0.0, 5.0, addresses);
            score(&diagnostic(number_of), &one, &[])
        };
        assert_eq!(of(&["48095_0100_00005"]), Some(1.0));
        assert_eq!(of(&["48095_0200_00005", "48095_0100_00007"]), Some(0.8));
        assert_eq!(of(&[]), Some(0.6));
        assert_eq!(of(&["48095_0200_00005"]), Some(0.4));
        let nearer = building("A", 5.0, 5.0, &["48095_0200_00001"]);
        let agrees = building("B", 10.0, 5.0, &["48095_0100_00005"]);
        let all = [nearer, agrees];
        assert_eq!(score(&diagnostic(number_of), &all[0], &all), None);
        assert!(score(&diagnostic(number_of), &all[1], &all).is_some());
    }

    #[test]
    fn the_position_of_a_street_attaches_nothing() {
        for (address, is_without_number) in [
            (None, false),
            (Some("48095_0100_00005"), false),
            (Some("48095_2c2gpg_00002_ter"), false),
            (Some("48095_0100"), true),
            (Some("48095"), true),
        ] {
            let is_so = diagnostic(address).is_without_number();
            assert_eq!(is_so, is_without_number, "{address:?}");
        }
    }
}
