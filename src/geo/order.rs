//! Sorts rows in files: by department, then along the Hilbert curve of the position, so that the rows of one place are
//! contiguous.

use std::ops::Range;

use super::departments;

/// Number of bits of a key below the department's rank.
const PLACE_BITS: u32 = 40;
/// Bits per axis of the curve: 2^16 cells over the covered box, about 20 m over mainland France.
const CURVE_BITS: u32 = 16;
const LAT_MIN: f64 = 41.0;
const LAT_MAX: f64 = 51.5;
const LON_MIN: f64 = -5.5;
const LON_MAX: f64 = 10.0;

/// Returns the sort key of a row: the department's rank in the upper bits, the curve position below. Rows without a
/// position come first in their department. Overseas positions use the same curve over boxes of 8 by 8 degrees.
pub fn cluster_key(department: Option<&str>, position: Option<(f64, f64)>) -> u64 {
    let rank = u64::from(department.map_or(0, departments::rank));
    let place = position.map_or(0, |(lat, lon)| {
        let inside = (LAT_MIN..=LAT_MAX).contains(&lat) && (LON_MIN..=LON_MAX).contains(&lon);
        let (y, x) = if inside {
            (
                (lat - LAT_MIN) / (LAT_MAX - LAT_MIN),
                (lon - LON_MIN) / (LON_MAX - LON_MIN),
            )
        } else {
            ((lat / 8.0).rem_euclid(1.0), (lon / 8.0).rem_euclid(1.0))
        };
        1 + hilbert_index(to_cell(x), to_cell(y))
    });
    rank << PLACE_BITS | place
}

/// Returns the range of keys of a department's rows, or of rows without a department.
pub fn places_of(department: Option<&str>) -> Range<u64> {
    let first = cluster_key(department, None);
    first..first + (1 << PLACE_BITS)
}

fn to_cell(fraction: f64) -> u32 {
    let cells = f64::from(1u32 << CURVE_BITS);
    (fraction * cells).clamp(0.0, cells - 1.0) as u32
}

/// Returns the position of cell (x, y) along the Hilbert curve (the classical rotate-and-descend construction).
fn hilbert_index(mut x: u32, mut y: u32) -> u64 {
    let mut index = 0u64;
    let mut side = 1u32 << (CURVE_BITS - 1);
    while side > 0 {
        let right = u32::from(x & side > 0);
        let upper = u32::from(y & side > 0);
        index += u64::from(side) * u64::from(side) * u64::from((3 * right) ^ upper);
        if upper == 0 {
            if right == 1 {
                x = (side.wrapping_mul(2) - 1).wrapping_sub(x) & (side * 2 - 1);
                y = (side.wrapping_mul(2) - 1).wrapping_sub(y) & (side * 2 - 1);
            }
            std::mem::swap(&mut x, &mut y);
        }
        side /= 2;
    }
    index
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbouring_positions_on_the_curve_are_neighbouring_cells() {
        let mut cells = Vec::new();
        for x in 0..64u32 {
            for y in 0..64u32 {
                cells.push((hilbert_index(x, y), x, y));
            }
        }
        cells.sort_unstable();
        for pair in cells.windows(2) {
            let step = pair[0].1.abs_diff(pair[1].1) + pair[0].2.abs_diff(pair[1].2);
            assert_eq!(step, 1, "{pair:?}");
        }
    }

    #[test]
    fn departments_come_before_positions() {
        let ain = cluster_key(Some("01"), Some((46.2, 5.2)));
        let yonne = cluster_key(Some("89"), Some((46.2, 5.2)));
        assert!(ain < yonne);
        assert!(cluster_key(Some("01"), None) < ain);
    }
}
