//! The open data of a worker: tables, the model, the index of addresses, and the jobs it works on.
//!
//! Before and after a worker opens data for a job or a query, it compares their identity with the one that the command
//! requests. A snapshot, model or index that changes in between is thus detected.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use super::parts::OpenJob;
use crate::identity::Identity;
use crate::protocol::{Introduction, Job};
use crate::{Error, Result};
use toise_engine::{Budget, Engine};
use toise_estimate::valuer::Valuer;
use toise_estimate::{Model, store as models};
use toise_opendata::{OpenData, imported};
use toise_sql::limits::QueryLimits;

/// Maximum jobs that stay open: enough for a few commands at once.
const JOBS_OPEN_MAX: usize = 4;

/// The data that a worker answers from.
pub struct WorkerData {
    data: PathBuf,
    engine: Arc<Engine>,
    limits: QueryLimits,
    threads: usize,
    /// Identifier of this process.
    process: String,
    jobs: Mutex<VecDeque<(Job, Arc<OpenJob>)>>,
    /// The model last opened, with the identity it was opened under.
    model: Mutex<Option<(Identity, Arc<Model>)>>,
}

impl WorkerData {
    /// Opens the tables of a data folder. `limits` and `threads` apply to the plans of one query.
    ///
    /// # Errors
    /// A table cannot be opened.
    pub fn open(data: &Path, budget: Budget, limits: QueryLimits, threads: usize) -> Result<Self> {
        let engine = Engine::open(data, &imported(), budget)?;
        Ok(Self {
            data: data.to_owned(),
            engine: Arc::new(engine),
            limits,
            threads,
            process: uuid::Uuid::now_v7().to_string(),
            jobs: Mutex::default(),
            model: Mutex::default(),
        })
    }

    /// Returns the engine with the tables.
    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// Returns the data folder.
    pub(super) fn data(&self) -> &Path {
        &self.data
    }

    /// Returns the limits of the plans of one query, and the number of threads they are made for.
    pub(super) fn limits(&self) -> (QueryLimits, usize) {
        (self.limits, self.threads)
    }

    /// Returns the identity of the data that this worker has now.
    ///
    /// # Errors
    /// A file of the folder cannot be read.
    pub fn identity(&self) -> Result<Identity> {
        let views = self.engine.schemas().map(|schema| self.engine.view(schema));
        let views = views.collect::<std::result::Result<Vec<_>, _>>()?;
        let tables = views
            .iter()
            .map(|view| (view.schema().name, view.snapshot()));
        Ok(Identity::of(&self.data)?.with_tables(tables))
    }

    /// Returns the answer of this worker to a request for its identity.
    pub(super) fn introduction(&self) -> Result<Introduction> {
        Ok(Introduction {
            identity: self.identity()?,
            process: self.process.clone(),
        })
    }

    /// Opens something, and checks before and after that this worker has the data of an identity.
    ///
    /// # Errors
    /// This worker has other data, which the error names, or it cannot be opened.
    pub(super) fn opened<T>(
        &self,
        wanted: &Identity,
        open: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        self.check(wanted)?;
        let opened = open()?;
        self.check(wanted)?;
        Ok(opened)
    }

    fn check(&self, wanted: &Identity) -> Result<()> {
        match self.identity()?.difference(wanted) {
            Some(reason) => Err(Error::Refused {
                worker: self.process.clone(),
                reason,
            }),
            None => Ok(()),
        }
    }

    /// Returns the open job, opening it if needed. The jobs opened last stay open.
    ///
    /// # Errors
    /// As for [`Self::opened`].
    pub(super) fn job(&self, job: &Job) -> Result<Arc<OpenJob>> {
        // The lock is held while the job is opened, because the parts that follow need the same job.
        let mut jobs = self.jobs.lock();
        if let Some((_, open)) = jobs.iter().find(|(known, _)| known == job) {
            return Ok(Arc::clone(open));
        }
        let open = self.opened(&job.identity, || OpenJob::open(self, job))?;
        let open = Arc::new(open);
        jobs.truncate(JOBS_OPEN_MAX - 1);
        jobs.push_front((job.clone(), Arc::clone(&open)));
        Ok(open)
    }

    /// Returns the open-data tables.
    pub(super) fn open_data(&self) -> OpenData {
        OpenData::new(Arc::clone(&self.engine))
    }

    /// Returns the current model, for work that asks for an identity.
    pub(super) fn model(&self, wanted: &Identity) -> Result<Arc<Model>> {
        let wanted = wanted.for_estimates();
        let mut known = self.model.lock();
        if let Some((identity, model)) = &*known
            && *identity == wanted
        {
            return Ok(Arc::clone(model));
        }
        let model = self.opened(&wanted, || {
            let model = Model::open(&self.data.join(models::FOLDER));
            model.map_err(|error| Error::Query(error.to_string()))
        })?;
        let model = Arc::new(model);
        *known = Some((wanted, Arc::clone(&model)));
        Ok(model)
    }

    /// Returns the current model with its options, for work that asks for an identity.
    pub(super) fn valuer(
        &self,
        wanted: &Identity,
        adjustments: toise_estimate::valuer::Adjustments,
    ) -> Result<Valuer> {
        Ok(Valuer::new(self.model(wanted)?, adjustments))
    }
}
