//! Hexagons that cover a tile, with the values that fall into each.
//!
//! The grid is fixed to the world at each zoom, so a hexagon on the edge of two tiles is the same in both. A tile reads
//! a margin around itself, so that it counts all rows of such a hexagon. Hexagons have a corner at the top; their
//! coordinates are axial (<https://www.redblobgames.com/grids/hexagons/>).

use crate::mercator::TileId;

/// Number of hexagons across a tile, from corner to corner.
const ACROSS: f64 = 16.0;
/// Distance from the centre of a hexagon to its corners, in tiles.
const RADIUS: f64 = 0.5 / ACROSS;
/// Margin that a tile reads around itself, in tiles, so that it counts all rows of every hexagon that touches it.
pub const MARGIN: f64 = 2.0 * RADIUS;
/// Number of cells of the table in each direction; enough for the hexagons of a tile and its margin, whose axial
/// coordinates are slanted.
const SIDE: usize = 64;
const SQRT_3: f64 = 1.732_050_807_568_877_2;

/// The rows in a hexagon or an area.
#[derive(Clone, Debug, Default)]
pub struct Cell {
    /// Number of rows in it.
    pub count: u32,
    /// Values of the rows that have one.
    pub values: Vec<f32>,
}

/// The hexagons of a tile.
pub struct Hexagons {
    tile: TileId,
    /// Axial coordinates of the table's first cell.
    first: (i64, i64),
    cells: Vec<Cell>,
}

impl Hexagons {
    /// Creates empty hexagons over a tile and its margin.
    pub fn over(tile: TileId) -> Self {
        let (x, y) = (f64::from(tile.x), f64::from(tile.y));
        // The first coordinate is smallest in the south-west, the second in the north.
        let (_, r) = axial(x, y - MARGIN);
        let (q, _) = axial(x - MARGIN, y + 1.0 + MARGIN);
        Self {
            tile,
            first: (q - 2, r - 2),
            cells: vec![Cell::default(); SIDE * SIDE],
        }
    }

    /// Adds a row at a position; a position outside the tile and its margin is ignored.
    pub fn add(&mut self, lat: f64, lon: f64, value: Option<f64>) {
        let (x, y) = self.tile.world(lat, lon);
        let (q, r) = axial(x, y);
        let (column, row) = (q - self.first.0, r - self.first.1);
        let side = SIDE as i64;
        if !(0..side).contains(&column) || !(0..side).contains(&row) {
            return;
        }
        if let Some(cell) = self.cells.get_mut(row as usize * SIDE + column as usize) {
            cell.count += 1;
            cell.values.extend(value.map(|value| value as f32));
        }
    }

    /// Adds the content of other hexagons over the same tile.
    pub fn merge(&mut self, other: Self) {
        for (cell, more) in self.cells.iter_mut().zip(other.cells) {
            cell.count += more.count;
            cell.values.extend(more.values);
        }
    }

    /// Returns the hexagons that touch the tile and have rows: corners, in tiles from the tile's north-west corner, and
    /// content.
    pub fn filled(self) -> impl Iterator<Item = ([(f64, f64); 6], Cell)> {
        let (tile, first) = (self.tile, self.first);
        let cells = self.cells.into_iter().enumerate();
        cells
            .filter(|(_, cell)| cell.count > 0)
            .filter_map(move |(index, cell)| {
                let (q, r) = (
                    first.0 + (index % SIDE) as i64,
                    first.1 + (index / SIDE) as i64,
                );
                let (x, y) = centre(q, r);
                let (x, y) = (x - f64::from(tile.x), y - f64::from(tile.y));
                let touches = |part: f64| (-RADIUS..=1.0 + RADIUS).contains(&part);
                (touches(x) && touches(y)).then(|| (corners(x, y), cell))
            })
    }
}

/// Returns the hexagon of a point, which is given in tiles from the north-west corner of the world.
fn axial(x: f64, y: f64) -> (i64, i64) {
    let q = (SQRT_3 / 3.0 * x - y / 3.0) / RADIUS;
    let r = (2.0 / 3.0 * y) / RADIUS;
    let s = -q - r;
    let (round_q, round_r, round_s) = (q.round(), r.round(), s.round());
    let (off_q, off_r, off_s) = (
        (round_q - q).abs(),
        (round_r - r).abs(),
        (round_s - s).abs(),
    );
    if off_q > off_r && off_q > off_s {
        ((-round_r - round_s) as i64, round_r as i64)
    } else if off_r > off_s {
        (round_q as i64, (-round_q - round_s) as i64)
    } else {
        (round_q as i64, round_r as i64)
    }
}

fn centre(q: i64, r: i64) -> (f64, f64) {
    let (q, r) = (q as f64, r as f64);
    (RADIUS * SQRT_3 * (q + r / 2.0), RADIUS * 1.5 * r)
}

/// Returns the corners clockwise on the map, as vector tiles require of the outer ring of a polygon.
fn corners(x: f64, y: f64) -> [(f64, f64); 6] {
    let half = RADIUS * SQRT_3 / 2.0;
    [
        (x, y - RADIUS),
        (x + half, y - RADIUS / 2.0),
        (x + half, y + RADIUS / 2.0),
        (x, y + RADIUS),
        (x - half, y + RADIUS / 2.0),
        (x - half, y - RADIUS / 2.0),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_hexagon_on_an_edge_counts_the_same_in_both_tiles(
            z in 3_u8..=14,
            spots in proptest::collection::vec((0.0..2.0_f64, 0.0..1.0_f64), 1..200),
        ) {
            let west = TileId { z, x: 4, y: 3 };
            let east = TileId { x: 5, ..west };
            let (mut left, mut right) = (Hexagons::over(west), Hexagons::over(east));
            let world = west.degrees(0.0);
            let other = east.degrees(0.0);
            for (x, y) in &spots {
                let lon = world.left + (other.right - world.left) * x / 2.0;
                let lat = world.bottom + (world.top - world.bottom) * y;
                for (tile, hexagons) in [(west, &mut left), (east, &mut right)] {
                    let (px, _) = tile.place(lat, lon);
                    if (-MARGIN..=1.0 + MARGIN).contains(&px) {
                        hexagons.add(lat, lon, Some(1.0));
                    }
                }
            }
            let key = |x: f64, y: f64| ((x * 1e6).round() as i64, (y * 1e6).round() as i64);
            let of_east: std::collections::HashMap<_, u32> =
                right.filled().map(|(corners, cell)| (key(corners[0].0 + 1.0, corners[0].1), cell.count)).collect();
            let mut counted = 0;
            for (corners, cell) in left.filled() {
                counted += cell.count;
                if let Some(count) = of_east.get(&key(corners[0].0, corners[0].1)) {
                    prop_assert_eq!(*count, cell.count);
                }
            }
            let in_west = spots.iter().filter(|(x, _)| *x < 1.0).count();
            prop_assert!(counted as usize >= in_west);
        }
    }
}
