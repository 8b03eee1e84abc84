//! `year(d)`, `month(d)` and the like: the parts of a date or time by name, as `date_part` returns them.

use arrow::array::ArrayRef;
use arrow::compute::cast;
use arrow::datatypes::{DataType, TimeUnit};
use datafusion::error::Result;
use datafusion::functions::datetime::date_part;
use datafusion::logical_expr::preimage::PreimageResult;
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility, lit,
};
use datafusion::scalar::ScalarValue;

/// Names of the functions, each with the part's name in `date_part`.
#[rustfmt::skip]
const PARTS: [(&str, &str); 14] = [
    ("year", "year"), ("isoyear", "isoyear"), ("quarter", "quarter"), ("month", "month"), ("week", "week"),
    ("weekofyear", "week"), ("day", "day"), ("dayofmonth", "day"), ("dayofyear", "doy"), ("dayofweek", "dow"),
    ("isodow", "isodow"), ("hour", "hour"), ("minute", "minute"), ("second", "second"),
];
/// The part that is a number with fractions: seconds since 1970.
const EPOCH: (&str, &str) = ("epoch", "epoch");

/// Returns the functions.
pub fn functions() -> Vec<ScalarUDF> {
    let parts = PARTS.iter().chain([&EPOCH]);
    parts
        .map(|(name, part)| ScalarUDF::from(DatePart::new(name, part)))
        .collect()
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct DatePart {
    name: &'static str,
    part: &'static str,
    signature: Signature,
}

impl DatePart {
    fn new(name: &'static str, part: &'static str) -> Self {
        Self {
            name,
            part,
            signature: Signature::user_defined(Volatility::Immutable),
        }
    }
}

impl ScalarUDFImpl for DatePart {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    /// Converts texts to timestamps.
    fn coerce_types(&self, given: &[DataType]) -> Result<Vec<DataType>> {
        let [given] = given else {
            return datafusion::common::plan_err!("{} takes one date or time", self.name);
        };
        Ok(vec![match given {
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Null => {
                DataType::Timestamp(TimeUnit::Nanosecond, None)
            }
            other => other.clone(),
        }])
    }

    fn return_type(&self, _arguments: &[DataType]) -> Result<DataType> {
        Ok(if self.name == EPOCH.0 {
            DataType::Float64
        } else {
            DataType::Int32
        })
    }

    fn invoke_with_args(&self, mut arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let part = ScalarValue::from(self.part);
        arguments.args.insert(0, ColumnarValue::Scalar(part));
        let wanted = arguments.return_type().clone();
        match date_part().invoke_with_args(arguments)? {
            ColumnarValue::Array(array) if *array.data_type() != wanted => {
                let array: ArrayRef = cast(&array, &wanted)?;
                Ok(ColumnarValue::Array(array))
            }
            found => Ok(found),
        }
    }

    /// Rewrites `year(d) = 2024` to a range of `d`, so that pages are skipped.
    fn preimage(
        &self,
        arguments: &[Expr],
        value: &Expr,
        context: &SimplifyContext,
    ) -> Result<PreimageResult> {
        let mut arguments = arguments.to_vec();
        arguments.insert(0, lit(self.part));
        date_part().preimage(&arguments, value, context)
    }
}
