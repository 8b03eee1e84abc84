//! Sends the parts of a job to workers, which answer in any order, and returns the answers in the order of their
//! numbers.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use super::files::JobFiles;
use super::parts::PartStore;
use super::{Cluster, PARTS_PER_WORKER, WorkerReport};
use crate::protocol::{AboutPart, Job, pack, unpack};
use crate::{Error, Result};

/// Parts in memory for each part that workers work on at once: while one is slow, the others continue.
const PARTS_AHEAD: usize = 3;

/// How a job was shared among workers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Shares {
    /// Parts of the job.
    pub parts: u64,
    /// Parts that were answered by an earlier run.
    pub parts_found: u64,
    /// Statistics of each worker.
    pub workers: Vec<WorkerReport>,
}

/// The answer to a part.
pub struct Answer {
    /// Metadata of the answer.
    pub about: AboutPart,
    /// Its bytes.
    pub payload: Bytes,
}

/// The parts of one job.
pub struct Dispatch {
    cluster: Arc<Cluster>,
    store: PartStore,
    runtime: Handle,
    job: Job,
    waiting: VecDeque<JoinHandle<Result<Answer>>>,
    asked: u64,
    found: Arc<AtomicU64>,
}

impl Dispatch {
    /// Begins a job with the answers that are already stored. [`Self::take`] blocks, so it must not be called on a
    /// thread of the runtime.
    pub fn new(cluster: &Arc<Cluster>, files: &JobFiles, runtime: Handle, job: Job) -> Self {
        Self {
            cluster: Arc::clone(cluster),
            store: files.parts.clone(),
            runtime,
            job,
            waiting: VecDeque::new(),
            asked: 0,
            found: Arc::default(),
        }
    }

    /// Returns the number of rows after which a part ends.
    pub fn part_rows(&self) -> usize {
        self.cluster.access.part_rows()
    }

    /// Returns whether an answer has to be taken before the next part may be sent.
    pub fn is_full(&self) -> bool {
        let places = PARTS_PER_WORKER * self.cluster.left().len().max(1);
        self.waiting.len() >= PARTS_AHEAD * places
    }

    /// Adds the next part, to be answered by a worker unless its answer is stored.
    ///
    /// # Errors
    /// The job cannot be written as JSON.
    pub fn ask(&mut self, payload: &[u8]) -> Result<()> {
        let request = pack(&self.job, payload)?;
        let number = self.asked;
        self.asked += 1;
        let (cluster, store) = (Arc::clone(&self.cluster), self.store.clone());
        let found = Arc::clone(&self.found);
        let answer = async move {
            if let Some(known) = store.find(number, &request).await?
                && let Ok((about, payload)) = unpack(&known)
            {
                found.fetch_add(1, Ordering::Relaxed);
                return Ok(Answer { about, payload });
            }
            let read = |answer: Bytes| {
                let (about, payload) = unpack::<AboutPart>(&answer)?;
                Ok((about, (answer, payload)))
            };
            let (about, (answer, payload)) = cluster.run_part(number, &request, read).await?;
            store.keep(number, &request, &answer).await?;
            Ok(Answer { about, payload })
        };
        self.waiting.push_back(self.runtime.spawn(answer));
        Ok(())
    }

    /// Returns the answer to the first part that was asked and not taken yet; `None` if there is none. Blocks.
    ///
    /// # Errors
    /// No worker can answer it, or the stored answers cannot be read or written.
    pub fn take(&mut self) -> Option<Result<Answer>> {
        let next = self.waiting.pop_front()?;
        let answer = self.runtime.block_on(next);
        Some(answer.unwrap_or_else(|error| Err(Error::Part(error.to_string()))))
    }

    /// Returns how the job was shared so far.
    pub fn shares(&self) -> Shares {
        Shares {
            parts: self.asked,
            parts_found: self.found.load(Ordering::Relaxed),
            workers: self.cluster.report(),
        }
    }
}

impl Drop for Dispatch {
    fn drop(&mut self) {
        for waiting in &self.waiting {
            waiting.abort();
        }
    }
}
