//! Repairs an area that another service computed, such as an isochrone: such areas may have more vertices than a filter
//! allows, and borders that cross themselves.

use geo::{BooleanOps, Coord, LineString, MultiPolygon, Polygon, Simplify};
use serde_json::Value;

use super::rings::read_position;
use super::{Area, AreaFault, VERTICES_MAX};

/// First distance by which a simplified border may differ, degrees: about one metre. It doubles with each attempt.
const TOLERANCE_DEGREES: f64 = 1e-5;
/// Maximum attempts; the last one simplifies by about 500 metres.
const ATTEMPTS_MAX: usize = 11;

impl Area {
    /// Reads a GeoJSON geometry as [`Self::from_geojson`] does, but repairs it if possible. Of borders that cross or touch
    /// themselves, what they enclose is kept. If there are too many vertices, borders are simplified. CPU-bound:
    /// milliseconds for thousands of vertices.
    ///
    /// # Errors
    /// It is not a Polygon or MultiPolygon, or it cannot be repaired. The fault is that of [`Self::from_geojson`].
    pub fn repaired(value: &Value) -> Result<Self, AreaFault> {
        let fault = match Self::from_geojson(value) {
            Ok(area) => return Ok(area),
            Err(fault) => fault,
        };
        let polygons = polygons_of(value).unwrap_or_default();
        // The first attempt changes only crossing borders.
        let mut tolerance = 0.0;
        for _ in 0..ATTEMPTS_MAX {
            let rings = rings_of(&polygons, tolerance);
            let vertices: usize = rings.iter().flatten().map(Vec::len).sum();
            if vertices <= VERTICES_MAX
                && let Ok(area) = Self::from_rings(rings)
            {
                return Ok(area);
            }
            tolerance = f64::max(tolerance * 2.0, TOLERANCE_DEGREES);
        }
        Err(fault)
    }
}

/// Returns the rings of polygons that were simplified, of each polygon the outer ring first. Crossing borders become
/// separate polygons.
fn rings_of(polygons: &[Polygon], tolerance: f64) -> Vec<Vec<Vec<Coord>>> {
    let parts = polygons.iter().flat_map(|polygon| {
        // A union with an empty geometry keeps the areas inside an odd number of borders.
        let simple = polygon.simplify(tolerance);
        simple.union(&MultiPolygon::empty()).0
    });
    let rings = parts.map(|part| {
        let rings = std::iter::once(part.exterior()).chain(part.interiors());
        rings.map(|ring| ring.0.clone()).collect()
    });
    rings.collect()
}

fn polygons_of(geometry: &Value) -> Option<Vec<Polygon>> {
    let coordinates = &geometry["coordinates"];
    match geometry["type"].as_str()? {
        "Polygon" => Some(vec![polygon(coordinates)?]),
        "MultiPolygon" => coordinates.as_array()?.iter().map(polygon).collect(),
        _ => None,
    }
}

fn polygon(rings: &Value) -> Option<Polygon> {
    let rings: Option<Vec<LineString>> = rings.as_array()?.iter().map(ring).collect();
    let mut rings = rings?.into_iter();
    let exterior = rings.next()?;
    Some(Polygon::new(exterior, rings.collect()))
}

fn ring(positions: &Value) -> Option<LineString> {
    let positions: Option<Vec<Coord>> = positions.as_array()?.iter().map(read_position).collect();
    Some(LineString(positions?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::f64::consts::TAU;

    #[test]
    fn a_valid_area_stays_as_it_is() {
        let square = json!({"type": "Polygon", "coordinates": [[[2, 48], [3, 48], [3, 49], [2, 49], [2, 48]]]});
        let area = Area::from_geojson(&square).unwrap();
        assert_eq!(Area::repaired(&square).unwrap(), area);
    }

    #[test]
    fn crossing_and_touching_borders_keep_what_they_enclose() {
        let bow_tie = json!([[[2, 48], [3, 49], [3, 48], [2, 49], [2, 48]]]);
        let touching = json!([[[2, 48], [4, 48], [4, 50], [3, 48], [2, 50], [2, 48]]]);
        for (rings, inside, outside) in [
            (bow_tie, (48.5, 2.9), (48.9, 2.5)),
            (touching, (49.0, 2.2), (49.5, 3.0)),
        ] {
            let value = json!({"type": "Polygon", "coordinates": rings});
            assert!(Area::from_geojson(&value).is_err());
            let area = Area::repaired(&value).unwrap();
            assert!(area.contains(inside.0, inside.1), "{area:?}");
            assert!(!area.contains(outside.0, outside.1), "{area:?}");
        }
    }

    #[test]
    fn a_border_with_too_many_vertices_is_simplified() {
        // Nine bays around a circle of about 11 km.
        let radius = |nth: u32| 0.1 + 0.03 * (TAU * 9.0 * f64::from(nth) / 9_000.0).sin();
        let at = |nth: u32| {
            let angle = TAU * f64::from(nth) / 9_000.0;
            [
                2.0 + radius(nth) * angle.cos(),
                48.0 + radius(nth) * angle.sin(),
            ]
        };
        let mut border: Vec<[f64; 2]> = (0..9_000).map(at).collect();
        border.push(border[0]);
        let value = json!({"type": "Polygon", "coordinates": [border]});
        let area = Area::repaired(&value).unwrap();
        let kept: Value = serde_json::from_str(&area.to_geojson()).unwrap();
        let vertices = kept["coordinates"][0][0].as_array().unwrap().len();
        assert!((100..=VERTICES_MAX).contains(&vertices), "{vertices}");
        for nth in (0..9_000).step_by(50) {
            let [lon, lat] = at(nth);
            let [inner, outer] =
                [0.99, 1.01].map(|share| (48.0 + (lat - 48.0) * share, 2.0 + (lon - 2.0) * share));
            assert!(area.contains(inner.0, inner.1), "{nth}");
            assert!(!area.contains(outer.0, outer.1), "{nth}");
        }
    }

    #[test]
    fn what_is_no_polygon_is_refused() {
        for value in [
            json!({"type": "Point", "coordinates": [2, 48]}),
            json!({"type": "Polygon", "coordinates": [[[2, 48], [3, 48], [2, 48]]]}),
            json!({"type": "Polygon", "coordinates": [[[2, 48], ["x", 48], [3, 49], [2, 48]]]}),
            json!({"type": "Polygon", "coordinates": []}),
        ] {
            let fault = Area::from_geojson(&value).unwrap_err();
            assert_eq!(Area::repaired(&value).unwrap_err(), fault);
        }
    }
}
