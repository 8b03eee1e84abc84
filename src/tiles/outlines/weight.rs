//! Weights of border points: how much each point matters to the shape of a set of borders. With these weights, every
//! zoom keeps the points that it can show, and neighbouring areas keep the same points.
//!
//! Borders are cut where three areas meet, and each piece is measured once (Douglas-Peucker). The weight of a point is
//! its distance from the line that would replace it, in units of the contours. Points where areas meet have infinite
//! weight, so every zoom keeps them.

use std::collections::HashMap;

use toise_geo::contours::Ring;

use super::dissolve::sides;

type Point = (i32, i32);

/// The weights of the points of some rings.
pub struct Weights(HashMap<Point, f32>);

impl Weights {
    /// Measures the rings of neighbouring areas.
    pub fn of<'r>(rings: impl Iterator<Item = &'r Ring> + Clone) -> Self {
        let mut weights = HashMap::new();
        let nodes = nodes(rings.clone());
        for ring in rings {
            for piece in pieces(ring, &nodes) {
                // Skips a piece that was measured from the other side of the border.
                let inner = piece.get(1).filter(|_| piece.len() > 2);
                if inner.is_none_or(|point| !weights.contains_key(point)) {
                    measure(&piece, &mut weights);
                }
            }
        }
        Self(weights)
    }

    /// Returns the weight of a point.
    pub fn get(&self, point: Point) -> f32 {
        self.0.get(&point).copied().unwrap_or(f32::INFINITY)
    }
}

/// Returns for each point whether it is a node: whether the number of its different neighbours is not two.
fn nodes<'r>(rings: impl Iterator<Item = &'r Ring>) -> HashMap<Point, bool> {
    let mut neighbours: HashMap<Point, ([Point; 2], u8)> = HashMap::new();
    let mut meet = |at: Point, other: Point| {
        let (known, count) = neighbours.entry(at).or_insert(([other; 2], 0));
        let is_known = known
            .iter()
            .take(usize::from(*count).min(2))
            .any(|point| *point == other);
        if !is_known {
            if let Some(free) = known.get_mut(usize::from(*count)) {
                *free = other;
            }
            *count = count.saturating_add(1);
        }
    };
    for ring in rings {
        for (from, to) in sides(ring) {
            meet(from, to);
            meet(to, from);
        }
    }
    let is_node = |(point, (_, count)): (Point, (_, u8))| (point, count != 2);
    neighbours.into_iter().map(is_node).collect()
}

/// Cuts a ring at nodes into pieces that include their ends. A ring without nodes is cut at its western and eastern
/// ends, so that the pieces do not depend on where the ring begins.
fn pieces(ring: &Ring, nodes: &HashMap<Point, bool>) -> Vec<Vec<Point>> {
    let is_node = |point: &Point| nodes.get(point).copied().unwrap_or(true);
    let mut cuts: Vec<usize> = (0..ring.len()).filter(|at| is_node(&ring[*at])).collect();
    if cuts.is_empty() {
        let by_point = |at: &usize| ring[*at];
        let ends = [
            (0..ring.len()).min_by_key(by_point),
            (0..ring.len()).max_by_key(by_point),
        ];
        cuts = ends.into_iter().flatten().collect();
        cuts.sort_unstable();
    }
    let Some(first) = cuts.first().copied() else {
        return Vec::new();
    };
    let ends = cuts.iter().copied().skip(1).chain([first + ring.len()]);
    let pieces = cuts.iter().copied().zip(ends);
    let points = |from: usize, to: usize| (from..=to).map(|at| ring[at % ring.len()]).collect();
    pieces.map(|(from, to)| points(from, to)).collect()
}

/// Weighs the points of a piece by splitting it repeatedly at the farthest point. No point weighs more than the one at
/// which its part was split off, so a selection by a low minimum weight contains every selection by a higher one.
fn measure(piece: &[Point], weights: &mut HashMap<Point, f32>) {
    let last = piece.len() - 1;
    weights.insert(piece[0], f32::INFINITY);
    weights.insert(piece[last], f32::INFINITY);
    let mut spans = vec![(0, last, f32::INFINITY)];
    while let Some((from, to, bound)) = spans.pop() {
        let distances = (from + 1..to).map(|at| (at, distance(piece[at], piece[from], piece[to])));
        let Some((at, farthest)) = distances.max_by(|one, other| one.1.total_cmp(&other.1)) else {
            continue;
        };
        let weight = farthest.min(bound);
        weights.insert(piece[at], weight);
        spans.push((from, at, weight));
        spans.push((at, to, weight));
    }
}

/// Returns the distance from a point to a segment.
fn distance(point: Point, from: Point, to: Point) -> f32 {
    let (px, py) = (f64::from(point.0 - from.0), f64::from(point.1 - from.1));
    let (dx, dy) = (f64::from(to.0 - from.0), f64::from(to.1 - from.1));
    let length = dx * dx + dy * dy;
    let share = if length > 0.0 {
        ((px * dx + py * dy) / length).clamp(0.0, 1.0)
    } else {
        0.0
    };
    (px - share * dx).hypot(py - share * dy) as f32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn both_sides_of_a_border_keep_the_same_points(bumps in proptest::collection::vec(-9..9_i32, 3..40), least in 0.0_f32..12.0) {
            // Two areas whose common border runs from south to north with bumps.
            let border: Ring = bumps.iter().zip(0..).map(|(bump, step)| (100 + bump, step * 10)).collect();
            let (top, bottom) = (border[border.len() - 1], border[0]);
            let mut west = vec![(0, bottom.1), (0, top.1)];
            west.extend(border.iter().rev());
            let mut east: Ring = border.clone();
            east.extend([(200, top.1), (200, bottom.1)]);
            let rings = [west, east];
            let weights = Weights::of(rings.iter());
            let kept = |ring: &Ring| -> Vec<Point> {
                ring.iter().copied().filter(|point| weights.get(*point) >= least && border.contains(point)).collect()
            };
            let (mut west, east) = (kept(&rings[0]), kept(&rings[1]));
            west.reverse();
            prop_assert_eq!(&west, &east);
            // The points where the areas meet their surroundings are kept.
            prop_assert!(east.contains(&top) && east.contains(&bottom));
        }
    }
}
