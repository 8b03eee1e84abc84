//! `regexp_extract(text, pattern [, group])`: the part of a text that matches a pattern or one of its groups; empty if
//! nothing does, as in DuckDB.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, StringBuilder};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int64Type};
use datafusion::common::plan_err;
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::scalar::ScalarValue;
use regex::Regex;

/// Returns the function.
pub fn regexp_extract() -> ScalarUDF {
    ScalarUDF::from(RegexpExtract {
        signature: Signature::user_defined(Volatility::Immutable),
    })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct RegexpExtract {
    signature: Signature,
}

impl ScalarUDFImpl for RegexpExtract {
    fn name(&self) -> &str {
        "regexp_extract"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, given: &[DataType]) -> Result<Vec<DataType>> {
        let taken = [DataType::Utf8, DataType::Utf8, DataType::Int64];
        match given.len() {
            count @ 2..=3 => Ok(taken[..count].to_vec()),
            _ => plan_err!("regexp_extract takes a text, a pattern and the number of a group"),
        }
    }

    fn return_type(&self, _arguments: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let rows = arguments.number_rows;
        let Some(ColumnarValue::Scalar(ScalarValue::Utf8(pattern))) = arguments.args.get(1) else {
            return plan_err!("the pattern of regexp_extract must be a constant text");
        };
        let texts: ArrayRef = cast(&arguments.args[0].to_array(rows)?, &DataType::Utf8)?;
        let texts = texts.as_string::<i32>();
        let mut found = StringBuilder::new();
        let Some(pattern) = pattern else {
            (0..rows).for_each(|_| found.append_null());
            return Ok(ColumnarValue::Array(Arc::new(found.finish())));
        };
        let pattern = compile(pattern)?;
        let group = match arguments.args.get(2) {
            None => 0,
            Some(group) => {
                let group = group.to_array(1)?;
                let group = group.as_primitive::<Int64Type>();
                usize::try_from(group.value(0)).unwrap_or(usize::MAX)
            }
        };
        for row in 0..rows {
            if texts.is_valid(row) {
                let captures = pattern.captures(texts.value(row));
                let part = captures.as_ref().and_then(|captures| captures.get(group));
                found.append_value(part.map_or("", |part| part.as_str()));
            } else {
                found.append_null()
            }
        }
        Ok(ColumnarValue::Array(Arc::new(found.finish())))
    }
}

fn compile(pattern: &str) -> Result<Regex> {
    let built = Regex::new(pattern);
    built.map_err(|error| DataFusionError::Execution(format!("regexp_extract: {error}")))
}
