//! The project's own SQL functions, implemented with the same kernels as the engine.

use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Float64Array, PrimitiveArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type};
use datafusion::common::ScalarValue;
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::{ColumnarValue, ScalarUDF, Volatility, create_udf};

use toise_contract::filter::LayerTest;
use toise_geo::area::Area;
use toise_geo::distance::planar_distance_m;

static GEO_DISTANCE: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
    let types = vec![DataType::Float64; 4];
    let distances = |arguments: &[ColumnarValue]| -> Result<ArrayRef> {
        let [pin_lat, pin_lon, lat, lon] = numbers(arguments)?;
        let distances: Float64Array = (0..rows(arguments))
            .map(|row| {
                let pin = (pin_lat.at(row)?, pin_lon.at(row)?);
                let (lat, lon) = (lat.at(row)?, lon.at(row)?);
                Some(planar_distance_m(pin.0, pin.1, lat, lon))
            })
            .collect();
        Ok(Arc::new(distances))
    };
    Arc::new(function(
        "geo_distance",
        types,
        DataType::Float64,
        distances,
    ))
});

/// Returns the function `geo_distance(pin_lat, pin_lon, lat, lon)`: planar distance in metres from a pin; null if a
/// coordinate is null.
pub fn geo_distance() -> &'static Arc<ScalarUDF> {
    &GEO_DISTANCE
}

static IN_AREA: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
    let types = vec![DataType::Float64, DataType::Float64, DataType::Utf8];
    let last = LastArea::default();
    let inside = move |arguments: &[ColumnarValue]| -> Result<ArrayRef> {
        let [.., ColumnarValue::Scalar(ScalarValue::Utf8(text))] = arguments else {
            let reason = "in_area: the area must be a constant text".to_owned();
            return Err(DataFusionError::Execution(reason));
        };
        let Some(text) = text else {
            return Ok(Arc::new(BooleanArray::new_null(rows(arguments))));
        };
        let area = last.area(text)?;
        let [lat, lon] = numbers(&arguments[..2])?;
        let inside: BooleanArray = (0..rows(arguments))
            .map(|row| Some(area.contains(lat.at(row)?, lon.at(row)?)))
            .collect();
        Ok(Arc::new(inside))
    };
    Arc::new(function("in_area", types, DataType::Boolean, inside))
});

/// Returns the function `in_area(lat, lon, geojson)`: whether a position is in an area, border included; null if a
/// coordinate is null. The area is the text of a GeoJSON Polygon or MultiPolygon, the same for all rows.
pub fn in_area() -> &'static Arc<ScalarUDF> {
    &IN_AREA
}

/// The area of the last call with its text: a query calls once per batch.
#[derive(Default)]
struct LastArea(Mutex<Option<(String, Arc<Area>)>>);

impl LastArea {
    fn area(&self, text: &str) -> Result<Arc<Area>> {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
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

/// Returns the function `in_layer(lat, lon)` for a resolved test: whether a position satisfies the test; null if a
/// coordinate is null.
pub fn in_layer(test: &LayerTest) -> ScalarUDF {
    let test = test.clone();
    let holding = move |arguments: &[ColumnarValue]| -> Result<ArrayRef> {
        let [lat, lon] = numbers(arguments)?;
        let holds: BooleanArray = (0..rows(arguments))
            .map(|row| Some(test.holds(lat.at(row)?, lon.at(row)?)))
            .collect();
        Ok(Arc::new(holds))
    };
    let types = vec![DataType::Float64; 2];
    function("in_layer", types, DataType::Boolean, holding)
}

/// Makes a function that returns one value for each of its [`rows`].
fn function(
    name: &str,
    types: Vec<DataType>,
    returned: DataType,
    run: impl Fn(&[ColumnarValue]) -> Result<ArrayRef> + Send + Sync + 'static,
) -> ScalarUDF {
    let run = move |arguments: &[ColumnarValue]| -> Result<ColumnarValue> {
        Ok(ColumnarValue::Array(run(arguments)?))
    };
    create_udf(name, types, returned, Volatility::Immutable, Arc::new(run))
}

/// Returns the number of rows of a call; one if all arguments are constants.
fn rows(arguments: &[ColumnarValue]) -> usize {
    let mut lengths = arguments.iter().filter_map(|argument| match argument {
        ColumnarValue::Array(array) => Some(array.len()),
        ColumnarValue::Scalar(_) => None,
    });
    lengths.next().unwrap_or(1)
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
