//! The one predicate compiler: a filter of the contract becomes DataFusion expressions.
//!
//! [`clause_expr`] and [`filter_expr`] give the logical expression, the meaning of a filter everywhere (questions, SQL
//! and, later, alerts over arriving batches). [`Predicate`] is the same expressions made physical, one per clause, with
//! what it takes to skip rows that cannot match. Skipping only ever leaves out rows on which the expression is not
//! true; `tests` hold the two against each other. Compiling costs about 3 µs a clause.
//!
//! Three tests are so common and so small that the batch, the planning and the float normalisation around them cost
//! more than they do: a number range, a category among a few, a position within a radius. Those run as plain loops over
//! the decoded values ([`Kernel`]), and later clauses only look at the rows earlier ones left. They are held against
//! their expressions by a property test; everything else, and every other user of a filter, keeps the expression.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow::buffer::BooleanBuffer;
use arrow::datatypes::{Field, Schema, SchemaRef};
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::error::DataFusionError;
use datafusion::logical_expr::execution_props::ExecutionProps;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{Expr, lit};
use datafusion::physical_expr::{PhysicalExpr, create_physical_expr};

use super::filter::{Clause, Filter, Test};
use super::functions;
use super::view::{Bounds, Chunk};
use crate::geo::distance::covering_span_degrees;
use crate::lake::schema::{Column, Kind, LATITUDE, LONGITUDE, TableSchema};

/// The expression of a whole filter; true for every row when the filter is empty.
pub fn filter_expr(schema: &TableSchema, filter: &Filter) -> Result<Expr, DataFusionError> {
    let mut all = lit(true);
    for clause in filter {
        all = all.and(clause_expr(schema, clause)?);
    }
    Ok(all)
}

/// The expression of one clause over the table's columns.
pub fn clause_expr(schema: &TableSchema, clause: &Clause) -> Result<Expr, DataFusionError> {
    let column = || {
        Expr::Column(datafusion::common::Column::from_name(
            clause.column.as_ref(),
        ))
    };
    let between = |column: Expr, min: Option<ScalarValue>, max: Option<ScalarValue>| {
        let least = min.map(|min| column.clone().gt_eq(literal(min)));
        let most = max.map(|max| column.clone().lt_eq(literal(max)));
        match (least, most) {
            (Some(least), Some(most)) => least.and(most),
            (Some(one), None) | (None, Some(one)) => one,
            (None, None) => column.is_not_null(),
        }
    };
    match &clause.test {
        Test::Number { min, max } => {
            let kind = schema.column(&clause.column).map(|(_, column)| column.kind);
            let (min, max) = if kind == Some(Kind::Integer) {
                let whole = |value: f64| ScalarValue::Int64(Some(value as i64));
                (
                    min.map(|min| whole(min.ceil())),
                    max.map(|max| whole(max.floor())),
                )
            } else {
                let number = |value| ScalarValue::Float64(Some(value));
                (min.map(number), max.map(number))
            };
            Ok(between(column(), min, max))
        }
        Test::Day { from, to } => {
            let day = |value| ScalarValue::Date32(Some(value));
            Ok(between(column(), from.map(day), to.map(day)))
        }
        Test::OneOf(texts) => match texts.as_slice() {
            [one] => Ok(column().eq(lit(one.as_str()))),
            many => {
                Ok(column().in_list(many.iter().map(|text| lit(text.as_str())).collect(), false))
            }
        },
        Test::Is(flag) => Ok(column().eq(lit(*flag))),
        Test::Within { lat, lon, radius_m } => {
            let (lat_span, lon_span) = covering_span_degrees(*lat, *radius_m);
            let place = |name: &str| Expr::Column(datafusion::common::Column::from_name(name));
            let number = |value| Some(ScalarValue::Float64(Some(value)));
            let distance = functions::geo_distance().call(vec![
                lit(*lat),
                lit(*lon),
                place(LATITUDE),
                place(LONGITUDE),
            ]);
            Ok(between(
                place(LATITUDE),
                number(lat - lat_span),
                number(lat + lat_span),
            )
            .and(between(
                place(LONGITUDE),
                number(lon - lon_span),
                number(lon + lon_span),
            ))
            .and(distance.lt_eq(lit(*radius_m))))
        }
    }
}

fn literal(value: ScalarValue) -> Expr {
    Expr::Literal(value, None)
}

/// A filter ready to run over decoded columns.
#[derive(Debug)]
pub struct Predicate {
    /// Clauses that all must hold.
    pub clauses: Vec<CompiledClause>,
}

/// One clause, compiled.
#[derive(Debug)]
pub struct CompiledClause {
    /// The clause.
    pub clause: Clause,
    /// The columns of the table it reads: one, or latitude and longitude.
    pub columns: Vec<usize>,
    /// Whether its column is a category, so that the expression runs once per distinct value.
    pub by_value: bool,
    /// How it runs.
    pub kernel: Kernel,
}

/// How a clause runs over decoded columns.
#[derive(Debug)]
pub enum Kernel {
    /// A number between two bounds; missing bounds are infinite.
    Between(f64, f64),
    /// A category among [`Test::OneOf`]: looked up once per distinct value.
    Among,
    /// Within a radius of a pin.
    Within {
        /// Latitude of the pin, degrees.
        lat: f64,
        /// Longitude of the pin, degrees.
        lon: f64,
        /// Half the height of the covering box, degrees.
        lat_span: f64,
        /// Half its width, degrees.
        lon_span: f64,
        /// Radius, metres.
        radius_m: f64,
    },
    /// The expression, over batches of its columns.
    Expression {
        /// Schema of the batches.
        batch_schema: SchemaRef,
        /// The expression.
        expression: Arc<dyn PhysicalExpr>,
    },
}

impl Kernel {
    /// The loop that stands for a clause's expression, if one does.
    fn native(kind: Kind, test: &Test) -> Option<Self> {
        match test {
            // A range without bounds asks that the value exist, and expressions order NaN after all numbers: both are
            // left to the expression.
            Test::Number {
                min,
                max: Some(max),
            } if kind == Kind::Number => {
                let min = min.unwrap_or(f64::NEG_INFINITY);
                Some(Self::Between(min, *max))
            }
            Test::OneOf(_) if kind == Kind::Category => Some(Self::Among),
            Test::Within { lat, lon, radius_m } => {
                let (lat_span, lon_span) = covering_span_degrees(*lat, *radius_m);
                Some(Self::Within {
                    lat: *lat,
                    lon: *lon,
                    lat_span,
                    lon_span,
                    radius_m: *radius_m,
                })
            }
            _ => None,
        }
    }
}

impl Predicate {
    /// Compiles a filter whose columns exist in the table.
    pub fn compile(schema: &TableSchema, filter: &Filter) -> Result<Self, DataFusionError> {
        let clauses = filter
            .iter()
            .map(|clause| CompiledClause::compile(schema, clause))
            .collect::<Result<_, _>>()?;
        Ok(Self { clauses })
    }

    /// Whether a row group may hold a match, by its footer statistics.
    pub fn may_match(&self, chunk: &Chunk) -> bool {
        self.clauses.iter().all(|clause| clause.may_match(chunk))
    }
}

impl CompiledClause {
    pub(super) fn compile(schema: &TableSchema, clause: &Clause) -> Result<Self, DataFusionError> {
        let mut columns = Vec::with_capacity(2);
        let mut kind = Kind::Text;
        for name in column_names(clause) {
            let (index, column) = known_column(schema, name)?;
            kind = column.kind;
            columns.push(index);
        }
        let kernel = match Kernel::native(kind, &clause.test) {
            Some(kernel) => kernel,
            None => Self::expression(schema, clause)?,
        };
        Ok(Self {
            clause: clause.clone(),
            columns,
            by_value: kind == Kind::Category,
            kernel,
        })
    }

    /// The clause's expression, whatever loop there is for it.
    pub(super) fn expression(
        schema: &TableSchema,
        clause: &Clause,
    ) -> Result<Kernel, DataFusionError> {
        let mut fields = Vec::with_capacity(2);
        for name in column_names(clause) {
            let (_, column) = known_column(schema, name)?;
            fields.push(Field::new(name, column.kind.data_type(), true));
        }
        let batch_schema = Arc::new(Schema::new(fields));
        let df_schema = DFSchema::try_from(batch_schema.as_ref().clone())?;
        let expression = create_physical_expr(
            &clause_expr(schema, clause)?,
            &df_schema,
            &ExecutionProps::new(),
            &PhysicalPlanningContext::default(),
        )?;
        Ok(Kernel::Expression {
            batch_schema,
            expression,
        })
    }

    /// Whether a row group may hold a match on this clause.
    fn may_match(&self, chunk: &Chunk) -> bool {
        match &self.clause.test {
            Test::Number { min, max } => overlaps(&chunk.bounds[self.columns[0]], *min, *max),
            Test::Day { from, to } => overlaps(
                &chunk.bounds[self.columns[0]],
                from.map(f64::from),
                to.map(f64::from),
            ),
            Test::OneOf(texts) => match &chunk.bounds[self.columns[0]] {
                Bounds::AllMissing => false,
                Bounds::Texts(min, max) => texts
                    .iter()
                    .any(|text| text.as_bytes() >= min.as_ref() && text.as_bytes() <= max.as_ref()),
                _ => true,
            },
            Test::Is(_) => chunk.bounds[self.columns[0]] != Bounds::AllMissing,
            Test::Within { lat, lon, radius_m } => {
                let (lat_span, lon_span) = covering_span_degrees(*lat, *radius_m);
                overlaps(
                    &chunk.bounds[self.columns[0]],
                    Some(lat - lat_span),
                    Some(lat + lat_span),
                ) && overlaps(
                    &chunk.bounds[self.columns[1]],
                    Some(lon - lon_span),
                    Some(lon + lon_span),
                )
            }
        }
    }

    /// Bounds on the values of the clause's n-th column outside which it cannot hold.
    pub fn range(&self, nth: usize) -> Option<(f64, f64)> {
        let open = |min: Option<f64>, max: Option<f64>| {
            Some((
                min.unwrap_or(f64::NEG_INFINITY),
                max.unwrap_or(f64::INFINITY),
            ))
        };
        match &self.clause.test {
            Test::Number { min, max } => open(*min, *max),
            Test::Day { from, to } => open(from.map(f64::from), to.map(f64::from)),
            Test::Within { lat, lon, radius_m } => {
                let (lat_span, lon_span) = covering_span_degrees(*lat, *radius_m);
                let (middle, span) = if nth == 0 {
                    (*lat, lat_span)
                } else {
                    (*lon, lon_span)
                };
                Some((middle - span, middle + span))
            }
            Test::OneOf(_) | Test::Is(_) => None,
        }
    }

    /// For a category: whether the clause holds on each of the distinct values.
    pub fn holds_on(&self, values: &ArrayRef) -> Result<Vec<bool>, DataFusionError> {
        match (&self.kernel, &self.clause.test) {
            (Kernel::Expression { .. }, _) => {
                let truth = self.evaluate(vec![Arc::clone(values)])?;
                Ok(truth.iter().collect())
            }
            (_, Test::OneOf(texts)) => {
                let values = values.as_string::<i32>();
                let holds = |value: Option<&str>| {
                    value.is_some_and(|value| texts.iter().any(|text| text == value))
                };
                Ok(values.iter().map(holds).collect())
            }
            _ => Ok(vec![false; values.len()]),
        }
    }

    /// Rows on which the clause's expression is true, over the clause's columns.
    pub fn evaluate(&self, columns: Vec<ArrayRef>) -> Result<BooleanBuffer, DataFusionError> {
        let Kernel::Expression {
            batch_schema,
            expression,
        } = &self.kernel
        else {
            let reason = "a clause with a kernel of its own has no expression".to_owned();
            return Err(DataFusionError::Internal(reason));
        };
        let rows = columns.first().map_or(0, |column| column.len());
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(Arc::clone(batch_schema), columns, &options)?;
        let result = expression.evaluate(&batch)?.into_array(rows)?;
        Ok(truth(result.as_boolean()))
    }
}

/// The columns a clause reads: one, or latitude and longitude.
fn column_names(clause: &Clause) -> impl Iterator<Item = &str> {
    let (first, second) = match clause.test {
        Test::Within { .. } => (LATITUDE, Some(LONGITUDE)),
        _ => (clause.column.as_ref(), None),
    };
    std::iter::once(first).chain(second)
}

fn known_column<'s>(
    schema: &'s TableSchema,
    name: &str,
) -> Result<(usize, &'s Column), DataFusionError> {
    schema
        .column(name)
        .ok_or_else(|| DataFusionError::Plan(format!("table {} has no column {name}", schema.name)))
}

/// True where the value is true and not missing.
fn truth(result: &BooleanArray) -> BooleanBuffer {
    match result.nulls() {
        None => result.values().clone(),
        Some(nulls) => result.values() & nulls.inner(),
    }
}

fn overlaps(bounds: &Bounds, min: Option<f64>, max: Option<f64>) -> bool {
    match bounds {
        Bounds::AllMissing => false,
        Bounds::Numbers(least, greatest) => {
            min.is_none_or(|min| *greatest >= min) && max.is_none_or(|max| *least <= max)
        }
        _ => true,
    }
}
