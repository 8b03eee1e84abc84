//! Builds the output columns of a bulk estimate.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Builder, RecordBatch, StringBuilder};
use arrow::datatypes::{DataType, Field as Column, Schema, SchemaRef};

use super::{EstimateRun, ID};
use crate::json::{comparables, contributions};
use crate::{Detail, Estimate, EstimateWarning};
use toise_opendata::portfolio::{AddressAnswerBuilder, Error, RowFault, STATUS, STATUS_OK};

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
        columns.extend(AddressAnswerBuilder::fields());
    }
    columns.push(Column::new(STATUS, DataType::Utf8, false));
    Arc::new(Schema::new(columns))
}

/// The output columns under construction.
#[derive(Default)]
pub(super) struct EstimateTableBuilder {
    pub(super) ids: StringBuilder,
    /// Price, lower end and upper end, in EUR.
    euros: [Int64Builder; 3],
    confidences: StringBuilder,
    fallbacks: StringBuilder,
    warnings: StringBuilder,
    errors: StringBuilder,
    comparables: StringBuilder,
    contributions: StringBuilder,
    pub(super) addresses: AddressAnswerBuilder,
    statuses: StringBuilder,
}

impl EstimateTableBuilder {
    pub(super) fn price(&mut self, estimate: &Estimate) {
        self.statuses.append_value(STATUS_OK);
        let euros = [estimate.price, estimate.lower, estimate.upper];
        for (column, eur) in self.euros.iter_mut().zip(euros) {
            column.append_value(eur as i64);
        }
        self.confidences.append_value(estimate.confidence.as_str());
        self.fallbacks.append_value(estimate.fallback.as_str());
        self.warnings
            .append_option(estimate.warning.map(EstimateWarning::as_str));
        self.errors.append_null();
        let texts = [
            (&mut self.comparables, comparables(&estimate.comparables)),
            (
                &mut self.contributions,
                contributions(&estimate.contributions),
            ),
        ];
        for (column, value) in texts {
            column.append_value(value.to_string());
        }
    }

    pub(super) fn error(&mut self, fault: &RowFault) {
        self.statuses.append_value(fault.status());
        self.euros.iter_mut().for_each(Int64Builder::append_null);
        self.confidences.append_null();
        self.fallbacks.append_null();
        self.warnings.append_null();
        self.errors.append_value(fault.to_string());
        self.comparables.append_null();
        self.contributions.append_null();
    }

    pub(super) fn finish(mut self, run: &EstimateRun) -> Result<RecordBatch, Error> {
        let [price, lower, upper] = &mut self.euros;
        let mut columns: Vec<ArrayRef> = vec![
            Arc::new(self.ids.finish()),
            Arc::new(price.finish()),
            Arc::new(lower.finish()),
            Arc::new(upper.finish()),
            Arc::new(self.confidences.finish()),
            Arc::new(self.fallbacks.finish()),
            Arc::new(self.warnings.finish()),
            Arc::new(self.errors.finish()),
        ];
        if run.detail.comparables > 0 {
            columns.push(Arc::new(self.comparables.finish()));
        }
        if run.detail.has_contributions {
            columns.push(Arc::new(self.contributions.finish()));
        }
        if run.columns.addresses.is_some() {
            columns.extend(self.addresses.finish());
        }
        columns.push(Arc::new(self.statuses.finish()));
        Ok(RecordBatch::try_new(Arc::clone(&run.schema), columns)?)
    }
}
