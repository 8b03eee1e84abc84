//! Match scores as SQL scalar functions, bit-identical to those of the endpoint.
//!
//! `dpe_match_score(body, …)` and `dvf_match_score(body, …)` take a match body as JSON text, then the record's values
//! in the order of the score table, then surface, latitude and longitude. The body is validated as at the endpoint,
//! once per batch if it is constant. Its filters do not restrict the rows: they only add to the score how near a row
//! is. Use `where` to restrict the rows.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Float64Array, StringArray};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use super::Dataset;
use super::score::{Measure, rules, surface_column};
use super::scorer::Scorer;
use crate::request::address::ADDRESS_PATH;
use crate::request::parse_match;
use toise_lake::schema::{LATITUDE, LONGITUDE};

/// Returns the functions, to be registered in a session.
pub fn scalar_functions() -> Vec<ScalarUDF> {
    [Dataset::Dpe, Dataset::Dvf]
        .into_iter()
        .map(|dataset| ScalarUDF::from(MatchScore::new(dataset)))
        .collect()
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct MatchScore {
    dataset: Dataset,
    signature: Signature,
}

/// Returns the arguments after the body: table columns with the types that the kernel reads.
fn arguments(dataset: Dataset) -> Vec<(&'static str, DataType)> {
    let mut arguments: Vec<(&'static str, DataType)> = rules(dataset)
        .iter()
        .map(|rule| {
            let kind = match rule.measure {
                Measure::Number { .. } | Measure::Share { .. } => DataType::Float64,
                Measure::Class | Measure::Category | Measure::Period => DataType::Utf8,
                Measure::Flag => DataType::Boolean,
            };
            (rule.column, kind)
        })
        .collect();
    for column in [surface_column(dataset), LATITUDE, LONGITUDE] {
        arguments.push((column, DataType::Float64));
    }
    arguments
}

impl MatchScore {
    fn new(dataset: Dataset) -> Self {
        let count = arguments(dataset).len() + 1;
        Self {
            dataset,
            signature: Signature::any(count, Volatility::Immutable),
        }
    }

    fn scorer(&self, body: &str) -> Result<Scorer> {
        let fault = |fault: String| DataFusionError::Execution(format!("{}: {fault}", self.name()));
        let body = serde_json::from_str(body)
            .map_err(|error| fault(format!("the body is not JSON: {error}")))?;
        let request = parse_match(self.dataset, &body).map_err(|found| fault(found.to_string()))?;
        if request.address.is_some() {
            return Err(fault(format!(
                "{ADDRESS_PATH}: is not accepted here; give location"
            )));
        }
        Ok(Scorer::new(self.dataset, &request))
    }
}

impl ScalarUDFImpl for MatchScore {
    fn name(&self) -> &str {
        match self.dataset {
            Dataset::Dpe => "dpe_match_score",
            Dataset::Dvf => "dvf_match_score",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arguments: &[DataType]) -> Result<DataType> {
        Ok(DataType::Float64)
    }

    fn invoke_with_args(&self, given: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let rows = given.number_rows;
        let Some((body, values)) = given.args.split_first() else {
            return Err(DataFusionError::Plan(format!("{}: no body", self.name())));
        };
        let mut columns: Vec<(&'static str, ArrayRef)> = Vec::with_capacity(values.len());
        for (value, (name, kind)) in values.iter().zip(arguments(self.dataset)) {
            columns.push((name, cast(&value.to_array(rows)?, &kind)?));
        }
        let column = |name: &str| {
            let found = columns.iter().find(|(known, _)| *known == name);
            found.map(|(_, values)| Arc::clone(values))
        };
        let scores: Float64Array = match body {
            ColumnarValue::Scalar(body) => match text_of(body)? {
                Some(body) => {
                    let all: Vec<usize> = (0..rows).collect();
                    Float64Array::from(self.scorer(&body)?.score(column, &all))
                }
                None => Float64Array::new_null(rows),
            },
            ColumnarValue::Array(bodies) => {
                let bodies = cast(bodies, &DataType::Utf8)?;
                self.score_each(bodies.as_string::<i32>(), column)?
            }
        };
        Ok(ColumnarValue::Array(Arc::new(scores)))
    }
}

impl MatchScore {
    /// Scores each row by its own body; consecutive rows with the same body share a scorer.
    fn score_each(
        &self,
        bodies: &StringArray,
        column: impl Fn(&str) -> Option<ArrayRef>,
    ) -> Result<Float64Array> {
        let mut scores = Vec::with_capacity(bodies.len());
        let mut row = 0;
        while row < bodies.len() {
            let first = row;
            let body = bodies.is_valid(row).then(|| bodies.value(row));
            while row < bodies.len() && bodies.is_valid(row).then(|| bodies.value(row)) == body {
                row += 1;
            }
            match body {
                Some(body) => {
                    let rows: Vec<usize> = (first..row).collect();
                    let found = self.scorer(body)?.score(&column, &rows);
                    scores.extend(found.into_iter().map(Some));
                }
                None => scores.extend((first..row).map(|_| None)),
            }
        }
        Ok(scores.into())
    }
}

fn text_of(value: &ScalarValue) -> Result<Option<String>> {
    let text = cast(&value.to_array()?, &DataType::Utf8)?;
    let text = text.as_string::<i32>();
    Ok(text.iter().next().flatten().map(str::to_owned))
}
