//! Computes quantiles of samples, unless a sample is too small to be published.

use toise_listings::search::analytics::quantile;

/// Minimum number of values behind a published median. A smaller sample would reveal single transactions and tell
/// little about the market.
pub const SAMPLE_MIN: usize = 5;

/// Sorts the values and returns their quartiles (25, 50 and 75 %), interpolated between neighbours (Hyndman and Fan
/// 1996, type 7, like NumPy, R and SQL's `percentile_cont`). `None` for fewer than [`SAMPLE_MIN`] values.
pub fn quartiles(values: &mut [f64]) -> Option<[f64; 3]> {
    if values.len() < SAMPLE_MIN {
        return None;
    }
    values.sort_unstable_by(f64::total_cmp);
    Some([0.25, 0.5, 0.75].map(|share| quantile(values, share)))
}

/// Sorts the values and returns their median; `None` for fewer than [`SAMPLE_MIN`] values.
pub fn median(values: &mut [f64]) -> Option<f64> {
    quartiles(values).map(|[_, median, _]| median)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_are_interpolated_and_small_samples_withheld() {
        assert_eq!(quartiles(&mut [4.0, 1.0, 3.0, 2.0]), None);
        let known = quartiles(&mut [10.0, 1.0, 3.0, 2.0, 4.0]);
        assert_eq!(known, Some([2.0, 3.0, 4.0]));
        let even = quartiles(&mut [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        assert_eq!(even, Some([2.25, 3.5, 4.75]));
    }
}
