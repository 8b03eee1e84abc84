//! Builds the output columns of a bulk estimate.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field as Column, Schema, SchemaRef};
use serde_json::Value;

use super::{EstimateRun, ID};
use crate::json::{comparables, contributions};
use crate::{Detail, Estimate, EstimateWarning};
use toise_geocode::resolve::Resolved;
use toise_opendata::portfolio::{
    Error, RowFault, STATUS, STATUS_OK, address_columns, address_fields,
};

/// Columns of the output.
pub(super) fn schema(detail: Detail, has_addresses: bool) -> SchemaRef {
    let mut columns = vec![
        Column::new(ID, DataType::Utf8, false),
        Column::new("price", DataType::Int64, true),
        Column::new("lower", DataType::Int64, true),
        Column::new("upper", DataType::Int64, true),
        Column::new("confidence", DataType::Utf8, true),
        Column::new("fallback", DataType::Utf8, true),
        Column::new("warning", DataType::Utf8, true),
        Column::new("error", DataType::Utf8, true),
    ];
    if detail.comparables > 0 {
        columns.push(Column::new("comparables", DataType::Utf8, true));
    }
    if detail.has_contributions {
        columns.push(Column::new("contributions", DataType::Utf8, true));
    }
    if has_addresses {
        columns.extend(address_fields());
    }
    columns.push(Column::new(STATUS, DataType::Utf8, false));
    Arc::new(Schema::new(columns))
}

/// One output row.
pub(super) struct EstimateRow {
    pub(super) id: String,
    /// The estimate, or the reason there is none.
    pub(super) answer: Result<Estimate, RowFault>,
    /// The result for the address of the row; `None` if no address was used.
    pub(super) address: Option<Resolved>,
}

/// Makes the output columns.
pub(super) fn batch(run: &EstimateRun, rows: &[EstimateRow]) -> Result<RecordBatch, Error> {
    let estimates = || rows.iter().map(|row| row.answer.as_ref().ok());
    let faults = || rows.iter().map(|row| row.answer.as_ref().err());
    let euros = |eur: fn(&Estimate) -> f64| -> ArrayRef {
        let euros = estimates().map(|one| one.map(|estimate| eur(estimate) as i64));
        Arc::new(euros.collect::<Int64Array>())
    };
    let texts = |text: fn(&Estimate) -> Option<&'static str>| -> ArrayRef {
        let texts = estimates().map(|one| one.and_then(text));
        Arc::new(texts.collect::<StringArray>())
    };
    let json = |value: fn(&Estimate) -> Value| -> ArrayRef {
        let texts = estimates().map(|one| one.map(|estimate| value(estimate).to_string()));
        Arc::new(texts.collect::<StringArray>())
    };
    let ids = rows.iter().map(|row| row.id.as_str());
    let errors = faults().map(|fault| fault.map(ToString::to_string));
    let mut columns: Vec<ArrayRef> = vec![
        Arc::new(StringArray::from_iter_values(ids)),
        euros(|estimate| estimate.price),
        euros(|estimate| estimate.lower),
        euros(|estimate| estimate.upper),
        texts(|estimate| Some(estimate.confidence.as_str())),
        texts(|estimate| Some(estimate.fallback.as_str())),
        texts(|estimate| estimate.warning.map(EstimateWarning::as_str)),
        Arc::new(errors.collect::<StringArray>()),
    ];
    if run.detail.comparables > 0 {
        columns.push(json(|estimate| comparables(&estimate.comparables)));
    }
    if run.detail.has_contributions {
        columns.push(json(|estimate| contributions(&estimate.contributions)));
    }
    if run.columns.addresses.is_some() {
        columns.extend(address_columns(rows.iter().map(|row| row.address.as_ref())));
    }
    let statuses = faults().map(|fault| fault.map_or(STATUS_OK, RowFault::status));
    columns.push(Arc::new(StringArray::from_iter_values(statuses)));
    Ok(RecordBatch::try_new(Arc::clone(&run.schema), columns)?)
}
