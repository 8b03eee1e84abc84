//! Fits the estimator to sales. Trees explain a price by features and place. The market adds the difference between
//! that price and the prices of similar homes nearby. Residual trees correct both.
//!
//! `ln price = slope · ln surface + hedonic trees + level + residual trees`. The hedonic trees are a mix of two kinds.
//! Trees of own features leave the place to the market. Trees of features and place capture local differences that the
//! market's averages hide (large flats are expensive in one street, small ones in the next). Trees that use the place
//! are extra trees, which split at random thresholds: towns have few straight borders, and on splits within the
//! training years these trees had lower errors. For each training sale, the market is computed as of a day up to a year
//! before the sale, because sales are published late and homes will be valued under the same conditions. Only the price
//! index uses all training sales: with the index as of that day, the trees would learn how prices moved in these
//! particular years and predict the same movement again.

use std::collections::BTreeMap;

use rayon::prelude::*;

use super::boosting::{BoostedTrees, TrainingMatrix, TreeSettings};
use super::error::Error;
use super::features::{
    self, OWN_FEATURES, OwnFeatures, PLACED_FEATURES, RESIDUAL_FEATURES, Topic, own_features_of,
};
use super::grid::GridPosition;
use super::hedonic::{Hedonic, SLOPE, fold, surface_term};
use super::home::HomeClass;
use super::market::{AsOf, Market, MarketQuery, SaleResiduals, Surroundings};
use super::sale::SaleColumns;

/// Slope of log price over log surface if there are no trees, by class.
const SLOPE_ALONE: [f64; 2] = [0.93, 0.65];
/// Maximum time between the last known sale and a training sale, days.
const HORIZON_MAX_DAYS: f64 = 365.0;
/// Maximum horizon as a share of the period covered by sales.
const HORIZON_SHARE: f64 = 0.33;
/// Share of the covered period at its start that is not used for training, because too few sales precede it.
const LEAD_SHARE: f64 = 0.2;
/// Days in which the weight of a training sale falls to 1/e.
const DECAY_DAYS: f64 = 1_500.0;
/// Minimum sales to grow trees; below it only comparables are used.
const TREES_MIN: usize = 1_000;
/// Trees of own features, with their depth and learning rate.
const OWN_TREES: usize = 80;
const OWN_DEPTH: usize = 5;
const OWN_RATE: f64 = 0.1;
/// Trees of features and place per fold (extra trees), with their maximum depth and learning rate.
const PLACE_TREES: usize = 200;
const PLACE_DEPTH_MAX: usize = 8;
const PLACE_RATE: f64 = 0.12;
/// Residual trees over all features (extra trees), with their maximum depth and learning rate.
const RESIDUAL_TREES: usize = 250;
const RESIDUAL_DEPTH_MAX: usize = 5;
const RESIDUAL_RATE: f64 = 0.08;
/// Minimum weight of sales in a leaf.
const LEAF_MIN: f64 = 40.0;
/// Number of progress steps of a fit.
pub const STEPS: u64 = 5;
/// Surface of a typical home of a class without sales, square metres.
const TYPICAL_SURFACE_M2: f64 = 75.0;
/// Approximate sales needed per additional leaf, so that few sales give shallow trees.
const SALES_A_LEAF: usize = 60;

/// The fitted estimator, without its interval.
#[derive(Debug)]
pub struct FittedEstimator {
    /// The market derived from the sales.
    pub market: Market,
    pub(super) trees: Option<FittedTrees>,
    /// Logarithm of the surface of a typical home, by class.
    pub(super) typical: [f64; 2],
    /// First day after the known sales, days since 1970-01-01.
    pub end: i32,
}

/// The trees of a fitted estimator.
#[derive(Debug)]
pub(super) struct FittedTrees {
    /// Trees that explain price by features and place.
    pub hedonic: Hedonic,
    /// Trees that correct the residual between a home and its market.
    pub residual: BoostedTrees,
}

/// An estimated price before its interval.
#[derive(Clone, Debug)]
pub struct RawValuation {
    /// Logarithm of the price.
    pub log_price: f64,
    /// The part explained by the home's own features.
    pub own: f64,
    /// The part that trees of place add to it.
    pub place: f64,
    /// The market around the home.
    pub around: Surroundings,
    /// The input row of the residual trees.
    pub row: [f32; RESIDUAL_FEATURES],
}

impl RawValuation {
    /// The input row of the trees that predict the width of the error.
    pub fn width_row(&self) -> [f32; RESIDUAL_FEATURES] {
        features::at_last_sale(&self.row, &self.around)
    }
}

/// Buffer reused from one home to the next.
pub type Scratch = Vec<super::comparables::Neighbour>;

/// Returns the median log surface of each class.
pub(super) fn typical_surfaces(sales: &SaleColumns) -> [f64; 2] {
    [HomeClass::Flat, HomeClass::House].map(|class| {
        let mut surfaces: Vec<f32> = sales.surface_m2[sales.rows(class)].to_vec();
        let middle = surfaces.len() / 2;
        if surfaces.is_empty() {
            return TYPICAL_SURFACE_M2.ln();
        }
        let (_, median, _) = surfaces.select_nth_unstable_by(middle, f32::total_cmp);
        f64::from(*median).ln()
    })
}

/// Returns the tree depth for a number of sales, at most `greatest`.
fn depth(sales: usize, greatest: usize) -> usize {
    let leaves = (sales / SALES_A_LEAF).max(4);
    (leaves.ilog2() as usize).clamp(2, greatest)
}

/// A hash unit: a number in [0, 1) derived from the sale's id alone.
pub(super) fn hash_unit(id: &[u8; super::sale::ID_BYTES]) -> f64 {
    let mut bits = 0u64;
    for byte in &id[..8] {
        bits = (bits << 8) | u64::from(*byte);
    }
    toise_base::splitmix::to_unit(bits)
}

/// Computes the residuals of sales without trees.
fn residuals_alone(sales: &SaleColumns) -> SaleResiduals {
    let residuals = (0..sales.len()).map(|row| {
        let surface = f64::from(sales.surface_m2[row]).ln();
        (sales.price[row].ln() - SLOPE_ALONE[sales.class(row) as usize] * surface) as f32
    });
    SaleResiduals::of_own(residuals.collect())
}

/// Maximum horizon of training and calibration for a span of known sales, both in days.
pub(super) fn horizon_max_days(span_days: f64) -> f64 {
    (span_days * HORIZON_SHARE).min(HORIZON_MAX_DAYS)
}

/// First day whose market can be computed, because enough of the span from `earliest` is before it.
pub(super) fn lead_day(earliest: i32, span_days: f64) -> i32 {
    earliest + (span_days * LEAD_SHARE) as i32
}

/// Training sales, each with the day before which its market is computed.
struct TrainingRows {
    rows: Vec<(usize, i32)>,
    end: i32,
}

impl TrainingRows {
    fn new(sales: &SaleColumns, end: i32) -> Self {
        let earliest = sales.day.iter().min().copied().unwrap_or(end);
        let span = f64::from(end - earliest);
        let horizon = horizon_max_days(span);
        let lead = lead_day(earliest, span);
        let with_day = |row: usize| {
            let before = sales.day[row] - (hash_unit(&sales.id[row]) * horizon) as i32;
            (row, before.max(lead.min(sales.day[row])))
        };
        let rows = (0..sales.len()).filter(|row| sales.day[*row] >= lead);
        Self {
            rows: rows.map(with_day).collect(),
            end,
        }
    }

    fn weight(&self, market: &Market, row: usize) -> f32 {
        (-f64::from(self.end - market.sales.day[row]) / DECAY_DAYS).exp() as f32
    }

    /// Returns the day for which the market of a training row is computed, and which sales are known then.
    fn as_of(&self, market: &Market, (row, before): (usize, i32)) -> AsOf {
        AsOf::in_hindsight(market.sales.day[row], before, self.end)
    }

    fn around(
        &self,
        market: &Market,
        scratch: &mut Scratch,
        training_row: (usize, i32),
    ) -> Surroundings {
        let row = training_row.0;
        let question = MarketQuery {
            class: market.sales.class(row),
            position: market.sales.position[row],
            rooms: market.sales.rooms[row],
            as_of: self.as_of(market, training_row),
        };
        market.around(&question, scratch)
    }

    /// Grows the trees of own features on residuals from the level of the place.
    fn own_trees(&self, market: &Market) -> Result<BoostedTrees, Error> {
        let labels: Vec<f64> = self
            .rows
            .par_iter()
            .map_init(Scratch::new, |scratch, training_row| {
                let home = own_features_of(&market.sales, training_row.0);
                let level = self.around(market, scratch, *training_row).level;
                market.sales.price[training_row.0].ln() - surface_term(&home) - level
            })
            .collect();
        let mut matrix = TrainingMatrix::default();
        for ((row, _), label) in self.rows.iter().zip(labels) {
            if label.is_finite() {
                let row_values = features::own_row(&own_features_of(&market.sales, *row));
                matrix.push(&row_values, label, self.weight(market, *row));
            }
        }
        let settings = TreeSettings {
            quantile: 0.5,
            trees: OWN_TREES,
            depth: OWN_DEPTH,
            rate: OWN_RATE,
            leaf_min: LEAF_MIN,
            extra_trees: false,
            directions: OWN_FEATURES.map(|(_, direction)| direction).to_vec(),
            seed: 1,
        };
        BoostedTrees::grow(matrix, &settings)
    }

    /// Grows the trees of features and place on residuals from the level of the country, without the sales of fold
    /// `without`.
    fn place_trees(&self, market: &Market, without: usize) -> Result<BoostedTrees, Error> {
        let sales = &market.sales;
        let mut matrix = TrainingMatrix::default();
        for training_row in self.rows.iter().copied() {
            let row = training_row.0;
            let (class, department) = (sales.class(row), sales.department[row]);
            let level = market.country(class, department, self.as_of(market, training_row));
            let Some(level) = level.filter(|_| fold(&sales.id[row]) != without) else {
                continue;
            };
            let home = own_features_of(sales, row);
            let row_values = features::placed_row(&home, sales.position[row]);
            let label = sales.price[row].ln() - surface_term(&home) - level;
            matrix.push(&row_values, label, self.weight(market, row));
        }
        let settings = TreeSettings {
            quantile: 0.5,
            trees: PLACE_TREES,
            depth: depth(matrix.labels.len(), PLACE_DEPTH_MAX),
            rate: PLACE_RATE,
            leaf_min: LEAF_MIN,
            extra_trees: true,
            directions: (0..PLACED_FEATURES)
                .map(|at| features::placed_feature(at).1)
                .collect(),
            seed: 4 + without as u64,
        };
        BoostedTrees::grow(matrix, &settings)
    }

    /// Grows the residual trees over all features, on the part of the price that features, place and the level of the
    /// place do not explain.
    fn residual_trees(&self, market: &Market, hedonic: &Hedonic) -> Result<BoostedTrees, Error> {
        let row_values: Vec<([f32; RESIDUAL_FEATURES], f64)> = self
            .rows
            .par_iter()
            .map_init(Scratch::new, |scratch, training_row| {
                let row = training_row.0;
                let around = self.around(market, scratch, *training_row);
                let home = own_features_of(&market.sales, row);
                let row_values = features::placed_row(&home, market.sales.position[row]);
                let fold = fold(&market.sales.id[row]);
                let placed = Hedonic::placed(&row_values, &hedonic.place[fold..=fold]);
                let row_values = features::residual_row(&row_values, &around, placed);
                let label = f64::from(market.quality().placed[row]) - around.level;
                (row_values, label)
            })
            .collect();
        let mut matrix = TrainingMatrix::default();
        for ((row, _), (row_values, label)) in self.rows.iter().zip(&row_values) {
            if label.is_finite() {
                matrix.push(row_values, *label, self.weight(market, *row));
            }
        }
        let settings = TreeSettings {
            quantile: 0.5,
            trees: RESIDUAL_TREES,
            depth: depth(matrix.labels.len(), RESIDUAL_DEPTH_MAX),
            rate: RESIDUAL_RATE,
            leaf_min: LEAF_MIN,
            extra_trees: true,
            directions: (0..RESIDUAL_FEATURES)
                .map(|at| features::residual_feature(at).1)
                .collect(),
            seed: 2,
        };
        BoostedTrees::grow(matrix, &settings)
    }
}

impl FittedEstimator {
    /// Fits to sales, all of them before `end`. Calls `step` after each of [`STEPS`] steps.
    ///
    /// # Errors
    /// No sale can be used to grow trees.
    pub fn new(sales: SaleColumns, end: i32, step: &dyn Fn()) -> Result<Self, Error> {
        let quality = residuals_alone(&sales);
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
        let training_rows = TrainingRows::new(&fitted.market.sales, end);
        let own = training_rows.own_trees(&fitted.market)?;
        step();
        let sales = &fitted.market.sales;
        let residuals = (0..sales.len()).into_par_iter().map(|row| {
            let home = own_features_of(sales, row);
            let explained = own.predict(&features::own_row(&home)) + surface_term(&home);
            (sales.price[row].ln() - explained) as f32
        });
        let residuals = SaleResiduals::of_own(residuals.collect());
        fitted.market.set_quality(residuals);
        step();
        let market = &fitted.market;
        let place = [
            training_rows.place_trees(market, 0)?,
            training_rows.place_trees(market, 1)?,
        ];
        let hedonic = Hedonic { own, place };
        let residuals = hedonic.residuals(&market.sales);
        fitted.market.set_quality(residuals);
        step();
        let residual = training_rows.residual_trees(&fitted.market, &hedonic)?;
        fitted.trees = Some(FittedTrees { hedonic, residual });
        step();
        Ok(fitted)
    }

    /// Combines these trees with the market of other sales, all of them before `end`. The result can value homes as of
    /// any day that these sales cover, with trees that were not trained on the later sales.
    pub fn with_sales(self, sales: SaleColumns, end: i32) -> Self {
        let quality = match &self.trees {
            Some(trees) => trees.hedonic.residuals(&sales),
            None => residuals_alone(&sales),
        };
        Self {
            market: Market::new(sales, quality),
            end,
            ..self
        }
    }

    /// Values a home as of a day.
    pub fn value(
        &self,
        home: &OwnFeatures,
        position: GridPosition,
        as_of: AsOf,
        scratch: &mut Scratch,
    ) -> RawValuation {
        let question = MarketQuery {
            class: home.class,
            position,
            rooms: home.rooms,
            as_of,
        };
        let around = self.market.around(&question, scratch);
        let row_values = features::placed_row(home, position);
        let mut own = SLOPE_ALONE[home.class as usize] * home.surface_m2.ln();
        let (mut place, mut placed) = (0.0, f64::NAN);
        if let Some(FittedTrees { hedonic, .. }) = &self.trees {
            own = hedonic.own(home);
            if around.is_local() {
                placed = Hedonic::placed(&row_values, &hedonic.place);
                place = Hedonic::place(home, placed, own);
            }
        }
        let row = features::residual_row(&row_values, &around, placed);
        let mut level = around.fallback_level;
        if around.is_local() {
            level = around.level + place;
            if let Some(FittedTrees { residual, .. }) = &self.trees {
                level += residual.predict(&row);
            }
        }
        RawValuation {
            log_price: own + level,
            own,
            place,
            around,
            row,
        }
    }
}

impl FittedEstimator {
    /// Decomposes the log price of a valued home into the log price of a typical home of the class in the country and
    /// the offset of each topic.
    pub fn terms(&self, home: &OwnFeatures, valued: &RawValuation) -> (f64, Vec<(Topic, f64)>) {
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
            add(Topic::Location, around.cells_level - around.country);
            add(Topic::Comparables, around.level - around.cells_level);
        } else {
            add(Topic::Location, around.fallback_level - around.country);
        }
        if let Some(FittedTrees { hedonic, residual }) = &self.trees {
            let own = hedonic.own.attribute(&features::own_row(home));
            typical += own[OWN_FEATURES.len()];
            for ((topic, _), term) in OWN_FEATURES.iter().zip(own) {
                add(*topic, term);
            }
            if around.is_local() {
                // The interaction of a home's features with its place counts as location.
                add(Topic::Location, valued.place);
                let residual = residual.attribute(&valued.row);
                typical += residual[RESIDUAL_FEATURES];
                for (feature, term) in residual[..RESIDUAL_FEATURES].iter().enumerate() {
                    add(features::residual_feature(feature).0, *term);
                }
            }
        }
        // The location absorbs the rounding error.
        let sum: f64 = typical + terms.values().sum::<f64>();
        *terms.entry(Topic::Location).or_default() += valued.log_price - sum;
        (typical, terms.into_iter().collect())
    }
}
