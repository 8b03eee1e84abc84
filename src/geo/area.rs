//! Areas: polygons drawn on a map. Tests whether they contain a position or meet a box.
//!
//! An area is a GeoJSON Polygon or MultiPolygon. Its edges are straight in longitude and latitude. A position is in the
//! area if it is in one of its polygons and in none of the polygon's holes. A position on a border, even that of a
//! hole, is in the area. The test is exact: the side of an edge is decided with robust predicates, as `geo` does.
//!
//! Edges are sorted into bands of latitude, so that a test looks only at the edges near the latitude of the position.

use std::fmt;
use std::ops::RangeInclusive;

use geo::algorithm::kernels::{Kernel, Orientation, RobustKernel};
use geo::{Coord, coord};
use serde_json::{Value, json};

use super::plausible::{PositionFault, is_swapped};
use rings::{check_polygon, read_geometry, ring_path, tidy};

mod distance;
mod repair;
mod rings;

/// Maximum vertices of an area, over all its rings, not counting the last position of a ring, which repeats the first.
pub const VERTICES_MAX: usize = 2_000;
/// Maximum average number of bands per edge. With more bands, long edges would be in too many of them.
const ENTRIES_PER_EDGE_MAX: usize = 8;

/// The reason that a GeoJSON value is not a valid area.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}{}{rule}", if path.is_empty() { "" } else { ": " })]
pub struct AreaFault {
    /// The faulty part, such as `coordinates[0][3]`; empty for the value itself.
    pub path: String,
    /// The rule that it breaks.
    pub rule: String,
}

/// An edge of a ring, from its southern to its northern end.
#[derive(Clone, Copy, Debug)]
struct Edge {
    south: Coord,
    north: Coord,
    /// Index of the polygon.
    polygon: u32,
}

/// A ring: its vertices in order, without the last position, which repeats the first.
type Ring = Vec<Coord>;

/// A valid area.
pub struct Area {
    /// Rings of each polygon, the outer one first.
    polygons: Vec<Vec<Ring>>,
    edges: Vec<Edge>,
    /// For each band, the end of its entries.
    ends: Vec<u32>,
    /// Indices of the edges that reach into each band, by polygon.
    entries: Vec<u32>,
    min: Coord,
    max: Coord,
}

impl Area {
    /// Reads a GeoJSON geometry and checks it.
    ///
    /// # Errors
    /// It is not a Polygon or MultiPolygon of at most [`VERTICES_MAX`] vertices; a ring is not closed, has fewer than
    /// three vertices, touches or crosses itself, or crosses or runs along another ring of its polygon; a hole is
    /// outside its polygon; or latitude and longitude seem to be swapped. The fault names the position.
    pub fn from_geojson(value: &Value) -> Result<Self, AreaFault> {
        let polygons = read_geometry(value)?;
        let is_multiple = value["type"] == "MultiPolygon";
        for (index, rings) in polygons.iter().enumerate() {
            check_polygon(rings, is_multiple.then_some(index))?;
        }
        let area = Self::new(polygons);
        let middle = (area.min + area.max) / 2.0;
        if is_swapped(middle.y, middle.x) {
            return Err(fault("", PositionFault::CoordinatesSwapped.to_string()));
        }
        Ok(area)
    }

    /// Reads the text of a GeoJSON geometry and checks it.
    ///
    /// # Errors
    /// It is not JSON, or not a valid area, as for [`Self::from_geojson`].
    pub fn parse(text: &str) -> Result<Self, AreaFault> {
        let value = serde_json::from_str(text)
            .map_err(|error| fault("", format!("must be GeoJSON: {error}")))?;
        Self::from_geojson(&value)
    }

    /// Makes an area of the rings of polygons, the outer ring of each first, and checks it as [`Self::from_geojson`]
    /// does. The last position of a ring may repeat the first. The number of vertices is not limited; each takes about
    /// 90 bytes of memory.
    ///
    /// # Errors
    /// There is no polygon; a ring has fewer than three vertices, touches or crosses itself, or crosses or runs along
    /// another ring of its polygon; or a hole is outside its polygon.
    pub fn from_rings(mut polygons: Vec<Vec<Vec<Coord>>>) -> Result<Self, AreaFault> {
        let is_multiple = polygons.len() > 1;
        if polygons.is_empty() || polygons.iter().any(Vec::is_empty) {
            return Err(fault("", "a polygon has no ring"));
        }
        for (index, rings) in polygons.iter_mut().enumerate() {
            let polygon = is_multiple.then_some(index);
            for (nth, ring) in rings.iter_mut().enumerate() {
                tidy(ring).map_err(|rule| fault(ring_path(polygon, nth), rule))?;
            }
            check_polygon(rings, polygon)?;
        }
        Ok(Self::new(polygons))
    }

    fn new(polygons: Vec<Vec<Ring>>) -> Self {
        let mut edges = Vec::new();
        let (mut min, mut max) = (polygons[0][0][0], polygons[0][0][0]);
        for (polygon, rings) in (0..).zip(&polygons) {
            for (from, to) in rings.iter().flat_map(|ring| ring_edges(ring)) {
                min = coord! { x: min.x.min(from.x), y: min.y.min(from.y) };
                max = coord! { x: max.x.max(from.x), y: max.y.max(from.y) };
                let (south, north) = if from.y <= to.y {
                    (from, to)
                } else {
                    (to, from)
                };
                edges.push(Edge {
                    south,
                    north,
                    polygon,
                });
            }
        }
        let mut area = Self {
            polygons,
            edges,
            ends: Vec::new(),
            entries: Vec::new(),
            min,
            max,
        };
        area.sort_into_bands();
        area
    }

    /// Fills the bands. There are as many bands as edges, or fewer if edges are long.
    fn sort_into_bands(&mut self) {
        let mut bands = self.edges.len().max(1);
        let reach = |edge: &Edge, bands| {
            self.band_of(edge.south.y, bands)..=self.band_of(edge.north.y, bands)
        };
        let entries = |bands| -> usize {
            let edges = self.edges.iter();
            edges.map(|edge| reach(edge, bands).count()).sum()
        };
        while bands > 1 && entries(bands) > ENTRIES_PER_EDGE_MAX * self.edges.len() {
            bands /= 2;
        }
        let mut sorted: Vec<Vec<u32>> = vec![Vec::new(); bands];
        for (index, edge) in (0..).zip(&self.edges) {
            for band in reach(edge, bands) {
                sorted[band].push(index);
            }
        }
        for band in sorted {
            self.entries.extend(band);
            self.ends.push(self.entries.len() as u32);
        }
    }

    /// Returns the entries of some bands.
    fn entries(&self, bands: RangeInclusive<usize>) -> &[u32] {
        let first = bands
            .start()
            .checked_sub(1)
            .map_or(0, |before| self.ends[before]);
        &self.entries[first as usize..self.ends[*bands.end()] as usize]
    }

    fn band_of(&self, lat: f64, bands: usize) -> usize {
        let height = self.max.y - self.min.y;
        let share = (lat - self.min.y) / height;
        // The conversion saturates for positions outside; an area without height has one band.
        ((share * bands as f64) as usize).min(bands - 1)
    }

    /// Returns the box around the area: southern, northern, western and eastern edge, degrees.
    pub fn bounds(&self) -> [f64; 4] {
        [self.min.y, self.max.y, self.min.x, self.max.x]
    }

    /// Returns whether a position in degrees is in the area, border included.
    pub fn contains(&self, lat: f64, lon: f64) -> bool {
        let inside_box =
            lat >= self.min.y && lat <= self.max.y && lon >= self.min.x && lon <= self.max.x;
        if !inside_box {
            return false;
        }
        let band = self.band_of(lat, self.ends.len());
        let position = coord! { x: lon, y: lat };
        let (mut polygon, mut is_inside) = (0, false);
        for entry in self.entries(band..=band) {
            let edge = &self.edges[*entry as usize];
            if edge.polygon != polygon {
                if is_inside {
                    return true;
                }
                polygon = edge.polygon;
            }
            match edge.passes(position) {
                Passing::East => is_inside = !is_inside,
                Passing::Elsewhere => {}
                Passing::Through => return true,
            }
        }
        is_inside
    }

    /// Returns whether a box has a position in common with the area. The box is given by its southern, northern,
    /// western and eastern edge, in degrees.
    pub fn meets(&self, [south, north, west, east]: [f64; 4]) -> bool {
        if south > self.max.y || north < self.min.y || west > self.max.x || east < self.min.x {
            return false;
        }
        // If no edge passes through the box, it is entirely inside or outside, so testing one corner is enough.
        if self.contains(south, west) {
            return true;
        }
        let bands = [south, north].map(|lat| self.band_of(lat, self.ends.len()));
        let entries = self.entries(bands[0]..=bands[1]).iter();
        let mut edges = entries.map(|entry| &self.edges[*entry as usize]);
        edges.any(|edge| edge.meets(south, north, west, east))
    }

    /// Returns the area as GeoJSON text of a MultiPolygon, which [`Self::parse`] reads. Equal areas have equal texts.
    pub fn to_geojson(&self) -> String {
        let ring = |ring: &Ring| -> Vec<[f64; 2]> {
            let closed = ring.iter().chain(ring.first());
            closed.map(|position| [position.x, position.y]).collect()
        };
        let polygons = self.polygons.iter();
        let coordinates: Vec<Vec<_>> = polygons
            .map(|rings| rings.iter().map(ring).collect())
            .collect();
        json!({"type": "MultiPolygon", "coordinates": coordinates}).to_string()
    }
}

impl PartialEq for Area {
    fn eq(&self, other: &Self) -> bool {
        self.polygons == other.polygons
    }
}

impl fmt::Debug for Area {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.to_geojson())
    }
}

/// Where an edge is relative to a position.
enum Passing {
    /// East of it, so that a ray to the east crosses the edge.
    East,
    /// Through it.
    Through,
    /// West of it, or at other latitudes.
    Elsewhere,
}

impl Edge {
    fn passes(&self, position: Coord) -> Passing {
        let Self { south, north, .. } = self;
        if position.y < south.y || position.y > north.y || position.x > south.x.max(north.x) {
            return Passing::Elsewhere;
        }
        // The northern end belongs to the next edge, so that a ray through a vertex crosses once.
        let crosses = position.y < north.y;
        if position.x >= south.x.min(north.x) {
            match RobustKernel::orient2d(*south, *north, position) {
                Orientation::Collinear => return Passing::Through,
                Orientation::Clockwise => return Passing::Elsewhere,
                Orientation::CounterClockwise => {}
            }
        }
        if crosses {
            Passing::East
        } else {
            Passing::Elsewhere
        }
    }

    /// Returns whether the edge has a position in common with a box.
    fn meets(&self, south: f64, north: f64, west: f64, east: f64) -> bool {
        let [a, b] = [self.south, self.north];
        if b.y < south || a.y > north || a.x.max(b.x) < west || a.x.min(b.x) > east {
            return false;
        }
        // The line through the edge passes the box unless all corners are on one side of it.
        let corners = [(west, south), (west, north), (east, south), (east, north)];
        let sides = corners.map(|(x, y)| RobustKernel::orient2d(a, b, coord! { x: x, y: y }));
        let first = sides[0];
        first == Orientation::Collinear || sides.iter().any(|side| *side != first)
    }
}

fn fault(path: impl Into<String>, rule: impl Into<String>) -> AreaFault {
    AreaFault {
        path: path.into(),
        rule: rule.into(),
    }
}

fn ring_edges(ring: &[Coord]) -> impl Iterator<Item = (Coord, Coord)> + '_ {
    let next = ring.iter().cycle().skip(1);
    ring.iter().copied().zip(next.copied())
}

#[cfg(test)]
mod tests {
    use super::*;
    use geo::{Intersects, LineString, MultiPolygon, Point, Polygon, Rect};
    use toise_base::splitmix::SplitMix64;

    fn refusal(value: Value) -> String {
        Area::from_geojson(&value).unwrap_err().to_string()
    }

    fn square(west: f64, south: f64, side: f64) -> Value {
        let (east, north) = (west + side, south + side);
        json!([
            [west, south],
            [east, south],
            [east, north],
            [west, north],
            [west, south]
        ])
    }

    #[test]
    fn borders_and_vertices_belong_to_the_area_and_holes_do_not() {
        let rings = [square(2.0, 48.0, 4.0), square(3.0, 49.0, 1.0)];
        let area = Area::from_geojson(&json!({"type": "Polygon", "coordinates": rings})).unwrap();
        for (lat, lon, expected) in [
            (48.5, 2.5, true),
            (48.0, 2.0, true),
            (52.0, 6.0, true),
            (50.0, 2.0, true),
            (52.0, 4.0, true),
            (49.5, 3.5, false),
            (49.0, 3.5, true),
            (50.0, 4.0, true),
            (47.999_999_9, 3.0, false),
            (50.0, 6.000_000_1, false),
            (f64::NAN, 3.0, false),
        ] {
            assert_eq!(area.contains(lat, lon), expected, "{lat} {lon}");
        }
        assert_eq!(area.bounds(), [48.0, 52.0, 2.0, 6.0]);
        assert!(!area.meets([49.2, 49.8, 3.2, 3.8]), "inside the hole");
        assert!(area.meets([49.2, 49.8, 3.2, 4.2]) && area.meets([40.0, 60.0, 0.0, 10.0]));
        assert_eq!(Area::parse(&area.to_geojson()).unwrap(), area);
    }

    #[test]
    fn a_geometry_that_is_not_valid_is_refused_at_its_vertex() {
        let polygon = |rings: Value| json!({"type": "Polygon", "coordinates": rings});
        let bow_tie = json!([[[2, 48], [3, 49], [3, 48], [2, 49], [2, 48]]]);
        let spike = json!([[[2, 48], [3, 48], [3, 49], [3, 48.5], [2, 49], [2, 48]]]);
        let touching = json!([[[2, 48], [4, 48], [4, 49], [3, 48], [2, 49], [2, 48]]]);
        let outside = json!([square(2.0, 48.0, 1.0), square(5.0, 48.0, 1.0)]);
        let crossing = json!([square(2.0, 48.0, 1.0), square(2.5, 48.5, 1.0)]);
        let along = json!([square(2.0, 48.0, 1.0), square(2.0, 48.2, 0.5)]);
        #[rustfmt::skip]
        let cases = [
            (json!("Paris"), "type: must be Polygon or MultiPolygon"),
            (json!({"type": "Feature"}), "type: must be Polygon or MultiPolygon: give the geometry of a feature"),
            (polygon(json!([])), "coordinates: must be a list that is not empty"),
            (
                polygon(json!([[[2, 48], [3, 48], [3, 49]]])),
                "coordinates[0][2]: the last position must be the same as the first",
            ),
            (
                polygon(json!([[[2, 48], [3, 48], [2, 48]]])),
                "coordinates[0]: must have at least three different vertices",
            ),
            (
                polygon(json!([[[2, 48], [3, "x"], [3, 49], [2, 48]]])),
                "coordinates[0][1]: must be [longitude, latitude] in degrees",
            ),
            (
                polygon(json!([[[2, 48], [3, 95], [3, 49], [2, 48]]])),
                "coordinates[0][1]: must be [longitude, latitude] in degrees",
            ),
            (polygon(bow_tie), "coordinates[0][2]: the border crosses itself after this vertex"),
            (polygon(spike), "coordinates[0][3]: the border touches itself after this vertex"),
            (polygon(touching), "coordinates[0][3]: the border touches itself after this vertex"),
            (polygon(outside.clone()), "coordinates[1][0]: the hole is outside its polygon"),
            (polygon(crossing), "coordinates[1][3]: the border crosses itself after this vertex"),
            (polygon(along), "coordinates[1][3]: the border runs along itself here"),
            (
                json!({"type": "MultiPolygon", "coordinates": [[square(2.0, 48.0, 1.0)], outside]}),
                "coordinates[1][1][0]: the hole is outside its polygon",
            ),
        ];
        for (value, expected) in cases {
            let found = refusal(value.clone());

            assert_eq!(found, expected, "{value}");
        }
        let swapped = refusal(polygon(json!([square(48.0, 2.0, 1.0)])));
        assert!(swapped.contains("coordinates_swapped"), "{swapped}");
        let many: Vec<[f64; 2]> = (0..2_002)
            .map(|nth| [2.0 + f64::from(nth) * 1e-4, 48.0])
            .collect();
        assert!(refusal(polygon(json!([many]))).contains("at most 2000 vertices"));
    }

    #[test]
    fn polygons_may_overlap_and_share_borders() {
        let polygons = [
            [square(2.0, 48.0, 2.0)],
            [square(3.0, 49.0, 2.0)],
            [square(0.0, 48.0, 2.0)],
        ];
        let area =
            Area::from_geojson(&json!({"type": "MultiPolygon", "coordinates": polygons})).unwrap();
        for (lat, lon, expected) in [
            (49.5, 3.5, true),
            (48.5, 1.5, true),
            (48.5, 2.0, true),
            (50.5, 2.5, false),
        ] {
            assert_eq!(area.contains(lat, lon), expected, "{lat} {lon}");
        }
    }

    /// A star around a centre: its vertices lie on rays in order of their angle, so it never crosses itself.
    /// Coordinates are multiples of 1/64, so that many drawn positions lie on vertices and edges.
    fn star(draw: &mut SplitMix64, vertices: usize) -> Vec<[f64; 2]> {
        let mut ring: Vec<[f64; 2]> = (0..vertices)
            .map(|nth| {
                let angle = nth as f64 / vertices as f64 * std::f64::consts::TAU;
                let radius = 0.2 + draw.unit() * 1.5;
                let round = |value: f64| (value * 64.0).round() / 64.0;
                [
                    round(4.0 + radius * angle.cos()),
                    round(46.0 + radius * angle.sin()),
                ]
            })
            .collect();
        ring.push(ring[0]);
        ring
    }

    #[test]
    fn positions_and_boxes_are_judged_as_geo_judges_them() {
        let mut draw = SplitMix64::new(40);
        let mut judged = 0;
        let mut polygons = 0;
        while polygons < 2_000 {
            let vertices = 3 + (draw.unit() * 60.0) as usize;
            let ring = star(&mut draw, vertices);
            let value = json!({"type": "Polygon", "coordinates": [ring]});
            // Rounding makes some stars touch themselves.
            let Ok(area) = Area::from_geojson(&value) else {
                continue;
            };
            polygons += 1;
            let exterior = LineString::from(ring.iter().map(|[x, y]| (*x, *y)).collect::<Vec<_>>());
            let reference = MultiPolygon::new(vec![Polygon::new(exterior, Vec::new())]);
            for _ in 0..50 {
                let mut coordinate = |middle: f64| {
                    let drawn = middle - 2.0 + draw.unit() * 4.0;
                    if draw.unit() < 0.7 {
                        (drawn * 64.0).round() / 64.0
                    } else {
                        drawn
                    }
                };
                let (lon, lat) = (coordinate(4.0), coordinate(46.0));
                let expected = reference.intersects(&Point::new(lon, lat));
                assert_eq!(area.contains(lat, lon), expected, "{lat} {lon} {value}");
                judged += usize::from(expected);
                let (east, north) = (lon + draw.unit() * 0.5, lat + draw.unit() * 0.5);
                let rect = Rect::new((lon, lat), (east, north));
                let meets = area.meets([lat, north, lon, east]);
                assert_eq!(meets, reference.intersects(&rect), "{rect:?} {value}");
            }
        }
        assert!(judged > 10_000, "{judged}");
    }
}
