//! Queries over a data folder whose plans workers run.

use std::sync::Arc;

use tokio::sync::OnceCell;
use url::Url;

use super::Failure;
use super::source::{LocalSource, Rows};
use crate::Common;
use crate::cluster::{line, tell};
use toise_base::clock::Clock;
use toise_cluster::Access;
use toise_cluster::coordinator::query::{Distribution, QueryTerms};
use toise_cluster::coordinator::{Cluster, addresses};
use toise_cluster::identity::Identity;
use toise_estimate::valuer::Adjustments;

/// The workers of the queries of a command, which are asked who they are before the first.
pub(super) struct Workers {
    access: Access,
    urls: Vec<Url>,
    terms: QueryTerms,
    as_json: bool,
    cluster: OnceCell<Arc<Cluster>>,
}

impl Workers {
    pub fn new(common: &Common, list: &str) -> Result<Self, Failure> {
        let config = common.configuration(Vec::new())?.config;
        let terms = QueryTerms {
            identity: Identity::of(&common.data)?,
            today: Clock::system().now().date_naive(),
            has_adjustments: config.estimate.adjustments() == Adjustments::On,
        };
        Ok(Self {
            access: Access::new(&config.cluster)?,
            urls: addresses(list)?,
            terms,
            as_json: common.json,
            cluster: OnceCell::new(),
        })
    }

    pub async fn ask(&self, source: &LocalSource, statement: &str) -> Result<Rows, Failure> {
        let connect = || {
            let identity = self.terms.identity.clone();
            Cluster::connect(self.access.clone(), &self.urls, identity, tell())
        };
        let cluster = self.cluster.get_or_try_init(connect).await?;
        let prepare = |distribution: Option<Distribution>| async move {
            let adapt = |builder| match &distribution {
                Some(distribution) => distribution.adapt(builder),
                None => Ok(builder),
            };
            source.planned(statement, &adapt).await
        };
        let rows = cluster.query(&self.terms, prepare).await?;
        for worker in &rows.workers {
            match self.as_json {
                // Standard output has the rows.
                true => eprintln!("{}", serde_json::to_string(worker)?),
                false => eprintln!("{}", line(worker, "tasks")),
            }
        }
        Ok(Rows {
            schema: rows.schema,
            batches: rows.batches,
        })
    }
}
