//! The estimator itself, fitted to sales: features and place explain a price as far as trees can tell, the market says
//! what similar homes there cost beyond, and last trees correct the two together.
//!
//! `ln price = slope · ln surface + hedonic trees + level + last trees`. The hedonic trees are of two kinds, mixed: of
//! own features alone, which leave the place to the market, and of features and place, which see what the market's
//! averages blur (large flats dear in one street, small ones in the next). Trees that see a place are cut at random
//! thresholds: towns have few straight borders, and on splits inside the training years such trees err less. Each sale
//! is shown the market as of a day before its own, up to a year before: data is published late, so that is how homes are
//! valued.

use std::collections::BTreeMap;

use rayon::prelude::*;

use super::error::Error;
use super::features::{self, ALL, OWN, Own, PLACED, Topic, own_of};
use super::hedonic::{Hedonic, SLOPE, fold, surface_term};
use super::home::Class;
use super::market::{Market, Quality, Question, Surroundings};
use super::place::Position;
use super::sale::Sales;
use super::trees::{Boosted, Matrix, Settings, Trees};

/// The slope where there are no trees.
const SLOPE_ALONE: [f64; 2] = [0.93, 0.65];
/// Longest time between the last known sale and the one learned from, days.
const HORIZON_MAX_DAYS: f64 = 365.0;
/// Share of the time covered by sales that the horizon may take.
const HORIZON_SHARE: f64 = 0.33;
/// Sales of the first days have too little before them to learn from, as a share of all days.
const LEAD_SHARE: f64 = 0.2;
/// Days in which the weight of a sale learned from falls to 1/e.
const FADING_DAYS: f64 = 1_500.0;
/// Sales below which no trees are grown: comparables speak alone.
const TREES_MIN: usize = 1_000;
/// Trees of own features, their depth and rate.
const OWN_TREES: usize = 80;
const OWN_DEPTH: usize = 5;
const OWN_RATE: f64 = 0.1;
/// Trees of features and place of each fold, cut at random thresholds; their greatest depth and rate.
const PLACE_TREES: usize = 200;
const PLACE_DEPTH_MAX: usize = 8;
const PLACE_RATE: f64 = 0.12;
/// Trees of all features, cut at random thresholds; their greatest depth and rate.
const TREES: usize = 250;
const DEPTH_MAX: usize = 5;
const RATE: f64 = 0.08;
/// Least weight of sales in a leaf.
const LEAF_MIN: f64 = 40.0;
/// Steps a fit tells of.
pub const STEPS: u64 = 5;
/// Surface of a typical home of a class without sales, square metres.
const TYPICAL_SURFACE_M2: f64 = 75.0;
/// Sales for one more leaf, roughly: trees of few sales are shallow.
const SALES_A_LEAF: usize = 60;

/// The estimator without its interval.
#[derive(Debug)]
pub struct Fitted {
    /// The market it knows.
    pub market: Market,
    pub(super) trees: Option<Grown>,
    /// Logarithm of the surface of a typical home, by class.
    pub(super) typical: [f64; 2],
    /// First day it knows nothing of.
    pub end: i32,
}

/// The trees of an estimator.
#[derive(Debug)]
pub(super) struct Grown {
    /// What features and place explain.
    pub hedonic: Hedonic,
    /// What is left between a home and its market.
    pub gap: Boosted,
}

/// A price before its interval.
#[derive(Clone, Debug)]
pub struct Valued {
    /// Logarithm of the price.
    pub log_price: f64,
    /// What of it the home's own features explain.
    pub own: f64,
    /// What of it trees of place add to these.
    pub place: f64,
    /// What the market said.
    pub around: Surroundings,
    /// What the last trees were shown.
    pub row: [f32; ALL],
}

/// Room that is used again from one home to the next.
pub type Scratch = Vec<super::comparables::Neighbour>;

/// Medians of the logarithm of surface.
pub(super) fn typical_surfaces(sales: &Sales) -> [f64; 2] {
    [Class::Flat, Class::House].map(|class| {
        let mut surfaces: Vec<f32> = sales.surface_m2[sales.rows(class)].to_vec();
        let middle = surfaces.len() / 2;
        if surfaces.is_empty() {
            return TYPICAL_SURFACE_M2.ln();
        }
        let (_, median, _) = surfaces.select_nth_unstable_by(middle, f32::total_cmp);
        f64::from(*median).ln()
    })
}

/// Depth of trees of so many sales.
fn depth(sales: usize, greatest: usize) -> usize {
    let leaves = (sales / SALES_A_LEAF).max(4);
    (leaves.ilog2() as usize).clamp(2, greatest)
}

/// A number in 0..1 that depends on the sale alone.
pub(super) fn chance(id: &[u8; super::sale::ID_BYTES]) -> f64 {
    let mut bits = 0u64;
    for byte in &id[..8] {
        bits = (bits << 8) | u64::from(*byte);
    }
    toise_base::splitmix::to_unit(bits)
}

/// Sales to learn from, each with the day before which the market is shown to it.
struct Lessons {
    rows: Vec<(usize, i32)>,
    end: i32,
}

impl Lessons {
    fn new(sales: &Sales, end: i32) -> Self {
        let earliest = sales.day.iter().min().copied().unwrap_or(end);
        let span = f64::from(end - earliest);
        let horizon = (span * HORIZON_SHARE).min(HORIZON_MAX_DAYS);
        let lead = earliest + (span * LEAD_SHARE) as i32;
        let shown = |row: usize| {
            let before = sales.day[row] - (chance(&sales.id[row]) * horizon) as i32;
            (row, before.max(lead.min(sales.day[row])))
        };
        let rows = (0..sales.len()).filter(|row| sales.day[*row] >= lead);
        Self {
            rows: rows.map(shown).collect(),
            end,
        }
    }

    fn weight(&self, market: &Market, row: usize) -> f32 {
        (-f64::from(self.end - market.sales.day[row]) / FADING_DAYS).exp() as f32
    }

    fn around(&self, market: &Market, scratch: &mut Scratch, lesson: (usize, i32)) -> Surroundings {
        let (row, before) = lesson;
        let question = Question {
            class: market.sales.class(row),
            position: market.sales.position[row],
            rooms: market.sales.rooms[row],
            day: market.sales.day[row],
            before,
        };
        market.around(&question, scratch)
    }

    /// Trees of own features against the level of the place.
    fn own_trees(&self, market: &Market) -> Result<Boosted, Error> {
        let labels: Vec<f64> = self
            .rows
            .par_iter()
            .map_init(Scratch::new, |scratch, lesson| {
                let home = own_of(&market.sales, lesson.0);
                let level = self.around(market, scratch, *lesson).level;
                market.sales.price[lesson.0].ln() - surface_term(&home) - level
            })
            .collect();
        let mut matrix = Matrix::default();
        for ((row, _), label) in self.rows.iter().zip(labels) {
            if label.is_finite() {
                let shown = features::own(&own_of(&market.sales, *row));
                matrix.push(&shown, label, self.weight(market, *row));
            }
        }
        let settings = Settings {
            quantile: 0.5,
            trees: OWN_TREES,
            depth: OWN_DEPTH,
            rate: OWN_RATE,
            leaf_min: LEAF_MIN,
            is_random: false,
            directions: OWN.map(|(_, direction)| direction).to_vec(),
            seed: 1,
        };
        Boosted::grow(matrix, &settings)
    }

    /// Trees of features and place against the level of the country, grown without a fold of the sales.
    fn place_trees(&self, market: &Market, without: usize) -> Result<Boosted, Error> {
        let sales = &market.sales;
        let mut matrix = Matrix::default();
        for (row, before) in self.rows.iter().copied() {
            let (class, department) = (sales.class(row), sales.department[row]);
            let level = market.country(class, department, sales.day[row], before);
            let Some(level) = level.filter(|_| fold(&sales.id[row]) != without) else {
                continue;
            };
            let home = own_of(sales, row);
            let shown = features::placed(&home, sales.position[row]);
            let label = sales.price[row].ln() - surface_term(&home) - level;
            matrix.push(&shown, label, self.weight(market, row));
        }
        let settings = Settings {
            quantile: 0.5,
            trees: PLACE_TREES,
            depth: depth(matrix.labels.len(), PLACE_DEPTH_MAX),
            rate: PLACE_RATE,
            leaf_min: LEAF_MIN,
            is_random: true,
            directions: (0..PLACED).map(|at| features::of_placed(at).1).collect(),
            seed: 4 + without as u64,
        };
        Boosted::grow(matrix, &settings)
    }

    /// Trees of all features against the level of the place at equal quality.
    fn gap_trees(&self, market: &Market, hedonic: &Hedonic) -> Result<Boosted, Error> {
        let shown: Vec<([f32; ALL], f64)> = self
            .rows
            .par_iter()
            .map_init(Scratch::new, |scratch, lesson| {
                let row = lesson.0;
                let around = self.around(market, scratch, *lesson);
                let home = own_of(&market.sales, row);
                let shown = features::placed(&home, market.sales.position[row]);
                let fold = fold(&market.sales.id[row]);
                let placed = Hedonic::placed(&shown, &hedonic.place[fold..=fold])?;
                let shown = features::all(&shown, &around, placed);
                let label = f64::from(market.quality().placed[row]) - around.level;
                Ok((shown, label))
            })
            .collect::<Result<_, Error>>()?;
        let mut matrix = Matrix::default();
        for ((row, _), (shown, label)) in self.rows.iter().zip(&shown) {
            if label.is_finite() {
                matrix.push(shown, *label, self.weight(market, *row));
            }
        }
        let settings = Settings {
            quantile: 0.5,
            trees: TREES,
            depth: depth(matrix.labels.len(), DEPTH_MAX),
            rate: RATE,
            leaf_min: LEAF_MIN,
            is_random: true,
            directions: (0..ALL).map(|at| features::of_all(at).1).collect(),
            seed: 2,
        };
        Boosted::grow(matrix, &settings)
    }
}

impl Fitted {
    /// Fits to sales, all of them before `end`; `step` is told of each of [`STEPS`] steps.
    ///
    /// # Errors
    /// What the trees say.
    pub fn new(sales: Sales, end: i32, step: &dyn Fn()) -> Result<Self, Error> {
        let quality = (0..sales.len()).map(|row| {
            let surface = f64::from(sales.surface_m2[row]).ln();
            (sales.price[row].ln() - SLOPE_ALONE[sales.class(row) as usize] * surface) as f32
        });
        let quality = Quality::of_own(quality.collect());
        let typical = typical_surfaces(&sales);
        let mut fitted = Self {
            market: Market::new(sales, quality),
            trees: None,
            typical,
            end,
        };
        step();
        if fitted.market.sales.len() < TREES_MIN {
            return Ok(fitted);
        }
        let lessons = Lessons::new(&fitted.market.sales, end);
        let own = lessons.own_trees(&fitted.market)?;
        step();
        let sales = &fitted.market.sales;
        let left = (0..sales.len()).into_par_iter().map(|row| {
            let home = own_of(sales, row);
            let explained = own.predict(&features::own(&home))? + surface_term(&home);
            Ok((sales.price[row].ln() - explained) as f32)
        });
        let left = left.collect::<Result<Vec<f32>, Error>>()?;
        fitted.market.set_quality(Quality::of_own(left));
        step();
        let market = &fitted.market;
        let place = [
            lessons.place_trees(market, 0)?,
            lessons.place_trees(market, 1)?,
        ];
        let hedonic = Hedonic { own, place };
        let left = hedonic.left(&market.sales)?;
        fitted.market.set_quality(left);
        step();
        let gap = lessons.gap_trees(&fitted.market, &hedonic)?;
        fitted.trees = Some(Grown { hedonic, gap });
        step();
        Ok(fitted)
    }

    /// Values a home on a day, by what was known before a day.
    pub fn value(
        &self,
        home: &Own,
        position: Position,
        day: i32,
        before: i32,
        scratch: &mut Scratch,
    ) -> Result<Valued, Error> {
        let question = Question {
            class: home.class,
            position,
            rooms: home.rooms,
            day,
            before,
        };
        let around = self.market.around(&question, scratch);
        let shown = features::placed(home, position);
        let mut own = SLOPE_ALONE[home.class as usize] * home.surface_m2.ln();
        let (mut place, mut placed) = (0.0, f64::NAN);
        if let Some(Grown { hedonic, .. }) = &self.trees {
            own = hedonic.own(home)?;
            if around.is_local() {
                placed = Hedonic::placed(&shown, &hedonic.place)?;
                place = Hedonic::place(home, placed, own);
            }
        }
        let row = features::all(&shown, &around, placed);
        let mut level = around.stand_in;
        if around.is_local() {
            level = around.level + place;
            if let Some(Grown { gap, .. }) = &self.trees {
                level += gap.predict(&row)?;
            }
        }
        Ok(Valued {
            log_price: own + level,
            own,
            place,
            around,
            row,
        })
    }
}

impl Fitted {
    /// The logarithm of a valued price as a sum: that of a typical home of the class in the country, and what each
    /// topic adds to it.
    ///
    /// # Errors
    /// What the trees say.
    pub fn terms(&self, home: &Own, valued: &Valued) -> Result<(f64, Vec<(Topic, f64)>), Error> {
        let around = &valued.around;
        let mut terms: BTreeMap<Topic, f64> = BTreeMap::new();
        let mut add = |topic: Topic, term: f64| *terms.entry(topic).or_default() += term;
        let typical_surface = self.typical[home.class as usize];
        let slope = if self.trees.is_some() {
            SLOPE
        } else {
            SLOPE_ALONE
        }[home.class as usize];
        let mut typical = slope * typical_surface + around.country;
        add(
            Topic::Surface,
            slope * (home.surface_m2.ln() - typical_surface),
        );
        if around.is_local() {
            add(Topic::Location, around.of_cells - around.country);
            add(Topic::Comparables, around.level - around.of_cells);
        } else {
            add(Topic::Location, around.stand_in - around.country);
        }
        if let Some(Grown { hedonic, gap }) = &self.trees {
            let own = hedonic.own.attribute(&features::own(home))?;
            typical += own[OWN.len()];
            for ((topic, _), term) in OWN.iter().zip(own) {
                add(*topic, term);
            }
            if around.is_local() {
                // What its place makes of a home's features is told as what the place is worth.
                add(Topic::Location, valued.place);
                let gap = gap.attribute(&valued.row)?;
                typical += gap[ALL];
                for (feature, term) in gap[..ALL].iter().enumerate() {
                    add(features::of_all(feature).0, *term);
                }
            }
        }
        // Attributions are rounded to single precision: the place takes what that leaves.
        let sum: f64 = typical + terms.values().sum::<f64>();
        *terms.entry(Topic::Location).or_default() += valued.log_price - sum;
        Ok((typical, terms.into_iter().collect()))
    }
}
