//! The recorded sales nearest to a home, of its class, before a day.
//!
//! Sales lie along a Morton curve, so a square of nine cells is nine ranges of rows. The size of the cells is the
//! smallest whose own cell promises enough sales. Cells double until enough sales before the day lie nearer than any
//! that the nine cells may have missed: so what is found depends on those sales alone. In towns some 1,000 sales are
//! looked at: about 15 µs.

use std::ops::Range;

use super::home::Class;
use super::place::{self, Position};
use super::sale::Sales;

/// Sales a home is compared with at most.
const WANTED: usize = 128;
/// So many of them wherever they are within reach, the others where they are near: a town tells more of its streets,
/// a village nothing more of itself.
const WANTED_FAR: usize = 64;
/// How far sales beyond [`WANTED_FAR`] may be, metres.
const NEAR_M: f32 = 300.0;
/// How far a comparable may be, metres.
pub const REACH_M: f32 = 7_000.0;
/// Cells of 8 km, a tenth less in the north: nine of them hold every sale within reach.
const COARSEST: u32 = 9;

/// A sale near a home.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Neighbour {
    /// Row of the sale.
    pub row: u32,
    /// Square of its distance, square metres.
    pub squared_m2: f32,
}

/// Orders by distance, then by row, in one comparison: the bits of numbers that are not negative lie as the numbers do.
fn order(one: &Neighbour) -> u64 {
    u64::from(one.squared_m2.to_bits()) << 32 | u64::from(one.row)
}

/// Finds sales by place.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Places {
    /// Morton codes of the rows.
    codes: Vec<u64>,
}

impl Places {
    /// Codes every sale.
    pub fn new(sales: &Sales) -> Self {
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

    /// The sales nearest to a position, nearest first: [`WANTED_FAR`] up to [`REACH_M`], [`WANTED`] up to [`NEAR_M`].
    pub fn nearest(
        &self,
        sales: &Sales,
        class: Class,
        position: Position,
        before: i32,
        found: &mut Vec<Neighbour>,
    ) {
        let rows = sales.rows(class);
        let code = position.morton();
        let mut level = COARSEST;
        let mut own = self.cell(&rows, code >> (2 * level), level);
        while level > 0 {
            let smaller = self.cell(&own, code >> (2 * (level - 1)), level - 1);
            if smaller.len() < WANTED / 3 {
                break;
            }
            own = smaller;
            level -= 1;
        }
        loop {
            self.around(sales, &rows, position, before, level, found);
            if found.len() >= WANTED {
                let (_, last, _) = found.select_nth_unstable_by_key(WANTED - 1, order);
                let held = position.least_side_m(level);
                if last.squared_m2 < held * held || level == COARSEST {
                    found.truncate(WANTED);
                    break;
                }
            } else if level == COARSEST {
                break;
            }
            level += 1;
        }
        found.sort_unstable_by_key(order);
        let near = found.partition_point(|one| one.squared_m2 <= NEAR_M * NEAR_M);
        found.truncate(near.max(WANTED_FAR));
    }

    /// The sales of nine cells that were made before a day.
    fn around(
        &self,
        sales: &Sales,
        rows: &Range<usize>,
        position: Position,
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
                for row in self.cell(rows, place::interleave(east, north), level) {
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
