//! Layers drawn at random, and the crate `geo` as the judge of the relations of positions to them.

use std::path::Path;

use geo::{Distance, Euclidean, Geometry, Intersects, MapCoords, Point};
use serde_json::{Value, json};
use toise::base::clock::Clock;
use toise::geo::distance::Plane;
use toise::layers::import::{ImportOptions, InvalidFeatures, import};

use super::areas;
use super::draw::Draw;

/// Geometries, as a layer has them.
pub struct Drawn(Vec<Geometry>);

/// Imports geometries in GeoJSON as a layer, in place of the one of this name.
pub fn store(data: &Path, name: &str, geometries: &[Value]) {
    let features = geometries.iter();
    let features: Vec<Value> = features
        .map(|geometry| json!({"type": "Feature", "properties": {}, "geometry": geometry}))
        .collect();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("layer.geojson");
    let collection = json!({"type": "FeatureCollection", "features": features});
    std::fs::write(&file, collection.to_string()).unwrap();
    let options = ImportOptions {
        licence: None,
        source: None,
        invalid: InvalidFeatures::Refused,
    };
    import(
        data,
        &name.parse().unwrap(),
        &file,
        &options,
        &Clock::system(),
    )
    .unwrap();
}

/// Draws geometries around positions: stars with and without holes, and triangles with a vertex and an edge on positions, so
/// that borders are met.
pub fn geometries(draw: &mut Draw, positions: &[(f64, f64)], radius: f64) -> Vec<Value> {
    let count = 3 + draw.below(20);
    (0..count)
        .map(|_| {
            let (lat, lon) = *draw.one_of(positions);
            if draw.once_in(3) {
                // The position is in the middle of the southern edge.
                let (half, height) = (radius / 2.0, radius);
                let ring = [
                    [lon - half, lat],
                    [lon + half, lat],
                    [lon, lat + height],
                    [lon - half, lat],
                ];
                return json!({"type": "Polygon", "coordinates": [ring]});
            }
            areas::area(draw, lat, lon, radius)
        })
        .collect()
}

impl Drawn {
    pub fn new(geometries: &[Value]) -> Self {
        let read = |geometry: &Value| {
            let geometry: geojson::Geometry = serde_json::from_value(geometry.clone()).unwrap();
            Geometry::<f64>::try_from(geometry).unwrap()
        };
        Self(geometries.iter().map(read).collect())
    }

    /// Whether a position satisfies a filter on the layer. `None` if it is so near to the limit that rounding decides.
    pub fn holds(&self, filter: &Value, lat: f64, lon: f64) -> Option<bool> {
        let point = Point::new(lon, lat);
        let is_inside = || self.0.iter().any(|geometry| geometry.intersects(&point));
        match filter["relation"].as_str() {
            Some("outside") => Some(!is_inside()),
            Some("within") => {
                let meters = filter["meters"].as_f64().unwrap();
                let plane = Plane::at(lat, lon);
                let distances = self.0.iter().map(|geometry| {
                    let on_plane = geometry.map_coords(|position| plane.offset_m(position));
                    Euclidean.distance(&on_plane, &Geometry::from(Point::new(0.0, 0.0)))
                });
                let nearest = distances.fold(f64::INFINITY, f64::min);
                ((nearest - meters).abs() > 1e-3).then_some(nearest <= meters)
            }
            _ => Some(is_inside()),
        }
    }
}

/// Draws a filter on a layer.
pub fn filter(draw: &mut Draw, name: &str) -> Value {
    match draw.below(4) {
        0 => json!({"name": name}),
        1 => json!({"name": name, "relation": "inside"}),
        2 => json!({"name": name, "relation": "outside"}),
        _ => {
            let meters = *draw.one_of(&[1, 150, 800, 4_000, 30_000]);
            json!({"name": name, "relation": "within", "meters": meters})
        }
    }
}
