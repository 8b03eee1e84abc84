//! Merges the contours of an area's parts and removes the borders between the parts.
//!
//! Neighbours share the points of their border and run along it in opposite directions. After each segment is cancelled
//! by its reverse, only the outer border is left. The contours come in two files that are simplified separately. If an
//! area has parts in both, slivers remain between them, and are dropped.

use std::collections::HashMap;

use toise_geo::contours::Ring;

type Point = (i32, i32);

/// Minimum average width of a ring, in units of the contours (of 22 m); narrower ones are slivers. Both files stay
/// within 100 m of the border.
const WIDTH_MIN: f64 = 5.0;

/// Returns the rings around several contours: clockwise on the map around the covered areas, counter-clockwise around
/// holes.
pub fn dissolved<'r>(contours: impl Iterator<Item = &'r Ring>) -> Vec<Ring> {
    let mut next: HashMap<Point, Vec<Point>> = HashMap::new();
    let mut first = Vec::new();
    for ring in contours {
        for (from, to) in sides(ring) {
            let reverse = next.get_mut(&to).and_then(|ends| {
                let known = ends.iter().position(|end| *end == from)?;
                Some(ends.swap_remove(known))
            });
            if reverse.is_none() {
                next.entry(from).or_default().push(to);
                first.push(from);
            }
        }
    }
    let mut rings = Vec::new();
    for start in first {
        while let Some(ring) = take_ring(&mut next, start) {
            rings.extend(split_where_it_touches(ring));
        }
    }
    // The largest ring is kept, however narrow, so that the smallest commune is shown too.
    rings.sort_by(|one, other| doubled_area(other).total_cmp(&doubled_area(one)));
    let mut is_first = true;
    rings.retain(|ring| std::mem::take(&mut is_first) || is_area(ring));
    rings
}

/// Returns the sides of a closed ring.
pub fn sides(ring: &[Point]) -> impl Iterator<Item = (Point, Point)> {
    let next = ring.iter().cycle().skip(1);
    ring.iter().copied().zip(next.copied())
}

/// Returns twice the area of a ring in square units: positive if it runs clockwise on the map.
pub fn doubled_area(ring: &[Point]) -> f64 {
    let wide = |point: Point| (i64::from(point.0), i64::from(point.1));
    let sum: i64 = sides(ring)
        .map(|(from, to)| {
            let ((ax, ay), (bx, by)) = (wide(from), wide(to));
            bx * ay - ax * by
        })
        .sum();
    sum as f64
}

/// Takes the segments of one closed ring through a point; `None` if none is left there.
fn take_ring(next: &mut HashMap<Point, Vec<Point>>, start: Point) -> Option<Ring> {
    let mut ring = vec![start];
    let mut at = next.get_mut(&start)?.pop()?;
    // As many segments end in a point as begin there, so the walk ends where it began.
    while at != start {
        ring.push(at);
        at = next.get_mut(&at)?.pop()?;
    }
    Some(ring)
}

/// Cuts a ring that visits a point twice into rings that do not.
fn split_where_it_touches(ring: Ring) -> Vec<Ring> {
    let mut rings = Vec::new();
    let mut path: Ring = Vec::new();
    let mut places: HashMap<Point, usize> = HashMap::new();
    for point in ring {
        if let Some(&known) = places.get(&point) {
            let loops = path.split_off(known);
            loops.iter().for_each(|point| {
                places.remove(point);
            });
            rings.push(loops);
        }
        places.insert(point, path.len());
        path.push(point);
    }
    rings.push(path);
    rings
}

fn is_area(ring: &[Point]) -> bool {
    let length: f64 = sides(ring)
        .map(|((ax, ay), (bx, by))| f64::from(bx - ax).hypot(f64::from(by - ay)))
        .sum();
    ring.len() > 2 && doubled_area(ring).abs() > WIDTH_MIN * length
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A square of thirty units, clockwise on the map.
    fn square(x: i32, y: i32) -> Ring {
        vec![(x, y), (x, y + 30), (x + 30, y + 30), (x + 30, y)]
    }

    #[test]
    fn borders_between_parts_fall_away_and_holes_stay() {
        let parts: Vec<Ring> = (0..9)
            .filter(|part| *part != 4)
            .map(|part| square(part % 3 * 30, part / 3 * 30))
            .collect();
        let mut areas: Vec<f64> = dissolved(parts.iter())
            .iter()
            .map(|ring| doubled_area(ring) / 2.0)
            .collect();
        areas.sort_by(f64::total_cmp);
        assert_eq!(areas, [-900.0, 8_100.0]);
        // With the middle square it is one area without a hole.
        let whole: Vec<Ring> = (0..9)
            .map(|part| square(part % 3 * 30, part / 3 * 30))
            .collect();
        assert_eq!(dissolved(whole.iter()).len(), 1);
    }

    #[test]
    fn parts_that_touch_in_a_point_are_rings_of_their_own_and_slivers_are_dropped() {
        let apart = [square(0, 0), square(30, 30)];
        assert_eq!(dissolved(apart.iter()).len(), 2);
        let with_sliver = [square(0, 0), vec![(50, 0), (50, 100), (51, 50)]];
        assert_eq!(dissolved(with_sliver.iter()).len(), 1);
    }
}
