//! Plans `$1 || $2` with its placeholders as strings. Otherwise the engine would refuse it, because the type of a
//! placeholder is not known when a query is planned.

use arrow::datatypes::DataType;
use datafusion::common::DFSchema;
use datafusion::error::Result;
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::{Expr, cast};
use datafusion::sql::sqlparser::ast::BinaryOperator;

/// The planner of `||`.
#[derive(Debug)]
pub(super) struct TextPlaceholders;

impl ExprPlanner for TextPlaceholders {
    fn plan_binary_op(
        &self,
        mut expr: RawBinaryExpr,
        _schema: &DFSchema,
    ) -> Result<PlannerResult<RawBinaryExpr>> {
        if expr.op == BinaryOperator::StringConcat {
            expr.left = as_text(expr.left);
            expr.right = as_text(expr.right);
        }
        Ok(PlannerResult::Original(expr))
    }
}

fn as_text(side: Expr) -> Expr {
    match side {
        Expr::Placeholder(_) => cast(side, DataType::Utf8),
        side => side,
    }
}
