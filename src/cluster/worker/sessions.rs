//! Sessions in which a worker runs its share of queries, with the functions and data files of its folder.
//!
//! A plan names functions and files of the lake, but no tables. Files are read through the descriptors of the open
//! views. No other object store is registered, so a plan cannot read the worker's disk.

use std::collections::VecDeque;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::error::DataFusionError;
use datafusion::execution::SessionState;
use datafusion::logical_expr::ScalarUDF;
use datafusion_distributed::{DistributedExt, WorkerQueryContext, WorkerSessionBuilder};
use parking_lot::Mutex;
use tonic::codegen::http::HeaderMap;
use url::Url;

use super::WorkerData;
use crate::protocol::{QueryTerms, TERMS};
use crate::{Access, Error, Result};
use toise_engine::session::Session;
use toise_estimate::functions as estimates;
use toise_estimate::valuer::Adjustments;
use toise_geocode::folder;
use toise_layers::{Layers, functions as layer_functions};
use toise_opendata::{address_functions, functions};
use toise_sql::tables::SqlTables;

/// Maximum sessions that stay open; queries on other snapshots or days need another one.
const SESSIONS_OPEN_MAX: usize = 2;
/// URL of the object store that DataFusion registers by default: the disk.
const DISK: &str = "file:///";

/// A session and the terms of its queries.
type OpenSession = (QueryTerms, Arc<Session>);

/// The sessions of one worker.
#[derive(Clone)]
pub(super) struct Sessions {
    worker_data: Arc<WorkerData>,
    access: Access,
    open: Arc<Mutex<VecDeque<OpenSession>>>,
}

impl Sessions {
    pub(super) fn new(worker_data: Arc<WorkerData>, access: Access) -> Self {
        Self {
            worker_data,
            access,
            open: Arc::default(),
        }
    }

    /// Returns the session of a query, opening it if needed. Blocks.
    fn session(&self, terms: &QueryTerms) -> Result<Arc<Session>> {
        let mut open = self.open.lock();
        if let Some((_, session)) = open.iter().find(|(known, _)| known == terms) {
            return Ok(Arc::clone(session));
        }
        let session = self
            .worker_data
            .opened(&terms.identity, || self.open_session(terms))?;
        let session = Arc::new(session);
        open.truncate(SESSIONS_OPEN_MAX - 1);
        open.push_front((terms.clone(), Arc::clone(&session)));
        Ok(session)
    }

    fn open_session(&self, terms: &QueryTerms) -> Result<Session> {
        let failed = |error: &dyn std::fmt::Display| Error::Query(error.to_string());
        let functions = self.functions(terms)?;
        let tables = SqlTables {
            engine: Arc::clone(self.worker_data.engine()),
            listings: None,
            functions: Arc::new(move || functions.clone()),
            derived: Vec::new(),
            layers: Layers::of(self.worker_data.data()),
        };
        let (limits, threads) = self.worker_data.limits();
        let session = tables
            .open("", limits, threads)
            .map_err(|error| failed(&error))?;
        let disk = Url::parse(DISK).map_err(|error| failed(&error))?;
        let runtime = session.context().runtime_env();
        runtime
            .deregister_object_store(&disk)
            .map_err(|error| failed(&error))?;
        Ok(session)
    }

    fn functions(&self, terms: &QueryTerms) -> Result<Vec<ScalarUDF>> {
        let adjustments = if terms.has_adjustments {
            Adjustments::On
        } else {
            Adjustments::Off
        };
        let mut all = functions::scalar_functions();
        let geocoder = folder::open(self.worker_data.data());
        let geocoder = geocoder.map_err(|error| Error::Query(error.to_string()))?;
        all.extend(address_functions::live_functions(Arc::new(geocoder)));
        let layers = Layers::of(self.worker_data.data());
        all.extend(layer_functions::scalar_functions(&layers));
        let (worker_data, identity) = (Arc::clone(&self.worker_data), terms.identity.clone());
        let open = move || {
            let valuer = worker_data.valuer(&identity, adjustments);
            valuer.map(Arc::new).map_err(|error| error.to_string())
        };
        all.extend(estimates::functions_from(open, terms.today));
        Ok(all)
    }
}

fn read_terms(headers: &HeaderMap) -> Result<QueryTerms> {
    let terms = headers.get(TERMS).and_then(|terms| terms.to_str().ok());
    let terms = terms.ok_or_else(|| Error::Query("the plan does not name its query".into()))?;
    Ok(serde_json::from_str(terms)?)
}

#[async_trait]
impl WorkerSessionBuilder for Sessions {
    async fn build_session_state(
        &self,
        context: WorkerQueryContext,
    ) -> datafusion::error::Result<SessionState> {
        let failed = |error: Error| DataFusionError::Execution(error.to_string());
        let WorkerQueryContext { builder, headers } = context;
        let terms = read_terms(&headers).map_err(failed)?;
        let sessions = self.clone();
        let opened = tokio::task::spawn_blocking(move || sessions.session(&terms)).await;
        let session = opened.map_err(|error| DataFusionError::External(error.into()))?;
        let session = session.map_err(failed)?;
        let state = session.context().state();
        // Requests of this worker to other workers are for the same query.
        let mut passed = HeaderMap::new();
        passed.extend(headers.get(TERMS).cloned().map(|terms| (TERMS_NAME, terms)));
        let functions = state.scalar_functions().values().cloned().collect();
        let aggregates = state.aggregate_functions().values().cloned().collect();
        let windows = state.window_functions().values().cloned().collect();
        let builder = builder
            .with_runtime_env(Arc::clone(state.runtime_env()))
            .with_scalar_functions(functions)
            .with_aggregate_functions(aggregates)
            .with_window_functions(windows)
            .with_distributed_channel_resolver(self.access.clone())
            .with_distributed_passthrough_headers(passed)?;
        Ok(builder.build())
    }
}

/// [`TERMS`] as a header name.
const TERMS_NAME: tonic::codegen::http::HeaderName =
    tonic::codegen::http::HeaderName::from_static(TERMS);
