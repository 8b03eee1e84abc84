//! What open data cannot teach: bounded offsets on the logarithm of the price, each with its source.

use super::Home;

/// The adjustments of a home: what it is for, and the offset on the logarithm of its price.
pub fn of(_home: &Home) -> impl Iterator<Item = (&'static str, f64)> {
    std::iter::empty()
}
