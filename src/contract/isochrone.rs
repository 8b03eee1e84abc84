//! Isochrones: the part of a filter that describes the area within reach of a position.

use serde_json::Value;

use crate::fault::Fault;
use crate::walk::{JsonPath, degrees, number_between, object};
use toise_geo::area::Area;
use toise_geo::plausible::{PositionFault, is_swapped};

/// Maximum time of travel, minutes.
pub const MINUTES_MAX: f64 = 60.0;

/// A question: what can be reached from a position.
#[derive(Clone, Debug, PartialEq)]
pub struct Isochrone {
    /// Latitude, degrees.
    pub lat: f64,
    /// Longitude, degrees.
    pub lon: f64,
    /// Time of travel, minutes.
    pub minutes: f64,
    /// Mode of travel.
    pub mode: Mode,
}

/// A mode of travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// By car.
    Car,
    /// On foot.
    Walk,
}

impl Mode {
    /// Every mode.
    pub const ALL: [Self; 2] = [Self::Car, Self::Walk];

    /// Returns the contract's spelling.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Car => "car",
            Self::Walk => "walk",
        }
    }
}

/// Returns the area that an isochrone service computed as the value of a filter. It is unchanged if it is valid; otherwise
/// it is repaired. CPU-bound: milliseconds for thousands of vertices.
///
/// # Errors
/// It is not an area and cannot be repaired; the text says why.
pub fn filter_area(geometry: Value) -> Result<Value, String> {
    if Area::from_geojson(&geometry).is_ok() {
        return Ok(geometry);
    }
    let area = Area::repaired(&geometry).map_err(|fault| fault.to_string())?;
    serde_json::from_str(&area.to_geojson()).map_err(|error| error.to_string())
}

impl Isochrone {
    /// Reads `{"pin": {"lat", "lon"}, "minutes", "mode"}`.
    ///
    /// # Errors
    /// A key is missing or unknown, or a value is out of range.
    pub fn read(value: &Value, at: JsonPath<'_>) -> Result<Self, Fault> {
        let (mut pin, mut minutes, mut mode) = (None, None, None);
        for (key, value) in object(value, at)? {
            let here = JsonPath::Key(&at, key);
            match key.as_str() {
                "pin" => {
                    let (lat, lon) = degrees(value, here)?;
                    if is_swapped(lat, lon) {
                        return Err(here.fault(PositionFault::CoordinatesSwapped));
                    }
                    pin = Some((lat, lon));
                }
                "minutes" => {
                    let given = number_between(value, 0.0, MINUTES_MAX, false, here)?;
                    minutes = Some(given).filter(|minutes| *minutes > 0.0);
                }
                "mode" => {
                    let mut named = Mode::ALL.into_iter();
                    let named = named.find(|mode| value == mode.as_str());
                    let names = Mode::ALL.map(Mode::as_str).join(", ");
                    let rule = format!("must be one of: {names}");
                    mode = Some(named.ok_or_else(|| here.fault(rule))?);
                }
                _ => return Err(at.unknown_key(key, ["pin", "minutes", "mode"])),
            }
        }
        let missing = |key| JsonPath::Key(&at, key).fault("is required");
        let (lat, lon) = pin.ok_or_else(|| missing("pin"))?;
        let rule = format!("must be a number above 0, at most {MINUTES_MAX}");
        Ok(Self {
            lat,
            lon,
            minutes: minutes.ok_or_else(|| JsonPath::Key(&at, "minutes").fault(rule))?,
            mode: mode.ok_or_else(|| missing("mode"))?,
        })
    }
}
