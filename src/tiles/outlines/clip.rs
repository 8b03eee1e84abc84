//! Cuts rings to the square of a tile (Sutherland and Hodgman).
//!
//! Lines along the edge of the square replace the part outside. No map shows these lines, because the square is larger
//! than the tile.

/// A square; both coordinates have the same minimum and maximum.
#[derive(Clone, Copy, Debug)]
pub struct Square {
    /// Western and northern edge.
    pub min: f64,
    /// Eastern and southern edge.
    pub max: f64,
}

type Point = (f64, f64);

/// Returns the part of a ring in a square; empty if the ring is outside it.
pub fn cut(ring: Vec<Point>, frame: Square) -> Vec<Point> {
    let Square { min, max } = frame;
    let inside = |(x, y): &Point| (min..=max).contains(x) && (min..=max).contains(y);
    if ring.iter().all(inside) {
        return ring;
    }
    let west = half(ring, |point| point.0 - min);
    let east = half(west, |point| max - point.0);
    let north = half(east, |point| point.1 - min);
    half(north, |point| max - point.1)
}

/// Returns the part of a ring where a linear function is not negative.
fn half(ring: Vec<Point>, depth: impl Fn(Point) -> f64) -> Vec<Point> {
    let Some(mut before) = ring.last().copied() else {
        return ring;
    };
    let mut kept = Vec::with_capacity(ring.len());
    for point in ring {
        let (was, is) = (depth(before), depth(point));
        if (was < 0.0) != (is < 0.0) {
            let share = was / (was - is);
            kept.push((
                before.0 + (point.0 - before.0) * share,
                before.1 + (point.1 - before.1) * share,
            ));
        }
        if is >= 0.0 {
            kept.push(point);
        }
        before = point;
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const FRAME: Square = Square { min: 0.0, max: 1.0 };

    fn area(ring: &[Point]) -> f64 {
        let next = ring.iter().cycle().skip(1);
        ring.iter()
            .zip(next)
            .map(|(a, b)| a.0 * b.1 - b.0 * a.1)
            .sum::<f64>()
            / 2.0
    }

    proptest! {
        #[test]
        fn four_squares_hold_the_area_of_a_ring_once(spots in proptest::collection::vec((-1.0..1.0_f64, -1.0..1.0_f64), 3..20)) {
            let whole = area(&spots);
            let mut parts = 0.0;
            for (east, south) in [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0)] {
                let moved = spots.iter().map(|(x, y)| (x + east, y + south)).collect();
                let kept = cut(moved, FRAME);
                for (x, y) in &kept {
                    prop_assert!((-1e-9..=1.0 + 1e-9).contains(x) && (-1e-9..=1.0 + 1e-9).contains(y));
                }
                parts += area(&kept);
            }
            prop_assert!((whole - parts).abs() < 1e-9, "{} {}", whole, parts);
        }
    }

    #[test]
    fn a_ring_outside_leaves_nothing() {
        assert!(cut(vec![(2.0, 2.0), (3.0, 2.0), (3.0, 3.0)], FRAME).is_empty());
    }
}
