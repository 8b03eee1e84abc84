//! Training. The estimator is fitted twice: first without the latest sales, whose errors calibrate the interval, then
//! on all sales.
//!
//! The same sales give a bit-identical model, in any order and on any number of threads.

use rayon::prelude::*;

use super::clean::{self, Funnel};
use super::features::ALL;
use super::features::own_features_of;
use super::fit::{self, FittedEstimator, RawValuation, Scratch, hash_unit};
use super::home::HomeClass;
use super::interval::{COVERAGE, CalibrationError, Interval, SegmentFeatures, WIDTH_MIN};
use super::model::{self, Error, Model, ModelMetadata};
use super::sale::{HomeSale, SaleColumns};
use super::trees::{BoostedTrees, Direction, TrainingMatrix, TreeSettings, Trees};

/// Share of the covered period whose sales calibrate the interval, with its bounds in days.
const CALIBRATION_SHARE: f64 = 0.33;
const CALIBRATION_DAYS: (f64, f64) = (60.0, 365.0);
/// Days in which the weight of a calibration error falls to 1/e: markets change.
const DECAY_DAYS: f64 = 250.0;
/// Minimum sales for training.
pub const SALES_MIN: usize = 100;
/// Minimum errors to train a width per home; below it all homes have the same width.
const WIDTHS_MIN: usize = 500;
/// Trees of the width, with their depth and learning rate.
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
    /// Errors of the department level alone and of the country level alone.
    level_errors: [f64; 2],
}

/// Trains on sales made before `end`. Calls `step` after each of [`STEPS`] steps. Training rows are cleaned first and
/// counted in `funnel`; the interval is calibrated on uncleaned sales.
///
/// # Errors
/// There are too few sales, or the tree library fails.
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
    let held_out_errors = held_out_errors(
        &FittedEstimator::new(SaleColumns::new(earlier), cut, step)?,
        &later,
    )?;
    step();
    let (spread, interval) = calibrate(&held_out_errors)?;
    step();
    let taught = taught(&sales);
    let count = sales.len() as u64;
    // Nothing after the last sale is known, whatever `end` was requested.
    let end = end.min(last + 1);
    let fitted = FittedEstimator::new(sales, end, step)?;
    let mut model = Model {
        metadata: ModelMetadata {
            version: String::new(),
            trained_at,
            data_through: model::date(last).to_string(),
            coverage: COVERAGE,
            sales: count,
            taught,
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

/// Errors on the sales after those the estimator knows.
fn held_out_errors(
    fitted: &FittedEstimator,
    sales: &SaleColumns,
) -> Result<Vec<HeldOutError>, Error> {
    let last = sales.day.iter().max().copied().unwrap_or_default();
    (0..sales.len())
        .into_par_iter()
        .filter(|row| sales.day[*row] >= fitted.end)
        .map_init(Scratch::new, |scratch, row| {
            let own = own_features_of(sales, row);
            let position = sales.position[row];
            let valued = fitted.value(&own, position, sales.day[row], fitted.end, scratch)?;
            let price = sales.price[row].ln();
            let around = &valued.around;
            Ok(HeldOutError {
                placed: SegmentFeatures {
                    class: own.class,
                    position,
                    surface_m2: own.surface_m2,
                    log_price: valued.log_price,
                },
                id: sales.id[row],
                error: price - valued.log_price,
                age: f64::from(last - sales.day[row]),
                level_errors: [around.department, around.country]
                    .map(|level| price - valued.own - level),
                valued,
            })
        })
        .filter(|held_out_errors| {
            held_out_errors
                .as_ref()
                .map_or(true, |held_out_errors| held_out_errors.error.is_finite())
        })
        .collect()
}

/// Trains the width of errors, and calibrates how many widths cover four in five.
fn calibrate(held_out_errors: &[HeldOutError]) -> Result<(Option<BoostedTrees>, Interval), Error> {
    let fallbacks = [HomeClass::Flat, HomeClass::House].map(|class| {
        [0, 1].map(|level| {
            let of_class = held_out_errors
                .iter()
                .filter(|one| one.placed.class == class);
            let errors = of_class.map(|one| one.level_errors[level]);
            errors.filter(|error| error.is_finite()).collect()
        })
    });
    let local: Vec<&HeldOutError> = held_out_errors
        .iter()
        .filter(|one| one.valued.around.is_local())
        .collect();
    if local.len() < WIDTHS_MIN {
        let scored = local.iter().map(|one| one.scored(1.0));
        return Ok((
            None,
            Interval::calibrate(&scored.collect::<Vec<_>>(), fallbacks),
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
            .map(|one| Ok(one.scored(widths.predict(&one.valued.row)?.max(WIDTH_MIN))))
            .collect::<Result<_, Error>>()?;
        scored.extend(judged);
    }
    Ok((
        Some(widths(&local)?),
        Interval::calibrate(&scored, fallbacks),
    ))
}

impl HeldOutError {
    fn scored(&self, width: f64) -> CalibrationError {
        CalibrationError {
            placed: self.placed,
            error: self.error,
            width,
            weight: (-self.age / DECAY_DAYS).exp(),
            half: self.half(),
        }
    }

    /// Which half of the sales it belongs to.
    fn half(&self) -> bool {
        hash_unit(&self.id) < 0.5
    }
}

/// Trees that predict the distance below which four in five errors lie.
fn widths(held_out_errors: &[&HeldOutError]) -> Result<BoostedTrees, Error> {
    let mut matrix = TrainingMatrix::default();
    for one in held_out_errors {
        matrix.push(&one.valued.row, one.error.abs(), 1.0);
    }
    let settings = TreeSettings {
        quantile: COVERAGE,
        trees: WIDTH_TREES,
        depth: WIDTH_DEPTH,
        rate: WIDTH_RATE,
        leaf_min: WIDTH_LEAF_MIN,
        extra_trees: false,
        directions: vec![Direction::Free; ALL],
        seed: 3,
    };
    BoostedTrees::grow(matrix, &settings)
}

/// Inputs known for at least [`SALES_MIN`] sales, whose effect can be learned.
fn taught(sales: &SaleColumns) -> Vec<String> {
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
    let mut taught = vec![
        "location".to_owned(),
        "type".to_owned(),
        "habitation.surface.total".to_owned(),
    ];
    for (name, column) in optional {
        if varies(column) {
            taught.push(name.to_owned());
        }
    }
    taught
}
