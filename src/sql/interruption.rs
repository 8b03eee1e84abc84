//! Ends queries at their time limit, whatever they compute.
//!
//! A task can be stopped only where it yields, and DataFusion yields after reading some batches. A join can produce
//! many batches from one, and a nested loop may test billions of pairs before it produces any. Here every join yields
//! after producing some batches, and a nested loop checks the clock at every test.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::time::Instant;

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, Schema};
use datafusion::common::config::ConfigOptions;
use datafusion::common::exec_err;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::error::Result;
use datafusion::logical_expr::ColumnarValue;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::joins::utils::JoinFilter;
use datafusion::physical_plan::joins::{
    CrossJoinExec, HashJoinExec, NestedLoopJoinExec, NestedLoopJoinExecBuilder, SortMergeJoinExec,
};

/// The optimizer rule that makes joins yield, and ends nested loops at a deadline.
#[derive(Debug)]
pub(crate) struct InterruptibleJoins {
    /// When nested loops end; `None` for never.
    pub deadline: Option<Instant>,
}

impl PhysicalOptimizerRule for InterruptibleJoins {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|node| self.interruptible(node)).data()
    }

    fn name(&self) -> &str {
        "interruptible_joins"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

impl InterruptibleJoins {
    fn interruptible(
        &self,
        node: Arc<dyn ExecutionPlan>,
    ) -> Result<Transformed<Arc<dyn ExecutionPlan>>> {
        if let Some(join) = node.downcast_ref::<NestedLoopJoinExec>() {
            let timed = match (join.filter(), self.deadline) {
                (Some(filter), Some(deadline)) => {
                    let filter = timed(filter, deadline);
                    let timed = NestedLoopJoinExecBuilder::from(join).with_filter(Some(filter));
                    Arc::new(timed.build()?)
                }
                _ => node,
            };
            return Ok(Transformed::yes(Arc::new(CooperativeExec::new(timed))));
        }
        let is_join = node.downcast_ref::<CrossJoinExec>().is_some()
            || node.downcast_ref::<HashJoinExec>().is_some()
            || node.downcast_ref::<SortMergeJoinExec>().is_some();
        Ok(if is_join {
            Transformed::yes(Arc::new(CooperativeExec::new(node)))
        } else {
            Transformed::no(node)
        })
    }
}

/// Returns a filter that fails once the deadline has passed.
fn timed(filter: &JoinFilter, deadline: Instant) -> JoinFilter {
    let expression = TimedExpression {
        inner: Arc::clone(filter.expression()),
        deadline,
    };
    JoinFilter::new(
        Arc::new(expression),
        filter.column_indices().to_vec(),
        Arc::clone(filter.schema()),
    )
}

/// An expression that checks the clock before each batch.
#[derive(Debug, Eq)]
struct TimedExpression {
    inner: Arc<dyn PhysicalExpr>,
    deadline: Instant,
}

impl PartialEq for TimedExpression {
    fn eq(&self, other: &Self) -> bool {
        self.inner.eq(&other.inner) && self.deadline == other.deadline
    }
}

impl Hash for TimedExpression {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.inner.hash(state);
    }
}

impl fmt::Display for TimedExpression {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(formatter)
    }
}

impl PhysicalExpr for TimedExpression {
    fn data_type(&self, schema: &Schema) -> Result<DataType> {
        self.inner.data_type(schema)
    }

    fn nullable(&self, schema: &Schema) -> Result<bool> {
        self.inner.nullable(schema)
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        if Instant::now() > self.deadline {
            return exec_err!("the query took longer than allowed");
        }
        self.inner.evaluate(batch)
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        vec![&self.inner]
    }

    fn with_new_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn PhysicalExpr>>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        Ok(match children.pop() {
            Some(inner) => Arc::new(Self {
                inner,
                deadline: self.deadline,
            }),
            None => self,
        })
    }

    fn fmt_sql(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt_sql(formatter)
    }
}
