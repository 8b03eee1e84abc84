//! The project's own SQL functions, implemented with the same kernels as the engine.

use std::hash::{Hash, Hasher};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use arrow::array::{Array, AsArray, BooleanArray, Float64Array, PrimitiveArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type};
use datafusion::common::ScalarValue;
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use toise_contract::filter::LayerTest;
use toise_geo::area::Area;
use toise_geo::distance::planar_distance_m;

static GEO_DISTANCE: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
    let signature = Signature::exact(vec![DataType::Float64; 4], Volatility::Immutable);
    Arc::new(ScalarUDF::from(GeoDistance { signature }))
});

/// Returns the function `geo_distance(pin_lat, pin_lon, lat, lon)`: planar distance in metres from a pin; null if a
/// coordinate is null.
pub fn geo_distance() -> &'static Arc<ScalarUDF> {
    &GEO_DISTANCE
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct GeoDistance {
    signature: Signature,
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
        let [pin_lat, pin_lon, lat, lon] = numbers(&arguments.args)?;
        let distances: Float64Array = (0..rows)
            .map(|row| {
                let pin = (pin_lat.at(row)?, pin_lon.at(row)?);
                let (lat, lon) = (lat.at(row)?, lon.at(row)?);
                Some(planar_distance_m(pin.0, pin.1, lat, lon))
            })
            .collect();
        Ok(ColumnarValue::Array(Arc::new(distances)))
    }
}

static IN_AREA: LazyLock<Arc<ScalarUDF>> =
    LazyLock::new(|| Arc::new(ScalarUDF::from(InArea::new())));

/// Returns the function `in_area(lat, lon, geojson)`: whether a position is in an area, border included; null if a
/// coordinate is null. The area is the text of a GeoJSON Polygon or MultiPolygon, the same for all rows.
pub fn in_area() -> &'static Arc<ScalarUDF> {
    &IN_AREA
}

#[derive(Debug)]
struct InArea {
    signature: Signature,
    /// The area of the last call with its text: a query calls once per batch.
    last: Mutex<Option<(String, Arc<Area>)>>,
}

impl InArea {
    fn new() -> Self {
        let types = vec![DataType::Float64, DataType::Float64, DataType::Utf8];
        Self {
            signature: Signature::exact(types, Volatility::Immutable),
            last: Mutex::new(None),
        }
    }

    fn area(&self, text: &str) -> Result<Arc<Area>> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, area)) = &*last
            && known == text
        {
            return Ok(Arc::clone(area));
        }
        let area = Area::parse(text)
            .map_err(|fault| DataFusionError::Execution(format!("in_area: {fault}")))?;
        let area = Arc::new(area);
        *last = Some((text.to_owned(), Arc::clone(&area)));
        Ok(area)
    }
}

impl PartialEq for InArea {
    fn eq(&self, other: &Self) -> bool {
        self.signature == other.signature
    }
}

impl Eq for InArea {}

impl Hash for InArea {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.signature.hash(state);
    }
}

impl ScalarUDFImpl for InArea {
    fn name(&self) -> &str {
        "in_area"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arguments: &[DataType]) -> Result<DataType> {
        Ok(DataType::Boolean)
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let rows = arguments.number_rows;
        let [.., ColumnarValue::Scalar(ScalarValue::Utf8(text))] = arguments.args.as_slice() else {
            let reason = "in_area: the area must be a constant text".to_owned();
            return Err(DataFusionError::Execution(reason));
        };
        let Some(text) = text else {
            return Ok(ColumnarValue::Scalar(ScalarValue::Boolean(None)));
        };
        let area = self.area(text)?;
        let [lat, lon] = numbers(&arguments.args[..2])?;
        let inside: BooleanArray = (0..rows)
            .map(|row| Some(area.contains(lat.at(row)?, lon.at(row)?)))
            .collect();
        Ok(ColumnarValue::Array(Arc::new(inside)))
    }
}

/// Returns the function `in_layer(lat, lon)` for a resolved test: whether a position satisfies the test; null if a
/// coordinate is null.
pub fn in_layer(test: &LayerTest) -> ScalarUDF {
    ScalarUDF::from(InLayer {
        test: test.clone(),
        signature: Signature::exact(vec![DataType::Float64; 2], Volatility::Immutable),
    })
}

#[derive(Debug, PartialEq)]
struct InLayer {
    test: LayerTest,
    signature: Signature,
}

impl Eq for InLayer {}

impl Hash for InLayer {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.test.name.hash(state);
    }
}

impl ScalarUDFImpl for InLayer {
    fn name(&self) -> &str {
        "in_layer"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arguments: &[DataType]) -> Result<DataType> {
        Ok(DataType::Boolean)
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let rows = arguments.number_rows;
        let [lat, lon] = numbers(&arguments.args)?;
        let holds: BooleanArray = (0..rows)
            .map(|row| Some(self.test.holds(lat.at(row)?, lon.at(row)?)))
            .collect();
        Ok(ColumnarValue::Array(Arc::new(holds)))
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
            Operand::Each(values) => values.is_valid(row).then(|| values.value(row)),
        }
    }
}

fn numbers<const N: usize>(arguments: &[ColumnarValue]) -> Result<[Operand; N]> {
    let mut operands = Vec::with_capacity(N);
    for argument in arguments {
        operands.push(match argument {
            ColumnarValue::Scalar(value) => {
                let array = cast(&value.to_array()?, &DataType::Float64)?;
                let array = array.as_primitive::<Float64Type>();
                Operand::Same(array.iter().next().flatten())
            }
            ColumnarValue::Array(array) => {
                let array = cast(array, &DataType::Float64)?;
                Operand::Each(array.as_primitive::<Float64Type>().clone())
            }
        });
    }
    operands
        .try_into()
        .map_err(|_| DataFusionError::Plan(format!("expected {N} numeric arguments")))
}
