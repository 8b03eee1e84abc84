//! SQL scalar functions that estimate prices, with the same results as the routes and the bulk command.
//!
//! `estimate_price(longitude, latitude, type, surface_m2, …)` returns the price; `estimate(…)` returns a struct with
//! the columns of a bulk result. The optional arguments are the columns of a portfolio in their order; trailing ones
//! may be omitted, and null means unknown. Arguments are parsed like the rows of a portfolio: an invalid row has a null
//! price, and the struct contains an error.

use std::fmt;
use std::path::Path;
use std::sync::{Arc, LazyLock, OnceLock};

use arrow::array::{
    Array, ArrayRef, AsArray, Float64Builder, StringArray, StringBuilder, StructArray,
};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field as Column, Fields};
use chrono::NaiveDate;
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::ptr_eq::PtrEq;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use rayon::iter::{IntoParallelIterator, ParallelIterator};

use super::live::LiveModel;
use super::store::FOLDER;
use super::valuer::{Adjustments, Valuer};
use super::{Detail, Estimate, EstimateWarning, Model};
use crate::request::fields::{HomeField, REQUIRED_COLUMNS, columns};
use crate::request::parse_cells;

/// The error of a query when there is no model.
const NO_MODEL: &str = "no model to estimate with: train one with `toise train`";

/// Columns of the struct.
static ANSWER: LazyLock<Fields> = LazyLock::new(|| {
    Fields::from(vec![
        Column::new("price", DataType::Float64, true),
        Column::new("lower", DataType::Float64, true),
        Column::new("upper", DataType::Float64, true),
        Column::new("confidence", DataType::Utf8, true),
        Column::new("fallback", DataType::Utf8, true),
        Column::new("warning", DataType::Utf8, true),
        Column::new("error", DataType::Utf8, true),
    ])
});

/// Returns the functions for the model of a data folder; the first query that calls one opens the model.
pub fn scalar_functions(data: &Path, adjustments: Adjustments, today: NaiveDate) -> Vec<ScalarUDF> {
    let folder = data.join(FOLDER);
    functions_from(
        move || {
            let model = Model::open(&folder).map_err(|error| error.to_string())?;
            Ok(Arc::new(Valuer::new(Arc::new(model), adjustments)))
        },
        today,
    )
}

/// Returns the functions for the model that `open` returns; the first query that calls one runs `open`.
pub fn functions_from(
    open: impl Fn() -> std::result::Result<Arc<Valuer>, String> + Send + Sync + 'static,
    today: NaiveDate,
) -> Vec<ScalarUDF> {
    over(ValuerSource {
        open: Box::new(open),
        today,
        valuer: OnceLock::new(),
    })
}

/// Returns the functions for the model that a server uses now; they fail if it has none.
pub fn live_functions(models: &LiveModel, today: NaiveDate) -> Vec<ScalarUDF> {
    let valuer = models.valuer().ok_or_else(|| NO_MODEL.to_owned());
    functions_from(move || valuer.clone(), today)
}

fn over(source: ValuerSource) -> Vec<ScalarUDF> {
    let source = Arc::new(source);
    [FunctionOutput::Price, FunctionOutput::Struct]
        .into_iter()
        .map(|gives| ScalarUDF::from(EstimateFunction::new(gives, Arc::clone(&source))))
        .collect()
}

/// A model with its options, or the reason there is none.
type OpenValuer = std::result::Result<Arc<Valuer>, String>;

/// A model that is opened on first use.
struct ValuerSource {
    open: Box<dyn Fn() -> OpenValuer + Send + Sync>,
    today: NaiveDate,
    valuer: OnceLock<OpenValuer>,
}

impl fmt::Debug for ValuerSource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ValuerSource")
            .field("today", &self.today)
            .finish_non_exhaustive()
    }
}

impl ValuerSource {
    fn valuer(&self) -> Result<&Valuer> {
        let opened = self.valuer.get_or_init(&self.open);
        opened
            .as_deref()
            .map_err(|error| DataFusionError::Execution(error.clone()))
    }
}

/// Which of the two results a function returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum FunctionOutput {
    Price,
    Struct,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct EstimateFunction {
    gives: FunctionOutput,
    source: PtrEq<Arc<ValuerSource>>,
    signature: Signature,
}

impl EstimateFunction {
    fn new(gives: FunctionOutput, source: Arc<ValuerSource>) -> Self {
        Self {
            gives,
            source: source.into(),
            // Arguments of any type are read as text, so only their number is checked.
            signature: Signature::user_defined(Volatility::Stable),
        }
    }
}

impl ScalarUDFImpl for EstimateFunction {
    fn name(&self) -> &str {
        match self.gives {
            FunctionOutput::Price => "estimate_price",
            FunctionOutput::Struct => "estimate",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let (least, most) = (REQUIRED_COLUMNS.len(), columns().count());
        if (least..=most).contains(&types.len()) {
            return Ok(types.to_vec());
        }
        let names: Vec<&str> = columns().map(|field| field.column).collect();
        Err(DataFusionError::Plan(format!(
            "{} takes {least} to {most} arguments, in this order: {}",
            self.name(),
            names.join(", ")
        )))
    }

    fn return_type(&self, _arguments: &[DataType]) -> Result<DataType> {
        Ok(match self.gives {
            FunctionOutput::Price => DataType::Float64,
            FunctionOutput::Struct => DataType::Struct(ANSWER.clone()),
        })
    }

    fn invoke_with_args(&self, given: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let valuer = self.source.valuer()?;
        let rows = given.number_rows;
        let mut arguments: Vec<(&'static HomeField, StringArray)> =
            Vec::with_capacity(given.args.len());
        for (value, field) in given.args.iter().zip(columns()) {
            let texts = cast(&value.to_array(rows)?, &DataType::Utf8)?;
            arguments.push((field, texts.as_string::<i32>().clone()));
        }
        let value = |row: usize| -> std::result::Result<Estimate, String> {
            let said = arguments.iter().filter(|(_, texts)| texts.is_valid(row));
            let cells = said.map(|(field, texts)| (*field, texts.value(row)));
            let home =
                parse_cells(cells, None, self.source.today).map_err(|fault| fault.to_string())?;
            let estimate = valuer.value(&home, Detail::default());
            estimate.map_err(|error| error.to_string())
        };
        let estimates: Vec<_> = (0..rows).into_par_iter().map(value).collect();
        Ok(ColumnarValue::Array(match self.gives {
            FunctionOutput::Price => {
                let prices = estimates
                    .iter()
                    .map(|found| found.as_ref().ok().map(|found| found.price));
                Arc::new(prices.collect::<arrow::array::Float64Array>())
            }
            FunctionOutput::Struct => answer(&estimates)?,
        }))
    }
}

fn answer(estimates: &[std::result::Result<Estimate, String>]) -> Result<ArrayRef> {
    let mut euros: [Float64Builder; 3] = Default::default();
    let mut texts: [StringBuilder; 4] = Default::default();
    for found in estimates {
        let found_euros = match found {
            Ok(found) => [found.price, found.lower, found.upper].map(Some),
            Err(_) => [None; 3],
        };
        let found_texts = match found {
            Ok(found) => [
                Some(found.confidence.as_str()),
                Some(found.fallback.as_str()),
                found.warning.map(EstimateWarning::as_str),
                None,
            ],
            Err(error) => [None, None, None, Some(error.as_str())],
        };
        for (column, eur) in euros.iter_mut().zip(found_euros) {
            column.append_option(eur);
        }
        for (column, text) in texts.iter_mut().zip(found_texts) {
            column.append_option(text);
        }
    }
    let euros = euros
        .iter_mut()
        .map(|column| Arc::new(column.finish()) as ArrayRef);
    let texts = texts
        .iter_mut()
        .map(|column| Arc::new(column.finish()) as ArrayRef);
    let columns = euros.chain(texts).collect();
    Ok(Arc::new(StructArray::try_new(
        ANSWER.clone(),
        columns,
        None,
    )?))
}
