//! The DataFusion context of queries: settings, memory and disk limits, and functions.

use std::sync::Arc;

use datafusion::error::Result;
use datafusion::execution::SessionStateBuilder;
use datafusion::execution::memory_pool::FairSpillPool;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::logical_expr::ScalarUDF;
use datafusion::prelude::{SessionConfig, SessionContext};

use crate::functions;
use toise_engine::functions::{geo_distance, in_area};

const BATCH_ROWS: usize = 4_096;

/// Creates a context without tables. It has `memory_bytes` of memory, spills at most `spill_bytes` to disk, and runs a
/// query on `threads` threads.
///
/// # Errors
/// The folder of temporary files cannot be created.
pub fn new_context(
    memory_bytes: usize,
    spill_bytes: u64,
    threads: usize,
    product_functions: Vec<ScalarUDF>,
) -> Result<SessionContext> {
    let runtime = RuntimeEnvBuilder::new()
        .with_memory_pool(Arc::new(FairSpillPool::new(memory_bytes)))
        .with_max_temp_directory_size(spill_bytes)
        .build_arc()?;
    let mut config = SessionConfig::new()
        .with_information_schema(true)
        .with_batch_size(BATCH_ROWS)
        .with_target_partitions(threads.max(1));
    let options = config.options_mut();
    options.sql_parser.collect_spans = true;
    // Older readers of Arrow, Parquet and Flight do not know view types.
    options.optimizer.expand_views_at_output = true;
    let mut builder = SessionStateBuilder::new()
        .with_config(config)
        .with_runtime_env(runtime)
        .with_default_features();
    let mut planners = functions::planners();
    planners.extend(builder.expr_planners().take().unwrap_or_default());
    let context = SessionContext::new_with_state(builder.with_expr_planners(planners).build());
    context.register_udf(geo_distance().as_ref().clone());
    context.register_udf(in_area().as_ref().clone());
    for function in product_functions {
        context.register_udf(function);
    }
    functions::register(&context)?;
    Ok(context)
}
