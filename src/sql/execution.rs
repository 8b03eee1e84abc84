//! Runs a plan on this machine with few enough rows in memory at once.
//!
//! The memory pool of a query counts what its operators keep. It does not count batches in transit: constants that are
//! repeated for every row, texts that functions return, rows that a join repeats, rows that a window function waits
//! for. So the batch size depends on the length of the plan's constants, and a guard between any two operators checks
//! the batches that pass ([`Guarded`]). If rows are too long for the batch size, the query is run again with a smaller
//! one.

use std::sync::Arc;

use datafusion::common::plan_err;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::error::Result;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::logical_expr::{Operator, WindowFrameBound, WindowFrameUnits};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_expr::window::WindowExpr;
use datafusion::physical_plan::expressions::{BinaryExpr, InListExpr, LikeExpr, Literal};
use datafusion::physical_plan::joins::{
    CrossJoinExec, HashJoinExec, NestedLoopJoinExec, SortMergeJoinExec,
};
use datafusion::physical_plan::scalar_subquery::ScalarSubqueryExec;
use datafusion::physical_plan::windows::{BoundedWindowAggExec, WindowAggExec};
use datafusion::physical_plan::{
    ChildrenPropertiesMode, ExecutionPlan, ReplaceChildrenOptions, execute_stream,
};
use datafusion::prelude::DataFrame;
use datafusion::scalar::ScalarValue;

use crate::guard::{Guard, Guarded};

/// Rows of a batch, unless they are long.
pub(crate) const BATCH_ROWS: usize = 4_096;
/// Maximum bytes of a batch's copies of the constants of a plan.
const CONSTANTS_BYTES_MAX: usize = 8 << 20;
/// Maximum bytes of a constant that a window function repeats for every row it waits for.
const WINDOW_CONSTANT_BYTES_MAX: usize = 1 << 10;
/// Functions whose result is as large as the window.
const COLLECTING: [&str; 2] = ["array_agg", "string_agg"];
/// Rows before the current one that a window may look back without their memory being counted.
const LOOKED_BACK_MAX: u64 = 100_000;
/// Maximum bytes of the rows of a batch that an operator collects or a join produces.
const BATCH_BYTES_MAX: usize = 128 << 20;

/// Plans a query and runs it here, in batches of at most `rows_max` rows. No row has been read on return.
///
/// # Errors
/// The query cannot be planned, or not within its memory limits.
pub(crate) async fn run(
    frame: &DataFrame,
    rows_max: usize,
    value_bytes: usize,
) -> Result<SendableRecordBatchStream> {
    let (mut state, logical) = frame.clone().into_parts();
    let mut rows = rows_max;
    loop {
        let config = state.config().clone().with_batch_size(rows);
        *state.config_mut() = config;
        let plan = state.create_physical_plan(&logical).await?;
        let fitting = CONSTANTS_BYTES_MAX / constants_of_plan(&plan)?.max(1);
        if fitting < rows && rows > 1 {
            rows = fitting.max(1);
            continue;
        }
        let guards = Guards {
            rows,
            value_bytes,
            has_windows: plan.exists(|node| Ok(windows_of(node).is_some()))?,
        };
        let plan = guards.on(plan)?;
        return execute_stream(plan, state.task_ctx());
    }
}

/// The guards of a plan.
#[derive(Clone, Copy)]
struct Guards {
    rows: usize,
    value_bytes: usize,
    has_windows: bool,
}

impl Guards {
    fn on(self, plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
        let plan = plan
            .transform_up(|node| {
                if node.children().is_empty() {
                    return Ok(Transformed::no(node));
                }
                let children = node.children().into_iter().enumerate();
                let children = children.map(|(place, child)| {
                    let guard = self.of(&node, place);
                    Arc::new(Guarded::new(Arc::clone(child), guard)) as Arc<dyn ExecutionPlan>
                });
                let children = children.collect();
                // A guard has the properties of its input.
                let same = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Keep);
                Ok(Transformed::yes(node.replace_children(children, same)?))
            })
            .data()?;
        Ok(Arc::new(Guarded::new(plan, self.plain())))
    }

    fn plain(self) -> Guard {
        Guard {
            rows: self.rows,
            value_bytes: self.value_bytes,
            mean_bytes: BATCH_BYTES_MAX / self.rows,
            row_bytes: usize::MAX,
            repeated: Vec::new(),
            repeated_bytes: BATCH_BYTES_MAX,
            is_kept: false,
        }
    }

    /// The guard between a node and one of its children.
    fn of(self, node: &Arc<dyn ExecutionPlan>, child: usize) -> Guard {
        let plain = self.plain();
        if is_join(node) {
            // Any row may be repeated for a whole batch.
            return Guard {
                row_bytes: 2 * BATCH_BYTES_MAX / self.rows,
                ..plain
            };
        }
        if node.downcast_ref::<ScalarSubqueryExec>().is_some() && child > 0 {
            // A constant of the plan, whose length is known only at run time.
            let subqueries = node.children().len() - 1;
            let window_bytes = if self.has_windows {
                WINDOW_CONSTANT_BYTES_MAX
            } else {
                usize::MAX
            };
            return Guard {
                value_bytes: plain.value_bytes.min(window_bytes),
                row_bytes: CONSTANTS_BYTES_MAX / self.rows / subqueries,
                ..plain
            };
        }
        let Some(windows) = windows_of(node) else {
            return plain;
        };
        Guard {
            repeated: repeated_columns(windows),
            repeated_bytes: 2 * BATCH_BYTES_MAX / windows.len().max(1),
            is_kept: keeps_input(node),
            ..plain
        }
    }
}

/// Returns the columns whose values window functions may return for any row.
fn repeated_columns(windows: &[Arc<dyn WindowExpr>]) -> Vec<usize> {
    let given = windows.iter().flat_map(|window| window.expressions());
    let columns = given.flat_map(|expression| collect_columns(&expression));
    let mut columns: Vec<usize> = columns.map(|column| column.index()).collect();
    columns.sort_unstable();
    columns.dedup();
    columns
}

fn is_join(node: &Arc<dyn ExecutionPlan>) -> bool {
    node.downcast_ref::<CrossJoinExec>().is_some()
        || node.downcast_ref::<HashJoinExec>().is_some()
        || node.downcast_ref::<NestedLoopJoinExec>().is_some()
        || node.downcast_ref::<SortMergeJoinExec>().is_some()
}

/// Returns whether a node collects its input without counting it.
fn keeps_input(node: &Arc<dyn ExecutionPlan>) -> bool {
    if node.downcast_ref::<WindowAggExec>().is_some() {
        return true;
    }
    let bounded = node.downcast_ref::<BoundedWindowAggExec>();
    bounded.is_some_and(|window| window.window_expr().iter().any(looks_far_back))
}

fn looks_far_back(window: &Arc<dyn WindowExpr>) -> bool {
    let frame = window.get_window_frame();
    match &frame.start_bound {
        WindowFrameBound::Preceding(ScalarValue::UInt64(Some(rows)))
            if frame.units == WindowFrameUnits::Rows =>
        {
            *rows > LOOKED_BACK_MAX
        }
        // An unbounded frame keeps only its running result.
        WindowFrameBound::Preceding(bound) => !bound.is_null(),
        WindowFrameBound::CurrentRow | WindowFrameBound::Following(_) => false,
    }
}

/// Returns the bytes of the constants that a plan copies into each row.
fn constants_of_plan(plan: &Arc<dyn ExecutionPlan>) -> Result<usize> {
    let mut all = 0_usize;
    plan.apply(|node| {
        let mut of_node = 0_usize;
        node.apply_expressions(&mut |expression| {
            of_node = of_node.saturating_add(constants_of(expression));
            Ok(TreeNodeRecursion::Continue)
        })?;
        if let Some(windows) = windows_of(node) {
            check_windows(windows, of_node)?;
        }
        all = all.saturating_add(of_node);
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(all)
}

/// Returns the window functions of a node.
fn windows_of(node: &Arc<dyn ExecutionPlan>) -> Option<&[Arc<dyn WindowExpr>]> {
    let whole = node.downcast_ref::<WindowAggExec>();
    let bounded = node.downcast_ref::<BoundedWindowAggExec>();
    let whole = whole.map(WindowAggExec::window_expr);
    whole.or_else(|| bounded.map(BoundedWindowAggExec::window_expr))
}

/// Refuses window functions whose results would be too large for every row at once.
fn check_windows(windows: &[Arc<dyn WindowExpr>], constant_bytes: usize) -> Result<()> {
    if constant_bytes > WINDOW_CONSTANT_BYTES_MAX {
        return plan_err!(
            "a window function takes texts of at most {WINDOW_CONSTANT_BYTES_MAX} bytes"
        );
    }
    let called = |window: &Arc<dyn WindowExpr>, function: &str| {
        let rest = window.name().strip_prefix(function);
        rest.is_some_and(|rest| rest.starts_with('('))
    };
    for function in COLLECTING {
        if windows.iter().any(|window| called(window, function)) {
            return plan_err!(
                "{function} over a window would collect the rows again for each row: use group by instead"
            );
        }
    }
    Ok(())
}

fn constants_of(expression: &Arc<dyn PhysicalExpr>) -> usize {
    if let Some(literal) = expression.downcast_ref::<Literal>() {
        return long_bytes(literal.value());
    }
    // A constant that is only compared is not copied.
    let compares = expression.downcast_ref::<InListExpr>().is_some()
        || expression.downcast_ref::<LikeExpr>().is_some()
        || expression
            .downcast_ref::<BinaryExpr>()
            .is_some_and(|binary| binary.op().supports_propagation() || is_match(*binary.op()));
    let children = expression.children().into_iter();
    let copied = children.filter(|child| !(compares && child.downcast_ref::<Literal>().is_some()));
    copied.map(constants_of).fold(0, usize::saturating_add)
}

fn is_match(operator: Operator) -> bool {
    use Operator::{
        LikeMatch, NotLikeMatch, RegexIMatch, RegexMatch, RegexNotIMatch, RegexNotMatch,
    };
    matches!(
        operator,
        RegexMatch | RegexIMatch | RegexNotMatch | RegexNotIMatch | LikeMatch | NotLikeMatch
    )
}

/// Returns the bytes of a text or a list; 0 for types that are always short.
fn long_bytes(value: &ScalarValue) -> usize {
    match value {
        ScalarValue::Utf8(Some(text))
        | ScalarValue::LargeUtf8(Some(text))
        | ScalarValue::Utf8View(Some(text)) => text.len(),
        ScalarValue::Binary(Some(bytes))
        | ScalarValue::LargeBinary(Some(bytes))
        | ScalarValue::BinaryView(Some(bytes))
        | ScalarValue::FixedSizeBinary(_, Some(bytes)) => bytes.len(),
        ScalarValue::Dictionary(_, value) => long_bytes(value),
        ScalarValue::List(_)
        | ScalarValue::LargeList(_)
        | ScalarValue::FixedSizeList(_)
        | ScalarValue::Struct(_)
        | ScalarValue::Map(_) => value.size(),
        _ => 0,
    }
}
