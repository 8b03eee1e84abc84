//! `len(x)`: the characters of a text or the items of a list.

use std::sync::Arc;

use arrow::compute::cast;
use arrow::datatypes::{DataType, Field};
use datafusion::common::plan_err;
use datafusion::error::Result;
use datafusion::functions::unicode::character_length;
use datafusion::functions_nested::length::array_length_udf;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

/// Returns the function.
pub(super) fn len() -> ScalarUDF {
    ScalarUDF::from(Len {
        signature: Signature::any(1, Volatility::Immutable),
    })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Len {
    signature: Signature,
}

impl ScalarUDFImpl for Len {
    fn name(&self) -> &str {
        "len"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, given: &[DataType]) -> Result<DataType> {
        match given {
            [
                DataType::Utf8
                | DataType::LargeUtf8
                | DataType::Utf8View
                | DataType::List(_)
                | DataType::LargeList(_)
                | DataType::FixedSizeList(..),
            ] => Ok(DataType::Int64),
            _ => plan_err!("len takes a text or a list"),
        }
    }

    fn invoke_with_args(&self, mut arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let given: Vec<DataType> = arguments
            .args
            .iter()
            .map(ColumnarValue::data_type)
            .collect();
        let inner = if given.iter().any(DataType::is_nested) {
            array_length_udf()
        } else {
            character_length()
        };
        let returned = inner.return_type(&given)?;
        arguments.return_field = Arc::new(Field::new(self.name(), returned, true));
        let found = inner.invoke_with_args(arguments)?;
        match found {
            ColumnarValue::Array(array) => {
                Ok(ColumnarValue::Array(cast(&array, &DataType::Int64)?))
            }
            ColumnarValue::Scalar(scalar) => {
                Ok(ColumnarValue::Scalar(scalar.cast_to(&DataType::Int64)?))
            }
        }
    }
}
