//! Connections of a query to its workers, which count each worker's tasks, rows and time.
//!
//! A worker sends the metrics of a task when the task has ended, on the connection that brought its plan.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use async_trait::async_trait;
use datafusion::arrow::array::RecordBatch;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::TaskContext;
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use datafusion_distributed::{
    ChannelResolver, CoordinatorToWorkerMsg, ExecuteTaskRequest, GetWorkerInfoRequest,
    GetWorkerInfoResponse, SetPlanRequest, WorkerChannel, WorkerToCoordinatorMsg,
};
use futures::stream::{BoxStream, StreamExt};
use tonic::codegen::http::HeaderMap;
use url::Url;

use super::Link;
use crate::Access;

/// Resolver of connections to workers that counts for each worker.
#[derive(Clone)]
pub(super) struct CountedChannels {
    pub access: Access,
    pub links: Vec<Arc<Link>>,
}

#[async_trait]
impl ChannelResolver for CountedChannels {
    async fn get_worker_client_for_url(&self, url: &Url) -> Result<Box<dyn WorkerChannel>> {
        let inner = self.access.get_worker_client_for_url(url).await?;
        let link = self.links.iter().find(|link| link.url == *url).cloned();
        let link = link.ok_or_else(|| {
            DataFusionError::Execution(format!("{url} is not a worker of this query"))
        })?;
        Ok(Box::new(Counted { inner, link }))
    }
}

struct Counted {
    inner: Box<dyn WorkerChannel>,
    link: Arc<Link>,
}

#[async_trait]
impl WorkerChannel for Counted {
    async fn coordinator_channel(
        &mut self,
        headers: HeaderMap,
        plan: SetPlanRequest,
        messages: BoxStream<'static, CoordinatorToWorkerMsg>,
        metrics: ExecutionPlanMetricsSet,
        task: &Arc<TaskContext>,
    ) -> Result<BoxStream<'static, Result<WorkerToCoordinatorMsg>>> {
        let begun = Instant::now();
        let answers = self
            .inner
            .coordinator_channel(headers, plan, messages, metrics, task)
            .await?;
        let link = Arc::clone(&self.link);
        let counted = answers.inspect(move |message| {
            if let Ok(WorkerToCoordinatorMsg::TaskMetrics(task)) = message {
                let head = task.pre_order_plan_metrics.first();
                let rows = head.and_then(|head| head.output_rows()).unwrap_or_default();
                link.count(rows as u64, begun.elapsed());
            }
        });
        Ok(counted.boxed())
    }

    async fn execute_task(
        &mut self,
        headers: HeaderMap,
        request: ExecuteTaskRequest,
        metrics: ExecutionPlanMetricsSet,
        task: &Arc<TaskContext>,
    ) -> Result<Vec<BoxStream<'static, Result<RecordBatch>>>> {
        self.inner
            .execute_task(headers, request, metrics, task)
            .await
    }

    async fn get_worker_info(
        &mut self,
        request: GetWorkerInfoRequest,
    ) -> Result<GetWorkerInfoResponse> {
        self.inner.get_worker_info(request).await
    }
}

impl Link {
    /// Counts a part or a task.
    pub(super) fn count(&self, rows: u64, time: std::time::Duration) {
        self.rows.fetch_add(rows, Ordering::Relaxed);
        self.parts.fetch_add(1, Ordering::Relaxed);
        let ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        self.busy_ms.fetch_add(ms, Ordering::Relaxed);
    }

    /// Resets the counts.
    pub(super) fn reset_counts(&self) {
        for count in [&self.rows, &self.parts, &self.busy_ms] {
            count.store(0, Ordering::Relaxed);
        }
    }
}
