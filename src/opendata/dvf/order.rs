//! Determines from the first rows of a file whether it is in the usual order and whether its mutation numbers are
//! usable.
//!
//! In the usual order, the rows of a mutation follow each other, mutations are not sorted by price, and few of them agree
//! in day, price and section. Runs once per file, on at most a few thousand rows.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use super::columns::{DvfColumns, DvfField};
use super::mutation::{APART_SHARE, SECTION_FIELDS, is_same_mutation};
use crate::source::Block;
use crate::source::cell::{day, decimal};

/// Minimum number of prices or mutation numbers, all rising or all falling, that counts as sorted.
const SORTED_MIN: usize = 20;
/// Leading characters of a parcel code that name its section.
const SECTION_CHARS: usize = 10;

/// Digests the cells of some fields of a row; `None` if all are empty. Only the section of a parcel is used.
pub(super) fn key_of(
    rows: &Block,
    row: usize,
    columns: &DvfColumns,
    fields: &[DvfField],
) -> Option<u64> {
    let mut hasher = DefaultHasher::new();
    let mut is_empty = true;
    for field in fields {
        let Some(at) = columns.position(*field) else {
            continue;
        };
        let mut cell = rows.cell(row, at);
        if *field == DvfField::Parcel {
            cell = cell.get(..SECTION_CHARS).unwrap_or(cell);
        }
        is_empty &= cell.is_empty();
        cell.hash(&mut hasher);
    }
    (!is_empty).then(|| hasher.finish())
}

/// Returns whether rows without mutation numbers are in the usual order.
pub(super) fn is_in_usual_order(blocks: &[Block], columns: &DvfColumns) -> bool {
    let mut closed: HashSet<u64> = HashSet::new();
    let (mut mutations, mut apart) = (0, 0);
    let mut prices = Moves::default();
    let mut prices_of_day = Moves::default();
    for block in blocks {
        let starts = (0..block.len())
            .filter(|row| *row == 0 || !is_same_mutation(block, columns, false, row - 1, *row));
        let mut starts = starts.peekable();
        let mut former: Option<usize> = None;
        while let Some(start) = starts.next() {
            let end = starts.peek().copied().unwrap_or(block.len());
            let values =
                (start..end).filter_map(|row| key_of(block, row, columns, &SECTION_FIELDS));
            let values: HashSet<u64> = values.collect();
            mutations += 1;
            apart += u64::from(
                values
                    .into_iter()
                    .filter(|key| !closed.insert(*key))
                    .count()
                    > 0,
            );
            if let Some(former) = former {
                prices.add(block, columns, former, start);
                let at = columns.position(DvfField::Date);
                if at.is_some_and(|at| block.cell(former, at) == block.cell(start, at)) {
                    prices_of_day.add(block, columns, former, start);
                }
            }
            former = Some(start);
        }
    }
    apart * APART_SHARE <= mutations && !prices.are_sorted() && !prices_of_day.are_sorted()
}

/// Counts of prices that are higher and lower than the one before.
#[derive(Default)]
struct Moves {
    up: usize,
    down: usize,
}

impl Moves {
    fn add(&mut self, block: &Block, columns: &DvfColumns, former: usize, row: usize) {
        let price = |row| {
            let at = columns.position(DvfField::Price)?;
            decimal(block.cell(row, at))
        };
        if let Some((former, price)) = price(former).zip(price(row)) {
            self.up += usize::from(price > former);
            self.down += usize::from(price < former);
        }
    }

    fn are_sorted(&self) -> bool {
        self.up.min(self.down) == 0 && self.up.max(self.down) >= SORTED_MIN
    }
}

/// Returns whether mutation numbers only restate day and price: sorted by number, days rise, and prices rise within a
/// day.
pub(super) fn numbers_restate_values(block: &Block, columns: &DvfColumns) -> bool {
    let Some(at) = columns.position(DvfField::Mutation) else {
        return false;
    };
    let cell = |row, field| columns.position(field).map_or("", |at| block.cell(row, at));
    let mut values: HashMap<(&str, u64), (i32, f32)> = HashMap::new();
    for row in 0..block.len() {
        let number = block.cell(row, at);
        let Some((year, number)) = number.rsplit_once('-') else {
            return false;
        };
        let (Ok(number), Some(day)) = (number.parse(), day(cell(row, DvfField::Date))) else {
            return false;
        };
        // Rows without a price come last.
        let price = decimal(cell(row, DvfField::Price)).map_or(f32::INFINITY, |price| price as f32);
        if *values.entry((year, number)).or_insert((day, price)) != (day, price) {
            return false;
        }
    }
    let mut values: Vec<_> = values.into_iter().collect();
    values.sort_unstable_by_key(|(number, _)| *number);
    values.len() >= SORTED_MIN && values.is_sorted_by(|(_, one), (_, other)| one < other)
}
