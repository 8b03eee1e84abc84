//! The level of prices around a home at several scales: cells of 1, 4 and 16 km, the department, the country.
//!
//! Each cell keeps, day by day, running sums in which older sales count less. The sums as they stood
//! before a day are one binary search away, so a level can be asked as of any day: some 0.2 µs a scale.

use std::ops::Range;

use rayon::prelude::*;

use super::Quality;
use crate::home::Class;
use crate::place::Position;
use crate::sale::Sales;

/// Cells by the bits their code drops, coarsest first: 16 km, 4 km, 1 km.
pub const CELL_LEVELS: [u32; 3] = [10, 8, 6];
/// Days in which the weight of a sale falls to 1/e.
const FADING_DAYS: f64 = 400.0;

/// What a scale knows before a day.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Level {
    /// Weight of its sales; a sale of that day weighs 1.
    pub weight: f64,
    /// Mean of the logarithm of price by quality.
    pub mean: f64,
    /// Mean day of its sales.
    pub day: f64,
}

/// Running sums of the sales of a cell up to a day.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Sums {
    day: i32,
    weight: f32,
    quality: f32,
    /// Mean day, counted back from `day`.
    age: f32,
}

/// Cells of one scale.
#[derive(Clone, Debug, Default, PartialEq)]
struct Scale {
    /// Codes of cells, ascending, and where their sums begin.
    cells: Vec<(u64, u32)>,
    sums: Vec<Sums>,
}

impl Scale {
    /// Groups rows by a code and sums them in order of time.
    fn new(
        sales: &Sales,
        quality: &[f32],
        rows: Range<usize>,
        code: impl Fn(usize) -> u64,
    ) -> Self {
        let mut order: Vec<(u64, i32, u32)> = rows
            .map(|row| (code(row), sales.day[row], row as u32))
            .collect();
        order.sort_unstable();
        let mut scale = Self::default();
        for of_cell in order.chunk_by(|one, other| one.0 == other.0) {
            let begin = scale.sums.len();
            scale.cells.push((of_cell[0].0, begin as u32));
            let (mut weight, mut sum, mut age, mut former) = (0.0f64, 0.0f64, 0.0f64, 0);
            for (_, day, row) in of_cell {
                let passed = f64::from(day - if weight > 0.0 { former } else { *day });
                let kept = (-passed / FADING_DAYS).exp();
                age = (age + weight * passed) * kept;
                weight = weight * kept + 1.0;
                sum = sum * kept + f64::from(quality[*row as usize]);
                former = *day;
                let sums = Sums {
                    day: *day,
                    weight: weight as f32,
                    quality: (sum / weight) as f32,
                    age: (age / weight) as f32,
                };
                match scale.sums[begin..].last_mut() {
                    Some(last) if last.day == *day => *last = sums,
                    _ => scale.sums.push(sums),
                }
            }
        }
        scale.sums.shrink_to_fit();
        scale
    }

    fn before(&self, code: u64, day: i32) -> Option<Level> {
        let cell = self.cells.binary_search_by_key(&code, |cell| cell.0).ok()?;
        let begin = self.cells[cell].1 as usize;
        let end = self
            .cells
            .get(cell + 1)
            .map_or(self.sums.len(), |next| next.1 as usize);
        let sums = &self.sums[begin..end];
        let known = sums.partition_point(|sums| sums.day < day);
        let last = sums.get(known.checked_sub(1)?)?;
        let passed = f64::from(day - last.day);
        Some(Level {
            weight: f64::from(last.weight) * (-passed / FADING_DAYS).exp(),
            mean: f64::from(last.quality),
            day: f64::from(last.day) - f64::from(last.age),
        })
    }
}

/// A department's level and the country's.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Wide {
    departments: Scale,
    country: Scale,
}

impl Wide {
    fn new(sales: &Sales, quality: &[f32], rows: Range<usize>) -> Self {
        let (departments, country) = rayon::join(
            || {
                Scale::new(sales, quality, rows.clone(), |row| {
                    u64::from(sales.department[row])
                })
            },
            || Scale::new(sales, quality, rows.clone(), |_| 0),
        );
        Self {
            departments,
            country,
        }
    }

    /// The country before a day.
    pub fn country(&self, day: i32) -> Option<Level> {
        self.country.before(0, day)
    }

    /// A department before a day.
    pub fn department(&self, department: u8, day: i32) -> Option<Level> {
        self.departments.before(u64::from(department), day)
    }
}

/// Levels of one class at every scale.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Levels {
    /// Of quality by own features alone: what stands in where the place tells nothing.
    pub own: Wide,
    /// Of quality by features and place, as the cells are.
    pub placed: Wide,
    cells: Vec<Scale>,
}

impl Levels {
    /// Sums the sales of a class.
    pub fn new(sales: &Sales, quality: &Quality, class: Class) -> Self {
        let rows = sales.rows(class);
        let cells = |level: &u32| {
            Scale::new(sales, &quality.placed, rows.clone(), |row| {
                sales.position[row].morton() >> (2 * level)
            })
        };
        Self {
            own: Wide::new(sales, &quality.own, rows.clone()),
            placed: Wide::new(sales, &quality.placed, rows.clone()),
            cells: CELL_LEVELS.par_iter().map(cells).collect(),
        }
    }

    /// Day of the first sale.
    pub fn first_day(&self) -> Option<i32> {
        self.own.country.sums.first().map(|sums| sums.day)
    }

    /// The cells around a position before a day, coarsest first.
    pub fn cells(&self, position: Position, day: i32) -> [Option<Level>; CELL_LEVELS.len()] {
        let code = position.morton();
        let mut levels = [None; CELL_LEVELS.len()];
        for ((level, scale), bits) in levels.iter_mut().zip(&self.cells).zip(CELL_LEVELS) {
            *level = scale.before(code >> (2 * bits), day);
        }
        levels
    }
}
