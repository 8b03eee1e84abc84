//! Converts the matches of a block of rows to columns: one output row per candidate, or a single one for an input row
//! without candidates or with an error.
//!
//! Columns that the engine holds decoded are copied (0.2 µs a cell). Any other column is read from the record, which
//! costs a page read per candidate (20–40 µs).

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, BooleanBuilder, Date32Builder, Float64Builder,
    Int32Array, Int64Array, Int64Builder, RecordBatch, StringArray, StringBuilder,
};
use arrow::datatypes::{
    DataType, Date32Type, Field, Float64Type, Int32Type, Int64Type, Schema, SchemaRef,
};
use serde_json::{Map, Value};

use super::plan::PortfolioPlan;
use super::{BulkReport, MatchRun};
use crate::conversion::{numbers, texts};
use crate::matching::Ranking;
use crate::portfolio::{
    ADDRESS_FAULT, BlockAddresses, Error, InputRows, RowFault, STATUS, STATUS_OK, address_columns,
    address_fields,
};
use crate::request::address::clause;
use crate::source::cell;
use crate::{Dataset, MatchRequest};
use toise_geocode::resolve::{RepeatedAddresses, Resolved};
use toise_input::words::WITHOUT_ENERGY_CLASS;
use toise_lake::schema::{ColumnKind, RECORD};

/// Default output columns of a diagnostic.
const DPE_COLUMNS: [&str; 10] = [
    "date_etablissement_dpe",
    "type_batiment",
    "surface_habitable_logement",
    "etiquette_dpe",
    "etiquette_ges",
    "conso_5_usages_par_m2_ep",
    "emission_ges_5_usages_par_m2",
    "code_insee_ban",
    "lat",
    "lon",
];
/// Default output columns of a sale.
const DVF_COLUMNS: [&str; 8] = [
    "transaction_date",
    "price_eur",
    "property_type",
    "surface_m2",
    "main_rooms",
    "insee_code",
    "lat",
    "lon",
];
/// Output column with the row number, if the portfolio has no key.
const ROW_NUMBER: &str = "row";
/// Reason for which rows are reported that select no records, in a portfolio with columns that do.
const NO_CONDITION: &str = "no cell selects records, so all records are candidates";

/// One output column taken from the record.
#[derive(Clone, Debug)]
struct ChosenColumn {
    name: String,
    kind: ColumnKind,
    /// Index of the column among those the engine holds decoded; `None` if it is read from the record.
    decoded: Option<usize>,
}

/// The columns of the output.
#[derive(Clone, Debug)]
pub(super) struct AnswerLayout {
    schema: SchemaRef,
    keys: usize,
    chosen: Vec<ChosenColumn>,
    needs_record: bool,
    has_addresses: bool,
}

impl AnswerLayout {
    /// Determines the output columns. A key column whose name is also an output column is prefixed with `input_`.
    pub(super) fn new(plan: &PortfolioPlan, columns: Option<&[String]>) -> Result<Self, Error> {
        let (dataset, keys) = (plan.dataset, &plan.columns.keys);
        let table = dataset.schema();
        let default: Vec<String> = match dataset {
            Dataset::Dpe => DPE_COLUMNS.iter().map(|name| (*name).into()).collect(),
            Dataset::Dvf => DVF_COLUMNS.iter().map(|name| (*name).into()).collect(),
        };
        let mut chosen: Vec<ChosenColumn> = Vec::new();
        for name in columns.unwrap_or(&default) {
            let Some((index, column)) = table.column(name) else {
                let names: Vec<&str> = table.columns.iter().map(|known| &*known.name).collect();
                return Err(Error::Option(format!(
                    "--columns {name}: no column of {}; it has {}",
                    table.name,
                    names.join(", ")
                )));
            };
            // The id is always in the output.
            if name != table.id && !chosen.iter().any(|known| known.name == *name) {
                chosen.push(ChosenColumn {
                    name: name.clone(),
                    kind: column.kind,
                    decoded: column.filterable.then_some(index),
                });
            }
        }
        let mut answer = vec![
            Field::new("rank", DataType::Int32, true),
            Field::new("score", DataType::Float64, true),
            Field::new("confidence", DataType::Utf8, true),
            Field::new("ambiguous", DataType::Boolean, true),
            Field::new("total", DataType::Int64, true),
            Field::new(table.id, DataType::Utf8, true),
        ];
        answer.extend(
            chosen
                .iter()
                .map(|column| Field::new(&column.name, answer_type(column.kind), true)),
        );
        answer.push(Field::new("error", DataType::Utf8, true));
        if plan.has_addresses() {
            answer.extend(address_fields());
        }
        answer.push(Field::new(STATUS, DataType::Utf8, false));
        let mut fields: Vec<Field> = keys
            .iter()
            .map(|key| {
                let taken = answer.iter().any(|field| field.name() == key);
                let name = if taken {
                    format!("input_{key}")
                } else {
                    key.clone()
                };
                Field::new(name, DataType::Utf8, true)
            })
            .collect();
        if keys.is_empty() {
            fields.push(Field::new(ROW_NUMBER, DataType::Int64, false));
        }
        fields.extend(answer);
        Ok(Self {
            schema: Arc::new(Schema::new(fields)),
            keys: keys.len(),
            needs_record: chosen.iter().any(|column| column.decoded.is_none()),
            has_addresses: plan.has_addresses(),
            chosen,
        })
    }

    /// Returns the Arrow schema of the output.
    pub(super) fn schema(&self) -> &SchemaRef {
        &self.schema
    }
}

fn answer_type(kind: ColumnKind) -> DataType {
    match kind {
        ColumnKind::TextList
        | ColumnKind::CategoryList
        | ColumnKind::Items(_)
        | ColumnKind::Moment => DataType::Utf8,
        ColumnKind::SmallInteger => DataType::Int64,
        other => other.data_type(),
    }
}

/// A record column under construction.
enum AnswerColumnBuilder {
    Text(StringBuilder),
    Number(Float64Builder),
    Integer(Int64Builder),
    Day(Date32Builder),
    Flag(BooleanBuilder),
}

impl AnswerColumnBuilder {
    fn new(kind: ColumnKind) -> Self {
        match kind {
            // Of these kinds, open-data tables have only text, categories and text lists.
            ColumnKind::Text
            | ColumnKind::Category
            | ColumnKind::TextList
            | ColumnKind::CategoryList
            | ColumnKind::Items(_)
            | ColumnKind::Moment => Self::Text(StringBuilder::new()),
            ColumnKind::Number => Self::Number(Float64Builder::new()),
            ColumnKind::Integer | ColumnKind::SmallInteger => Self::Integer(Int64Builder::new()),
            ColumnKind::Date => Self::Day(Date32Builder::new()),
            ColumnKind::Flag => Self::Flag(BooleanBuilder::new()),
        }
    }

    fn missing(&mut self) {
        match self {
            Self::Text(values) => values.append_null(),
            Self::Number(values) => values.append_null(),
            Self::Integer(values) => values.append_null(),
            Self::Day(values) => values.append_null(),
            Self::Flag(values) => values.append_null(),
        }
    }

    /// Copies a value from a decoded column.
    fn copy(&mut self, column: &ArrayRef, row: usize) {
        if column.is_null(row) {
            return self.missing();
        }
        match self {
            Self::Text(values) => match column.as_dictionary_opt::<Int32Type>() {
                Some(category) => match category.key(row) {
                    Some(code) => {
                        values.append_value(category.values().as_string::<i32>().value(code));
                    }
                    None => values.append_null(),
                },
                None => values.append_value(column.as_string::<i32>().value(row)),
            },
            Self::Number(values) => {
                values.append_value(column.as_primitive::<Float64Type>().value(row));
            }
            Self::Integer(values) => {
                values.append_value(column.as_primitive::<Int64Type>().value(row));
            }
            Self::Day(values) => {
                values.append_value(column.as_primitive::<Date32Type>().value(row));
            }
            Self::Flag(values) => values.append_value(column.as_boolean().value(row)),
        }
    }

    /// Reads a value from a record.
    fn read(&mut self, value: Option<&Value>) {
        let Some(value) = value.filter(|value| !value.is_null()) else {
            return self.missing();
        };
        match self {
            Self::Text(values) => match value {
                Value::String(text) => values.append_value(text),
                other => values.append_value(other.to_string()),
            },
            Self::Number(values) => values.append_option(value.as_f64()),
            Self::Integer(values) => values.append_option(value.as_i64()),
            Self::Day(values) => values.append_option(value.as_str().and_then(cell::day)),
            Self::Flag(values) => values.append_option(value.as_bool()),
        }
    }

    fn finish(self) -> ArrayRef {
        match self {
            Self::Text(mut values) => Arc::new(values.finish()),
            Self::Number(mut values) => Arc::new(values.finish()),
            Self::Integer(mut values) => Arc::new(values.finish()),
            Self::Day(mut values) => Arc::new(values.finish()),
            Self::Flag(mut values) => Arc::new(values.finish()),
        }
    }
}

/// A candidate of a portfolio row.
struct AnswerCandidate {
    /// Rank from 1.
    rank: i32,
    score: f64,
    confidence: &'static str,
    id: String,
}

/// One output row.
struct AnswerRow {
    /// Index of the portfolio row in the block.
    row: usize,
    /// `None` for a portfolio row without candidates.
    candidate: Option<AnswerCandidate>,
    /// Number of candidates, and whether the best two are too close to decide; `None` with an error.
    found: Option<(i64, bool)>,
    fault: Option<RowFault>,
}

/// The output under construction.
struct MatchTable<'r> {
    run: &'r MatchRun,
    rows: Vec<AnswerRow>,
    /// The address by which each portfolio row was located.
    addresses: Vec<Option<Resolved>>,
    chosen: Vec<AnswerColumnBuilder>,
}

impl<'r> MatchTable<'r> {
    fn new(run: &'r MatchRun) -> Self {
        let chosen = run.layout.chosen.iter();
        Self {
            run,
            rows: Vec::new(),
            addresses: Vec::new(),
            chosen: chosen
                .map(|column| AnswerColumnBuilder::new(column.kind))
                .collect(),
        }
    }

    /// Adds a portfolio row without candidates: with an error, or with a `total` of 0.
    fn empty(&mut self, row: usize, fault: Option<RowFault>) {
        self.chosen
            .iter_mut()
            .for_each(AnswerColumnBuilder::missing);
        self.rows.push(AnswerRow {
            row,
            candidate: None,
            found: fault.is_none().then_some((0, false)),
            fault,
        });
    }

    fn candidates(&mut self, row: usize, ranking: &Ranking, size: usize) -> Result<(), Error> {
        let shown = &ranking.best[..size.min(ranking.best.len())];
        let run = self.run;
        let records = if run.layout.needs_record {
            let found: Vec<_> = shown.iter().map(|ranked| ranked.row).collect();
            run.view
                .records(&found)
                .map_err(toise_engine::Error::from)?
        } else {
            Vec::new()
        };
        for (rank, ranked) in shown.iter().enumerate() {
            self.rows.push(AnswerRow {
                row,
                candidate: Some(AnswerCandidate {
                    rank: rank as i32 + 1,
                    score: ranked.score,
                    confidence: ranking.confidence(rank).as_str(),
                    id: ranked.id.clone(),
                }),
                found: Some((ranking.total as i64, ranking.ambiguous())),
                fault: None,
            });
            let object: Map<String, Value> = match records.get(rank) {
                Some(record) => serde_json::from_slice(record).unwrap_or_default(),
                None => Map::new(),
            };
            let chunk = run.view.chunk_of(ranked.row);
            for (cells, column) in self.chosen.iter_mut().zip(&run.layout.chosen) {
                match (column.decoded, chunk) {
                    (Some(index), Some(chunk)) => {
                        let cache = run.open_data.engine().cache();
                        let decoded = run
                            .view
                            .column(cache, chunk, index)
                            .map_err(toise_engine::Error::from)?;
                        cells.copy(&decoded.values, (ranked.row.row - chunk.first_row) as usize);
                    }
                    (None, _) if column.name == RECORD => {
                        let text = records.get(rank).map(|record| {
                            Value::String(String::from_utf8_lossy(record).into_owned())
                        });
                        cells.read(text.as_ref());
                    }
                    _ => cells.read(object.get(&column.name)),
                }
            }
        }
        Ok(())
    }

    /// Makes the output columns of the rows of a block.
    fn finish(self, rows: &InputRows) -> Result<RecordBatch, Error> {
        let Self {
            run,
            rows: answers,
            addresses,
            chosen,
        } = self;
        let mut columns: Vec<ArrayRef> = Vec::with_capacity(run.layout.schema.fields().len());
        if run.layout.keys == 0 {
            let number = |answer: &AnswerRow| (rows.first_row + answer.row as u64) as i64;
            let numbered = answers.iter().map(number);
            columns.push(Arc::new(Int64Array::from_iter_values(numbered)));
        }
        for place in 0..run.layout.keys {
            let key = |answer: &AnswerRow| {
                let mut keys = run.plan.columns.key(&rows.block, answer.row);
                keys.nth(place).filter(|key| !key.is_empty())
            };
            columns.push(Arc::new(answers.iter().map(key).collect::<StringArray>()));
        }
        let candidates = || answers.iter().map(|answer| answer.candidate.as_ref());
        let ranks = candidates().map(|candidate| candidate.map(|candidate| candidate.rank));
        let found = || answers.iter().map(|answer| answer.found);
        let ambiguous = found().map(|found| found.map(|(_, is_ambiguous)| is_ambiguous));
        let totals = found().map(|found| found.map(|(total, _)| total));
        columns.push(Arc::new(ranks.collect::<Int32Array>()));
        columns.push(numbers(&answers, |answer| {
            Some(answer.candidate.as_ref()?.score)
        }));
        columns.push(texts(&answers, |answer| {
            Some(answer.candidate.as_ref()?.confidence)
        }));
        columns.push(Arc::new(ambiguous.collect::<BooleanArray>()));
        columns.push(Arc::new(totals.collect::<Int64Array>()));
        columns.push(texts(&answers, |answer| {
            Some(answer.candidate.as_ref()?.id.as_str())
        }));
        columns.extend(chosen.into_iter().map(AnswerColumnBuilder::finish));
        let faults = || answers.iter().map(|answer| answer.fault.as_ref());
        let errors = faults().map(|fault| fault.map(ToString::to_string));
        columns.push(Arc::new(errors.collect::<StringArray>()));
        if run.layout.has_addresses {
            let of_rows = answers.iter().map(|answer| addresses[answer.row].as_ref());
            columns.extend(address_columns(of_rows));
        }
        let statuses = faults().map(|fault| fault.map_or(STATUS_OK, RowFault::status));
        columns.push(Arc::new(StringArray::from_iter_values(statuses)));
        let schema = Arc::clone(&run.layout.schema);
        Ok(RecordBatch::try_new(schema, columns)?)
    }
}

/// A row's request, and the address it was located by.
type RowRequest = (MatchRequest, Option<Resolved>);

/// Why a row cannot be matched, and the result for its address if that is not certain enough.
type UnmatchedRow = (RowFault, Option<Resolved>);

/// Builds the request of a row; its address becomes one more condition.
fn request<'b>(
    run: &MatchRun,
    rows: &InputRows,
    row: usize,
    given: Option<&'b BlockAddresses<'_>>,
    addresses: &mut Option<RepeatedAddresses<'_, 'b>>,
) -> Result<RowRequest, UnmatchedRow> {
    if let Some(fault) = rows.faults.get(&row) {
        return Err((RowFault::Other(fault.clone()), None));
    }
    let plan = &run.plan;
    let request = plan.request(&rows.block, row);
    let mut request = request.map_err(|fault| (fault, None))?;
    let address = given.and_then(|given| plan.address(given, row, &request));
    let (Some(addresses), Some(address)) = (addresses, address) else {
        return Ok((request, None));
    };
    match addresses.locate(address) {
        Ok(found) => {
            request.filter.push(clause(plan.dataset, found));
            Ok((request, Some(found.clone())))
        }
        Err(reason) => {
            let fault = RowFault::Other(format!("{ADDRESS_FAULT}{reason}"));
            Err((fault, reason.best().cloned()))
        }
    }
}

/// Matches the rows of a block. CPU-bound.
pub(super) fn answer(run: &MatchRun, rows: &InputRows) -> Result<(RecordBatch, BulkReport), Error> {
    let mut table = MatchTable::new(run);
    let mut counts = BulkReport::default();
    let given = run.plan.addresses(&rows.block);
    let mut addresses = run.geocoder.as_deref().map(RepeatedAddresses::new);
    for row in 0..rows.block.len() {
        counts.rows += 1;
        for (field, cell) in run.plan.without_class(&rows.block, row) {
            let line = rows.block.line(row);
            counts.left_out.add(WITHOUT_ENERGY_CLASS, line, field, cell);
        }
        let (request, address) = match request(run, rows, row, given.as_ref(), &mut addresses) {
            Ok(request) => request,
            Err((fault, best)) => {
                counts.errors += 1;
                *counts.status.entry(fault.status().into()).or_default() += 1;
                if !rows.faults.contains_key(&row) {
                    let line = rows.block.line(row);
                    let reason = fault.to_string();
                    let (column, cell) = match given.as_ref() {
                        Some(given) if reason.starts_with(ADDRESS_FAULT) => {
                            ("address".to_owned(), given.shown(row))
                        }
                        _ => run.plan.at_fault(&rows.block, row, &fault),
                    };
                    counts.left_out.add(&reason, line, &column, &cell);
                }
                table.addresses.push(best);
                table.empty(row, Some(fault));
                continue;
            }
        };
        if request.filter.is_empty() && run.plan.has_conditions() {
            let line = rows.block.line(row);
            counts.left_out.add(NO_CONDITION, line, "", "");
        }
        counts.count_located(address.as_ref());
        let ranking = run.open_data.rank(run.plan.dataset, &run.view, &request)?;
        table.addresses.push(address);
        if ranking.best.is_empty() {
            counts.without_candidates += 1;
            table.empty(row, None);
            continue;
        }
        counts.matched += 1;
        counts.confidence.count(ranking.confidence(0));
        table.candidates(row, &ranking, request.size)?;
    }
    Ok((table.finish(rows)?, counts))
}
