//! Describes the market around a home as known on a day, by combining levels, price index and comparables.
//!
//! The residual of a sale is its log price less what its features (surface, rooms, land, …) and its place explain, so
//! residuals of different homes can be averaged. The market describes these residuals. Nothing here depends on the
//! surface of the home to be valued, because a larger home has the same surroundings.

mod levels;

use std::f32::consts::{PI, TAU};

use self::levels::{CELL_LEVELS, PriceLevel, PriceLevels};
use super::comparables::{Neighbour, SaleLocator};
use super::grid::GridPosition;
use super::home::HomeClass;
use super::price_index::{IndexAsOf, PriceIndex};
use super::sale::SaleColumns;

/// Prior weight of the wider scale in each combination with a cell, in sales.
const PRIORS: [f64; CELL_LEVELS.len()] = [30.0, 20.0, 15.0];
/// Prior weight of the country when it is combined with a department, in sales.
const DEPARTMENT_PRIOR: f64 = 30.0;
/// Prior weights of the wider level in each combination, in sales: cells with the neighbourhood, neighbourhood with the
/// nearest sales, nearest sales with the building.
const NEAR_PRIORS: [f64; 3] = [8.0, 6.0, 3.0];
/// Maximum deviation of a single sale from the level, in log price; larger ones are capped.
const PULL_MAX: f64 = 0.45;
/// Days in which the weight of a comparable falls to 1/e.
const DECAY_DAYS: f64 = 3_000.0;
/// Maximum distance of sales in the same building or plot, metres.
const SAME_PLACE_M: f32 = 12.0;
/// Number of nearest sales that set the width of the narrow kernel.
const NEAREST: usize = 16;
/// Minimum width of the narrow kernel, metres.
const NARROWEST_M: f64 = 30.0;
/// Factor on the weight of a comparable for each room of difference.
const ROOM_MISMATCH_WEIGHT: f64 = 0.45;
/// Minimum comparables within reach; below it the department is used as fallback.
const COMPARABLES_MIN: usize = 5;
/// Minimum weight of a department's sales for its level to count as known, in sales.
const DEPARTMENT_SALES_MIN: f64 = 10.0;
/// Highest rank of a department.
const DEPARTMENT_RANK_MAX: u8 = 101;
/// An area counts as inhabited if a home was sold within this distance, metres.
const INHABITED_M: f32 = 1_000.0;
/// Minimum number of nearest sales that must all be on one side of a position before it is taken to be at sea or
/// abroad. By chance this happens once in fifty times.
const ONE_SIDED_MIN: usize = 10;

/// Residuals of sales: log price less what features and place explain without the market, one value per row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SaleResiduals {
    /// Residuals from own features alone.
    pub own: Vec<f32>,
    /// Residuals from features and place.
    pub placed: Vec<f32>,
}

impl SaleResiduals {
    /// Uses the same residuals for both, because the place explains nothing.
    pub fn of_own(own: Vec<f32>) -> Self {
        let placed = own.clone();
        Self { own, placed }
    }
}

/// The sales and the structures derived from them, which can be queried as of any day.
#[derive(Clone, Debug, Default)]
pub struct Market {
    /// The sales themselves.
    pub sales: SaleColumns,
    quality: SaleResiduals,
    index: PriceIndex,
    levels: [PriceLevels; 2],
    places: SaleLocator,
}

/// A query of the market.
#[derive(Clone, Copy, Debug)]
pub struct MarketQuery {
    /// Class: flat or house.
    pub class: HomeClass,
    /// Position of the home.
    pub position: GridPosition,
    /// Main rooms; NaN where unknown.
    pub rooms: f32,
    /// Valuation date, and what is known then.
    pub as_of: AsOf,
}

/// A valuation date, and which sales are known then; in days since 1970-01-01.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AsOf {
    /// Valuation date.
    pub day: i32,
    /// Only sales before this day are used as comparables and in levels.
    pub before: i32,
    /// Only sales before this day inform the price index.
    pub index_before: i32,
}

impl AsOf {
    /// Values on `day` with only the sales before `before`.
    pub fn known(day: i32, before: i32) -> Self {
        Self {
            day,
            before,
            index_before: before,
        }
    }

    /// Values on `day` with comparables and levels from before `before`, but with the price index until `index_before`.
    /// Trees trained on such valuations learn about homes and places, but not how the market moved in the training
    /// years, which will not repeat.
    pub fn in_hindsight(day: i32, before: i32, index_before: i32) -> Self {
        Self {
            day,
            before,
            index_before,
        }
    }
}

/// The surroundings of a home. Levels are mean residuals in log price on the valuation date.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Surroundings {
    /// The level assigned to a home at this position: every scale combined with the wider ones.
    pub level: f64,
    /// The level without comparables: cells combined with the department and the country.
    pub cells_level: f64,
    /// Level of the country, from residuals of own features alone, like `department` and `fallback_level`.
    pub country: f64,
    /// Level of the department; NaN without sales.
    pub department: f64,
    /// Level used where too few sales are within reach: the department combined with the country. Without any sale
    /// within reach, it is the mean over the departments, each counted once however many sales it has, because an
    /// unknown place is like one more department.
    pub fallback_level: f64,
    /// Levels of the cells, coarsest first; NaN without sales.
    pub cells: [f64; CELL_LEVELS.len()],
    /// Weight of the smallest cell, in sales.
    pub cell_weight: f64,
    /// Mean over all comparables, weighted by distance and age; NaN without any.
    pub wide: f64,
    /// Mean over the nearest comparables.
    pub narrow: f64,
    /// Weighted median of the nearest comparables.
    pub weighted_median: f64,
    /// Mean over comparables with a similar number of rooms.
    pub similar_rooms: f64,
    /// Mean over sales of the same building or plot; NaN without any.
    pub same_place: f64,
    /// Weight of the sales of the same building or plot.
    pub same_place_weight: f64,
    /// Standard deviation of the comparables' residuals; NaN for fewer than two.
    pub spread: f64,
    /// Slope of the comparables' residuals over log surface.
    pub slope: f64,
    /// Distance of the farthest comparable, metres.
    pub radius_m: f64,
    /// Distance of the nearest comparable, metres; NaN without any.
    pub nearest_m: f64,
    /// Distance within which the minimum number of comparables for a local estimate is found, metres; NaN for fewer.
    pub near_m: f64,
    /// Mean age of the comparables on the valuation date, days.
    pub age: f64,
    /// Number of comparables within reach.
    pub comparables: usize,
    /// Horizon: days from the last known sale to the valuation date.
    pub horizon: f64,
    /// Change of the price index over the horizon, in log price.
    pub course: f64,
    /// Rank of the department; 0 if no sale is within reach.
    pub department_rank: u8,
}

impl Surroundings {
    /// Whether there are enough comparables within reach; if not, the department is used as fallback.
    pub fn is_local(&self) -> bool {
        self.comparables >= COMPARABLES_MIN
    }
}

/// A mean with its weight in sales.
#[derive(Clone, Copy, Default)]
struct WeightedMean {
    weight: f64,
    sum: f64,
}

impl WeightedMean {
    fn add(&mut self, weight: f64, value: f64) {
        self.weight += weight;
        self.sum += weight * value;
    }

    fn value(self) -> f64 {
        self.sum / self.weight
    }

    /// Combines this mean with a wider level that has the weight of `prior` sales.
    fn shrunk_towards(self, wider: f64, prior: f64) -> f64 {
        (self.sum + prior * wider) / (self.weight + prior)
    }
}

impl Market {
    /// Derives levels and price index from sales and their residuals.
    pub fn new(sales: SaleColumns, quality: SaleResiduals) -> Self {
        let places = SaleLocator::new(&sales);
        let mut market = Self {
            sales,
            places,
            ..Self::default()
        };
        market.set_quality(quality);
        market
    }

    /// Recomputes levels and price index from new residuals.
    pub fn set_quality(&mut self, quality: SaleResiduals) {
        self.index = PriceIndex::fit(&self.sales, &quality.placed);
        self.levels = [HomeClass::Flat, HomeClass::House]
            .map(|class| PriceLevels::new(&self.sales, &quality, class));
        self.quality = quality;
    }

    /// The price index.
    pub fn index(&self) -> &PriceIndex {
        &self.index
    }

    /// The residuals of the sales.
    pub fn quality(&self) -> &SaleResiduals {
        &self.quality
    }

    /// Returns the log price of a class at equal features in the country; `None` without any sale. Uses the price index
    /// of `department`.
    pub fn country(&self, class: HomeClass, department: u8, as_of: AsOf) -> Option<f64> {
        let path = self.index.before(as_of.index_before, class, department);
        let level = self.levels[class as usize].own.country(as_of.before)?;
        Some(level.mean - path.at(level.day + 0.5) + path.at(f64::from(as_of.day) + 0.5))
    }

    /// Returns the log price of a class at equal features in each department with enough sales, in the order of their
    /// ranks.
    fn departments(&self, class: HomeClass, as_of: AsOf) -> Vec<f64> {
        let levels = &self.levels[class as usize].own;
        let known = (1..=DEPARTMENT_RANK_MAX).filter_map(|department| {
            let level = levels.department(department, as_of.before)?;
            let path = self.index.before(as_of.index_before, class, department);
            let today = path.at(f64::from(as_of.day) + 0.5);
            let now = level.mean - path.at(level.day + 0.5) + today;
            (level.weight >= DEPARTMENT_SALES_MIN).then_some(now)
        });
        known.collect()
    }

    /// Returns the deviation of each department's level from their mean, in log price at equal features.
    pub fn deviations(&self, class: HomeClass, as_of: AsOf) -> Vec<f64> {
        let mut levels = self.departments(class, as_of);
        let mean = levels.iter().sum::<f64>() / levels.len() as f64;
        levels.iter_mut().for_each(|level| *level -= mean);
        levels
    }

    /// Day of the first sale of a class; `None` without sales.
    pub fn first_day(&self, class: HomeClass) -> Option<i32> {
        self.levels[class as usize].first_day()
    }

    /// Returns whether a position is in an inhabited area, judged by sales instead of an outline of the country. A
    /// position is taken to be at sea or abroad if no home was sold within a kilometre and the nearest sales are all on
    /// one side.
    fn is_inhabited_area(&self, question: &MarketQuery, found: &[Neighbour]) -> bool {
        let is_near = |found: &[Neighbour]| {
            let nearest = found.first();
            nearest.is_some_and(|nearest| nearest.squared_m2 <= INHABITED_M * INHABITED_M)
        };
        if is_near(found) || found.is_empty() {
            return true;
        }
        let other = match question.class {
            HomeClass::Flat => HomeClass::House,
            HomeClass::House => HomeClass::Flat,
        };
        let mut of_other = Vec::new();
        let (position, before) = (question.position, question.as_of.before);
        self.places
            .nearest(&self.sales, other, position, before, &mut of_other);
        if is_near(&of_other) {
            return true;
        }
        let ruler = position.ruler();
        let mut bearings: Vec<f32> = found
            .iter()
            .chain(&of_other)
            .map(|neighbour| ruler.bearing(self.sales.position[neighbour.row as usize]))
            .collect();
        bearings.sort_unstable_by(f32::total_cmp);
        let widest = bearings
            .windows(2)
            .map(|pair| pair[1] - pair[0])
            .chain([bearings[0] + TAU - bearings[bearings.len() - 1]])
            .fold(0.0, f32::max);
        bearings.len() < ONE_SIDED_MIN || widest < PI
    }

    /// Computes the surroundings of a home; `found` receives the comparables, nearest first.
    pub fn around(&self, question: &MarketQuery, found: &mut Vec<Neighbour>) -> Surroundings {
        let MarketQuery { class, as_of, .. } = *question;
        let before = as_of.before;
        self.places
            .nearest(&self.sales, class, question.position, before, found);
        if !self.is_inhabited_area(question, found) {
            found.clear();
        }
        let department = found
            .first()
            .map_or(0, |nearest| self.sales.department[nearest.row as usize]);
        let path = self.index.before(as_of.index_before, class, department);
        let today = path.at(f64::from(as_of.day) + 0.5);
        let now = |level: PriceLevel| level.mean - path.at(level.day + 0.5) + today;
        let mut around = Surroundings {
            comparables: found.len(),
            department_rank: department,
            horizon: f64::from(as_of.day - before).max(0.0),
            course: today - path.at(f64::from(before.min(as_of.day)) + 0.5),
            department: f64::NAN,
            cells: [f64::NAN; CELL_LEVELS.len()],
            wide: f64::NAN,
            narrow: f64::NAN,
            weighted_median: f64::NAN,
            similar_rooms: f64::NAN,
            same_place: f64::NAN,
            spread: f64::NAN,
            radius_m: f64::NAN,
            nearest_m: f64::NAN,
            near_m: f64::NAN,
            age: f64::NAN,
            ..Surroundings::default()
        };
        let levels = &self.levels[class as usize];
        let (Some(country), Some(placed)) =
            (levels.own.country(before), levels.placed.country(before))
        else {
            around.country = f64::NAN;
            around.fallback_level = f64::NAN;
            around.level = f64::NAN;
            return around;
        };
        let over = |level: PriceLevel, wider: f64, prior: f64| {
            let mut mean = WeightedMean::default();
            mean.add(level.weight, now(level));
            mean.shrunk_towards(wider, prior)
        };
        around.country = now(country);
        around.fallback_level = around.country;
        around.level = now(placed);
        if found.is_empty() {
            let known = self.departments(class, as_of);
            if !known.is_empty() {
                around.fallback_level = known.iter().sum::<f64>() / known.len() as f64;
            }
        }
        if department > 0 {
            if let Some(level) = levels.own.department(department, before) {
                around.department = now(level);
                around.fallback_level = over(level, around.fallback_level, DEPARTMENT_PRIOR);
            }
            if let Some(level) = levels.placed.department(department, before) {
                around.level = over(level, around.level, DEPARTMENT_PRIOR);
            }
        }
        around.cells_level = around.level;
        if found.is_empty() {
            return around;
        }
        let cells = levels.cells(question.position, before);
        for (scale, level) in cells.into_iter().enumerate() {
            let Some(level) = level else { continue };
            around.cells[scale] = now(level);
            around.level = over(level, around.level, PRIORS[scale]);
            around.cell_weight = level.weight;
        }
        around.cells_level = around.level;
        self.compare(question, found, path, today, &mut around);
        around
    }

    /// Combines the comparables with the level of the cells.
    fn compare(
        &self,
        question: &MarketQuery,
        found: &[Neighbour],
        path: IndexAsOf<'_>,
        today: f64,
        around: &mut Surroundings,
    ) {
        let farthest = found.last().map_or(0.0, |last| last.squared_m2);
        let near = found[found.len().min(NEAREST) - 1].squared_m2;
        let wide_scale = 1.0 / (0.2 * f64::from(farthest)).max(NARROWEST_M * NARROWEST_M);
        let narrow_scale = 1.0 / f64::from(near).max(NARROWEST_M * NARROWEST_M);
        let cells = around.level;
        let [mut wide, mut narrow, mut similar_rooms, mut same] = [WeightedMean::default(); 4];
        let [mut age_of, mut squares, mut of_surface] = [WeightedMean::default(); 3];
        let [mut surface_squares, mut products] = [WeightedMean::default(); 2];
        let mut gaps: Vec<(f64, f64)> = Vec::with_capacity(found.len());
        for neighbour in found {
            let row = neighbour.row as usize;
            let day = self.sales.day[row];
            let value = f64::from(self.quality.placed[row]) - path.at(f64::from(day) + 0.5) + today;
            let gap = (value - cells).clamp(-PULL_MAX, PULL_MAX);
            let age = f64::from(question.as_of.day - day);
            let squared = f64::from(neighbour.squared_m2);
            let fresh = (-age / DECAY_DAYS).exp();
            let in_wide = fresh / (1.0 + squared * wide_scale);
            let rooms = self.sales.rooms[row] - question.rooms;
            let similar = if rooms.is_nan() {
                ROOM_MISMATCH_WEIGHT
            } else {
                (f64::from(rooms.abs()) * ROOM_MISMATCH_WEIGHT.ln()).exp()
            };
            wide.add(in_wide, gap);
            let in_narrow = fresh * (-0.5 * squared * narrow_scale).exp();
            narrow.add(in_narrow, gap);
            similar_rooms.add(in_wide * similar, gap);
            gaps.push((gap, in_narrow + FAR_WEIGHT * in_wide));
            age_of.add(in_wide, age);
            squares.add(in_wide, gap * gap);
            let surface = f64::from(self.sales.surface_m2[row]).ln();
            of_surface.add(in_wide, surface);
            surface_squares.add(in_wide, surface * surface);
            products.add(in_wide, surface * gap);
            if neighbour.squared_m2 <= SAME_PLACE_M * SAME_PLACE_M {
                same.add(fresh * similar.sqrt(), gap);
            }
        }
        around.radius_m = f64::from(farthest).sqrt();
        let distance_m = |rank: usize| {
            found
                .get(rank)
                .map_or(f64::NAN, |one| f64::from(one.squared_m2).sqrt())
        };
        around.nearest_m = distance_m(0);
        around.near_m = distance_m(COMPARABLES_MIN - 1);
        around.wide = cells + wide.value();
        around.narrow = cells + narrow.value();
        around.weighted_median = cells + weighted_median(gaps);
        around.similar_rooms = cells + similar_rooms.value();
        around.age = age_of.value();
        if found.len() > 1 {
            around.spread = (squares.value() - wide.value().powi(2)).max(0.0).sqrt();
        }
        let variance = surface_squares.value() - of_surface.value().powi(2);
        let covariance = products.value() - of_surface.value() * wide.value();
        around.slope = covariance * wide.weight / (variance.max(0.0) * wide.weight + SLOPE_PRIOR);
        let mut gap = wide.shrunk_towards(0.0, NEAR_PRIORS[0]);
        gap = narrow.shrunk_towards(gap, NEAR_PRIORS[1]);
        if same.weight > 0.0 {
            around.same_place = cells + same.value();
            around.same_place_weight = same.weight;
            gap = same.shrunk_towards(gap, NEAR_PRIORS[2]);
        }
        around.level = cells + gap;
    }
}

/// Weight factor of sales outside the narrow kernel in the weighted median.
const FAR_WEIGHT: f64 = 0.2;
/// Shrinkage of the local slope towards zero, in units of number of sales times variance of log surface.
const SLOPE_PRIOR: f64 = 3.0;

/// Returns the weighted median; NaN for an empty list. Works without sorting, by halving the range that contains it at
/// each step.
fn weighted_median(mut values: Vec<(f64, f64)>) -> f64 {
    let mut left = values.as_mut_slice();
    let mut wanted = left.iter().map(|(_, weight)| weight).sum::<f64>() / 2.0;
    while left.len() > 1 {
        let at = left.len() / 2;
        left.select_nth_unstable_by(at, |one, other| one.0.total_cmp(&other.0));
        let below: f64 = left[..at].iter().map(|(_, weight)| weight).sum();
        if below >= wanted {
            left = &mut left[..at];
        } else {
            wanted -= below;
            left = &mut left[at..];
        }
    }
    left.first().map_or(f64::NAN, |(value, _)| *value)
}
