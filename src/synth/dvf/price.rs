//! Prices of sales, from the level of the place, date, neighbourhood, size, age and noise.

use super::super::communes::SynthAddress;
use super::super::prices;
use super::super::random::Stream;

/// Price factor of a construction period relative to the average: higher for newer buildings, and for the oldest ones
/// in cities.
fn period_factor(period: usize, urbanity: f64) -> f64 {
    const BY_PERIOD: [f64; 10] = [0.90, 0.92, 0.95, 0.97, 0.99, 1.02, 1.06, 1.12, 1.20, 1.28];
    let plain = BY_PERIOD.get(period).copied().unwrap_or(1.0);
    if period == 0 {
        plain + 0.16 * urbanity
    } else {
        plain
    }
}

/// Price of a flat, EUR.
pub fn flat(
    stream: &mut Stream,
    address: &SynthAddress,
    moment: (i32, u32),
    surface_m2: f64,
) -> f64 {
    let place = address.place;
    let per_m2 = place.price_level
        * prices::trend(moment.0, moment.1, place.urbanity)
        * address.neighbourhood()
        * period_factor(address.building().period, place.urbanity)
        * (surface_m2 / 60.0).powf(-0.13)
        * stream.spread(0.19);
    per_m2 * surface_m2
}

/// Price of a house with its land, EUR.
pub fn house(
    stream: &mut Stream,
    address: &SynthAddress,
    moment: (i32, u32),
    surface_m2: f64,
    land_m2: f64,
) -> f64 {
    let place = address.place;
    let per_m2 = place.price_level
        * prices::house_premium(place.department, place.urbanity)
        * prices::trend(moment.0, moment.1, place.urbanity)
        * address.neighbourhood()
        * period_factor(address.building().period, 0.0)
        * (surface_m2 / 100.0).powf(-0.32)
        * (land_m2.clamp(80.0, 5_000.0) / 500.0).powf(0.09)
        * stream.spread(0.25);
    per_m2 * surface_m2
}

/// Price of business premises, EUR.
pub fn premises(
    stream: &mut Stream,
    address: &SynthAddress,
    moment: (i32, u32),
    surface_m2: f64,
) -> f64 {
    let place = address.place;
    let per_m2 = 0.72
        * place.price_level
        * prices::trend(moment.0, moment.1, place.urbanity)
        * address.neighbourhood()
        * (surface_m2 / 60.0).powf(-0.28)
        * stream.spread(0.55);
    per_m2 * surface_m2
}

/// Price of land, EUR: building plots by the place's level, farmland by the hectare.
pub fn land(stream: &mut Stream, address: &SynthAddress, buildable: bool, surface_m2: f64) -> f64 {
    if buildable {
        let level = 0.055 * address.place.price_level * (0.6 + address.place.urbanity);
        level * (surface_m2 / 700.0).powf(-0.45) * surface_m2 * stream.spread(0.4)
    } else {
        (0.75 * surface_m2 * stream.spread(0.7)).max(50.0)
    }
}

/// Price of a cellar or a parking space, EUR.
pub fn outbuilding(stream: &mut Stream, address: &SynthAddress) -> f64 {
    (2_500.0 + 4.2 * address.place.price_level) * stream.spread(0.5)
}

/// Rounds the price as people write it: usually round, sometimes to the euro, rarely to the cent.
pub fn rounded_as_written(stream: &mut Stream, price: f64) -> f64 {
    let step = match stream.unit() {
        share if price < 20_000.0 => {
            if share < 0.8 {
                100.0
            } else {
                1.0
            }
        }
        share if share < 0.45 => 1_000.0,
        share if share < 0.65 => 500.0,
        share if share < 0.75 => 5_000.0,
        share if share < 0.85 => 100.0,
        share if share < 0.97 => 1.0,
        _ => 0.01,
    };
    (price / step).round().max(1.0) * step
}
