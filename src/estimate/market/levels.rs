//! Computes price levels around a home at several scales: cells of 1, 4 and 16 km, the department, the country.
//!
//! Each cell stores, day by day, running sums in which older sales weigh less. A binary search finds the sums before a
//! given day, so a level as of any day costs about 0.2 µs per scale.

use std::ops::Range;

use rayon::prelude::*;

use super::SaleResiduals;
use crate::grid::GridPosition;
use crate::home::HomeClass;
use crate::sale::SaleColumns;

/// Cell levels (bits dropped from the Morton code), coarsest first: 16 km, 4 km, 1 km.
pub const CELL_LEVELS: [u32; 3] = [10, 8, 6];
/// Days in which the weight of a sale falls to 1/e.
const DECAY_DAYS: f64 = 400.0;

/// The price level of an area before a day.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PriceLevel {
    /// Total weight of its sales; a sale on that day weighs 1.
    pub weight: f64,
    /// Mean residual of its sales, in log price.
    pub mean: f64,
    /// Weighted mean day of its sales, days since 1970-01-01.
    pub day: f64,
}

/// Running sums of the sales of a cell up to a day.
#[derive(Clone, Copy, Debug, PartialEq)]
struct RunningSums {
    day: i32,
    weight: f32,
    quality: f32,
    /// Mean age of the sales on `day`, days.
    age: f32,
}

/// The cells of one scale.
#[derive(Clone, Debug, Default, PartialEq)]
struct GridScale {
    /// Cell codes in ascending order, each with the index of its first sums.
    cells: Vec<(u64, u32)>,
    sums: Vec<RunningSums>,
}

impl GridScale {
    /// Groups rows by `code` and sums them in chronological order.
    fn new(
        sales: &SaleColumns,
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
                let kept = (-passed / DECAY_DAYS).exp();
                age = (age + weight * passed) * kept;
                weight = weight * kept + 1.0;
                sum = sum * kept + f64::from(quality[*row as usize]);
                former = *day;
                let sums = RunningSums {
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

    fn before(&self, code: u64, day: i32) -> Option<PriceLevel> {
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
        Some(PriceLevel {
            weight: f64::from(last.weight) * (-passed / DECAY_DAYS).exp(),
            mean: f64::from(last.quality),
            day: f64::from(last.day) - f64::from(last.age),
        })
    }
}

/// The levels of the departments and of the country.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WideLevels {
    departments: GridScale,
    country: GridScale,
}

impl WideLevels {
    fn new(sales: &SaleColumns, quality: &[f32], rows: Range<usize>) -> Self {
        let (departments, country) = rayon::join(
            || {
                GridScale::new(sales, quality, rows.clone(), |row| {
                    u64::from(sales.department[row])
                })
            },
            || GridScale::new(sales, quality, rows.clone(), |_| 0),
        );
        Self {
            departments,
            country,
        }
    }

    /// The country's level before a day; `None` without earlier sales.
    pub fn country(&self, day: i32) -> Option<PriceLevel> {
        self.country.before(0, day)
    }

    /// A department's level before a day; `None` without earlier sales.
    pub fn department(&self, department: u8, day: i32) -> Option<PriceLevel> {
        self.departments.before(u64::from(department), day)
    }
}

/// The levels of one class at every scale.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PriceLevels {
    /// Levels of residuals from own features alone, used as fallback if there are too few local sales.
    pub own: WideLevels,
    /// Levels of residuals from features and place, like those of the cells.
    pub placed: WideLevels,
    cells: Vec<GridScale>,
}

impl PriceLevels {
    /// Sums the sales of a class.
    pub fn new(sales: &SaleColumns, quality: &SaleResiduals, class: HomeClass) -> Self {
        let rows = sales.rows(class);
        let cells = |level: &u32| {
            GridScale::new(sales, &quality.placed, rows.clone(), |row| {
                sales.position[row].morton() >> (2 * level)
            })
        };
        Self {
            own: WideLevels::new(sales, &quality.own, rows.clone()),
            placed: WideLevels::new(sales, &quality.placed, rows.clone()),
            cells: CELL_LEVELS.par_iter().map(cells).collect(),
        }
    }

    /// Day of the first sale; `None` without sales.
    pub fn first_day(&self) -> Option<i32> {
        self.own.country.sums.first().map(|sums| sums.day)
    }

    /// The levels of the cells around a position before a day, coarsest first.
    pub fn cells(
        &self,
        position: GridPosition,
        day: i32,
    ) -> [Option<PriceLevel>; CELL_LEVELS.len()] {
        let code = position.morton();
        let mut levels = [None; CELL_LEVELS.len()];
        for ((level, scale), bits) in levels.iter_mut().zip(&self.cells).zip(CELL_LEVELS) {
            *level = scale.before(code >> (2 * bits), day);
        }
        levels
    }
}
