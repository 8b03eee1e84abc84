//! Reads the rings of an area from GeoJSON, and checks the rings of each polygon: a ring must not cross or touch itself,
//! rings must neither cross nor run along each other, and holes must be inside.
//!
//! The sides of a polygon are sorted by longitude, so that only sides whose longitudes overlap are compared.

use geo::algorithm::kernels::{Kernel, Orientation, RobustKernel};
use geo::{Coord, coord};
use serde_json::Value;

use super::{Area, AreaFault, Ring, VERTICES_MAX, fault, ring_edges};

/// Minimum vertices of a ring.
const RING_VERTICES_MIN: usize = 3;

/// Reads the rings of a geometry's polygons.
pub(super) fn read_geometry(value: &Value) -> Result<Vec<Vec<Ring>>, AreaFault> {
    let coordinates = &value["coordinates"];
    let path = "coordinates";
    let polygons = match value["type"].as_str() {
        Some("Polygon") => vec![read_polygon(coordinates, path)?],
        Some("MultiPolygon") => read_items(coordinates, path, read_polygon)?,
        Some("Feature" | "FeatureCollection") => {
            return Err(fault(
                "type",
                "must be Polygon or MultiPolygon: give the geometry of a feature",
            ));
        }
        _ => return Err(fault("type", "must be Polygon or MultiPolygon")),
    };
    let vertices: usize = polygons.iter().flatten().map(Vec::len).sum();
    if vertices > VERTICES_MAX {
        let rule = format!("must have at most {VERTICES_MAX} vertices, has {vertices}");
        return Err(fault(path, rule));
    }
    Ok(polygons)
}

fn read_polygon(value: &Value, path: &str) -> Result<Vec<Ring>, AreaFault> {
    read_items(value, path, read_ring)
}

fn read_items<T>(
    value: &Value,
    path: &str,
    read: fn(&Value, &str) -> Result<T, AreaFault>,
) -> Result<Vec<T>, AreaFault> {
    let items = items(value, path)?.iter().enumerate();
    items
        .map(|(nth, item)| read(item, &format!("{path}[{nth}]")))
        .collect()
}

fn read_ring(value: &Value, path: &str) -> Result<Ring, AreaFault> {
    let given = items(value, path)?;
    // Longer rings are refused before they are looked at.
    if given.len() > VERTICES_MAX + 1 {
        let rule = format!("must have at most {VERTICES_MAX} vertices");
        return Err(fault(path, rule));
    }
    let mut ring = Ring::with_capacity(given.len());
    for (nth, position) in given.iter().enumerate() {
        let position = read_position(position).ok_or_else(|| {
            fault(
                format!("{path}[{nth}]"),
                "must be [longitude, latitude] in degrees",
            )
        })?;
        ring.push(position);
    }
    if ring.first() != ring.last() {
        let rule = "the last position must be the same as the first";
        return Err(fault(format!("{path}[{}]", ring.len() - 1), rule));
    }
    tidy(&mut ring).map_err(|rule| fault(path, rule))?;
    Ok(ring)
}

/// Removes repeated vertices of a ring, the last one included.
pub(super) fn tidy(ring: &mut Ring) -> Result<(), &'static str> {
    ring.dedup();
    while ring.len() > 1 && ring.first() == ring.last() {
        ring.pop();
    }
    if ring.len() < RING_VERTICES_MIN {
        return Err("must have at least three different vertices");
    }
    Ok(())
}

pub(super) fn read_position(value: &Value) -> Option<Coord> {
    let numbers = value.as_array()?;
    // A third number is a height.
    if !(2..=3).contains(&numbers.len()) {
        return None;
    }
    let (x, y) = (numbers[0].as_f64()?, numbers[1].as_f64()?);
    let is_valid = (-180.0..=180.0).contains(&x) && (-90.0..=90.0).contains(&y);
    // -0 is 0.
    is_valid.then_some(coord! { x: x + 0.0, y: y + 0.0 })
}

fn items<'v>(value: &'v Value, path: &str) -> Result<&'v [Value], AreaFault> {
    match value.as_array() {
        Some(items) if !items.is_empty() => Ok(items),
        _ => Err(fault(path, "must be a list that is not empty")),
    }
}

/// Returns the path of a ring of the polygon with an index, or of the only polygon.
pub(super) fn ring_path(polygon: Option<usize>, ring: usize) -> String {
    match polygon {
        Some(polygon) => format!("coordinates[{polygon}][{ring}]"),
        None => format!("coordinates[{ring}]"),
    }
}

/// An edge of a polygon being checked, which starts at vertex `nth` of a ring.
#[derive(Clone, Copy)]
struct Side {
    ring: usize,
    nth: usize,
    from: Coord,
    to: Coord,
}

/// Checks that the rings of a polygon neither cross nor run along each other, and that holes are inside.
pub(super) fn check_polygon(rings: &[Ring], polygon: Option<usize>) -> Result<(), AreaFault> {
    let path = |ring, nth: usize| format!("{}[{nth}]", ring_path(polygon, ring));
    let mut sides: Vec<Side> = Vec::new();
    for (ring, vertices) in rings.iter().enumerate() {
        let edges = ring_edges(vertices).enumerate();
        sides.extend(edges.map(|(nth, (from, to))| Side {
            ring,
            nth,
            from,
            to,
        }));
    }
    let west = |side: &Side| side.from.x.min(side.to.x);
    sides.sort_by(|one, other| west(one).total_cmp(&west(other)));
    for (index, side) in sides.iter().enumerate() {
        let east = side.from.x.max(side.to.x);
        let near = sides[index + 1..]
            .iter()
            .take_while(|other| west(other) <= east);
        for other in near {
            if let Some(rule) = side.conflict(other, rings[side.ring].len()) {
                let (ring, nth) = (side.ring, side.nth).max((other.ring, other.nth));
                return Err(fault(path(ring, nth), rule));
            }
        }
    }
    let Some((outer, holes)) = rings.split_first() else {
        return Ok(());
    };
    let outer = Area::new(vec![vec![outer.clone()]]);
    for (ring, hole) in (1..).zip(holes) {
        let is_outside = |vertex: &Coord| !outer.contains(vertex.y, vertex.x);
        if let Some(nth) = hole.iter().position(is_outside) {
            return Err(fault(path(ring, nth), "the hole is outside its polygon"));
        }
    }
    Ok(())
}

impl Side {
    /// Returns the rule that two sides of a polygon break; `length` is the number of vertices of this side's ring.
    fn conflict(&self, other: &Self, length: usize) -> Option<&'static str> {
        let south = |side: &Self| side.from.y.min(side.to.y);
        let north = |side: &Self| side.from.y.max(side.to.y);
        if south(self) > north(other) || south(other) > north(self) {
            return None;
        }
        let turns = [
            RobustKernel::orient2d(self.from, self.to, other.from),
            RobustKernel::orient2d(self.from, self.to, other.to),
            RobustKernel::orient2d(other.from, other.to, self.from),
            RobustKernel::orient2d(other.from, other.to, self.to),
        ];
        let is_same_ring = self.ring == other.ring;
        if turns.iter().all(|turn| *turn == Orientation::Collinear) {
            return self
                .runs_along(other)
                .then_some("the border runs along itself here");
        }
        let follows = |one: usize, next: usize| (one + 1) % length == next;
        if is_same_ring && (follows(self.nth, other.nth) || follows(other.nth, self.nth)) {
            // Neighbouring sides share a vertex.
            return None;
        }
        let meets = turns[0] != turns[1] && turns[2] != turns[3];
        let touches = turns.contains(&Orientation::Collinear);
        match (meets, touches) {
            (false, _) => None,
            (true, false) => Some("the border crosses itself after this vertex"),
            // Different rings may touch at a point.
            (true, true) => is_same_ring.then_some("the border touches itself after this vertex"),
        }
    }

    /// Returns whether two sides on one line have more than a position in common.
    fn runs_along(&self, other: &Self) -> bool {
        // Compares positions along the axis in which the line extends farther.
        let key = |position: Coord| {
            let (width, height) = (self.to.x - self.from.x, self.to.y - self.from.y);
            if width.abs() >= height.abs() {
                position.x
            } else {
                position.y
            }
        };
        let span = |side: &Self| {
            let (from, to) = (key(side.from), key(side.to));
            (from.min(to), from.max(to))
        };
        let (one, two) = (span(self), span(other));
        one.0.max(two.0) < one.1.min(two.1)
    }
}
