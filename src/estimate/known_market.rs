//! Generates synthetic sales of one town whose prices follow a known formula, to test the estimator and its evaluation.

use super::grid::GridPosition;
use super::home::HomeClass;
use super::sale::HomeSale;
use toise_base::splitmix::SplitMix64;

/// First day of the synthetic sales: 2021-01-01, in days since 1970-01-01.
pub const FIRST_DAY: i32 = 18_628;
/// Number of days they cover: three years.
pub const DAYS: i32 = 1_095;
pub const SALES: usize = 3_000;

/// Logarithm of the price per square metre of a flat of 60 m2 at a position on a day.
pub fn level(latitude: f64, longitude: f64, day: i32) -> f64 {
    let months = f64::from(day - FIRST_DAY) / 30.4;
    let turn = if months < 18.0 {
        0.005 * months
    } else {
        0.09 - 0.004 * (months - 18.0)
    };
    3_500f64.ln() + 12.0 * (latitude - 43.12) - 5.0 * (longitude - 5.95) + turn
}

/// Generates sales of one town, priced by position, day, surface and energy class, with noise of about a fifth.
pub fn made(count: usize, seed: u64) -> Vec<HomeSale> {
    let mut draw = SplitMix64::new(seed);
    (0..count)
        .map(|number| {
            let latitude = 43.10 + 0.04 * (draw.unit() * 60.0).floor() / 60.0;
            let longitude = 5.92 + 0.06 * (draw.unit() * 60.0).floor() / 60.0;
            let day = FIRST_DAY + (draw.unit() * f64::from(DAYS)) as i32;
            let is_house = draw.unit() < 0.2;
            let surface = (18.0 + 90.0 * draw.unit() * draw.unit()).round();
            let energy = (draw.unit() * 7.0).floor();
            let chance = 0.35 * (draw.unit() + draw.unit() + draw.unit() - 1.5);
            let log_price =
                level(latitude, longitude, day) + 60f64.ln() + 0.88 * (surface / 60.0).ln()
                    - 0.02 * energy
                    + if is_house { 0.2 } else { 0.0 }
                    + chance;
            let digest = blake3::hash(format!("{seed}/{number}").as_bytes());
            let mut id = [0; 10];
            id.copy_from_slice(&digest.as_bytes()[..10]);
            HomeSale {
                id,
                day,
                class: if is_house {
                    HomeClass::House
                } else {
                    HomeClass::Flat
                },
                price: log_price.exp().round(),
                surface_m2: surface as f32,
                rooms: (surface / 20.0).ceil() as f32,
                land_m2: if is_house { 300.0 } else { f32::NAN },
                position: GridPosition::new(latitude, longitude),
                department: 84,
                energy: energy as f32,
                construction_year: f32::NAN,
            }
        })
        .collect()
}
