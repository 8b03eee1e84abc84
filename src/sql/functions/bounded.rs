//! Functions whose output can far exceed their input, such as `repeat` and `range`. They refuse to return more than the
//! [`Bounds`] of their session.
//!
//! DataFusion's memory limit counts what operators keep, not what a function returns. Without these bounds,
//! `repeat('x', 4000000000)` would take the memory of the whole process. They are checked before the function runs, on
//! an estimate. It is never too low, except for `regexp_replace`, where it is an eighth of the worst case.

use arrow::datatypes::{DataType, FieldRef};
use datafusion::config::ConfigOptions;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::FunctionRegistry;
use datafusion::execution::context::SessionContext;
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
};
use datafusion::scalar::ScalarValue;
use std::sync::Arc;

use super::bounds::{Bounds, ResultSize};
use super::sizes::{bytes, items, numbers};

/// Bytes of a number or moment in a list.
const ITEM_BYTES: f64 = 8.0;
/// Maximum bytes of a character.
const CHARACTER_BYTES_MAX: f64 = 4.0;
/// Maximum characters that a letter of a date format becomes.
const FORMATTED: f64 = 12.0;
/// Bytes of a number as text, per byte of the number in memory.
const WRITTEN: f64 = 4.0;
/// Bytes of the offsets of the parts of a text, per byte of the text.
const PLACED: f64 = 8.0;
/// Comparisons of letters that take as long as producing one byte.
const COMPARED: f64 = 16.0;
const NANOSECONDS_PER_DAY: f64 = 86_400e9;
const DAYS_PER_MONTH: f64 = 28.0;

/// A function that estimates the bytes of a result from the arguments and the number of rows.
type Estimate = fn(&[ColumnarValue], usize) -> Result<ResultSize>;

/// The functions and how the size of their result is estimated.
const BOUNDED: [(&str, Estimate); 29] = [
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
    ("named_struct", joined),
    ("struct", joined),
    ("array_union", joined),
    ("map", joined),
    ("array_to_string", listed),
    ("array_replace", exchanged),
    ("array_replace_n", exchanged),
    ("array_replace_all", exchanged),
    ("to_char", formatted),
    ("translate", translated),
    ("string_to_array", divided),
    ("levenshtein", compared),
];

/// Replaces the functions of a session with their bounded forms.
pub(super) fn register(context: &SessionContext, bounds: &Arc<Bounds>) -> Result<()> {
    let mut state = context.state_ref().write().clone();
    for (name, estimate) in BOUNDED {
        if let Ok(inner) = state.udf(name) {
            let bounds = Arc::clone(bounds);
            state.register_udf(Arc::new(bounded(inner, name, estimate, bounds)))?;
        }
    }
    *context.state_ref().write() = state;
    Ok(())
}

/// Returns the bounded form of a function by its name; the function itself if it needs no bound.
pub(super) fn bounded_form(inner: Arc<ScalarUDF>, of: &str, bounds: &Arc<Bounds>) -> ScalarUDF {
    let found = BOUNDED.iter().find(|(name, _)| *name == of);
    match found {
        Some((name, estimate)) => bounded(inner, name, *estimate, Arc::clone(bounds)),
        None => inner.as_ref().clone(),
    }
}

fn bounded(
    inner: Arc<ScalarUDF>,
    name: &'static str,
    estimate: Estimate,
    bounds: Arc<Bounds>,
) -> ScalarUDF {
    ScalarUDF::from(Bounded {
        inner,
        name,
        estimate: EstimateOf(estimate),
        bounds,
    })
}

/// An estimate with a `Debug` form; the name of its function identifies it.
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
    bounds: Arc<Bounds>,
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
        let bounds = Arc::clone(&self.bounds);
        Some(bounded(Arc::new(inner), self.name, self.estimate.0, bounds))
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let made = (self.estimate.0)(&arguments.args, arguments.number_rows)?;
        self.bounds.check(self.name(), &made)?;
        self.inner.invoke_with_args(arguments)
    }
}

/// Returns the rows of the result: one if all arguments are constants.
fn rows_of(arguments: &[ColumnarValue], rows: usize) -> std::ops::Range<usize> {
    let is_constant = arguments
        .iter()
        .all(|argument| matches!(argument, ColumnarValue::Scalar(_)));
    0..if is_constant { 1 } else { rows }
}

/// Estimates text or value × count.
fn repeated(arguments: &[ColumnarValue], rows: usize) -> Result<ResultSize> {
    let [value, count, ..] = arguments else {
        return Ok(ResultSize::default());
    };
    let (value, count) = (bytes(value), numbers(count)?);
    let of_row = |row| value.at(row).max(1.0) * count.at(row).max(0.0);
    Ok(ResultSize::of(rows_of(arguments, rows).map(of_row)))
}

/// Estimates a text with the length of the second argument.
fn padded(arguments: &[ColumnarValue], rows: usize) -> Result<ResultSize> {
    let Some(length) = arguments.get(1) else {
        return Ok(ResultSize::default());
    };
    let length = numbers(length)?;
    let of_row = |row| length.at(row).max(0.0) * CHARACTER_BYTES_MAX;
    Ok(ResultSize::of(rows_of(arguments, rows).map(of_row)))
}

/// Estimates a text in which each occurrence of the second argument becomes the third.
fn replaced(arguments: &[ColumnarValue], rows: usize) -> Result<ResultSize> {
    let [text, from, to] = arguments else {
        return Ok(ResultSize::default());
    };
    let (text, from, to) = (bytes(text), bytes(from), bytes(to));
    let of_row = |row| {
        let occurrences = text.at(row) / from.at(row).max(1.0) + 1.0;
        text.at(row) + occurrences * to.at(row)
    };
    Ok(ResultSize::of(rows_of(arguments, rows).map(of_row)))
}

/// Estimates a text in which a match becomes the third argument, which may name groups of the match. All matches are
/// replaced only with flags.
fn replaced_by_pattern(arguments: &[ColumnarValue], rows: usize) -> Result<ResultSize> {
    let [text, _pattern, to, flags @ ..] = arguments else {
        return Ok(ResultSize::default());
    };
    let (text, to) = (bytes(text), bytes(to));
    /// Divisor of the worst case, which is far above what patterns produce in practice.
    const EXAGGERATION: f64 = 8.0;
    let of_row = |row| {
        let (text, to) = (text.at(row), to.at(row));
        let made = match flags.is_empty() {
            // A group is named by at least two characters, and is at most the whole text.
            true => text + to / 2.0 * text.max(1.0),
            false => text + (text + 1.0) * to,
        };
        made / EXAGGERATION
    };
    Ok(ResultSize::of(rows_of(arguments, rows).map(of_row)))
}

/// Estimates all arguments joined.
pub(super) fn joined(arguments: &[ColumnarValue], rows: usize) -> Result<ResultSize> {
    let sizes: Vec<_> = arguments.iter().map(bytes).collect();
    let of_row = |row| sizes.iter().map(|size| size.at(row)).sum::<f64>();
    Ok(ResultSize::of(rows_of(arguments, rows).map(of_row)))
}

/// Estimates all arguments joined, with the first one between them.
fn separated(arguments: &[ColumnarValue], rows: usize) -> Result<ResultSize> {
    let sizes: Vec<_> = arguments.iter().map(bytes).collect();
    let of_row = |row| {
        let separator = sizes.first().map_or(0.0, |separator| separator.at(row));
        let joined = sizes.iter().map(|size| size.at(row)).sum::<f64>();
        joined + separator * sizes.len() as f64
    };
    Ok(ResultSize::of(rows_of(arguments, rows).map(of_row)))
}

/// Estimates `factor` times the first argument.
fn times(factor: f64, arguments: &[ColumnarValue], rows: usize) -> Result<ResultSize> {
    let Some(first) = arguments.first().map(bytes) else {
        return Ok(ResultSize::default());
    };
    let of_row = |row| factor * first.at(row);
    Ok(ResultSize::of(rows_of(arguments, rows).map(of_row)))
}

/// Estimates two digits for each byte.
fn doubled(arguments: &[ColumnarValue], rows: usize) -> Result<ResultSize> {
    times(2.0, arguments, rows)
}

/// Estimates a character of maximum length for each byte.
fn translated(arguments: &[ColumnarValue], rows: usize) -> Result<ResultSize> {
    times(CHARACTER_BYTES_MAX, arguments, rows)
}

/// Estimates at most one part for each byte.
fn divided(arguments: &[ColumnarValue], rows: usize) -> Result<ResultSize> {
    times(PLACED, arguments, rows)
}

/// Estimates a text as long as the format in the second argument allows.
fn formatted(arguments: &[ColumnarValue], rows: usize) -> Result<ResultSize> {
    let Some(format) = arguments.get(1).map(bytes) else {
        return Ok(ResultSize::default());
    };
    let of_row = |row| FORMATTED * format.at(row);
    Ok(ResultSize::of(rows_of(arguments, rows).map(of_row)))
}

/// Estimates the comparisons of every letter of one argument with every letter of the other: the bound is on time, not
/// on the size of the result.
fn compared(arguments: &[ColumnarValue], rows: usize) -> Result<ResultSize> {
    let [one, other, ..] = arguments else {
        return Ok(ResultSize::default());
    };
    let (one, other) = (bytes(one), bytes(other));
    let of_row = |row| one.at(row) * other.at(row) / COMPARED;
    Ok(ResultSize::of(rows_of(arguments, rows).map(of_row)))
}

/// Estimates the items of a list as text, with the second argument between them.
fn listed(arguments: &[ColumnarValue], rows: usize) -> Result<ResultSize> {
    let [list, separator, ..] = arguments else {
        return Ok(ResultSize::default());
    };
    let (count, list, separator) = (items(list), bytes(list), bytes(separator));
    let of_row = |row| WRITTEN * list.at(row) + count.at(row) * separator.at(row);
    Ok(ResultSize::of(rows_of(arguments, rows).map(of_row)))
}

/// Estimates a list in which any item may become the third argument.
fn exchanged(arguments: &[ColumnarValue], rows: usize) -> Result<ResultSize> {
    let [list, _from, to, ..] = arguments else {
        return Ok(ResultSize::default());
    };
    let (count, list, to) = (items(list), bytes(list), bytes(to));
    let of_row = |row| list.at(row) + count.at(row) * to.at(row);
    Ok(ResultSize::of(rows_of(arguments, rows).map(of_row)))
}

/// Estimates a list with as many items as the second argument says.
fn resized(arguments: &[ColumnarValue], rows: usize) -> Result<ResultSize> {
    let [list, count, fill @ ..] = arguments else {
        return Ok(ResultSize::default());
    };
    let (list, count) = (bytes(list), numbers(count)?);
    let fill = fill.first().map(bytes);
    let of_row = |row| {
        let item = fill
            .as_ref()
            .map_or(ITEM_BYTES, |fill| fill.at(row).max(ITEM_BYTES));
        list.at(row) + count.at(row).max(0.0) * item
    };
    Ok(ResultSize::of(rows_of(arguments, rows).map(of_row)))
}

/// Estimates the items from the first argument to the second, in steps of the third.
fn counted(arguments: &[ColumnarValue], rows: usize) -> Result<ResultSize> {
    let (start, stop) = match arguments {
        [stop] => (None, stop),
        [start, stop, ..] => (Some(start), stop),
        [] => return Ok(ResultSize::default()),
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
    Ok(ResultSize::of(rows_of(arguments, rows).map(of_row)))
}

/// Returns the smallest absolute step of all rows: a number, or nanoseconds of an interval.
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
