//! Divides the days of a report into periods: months, quarters, or all requested days as one period.

use chrono::{Datelike, NaiveDate};
use serde::{Deserialize, Serialize};

/// Quarters of a year.
const QUARTERS: i32 = 4;
/// Months of a year.
const MONTHS: i32 = 12;
/// Milliseconds of a day.
pub const DAY_MS: i64 = 86_400_000;

/// Division of the requested days into periods.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Division {
    /// No division: all days are one period.
    Whole,
    /// By calendar month.
    Month,
    /// By calendar quarter.
    Quarter,
}

impl Division {
    /// Returns the number of the period that contains a day (days since 1970-01-01). Numbers rise with time.
    pub fn number(self, day: i32) -> i32 {
        let date = date(day);
        match self {
            Division::Whole => 0,
            Division::Month => date.year() * MONTHS + date.month0() as i32,
            Division::Quarter => date.year() * QUARTERS + date.month0() as i32 / 3,
        }
    }

    /// Returns the name of a period: `2024-05` or `2024-Q2`; `None` for [`Division::Whole`].
    pub fn name(self, number: i32) -> Option<String> {
        match self {
            Division::Whole => None,
            Division::Month => Some(format!(
                "{}-{:02}",
                number.div_euclid(MONTHS),
                number.rem_euclid(MONTHS) + 1
            )),
            Division::Quarter => Some(format!(
                "{}-Q{}",
                number.div_euclid(QUARTERS),
                number.rem_euclid(QUARTERS) + 1
            )),
        }
    }

    /// Returns the first day of a period and the first day after it, in days since 1970-01-01; `None` for
    /// [`Division::Whole`].
    pub fn days(self, number: i32) -> Option<(i32, i32)> {
        let first = |number: i32| match self {
            Division::Whole => None,
            Division::Month => first_of(number.div_euclid(MONTHS), number.rem_euclid(MONTHS)),
            Division::Quarter => first_of(
                number.div_euclid(QUARTERS),
                number.rem_euclid(QUARTERS) * (MONTHS / QUARTERS),
            ),
        };
        first(number).zip(first(number + 1))
    }
}

fn first_of(year: i32, month0: i32) -> Option<i32> {
    let date = NaiveDate::from_ymd_opt(year, month0 as u32 + 1, 1)?;
    i32::try_from((date - NaiveDate::default()).num_days()).ok()
}

fn date(day: i32) -> NaiveDate {
    toise_estimate::model::date(day)
}

/// Returns the day (days since 1970-01-01) of a time in milliseconds since 1970-01-01 UTC.
pub fn day_of(moment_ms: i64) -> i32 {
    i32::try_from(moment_ms.div_euclid(DAY_MS)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_falls_into_the_period_that_contains_it() {
        // 2024-05-31 and 2024-06-01.
        for day in [19_874, 19_875, -1, 0] {
            for division in [Division::Month, Division::Quarter] {
                let (first, after) = division.days(division.number(day)).unwrap();
                assert!((first..after).contains(&day), "{division:?} {day}");
            }
        }
        let name = |division: Division, day| division.name(division.number(day)).unwrap();
        assert_eq!(name(Division::Month, 19_874), "2024-05");
        assert_eq!(name(Division::Quarter, 19_874), "2024-Q2");
        assert_eq!(name(Division::Month, 19_875), "2024-06");
        assert_eq!(Division::Whole.name(0), None);
    }
}
