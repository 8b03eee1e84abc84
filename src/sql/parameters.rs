//! The values of a query's placeholders: `$1`, `?` or `$name`.

use datafusion::common::ParamValues;
use datafusion::common::metadata::ScalarAndMetadata;
use datafusion::scalar::ScalarValue;
use serde_json::Value;

use crate::SqlError;

/// Maximum parameters of a query.
pub const PARAMETERS_MAX: usize = 1_000;

/// Reads parameters from JSON: an array for `$1` and `?`, an object for `$name`.
///
/// # Errors
/// There are too many, or one is an array or an object.
pub fn from_json(parameters: &Value) -> Result<ParamValues, SqlError> {
    let too_many = || SqlError::invalid(format!("at most {PARAMETERS_MAX} parameters"));
    match parameters {
        Value::Array(values) if values.len() <= PARAMETERS_MAX => {
            let values = values.iter().map(scalar);
            Ok(ParamValues::List(values.collect::<Result<_, _>>()?))
        }
        Value::Object(values) if values.len() <= PARAMETERS_MAX => {
            let values = values
                .iter()
                .map(|(name, value)| Ok((name.clone(), scalar(value)?)));
            Ok(ParamValues::Map(values.collect::<Result<_, SqlError>>()?))
        }
        Value::Array(_) | Value::Object(_) => Err(too_many()),
        _ => Err(SqlError::invalid(
            "parameters: must be an array or an object",
        )),
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
