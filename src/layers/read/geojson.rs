//! Reads GeoJSON: a feature collection, a single feature, or a sequence of features, such as one per line.
//!
//! Features are read one by one, so that errors can name the feature. Geometries are read with our own types, to check
//! that positions have at least two numbers.

use std::fmt;
use std::io::BufRead;

use geo::{
    Coord, Geometry, GeometryCollection, LineString, MultiLineString, MultiPoint, MultiPolygon,
    Point,
};
use serde::Deserialize;
use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::{RawLayer, attributes, check_count};
use toise_geo::reference_system::ReferenceSystem;
use toise_geo::wkt::polygon_of;

/// Reads a text.
///
/// # Errors
/// It is not GeoJSON, or a feature is not valid.
pub(super) fn read(text: impl BufRead) -> Result<RawLayer, String> {
    let mut found = Found::default();
    let mut json = serde_json::Deserializer::from_reader(text);
    let failed = |error: serde_json::Error| format!("not valid GeoJSON: {error}");
    loop {
        TopLevel(&mut found)
            .deserialize(&mut json)
            .map_err(failed)?;
        if json.end().is_ok() {
            break;
        }
    }
    let system = match &found.crs {
        Some(crs) => ReferenceSystem::of_geojson(crs)?,
        None => None,
    };
    let properties = attributes::of_properties(found.properties)?;
    Ok(RawLayer {
        format: "GeoJSON",
        system,
        geometries: found.geometries,
        attributes: attributes::normalised(&properties)?,
    })
}

/// Reads the text of one geometry; `None` for an empty one.
///
/// # Errors
/// It is not a GeoJSON geometry.
pub(super) fn read_geometry(text: &str) -> Result<Option<Geometry>, String> {
    let geometry: JsonGeometry =
        serde_json::from_str(text).map_err(|error| format!("GeoJSON: {error}"))?;
    Ok(geometry.into_geometry())
}

/// The values read so far.
#[derive(Default)]
struct Found {
    geometries: Vec<Option<Geometry>>,
    properties: Vec<Map<String, Value>>,
    crs: Option<Value>,
}

impl Found {
    fn add(&mut self, feature: JsonFeature) -> Result<(), String> {
        check_count(self.geometries.len() + 1)?;
        let geometry = feature.geometry.and_then(JsonGeometry::into_geometry);
        self.geometries.push(geometry);
        let mut properties = feature.properties.unwrap_or_default();
        if let Some(id) = feature.id.filter(|id| !id.is_null())
            && !properties.contains_key("id")
        {
            properties.insert("id".to_owned(), id);
        }
        self.properties.push(properties);
        Ok(())
    }
}

#[derive(Deserialize)]
struct JsonFeature {
    geometry: Option<JsonGeometry>,
    properties: Option<Map<String, Value>>,
    id: Option<Value>,
}

/// A collection or a feature.
struct TopLevel<'f>(&'f mut Found);

impl<'de> DeserializeSeed<'de> for TopLevel<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for TopLevel<'_> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a feature collection or a feature")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut members: M) -> Result<(), M::Error> {
        let before = self.0.geometries.len();
        let mut feature = JsonFeature {
            geometry: None,
            properties: None,
            id: None,
        };
        let (mut kind, mut has_features) = (None, false);
        while let Some(name) = members.next_key::<String>()? {
            match name.as_str() {
                "type" => kind = members.next_value::<Option<String>>()?,
                "features" => {
                    has_features = true;
                    members.next_value_seed(Features(self.0))?;
                }
                "crs" => self.0.crs = members.next_value()?,
                "geometry" => {
                    let number = before + 1;
                    feature.geometry = members
                        .next_value()
                        .map_err(|error| de::Error::custom(format!("feature {number}: {error}")))?;
                }
                "properties" => feature.properties = members.next_value()?,
                "id" => feature.id = members.next_value()?,
                _ => {
                    members.next_value::<IgnoredAny>()?;
                }
            }
        }
        match kind.as_deref() {
            Some("FeatureCollection") if has_features => Ok(()),
            Some("Feature") => self.0.add(feature).map_err(de::Error::custom),
            Some("FeatureCollection") => Err(de::Error::missing_field("features")),
            other => Err(de::Error::custom(format!(
                "type: must be FeatureCollection or Feature, is {}",
                other.unwrap_or("missing")
            ))),
        }
    }
}

/// The features of a collection.
struct Features<'f>(&'f mut Found);

impl<'de> DeserializeSeed<'de> for Features<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Features<'_> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a list of features")
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut features: S) -> Result<(), S::Error> {
        loop {
            let number = self.0.geometries.len() + 1;
            let feature = features
                .next_element::<JsonFeature>()
                .map_err(|error| de::Error::custom(format!("feature {number}: {error}")))?;
            match feature {
                Some(feature) => self.0.add(feature).map_err(de::Error::custom)?,
                None => return Ok(()),
            }
        }
    }
}

/// A geometry of GeoJSON.
#[derive(Deserialize)]
#[serde(tag = "type")]
enum JsonGeometry {
    Point {
        coordinates: MaybePosition,
    },
    MultiPoint {
        coordinates: Vec<Position>,
    },
    LineString {
        coordinates: Vec<Position>,
    },
    MultiLineString {
        coordinates: Vec<Vec<Position>>,
    },
    Polygon {
        coordinates: Vec<Vec<Position>>,
    },
    MultiPolygon {
        coordinates: Vec<Vec<Vec<Position>>>,
    },
    GeometryCollection {
        geometries: Vec<JsonGeometry>,
    },
}

/// A position, or an empty list for an empty point.
#[derive(Deserialize)]
#[serde(try_from = "Vec<f64>")]
struct MaybePosition(Option<Coord>);

impl TryFrom<Vec<f64>> for MaybePosition {
    type Error = String;

    fn try_from(numbers: Vec<f64>) -> Result<Self, String> {
        match numbers[..] {
            [] => Ok(Self(None)),
            [x, y, ..] => Ok(Self(Some(Coord { x, y }))),
            [_] => Err("a position must have two numbers".to_owned()),
        }
    }
}

/// A position: longitude, latitude, and perhaps more numbers, which are ignored.
#[derive(Deserialize)]
#[serde(try_from = "MaybePosition")]
struct Position(Coord);

impl TryFrom<MaybePosition> for Position {
    type Error = String;

    fn try_from(position: MaybePosition) -> Result<Self, String> {
        let position = position.0.ok_or("a position must have two numbers")?;
        Ok(Self(position))
    }
}

impl JsonGeometry {
    /// Returns the geometry; `None` for an empty one.
    fn into_geometry(self) -> Option<Geometry> {
        let line = |positions: Vec<Position>| {
            LineString(positions.into_iter().map(|position| position.0).collect())
        };
        let polygon = |rings: Vec<Vec<Position>>| polygon_of(rings.into_iter().map(line).collect());
        match self {
            Self::Point { coordinates } => Some(Point(coordinates.0?).into()),
            Self::MultiPoint { coordinates } => {
                let points: Vec<Point> = coordinates
                    .into_iter()
                    .map(|position| Point(position.0))
                    .collect();
                (!points.is_empty()).then(|| MultiPoint(points).into())
            }
            Self::LineString { coordinates } => {
                (!coordinates.is_empty()).then(|| line(coordinates).into())
            }
            Self::MultiLineString { coordinates } => {
                let lines: Vec<LineString> = coordinates.into_iter().map(line).collect();
                (!lines.is_empty()).then(|| MultiLineString(lines).into())
            }
            Self::Polygon { coordinates } => polygon(coordinates).map(Geometry::from),
            Self::MultiPolygon { coordinates } => {
                let polygons: Vec<_> = coordinates.into_iter().filter_map(polygon).collect();
                (!polygons.is_empty()).then(|| MultiPolygon(polygons).into())
            }
            Self::GeometryCollection { geometries } => {
                let inner: Vec<Geometry> = geometries
                    .into_iter()
                    .filter_map(Self::into_geometry)
                    .collect();
                (!inner.is_empty())
                    .then_some(Geometry::GeometryCollection(GeometryCollection(inner)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POINT: &str = r#"{"type":"Feature","properties":{"nom":"a"},"geometry":{"type":"Point","coordinates":[2,48,30]}}"#;

    #[test]
    fn collections_features_and_lines_of_features_are_read() {
        let collection = format!(r#"{{"features":[{POINT},{POINT}],"type":"FeatureCollection"}}"#);
        let lines = format!("{POINT}\n{POINT}\n");
        for text in [collection, lines] {
            let layer = read(text.as_bytes()).unwrap();
            assert_eq!(
                (layer.geometries.len(), layer.attributes.num_rows()),
                (2, 2)
            );
            assert_eq!(layer.geometries[0], Some(Point::new(2.0, 48.0).into()));
        }
        let null = r#"{"type":"Feature","id":7,"properties":null,"geometry":null}"#;
        let layer = read(null.as_bytes()).unwrap();
        assert_eq!(layer.geometries, [None]);
        assert_eq!(layer.attributes.schema().field(0).name(), "id");
    }

    #[test]
    fn an_error_names_the_feature() {
        for (second, expected) in [
            (
                r#"{"type":"Point","coordinates":[2]}"#,
                "feature 2: a position must have two numbers",
            ),
            (
                r#"{"type":"Circle","coordinates":[2, 3]}"#,
                "feature 2: unknown variant `Circle`",
            ),
            (
                r#"{"type":"Point","coordinates":"2 48"}"#,
                "feature 2: invalid type: string",
            ),
        ] {
            let text = format!(
                r#"{{"type":"FeatureCollection","features":[{POINT},{{"type":"Feature","properties":{{}},"geometry":{second}}}]}}"#
            );
            let error = read(text.as_bytes()).unwrap_err();
            assert!(
                error.starts_with(&format!("not valid GeoJSON: {expected}")),
                "{error}"
            );
        }
        let error = read(&br#"{"type":"Topology"}"#[..]).unwrap_err();
        assert!(
            error.contains("must be FeatureCollection or Feature, is Topology"),
            "{error}"
        );
    }
}
