//! Finds the recorded sales nearest to a home, of the same class and before a given day.
//!
//! Sales are sorted along a Morton curve, so a square of nine cells consists of nine ranges of rows. The search starts
//! at the smallest cell size whose central cell holds enough sales. It doubles the cell size until enough earlier sales
//! are nearer than any sale outside the nine cells could be, so the result depends on those sales alone. In towns this
//! examines about 1,000 sales and takes about 15 µs.

use std::ops::Range;

use super::grid::{self, GridPosition};
use super::home::HomeClass;
use super::sale::SaleColumns;

/// Maximum comparables per home.
const NEIGHBOURS_MAX: usize = 128;
/// Maximum comparables if the farthest one is beyond [`NEAR_M`]. More sales improve the estimate only if they are
/// close: in towns they add detail about the street, in villages they add nothing.
const FAR_NEIGHBOURS_MAX: usize = 64;
/// Maximum distance of comparables beyond the first [`FAR_NEIGHBOURS_MAX`], metres.
const NEAR_M: f32 = 300.0;
/// Maximum distance of a comparable, metres.
pub const REACH_M: f32 = 7_000.0;
/// Coarsest cell level: cells of 8 km, a tenth smaller in the north. Nine of them cover [`REACH_M`].
const COARSEST: u32 = 9;

/// A sale near a home.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Neighbour {
    /// Row index of the sale.
    pub row: u32,
    /// Squared distance, square metres.
    pub squared_m2: f32,
}

/// Returns the sort key: distance, then row, in one integer. The bit patterns of non-negative floats order like the
/// floats.
fn order(one: &Neighbour) -> u64 {
    u64::from(one.squared_m2.to_bits()) << 32 | u64::from(one.row)
}

/// Spatial index of sales.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SaleLocator {
    /// Morton code of each row.
    codes: Vec<u64>,
}

impl SaleLocator {
    /// Computes the code of every sale.
    pub fn new(sales: &SaleColumns) -> Self {
        let codes = sales.position.iter().map(|at| at.morton()).collect();
        Self { codes }
    }

    fn cell(&self, within: &Range<usize>, code: u64, level: u32) -> Range<usize> {
        let (low, high) = (code << (2 * level), (code + 1) << (2 * level));
        let codes = &self.codes[within.clone()];
        let begin = codes.partition_point(|code| *code < low);
        let end = begin + codes[begin..].partition_point(|code| *code < high);
        within.start + begin..within.start + end
    }

    /// Fills `found` with the sales nearest to a position, nearest first, that were made before day `before`: up to
    /// `FAR_NEIGHBOURS_MAX` within [`REACH_M`], and up to `NEIGHBOURS_MAX` within `NEAR_M`.
    pub fn nearest(
        &self,
        sales: &SaleColumns,
        class: HomeClass,
        position: GridPosition,
        before: i32,
        found: &mut Vec<Neighbour>,
    ) {
        let rows = sales.rows(class);
        let code = position.morton();
        let mut level = COARSEST;
        let mut own = self.cell(&rows, code >> (2 * level), level);
        while level > 0 {
            let smaller = self.cell(&own, code >> (2 * (level - 1)), level - 1);
            if smaller.len() < NEIGHBOURS_MAX / 3 {
                break;
            }
            own = smaller;
            level -= 1;
        }
        loop {
            self.around(sales, &rows, position, before, level, found);
            if found.len() >= NEIGHBOURS_MAX {
                let (_, last, _) = found.select_nth_unstable_by_key(NEIGHBOURS_MAX - 1, order);
                let held = position.least_side_m(level);
                if last.squared_m2 < held * held || level == COARSEST {
                    found.truncate(NEIGHBOURS_MAX);
                    break;
                }
            } else if level == COARSEST {
                break;
            }
            level += 1;
        }
        found.sort_unstable_by_key(order);
        let near = found.partition_point(|one| one.squared_m2 <= NEAR_M * NEAR_M);
        found.truncate(near.max(FAR_NEIGHBOURS_MAX));
    }

    /// Collects the sales in nine cells that were made before a day.
    fn around(
        &self,
        sales: &SaleColumns,
        rows: &Range<usize>,
        position: GridPosition,
        before: i32,
        level: u32,
        found: &mut Vec<Neighbour>,
    ) {
        found.clear();
        let ruler = position.ruler();
        let (east, north) = position.cell();
        let (east, north) = (east >> level, north >> level);
        for north in north.saturating_sub(1)..=north + 1 {
            for east in east.saturating_sub(1)..=east + 1 {
                for row in self.cell(rows, grid::interleave(east, north), level) {
                    if sales.day[row] >= before {
                        continue;
                    }
                    let squared_m2 = ruler.squared_m2(sales.position[row]);
                    if squared_m2 <= REACH_M * REACH_M {
                        let row = row as u32;
                        found.push(Neighbour { row, squared_m2 });
                    }
                }
            }
        }
    }
}
