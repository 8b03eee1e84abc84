//! Computes baselines: simple estimators, run on the same sales, which the estimator has to beat.

use std::collections::HashMap;

use rayon::prelude::*;

use toise_estimate::boosting::{BoostedTrees, Direction, TrainingMatrix, TreeSettings};
use toise_estimate::comparables::SaleLocator;
use toise_estimate::fit::Scratch;
use toise_estimate::home::HomeClass;
use toise_estimate::model::Error;
use toise_estimate::sale::{HomeSale, SaleColumns, SaleWithCommune};

/// Period from which the nearest sales are taken, days.
const RECENT_DAYS: i32 = 365;
/// Number of nearest sales whose median price per square metre is used.
const NEAREST: usize = 10;

/// A baseline and its prices of the evaluated sales, EUR.
#[derive(Clone, Debug)]
pub struct Baseline {
    /// Name of the baseline.
    pub name: &'static str,
    /// Price of each evaluated sale, EUR.
    pub prices: Vec<f64>,
}

/// Computes the three baselines: commune median, nearest sales, plain trees.
///
/// # Errors
/// There are no sales.
pub fn all(
    known: &[SaleWithCommune],
    judged: &[SaleWithCommune],
    end: i32,
) -> Result<[Baseline; 3], Error> {
    Ok([
        Baseline {
            name: "commune median x surface",
            prices: communes(known, judged, end),
        },
        Baseline {
            name: "ten nearest of 12 months",
            prices: nearest(known, judged, end),
        },
        Baseline {
            name: "boosting without local levels",
            prices: boosting(known, judged)?,
        },
    ])
}

fn per_m2(sale: &HomeSale) -> f64 {
    sale.price / f64::from(sale.surface_m2)
}

/// Returns the median: the mean of the two middle values for an even number of values, NaN for none.
pub fn median(mut values: Vec<f64>) -> f64 {
    if values.is_empty() {
        return f64::NAN;
    }
    let middle = values.len() / 2;
    let is_even = values.len().is_multiple_of(2);
    let (below, upper, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    if !is_even {
        return *upper;
    }
    let lower = below.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    (lower + *upper) / 2.0
}

/// Values each sale at the median price per square metre of its commune and class over the last 12 months, or of its
/// class anywhere if the commune has no sales.
fn communes(known: &[SaleWithCommune], judged: &[SaleWithCommune], end: i32) -> Vec<f64> {
    let mut values: HashMap<(HomeClass, [u8; 5]), Vec<f64>> = HashMap::new();
    let mut of_class: HashMap<HomeClass, Vec<f64>> = HashMap::new();
    for one in known.iter().filter(|one| one.sale.day >= end - RECENT_DAYS) {
        let class = one.sale.class;
        values
            .entry((class, one.commune))
            .or_default()
            .push(per_m2(&one.sale));
        of_class.entry(class).or_default().push(per_m2(&one.sale));
    }
    let medians: HashMap<_, f64> = values
        .into_iter()
        .map(|(place, values)| (place, median(values)))
        .collect();
    let of_class: HashMap<_, f64> = of_class
        .into_iter()
        .map(|(class, values)| (class, median(values)))
        .collect();
    judged
        .iter()
        .map(|one| {
            let class = one.sale.class;
            let level = medians
                .get(&(class, one.commune))
                .or_else(|| of_class.get(&class));
            level.copied().unwrap_or(f64::NAN) * f64::from(one.sale.surface_m2)
        })
        .collect()
}

/// Values each sale at the median price per square metre of the nearest sales of its class in the last 12 months.
fn nearest(known: &[SaleWithCommune], judged: &[SaleWithCommune], end: i32) -> Vec<f64> {
    let recent = known.iter().filter(|one| one.sale.day >= end - RECENT_DAYS);
    let sales = SaleColumns::new(recent.map(|one| one.sale.clone()).collect());
    let places = SaleLocator::new(&sales);
    judged
        .par_iter()
        .map_init(Scratch::new, |found, one| {
            places.nearest(&sales, one.sale.class, one.sale.position, end, found);
            let nearest = found.iter().take(NEAREST).map(|neighbour| {
                let row = neighbour.row as usize;
                sales.price[row] / f64::from(sales.surface_m2[row])
            });
            median(nearest.collect()) * f64::from(one.sale.surface_m2)
        })
        .collect()
}

/// Values each sale with trees grown on the sales' own features, coordinates and dates.
fn boosting(known: &[SaleWithCommune], judged: &[SaleWithCommune]) -> Result<Vec<f64>, Error> {
    let row = |sale: &HomeSale| {
        [
            f32::from(sale.class as u8),
            sale.surface_m2.ln(),
            sale.rooms,
            sale.land_m2.ln_1p(),
            sale.position.longitude() as f32,
            sale.position.latitude() as f32,
            sale.day as f32,
        ]
    };
    let mut matrix = TrainingMatrix::default();
    for one in known {
        matrix.push(&row(&one.sale), per_m2(&one.sale).ln(), 1.0);
    }
    let settings = TreeSettings {
        quantile: 0.5,
        trees: 400,
        depth: 7,
        rate: 0.08,
        leaf_min: 10.0,
        extra_trees: false,
        directions: vec![Direction::Free; 7],
        seed: 4,
    };
    let trees = BoostedTrees::grow(matrix, &settings)?;
    let prices = judged.par_iter().map(|one| {
        let level = trees.predict(&row(&one.sale)).exp();
        level * f64::from(one.sale.surface_m2)
    });
    Ok(prices.collect())
}
