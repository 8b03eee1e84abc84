//! The SQL table `market`: market indicators with one row for each level, length of period, place, class and period.
//!
//! Nothing is stored. A query's filters on level, length of period, department, place and class decide which reports
//! are computed. Reports cover all days, so that a department's index begins with the period of its first sale.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatch, StringArray, new_null_array};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{DataFusionError, Result, ScalarValue};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{
    BinaryExpr, Expr, Operator, TableProviderFilterPushDown, TableType,
};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::{PartitionStream, StreamingTableExec};
use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};
use serde::{Deserialize, Serialize};

use crate::period::Division;
use crate::place::Level;
use crate::report;
use crate::request::{CLASSES, MarketRequest, PLACES_MAX};
use crate::{Error, Market};
use toise_engine::cancellation::Interrupt;
use toise_engine::priority;
use toise_estimate::HomeClass;
use toise_geo::departments;

/// Name of the table.
pub const NAME: &str = "market";
/// The columns before those of a report.
const FIRST: [&str; 3] = ["level", "period_type", "department"];
/// Values of `period_type`.
const PERIOD_TYPES: [(&str, Division); 3] = [
    ("all", Division::Whole),
    ("month", Division::Month),
    ("quarter", Division::Quarter),
];

/// Function that computes the rows of one part of the table in another process; it takes the part as JSON. Blocks.
pub type ComputedElsewhere = Arc<dyn Fn(&str) -> Result<RecordBatch> + Send + Sync>;

/// The table. It computes reports on separate threads of low priority, or lets another process compute them.
#[derive(Clone)]
pub struct MarketTable {
    reports: Reports,
    schema: SchemaRef,
}

/// Where the reports of a table are computed.
#[derive(Clone)]
enum Reports {
    Here(Market, Arc<ThreadPool>),
    Elsewhere(ComputedElsewhere),
}

impl MarketTable {
    /// Creates the table over market indicators, with this many threads.
    ///
    /// # Errors
    /// The threads cannot be started.
    pub fn new(market: Market, threads: usize) -> Result<Self, ThreadPoolBuildError> {
        let threads = priority::with_lowered_priority(|| {
            ThreadPoolBuilder::new()
                .num_threads(threads.max(1))
                .thread_name(|index| format!("market-{index}"))
                .build()
        })?;
        Ok(Self {
            reports: Reports::Here(market, Arc::new(threads)),
            schema: schema(),
        })
    }

    /// Creates the table over reports that another process computes with [`MarketTable::part`].
    pub fn elsewhere(compute: ComputedElsewhere) -> Self {
        Self {
            reports: Reports::Elsewhere(compute),
            schema: schema(),
        }
    }

    /// Computes the rows of one part for another process. Blocks.
    ///
    /// # Errors
    /// `part` is invalid, or the report cannot be computed.
    pub fn part(&self, part: &str, interrupt: &Interrupt) -> Result<RecordBatch> {
        let part: Part =
            serde_json::from_str(part).map_err(|error| DataFusionError::External(error.into()))?;
        self.rows(&part, interrupt)
    }

    /// Computes the rows of one report and adds the first columns of the table.
    fn rows(&self, part: &Part, interrupt: &Interrupt) -> Result<RecordBatch> {
        let Some(request) = part.request() else {
            return Ok(RecordBatch::new_empty(Arc::clone(&self.schema)));
        };
        let (market, threads) = match &self.reports {
            Reports::Here(market, threads) => (market, threads),
            Reports::Elsewhere(compute) => {
                let part = serde_json::to_string(part);
                return compute(&part.map_err(|error| DataFusionError::External(error.into()))?);
            }
        };
        let made = threads.install(|| market.report(&request, interrupt));
        let made = made.map_err(explained)?;
        Ok(part.with_first_columns(&made.rows, &self.schema)?)
    }
}

impl std::fmt::Debug for MarketTable {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("MarketTable")
            .finish_non_exhaustive()
    }
}

fn schema() -> SchemaRef {
    let first = FIRST.map(|name| Field::new(name, DataType::Utf8, name == "department"));
    let rest = report::schema().fields().iter();
    let fields = first.into_iter().map(Arc::new).chain(rest.cloned());
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

#[async_trait]
impl TableProvider for MarketTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::View
    }

    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> Result<Vec<TableProviderFilterPushDown>> {
        // DataFusion applies every filter again; the filters read here only reduce the reports and places that are
        // computed.
        Ok(vec![TableProviderFilterPushDown::Inexact; filters.len()])
    }

    async fn scan(
        &self,
        _state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let wanted = PushedFilters::of(filters);
        let parts = wanted.parts().into_iter().map(|part| {
            let table = self.clone();
            Arc::new(ReportStream { table, part }) as Arc<dyn PartitionStream>
        });
        let plan = StreamingTableExec::try_new(
            self.schema(),
            parts.collect(),
            projection,
            Vec::new(),
            false,
            limit,
        )?;
        Ok(Arc::new(plan))
    }
}

/// Values of some columns that the filters of a query allow; `None` if any value is allowed.
#[derive(Debug, Default)]
struct PushedFilters {
    columns: [Option<BTreeSet<String>>; PushedFilters::READ.len()],
}

impl PushedFilters {
    /// The columns whose filters are read.
    const READ: [&'static str; 5] = ["level", "period_type", "department", "place", "type"];

    fn of(filters: &[Expr]) -> Self {
        let mut wanted = Self::default();
        for filter in filters {
            wanted.narrow(filter);
        }
        wanted
    }

    fn narrow(&mut self, filter: &Expr) {
        if let Expr::BinaryExpr(BinaryExpr { left, op, right }) = filter
            && *op == Operator::And
        {
            self.narrow(left);
            self.narrow(right);
            return;
        }
        let Some((column, values)) = listed(filter) else {
            return;
        };
        let index = Self::READ.iter().position(|read| *read == column);
        if let Some(known) = index.and_then(|index| self.columns.get_mut(index)) {
            *known = Some(match known.take() {
                None => values,
                Some(before) => before.intersection(&values).cloned().collect(),
            });
        }
    }

    fn values(&self, column: &str) -> Option<&BTreeSet<String>> {
        let index = Self::READ.iter().position(|read| *read == column)?;
        self.columns.get(index)?.as_ref()
    }

    fn allows(&self, column: &str, value: &str) -> bool {
        self.values(column)
            .is_none_or(|values| values.contains(value))
    }

    /// Returns the reports to compute.
    fn parts(&self) -> Vec<Part> {
        let classes = [HomeClass::Flat, HomeClass::House];
        let named = CLASSES.into_iter().zip(classes);
        let classes: Vec<HomeClass> = named
            .filter(|(name, _)| self.allows("type", name))
            .map(|(_, class)| class)
            .collect();
        let mut parts = Vec::new();
        let levels = Level::ALL.into_iter();
        for level in levels.filter(|level| self.allows("level", level.as_str())) {
            for (period_type, by) in PERIOD_TYPES {
                if !self.allows("period_type", period_type) || classes.is_empty() {
                    continue;
                }
                parts.push(Part {
                    level,
                    by,
                    class: Some(classes.as_slice())
                        .filter(|known| known.len() == 1)
                        .and_then(|known| known.first().copied()),
                    departments: self.codes("department"),
                    communes: match level {
                        Level::Commune => self.codes("place"),
                        _ => None,
                    },
                });
            }
        }
        parts
    }

    /// Returns the codes that a column may have; `None` if they are not known, or too many for one request.
    fn codes(&self, column: &str) -> Option<Vec<String>> {
        let values = self
            .values(column)
            .filter(|known| known.len() <= PLACES_MAX)?;
        Some(values.iter().cloned().collect())
    }
}

/// Returns the column and strings of `column = 'text'`, `column in ('text', …)`, or several of these on one column
/// joined by `or`.
fn listed(filter: &Expr) -> Option<(&str, BTreeSet<String>)> {
    match filter {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if *op == Operator::Eq => {
            let (column, value) = match (left.as_ref(), right.as_ref()) {
                (Expr::Column(column), value) | (value, Expr::Column(column)) => (column, value),
                _ => return None,
            };
            Some((column.name(), BTreeSet::from([text(value)?])))
        }
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if *op == Operator::Or => {
            let ((column, mut values), (other, more)) = (listed(left)?, listed(right)?);
            values.extend(more);
            (column == other).then_some((column, values))
        }
        Expr::InList(list) if !list.negated => {
            let Expr::Column(column) = list.expr.as_ref() else {
                return None;
            };
            let values: Option<BTreeSet<String>> = list.list.iter().map(text).collect();
            Some((column.name(), values?))
        }
        _ => None,
    }
}

fn text(value: &Expr) -> Option<String> {
    let Expr::Literal(value, _) = value else {
        return None;
    };
    match value {
        ScalarValue::Utf8(text) | ScalarValue::LargeUtf8(text) | ScalarValue::Utf8View(text) => {
            text.clone()
        }
        _ => None,
    }
}

/// One report of the table.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Part {
    level: Level,
    by: Division,
    class: Option<HomeClass>,
    departments: Option<Vec<String>>,
    communes: Option<Vec<String>>,
}

impl Part {
    /// Returns the request for the report; `None` if no place can match.
    fn request(&self) -> Option<MarketRequest> {
        let is_empty = |codes: &Option<Vec<String>>| codes.as_ref().is_some_and(Vec::is_empty);
        // A cell has no department, because it may be in two, so a condition on the department excludes all cells.
        let is_excluded = self.level == Level::Cell && self.departments.is_some();
        if is_excluded || is_empty(&self.departments) || is_empty(&self.communes) {
            return None;
        }
        Some(MarketRequest {
            class: self.class,
            by: self.by,
            departments: self.departments.clone().unwrap_or_default(),
            communes: self.communes.clone().unwrap_or_default(),
            ..MarketRequest::of_level(self.level)
        })
    }

    fn period_type(&self) -> &'static str {
        let mut types = PERIOD_TYPES.iter();
        types
            .find(|(_, by)| *by == self.by)
            .map_or("all", |(name, _)| name)
    }

    fn with_first_columns(
        &self,
        rows: &RecordBatch,
        schema: &SchemaRef,
    ) -> Result<RecordBatch, arrow::error::ArrowError> {
        let count = rows.num_rows();
        let same = |text: &str| Arc::new(StringArray::from(vec![text; count])) as ArrayRef;
        let places = rows.column(0).as_any().downcast_ref::<StringArray>();
        let department = match places {
            Some(places) if self.level != Level::Cell => {
                let codes = places.iter().map(|code| departments::for_commune(code?));
                Arc::new(codes.collect::<StringArray>())
            }
            _ => new_null_array(&DataType::Utf8, count),
        };
        let mut columns = vec![
            same(self.level.as_str()),
            same(self.period_type()),
            department,
        ];
        columns.extend(rows.columns().iter().cloned());
        RecordBatch::try_new(Arc::clone(schema), columns)
    }
}

/// Stream that computes a report when it is polled, on threads other than the query's.
#[derive(Debug)]
struct ReportStream {
    table: MarketTable,
    part: Part,
}

impl PartitionStream for ReportStream {
    fn schema(&self) -> &SchemaRef {
        &self.table.schema
    }

    fn execute(&self, _context: Arc<TaskContext>) -> SendableRecordBatchStream {
        let (table, part) = (self.table.clone(), self.part.clone());
        let made = async move {
            let interrupt = Interrupt::default();
            // A query that ends early drops this future, which cancels the report.
            let _raise = interrupt.raise_on_drop();
            let making = tokio::task::spawn_blocking({
                let interrupt = interrupt.clone();
                move || table.rows(&part, &interrupt)
            });
            making
                .await
                .map_err(|error| DataFusionError::External(error.into()))?
        };
        let schema = Arc::clone(&self.table.schema);
        Box::pin(RecordBatchStreamAdapter::new(
            schema,
            futures::stream::once(made),
        ))
    }
}

/// Converts an error. A report that is too large gets a message that says which conditions would help.
fn explained(error: Error) -> DataFusionError {
    match error {
        Error::Invalid(fault) => {
            let message = format!(
                "a report of the table {NAME} {}: name a level, a period_type and a department",
                fault.message
            );
            DataFusionError::Execution(message)
        }
        error => DataFusionError::External(error.into()),
    }
}
