//! Determines from the first rows of a file whether it is in the usual order and whether its mutation numbers are
//! usable.
//!
//! In the usual order, the rows of a mutation follow each other, mutations are not sorted by any column or by line, and
//! few of them agree in day, price and section. Sorting can put rows of different mutations that agree in day and price
//! next to each other, so that their order no longer separates them. It can also separate rows of one mutation, such as
//! a house and a field in another street. Runs once per file, on at most a few thousand rows.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use super::columns::{DvfColumns, DvfField};
use super::mutation::{APART_SHARE, SECTION_FIELDS, is_same_mutation};
use crate::source::Block;
use crate::source::cell::{day, decimal};

/// Minimum number of values, lines or mutation numbers for their order to count.
const SORTED_MIN: usize = 20;
/// Values count as sorted if at most one step in this many goes in the opposite direction. In published files, half of
/// the steps do.
const AGAINST_SHARE: usize = 10;
/// A file counts as sorted by day or section if at most one mutation in this many differs in it from the mutation
/// before. In published files, most mutations do.
const CHANGES_SHARE: usize = 20;
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
    let mut moves = SortMoves::new(columns);
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
                moves.add(block, columns, former, start);
            }
            former = Some(start);
        }
    }
    apart * APART_SHARE <= mutations && !moves.are_sorted()
}

/// Fields whose columns are not examined for their order: published files are sorted by them, or nearly.
const PUBLISHED_ORDER: [DvfField; 6] = [
    DvfField::Mutation,
    DvfField::DepartmentCode,
    DvfField::CommuneCode,
    DvfField::CommuneName,
    DvfField::PostalCode,
    DvfField::FormerCommune,
];

/// How the values of the columns change from one mutation to the next. Programs that see a number or a day as text sort
/// it as text.
struct SortMoves {
    columns: Vec<ColumnMoves>,
    day: Moves,
    section: Moves,
    line: Moves,
    /// Positions of the known columns, in the order of the file.
    known: Vec<usize>,
}

/// How the values of a column change, as text and as numbers.
struct ColumnMoves {
    at: usize,
    text: Moves,
    number: Moves,
}

impl SortMoves {
    fn new(columns: &DvfColumns) -> Self {
        let known = columns.known_positions();
        let published = PUBLISHED_ORDER.map(|field| columns.position(field));
        let examined = known.iter().filter(|at| !published.contains(&Some(**at)));
        let examined = examined.map(|at| ColumnMoves {
            at: *at,
            text: Moves::default(),
            number: Moves::default(),
        });
        Self {
            columns: examined.collect(),
            day: Moves::default(),
            section: Moves::default(),
            line: Moves::default(),
            known,
        }
    }

    fn add(&mut self, block: &Block, columns: &DvfColumns, former: usize, row: usize) {
        let cells = |at| (block.cell(former, at), block.cell(row, at));
        for column in &mut self.columns {
            let (one, other) = cells(column.at);
            column.text.add(one.cmp(other));
            if let Some((one, other)) = decimal(one).zip(decimal(other)) {
                column.number.add(one.total_cmp(&other));
            }
        }
        let (one, other) = columns.position(DvfField::Date).map_or(("", ""), cells);
        if let Some((one, other)) = day(one).zip(day(other)) {
            self.day.add(one.cmp(&other));
        }
        let section = |row| {
            key_of(
                block,
                row,
                columns,
                &[DvfField::ParcelSection, DvfField::Parcel],
            )
        };
        if let Some((one, other)) = section(former).zip(section(row)) {
            self.section.add(one.cmp(&other));
        }
        let known = &self.known;
        let line = |row: usize| known.iter().map(move |at| block.cell(row, *at));
        self.line.add(line(former).cmp(line(row)));
    }

    fn are_sorted(&self) -> bool {
        let columns = self.columns.iter();
        let mut columns = columns.flat_map(|column| [&column.text, &column.number]);
        // The first rows of a large file sorted by day or section may all have the same one; in the usual order, both
        // go up and down.
        columns.any(Moves::are_sorted)
            || self.day.are_sorted()
            || self.line.are_sorted()
            || self.day.are_few()
            || self.section.are_few()
    }
}

/// Counts of values that are higher than, lower than and equal to the one before.
#[derive(Default)]
struct Moves {
    up: usize,
    down: usize,
    equal: usize,
}

impl Moves {
    fn add(&mut self, former_to_next: Ordering) {
        match former_to_next {
            Ordering::Less => self.up += 1,
            Ordering::Greater => self.down += 1,
            Ordering::Equal => self.equal += 1,
        }
    }

    /// Returns whether nearly all moves go one way. The others are allowed for files sorted within a few groups.
    fn are_sorted(&self) -> bool {
        let most = self.up.max(self.down);
        most >= SORTED_MIN && self.up.min(self.down) * AGAINST_SHARE <= most
    }

    /// Returns whether the value hardly ever changes.
    fn are_few(&self) -> bool {
        self.equal >= SORTED_MIN && (self.up + self.down) * CHANGES_SHARE <= self.equal
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
