//! Computes the interval around a rent by split conformal prediction, from errors on held-out homes.
//!
//! The logarithmic errors are grouped by class and by the number of adverts near the home. A group with few homes takes
//! the errors of both classes, otherwise the errors of its class for any number of adverts, otherwise the errors of all
//! homes. Fewer adverts never give a narrower interval.

use toise_estimate::HomeClass;

/// Share of rents that the interval should contain.
pub const COVERAGE: f64 = 0.8;
/// Minimum number of errors behind an interval.
pub const ERRORS_MIN: usize = 30;
/// Minimum number of errors for a group to be used.
const GROUP_MIN: usize = 40;
/// Lowest number of local adverts of each group.
const GROUPS: [usize; 4] = [0, 1, 5, 20];

/// An error on a held-out home.
#[derive(Clone, Copy, Debug)]
pub struct HeldOutError {
    /// Flat or house.
    pub class: HomeClass,
    /// Number of adverts in the commune or near the home.
    pub local_adverts: usize,
    /// Logarithm of its rent over the predicted one.
    pub log_error: f64,
}

/// The half-widths of intervals, as logarithms, by class and group.
#[derive(Clone, Debug, PartialEq)]
pub struct Intervals([[f64; GROUPS.len()]; 2]);

fn group(local_adverts: usize) -> usize {
    GROUPS
        .iter()
        .rposition(|first| local_adverts >= *first)
        .unwrap_or_default()
}

impl Intervals {
    /// Calibrates the intervals; `None` with fewer than [`ERRORS_MIN`] errors.
    pub fn calibrate(errors: &[HeldOutError]) -> Option<Self> {
        let of = |is: &dyn Fn(&HeldOutError) -> bool| {
            let sizes = errors.iter().filter(|error| is(error));
            sizes
                .map(|error| error.log_error.abs())
                .collect::<Vec<f64>>()
        };
        let all = half_width(of(&|_| true), ERRORS_MIN)?;
        let classes = [HomeClass::Flat, HomeClass::House].map(|class| {
            let mut widths = [0.0; GROUPS.len()];
            let mut least: f64 = 0.0;
            for (place, width) in widths.iter_mut().enumerate().rev() {
                let in_group = |error: &HeldOutError| group(error.local_adverts) == place;
                let own = of(&|error| error.class == class && in_group(error));
                let found = half_width(own, GROUP_MIN)
                    .or_else(|| half_width(of(&in_group), GROUP_MIN))
                    .or_else(|| half_width(of(&|error| error.class == class), GROUP_MIN))
                    .unwrap_or(all);
                least = least.max(found);
                *width = least;
            }
            widths
        });
        Some(Self(classes))
    }

    /// Returns the half-width for a home, as a logarithm.
    pub fn half_width(&self, class: HomeClass, local_adverts: usize) -> f64 {
        self.0[usize::from(class == HomeClass::House)][group(local_adverts)]
    }
}

/// Returns the size that a share [`COVERAGE`] of errors does not exceed, with the correction for a finite sample;
/// `None` for fewer than `least` errors.
fn half_width(mut sizes: Vec<f64>, least: usize) -> Option<f64> {
    if sizes.len() < least {
        return None;
    }
    sizes.sort_unstable_by(f64::total_cmp);
    let rank = ((sizes.len() + 1) as f64 * COVERAGE).ceil() as usize;
    sizes.get(rank.min(sizes.len()) - 1).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn errors(
        class: HomeClass,
        local_adverts: usize,
        count: usize,
        most: f64,
    ) -> Vec<HeldOutError> {
        let one = |nth| HeldOutError {
            class,
            local_adverts,
            log_error: most * (nth + 1) as f64 / count as f64
                * if nth % 2 == 0 { 1.0 } else { -1.0 },
        };
        (0..count).map(one).collect()
    }

    #[test]
    fn an_interval_holds_four_rents_in_five_and_widens_with_fewer_adverts() {
        let mut known = errors(HomeClass::Flat, 30, 100, 0.2);
        assert_eq!(Intervals::calibrate(&known[..20]), None);
        known.extend(errors(HomeClass::Flat, 2, 100, 0.4));
        known.extend(errors(HomeClass::House, 2, 10, 0.1));
        let found = Intervals::calibrate(&known).unwrap();
        let width = |class, adverts| found.half_width(class, adverts);
        let close = |one: f64, other: f64| assert!((one - other).abs() < 0.01, "{one} {other}");
        close(width(HomeClass::Flat, 40), 0.162);
        close(width(HomeClass::Flat, 3), 0.324);
        // There is no flat without an advert, and there are only ten houses, so wider groups are used.
        assert!(width(HomeClass::Flat, 0) >= width(HomeClass::Flat, 3));
        close(width(HomeClass::House, 3), 0.31);
    }
}
