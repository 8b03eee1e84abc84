//! The predicate compiler: translates a filter of the contract to loops and expressions over decoded columns.
//!
//! [`filter_expr`] returns the logical expression, which defines the meaning of a filter everywhere (queries, SQL and
//! alerts over arriving batches). [`Predicate`] has one compiled clause per clause of the filter, with the bounds
//! needed to skip rows that cannot match. Skipping only excludes rows on which the expression is not true; tests
//! compare the two. Compiling costs about 3 µs per clause that is evaluated as an expression, and far less for other
//! clauses.
//!
//! Some tests are so small that batches, planning and float normalisation would cost more than the test itself. They
//! run as plain loops over the decoded values ([`Kernel`]), and each clause only tests the rows that passed the earlier
//! ones. Alternatives and conditions on the items of a list are composed of such loops. Property tests compare every
//! loop with its expression. All other clauses, and all other users of a filter, use the expression.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, RecordBatch, RecordBatchOptions};
use arrow::buffer::BooleanBuffer;
use arrow::datatypes::{Field, Schema, SchemaRef};
use datafusion::common::DFSchema;
use datafusion::error::DataFusionError;
use datafusion::logical_expr::Expr;
use datafusion::logical_expr::execution_props::ExecutionProps;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::physical_expr::{PhysicalExpr, create_physical_expr};

pub use super::expression::filter_expr;
use super::expression::{ColumnScope, one_of, scoped_expr};
use super::some_item::truth;
use super::view::{ColumnStatistics, RowGroup};
use toise_contract::filter::{Clause, ClauseTest, Filter, LayerTest, position_columns};
use toise_geo::area::Area;
use toise_geo::distance::covering_span_degrees;
use toise_lake::schema::{ColumnKind, TableSchema};

/// Maximum texts for which a linear search is cheaper than hashing.
const LINEAR_SEARCH_MAX: usize = 8;

/// A filter compiled to run over decoded columns.
#[derive(Debug)]
pub struct Predicate {
    /// Clauses that must all be true; cheap and selective ones first.
    pub clauses: Vec<CompiledClause>,
}

/// One clause, compiled.
#[derive(Debug)]
pub struct CompiledClause {
    /// The clause.
    pub clause: Clause,
    /// The columns of the table that the clause itself reads: one, latitude and longitude, or none.
    pub columns: Vec<usize>,
    /// Whether its column is a category, so that it is evaluated once per distinct value.
    pub by_value: bool,
    /// How the clause is evaluated.
    pub kernel: Kernel,
}

/// How a clause is evaluated over decoded columns.
#[derive(Debug)]
pub enum Kernel {
    /// A number between two bounds; missing bounds are infinite.
    Between(f64, f64),
    /// A number with a lower bound only.
    AtLeast(f64),
    /// A whole number, a day or a timestamp between two bounds; a missing bound is the minimum or maximum of the type.
    BetweenWhole(i64, i64),
    /// A flag with this value.
    Flag(bool),
    /// A category among [`ClauseTest::OneOf`]: tested once per distinct value.
    Among,
    /// Within a radius of a pin.
    Within {
        /// Latitude of the pin, degrees.
        lat: f64,
        /// Longitude of the pin, degrees.
        lon: f64,
        /// Half the height of the bounding box, degrees.
        lat_span: f64,
        /// Half the width of the bounding box, degrees.
        lon_span: f64,
        /// Radius, metres.
        radius_m: f64,
    },
    /// In a box: southern, northern, western and eastern edge, degrees.
    InBox([f64; 4]),
    /// In an area.
    InArea(Arc<Area>),
    /// A relation to a layer that is already resolved.
    InLayer(LayerTest),
    /// At least one of these predicates holds.
    Any(Vec<Predicate>),
    /// At least one item of the row's list satisfies this predicate over the decoded fields of the items.
    SomeItem(Predicate),
    /// The expression, evaluated over batches of its columns.
    Expression {
        /// Schema of the batches.
        batch_schema: SchemaRef,
        /// The expression.
        expression: Arc<dyn PhysicalExpr>,
    },
}

impl Predicate {
    /// Compiles a filter; its columns must exist in the table, and its tests on layers must be resolved.
    pub fn compile(schema: &TableSchema, filter: &Filter) -> Result<Self, DataFusionError> {
        Self::scoped(ColumnScope::Table(schema), filter)
    }

    fn scoped(scope: ColumnScope<'_>, filter: &Filter) -> Result<Self, DataFusionError> {
        let mut clauses = filter
            .iter()
            .map(|clause| CompiledClause::scoped(scope, clause))
            .collect::<Result<Vec<_>, _>>()?;
        clauses.sort_by_key(CompiledClause::rank);
        Ok(Self { clauses })
    }

    /// Returns whether a row group may contain a match, according to its footer statistics.
    pub fn may_match(&self, chunk: &RowGroup) -> bool {
        self.clauses.iter().all(|clause| clause.may_match(chunk))
    }

    fn rank(&self) -> u8 {
        let ranks = self.clauses.iter().map(CompiledClause::rank);
        ranks.max().unwrap_or_default()
    }
}

impl CompiledClause {
    #[cfg(test)]
    pub(super) fn compile(schema: &TableSchema, clause: &Clause) -> Result<Self, DataFusionError> {
        Self::scoped(ColumnScope::Table(schema), clause)
    }

    fn scoped(scope: ColumnScope<'_>, clause: &Clause) -> Result<Self, DataFusionError> {
        let name = clause.column.as_ref();
        let mut columns = Vec::with_capacity(2);
        let mut by_value = false;
        let kernel = match &clause.test {
            ClauseTest::Any(filters) => Kernel::Any(
                filters
                    .iter()
                    .map(|filter| Predicate::scoped(scope, filter))
                    .collect::<Result<_, _>>()?,
            ),
            ClauseTest::SomeItem(filter) => {
                let (items, _) = scope.items(name)?;
                if filter.is_empty() {
                    let reason = format!("the condition on the items of {name} must not be empty");
                    return Err(DataFusionError::Plan(reason));
                }
                Kernel::SomeItem(Predicate::scoped(items, filter)?)
            }
            ClauseTest::Within { lat, lon, radius_m } => {
                columns = numbers_of(scope, &position_columns(name))?;
                let (lat_span, lon_span) = covering_span_degrees(*lat, *radius_m);
                Kernel::Within {
                    lat: *lat,
                    lon: *lon,
                    lat_span,
                    lon_span,
                    radius_m: *radius_m,
                }
            }
            ClauseTest::InBox {
                top,
                left,
                bottom,
                right,
            } => {
                columns = numbers_of(scope, &position_columns(name))?;
                Kernel::InBox([*bottom, *top, *left, *right])
            }
            ClauseTest::InArea(area) => {
                columns = numbers_of(scope, &position_columns(name))?;
                Kernel::InArea(Arc::clone(area))
            }
            ClauseTest::InLayer(test) => {
                if !test.is_resolved() {
                    let reason = format!("layer {} is not resolved", test.name);
                    return Err(DataFusionError::Internal(reason));
                }
                columns = numbers_of(scope, &position_columns(name))?;
                Kernel::InLayer(test.clone())
            }
            test => {
                let (index, kind) = scope.column(name)?;
                if let (ColumnKind::CategoryList | ColumnKind::TextList, ClauseTest::OneOf(_)) =
                    (kind, test)
                {
                    Kernel::SomeItem(Predicate {
                        clauses: vec![Self::item_text(index, kind, clause)?],
                    })
                } else {
                    columns.push(index);
                    by_value = kind == ColumnKind::Category;
                    match Kernel::native(kind, test) {
                        Some(kernel) => kernel,
                        None => Self::expression_of(scope, clause)?,
                    }
                }
            }
        };
        Ok(Self {
            clause: clause.clone(),
            columns,
            by_value,
            kernel,
        })
    }

    /// Compiles a clause on the texts of a list to a clause over the texts themselves.
    fn item_text(index: usize, kind: ColumnKind, clause: &Clause) -> Result<Self, DataFusionError> {
        let by_value = kind == ColumnKind::CategoryList;
        let kernel = if by_value {
            Kernel::Among
        } else {
            let text = Field::new(clause.column.as_ref(), ColumnKind::Text.data_type(), true);
            let ClauseTest::OneOf(texts) = &clause.test else {
                let reason = format!("no test of texts on {}", clause.column);
                return Err(DataFusionError::Internal(reason));
            };
            physical(vec![text], one_of(&clause.column, texts))?
        };
        Ok(Self {
            clause: clause.clone(),
            columns: vec![index],
            by_value,
            kernel,
        })
    }

    /// Compiles the clause to an expression over its columns, even if there is a loop for it.
    #[cfg(test)]
    pub(super) fn expression(
        schema: &TableSchema,
        clause: &Clause,
    ) -> Result<Kernel, DataFusionError> {
        Self::expression_of(ColumnScope::Table(schema), clause)
    }

    fn expression_of(scope: ColumnScope<'_>, clause: &Clause) -> Result<Kernel, DataFusionError> {
        let name = clause.column.as_ref();
        let names = match clause.test {
            ClauseTest::Within { .. }
            | ClauseTest::InBox { .. }
            | ClauseTest::InArea(_)
            | ClauseTest::InLayer(_) => position_columns(name).to_vec(),
            _ => vec![name.into()],
        };
        let mut fields = Vec::with_capacity(2);
        for name in &names {
            let (_, kind) = scope.column(name)?;
            fields.push(Field::new(name.as_ref(), kind.data_type(), true));
        }
        physical(fields, scoped_expr(scope, clause)?)
    }

    /// Returns the rank of the clause. Clauses of lower rank run first: conditions on position, which exclude most
    /// rows, then the cheapest.
    fn rank(&self) -> u8 {
        match &self.kernel {
            Kernel::Within { .. } | Kernel::InBox(_) | Kernel::InArea(_) => 0,
            Kernel::Among => 1,
            Kernel::Between(..) | Kernel::AtLeast(_) | Kernel::BetweenWhole(..) => 2,
            Kernel::Flag(_) => 3,
            Kernel::Any(predicates) => predicates.iter().map(Predicate::rank).max().unwrap_or(0),
            Kernel::Expression { .. } if self.by_value => 1,
            Kernel::SomeItem(_) => 4,
            Kernel::Expression { .. } => 5,
            // Searches a tree for each row.
            Kernel::InLayer(_) => 6,
        }
    }

    /// Returns whether a row group may contain a match for this clause.
    fn may_match(&self, chunk: &RowGroup) -> bool {
        let bounds = |nth: usize| self.columns.get(nth).map(|column| &chunk.bounds[*column]);
        match (&self.kernel, &self.clause.test) {
            (Kernel::Any(predicates), _) => predicates.iter().any(|all| all.may_match(chunk)),
            (Kernel::SomeItem(predicate), _) => predicate.may_match(chunk),
            (_, ClauseTest::OneOf(texts)) => match bounds(0) {
                Some(ColumnStatistics::AllMissing) => false,
                Some(ColumnStatistics::Texts(min, max)) => texts
                    .iter()
                    .any(|text| text.as_bytes() >= min.as_ref() && text.as_bytes() <= max.as_ref()),
                _ => true,
            },
            _ => {
                let in_ranges =
                    (0..self.columns.len()).all(|nth| match (bounds(nth), self.range(nth)) {
                        (Some(ColumnStatistics::AllMissing), _) => false,
                        (Some(ColumnStatistics::Numbers(least, greatest)), Some((min, max))) => {
                            *greatest >= min && *least <= max
                        }
                        _ => true,
                    });
                in_ranges
                    && match (bounds(0), bounds(1)) {
                        (
                            Some(ColumnStatistics::Numbers(south, north)),
                            Some(ColumnStatistics::Numbers(west, east)),
                        ) => self.may_hold_between((*south, *north), (*west, *east)),
                        _ => true,
                    }
            }
        }
    }

    /// Returns the range of the n-th column's values outside which the clause cannot hold.
    pub fn range(&self, nth: usize) -> Option<(f64, f64)> {
        let open = |min: Option<f64>, max: Option<f64>| {
            Some((
                min.unwrap_or(f64::NEG_INFINITY),
                max.unwrap_or(f64::INFINITY),
            ))
        };
        let side = |[south, north, west, east]: [f64; 4]| {
            let sides = [(south, north), (west, east)];
            sides.get(nth).copied()
        };
        match &self.clause.test {
            ClauseTest::Number { min, max } => open(*min, *max),
            ClauseTest::Day { from, to } => open(from.map(f64::from), to.map(f64::from)),
            // Milliseconds of any four-digit year are exact in a double.
            ClauseTest::Moment { from, to } => {
                open(from.map(|at| at as f64), to.map(|at| at as f64))
            }
            ClauseTest::Within { lat, lon, radius_m } => {
                let (lat_span, lon_span) = covering_span_degrees(*lat, *radius_m);
                side([
                    lat - lat_span,
                    lat + lat_span,
                    lon - lon_span,
                    lon + lon_span,
                ])
            }
            ClauseTest::InBox {
                top,
                left,
                bottom,
                right,
            } => side([*bottom, *top, *left, *right]),
            ClauseTest::InArea(area) => side(area.bounds()),
            ClauseTest::InLayer(test) => side(test.bounds()?),
            ClauseTest::OneOf(_)
            | ClauseTest::Is(_)
            | ClauseTest::Any(_)
            | ClauseTest::SomeItem(_) => None,
        }
    }

    /// Returns whether positions between these latitudes and longitudes may satisfy the clause: `false` only if its
    /// area or layer does not intersect their box.
    pub fn may_hold_between(&self, lats: (f64, f64), lons: (f64, f64)) -> bool {
        match &self.kernel {
            Kernel::InArea(area) => area.meets([lats.0, lats.1, lons.0, lons.1]),
            Kernel::InLayer(test) => test.may_hold_in([lats.0, lats.1, lons.0, lons.1]),
            _ => true,
        }
    }

    /// Returns, for a category, whether the clause holds for each distinct value.
    pub fn holds_on(&self, values: &ArrayRef) -> Result<Vec<bool>, DataFusionError> {
        match (&self.kernel, &self.clause.test) {
            (Kernel::Expression { .. }, _) => {
                let truth = self.evaluate(vec![Arc::clone(values)])?;
                Ok(truth.iter().collect())
            }
            (_, ClauseTest::OneOf(texts)) => {
                let values = values.as_string::<i32>();
                if texts.len() <= LINEAR_SEARCH_MAX {
                    let holds = |value: &str| texts.iter().any(|text| text == value);
                    return Ok(values
                        .iter()
                        .map(|value| value.is_some_and(holds))
                        .collect());
                }
                let sought: HashSet<&str> = texts.iter().map(String::as_str).collect();
                let holds = |value: Option<&str>| value.is_some_and(|value| sought.contains(value));
                Ok(values.iter().map(holds).collect())
            }
            _ => Ok(vec![false; values.len()]),
        }
    }

    /// Evaluates the clause's expression over its columns and returns the rows on which it is true.
    pub fn evaluate(&self, columns: Vec<ArrayRef>) -> Result<BooleanBuffer, DataFusionError> {
        let Kernel::Expression {
            batch_schema,
            expression,
        } = &self.kernel
        else {
            let reason = "the clause runs as a loop and has no expression".to_owned();
            return Err(DataFusionError::Internal(reason));
        };
        let rows = columns.first().map_or(0, |column| column.len());
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(Arc::clone(batch_schema), columns, &options)?;
        let result = expression.evaluate(&batch)?.into_array(rows)?;
        Ok(truth(result.as_boolean()))
    }
}

impl Kernel {
    /// Returns the loop that is equivalent to a clause's expression; `None` if there is none.
    fn native(kind: ColumnKind, test: &ClauseTest) -> Option<Self> {
        match (kind, test) {
            // A range without bounds tests that the value is present; the expression does that.
            (ColumnKind::Number, ClauseTest::Number { min, max }) => match (min, max) {
                (min, Some(max)) => Some(Self::Between(min.unwrap_or(f64::NEG_INFINITY), *max)),
                (Some(min), None) => Some(Self::AtLeast(*min)),
                (None, None) => None,
            },
            (ColumnKind::Integer | ColumnKind::SmallInteger, ClauseTest::Number { min, max }) => {
                // The conversion saturates.
                let least = min.map_or(i64::MIN, |min| min.ceil() as i64);
                let greatest = max.map_or(i64::MAX, |max| max.floor() as i64);
                Some(Self::BetweenWhole(least, greatest))
            }
            (ColumnKind::Date, ClauseTest::Day { from, to }) => Some(Self::BetweenWhole(
                from.map_or(i64::MIN, i64::from),
                to.map_or(i64::MAX, i64::from),
            )),
            (ColumnKind::Moment, ClauseTest::Moment { from, to }) => Some(Self::BetweenWhole(
                from.unwrap_or(i64::MIN),
                to.unwrap_or(i64::MAX),
            )),
            (ColumnKind::Flag, ClauseTest::Is(flag)) => Some(Self::Flag(*flag)),
            (ColumnKind::Category, ClauseTest::OneOf(_)) => Some(Self::Among),
            _ => None,
        }
    }
}

/// Returns the column numbers of two coordinate columns.
fn numbers_of(
    scope: ColumnScope<'_>,
    names: &[Cow<'_, str>],
) -> Result<Vec<usize>, DataFusionError> {
    names
        .iter()
        .map(|name| match scope.column(name)? {
            (index, ColumnKind::Number) => Ok(index),
            (_, kind) => Err(DataFusionError::Plan(format!(
                "{name} is {kind:?}, expected a coordinate"
            ))),
        })
        .collect()
}

fn physical(fields: Vec<Field>, expression: Expr) -> Result<Kernel, DataFusionError> {
    let batch_schema = Arc::new(Schema::new(fields));
    let df_schema = DFSchema::try_from(batch_schema.as_ref().clone())?;
    let expression = create_physical_expr(
        &expression,
        &df_schema,
        &ExecutionProps::new(),
        &PhysicalPlanningContext::default(),
    )?;
    Ok(Kernel::Expression {
        batch_schema,
        expression,
    })
}
