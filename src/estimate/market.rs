//! The market around a home as it was known on a day: levels, the path of prices, comparables, put together.
//!
//! The quality of a sale is the logarithm of its price less what its features (surface, rooms, land, …) and its place
//! explain, so sales of unlike homes can be averaged: the market tells what they leave unexplained. Everything here is
//! independent of the surface that is asked for: a larger home meets the same market.

mod levels;

use std::f32::consts::{PI, TAU};

use self::levels::{CELL_LEVELS, Level, Levels};
use super::comparables::{Neighbour, Places};
use super::home::Class;
use super::index::{Known, TimeIndex};
use super::place::Position;
use super::sale::Sales;

/// Weight of the wider scale when a narrower one is laid over it, in sales.
const PRIORS: [f64; CELL_LEVELS.len()] = [30.0, 20.0, 15.0];
/// The same for the department over the country.
const DEPARTMENT_PRIOR: f64 = 30.0;
/// The same for the neighbourhood over cells, for the nearest over the neighbourhood, for the building over these.
const NEAR_PRIORS: [f64; 3] = [8.0, 6.0, 3.0];
/// How far a single sale may pull, in logarithm of price.
const PULL_MAX: f64 = 0.45;
/// Days in which the weight of a comparable falls to 1/e.
const FADING_DAYS: f64 = 3_000.0;
/// Sales up to this distance are of the same building or plot, metres.
const SAME_PLACE_M: f32 = 12.0;
/// The nearest so many set the width of the narrower kernel.
const NEAREST: usize = 16;
/// Least width of the narrower kernel, metres.
const NARROWEST_M: f64 = 30.0;
/// What a room more or less leaves of the weight of a comparable.
const ROOM_SIMILARITY: f64 = 0.45;
/// Comparables within reach below which the department stands in.
const COMPARABLES_MIN: usize = 5;
/// Where a sale of any home is as near as this, homes stand, metres.
const SETTLED_M: f32 = 1_000.0;
/// Sales that have to lie to one side of a place before it is taken to be at sea or abroad: so many lie so by chance
/// once in fifty times.
const ONE_SIDED_MIN: usize = 10;

/// Qualities of sales: logarithms of price less what explains them without the market, one a row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Quality {
    /// Less what a home's own features explain.
    pub own: Vec<f32>,
    /// Less what its features and its place explain.
    pub placed: Vec<f32>,
}

impl Quality {
    /// Where nothing is explained by place.
    pub fn of_own(own: Vec<f32>) -> Self {
        let placed = own.clone();
        Self { own, placed }
    }
}

/// Sales, and what is derived of them to be asked as of any day.
#[derive(Clone, Debug, Default)]
pub struct Market {
    /// The sales.
    pub sales: Sales,
    quality: Quality,
    index: TimeIndex,
    levels: [Levels; 2],
    places: Places,
}

/// Who asks the market.
#[derive(Clone, Copy, Debug)]
pub struct Question {
    /// Flat or house.
    pub class: Class,
    /// Where.
    pub position: Position,
    /// Main rooms; NaN where unknown.
    pub rooms: f32,
    /// The day a price is wanted of.
    pub day: i32,
    /// Only sales before this day are known.
    pub before: i32,
}

/// What the market says; levels are logarithms of price at equal quality on the day asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Surroundings {
    /// The level that a home there is put at: every scale laid over the wider ones.
    pub level: f64,
    /// The same without comparables: cells laid over the department and the country.
    pub of_cells: f64,
    /// The country, at equal features alone, as the two that follow.
    pub country: f64,
    /// The department; NaN without sales.
    pub department: f64,
    /// What stands in where too few sales are within reach: the department laid over the country.
    pub stand_in: f64,
    /// Cells, coarsest first; NaN without sales.
    pub cells: [f64; CELL_LEVELS.len()],
    /// Weight of the smallest cell.
    pub cell_weight: f64,
    /// All comparables, by distance and age; NaN without.
    pub wide: f64,
    /// The nearest.
    pub narrow: f64,
    /// The middle of the nearest by weight: half of it below, half above.
    pub middle: f64,
    /// Those of like rooms.
    pub alike: f64,
    /// Those of the same place; NaN without.
    pub same_place: f64,
    /// Weight of these.
    pub same_place_weight: f64,
    /// Standard deviation among comparables; NaN for fewer than two.
    pub spread: f64,
    /// How their quality goes with the logarithm of their surface.
    pub slope: f64,
    /// Distance of the farthest comparable, metres.
    pub radius_m: f64,
    /// Mean age of comparables on the day asked for, days.
    pub age: f64,
    /// Comparables within reach.
    pub comparables: usize,
    /// Days between the last known and the day asked for.
    pub horizon: f64,
    /// Rank of the department; 0 where no sale is within reach.
    pub department_rank: u8,
}

impl Surroundings {
    /// Whether enough comparables are within reach for the place to speak; the department stands in otherwise.
    pub fn is_local(&self) -> bool {
        self.comparables >= COMPARABLES_MIN
    }
}

/// A mean with its weight.
#[derive(Clone, Copy, Default)]
struct Mean {
    weight: f64,
    sum: f64,
}

impl Mean {
    fn add(&mut self, weight: f64, value: f64) {
        self.weight += weight;
        self.sum += weight * value;
    }

    fn value(self) -> f64 {
        self.sum / self.weight
    }

    /// Laid over a wider level that weighs so many sales.
    fn over(self, wider: f64, prior: f64) -> f64 {
        (self.sum + prior * wider) / (self.weight + prior)
    }
}

impl Market {
    /// Derives levels and paths of sales of known quality.
    pub fn new(sales: Sales, quality: Quality) -> Self {
        let places = Places::new(&sales);
        let mut market = Self {
            sales,
            places,
            ..Self::default()
        };
        market.set_quality(quality);
        market
    }

    /// Derives levels and paths anew.
    pub fn set_quality(&mut self, quality: Quality) {
        self.index = TimeIndex::fit(&self.sales, &quality.placed);
        self.levels =
            [Class::Flat, Class::House].map(|class| Levels::new(&self.sales, &quality, class));
        self.quality = quality;
    }

    /// Qualities of the sales: the logarithms of price that the market has to explain.
    pub fn quality(&self) -> &Quality {
        &self.quality
    }

    /// What a home of a class costs in the country on a day, by the sales before another: logarithm of price at equal
    /// features; nothing without sales. The path of prices is that of a department.
    pub fn country(&self, class: Class, department: u8, day: i32, before: i32) -> Option<f64> {
        let path = self.index.before(before, class, department);
        let level = self.levels[class as usize].own.country(before)?;
        Some(level.mean - path.at(level.day + 0.5) + path.at(f64::from(day) + 0.5))
    }

    /// Day of the first sale of a class.
    pub fn first_day(&self, class: Class) -> Option<i32> {
        self.levels[class as usize].first_day()
    }

    /// Whether homes stand around a place, as far as sales tell, for lack of the outline of the country: where no home
    /// was sold within a kilometre and the nearest that were all lie to one side, it is at sea or abroad.
    fn is_settled(&self, question: &Question, found: &[Neighbour]) -> bool {
        let is_near = |found: &[Neighbour]| {
            let nearest = found.first();
            nearest.is_some_and(|nearest| nearest.squared_m2 <= SETTLED_M * SETTLED_M)
        };
        if is_near(found) || found.is_empty() {
            return true;
        }
        let other = match question.class {
            Class::Flat => Class::House,
            Class::House => Class::Flat,
        };
        let mut of_other = Vec::new();
        let (position, before) = (question.position, question.before);
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

    /// What is known around a home; `found` comes back with the comparables, nearest first.
    pub fn around(&self, question: &Question, found: &mut Vec<Neighbour>) -> Surroundings {
        let Question { class, before, .. } = *question;
        self.places
            .nearest(&self.sales, class, question.position, before, found);
        if !self.is_settled(question, found) {
            found.clear();
        }
        let department = found
            .first()
            .map_or(0, |nearest| self.sales.department[nearest.row as usize]);
        let path = self.index.before(before, class, department);
        let today = path.at(f64::from(question.day) + 0.5);
        let now = |level: Level| level.mean - path.at(level.day + 0.5) + today;
        let mut around = Surroundings {
            comparables: found.len(),
            department_rank: department,
            horizon: f64::from(question.day - before).max(0.0),
            department: f64::NAN,
            cells: [f64::NAN; CELL_LEVELS.len()],
            wide: f64::NAN,
            narrow: f64::NAN,
            middle: f64::NAN,
            alike: f64::NAN,
            same_place: f64::NAN,
            spread: f64::NAN,
            radius_m: f64::NAN,
            age: f64::NAN,
            ..Surroundings::default()
        };
        let levels = &self.levels[class as usize];
        let (Some(country), Some(placed)) =
            (levels.own.country(before), levels.placed.country(before))
        else {
            around.country = f64::NAN;
            around.stand_in = f64::NAN;
            around.level = f64::NAN;
            return around;
        };
        let over = |level: Level, wider: f64, prior: f64| {
            let sum = level.weight * now(level);
            Mean {
                weight: level.weight,
                sum,
            }
            .over(wider, prior)
        };
        around.country = now(country);
        around.stand_in = around.country;
        around.level = now(placed);
        if department > 0 {
            if let Some(level) = levels.own.department(department, before) {
                around.department = now(level);
                around.stand_in = over(level, around.stand_in, DEPARTMENT_PRIOR);
            }
            if let Some(level) = levels.placed.department(department, before) {
                around.level = over(level, around.level, DEPARTMENT_PRIOR);
            }
        }
        around.of_cells = around.level;
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
        around.of_cells = around.level;
        self.compare(question, found, path, today, &mut around);
        around
    }

    /// Lays the comparables over the level of cells.
    fn compare(
        &self,
        question: &Question,
        found: &[Neighbour],
        path: Known<'_>,
        today: f64,
        around: &mut Surroundings,
    ) {
        let farthest = found.last().map_or(0.0, |last| last.squared_m2);
        let near = found[found.len().min(NEAREST) - 1].squared_m2;
        let wide_scale = 1.0 / (0.2 * f64::from(farthest)).max(NARROWEST_M * NARROWEST_M);
        let narrow_scale = 1.0 / f64::from(near).max(NARROWEST_M * NARROWEST_M);
        let cells = around.level;
        let (mut wide, mut narrow, mut alike) = (Mean::default(), Mean::default(), Mean::default());
        let mut same = Mean::default();
        let mut gaps: Vec<(f64, f64)> = Vec::with_capacity(found.len());
        let mut age_of = Mean::default();
        let (mut squares, mut of_surface) = (Mean::default(), Mean::default());
        let (mut surface_squares, mut products) = (Mean::default(), Mean::default());
        for neighbour in found {
            let row = neighbour.row as usize;
            let day = self.sales.day[row];
            let value = f64::from(self.quality.placed[row]) - path.at(f64::from(day) + 0.5) + today;
            let gap = (value - cells).clamp(-PULL_MAX, PULL_MAX);
            let age = f64::from(question.day - day);
            let squared = f64::from(neighbour.squared_m2);
            let fresh = (-age / FADING_DAYS).exp();
            let in_wide = fresh / (1.0 + squared * wide_scale);
            let rooms = self.sales.rooms[row] - question.rooms;
            let similar = if rooms.is_nan() {
                ROOM_SIMILARITY
            } else {
                (f64::from(rooms.abs()) * ROOM_SIMILARITY.ln()).exp()
            };
            wide.add(in_wide, gap);
            let in_narrow = fresh * (-0.5 * squared * narrow_scale).exp();
            narrow.add(in_narrow, gap);
            alike.add(in_wide * similar, gap);
            gaps.push((gap, in_narrow + FARTHER_SHARE * in_wide));
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
        around.wide = cells + wide.value();
        around.narrow = cells + narrow.value();
        around.middle = cells + middle(gaps);
        around.alike = cells + alike.value();
        around.age = age_of.value();
        if found.len() > 1 {
            around.spread = (squares.value() - wide.value().powi(2)).max(0.0).sqrt();
        }
        let variance = surface_squares.value() - of_surface.value().powi(2);
        let covariance = products.value() - of_surface.value() * wide.value();
        around.slope = covariance * wide.weight / (variance.max(0.0) * wide.weight + SLOPE_PRIOR);
        let mut gap = wide.over(0.0, NEAR_PRIORS[0]);
        gap = narrow.over(gap, NEAR_PRIORS[1]);
        if same.weight > 0.0 {
            around.same_place = cells + same.value();
            around.same_place_weight = same.weight;
            gap = same.over(gap, NEAR_PRIORS[2]);
        }
        around.level = cells + gap;
    }
}

/// What a sale out of the narrower kernel counts for the middle.
const FARTHER_SHARE: f64 = 0.2;
/// Keeps the slope of a neighbourhood near zero until its sales have a say, in sales times variance of surface.
const SLOPE_PRIOR: f64 = 3.0;

/// The value that half of the weight lies below; NaN for none. Halves what may hold it until one value is left.
fn middle(mut values: Vec<(f64, f64)>) -> f64 {
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
