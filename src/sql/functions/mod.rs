//! Functions in addition to DataFusion's: those that users of DuckDB expect.
//!
//! The functions of the product, such as `geo_distance` and `estimate_price`, come from the crates that own them.

pub mod aggregates;
pub mod aliases;
mod concat_operator;
pub mod date_diff;
pub mod date_parts;
mod lengths;
pub mod regexp_extract;

use std::sync::Arc;

use datafusion::error::Result;
use datafusion::execution::context::SessionContext;
use datafusion::logical_expr::planner::ExprPlanner;

/// Adds all functions of this module to a session.
///
/// # Errors
/// An extended function does not exist in the engine, which cannot happen.
pub(crate) fn register(context: &SessionContext) -> Result<()> {
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
    Ok(())
}

/// Returns the planners of operators, which take precedence over the engine's.
pub(crate) fn planners() -> Vec<Arc<dyn ExprPlanner>> {
    vec![Arc::new(concat_operator::TextPlaceholders)]
}
