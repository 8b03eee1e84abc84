//! Under which key the store keeps the record of a property: by where it lies, so that what a question about one place
//! answers with is read from few pages that lie together.

use toise_contract::listings::Property;
use toise_geo::order;

/// Bits of a property's number in its key.
const NUMBER_BITS: u32 = 26;
/// Properties a store may number: 67 million, several times the dwellings of France.
pub const NUMBER_MAX: i64 = (1 << NUMBER_BITS) - 1;
/// Bits of the position on the curve, of the 33 [`order::cluster_key`] gives it, and those above for the department.
const CURVE_BITS: u32 = 30;
const CLUSTER_CURVE_BITS: u32 = 33;
/// Bits of the curve's position in a clustering key, with those left free there.
const CLUSTER_PLACE_BITS: u32 = 40;

/// Key of the record of a property: seven bits of the department's rank, thirty of the place on the curve (about 60 m)
/// and 26 of the property's number.
///
/// A record that comes is put behind the others, where it costs least, under its number alone; one that changes stays
/// where it lies. When its row is folded into the table it is moved to its place. Who fills a table at once
/// (`load::bulk`) puts its records there right away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RecordKey(pub i64);

impl RecordKey {
    /// The key of a record that came and was not put to its place.
    pub fn unplaced(number: i64) -> Self {
        Self(number & NUMBER_MAX)
    }

    /// The key at the place of a property with its number in the store, which is at most [`NUMBER_MAX`].
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

    /// The property's number in the store.
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
    fn keys_are_distinct_positive_and_tell_the_number() {
        let nowhere = RecordKey::placed(7, &Property::default());
        assert_eq!(nowhere, RecordKey::unplaced(7));
        // The last corner of the curve in the last department, and the largest number.
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
