//! Holds a layer in memory: its geometries, with a packed R-tree over the boxes of their parts.
//!
//! Polygons are areas (`toise_geo::area`), whose edges are sorted by latitude, so that a test looks at only a few of
//! them. Lines are cut into pieces. Memory: about 90 bytes for a vertex of a polygon, 16 for one of a line.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::ops::Range;

use arrow::array::AsArray;
use arrow::datatypes::Int64Type;
use bytes::Bytes;
use geo::{Coord, Intersects, Line};
use geo_index::rtree::sort::HilbertSort;
use geo_index::rtree::{RTree, RTreeBuilder, RTreeIndex};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use rayon::prelude::*;
use toise_geo::area::Area;
use toise_geo::distance::Plane;

use crate::geometry::{PartRef, each_part};
use crate::prepare::area_of;
use crate::wkb;
use crate::write::{FEATURE, GEOMETRY};

/// Maximum segments per piece of a line.
const PIECE_SEGMENTS_MAX: usize = 32;
/// Numbers per box in the tree.
const BOX_NUMBERS: usize = 4;
/// Maximum amount by which rounding may make the distance to a box exceed the distance to a part in it, metres.
const BOX_SLACK_M: f64 = 1e-3;

/// A part of a feature.
#[derive(Debug)]
enum Part {
    Point(Coord),
    /// A piece of a line.
    Line(Box<[Coord]>),
    Polygon(Box<Area>),
}

impl Part {
    fn contains(&self, lat: f64, lon: f64) -> bool {
        let position = Coord { x: lon, y: lat };
        match self {
            Self::Point(point) => *point == position,
            Self::Line(piece) => {
                let mut segments = piece.windows(2);
                segments.any(|ends| Line::new(ends[0], ends[1]).intersects(&position))
            }
            Self::Polygon(area) => area.contains(lat, lon),
        }
    }

    fn distance_m(&self, lat: f64, lon: f64, plane: &Plane) -> f64 {
        match self {
            Self::Point(point) => plane.segment_distance_m(*point, *point),
            Self::Line(piece) => {
                let segments = piece.windows(2);
                let distances = segments.map(|ends| plane.segment_distance_m(ends[0], ends[1]));
                distances.fold(f64::INFINITY, f64::min)
            }
            Self::Polygon(area) => area.distance_m(lat, lon),
        }
    }

    /// Returns western, southern, eastern and northern edge.
    fn bounds(&self) -> [f64; BOX_NUMBERS] {
        match self {
            Self::Point(point) => [point.x, point.y, point.x, point.y],
            Self::Line(piece) => {
                let first = piece[0];
                let start = [first.x, first.y, first.x, first.y];
                piece.iter().fold(start, |[west, south, east, north], one| {
                    [
                        west.min(one.x),
                        south.min(one.y),
                        east.max(one.x),
                        north.max(one.y),
                    ]
                })
            }
            Self::Polygon(area) => {
                let [south, north, west, east] = area.bounds();
                [west, south, east, north]
            }
        }
    }
}

/// The feature that is nearest to a position.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Nearest {
    /// Number of the feature.
    pub feature: i64,
    /// Planar distance, metres; 0 inside and on the border.
    pub distance_m: f64,
}

/// The geometries of a layer.
#[derive(Debug)]
pub struct LayerIndex {
    parts: Vec<Part>,
    /// Number of the feature that each part belongs to.
    features: Vec<i64>,
    tree: RTree<f64>,
    /// Whether any part is a polygon.
    has_polygons: bool,
    /// Checksum of the data file.
    version: String,
}

/// A child of a node of the tree.
enum Below {
    /// A part, by its index.
    Part(usize),
    /// Nodes, by their offsets in the array of boxes.
    Nodes(Range<usize>),
}

/// A node of the tree that may hold something near: its distance, and its offset in the array of boxes.
#[derive(Clone, Copy, PartialEq)]
struct Candidate {
    distance_m: f64,
    place: usize,
}

impl Eq for Candidate {}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_distance = self.distance_m.total_cmp(&other.distance_m);
        by_distance.then(self.place.cmp(&other.place))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl LayerIndex {
    /// Reads the geometries of a data file with this checksum, on all cores.
    ///
    /// # Errors
    /// The data is not a data file of a layer.
    pub(crate) fn read(data: Bytes, checksum: &str) -> Result<Self, String> {
        let failed = |error: parquet::errors::ParquetError| error.to_string();
        let builder = ParquetRecordBatchReaderBuilder::try_new(data).map_err(failed)?;
        let columns = ProjectionMask::columns(builder.parquet_schema(), [FEATURE, GEOMETRY]);
        let rows = builder.with_projection(columns).build().map_err(failed)?;
        let (mut parts, mut features) = (Vec::new(), Vec::new());
        for batch in rows {
            let batch = batch.map_err(|error| error.to_string())?;
            let column = |name: &str| batch.column_by_name(name).ok_or("a column is missing");
            let numbers = column(FEATURE)?
                .as_primitive_opt::<Int64Type>()
                .ok_or("the numbers of features have another type")?;
            let geometries = column(GEOMETRY)?
                .as_binary_opt::<i32>()
                .ok_or("the geometries have another type")?;
            let rows = (0..batch.num_rows()).into_par_iter();
            let of_rows: Vec<Vec<Part>> = rows
                .map(|row| parts_of(geometries.value(row)))
                .collect::<Result<_, _>>()?;
            for (of_row, number) in of_rows.into_iter().zip(numbers.values()) {
                features.extend(std::iter::repeat_n(*number, of_row.len()));
                parts.extend(of_row);
            }
        }
        Ok(Self {
            version: checksum.to_owned(),
            ..Self::over(parts, features)?
        })
    }

    fn over(parts: Vec<Part>, features: Vec<i64>) -> Result<Self, String> {
        let count = u32::try_from(parts.len()).map_err(|_| "it has too many parts")?;
        if count == 0 {
            return Err("it has no features".to_owned());
        }
        let mut tree = RTreeBuilder::<f64>::new(count);
        for part in &parts {
            let [west, south, east, north] = part.bounds();
            tree.add(west, south, east, north);
        }
        Ok(Self {
            tree: tree.finish::<HilbertSort>(),
            has_polygons: parts.iter().any(|part| matches!(part, Part::Polygon(_))),
            version: String::new(),
            parts,
            features,
        })
    }

    /// Returns whether a position in degrees is in a feature, border included: in a polygon, on a line, or at a point.
    pub fn contains(&self, lat: f64, lon: f64) -> bool {
        if !lat.is_finite() || !lon.is_finite() {
            return false;
        }
        self.any_part([lon, lat, lon, lat], |part| part.contains(lat, lon))
    }

    /// Returns whether a feature is within a planar distance of a position: its [`Nearest::distance_m`] is at most
    /// that.
    pub fn is_within(&self, lat: f64, lon: f64, meters: f64) -> bool {
        if !lat.is_finite() || !lon.is_finite() {
            return false;
        }
        let plane = Plane::at(lat, lon);
        let mut waiting = BinaryHeap::from([self.candidate(self.root(), &plane)]);
        while let Some(Reverse(Candidate { distance_m, place })) = waiting.pop() {
            if distance_m > meters + BOX_SLACK_M {
                return false;
            }
            match self.below(place) {
                Below::Part(part) => {
                    if self.parts[part].distance_m(lat, lon, &plane) <= meters {
                        return true;
                    }
                }
                Below::Nodes(nodes) => {
                    let nodes = nodes.step_by(BOX_NUMBERS);
                    waiting.extend(nodes.map(|node| self.candidate(node, &plane)));
                }
            }
        }
        false
    }

    /// Returns whether the box of any part overlaps or touches a box, given by its western, southern, eastern and
    /// northern edge.
    pub fn may_meet(&self, bounds: [f64; BOX_NUMBERS]) -> bool {
        self.any_part(bounds, |_| true)
    }

    /// Returns western, southern, eastern and northern edge of the box around all parts.
    pub fn bounds(&self) -> [f64; BOX_NUMBERS] {
        self.edges(self.root())
    }

    /// Returns whether any part is a polygon.
    pub fn has_polygons(&self) -> bool {
        self.has_polygons
    }

    /// Returns the checksum of the data file.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Returns whether a test holds for any part whose box overlaps or touches a box. Stops at the first such part.
    fn any_part(&self, bounds: [f64; BOX_NUMBERS], test: impl Fn(&Part) -> bool) -> bool {
        let [west, south, east, north] = bounds;
        let meets = |place: usize| {
            let [own_west, own_south, own_east, own_north] = self.edges(place);
            own_west <= east && own_east >= west && own_south <= north && own_north >= south
        };
        let mut waiting = vec![self.root()];
        while let Some(place) = waiting.pop() {
            if !meets(place) {
                continue;
            }
            match self.below(place) {
                Below::Part(part) => {
                    if test(&self.parts[part]) {
                        return true;
                    }
                }
                Below::Nodes(nodes) => waiting.extend(nodes.step_by(BOX_NUMBERS)),
            }
        }
        false
    }

    /// Returns the offset of the root of the tree in the array of boxes.
    fn root(&self) -> usize {
        self.tree.boxes().len() - BOX_NUMBERS
    }

    /// Returns western, southern, eastern and northern edge of a node.
    fn edges(&self, place: usize) -> [f64; BOX_NUMBERS] {
        let boxes = self.tree.boxes();
        [
            boxes[place],
            boxes[place + 1],
            boxes[place + 2],
            boxes[place + 3],
        ]
    }

    fn candidate(&self, place: usize, plane: &Plane) -> Reverse<Candidate> {
        Reverse(Candidate {
            distance_m: plane.box_distance_m(self.edges(place)),
            place,
        })
    }

    /// Returns the part or the child nodes of a node.
    fn below(&self, place: usize) -> Below {
        let below = self.tree.indices().get(place / BOX_NUMBERS);
        if place < self.parts.len() * BOX_NUMBERS {
            return Below::Part(below);
        }
        let level = self.tree.level_bounds().iter().find(|end| **end > below);
        let end = level.copied().unwrap_or(self.tree.boxes().len());
        Below::Nodes(below..end.min(below + usize::from(self.tree.node_size()) * BOX_NUMBERS))
    }

    /// Returns the nearest feature; of several at the same distance, the one with the lowest number. `None` if the
    /// position is not finite.
    pub fn nearest(&self, lat: f64, lon: f64) -> Option<Nearest> {
        if !lat.is_finite() || !lon.is_finite() {
            return None;
        }
        let plane = Plane::at(lat, lon);
        let mut waiting = BinaryHeap::from([self.candidate(self.root(), &plane)]);
        let mut best: Option<Nearest> = None;
        while let Some(Reverse(Candidate { distance_m, place })) = waiting.pop() {
            if best.is_some_and(|best| distance_m > best.distance_m) {
                break;
            }
            match self.below(place) {
                Below::Part(part) => {
                    let found = Nearest {
                        feature: self.features[part],
                        distance_m: self.parts[part].distance_m(lat, lon, &plane),
                    };
                    let is_better = best.is_none_or(|best| {
                        (found.distance_m, found.feature) < (best.distance_m, best.feature)
                    });
                    if is_better {
                        best = Some(found);
                    }
                }
                Below::Nodes(nodes) => {
                    let nodes = nodes.step_by(BOX_NUMBERS);
                    waiting.extend(nodes.map(|node| self.candidate(node, &plane)));
                }
            }
        }
        best
    }
}

/// Returns the parts of a geometry in WKB.
fn parts_of(bytes: &[u8]) -> Result<Vec<Part>, String> {
    let geometry = wkb::read(bytes)?.ok_or("a geometry is empty")?;
    let mut parts = Vec::new();
    each_part(&geometry, &mut |part| {
        match part {
            PartRef::Point(position) => parts.push(Part::Point(position)),
            PartRef::Line(line) => {
                // Each piece begins where the previous one ends.
                let positions = &line.0;
                let starts = (0..positions.len().saturating_sub(1)).step_by(PIECE_SEGMENTS_MAX);
                parts.extend(starts.map(|start| {
                    let end = (start + PIECE_SEGMENTS_MAX).min(positions.len() - 1);
                    Part::Line(positions[start..=end].into())
                }));
            }
            PartRef::Polygon(polygon) => parts.push(Part::Polygon(Box::new(area_of(polygon)?))),
        }
        Ok(())
    })?;
    Ok(parts)
}

#[cfg(test)]
#[path = "index_tests.rs"]
mod tests;
