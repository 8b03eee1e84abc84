//! `date_diff(part, from, to)`: the number of boundaries of years, months, days and so on between two times, as DuckDB
//! counts them: from 31 December to 1 January is one year.

use std::sync::Arc;

use arrow::array::{Array, AsArray, Int64Array};
use arrow::compute::cast;
use arrow::datatypes::{DataType, TimeUnit, TimestampMicrosecondType};
use chrono::{DateTime, Datelike, Utc};
use datafusion::common::plan_err;
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::scalar::ScalarValue;

/// The type that both times are converted to.
const MOMENT: DataType = DataType::Timestamp(TimeUnit::Microsecond, None);
const MICROSECONDS_PER_S: i64 = 1_000_000;
/// Days from a Monday to 1 January 1970, a Thursday.
const EPOCH_WEEKDAY: i64 = 3;

/// Returns the function.
pub fn date_diff() -> ScalarUDF {
    ScalarUDF::from(DateDiff {
        signature: Signature::user_defined(Volatility::Immutable),
        aliases: vec!["datediff".to_owned()],
    })
}

/// The part whose boundaries are counted.
#[derive(Clone, Copy)]
enum Part {
    Years,
    Quarters,
    Months,
    Weeks,
    /// Parts of equal length, in microseconds.
    Equal(i64),
}

impl Part {
    fn parse(name: &str) -> Option<Self> {
        let name = name.to_ascii_lowercase();
        Some(match name.strip_suffix('s').unwrap_or(&name) {
            "year" => Part::Years,
            "quarter" => Part::Quarters,
            "month" => Part::Months,
            "week" => Part::Weeks,
            "day" => Part::Equal(86_400 * MICROSECONDS_PER_S),
            "hour" => Part::Equal(3_600 * MICROSECONDS_PER_S),
            "minute" => Part::Equal(60 * MICROSECONDS_PER_S),
            "second" => Part::Equal(MICROSECONDS_PER_S),
            "millisecond" => Part::Equal(1_000),
            "microsecond" => Part::Equal(1),
            _ => return None,
        })
    }

    /// Returns the number of the part that contains a time; `None` for a time beyond the calendar.
    fn number(self, microseconds: i64) -> Option<i64> {
        let day = microseconds.div_euclid(86_400 * MICROSECONDS_PER_S);
        let date =
            || DateTime::<Utc>::from_timestamp_micros(microseconds).map(|at| at.date_naive());
        Some(match self {
            Part::Equal(length) => microseconds.div_euclid(length),
            Part::Weeks => (day + EPOCH_WEEKDAY).div_euclid(7),
            Part::Years => i64::from(date()?.year()),
            Part::Quarters => i64::from(date()?.year()) * 4 + i64::from(date()?.month0() / 3),
            Part::Months => i64::from(date()?.year()) * 12 + i64::from(date()?.month0()),
        })
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct DateDiff {
    signature: Signature,
    aliases: Vec<String>,
}

impl ScalarUDFImpl for DateDiff {
    fn name(&self) -> &str {
        "date_diff"
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, given: &[DataType]) -> Result<Vec<DataType>> {
        match given.len() {
            3 => Ok(vec![DataType::Utf8, MOMENT, MOMENT]),
            _ => plan_err!("date_diff takes a part, such as 'day', and two times"),
        }
    }

    fn return_type(&self, _arguments: &[DataType]) -> Result<DataType> {
        Ok(DataType::Int64)
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let rows = arguments.number_rows;
        let [part, from, to] = arguments.args.as_slice() else {
            return plan_err!("date_diff takes a part and two times");
        };
        let ColumnarValue::Scalar(ScalarValue::Utf8(Some(part))) = part else {
            return plan_err!("the part of date_diff must be a text, such as 'day'");
        };
        let part = Part::parse(part).ok_or_else(|| {
            DataFusionError::Execution(format!(
                "date_diff: {part:?} is not year, quarter, month, week, day, hour, minute, second, millisecond or \
                 microsecond"
            ))
        })?;
        let (from, to) = (
            cast(&from.to_array(rows)?, &MOMENT)?,
            cast(&to.to_array(rows)?, &MOMENT)?,
        );
        let (from, to) = (
            from.as_primitive::<TimestampMicrosecondType>(),
            to.as_primitive::<TimestampMicrosecondType>(),
        );
        let between = |row: usize| {
            let known = from.is_valid(row) && to.is_valid(row);
            let value = |at: i64| part.number(at);
            known.then(|| Some(value(to.value(row))? - value(from.value(row))?))?
        };
        let counts: Int64Array = (0..rows).map(between).collect();
        Ok(ColumnarValue::Array(Arc::new(counts)))
    }
}
