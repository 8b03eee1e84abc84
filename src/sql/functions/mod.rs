//! Functions and operators in addition to DataFusion's: those that users of DuckDB expect, and bounded forms of
//! functions whose output can far exceed their input.
//!
//! The functions of the product, such as `geo_distance` and `estimate_price`, come from the crates that own them.

pub mod aggregates;
pub mod aliases;
mod bounded;
pub(crate) mod bounds;
mod concat_operator;
pub mod date_diff;
pub mod date_parts;
mod lengths;
pub mod regexp_extract;
mod sizes;

use std::sync::Arc;

use datafusion::error::Result;
use datafusion::execution::context::SessionContext;
use datafusion::logical_expr::ScalarUDF;
use datafusion::logical_expr::planner::ExprPlanner;

use bounds::Bounds;

/// Adds all functions of this module to a session, within its bounds.
///
/// # Errors
/// No error depends on the query: every extended function exists.
pub(crate) fn register(context: &SessionContext, bounds: &Arc<Bounds>) -> Result<()> {
    for function in date_parts::functions() {
        context.register_udf(function);
    }
    context.register_udf(date_diff::date_diff());
    context.register_udf(regexp_extract::regexp_extract());
    context.register_udf(lengths::len());
    for function in aggregates::functions() {
        context.register_udaf(function);
    }
    aliases::register(context)?;
    bounded::register(context, bounds)?;
    Ok(())
}

/// Returns the functions that only operators use and that no session knows by name, for reading plans from other
/// machines.
pub fn of_operators() -> Vec<Arc<ScalarUDF>> {
    vec![Arc::new(concat_operator::texts(&Arc::default()))]
}

/// Returns the planners of operators, which take precedence over DataFusion's.
pub(crate) fn planners(bounds: &Arc<Bounds>) -> Vec<Arc<dyn ExprPlanner>> {
    vec![Arc::new(concat_operator::BoundedOperators::new(bounds))]
}
