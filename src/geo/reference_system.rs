//! Handles the reference systems of files: keeps degrees, converts the official projections of France, refuses others.

use geo::{Coord, Geometry, MapCoords};
use serde_json::Value;

use super::projection::to_degrees;

/// Codes of systems in degrees: WGS 84, RGF93, ETRS89 and those of the overseas departments.
const DEGREES: [u32; 9] = [4326, 4171, 4258, 4979, 5489, 4624, 2970, 4627, 4470];
/// Codes of the official projections, each with a department in which it is used.
const PROJECTED: [(u32, &str); 10] = [
    (2154, "75"),
    (9794, "75"),
    (5490, "971"),
    (32620, "971"),
    (2972, "973"),
    (32622, "973"),
    (2975, "974"),
    (32740, "974"),
    (4471, "976"),
    (32738, "976"),
];
/// Eastings and northings of mainland France in Lambert-93, metres.
const LAMBERT_93_X: std::ops::RangeInclusive<f64> = 0.0..=1_300_000.0;
const LAMBERT_93_Y: std::ops::RangeInclusive<f64> = 6_000_000.0..=7_200_000.0;
/// How to convert a file with another program.
const HINT: &str = "convert it first: ogr2ogr -t_srs EPSG:4326 converted.geojson FILE";

/// The reference system of coordinates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReferenceSystem {
    /// Longitude and latitude in degrees.
    Degrees,
    /// An official projection, by its code.
    Projected(u32),
}

impl ReferenceSystem {
    /// Returns the system with an EPSG code.
    ///
    /// # Errors
    /// It is neither in degrees nor an official projection of France.
    pub fn of_epsg(code: u32) -> Result<Self, String> {
        if DEGREES.contains(&code) {
            return Ok(Self::Degrees);
        }
        if PROJECTED.iter().any(|(known, _)| *known == code) {
            return Ok(Self::Projected(code));
        }
        Err(format!(
            "the reference system EPSG:{code} is not read; {HINT}"
        ))
    }

    /// Reads the name of a system, such as `urn:ogc:def:crs:EPSG::2154` or `OGC:CRS84`.
    ///
    /// # Errors
    /// As for [`Self::of_epsg`], or the name is unknown.
    pub fn of_name(name: &str) -> Result<Self, String> {
        if name.ends_with("CRS84") || name.ends_with("CRS83") {
            return Ok(Self::Degrees);
        }
        let digits = name
            .trim_end_matches(|character: char| character.is_ascii_digit())
            .len();
        match name[digits..].parse() {
            Ok(code) if name.to_ascii_uppercase().contains("EPSG") => Self::of_epsg(code),
            _ => Err(format!("the reference system {name:?} is not read; {HINT}")),
        }
    }

    /// Reads the `crs` of a GeoJSON collection, a member that the current standard no longer has; `None` if it names
    /// none.
    ///
    /// # Errors
    /// As for [`Self::of_name`].
    pub fn of_geojson(crs: &Value) -> Result<Option<Self>, String> {
        match crs["properties"]["name"].as_str() {
            Some(name) => Self::of_name(name).map(Some),
            None => Ok(None),
        }
    }

    /// Reads the `crs` of a column of GeoParquet (PROJJSON).
    ///
    /// # Errors
    /// As for [`Self::of_name`].
    pub fn of_projjson(crs: &Value) -> Result<Self, String> {
        let id = &crs["id"];
        let code = match &id["code"] {
            Value::String(code) => code.clone(),
            Value::Number(code) => code.to_string(),
            _ if crs["type"] == "GeographicCRS" => return Ok(Self::Degrees),
            _ => return Self::of_name(crs["name"].as_str().unwrap_or("without a name")),
        };
        let authority = id["authority"].as_str().unwrap_or("EPSG");
        Self::of_name(&format!("{authority}:{code}"))
    }

    /// Guesses the system from the western, southern, eastern and northern edge of all coordinates.
    ///
    /// # Errors
    /// They are neither degrees nor Lambert-93 of mainland France.
    pub fn guess([west, south, east, north]: [f64; 4]) -> Result<Self, String> {
        if west >= -180.0 && east <= 180.0 && south >= -90.0 && north <= 90.0 {
            return Ok(Self::Degrees);
        }
        let is_x = |x: f64| LAMBERT_93_X.contains(&x);
        let is_y = |y: f64| LAMBERT_93_Y.contains(&y);
        if is_x(west) && is_x(east) && is_y(south) && is_y(north) {
            return Ok(Self::Projected(2154));
        }
        let hint = if is_y(west) && is_x(south) {
            "x and y seem to be swapped".to_owned()
        } else {
            HINT.to_owned()
        };
        Err(format!(
            "coordinates from ({west}, {south}) to ({east}, {north}) are neither degrees nor Lambert-93; {hint}"
        ))
    }

    /// Returns the name for people.
    pub fn name(self) -> String {
        match self {
            Self::Degrees => "degrees (WGS 84)".to_owned(),
            Self::Projected(2154 | 9794) => "Lambert-93, converted to degrees".to_owned(),
            Self::Projected(code) => format!("EPSG:{code}, converted to degrees"),
        }
    }

    /// Converts coordinates to latitude and longitude; `None` outside the projection.
    pub fn position(self, x: f64, y: f64) -> Option<(f64, f64)> {
        let Self::Projected(code) = self else {
            return Some((y, x));
        };
        let known = PROJECTED.iter().find(|(known, _)| *known == code);
        to_degrees(known.map_or("75", |(_, department)| department), x, y)
    }

    /// Converts a geometry to degrees.
    ///
    /// # Errors
    /// A position is outside the projection.
    pub fn to_degrees(self, geometry: Geometry) -> Result<Geometry, String> {
        let Self::Projected(code) = self else {
            return Ok(geometry);
        };
        geometry.try_map_coords(|Coord { x, y }| {
            let (lat, lon) = self
                .position(x, y)
                .ok_or_else(|| format!("({x}, {y}) is outside the projection EPSG:{code}"))?;
            Ok(Coord { x: lon, y: lat })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use geo::Point;

    #[test]
    fn names_of_files_are_understood() {
        let lambert = Ok(ReferenceSystem::Projected(2154));
        for name in [
            "urn:ogc:def:crs:EPSG::2154",
            "EPSG:2154",
            "http://www.opengis.net/def/crs/EPSG/0/2154",
        ] {
            assert_eq!(ReferenceSystem::of_name(name), lambert, "{name}");
        }
        for name in [
            "urn:ogc:def:crs:OGC:1.3:CRS84",
            "EPSG:4326",
            "urn:ogc:def:crs:EPSG::4171",
        ] {
            assert_eq!(
                ReferenceSystem::of_name(name),
                Ok(ReferenceSystem::Degrees),
                "{name}"
            );
        }
        let error = ReferenceSystem::of_name("EPSG:3857").unwrap_err();
        assert!(
            error.contains("EPSG:3857") && error.contains("ogr2ogr"),
            "{error}"
        );
        assert!(ReferenceSystem::of_name("local").is_err());
    }

    #[test]
    fn systems_of_geoparquet_are_understood() {
        let of = |text: &str| ReferenceSystem::of_projjson(&serde_json::from_str(text).unwrap());
        let lambert = of(r#"{"name":"RGF93","id":{"authority":"EPSG","code":2154}}"#);
        assert_eq!(lambert, Ok(ReferenceSystem::Projected(2154)));
        let degrees = of(r#"{"id":{"authority":"OGC","code":"CRS84"}}"#);
        assert_eq!(degrees, Ok(ReferenceSystem::Degrees));
        let unknown = of(r#"{"name":"My grid"}"#).unwrap_err();
        assert!(unknown.contains("My grid"), "{unknown}");
    }

    #[test]
    fn coordinates_show_their_system() {
        let of = ReferenceSystem::guess;
        assert_eq!(of([-5.0, 41.0, 9.0, 51.0]), Ok(ReferenceSystem::Degrees));
        let lambert = of([648_000.0, 6_857_000.0, 658_000.0, 6_867_000.0]);
        assert_eq!(lambert, Ok(ReferenceSystem::Projected(2154)));
        let swapped = of([6_857_000.0, 648_000.0, 6_867_000.0, 658_000.0]).unwrap_err();
        assert!(swapped.contains("swapped"), "{swapped}");
        let web = of([261_000.0, 5_400_000.0, 262_000.0, 5_500_000.0]).unwrap_err();
        assert!(web.contains("ogr2ogr"), "{web}");
    }

    #[test]
    fn the_tower_of_eiffel_is_in_paris() {
        let tower = Point::new(648_237.3, 6_862_271.7).into();
        let degrees = ReferenceSystem::Projected(2154).to_degrees(tower).unwrap();
        let Geometry::Point(point) = degrees else {
            panic!()
        };
        assert!(
            (point.x() - 2.2945).abs() < 1e-3 && (point.y() - 48.8584).abs() < 1e-3,
            "{point:?}"
        );
    }
}
