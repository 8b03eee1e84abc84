//! Impossible positions of adverts: abroad, at sea, or with longitude and latitude swapped.
//!
//! Such a position is removed from the advert, with a warning that quotes it; the advert is then located by its postal
//! code or commune. The position counts as absent, so a known advert keeps its previous position.

use serde_json::{Map, Value};

use toise_contract::Fault;
use toise_geo::plausible::{PositionFault, check_position};

/// Path of the position of an advert.
const PATH: [&str; 3] = ["location", "locationCoordinate", "location"];

/// A position that was left out of an advert.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LeftOutPosition {
    /// The reason.
    pub fault: PositionFault,
    /// Longitude as given, degrees.
    pub longitude: f64,
    /// Latitude as given, degrees.
    pub latitude: f64,
}

impl LeftOutPosition {
    /// Removes the position of an advert if no home in France can have it. A position that is not a pair of degrees
    /// stays, and validation refuses it.
    pub(super) fn leave_out(advert: &mut Map<String, Value>) -> Option<Self> {
        let [outer, middle, inner] = PATH;
        let location = advert.get_mut(outer)?.as_object_mut()?;
        let position = location.get(middle)?.get(inner)?.as_array()?;
        let [longitude, latitude] = &position[..] else {
            return None;
        };
        let (longitude, latitude) = (longitude.as_f64()?, latitude.as_f64()?);
        if latitude.abs() > 90.0 || longitude.abs() > 180.0 {
            return None;
        }
        let fault = check_position(latitude, longitude).err()?;
        location.shift_remove(middle);
        Some(Self {
            fault,
            longitude,
            latitude,
        })
    }

    /// Returns a warning for the sender.
    pub fn warning(&self) -> String {
        let Self {
            fault,
            longitude,
            latitude,
        } = self;
        let path = PATH.join(".");
        format!("{path}: {fault}; left out: [{longitude}, {latitude}]")
    }

    /// Returns the fault for an advert without any other location.
    pub(super) fn refusal(&self) -> Fault {
        let Self {
            fault,
            longitude,
            latitude,
        } = self;
        let reason = format!("{fault}, not a place: [{longitude}, {latitude}]");
        Fault::new(PATH.join("."), reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn left_out(position: Value) -> (Option<LeftOutPosition>, Value) {
        let mut advert = json!({"location": {
            "postalCode": "75011", "locationCoordinate": {"location": position},
        }});
        let found = LeftOutPosition::leave_out(advert.as_object_mut().unwrap());
        (found, advert)
    }

    #[test]
    fn only_an_impossible_position_is_left_out() {
        for (position, name) in [
            (json!([-0.1278, 51.5074]), "outside_france"),
            (json!([-6, 46]), "outside_france"),
            (json!([48.85, 2.35]), "coordinates_swapped?"),
        ] {
            let (found, advert) = left_out(position.clone());
            assert_eq!(found.unwrap().fault.name(), name, "{position}");
            assert_eq!(advert, json!({"location": {"postalCode": "75011"}}));
        }
        for position in [
            json!([2.35, 48.85]),
            json!([55.45, -20.88]),
            json!(null),
            json!([2.35]),
            json!([2.35, 148.85]),
            json!(["2.35", "48.85"]),
        ] {
            let (found, advert) = left_out(position.clone());
            assert_eq!(found, None, "{position}");
            assert_eq!(
                advert["location"]["locationCoordinate"]["location"],
                position
            );
        }
    }

    #[test]
    fn the_warning_names_the_fault_and_shows_the_value() {
        let (found, _) = left_out(json!([-0.1278, 51.5074]));
        assert_eq!(
            found.unwrap().warning(),
            "location.locationCoordinate.location: outside_france: the position is abroad or at sea; left out: \
            [-0.1278, 51.5074]"
        );
    }
}
