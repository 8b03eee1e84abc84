//! Queries whose plans are run by workers.
//!
//! The engine cuts a plan into stages and gives each worker a task of every stage. It fails a query when a worker dies;
//! here the worker is dropped and the query run again on the others. Rows are shown when all are there: until then they
//! wait in a file without a name.

use std::fs::File;
use std::future::Future;
use std::io::{BufReader, BufWriter, Seek};
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use arrow::ipc::reader::StreamReader;
use arrow::ipc::writer::StreamWriter;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::datasource::physical_plan::FileScanConfig;
use datafusion::datasource::source::DataSourceExec;
use datafusion::error::DataFusionError;
use datafusion::execution::{SendableRecordBatchStream, SessionStateBuilder};
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::placeholder_row::PlaceholderRowExec;
use datafusion::physical_plan::{ExecutionPlan, execute_stream};
use datafusion::prelude::DataFrame;
use datafusion_distributed::{
    DistributedExec, DistributedExt, SessionStateBuilderExt, WorkerResolver,
};
use futures::{StreamExt, TryStreamExt};
use tonic::codegen::http::{HeaderMap, HeaderName};
use url::Url;

use super::counted::CountedChannels;
use super::{Cluster, WorkerReport};
use crate::Error;
pub use crate::protocol::QueryTerms;
use crate::protocol::TERMS;
use toise_engine::session::{STORE, Session};

/// Bytes of a scan for which a task is worth its while: whoever names workers wants all of them.
const SCAN_BYTES_PER_TASK: usize = 1;
/// Maximum wait for what workers tell of their tasks after the last row.
const METRICS_TIMEOUT: Duration = Duration::from_secs(1);

/// What a query may fail with.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// How the session of a query differs from one without workers.
#[derive(Clone)]
pub struct Distribution {
    channels: CountedChannels,
    headers: HeaderMap,
}

impl Distribution {
    /// Makes a session give its plans to the workers.
    ///
    /// # Errors
    /// The engine refuses a setting.
    pub fn adapt(
        &self,
        builder: SessionStateBuilder,
    ) -> datafusion::error::Result<SessionStateBuilder> {
        let workers = self.channels.links.iter().map(|link| link.url.clone());
        Ok(builder
            .with_distributed_worker_resolver(Workers(workers.collect()))
            .with_distributed_channel_resolver(self.channels.clone())
            .with_distributed_passthrough_headers(self.headers.clone())?
            .with_distributed_file_scan_config_bytes_per_partition(SCAN_BYTES_PER_TASK)?
            .with_distributed_planner())
    }
}

struct Workers(Vec<Url>);

impl WorkerResolver for Workers {
    fn get_urls(&self) -> datafusion::error::Result<Vec<Url>> {
        Ok(self.0.clone())
    }
}

/// The rows of a query.
pub struct QueryRows {
    /// The columns.
    pub schema: SchemaRef,
    /// What each worker did; none if the query was run here.
    pub workers: Vec<WorkerReport>,
    /// The rows.
    pub batches: futures::stream::BoxStream<'static, Result<RecordBatch, Failure>>,
}

/// Why a plan is not for workers; `None` if it is.
fn obstacle(plan: &Arc<dyn ExecutionPlan>) -> Option<String> {
    let mut found = None;
    // The visit itself has no errors.
    let _ = plan.apply(|node| {
        let reason = match node.children().is_empty() {
            true => obstacle_of_leaf(node),
            false => None,
        };
        found = found.take().or(reason);
        Ok(match found {
            Some(_) => TreeNodeRecursion::Stop,
            None => TreeNodeRecursion::Continue,
        })
    });
    found
}

fn obstacle_of_leaf(leaf: &Arc<dyn ExecutionPlan>) -> Option<String> {
    if leaf.downcast_ref::<EmptyExec>().is_some()
        || leaf.downcast_ref::<PlaceholderRowExec>().is_some()
    {
        return None;
    }
    let source = leaf.downcast_ref::<DataSourceExec>();
    let Some(scan) = source.and_then(|exec| exec.data_source().downcast_ref::<FileScanConfig>())
    else {
        return Some(format!("workers cannot run {}", leaf.name()));
    };
    if scan.object_store_url.as_str() != STORE {
        let url = scan.object_store_url.as_str();
        return Some(format!("workers do not have the files of {url}"));
    }
    let mut files = scan.file_groups.iter().flat_map(|group| group.files());
    // Rows that changed since the files were written are hidden by extensions, which a plan that is sent lacks.
    let is_changed = files.any(|file| !file.extensions.is_empty());
    is_changed.then(|| "a table has changes that are not in its files".to_owned())
}

impl Cluster {
    /// Runs a query on the workers. `prepare` opens a session, adapted if a distribution is given, and plans the query in
    /// it; that is done once to look at the plan, and again for each attempt. What workers cannot run is run here.
    ///
    /// # Errors
    /// The query fails, also on one machine, or no worker is left.
    pub async fn query<F, P>(&self, terms: &QueryTerms, prepare: F) -> Result<QueryRows, Failure>
    where
        F: Fn(Option<Distribution>) -> P,
        P: Future<Output = Result<(Session, DataFrame), Failure>>,
    {
        let (session, frame) = prepare(None).await?;
        let plan = frame.clone().create_physical_plan().await?;
        if let Some(reason) = obstacle(&plan) {
            return self.here_alone((session, frame), &reason).await;
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
            links.iter().for_each(|link| link.count_anew());
            let distribution = Distribution {
                channels: CountedChannels {
                    access: self.access.clone(),
                    links: links.clone(),
                },
                headers: headers.clone(),
            };
            let (session, frame) = prepare(Some(distribution)).await?;
            let plan = match frame.clone().create_physical_plan().await {
                Ok(plan) => plan,
                // It was planned before, without workers.
                Err(error) => {
                    let reason = format!("no plan for workers ({})", error.strip_backtrace());
                    return self.here_alone(prepare(None).await?, &reason).await;
                }
            };
            if plan.downcast_ref::<DistributedExec>().is_none() {
                let reason = "the engine does not cut this plan";
                return self.here_alone((session, frame), reason).await;
            }
            let error = match answered(&session, plan).await {
                Ok(rows) => {
                    let (count, seconds) = (links.len(), started.elapsed().as_secs_f64());
                    (self.tell)(&format!("answered with {count} workers in {seconds:.1} s"));
                    return Ok(QueryRows {
                        workers: self.report(),
                        ..rows
                    });
                }
                Err(error) => error,
            };
            if is_not_offered(&error) {
                let reason = format!("workers cannot run the plan ({})", readable(error));
                return self.here_alone(prepare(None).await?, &reason).await;
            }
            if !self.examine().await {
                return Err(readable(error));
            }
        }
    }

    /// Runs a query without workers.
    async fn here_alone(
        &self,
        (session, frame): (Session, DataFrame),
        reason: &str,
    ) -> Result<QueryRows, Failure> {
        // Errors of the engine go on with advice to its developers.
        let reason = reason.lines().next().unwrap_or_default();
        (self.tell)(&format!("answered here alone: {reason}"));
        let rows = frame.execute_stream().await?;
        Ok(as_they_come(session, rows))
    }
}

/// Whether the engine lacks what a plan needs to be sent.
fn is_not_offered(error: &Failure) -> bool {
    let error = error.downcast_ref::<DataFusionError>();
    error.is_some_and(|error| matches!(error.find_root(), DataFusionError::NotImplemented(_)))
}

/// Rows that nobody but this process has a part in.
fn as_they_come(session: Session, rows: SendableRecordBatchStream) -> QueryRows {
    let schema = rows.schema();
    let batches = rows.map(move |batch| {
        // The session holds the files that the rows are read from.
        let _open = &session;
        batch.map_err(Failure::from)
    });
    QueryRows {
        schema,
        workers: Vec::new(),
        batches: batches.boxed(),
    }
}

/// Runs a plan to its end, and gives its rows afterwards.
async fn answered(session: &Session, plan: Arc<dyn ExecutionPlan>) -> Result<QueryRows, Failure> {
    let task = session.context().task_ctx();
    let mut rows = execute_stream(Arc::clone(&plan), task)?;
    let schema = rows.schema();
    let mut spool = StreamWriter::try_new(BufWriter::new(tempfile::tempfile()?), &schema)?;
    while let Some(batch) = rows.try_next().await? {
        spool.write(&batch)?;
    }
    if let Some(distributed) = plan.downcast_ref::<DistributedExec>() {
        // Metrics come after the last row; a report without some of them is no failure.
        let _ = tokio::time::timeout(METRICS_TIMEOUT, distributed.wait_for_metrics()).await;
    }
    let spool = spool.into_inner()?;
    let mut file: File = spool.into_inner().map_err(|error| error.into_error())?;
    file.rewind()?;
    let reader = StreamReader::try_new(BufReader::new(file), None)?;
    let batches = futures::stream::iter(reader).map(|batch| batch.map_err(Failure::from));
    Ok(QueryRows {
        schema,
        workers: Vec::new(),
        batches: batches.boxed(),
    })
}

/// The error of a query without the frames of the engine.
fn readable(error: Failure) -> Failure {
    match error.downcast::<DataFusionError>() {
        Ok(error) => error.strip_backtrace().into(),
        Err(error) => error,
    }
}
