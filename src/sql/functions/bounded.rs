//! Functions that can make much out of little, such as `repeat` and `range`, refuse to make more than
//! [`RESULT_BYTES_MAX`] at a time.
//!
//! DataFusion's memory limit counts what operators keep, not what a function returns. Without this bound,
//! `repeat('x', 4000000000)` would take the memory of the whole process. The bound is checked before the function runs,
//! on an estimate that is never too low.

use arrow::datatypes::{DataType, FieldRef};
use datafusion::common::exec_err;
use datafusion::config::ConfigOptions;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::FunctionRegistry;
use datafusion::execution::context::SessionContext;
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
};
use datafusion::scalar::ScalarValue;
use std::sync::Arc;

use super::sizes::{bytes, numbers};

/// Maximum bytes that one call returns for a batch of rows.
pub(super) const RESULT_BYTES_MAX: f64 = (64 << 20) as f64;
/// Bytes of an item of a list of numbers or moments.
const ITEM_BYTES: f64 = 8.0;
/// Maximum bytes of a character that fills.
const CHARACTER_BYTES_MAX: f64 = 4.0;
const NANOSECONDS_PER_DAY: f64 = 86_400e9;
const DAYS_PER_MONTH: f64 = 28.0;

/// Estimates the bytes of a result from the arguments and the number of rows; never too low.
type Estimate = fn(&[ColumnarValue], usize) -> Result<f64>;

/// The functions and how the size of their result is estimated.
const BOUNDED: [(&str, Estimate); 17] = [
    ("repeat", repeated),
    ("array_repeat", repeated),
    ("lpad", padded),
    ("rpad", padded),
    ("replace", replaced),
    ("regexp_replace", replaced_by_pattern),
    ("concat", joined),
    ("concat_ws", separated),
    ("array_concat", joined),
    ("array_append", joined),
    ("array_prepend", joined),
    ("make_array", joined),
    ("overlay", joined),
    ("encode", doubled),
    ("array_resize", resized),
    ("range", counted),
    ("generate_series", counted),
];

/// Replaces the functions of a session by their bounded forms.
pub(super) fn register(context: &SessionContext) -> Result<()> {
    let mut state = context.state_ref().write().clone();
    for (name, estimate) in BOUNDED {
        if let Ok(inner) = state.udf(name) {
            state.register_udf(Arc::new(bounded(inner, name, estimate)))?;
        }
    }
    *context.state_ref().write() = state;
    Ok(())
}

/// The bounded form of one of the functions, by its name.
pub(super) fn bounded_form(inner: Arc<ScalarUDF>, of: &str) -> ScalarUDF {
    let found = BOUNDED.iter().find(|(name, _)| *name == of);
    match found {
        Some((name, estimate)) => bounded(inner, name, *estimate),
        None => inner.as_ref().clone(),
    }
}

fn bounded(inner: Arc<ScalarUDF>, name: &'static str, estimate: Estimate) -> ScalarUDF {
    ScalarUDF::from(Bounded {
        inner,
        name,
        estimate: EstimateOf(estimate),
    })
}

/// An estimate, which is told apart by the name of its function.
#[derive(Clone, Copy)]
struct EstimateOf(Estimate);

impl std::fmt::Debug for EstimateOf {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("estimate")
    }
}

#[derive(Debug)]
struct Bounded {
    inner: Arc<ScalarUDF>,
    name: &'static str,
    estimate: EstimateOf,
}

impl PartialEq for Bounded {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.inner == other.inner
    }
}

impl Eq for Bounded {}

impl std::hash::Hash for Bounded {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.inner.hash(state);
    }
}

impl ScalarUDFImpl for Bounded {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn aliases(&self) -> &[String] {
        self.inner.aliases()
    }

    fn signature(&self) -> &Signature {
        self.inner.signature()
    }

    fn coerce_types(&self, given: &[DataType]) -> Result<Vec<DataType>> {
        self.inner.coerce_types(given)
    }

    fn return_type(&self, given: &[DataType]) -> Result<DataType> {
        self.inner.return_type(given)
    }

    fn return_field_from_args(&self, arguments: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        self.inner.return_field_from_args(arguments)
    }

    fn with_updated_config(&self, config: &ConfigOptions) -> Option<ScalarUDF> {
        let inner = self.inner.inner().with_updated_config(config)?;
        Some(bounded(Arc::new(inner), self.name, self.estimate.0))
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let estimate = (self.estimate.0)(&arguments.args, arguments.number_rows)?;
        if estimate.is_nan() || estimate > RESULT_BYTES_MAX {
            return exec_err!(
                "{} would return more than {} MiB at once",
                self.name(),
                RESULT_BYTES_MAX / f64::from(1 << 20)
            );
        }
        self.inner.invoke_with_args(arguments)
    }
}

/// Rows of the result: one if all arguments are constants.
fn rows_of(arguments: &[ColumnarValue], rows: usize) -> std::ops::Range<usize> {
    let is_constant = arguments
        .iter()
        .all(|argument| matches!(argument, ColumnarValue::Scalar(_)));
    0..if is_constant { 1 } else { rows }
}

/// Text or value × count.
fn repeated(arguments: &[ColumnarValue], rows: usize) -> Result<f64> {
    let [value, count, ..] = arguments else {
        return Ok(0.0);
    };
    let (value, count) = (bytes(value), numbers(count)?);
    let of_row = |row| value.at(row).max(1.0) * count.at(row).max(0.0);
    Ok(rows_of(arguments, rows).map(of_row).sum())
}

/// As long as the second argument says.
fn padded(arguments: &[ColumnarValue], rows: usize) -> Result<f64> {
    let Some(length) = arguments.get(1) else {
        return Ok(0.0);
    };
    let length = numbers(length)?;
    let of_row = |row| length.at(row).max(0.0) * CHARACTER_BYTES_MAX;
    Ok(rows_of(arguments, rows).map(of_row).sum())
}

/// Each occurrence of the second argument becomes the third.
fn replaced(arguments: &[ColumnarValue], rows: usize) -> Result<f64> {
    let [text, from, to] = arguments else {
        return Ok(0.0);
    };
    let (text, from, to) = (bytes(text), bytes(from), bytes(to));
    let of_row = |row| {
        let occurrences = text.at(row) / from.at(row).max(1.0) + 1.0;
        text.at(row) + occurrences * to.at(row)
    };
    Ok(rows_of(arguments, rows).map(of_row).sum())
}

/// Each match becomes the third argument, which may name groups of the match; all matches only with flags.
fn replaced_by_pattern(arguments: &[ColumnarValue], rows: usize) -> Result<f64> {
    let [text, _pattern, to, flags @ ..] = arguments else {
        return Ok(0.0);
    };
    let (text, to) = (bytes(text), bytes(to));
    let of_row = |row| {
        let (text, to) = (text.at(row), to.at(row));
        match flags.is_empty() {
            // A group is named by at least two characters, and is at most the whole text.
            true => text + to / 2.0 * text.max(1.0),
            false => text + (text + 1.0) * to,
        }
    };
    /// The estimate is far above what patterns really make.
    const EXAGGERATION: f64 = 8.0;
    Ok(rows_of(arguments, rows).map(of_row).sum::<f64>() / EXAGGERATION)
}

/// All arguments, one after the other.
pub(super) fn joined(arguments: &[ColumnarValue], rows: usize) -> Result<f64> {
    let sizes: Vec<_> = arguments.iter().map(bytes).collect();
    let of_row = |row| sizes.iter().map(|size| size.at(row)).sum::<f64>();
    Ok(rows_of(arguments, rows).map(of_row).sum())
}

/// All arguments, with the first one between them.
fn separated(arguments: &[ColumnarValue], rows: usize) -> Result<f64> {
    let separator = arguments.first().map(bytes);
    let between = |row| {
        separator
            .as_ref()
            .map_or(0.0, |separator| separator.at(row))
    };
    let separators: f64 = rows_of(arguments, rows).map(between).sum();
    Ok(joined(arguments, rows)? + separators * arguments.len() as f64)
}

/// Twice the first argument.
fn doubled(arguments: &[ColumnarValue], rows: usize) -> Result<f64> {
    Ok(2.0 * joined(&arguments[..arguments.len().min(1)], rows)?)
}

/// As many items as the second argument says.
fn resized(arguments: &[ColumnarValue], rows: usize) -> Result<f64> {
    let [list, count, fill @ ..] = arguments else {
        return Ok(0.0);
    };
    let (list, count) = (bytes(list), numbers(count)?);
    let fill = fill.first().map(bytes);
    let of_row = |row| {
        let item = fill
            .as_ref()
            .map_or(ITEM_BYTES, |fill| fill.at(row).max(ITEM_BYTES));
        list.at(row) + count.at(row).max(0.0) * item
    };
    Ok(rows_of(arguments, rows).map(of_row).sum())
}

/// The items from the first argument to the second by the third.
fn counted(arguments: &[ColumnarValue], rows: usize) -> Result<f64> {
    let (start, stop) = match arguments {
        [stop] => (None, stop),
        [start, stop, ..] => (Some(start), stop),
        [] => return Ok(0.0),
    };
    let unit = match stop.data_type() {
        DataType::Date32 => NANOSECONDS_PER_DAY,
        _ => 1.0,
    };
    let start = start.map(numbers).transpose()?;
    let stop = numbers(stop)?;
    let step = match arguments.get(2) {
        None => 1.0,
        Some(step) => smallest_step(step)?,
    };
    let of_row = |row| {
        let from = start.as_ref().map_or(0.0, |start| start.at(row));
        ((stop.at(row) - from).abs() * unit / step.max(1.0) + 1.0) * ITEM_BYTES
    };
    Ok(rows_of(arguments, rows).map(of_row).sum())
}

/// The least absolute step of all rows: a number, or nanoseconds of an interval.
fn smallest_step(step: &ColumnarValue) -> Result<f64> {
    if let ColumnarValue::Scalar(ScalarValue::IntervalMonthDayNano(interval)) = step {
        let Some(interval) = interval else {
            return Ok(f64::INFINITY);
        };
        let days = f64::from(interval.months) * DAYS_PER_MONTH + f64::from(interval.days);
        return Ok((days * NANOSECONDS_PER_DAY + interval.nanoseconds as f64).abs());
    }
    if matches!(step.data_type(), DataType::Interval(_)) {
        return Err(DataFusionError::Execution(
            "the step between moments must be a constant".to_owned(),
        ));
    }
    let steps = numbers(step)?;
    let ColumnarValue::Array(array) = step else {
        return Ok(steps.at(0).abs());
    };
    let least = (0..array.len()).map(|row| steps.at(row).abs());
    Ok(least.fold(f64::INFINITY, f64::min))
}
