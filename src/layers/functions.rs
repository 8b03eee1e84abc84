//! Provides SQL functions over layers: `within(lon, lat, 'layer')`, `nearest(lon, lat, 'layer')` and `distance_to(lon,
//! lat, 'layer')`. They return null if an argument is null.

use std::hash::{Hash, Hasher};
use std::sync::{Arc, LazyLock};

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Float64Array, Int64Array, StructArray};
use arrow::buffer::NullBuffer;
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Fields, Float64Type};
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use crate::index::{LayerIndex, Nearest};
use crate::live::Layers;

static NEAREST: LazyLock<Fields> = LazyLock::new(|| {
    Fields::from(vec![
        Field::new("feature", DataType::Int64, true),
        Field::new("distance_m", DataType::Float64, true),
    ])
});

/// Returns the functions over the layers of a data folder.
pub fn scalar_functions(layers: &Layers) -> Vec<ScalarUDF> {
    let function = |relation| {
        ScalarUDF::from(LayerFunction {
            relation,
            layers: layers.clone(),
            signature: Signature::user_defined(Volatility::Stable),
        })
    };
    [Relation::Within, Relation::Nearest, Relation::Distance]
        .map(function)
        .into()
}

/// The relation of a position to a layer that a function computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Relation {
    Within,
    Nearest,
    Distance,
}

#[derive(Debug)]
struct LayerFunction {
    relation: Relation,
    layers: Layers,
    signature: Signature,
}

impl PartialEq for LayerFunction {
    fn eq(&self, other: &Self) -> bool {
        self.relation == other.relation && self.layers.data() == other.layers.data()
    }
}

impl Eq for LayerFunction {}

impl Hash for LayerFunction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.relation.hash(state);
    }
}

impl LayerFunction {
    /// Calls `compute` with the layer and position of each row; a row with a null argument gives `None`.
    fn rows<T>(
        &self,
        arguments: &[ArrayRef],
        compute: impl Fn(&LayerIndex, f64, f64) -> T,
    ) -> Result<Vec<Option<T>>> {
        let [lon, lat] = [0, 1].map(|at| arguments[at].as_primitive::<Float64Type>());
        let names = arguments[2].as_string::<i32>();
        let mut open: Option<(&str, Arc<LayerIndex>)> = None;
        let mut answers = Vec::with_capacity(names.len());
        for row in 0..names.len() {
            if lon.is_null(row) || lat.is_null(row) || names.is_null(row) {
                answers.push(None);
                continue;
            }
            let name = names.value(row);
            let index = match &open {
                Some((known, index)) if *known == name => index,
                _ => {
                    let index = self.layers.index(name)?;
                    &open.insert((name, index)).1
                }
            };
            answers.push(Some(compute(index, lat.value(row), lon.value(row))));
        }
        Ok(answers)
    }
}

impl ScalarUDFImpl for LayerFunction {
    fn name(&self) -> &str {
        match self.relation {
            Relation::Within => "within",
            Relation::Nearest => "nearest",
            Relation::Distance => "distance_to",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        if types.len() == 3 {
            return Ok(vec![DataType::Float64, DataType::Float64, DataType::Utf8]);
        }
        let name = self.name();
        Err(DataFusionError::Plan(format!(
            "use {name}(lon, lat, 'layer')"
        )))
    }

    fn return_type(&self, _arguments: &[DataType]) -> Result<DataType> {
        Ok(match self.relation {
            Relation::Within => DataType::Boolean,
            Relation::Nearest => DataType::Struct(NEAREST.clone()),
            Relation::Distance => DataType::Float64,
        })
    }

    fn invoke_with_args(&self, given: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let rows = given.number_rows;
        let kinds = [DataType::Float64, DataType::Float64, DataType::Utf8];
        let mut arguments = Vec::with_capacity(kinds.len());
        for (value, kind) in given.args.iter().zip(kinds) {
            arguments.push(cast(&value.to_array(rows)?, &kind)?);
        }
        let nearest = |index: &LayerIndex, lat: f64, lon: f64| index.nearest(lat, lon);
        let answers: ArrayRef = match self.relation {
            Relation::Within => {
                let inside = self.rows(&arguments, |index, lat, lon| index.contains(lat, lon))?;
                Arc::new(BooleanArray::from(inside))
            }
            Relation::Nearest => structs(&self.rows(&arguments, nearest)?),
            Relation::Distance => {
                let found = self.rows(&arguments, nearest)?.into_iter();
                let metres = found.map(|found| found.flatten().map(|found| found.distance_m));
                Arc::new(metres.collect::<Float64Array>())
            }
        };
        Ok(ColumnarValue::Array(answers))
    }
}

fn structs(found: &[Option<Option<Nearest>>]) -> ArrayRef {
    let found: Vec<Option<Nearest>> = found.iter().map(|found| found.flatten()).collect();
    let features = found.iter().map(|found| found.map(|found| found.feature));
    let metres = found
        .iter()
        .map(|found| found.map(|found| found.distance_m));
    let columns: Vec<ArrayRef> = vec![
        Arc::new(features.collect::<Int64Array>()),
        Arc::new(metres.collect::<Float64Array>()),
    ];
    let nulls = found.iter().map(Option::is_some).collect::<NullBuffer>();
    Arc::new(StructArray::new(NEAREST.clone(), columns, Some(nulls)))
}
