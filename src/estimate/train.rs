//! Trains the estimator. It is fitted twice: first without the latest sales, whose errors calibrate the interval, then
//! on all sales. For calibration, each of the latest sales is valued as of a random day up to a year before the sale,
//! so there are as many origins as sales. The trees of the first fit were not trained on any of them.
//!
//! The same sales give a bit-identical model, in any order and on any number of threads.

use rayon::prelude::*;

use super::boosting::{BoostedTrees, Direction, TrainingMatrix, TreeSettings};
use super::clean::{self, Funnel};
use super::features::RESIDUAL_FEATURES;
use super::features::own_features_of;
use super::fit::{self, FittedEstimator, RawValuation, Scratch, hash_unit};
use super::home::HomeClass;
use super::interval::{COVERAGE, CalibrationError, Interval, SegmentFeatures, WIDTH_MIN};
use super::market::AsOf;
use super::model::{self, Error, Model, ModelMetadata};
use super::sale::{HomeSale, SaleColumns};

/// Share of the covered period whose sales calibrate the interval, with its bounds in days.
const CALIBRATION_SHARE: f64 = 0.33;
const CALIBRATION_DAYS: (f64, f64) = (60.0, 365.0);
/// Days in which the weight of a calibration error falls to 1/e, because markets change.
const DECAY_DAYS: f64 = 250.0;
/// Factor on a sale's hash unit; the fractional part of the product sets its horizon.
const HORIZON_DRAWS: f64 = 1_024.0;
/// Minimum sales for training.
pub const SALES_MIN: usize = 100;
/// Minimum errors to train trees that predict the width of the interval; with fewer, all homes have the same width.
const WIDTHS_MIN: usize = 500;
/// Number of trees that predict the width, with their depth and learning rate.
const WIDTH_TREES: usize = 120;
const WIDTH_DEPTH: usize = 4;
const WIDTH_RATE: f64 = 0.06;
/// Minimum weight of errors in a leaf of the width trees.
const WIDTH_LEAF_MIN: f64 = 40.0;
/// Number of progress steps of a training.
pub const STEPS: u64 = 2 * fit::STEPS + 2;

/// The error of one held-out sale.
struct HeldOutError {
    valued: RawValuation,
    placed: SegmentFeatures,
    id: [u8; super::sale::ID_BYTES],
    error: f64,
    /// Days from the sale to the last sale.
    age: f64,
    /// Error of the department level alone; NaN without one.
    department_error: f64,
}

/// The range of horizons at which the latest sales are valued for calibration.
#[derive(Clone, Copy)]
struct CalibrationHorizons {
    /// Longest horizon, days.
    longest_days: f64,
    /// Earliest valuation date.
    lead: i32,
}

/// Trains on sales made before `end`. Calls `step` after each of [`STEPS`] steps. Training rows are cleaned first and
/// counted in `funnel`; the interval is calibrated on uncleaned sales.
///
/// # Errors
/// There are too few sales.
pub fn train(
    sales: Vec<HomeSale>,
    end: i32,
    trained_at: String,
    funnel: &mut Funnel,
    step: &(dyn Fn() + Sync),
) -> Result<Model, Error> {
    let recorded: Vec<HomeSale> = sales.into_iter().filter(|sale| sale.day < end).collect();
    let sales = clean::clean(recorded.clone(), funnel);
    let (Some(first), Some(last)) = (
        sales.iter().map(|sale| sale.day).min(),
        sales.iter().map(|sale| sale.day).max(),
    ) else {
        return Err(too_few(0));
    };
    if sales.len() < SALES_MIN {
        return Err(too_few(sales.len()));
    }
    let span = f64::from(last + 1 - first);
    let (shortest, longest) = CALIBRATION_DAYS;
    let latest = (span * CALIBRATION_SHARE)
        .clamp(shortest, longest)
        .min(span / 2.0);
    let cut = last + 1 - latest as i32;
    let earlier = sales
        .iter()
        .filter(|sale| sale.day < cut)
        .cloned()
        .collect();
    let sales = SaleColumns::new(sales);
    let later = SaleColumns::new(
        recorded
            .into_iter()
            .filter(|sale| sale.day >= cut)
            .collect(),
    );
    let first_fit = FittedEstimator::new(SaleColumns::new(earlier), cut, step)?;
    let horizons = CalibrationHorizons {
        longest_days: fit::horizon_max_days(span),
        lead: fit::lead_day(first, span),
    };
    let calibrated = first_fit.with_sales(sales.clone(), last + 1);
    let held_out_errors = held_out_errors(&calibrated, &later, horizons);
    let as_of = AsOf::known(last, last + 1);
    let deviations =
        [HomeClass::Flat, HomeClass::House].map(|class| calibrated.market.deviations(class, as_of));
    drop(calibrated);
    step();
    let (spread, interval) = calibrate(&held_out_errors, &deviations)?;
    step();
    let learned_inputs = learned_inputs(&sales);
    let count = sales.len() as u64;
    // `end` may be later than the last sale, but nothing is known after that sale.
    let end = end.min(last + 1);
    let fitted = FittedEstimator::new(sales, end, step)?;
    let mut model = Model {
        metadata: ModelMetadata {
            version: String::new(),
            trained_at,
            data_through: model::date(last).to_string(),
            coverage: COVERAGE,
            sales: count,
            learned_inputs,
        },
        fitted,
        spread,
        interval,
    };
    model.metadata.version = model.digest()?;
    Ok(model)
}

fn too_few(sales: usize) -> Error {
    Error::TooFew {
        sales,
        needed: SALES_MIN,
    }
}

/// Computes the errors on sales that the trees were not trained on, each valued as of a day up to a year before the
/// sale.
fn held_out_errors(
    fitted: &FittedEstimator,
    sales: &SaleColumns,
    horizons: CalibrationHorizons,
) -> Vec<HeldOutError> {
    let last = sales.day.iter().max().copied().unwrap_or_default();
    (0..sales.len())
        .into_par_iter()
        .map_init(Scratch::new, |scratch, row| {
            let own = own_features_of(sales, row);
            let position = sales.position[row];
            let (id, day) = (sales.id[row], sales.day[row]);
            // Uses other bits of the hash than `half` does.
            let drawn = (hash_unit(&id) * HORIZON_DRAWS).fract();
            let before = day - (drawn * horizons.longest_days) as i32;
            let before = before.max(horizons.lead.min(day));
            let as_of = AsOf::in_hindsight(day, before, fitted.end);
            let valued = fitted.value(&own, position, as_of, scratch);
            let price = sales.price[row].ln();
            HeldOutError {
                placed: SegmentFeatures {
                    class: own.class,
                    position,
                    surface_m2: own.surface_m2,
                    log_price: valued.log_price - valued.around.course,
                },
                id,
                error: price - valued.log_price,
                age: f64::from(last - day),
                department_error: price - valued.own - valued.around.department,
                valued,
            }
        })
        .filter(|one| one.error.is_finite())
        .collect()
}

/// Trains the trees that predict the width of errors, and calibrates how many widths cover four errors in five.
fn calibrate(
    held_out_errors: &[HeldOutError],
    deviations: &[Vec<f64>; 2],
) -> Result<(Option<BoostedTrees>, Interval), Error> {
    let departments = [HomeClass::Flat, HomeClass::House].map(|class| {
        let of_class = held_out_errors
            .iter()
            .filter(|one| one.placed.class == class);
        let errors = of_class.map(|one| one.department_error);
        errors.filter(|error| error.is_finite()).collect()
    });
    let local: Vec<&HeldOutError> = held_out_errors
        .iter()
        .filter(|one| one.valued.around.is_local())
        .collect();
    if local.len() < WIDTHS_MIN {
        let scored = local.iter().map(|one| one.scored(1.0));
        return Ok((
            None,
            Interval::calibrate(&scored.collect::<Vec<_>>(), departments, deviations),
        ));
    }
    // Each half is scored by trees trained on the other, so that no score is in-sample.
    let (one, other): (Vec<&HeldOutError>, Vec<&HeldOutError>) =
        local.iter().partition(|one| one.half());
    let mut scored = Vec::with_capacity(local.len());
    for (learned, judged) in [(&one, &other), (&other, &one)] {
        let widths = widths(learned)?;
        let judged: Vec<CalibrationError> = judged
            .par_iter()
            .map(|one| one.scored(widths.predict(&one.valued.width_row()).max(WIDTH_MIN)))
            .collect();
        scored.extend(judged);
    }
    Ok((
        Some(widths(&local)?),
        Interval::calibrate(&scored, departments, deviations),
    ))
}

impl HeldOutError {
    fn scored(&self, width: f64) -> CalibrationError {
        CalibrationError {
            placed: self.placed,
            error: self.error,
            width,
            weight: (-self.age / DECAY_DAYS).exp(),
            near_m: self.valued.around.near_m,
            half: self.half(),
        }
    }

    /// Returns which half of the sales it belongs to.
    fn half(&self) -> bool {
        hash_unit(&self.id) < 0.5
    }
}

/// Trains trees that predict the bound that four in five absolute errors do not exceed.
fn widths(held_out_errors: &[&HeldOutError]) -> Result<BoostedTrees, Error> {
    let mut matrix = TrainingMatrix::default();
    for one in held_out_errors {
        matrix.push(&one.valued.width_row(), one.error.abs(), 1.0);
    }
    let settings = TreeSettings {
        quantile: COVERAGE as f32,
        trees: WIDTH_TREES,
        depth: WIDTH_DEPTH,
        rate: WIDTH_RATE,
        leaf_min: WIDTH_LEAF_MIN,
        extra_trees: false,
        directions: vec![Direction::Free; RESIDUAL_FEATURES],
        seed: 3,
    };
    BoostedTrees::grow(matrix, &settings)
}

/// Returns the inputs whose effect is learned: location, class and surface, and other inputs known for at least
/// [`SALES_MIN`] sales.
fn learned_inputs(sales: &SaleColumns) -> Vec<String> {
    let varies =
        |column: &[f32]| column.iter().filter(|value| !value.is_nan()).count() >= SALES_MIN;
    let optional = [
        ("habitation.roomCount", &sales.rooms),
        ("land.surface", &sales.land_m2),
        ("habitation.climate.epcEnergy", &sales.energy),
        (
            "habitation.propertyCondition.constructionYear",
            &sales.construction_year,
        ),
    ];
    let mut learned_inputs = vec![
        "location".to_owned(),
        "type".to_owned(),
        "habitation.surface.total".to_owned(),
    ];
    for (name, column) in optional {
        if varies(column) {
            learned_inputs.push(name.to_owned());
        }
    }
    learned_inputs
}
