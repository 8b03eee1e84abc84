//! Computes price changes between two days, with their standard errors, from the paths of the index.
//!
//! A path is the sum of three smoothed paths, each the mean of a Gaussian posterior whose precision is the matrix of
//! its normal equations. The variance of a change is the quadratic form of the inverse of that matrix. The three
//! variances are added as if they were independent. If a department has many sales, its own path compensates for errors
//! of the other two, so the sum is too large rather than too small.

use super::{BEND, DEPARTMENTS, MONTH_DAYS, OWN_BEND, OWN_STEP, PriceIndex, STEP};
use super::{group, month_of, precision, solve};
use crate::home::HomeClass;
use crate::sale::SaleColumns;

/// A change of prices for equal homes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PriceChange {
    /// Change of the logarithm of the price.
    pub log: f64,
    /// Its standard error.
    pub standard_error: f64,
}

/// The price paths of a model as known after its last sale.
#[derive(Debug)]
pub struct PricePaths<'a> {
    index: &'a PriceIndex,
    months: usize,
    /// Sales by class and department, then by month.
    counts: Vec<f64>,
}

impl<'a> PricePaths<'a> {
    pub(crate) fn new(index: &'a PriceIndex, sales: &SaleColumns) -> Self {
        let months = index.as_of.len().saturating_sub(1);
        let mut counts = vec![0.0; 2 * DEPARTMENTS * months];
        let mut last = None;
        for row in 0..sales.len() {
            let day = sales.day[row];
            let month = match last {
                Some((known, month)) if known == day => month,
                _ => (month_of(day) - index.first) as usize,
            };
            last = Some((day, month));
            let group = group(sales.class(row), sales.department[row]);
            if let Some(count) = counts.get_mut(group * months + month) {
                *count += 1.0;
            }
        }
        Self {
            index,
            months,
            counts,
        }
    }

    /// Returns the change from one day to another (days since 1970-01-01) for a class in the department with this rank.
    /// `None` if one of the days is outside the months of the known sales, or the department has no sale of the class.
    pub fn change(
        &self,
        class: HomeClass,
        department: u8,
        from: i32,
        to: i32,
    ) -> Option<PriceChange> {
        let weights = self.contrast(from, to)?;
        let own = group(class, department);
        if self
            .counts_of(own..own + 1)
            .iter()
            .all(|count| *count == 0.0)
        {
            return None;
        }
        let path = self.index.before(i32::MAX, class, department);
        let first = class as usize * DEPARTMENTS;
        let parts = [
            (self.counts_of(0..2 * DEPARTMENTS), STEP, BEND),
            (
                self.counts_of(first..first + DEPARTMENTS),
                OWN_STEP,
                OWN_BEND,
            ),
            (self.counts_of(own..own + 1), OWN_STEP, OWN_BEND),
        ];
        let variances = parts.into_iter().map(|(counts, step, bend)| {
            let solved = solve(precision(&counts, step, bend), weights.clone());
            let products = solved.iter().zip(&weights);
            products.map(|(one, other)| one * other).sum::<f64>()
        });
        Some(PriceChange {
            log: path.at(f64::from(to) + 0.5) - path.at(f64::from(from) + 0.5),
            standard_error: variances.sum::<f64>().max(0.0).sqrt(),
        })
    }

    /// Sales of groups by month.
    fn counts_of(&self, groups: std::ops::Range<usize>) -> Vec<f64> {
        let mut sums = vec![0.0; self.months];
        for group in groups {
            let counts = &self.counts[group * self.months..(group + 1) * self.months];
            for (sum, count) in sums.iter_mut().zip(counts) {
                *sum += count;
            }
        }
        sums
    }

    /// Returns the weight of each month in the change, since a path is interpolated between the middles of two months.
    /// `None` if a day is outside the known months.
    fn contrast(&self, from: i32, to: i32) -> Option<Vec<f64>> {
        let mut weights = vec![0.0; self.months];
        for (day, sign) in [(to, 1.0), (from, -1.0)] {
            let months = (f64::from(day - self.index.first_day) + 0.5) / MONTH_DAYS;
            if !(0.0..=self.months as f64).contains(&months) {
                return None;
            }
            let last = self.months.checked_sub(1)?;
            let place = (months - 0.5).clamp(0.0, last as f64);
            let before = place as usize;
            weights[before] += sign * (1.0 - place.fract());
            if before < last {
                weights[before + 1] += sign * place.fract();
            }
        }
        Some(weights)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::known_market::{DAYS, FIRST_DAY, made};

    #[test]
    fn a_change_follows_the_market_within_its_interval_and_is_surer_with_more_sales() {
        let of = |count| {
            let sales = SaleColumns::new(made(count, 5));
            let quality: Vec<f32> = (0..sales.len())
                .map(|row| (sales.price[row] / f64::from(sales.surface_m2[row])).ln() as f32)
                .collect();
            let index = PriceIndex::fit(&sales, &quality);
            let paths = PricePaths::new(&index, &sales);
            let (from, to) = (FIRST_DAY + 45, FIRST_DAY + 540);
            assert_eq!(paths.change(HomeClass::Flat, 1, from, to), None);
            assert_eq!(
                paths.change(HomeClass::Flat, 84, from, FIRST_DAY + 2 * DAYS),
                None
            );
            let still = paths.change(HomeClass::Flat, 84, from, from).unwrap();
            assert!(still.log == 0.0 && still.standard_error == 0.0);
            paths.change(HomeClass::Flat, 84, from, to).unwrap()
        };
        let (few, many) = (of(500), of(5_000));
        assert!(many.standard_error < few.standard_error);
        // The market of these sales rises by half a percent a month, for 16.3 months.
        assert!(
            (many.log - 0.0814).abs() < 3.0 * many.standard_error,
            "{many:?}"
        );
    }
}
