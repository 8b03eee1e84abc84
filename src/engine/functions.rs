//! The project's own SQL functions, implemented with the same kernels as the engine.

use std::sync::{Arc, LazyLock};

use arrow::array::{ArrayRef, AsArray, Float64Array, PrimitiveArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type};
use datafusion::error::Result;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use toise_geo::distance::planar_distance_m;

static GEO_DISTANCE: LazyLock<Arc<ScalarUDF>> =
    LazyLock::new(|| Arc::new(ScalarUDF::from(GeoDistance::new())));

/// Returns the function `geo_distance(pin_lat, pin_lon, lat, lon)`: planar distance in metres from a pin; null if a
/// coordinate is null.
pub fn geo_distance() -> &'static Arc<ScalarUDF> {
    &GEO_DISTANCE
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct GeoDistance {
    signature: Signature,
}

impl GeoDistance {
    fn new() -> Self {
        Self {
            signature: Signature::exact(vec![DataType::Float64; 4], Volatility::Immutable),
        }
    }
}

impl ScalarUDFImpl for GeoDistance {
    fn name(&self) -> &str {
        "geo_distance"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arguments: &[DataType]) -> Result<DataType> {
        Ok(DataType::Float64)
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let rows = arguments.number_rows;
        let [pin_lat, pin_lon, lat, lon] = numbers(&arguments.args, rows)?;
        let distances: Float64Array = (0..rows)
            .map(|row| {
                let at = |column: &Operand| column.at(row);
                Some(planar_distance_m(
                    at(&pin_lat)?,
                    at(&pin_lon)?,
                    at(&lat)?,
                    at(&lon)?,
                ))
            })
            .collect();
        Ok(ColumnarValue::Array(Arc::new(distances)))
    }
}

/// A numeric argument: one value for all rows, or one per row.
enum Operand {
    Same(Option<f64>),
    Each(PrimitiveArray<Float64Type>),
}

impl Operand {
    fn at(&self, row: usize) -> Option<f64> {
        match self {
            Operand::Same(value) => *value,
            Operand::Each(values) => {
                use arrow::array::Array;
                values.is_valid(row).then(|| values.value(row))
            }
        }
    }
}

fn numbers<const N: usize>(arguments: &[ColumnarValue], rows: usize) -> Result<[Operand; N]> {
    let mut operands = Vec::with_capacity(N);
    for argument in arguments {
        operands.push(match argument {
            ColumnarValue::Scalar(value) => {
                let array = cast(&value.to_array()?, &DataType::Float64)?;
                let array = array.as_primitive::<Float64Type>();
                Operand::Same(array.iter().next().flatten())
            }
            ColumnarValue::Array(_) => {
                let array: ArrayRef = argument.to_array(rows)?;
                Operand::Each(
                    cast(&array, &DataType::Float64)?
                        .as_primitive::<Float64Type>()
                        .clone(),
                )
            }
        });
    }
    operands.try_into().map_err(|_| {
        datafusion::error::DataFusionError::Plan(format!("expected {N} numeric arguments"))
    })
}
