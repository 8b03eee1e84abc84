//! FilterLatLng: a box, a circle around a pin or around the centre of a commune, an area, or a layer.
//!
//! Coordinates are `{lat, lon}` objects in degrees. Distances are planar, boundaries included. Several keys are
//! combined with AND. Places outside France are accepted and find nothing, unless their coordinates seem to be swapped.

use serde_json::Value;

use crate::fault::Fault;
use crate::fields::{area, given};
use crate::filter::{Clause, ClauseTest, Filter, LayerTest};
use crate::listings::codes::InseeCode;
use crate::read::read;
use crate::walk::{JsonPath, degrees, number, object};
use toise_geo::communes;
use toise_geo::plausible::{PositionFault, is_swapped};

/// The keys of a FilterLatLng.
pub const LAT_LNG_KEYS: [&str; 5] = [
    "geoBoundingBox",
    "geoDistance",
    "geoInseeCodeDistance",
    "area",
    "layer",
];
/// The rule for `distanceKm`.
pub const DISTANCE_KM_RULE: &str = "must be a number above 0";

/// Parses a box or circles around a position.
pub(super) fn lat_lng(
    value: &Value,
    position: &'static str,
    at: JsonPath<'_>,
) -> Result<Filter, Fault> {
    let mut filter = Filter::new();
    for field in given(value, &LAT_LNG_KEYS, at)? {
        let (key, value) = field?;
        let here = JsonPath::Key(&at, key);
        let test = match key {
            "geoBoundingBox" => bounding_box(value, here)?,
            "geoDistance" => distance(value, here)?,
            "area" => ClauseTest::InArea(area(value, here)?),
            "layer" => ClauseTest::InLayer(LayerTest::read(value, here)?),
            _ => commune_distance(value, here)?,
        };
        filter.push(Clause::new(position, test));
    }
    Ok(filter)
}

fn bounding_box(value: &Value, at: JsonPath<'_>) -> Result<ClauseTest, Fault> {
    let (mut top_left, mut bottom_right) = (None, None);
    for (key, value) in object(value, at)? {
        let corner = match key.as_str() {
            "topLeft" => &mut top_left,
            "bottomRight" => &mut bottom_right,
            _ => return Err(at.unknown_key(key, ["topLeft", "bottomRight"])),
        };
        *corner = Some(degrees(value, JsonPath::Key(&at, key))?);
    }
    let (top, left) = required(top_left, "topLeft", at)?;
    let (bottom, right) = required(bottom_right, "bottomRight", at)?;
    let corner = JsonPath::Key(&at, "topLeft");
    if is_swapped((top + bottom) / 2.0, (left + right) / 2.0) {
        return Err(at.fault(PositionFault::CoordinatesSwapped));
    }
    if top <= bottom {
        return Err(JsonPath::Key(&corner, "lat").fault("must be above bottomRight.lat"));
    }
    if left >= right {
        return Err(JsonPath::Key(&corner, "lon").fault("must be below bottomRight.lon"));
    }
    Ok(ClauseTest::InBox {
        top,
        left,
        bottom,
        right,
    })
}

fn distance(value: &Value, at: JsonPath<'_>) -> Result<ClauseTest, Fault> {
    let (mut pin, mut radius_m) = (None, None);
    for (key, value) in object(value, at)? {
        let here = JsonPath::Key(&at, key);
        match key.as_str() {
            "pin" => pin = Some(degrees(value, here)?),
            "distanceKm" => radius_m = Some(metres(value, here)?),
            _ => return Err(at.unknown_key(key, ["pin", "distanceKm"])),
        }
    }
    let (lat, lon) = required(pin, "pin", at)?;
    let radius_m = required(radius_m, "distanceKm", at)?;
    if is_swapped(lat, lon) {
        return Err(JsonPath::Key(&at, "pin").fault(PositionFault::CoordinatesSwapped));
    }
    Ok(ClauseTest::Within { lat, lon, radius_m })
}

fn commune_distance(value: &Value, at: JsonPath<'_>) -> Result<ClauseTest, Fault> {
    let (mut centre, mut radius_m) = (None, None);
    for (key, value) in object(value, at)? {
        let here = JsonPath::Key(&at, key);
        match key.as_str() {
            "inseeCode" => {
                let code = read::<InseeCode>(value).map_err(|fault| here.fault(fault.message))?;
                let found = communes::find_by_code(code.as_str());
                let found = found.ok_or_else(|| here.fault("there is no such commune"))?;
                centre = Some(found.centre);
            }
            "distanceKm" => radius_m = Some(metres(value, here)?),
            _ => return Err(at.unknown_key(key, ["inseeCode", "distanceKm"])),
        }
    }
    let (lat, lon) = required(centre, "inseeCode", at)?;
    let radius_m = required(radius_m, "distanceKm", at)?;
    Ok(ClauseTest::Within { lat, lon, radius_m })
}

fn metres(value: &Value, at: JsonPath<'_>) -> Result<f64, Fault> {
    let kilometres = number(value, at)
        .ok()
        .filter(|kilometres| *kilometres > 0.0);
    let kilometres = kilometres.ok_or_else(|| at.fault(DISTANCE_KM_RULE))?;
    // Limits the radius to a finite number; it is beyond the earth anyway.
    Ok((kilometres * 1_000.0).min(f64::MAX))
}

fn required<T>(value: Option<T>, key: &str, at: JsonPath<'_>) -> Result<T, Fault> {
    value.ok_or_else(|| JsonPath::Key(&at, key).fault("is required"))
}
