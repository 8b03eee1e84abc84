//! The drawings of a report.

pub mod classes;
pub mod interval;
pub mod map;
pub mod parts;
pub mod prices;

/// Returns round steps of an axis from at most `low` to at least `high`, about `count` of them.
pub(crate) fn steps(low: f64, high: f64, count: usize) -> Vec<f64> {
    let rough = ((high - low) / count as f64).max(f64::MIN_POSITIVE);
    let power = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 2.5, 5.0, 10.0]
        .into_iter()
        .map(|factor| factor * power)
        .find(|step| *step >= rough)
        .unwrap_or(10.0 * power);
    let first = (low / step).floor() as i64;
    let last = (high / step).ceil() as i64;
    (first..=last).map(|nth| nth as f64 * step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_round_and_enclose_the_values() {
        assert_eq!(
            steps(2_900.0, 4_600.0, 4),
            [2_500.0, 3_000.0, 3_500.0, 4_000.0, 4_500.0, 5_000.0]
        );
        assert_eq!(steps(0.0, 10.0, 2), [0.0, 5.0, 10.0]);
    }
}
