//! Runs queries on workers.
//!
//! The engine cuts a plan into stages and gives each worker a task of every stage. If a worker dies, the engine fails
//! the query; this module drops the worker and runs the query again on the others. Rows are returned only when all have
//! arrived; until then they are in an unnamed temporary file.

use std::fs::File;
use std::io::{BufReader, BufWriter, Seek};
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow::ipc::reader::StreamReader;
use arrow::ipc::writer::StreamWriter;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::datasource::physical_plan::FileScanConfig;
use datafusion::datasource::source::DataSourceExec;
use datafusion::error::DataFusionError;
use datafusion::execution::{
    SendableRecordBatchStream, SessionState, SessionStateBuilder, TaskContext,
};
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::placeholder_row::PlaceholderRowExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{ExecutionPlan, execute_stream};
use datafusion::prelude::DataFrame;
use datafusion_distributed::{
    DistributedExec, DistributedExt, SessionStateBuilderExt, WorkerResolver,
};
use futures::{StreamExt, TryStreamExt};
use tonic::codegen::http::{HeaderMap, HeaderName};
use url::Url;

use super::counted::CountedChannels;
use super::{Cluster, Link, WorkerReport};
use crate::Error;
use crate::identity::workers_have;
pub use crate::protocol::QueryTerms;
use crate::protocol::TERMS;
use toise_engine::session::{STORE, Session};
use toise_sql::SqlError;
use toise_sql::limits::Limit;

/// Bytes of a scan that justify a task: 1, because a user who names workers wants all of them to be used.
const SCAN_BYTES_PER_TASK: usize = 1;
/// Maximum wait for the metrics of tasks after the last row.
const METRICS_TIMEOUT: Duration = Duration::from_secs(1);

/// The error of a query.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Limits on an answer that is spooled here.
#[derive(Clone, Copy, Debug)]
pub struct SpoolLimits {
    /// Maximum rows.
    pub rows_max: u64,
    /// Maximum bytes, as an Arrow stream.
    pub bytes_max: u64,
}

impl SpoolLimits {
    /// No limits except the space on disk.
    pub const NONE: Self = Self {
        rows_max: u64::MAX,
        bytes_max: u64::MAX,
    };
}

/// Outcome of running a query on workers.
pub(super) enum Shared {
    /// All its rows have arrived.
    Answered(QueryRows),
    /// Workers cannot run it; the reason in words.
    Impossible(String),
}

struct Workers(Vec<Url>);

impl WorkerResolver for Workers {
    fn get_urls(&self) -> datafusion::error::Result<Vec<Url>> {
        Ok(self.0.clone())
    }
}

/// The rows of a query.
pub struct QueryRows {
    /// Statistics of each worker; empty if the query ran in this process.
    pub workers: Vec<WorkerReport>,
    /// The rows.
    pub batches: SendableRecordBatchStream,
}

/// Returns why workers cannot run a plan; `None` if they can.
fn obstacle(plan: &Arc<dyn ExecutionPlan>) -> Option<String> {
    let mut found = None;
    for_each_leaf(plan, |leaf| {
        found = found.take().or_else(|| obstacle_of_leaf(leaf));
    });
    found
}

fn for_each_leaf(plan: &Arc<dyn ExecutionPlan>, mut visit: impl FnMut(&Arc<dyn ExecutionPlan>)) {
    // The visit itself has no errors.
    let _ = plan.apply(|node| {
        if node.children().is_empty() {
            visit(node);
        }
        Ok(TreeNodeRecursion::Continue)
    });
}

/// Returns a leaf of a plan as a scan of files; `None` for other leaves.
fn find_scan(leaf: &Arc<dyn ExecutionPlan>) -> Option<&FileScanConfig> {
    let source = leaf.downcast_ref::<DataSourceExec>();
    source.and_then(|exec| exec.data_source().downcast_ref::<FileScanConfig>())
}

/// Returns the bytes of the data files, or of the ranges of them, that a plan scans.
pub(super) fn scanned_bytes(plan: &Arc<dyn ExecutionPlan>) -> u64 {
    let mut bytes = 0;
    for_each_leaf(plan, |leaf| {
        let groups = find_scan(leaf).map(|scan| scan.file_groups.as_slice());
        let files = groups
            .unwrap_or_default()
            .iter()
            .flat_map(|group| group.files());
        bytes += files.map(|file| file.effective_size()).sum::<u64>();
    });
    bytes
}

fn obstacle_of_leaf(leaf: &Arc<dyn ExecutionPlan>) -> Option<String> {
    if leaf.downcast_ref::<EmptyExec>().is_some()
        || leaf.downcast_ref::<PlaceholderRowExec>().is_some()
    {
        return None;
    }
    let Some(scan) = find_scan(leaf) else {
        return Some(format!("workers cannot run {}", leaf.name()));
    };
    if scan.object_store_url.as_str() != STORE {
        let url = scan.object_store_url.as_str();
        return Some(format!("workers do not have the files of {url}"));
    }
    let mut files = scan.file_groups.iter().flat_map(|group| group.files());
    files.find_map(|file| {
        // Extensions hide rows that changed since the files were written. Plans are sent without extensions.
        if !file.extensions.is_empty() {
            return Some("a table has changes that are not in its files".to_owned());
        }
        let table = file.object_meta.location.parts().next();
        let table = table.as_ref().map_or("", |table| table.as_ref());
        let is_missing = !workers_have(table);
        is_missing.then(|| format!("workers do not have the table {table}"))
    })
}

impl Cluster {
    /// Runs a query on the workers, or here if they cannot run it.
    ///
    /// # Errors
    /// The query fails with an error that it would also have on one machine, or no worker is left.
    pub async fn query(
        &self,
        terms: &QueryTerms,
        session: Session,
        frame: DataFrame,
    ) -> Result<QueryRows, Failure> {
        let plan = frame.clone().create_physical_plan().await?;
        let reason = match self.shared(terms, &frame, &plan, SpoolLimits::NONE).await? {
            Shared::Answered(rows) => return Ok(rows),
            Shared::Impossible(reason) => reason,
        };
        (self.notify)(&format!("answered here, without workers: {reason}"));
        let rows = frame.execute_stream().await?;
        Ok(as_they_come(session, rows))
    }

    /// Runs a query on the workers, if they can run it. `plan` is its plan without workers.
    ///
    /// # Errors
    /// The query fails, its answer reaches a limit, or no worker is left.
    pub(super) async fn shared(
        &self,
        terms: &QueryTerms,
        frame: &DataFrame,
        plan: &Arc<dyn ExecutionPlan>,
        limits: SpoolLimits,
    ) -> Result<Shared, Failure> {
        if let Some(reason) = obstacle(plan) {
            return Ok(Shared::Impossible(reason));
        }
        let mut headers = HeaderMap::new();
        headers.insert(
            HeaderName::from_static(TERMS),
            serde_json::to_string(terms)?.parse()?,
        );
        let started = Instant::now();
        loop {
            let links = self.left();
            if links.is_empty() {
                return Err(Error::NoWorkers("no worker is left to run the query".into()).into());
            }
            links.iter().for_each(|link| link.reset_counts());
            let (state, logical) = frame.clone().into_parts();
            let state = self.distributing(state, &links, &headers)?;
            let plan = match state.create_physical_plan(&logical).await {
                Ok(plan) => plan,
                // Planning without workers succeeded before, so the query itself is valid.
                Err(error) => {
                    // Further lines of the engine's errors are advice to its developers.
                    let error = error.strip_backtrace();
                    let error = error.lines().next().unwrap_or_default();
                    let reason = format!("no plan for workers ({error})");
                    return Ok(Shared::Impossible(reason));
                }
            };
            if plan.downcast_ref::<DistributedExec>().is_none() {
                let reason = "the engine does not split this plan";
                return Ok(Shared::Impossible(reason.to_owned()));
            }
            let error = match answered(state.task_ctx(), plan, limits).await {
                Ok(rows) => {
                    let (count, seconds) = (links.len(), started.elapsed().as_secs_f64());
                    (self.notify)(&format!("answered with {count} workers in {seconds:.1} s"));
                    return Ok(Shared::Answered(QueryRows {
                        workers: self.report(),
                        ..rows
                    }));
                }
                Err(error) => error,
            };
            if is_not_offered(&error) {
                let error = readable(error).to_string();
                let error = error.lines().next().unwrap_or_default();
                let reason = format!("workers cannot run the plan ({error})");
                return Ok(Shared::Impossible(reason));
            }
            if is_limit(&error) || !self.check_workers().await {
                return Err(readable(error));
            }
        }
    }

    /// Returns the state of a session, changed so that workers run its plans.
    fn distributing(
        &self,
        state: SessionState,
        links: &[Arc<Link>],
        headers: &HeaderMap,
    ) -> datafusion::error::Result<SessionState> {
        let channels = CountedChannels {
            access: self.access.clone(),
            links: links.to_vec(),
        };
        let urls = links.iter().map(|link| link.url.clone()).collect();
        let builder = SessionStateBuilder::new_from_existing(state)
            .with_distributed_worker_resolver(Workers(urls))
            .with_distributed_channel_resolver(channels)
            .with_distributed_passthrough_headers(headers.clone())?
            .with_distributed_file_scan_config_bytes_per_partition(SCAN_BYTES_PER_TASK)?
            .with_distributed_planner();
        Ok(builder.build())
    }
}

/// Returns whether the engine cannot send the plan because it does not implement something.
fn is_not_offered(error: &Failure) -> bool {
    let error = error.downcast_ref::<DataFusionError>();
    error.is_some_and(|error| matches!(error.find_root(), DataFusionError::NotImplemented(_)))
}

fn is_limit(error: &Failure) -> bool {
    matches!(error.downcast_ref(), Some(SqlError::Limit(_)))
}

/// Returns the rows of a query that this process runs alone.
fn as_they_come(session: Session, rows: SendableRecordBatchStream) -> QueryRows {
    let schema = rows.schema();
    let batches = rows.map(move |batch| {
        // The session keeps the files open that the rows are read from.
        let _open = &session;
        batch
    });
    QueryRows {
        workers: Vec::new(),
        batches: Box::pin(RecordBatchStreamAdapter::new(schema, batches)),
    }
}

/// Runs a plan to its end, then returns its rows.
async fn answered(
    task: Arc<TaskContext>,
    plan: Arc<dyn ExecutionPlan>,
    limits: SpoolLimits,
) -> Result<QueryRows, Failure> {
    let mut rows = execute_stream(Arc::clone(&plan), task)?;
    let schema = rows.schema();
    let mut spool = StreamWriter::try_new(BufWriter::new(tempfile::tempfile()?), &schema)?;
    let mut rows_seen = 0;
    while let Some(batch) = rows.try_next().await? {
        rows_seen += batch.num_rows() as u64;
        if rows_seen > limits.rows_max {
            return Err(SqlError::Limit(Limit::Rows(limits.rows_max)).into());
        }
        spool.write(&batch)?;
        if spool.get_mut().stream_position()? > limits.bytes_max {
            return Err(SqlError::Limit(Limit::Bytes(limits.bytes_max)).into());
        }
    }
    if let Some(distributed) = plan.downcast_ref::<DistributedExec>() {
        // Metrics come after the last row; the report may lack some of them.
        let _ = tokio::time::timeout(METRICS_TIMEOUT, distributed.wait_for_metrics()).await;
    }
    let spool = spool.into_inner()?;
    let mut file: File = spool.into_inner().map_err(|error| error.into_error())?;
    file.rewind()?;
    let reader = StreamReader::try_new(BufReader::new(file), None)?;
    let batches = futures::stream::iter(reader).map(|batch| batch.map_err(DataFusionError::from));
    Ok(QueryRows {
        workers: Vec::new(),
        batches: Box::pin(RecordBatchStreamAdapter::new(schema, batches)),
    })
}

/// Removes the engine's backtrace from the error of a query.
fn readable(error: Failure) -> Failure {
    match error.downcast::<DataFusionError>() {
        Ok(error) => error.strip_backtrace().into(),
        Err(error) => error,
    }
}
