//! The hedonic price index: the estimator's price path of a department and class, relative to the first period.

use crate::period::Division;
use crate::report::IndexValue;
use toise_estimate::{HomeClass, PricePaths};

/// Value of the index in its first period.
const BASE: f64 = 100.0;
/// Standard errors between the value and each end of its interval of 80 %, the coverage of the estimator's intervals.
const INTERVAL: f64 = 1.281_551_6;

/// Returns the index of a period relative to a base period, from the middle of one to the middle of the other. `None`
/// if all days are one period, or if the model does not know the department in both periods.
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
