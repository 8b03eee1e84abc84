//! The key of a property's record in the store.
//!
//! Keys follow geographic position, so that a query about one area reads its records from a few neighbouring pages.

use toise_contract::listings::Property;
use toise_geo::order;

/// Bits of a property's number in its key.
const NUMBER_BITS: u32 = 26;
/// Largest number of a property in a store: 67 million, more than the dwellings of France.
pub const NUMBER_MAX: i64 = (1 << NUMBER_BITS) - 1;
/// Bits of the curve position in a record key; [`order::cluster_key`] has 33.
const CURVE_BITS: u32 = 30;
const CLUSTER_CURVE_BITS: u32 = 33;
/// Bits below the department's rank in a clustering key: the curve position and the free bits above it.
const CLUSTER_PLACE_BITS: u32 = 40;

/// Key of the record of a property: 7 bits for the department's rank, 30 for the position on the Hilbert curve (about
/// 60 m) and 26 for the property's number.
///
/// A new record is stored under its number only, after the other new ones, where writing costs least; a record that
/// changes stays where it is. When its row is compacted into the table, the record is moved to its full key. A bulk
/// load (`load::bulk`) writes its records under their full keys directly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RecordKey(pub i64);

impl RecordKey {
    /// Returns the key of a record that was not yet moved to its full key.
    pub fn unplaced(number: i64) -> Self {
        Self(number & NUMBER_MAX)
    }

    /// Returns the full key of a property, with its position; its number in the store is at most [`NUMBER_MAX`].
    pub fn placed(number: i64, property: &Property) -> Self {
        let place = property.location.as_ref();
        let department = place.and_then(|place| place.department.as_ref());
        let position = place
            .and_then(|place| place.location_coordinate.as_ref()?.location)
            .map(|position| (position.latitude(), position.longitude()));
        let cluster = order::cluster_key(department.map(|code| code.as_str()), position);
        let rank = cluster >> CLUSTER_PLACE_BITS;
        let curve =
            (cluster & ((1 << CLUSTER_PLACE_BITS) - 1)) >> (CLUSTER_CURVE_BITS - CURVE_BITS);
        Self(((rank << CURVE_BITS | curve) << NUMBER_BITS) as i64 | number & NUMBER_MAX)
    }

    /// Returns the property's number in the store.
    pub fn number(self) -> i64 {
        self.0 & NUMBER_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn at(number: i64, department: &str, lat: f64, lon: f64) -> RecordKey {
        let property = json!({"location": {
            "department": department,
            "locationCoordinate": {"location": [lon, lat]},
        }});
        RecordKey::placed(number, &serde_json::from_value(property).unwrap())
    }

    #[test]
    fn keys_are_distinct_and_positive_and_hold_the_number() {
        let nowhere = RecordKey::placed(7, &Property::default());
        assert_eq!(nowhere, RecordKey::unplaced(7));
        // Includes the last corner of the curve in the last department, and the largest number.
        for (number, department) in [(1, "01"), (NUMBER_MAX, "976")] {
            for (lat, lon) in [(41.0, -5.5), (51.5, 10.0), (51.5, -5.5), (-21.1, 55.5)] {
                let key = at(number, department, lat, lon);
                assert!(key.0 > 0, "{key:?}");
                assert_eq!(key.number(), number);
            }
        }
    }

    #[test]
    fn neighbours_have_neighbouring_keys_whatever_their_numbers() {
        let (one, neighbour) = (
            at(5, "75", 48.8566, 2.3522),
            at(2_000_000, "75", 48.8567, 2.3523),
        );
        let far = at(6, "75", 48.84, 2.28);
        assert!(one.0.abs_diff(neighbour.0) < one.0.abs_diff(far.0));
        assert!(at(1, "69", 45.7, 4.8) < at(1, "75", 48.8, 2.3));
    }
}
