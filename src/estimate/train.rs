//! Training. The estimator is fitted twice: first without the latest sales, whose errors calibrate the interval, then
//! on all sales.
//!
//! The same sales give a bit-identical model, in any order and on any number of threads.

use rayon::prelude::*;

use super::clean::{self, Funnel};
use super::features::ALL;
use super::features::own_of;
use super::fit::{self, Fitted, Scratch, Valued, chance};
use super::home::Class;
use super::interval::{COVERAGE, Interval, Placed, Scored, WIDTH_MIN};
use super::model::{self, Error, Metadata, Model};
use super::sale::{Sale, Sales};
use super::trees::{Boosted, Direction, Matrix, Settings, Trees};

/// Share of the covered period whose sales calibrate the interval, with its bounds in days.
const CALIBRATION_SHARE: f64 = 0.33;
const CALIBRATION_DAYS: (f64, f64) = (60.0, 365.0);
/// Days in which the weight of a calibration error falls to 1/e: markets change.
const FADING_DAYS: f64 = 250.0;
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
struct Outside {
    valued: Valued,
    placed: Placed,
    id: [u8; super::sale::ID_BYTES],
    error: f64,
    /// Days from the sale to the last sale.
    age: f64,
    /// Errors of the department level alone and of the country level alone.
    of_levels: [f64; 2],
}

/// Trains on sales made before `end`. Calls `step` after each of [`STEPS`] steps. Training rows are cleaned first and
/// counted in `funnel`; the interval is calibrated on uncleaned sales.
///
/// # Errors
/// There are too few sales, or the tree library fails.
pub fn train(
    sales: Vec<Sale>,
    end: i32,
    trained_at: String,
    funnel: &mut Funnel,
    step: &(dyn Fn() + Sync),
) -> Result<Model, Error> {
    let recorded: Vec<Sale> = sales.into_iter().filter(|sale| sale.day < end).collect();
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
    let sales = Sales::new(sales);
    let later = Sales::new(
        recorded
            .into_iter()
            .filter(|sale| sale.day >= cut)
            .collect(),
    );
    let outside = outside(&Fitted::new(Sales::new(earlier), cut, step)?, &later)?;
    step();
    let (spread, interval) = calibrate(&outside)?;
    step();
    let taught = taught(&sales);
    let count = sales.len() as u64;
    // Nothing after the last sale is known, whatever `end` was requested.
    let end = end.min(last + 1);
    let fitted = Fitted::new(sales, end, step)?;
    let mut model = Model {
        metadata: Metadata {
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
fn outside(fitted: &Fitted, sales: &Sales) -> Result<Vec<Outside>, Error> {
    let last = sales.day.iter().max().copied().unwrap_or_default();
    (0..sales.len())
        .into_par_iter()
        .filter(|row| sales.day[*row] >= fitted.end)
        .map_init(Scratch::new, |scratch, row| {
            let own = own_of(sales, row);
            let position = sales.position[row];
            let valued = fitted.value(&own, position, sales.day[row], fitted.end, scratch)?;
            let price = sales.price[row].ln();
            let around = &valued.around;
            Ok(Outside {
                placed: Placed {
                    class: own.class,
                    position,
                    surface_m2: own.surface_m2,
                    log_price: valued.log_price,
                },
                id: sales.id[row],
                error: price - valued.log_price,
                age: f64::from(last - sales.day[row]),
                of_levels: [around.department, around.country]
                    .map(|level| price - valued.own - level),
                valued,
            })
        })
        .filter(|outside| {
            outside
                .as_ref()
                .map_or(true, |outside| outside.error.is_finite())
        })
        .collect()
}

/// Trains the width of errors, and calibrates how many widths cover four in five.
fn calibrate(outside: &[Outside]) -> Result<(Option<Boosted>, Interval), Error> {
    let fallbacks = [Class::Flat, Class::House].map(|class| {
        [0, 1].map(|level| {
            let of_class = outside.iter().filter(|one| one.placed.class == class);
            let errors = of_class.map(|one| one.of_levels[level]);
            errors.filter(|error| error.is_finite()).collect()
        })
    });
    let local: Vec<&Outside> = outside
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
    let (one, other): (Vec<&Outside>, Vec<&Outside>) = local.iter().partition(|one| one.half());
    let mut scored = Vec::with_capacity(local.len());
    for (learned, judged) in [(&one, &other), (&other, &one)] {
        let widths = widths(learned)?;
        let judged: Vec<Scored> = judged
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

impl Outside {
    fn scored(&self, width: f64) -> Scored {
        Scored {
            placed: self.placed,
            error: self.error,
            width,
            weight: (-self.age / FADING_DAYS).exp(),
            half: self.half(),
        }
    }

    /// Which half of the sales it belongs to.
    fn half(&self) -> bool {
        chance(&self.id) < 0.5
    }
}

/// Trees that predict the distance below which four in five errors lie.
fn widths(outside: &[&Outside]) -> Result<Boosted, Error> {
    let mut matrix = Matrix::default();
    for one in outside {
        matrix.push(&one.valued.row, one.error.abs(), 1.0);
    }
    let settings = Settings {
        quantile: COVERAGE,
        trees: WIDTH_TREES,
        depth: WIDTH_DEPTH,
        rate: WIDTH_RATE,
        leaf_min: WIDTH_LEAF_MIN,
        is_random: false,
        directions: vec![Direction::Free; ALL],
        seed: 3,
    };
    Boosted::grow(matrix, &settings)
}

/// Inputs known for at least [`SALES_MIN`] sales, whose effect can be learned.
fn taught(sales: &Sales) -> Vec<String> {
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
