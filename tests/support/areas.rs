//! Areas drawn at random, and the crate `geo` as the judge of what is in them.

use geo::{Geometry, Intersects, Point};
use serde_json::{Value, json};

use super::draw::Draw;

/// A star around a position, sometimes with a hole, sometimes with a second polygon next to it, as GeoJSON.
pub fn area(draw: &mut Draw, lat: f64, lon: f64, radius: f64) -> Value {
    let mut ring = |lon: f64, share: f64| {
        let vertices = 3 + draw.below(12);
        let mut ring: Vec<[f64; 2]> = (0..vertices)
            .map(|nth| {
                let angle = nth as f64 / vertices as f64 * std::f64::consts::TAU;
                let reach = radius * share * (50 + draw.below(50)) as f64 / 100.0;
                [lon + reach * angle.cos(), lat + reach * angle.sin()]
            })
            .collect();
        ring.push(ring[0]);
        ring
    };
    // The hole is inside: even the least triangle of the outer ring reaches a quarter of the radius everywhere.
    let (outer, hole, other) = (
        ring(lon, 1.0),
        ring(lon, 0.2),
        ring(lon + 3.0 * radius, 1.0),
    );
    match draw.below(3) {
        0 => json!({"type": "Polygon", "coordinates": [outer]}),
        1 => json!({"type": "Polygon", "coordinates": [outer, hole]}),
        _ => json!({"type": "MultiPolygon", "coordinates": [[outer, hole], [other]]}),
    }
}

/// An area as `geo` judges it.
pub struct Judge(Geometry<f64>);

impl Judge {
    /// The judge of an area.
    pub fn new(area: &Value) -> Self {
        let geometry: geojson::Geometry = serde_json::from_value(area.clone()).unwrap();
        Self(Geometry::try_from(geometry).unwrap())
    }

    /// Whether a position is in the area, border included.
    pub fn contains(&self, lat: f64, lon: f64) -> bool {
        self.0.intersects(&Point::new(lon, lat))
    }
}

/// Whether a position is in an area, border included.
pub fn contains(area: &Value, lat: f64, lon: f64) -> bool {
    Judge::new(area).contains(lat, lon)
}
