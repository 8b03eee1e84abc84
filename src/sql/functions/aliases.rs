//! DuckDB's names for functions of DataFusion.

use datafusion::error::Result;
use datafusion::execution::FunctionRegistry;
use datafusion::execution::context::SessionContext;

/// DuckDB's name of a scalar function and DataFusion's.
#[rustfmt::skip]
const SCALAR: [(&str, &str); 15] = [
    ("strftime", "to_char"), ("strptime", "to_timestamp"), ("regexp_matches", "regexp_like"),
    ("string_split", "string_to_array"), ("str_split", "string_to_array"), ("list_value", "make_array"),
    ("list_unique", "array_distinct"), ("list_count", "array_length"), ("today", "current_date"),
    ("typeof", "arrow_typeof"), ("ceiling", "ceil"), ("lcase", "lower"), ("ucase", "upper"),
    ("prefix", "starts_with"), ("suffix", "ends_with"),
];

/// DuckDB's name of an aggregate function and DataFusion's.
const AGGREGATE: [(&str, &str); 8] = [
    ("list", "array_agg"),
    ("group_concat", "string_agg"),
    ("quantile", "percentile_cont"),
    ("approx_count_distinct", "approx_distinct"),
    ("approx_quantile", "approx_percentile_cont"),
    ("first", "first_value"),
    ("last", "last_value"),
    ("arbitrary", "any_value"),
];

/// Adds the names to a session.
pub(super) fn register(context: &SessionContext) -> Result<()> {
    let mut state = context.state_ref().write().clone();
    for (name, of) in SCALAR {
        if let Ok(function) = state.udf(of) {
            state.register_udf(function.as_ref().clone().with_aliases([name]).into())?;
        }
    }
    for (name, of) in AGGREGATE {
        if let Ok(function) = state.udaf(of) {
            state.register_udaf(function.as_ref().clone().with_aliases([name]).into())?;
        }
    }
    *context.state_ref().write() = state;
    Ok(())
}

/// Returns all names added here, for completion.
pub fn names() -> impl Iterator<Item = &'static str> {
    let scalar = SCALAR.iter().map(|(name, _)| *name);
    scalar.chain(AGGREGATE.iter().map(|(name, _)| *name))
}
