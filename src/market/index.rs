//! Computes the hedonic price index: the estimator's price path of a department and class, relative to the first
//! period.

use crate::period::Division;
use crate::report::IndexValue;
use toise_estimate::{HomeClass, PricePaths};

/// Value of the index in its first period.
const BASE: f64 = 100.0;
/// Half-width of the 80 % interval in standard errors; 80 % is the coverage of the estimator's intervals.
const INTERVAL: f64 = 1.281_551_6;

/// Returns the index of a period relative to a base period, measured between the middles of both. `None` if all days
/// form one period, or if the model does not know the department in both.
pub(crate) fn value(
    paths: &PricePaths<'_>,
    class: HomeClass,
    department: u8,
    by: Division,
    [base, period]: [i32; 2],
) -> Option<IndexValue> {
    let middle = |period| {
        let (first, after) = by.days(period)?;
        Some(first + (after - first) / 2)
    };
    let change = paths.change(class, department, middle(base)?, middle(period)?)?;
    let spread = INTERVAL * change.standard_error;
    let logs = [change.log, change.log - spread, change.log + spread];
    Some(logs.map(|log| BASE * log.exp()))
}
