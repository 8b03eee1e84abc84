//! Runs large SQL queries of a server's keys on workers; the server runs all others.
//!
//! A query must not fail because of the workers. A worker that lags behind the server's data, does not answer or dies
//! is left out. The server itself answers what workers cannot run or did not finish.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use chrono::NaiveDate;
use datafusion::physical_plan::ExecutionPlan;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use url::Url;

use super::query::{Failure, Shared, SpoolLimits, scanned_bytes};
use super::{Cluster, Refusals, UserMessage, addresses};
use crate::identity::Identity;
use crate::protocol::QueryTerms;
use crate::{Access, Result};
use toise_sql::SqlError;
use toise_sql::settings::ClusterSettings;
use toise_sql::workers::{Distributed, PlannedQuery, Workers};

/// Pause before a worker that did not answer, or failed, is asked again.
const REST: Duration = Duration::from_secs(30);
/// Bytes of a mebibyte.
const MIB: u64 = 1 << 20;

/// The state that the SQL functions of a server depend on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FunctionState {
    /// Its model and its index of addresses, from [`Identity::in_use`].
    pub identity: Identity,
    /// Valuation date of estimates that give none.
    pub today: NaiveDate,
    /// Whether features that sales do not record adjust prices.
    pub has_adjustments: bool,
}

/// The workers of a server.
pub struct ServerWorkers {
    access: Access,
    urls: Vec<Url>,
    scanned_bytes_min: u64,
    in_use: Box<dyn Fn() -> Option<FunctionState> + Send + Sync>,
    resting: Mutex<HashMap<Url, Instant>>,
}

impl ServerWorkers {
    /// Returns the workers that the settings name; `None` if they name none. They are not contacted until there is a
    /// query for them.
    ///
    /// # Errors
    /// An address is refused, or certificates cannot be read.
    pub fn new(
        settings: &ClusterSettings,
        in_use: impl Fn() -> Option<FunctionState> + Send + Sync + 'static,
    ) -> Result<Option<Self>> {
        let urls = addresses(&settings.workers)?;
        if urls.is_empty() {
            return Ok(None);
        }
        let access = Access::new(settings)?;
        for url in &urls {
            access.check(url)?;
        }
        Ok(Some(Self {
            access,
            urls,
            scanned_bytes_min: settings.sql_scan_mib * MIB,
            in_use: Box::new(in_use),
            resting: Mutex::default(),
        }))
    }

    /// Returns the workers that are not resting.
    fn available_workers(&self) -> Vec<Url> {
        let mut resting = self.resting.lock();
        resting.retain(|_, since| since.elapsed() < REST);
        let awake = self.urls.iter().filter(|url| !resting.contains_key(url));
        awake.cloned().collect()
    }

    /// Runs a query on the workers, if possible; `plan` is its plan without them.
    async fn attempt(
        &self,
        query: PlannedQuery<'_>,
        plan: &Arc<dyn ExecutionPlan>,
    ) -> std::result::Result<Shared, Failure> {
        let begun: FunctionState = serde_json::from_str(query.state)?;
        if Some(&begun) != (self.in_use)().as_ref() {
            return Ok(Shared::Impossible("a model or an index changed".into()));
        }
        let terms = QueryTerms {
            identity: begun.identity.with_versions(query.session.versions()),
            today: begun.today,
            has_adjustments: begun.has_adjustments,
        };
        let urls = self.available_workers();
        if urls.is_empty() {
            return Ok(Shared::Impossible("no worker answered recently".into()));
        }
        let notify: UserMessage = Arc::new(|line| tracing::info!("{line}"));
        let (access, identity) = (self.access.clone(), terms.identity.clone());
        let cluster = Cluster::connect(access, &urls, identity, Refusals::LeaveOut, notify).await?;
        let limits = SpoolLimits {
            rows_max: query.limits.rows_max,
            bytes_max: query.limits.bytes_max,
        };
        let outcome = cluster.shared(&terms, query.frame, plan, limits).await;
        let now = Instant::now();
        let lost = cluster.lost().into_iter().map(|url| (url, now));
        self.resting.lock().extend(lost);
        outcome
    }
}

#[async_trait]
impl Workers for ServerWorkers {
    async fn run(&self, query: PlannedQuery<'_>) -> std::result::Result<Distributed, SqlError> {
        // The server then runs the query itself and reports the error.
        let Ok(plan) = query.frame.clone().create_physical_plan().await else {
            return Ok(Distributed::TooSmall);
        };
        if scanned_bytes(&plan) < self.scanned_bytes_min {
            return Ok(Distributed::TooSmall);
        }
        let reason = match self.attempt(query, &plan).await {
            Ok(Shared::Answered(rows)) => return Ok(Distributed::Answered(rows.batches)),
            Ok(Shared::Impossible(reason)) => reason,
            Err(error) => match error.downcast::<SqlError>() {
                Ok(limit) => return Err(*limit),
                Err(error) => error.to_string(),
            },
        };
        tracing::info!("a query is answered without workers: {reason}");
        Ok(Distributed::Impossible)
    }
}
