//! Links records to buildings by the register.
//!
//! About half of the diagnostics name their building. Any other diagnostic belongs to the building at its address; if
//! the register gives that address to several buildings, such as a house and its garage, to the largest one. The score
//! is that building's share of their total ground surface: 1 if it is the only one, 0.9 for a house of 90 m² next to a
//! garage of 10 m². Diagnostics at other addresses are linked by position (`near`).

use std::collections::BTreeMap;

use arrow::array::{Array, AsArray, StringArray};
use arrow::datatypes::{Float64Type, Int32Type};
use serde::Serialize;

use super::{ABSENT, ADDRESSES, GROUND, ID, PARCELS, STATUS, schema};
use crate::OpenData;
use toise_contract::filter::{Clause, ClauseTest};
use toise_engine::Error;
use toise_engine::decoded::DecodedColumn;

/// Ground surface of a building whose outline is not known, square metres.
const UNKNOWN_GROUND_M2: f64 = 1.0;

/// A building, as the register describes it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RegisteredBuilding {
    /// Identifier.
    pub id_rnb: String,
    /// State, as published: `constructed`, `demolished`, ….
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// Its position.
    pub location: BuildingPosition,
    /// Ground surface, square metres.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ground_m2: Option<f64>,
    /// Identifiers of its addresses in the national address base.
    pub address_ids: Vec<String>,
    /// The parcels that it stands on, largest share first.
    pub parcel_ids: Vec<String>,
}

/// A position, WGS 84.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BuildingPosition {
    /// Latitude, degrees.
    pub lat: f64,
    /// Longitude, degrees.
    pub lon: f64,
}

impl RegisteredBuilding {
    /// Returns whether the building stands, as far as the register knows.
    pub(super) fn is_present(&self) -> bool {
        let status = self.status.as_deref();
        status.is_none_or(|status| !ABSENT.contains(&status))
    }

    /// Returns the ground surface, square metres.
    pub(super) fn weight(&self) -> f64 {
        self.ground_m2.unwrap_or(UNKNOWN_GROUND_M2)
    }
}

/// Returns the addresses at which a building is the largest one, with its score, 0 to 1. `neighbours` are the buildings
/// with any of its addresses, itself included. Among equally large buildings, the one with the first identifier wins.
pub fn addresses_won(
    building: &RegisteredBuilding,
    neighbours: &[RegisteredBuilding],
) -> BTreeMap<String, f64> {
    let mut won = BTreeMap::new();
    for address in &building.address_ids {
        let there = neighbours.iter().filter(|other| {
            (other.is_present() || other.id_rnb == building.id_rnb)
                && other.address_ids.contains(address)
        });
        let (mut total, mut largest) = (0.0, building);
        for other in there {
            total += other.weight();
            let by_size = other.weight().total_cmp(&largest.weight());
            if by_size.then(largest.id_rnb.cmp(&other.id_rnb)).is_gt() {
                largest = other;
            }
        }
        if largest.id_rnb == building.id_rnb {
            let score = building.weight() / total.max(building.weight());
            won.insert(address.clone(), (score * 100.0).round() / 100.0);
        }
    }
    won
}

impl OpenData {
    /// Returns the identifier of the building that the diagnostics at an address without a building of their own are
    /// attached to; `None` if the register has none there.
    ///
    /// # Errors
    /// The table cannot be read, or the engine was opened without it.
    pub fn building_at(&self, address: &str) -> Result<Option<String>, Error> {
        let there = self.buildings(ADDRESSES, &[address.to_owned()], usize::MAX)?;
        let mut present = there.iter().filter(|building| building.is_present());
        let largest =
            present.find(|building| addresses_won(building, &there).contains_key(address));
        Ok(largest.map(|building| building.id_rnb.clone()))
    }

    /// Returns the buildings whose column `by` (an identifier or a list of them) has one of `ids`, in the order of their
    /// identifiers, at most `most`.
    ///
    /// # Errors
    /// The table cannot be read, or the engine was opened without it.
    pub(crate) fn buildings(
        &self,
        by: &'static str,
        ids: &[String],
        most: usize,
    ) -> Result<Vec<RegisteredBuilding>, Error> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        self.buildings_where(Clause::new(by, ClauseTest::OneOf(ids.to_vec())), most)
    }

    /// Returns the buildings that satisfy a clause, in the order of their identifiers, at most `most`.
    ///
    /// # Errors
    /// The table cannot be read, or the engine was opened without it.
    pub(super) fn buildings_where(
        &self,
        clause: Clause,
        most: usize,
    ) -> Result<Vec<RegisteredBuilding>, Error> {
        let names = [ID, STATUS, "lat", "lon", GROUND, ADDRESSES, PARCELS];
        let mut found = self.read_rows(schema(), clause, &names, |columns, row| {
            let number = |at: usize| {
                let numbers = columns[at].values.as_primitive::<Float64Type>();
                numbers.is_valid(row).then(|| numbers.value(row))
            };
            Some(RegisteredBuilding {
                id_rnb: columns[0].values.as_string::<i32>().value(row).to_owned(),
                status: category(&columns[1], row),
                location: BuildingPosition {
                    lat: number(2).unwrap_or_default(),
                    lon: number(3).unwrap_or_default(),
                },
                ground_m2: number(4),
                address_ids: texts(&columns[5], row),
                parcel_ids: texts(&columns[6], row),
            })
        })?;
        found.sort_by(|one, other| one.id_rnb.cmp(&other.id_rnb));
        found.truncate(most);
        Ok(found)
    }
}

fn category(column: &DecodedColumn, row: usize) -> Option<String> {
    let column = column.values.as_dictionary::<Int32Type>();
    let texts = column.downcast_dict::<StringArray>()?;
    let key = column.key(row)?;
    Some(texts.values().value(key).to_owned())
}

/// Returns the texts of a row in a column of texts or of lists of texts.
pub(crate) fn texts(column: &DecodedColumn, row: usize) -> Vec<String> {
    let values = column.values.as_string::<i32>();
    let range = match &column.items {
        None => row..row + 1,
        Some(items) => items.offsets[row] as usize..items.offsets[row + 1] as usize,
    };
    range
        .filter(|at| values.is_valid(*at))
        .map(|at| values.value(at).to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn building(id: &str, ground_m2: Option<f64>, addresses: &[&str]) -> RegisteredBuilding {
        RegisteredBuilding {
            id_rnb: id.to_owned(),
            status: Some("constructed".to_owned()),
            location: BuildingPosition {
                lat: 44.5,
                lon: 3.5,
            },
            ground_m2,
            address_ids: addresses.iter().map(|id| (*id).to_owned()).collect(),
            parcel_ids: Vec::new(),
        }
    }

    fn won(building: &RegisteredBuilding, all: &[RegisteredBuilding]) -> Vec<(String, f64)> {
        addresses_won(building, all).into_iter().collect()
    }

    #[test]
    fn an_address_belongs_to_its_largest_building() {
        let house = building("A", Some(90.0), &["1", "2"]);
        let garage = building("B", Some(10.0), &["1"]);
        let all = [house.clone(), garage.clone()];
        assert_eq!(won(&house, &all), [("1".into(), 0.9), ("2".into(), 1.0)]);
        assert!(won(&garage, &all).is_empty());
    }

    #[test]
    fn equal_buildings_share_the_score_and_the_first_one_has_the_address() {
        let all = ["A", "B"].map(|id| building(id, Some(80.0), &["1"]));
        assert_eq!(won(&all[0], &all), [("1".into(), 0.5)]);
        assert!(won(&all[1], &all).is_empty());
        let unknown = ["A", "B"].map(|id| building(id, None, &["1"]));
        assert_eq!(won(&unknown[0], &unknown), [("1".into(), 0.5)]);
    }

    #[test]
    fn a_building_that_is_gone_competes_for_no_address() {
        let house = building("A", Some(50.0), &["1"]);
        let mut gone = building("B", Some(500.0), &["1"]);
        gone.status = Some("demolished".to_owned());
        let all = [house.clone(), gone.clone()];
        assert_eq!(won(&house, &all), [("1".into(), 1.0)]);
        // Its own history still includes the records of its address.
        assert_eq!(won(&gone, &all), [("1".into(), 0.91)]);
    }
}
