//! The values of a query's placeholders: `$1`, `?` or `$name`.

use datafusion::common::ParamValues;
use datafusion::common::metadata::ScalarAndMetadata;
use datafusion::scalar::ScalarValue;
use serde_json::Value;

use crate::SqlError;
use crate::text::TEXT_BYTES_MAX;

/// Maximum parameters of a query.
pub const PARAMETERS_MAX: usize = 1_000;
/// Maximum bytes of all parameters of a query: the same limit as for a query's text, which could contain them.
pub const PARAMETERS_BYTES_MAX: usize = TEXT_BYTES_MAX;

/// Reads parameters from JSON: an array for `$1` and `?`, an object for `$name`.
///
/// # Errors
/// There are too many or they are too long, or one is an array or an object.
pub fn from_json(parameters: &Value) -> Result<ParamValues, SqlError> {
    let too_many = || SqlError::invalid(format!("at most {PARAMETERS_MAX} parameters"));
    let values = match parameters {
        Value::Array(values) if values.len() <= PARAMETERS_MAX => {
            let values = values.iter().map(scalar);
            ParamValues::List(values.collect::<Result<_, _>>()?)
        }
        Value::Object(values) if values.len() <= PARAMETERS_MAX => {
            let values = values
                .iter()
                .map(|(name, value)| Ok((name.clone(), scalar(value)?)));
            ParamValues::Map(values.collect::<Result<_, SqlError>>()?)
        }
        Value::Array(_) | Value::Object(_) => return Err(too_many()),
        _ => {
            return Err(SqlError::invalid(
                "parameters: must be an array or an object",
            ));
        }
    };
    checked(values)
}

/// Checks that the parameters together do not exceed [`PARAMETERS_BYTES_MAX`].
///
/// # Errors
/// They are too long.
pub fn checked(values: ParamValues) -> Result<ParamValues, SqlError> {
    if bytes(&values) > PARAMETERS_BYTES_MAX {
        Err(SqlError::invalid(format!(
            "parameters: must have at most {PARAMETERS_BYTES_MAX} bytes together"
        )))
    } else {
        Ok(values)
    }
}

/// Returns the bytes of all parameters in memory.
pub fn bytes(values: &ParamValues) -> usize {
    match values {
        ParamValues::List(values) => values.iter().map(|value| value.value().size()).sum(),
        ParamValues::Map(values) => {
            let values = values.iter();
            values
                .map(|(name, value)| name.len() + value.value().size())
                .sum()
        }
    }
}

fn scalar(value: &Value) -> Result<ScalarAndMetadata, SqlError> {
    let scalar = match value {
        Value::Null => ScalarValue::Null,
        Value::Bool(flag) => ScalarValue::from(*flag),
        Value::String(text) => ScalarValue::from(text.as_str()),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => ScalarValue::from(whole),
            None => ScalarValue::from(number.as_f64()),
        },
        Value::Array(_) | Value::Object(_) => {
            return Err(SqlError::invalid(
                "parameters: must be texts, numbers, booleans or null",
            ));
        }
    };
    Ok(ScalarAndMetadata::from(scalar))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn parameters_are_bounded_in_number_and_bytes() {
        assert!(from_json(&json!(["a", 1, null])).is_ok());
        assert!(from_json(&json!({"a": "x".repeat(200_000)})).is_ok());
        for refused in [
            json!(vec![1; PARAMETERS_MAX + 1]),
            json!(["x".repeat(PARAMETERS_BYTES_MAX)]),
            json!([
                "x".repeat(100_000),
                "y".repeat(100_000),
                "z".repeat(100_000)
            ]),
            json!("x"),
        ] {
            assert!(from_json(&refused).is_err());
        }
    }
}
