//! Runs the plans of queries over a data folder on workers.

use futures::{StreamExt, TryStreamExt};
use url::Url;

use super::Failure;
use super::source::{LocalSource, Rows};
use crate::Common;
use crate::cluster::{line, print_messages};
use toise_base::clock::Clock;
use toise_cluster::Access;
use toise_cluster::coordinator::query::QueryTerms;
use toise_cluster::coordinator::{Cluster, Refusals, addresses};
use toise_cluster::identity::Identity;
use toise_estimate::valuer::Adjustments;

/// The workers for the queries of a command. Their data is verified before each query.
pub(super) struct Workers {
    common: Common,
    access: Access,
    urls: Vec<Url>,
    has_adjustments: bool,
}

impl Workers {
    pub fn new(common: &Common, list: &str) -> Result<Self, Failure> {
        let config = common.configuration(Vec::new())?.config;
        Ok(Self {
            common: common.clone(),
            access: Access::new(&config.cluster)?,
            urls: addresses(list)?,
            has_adjustments: config.estimate.adjustments() == Adjustments::On,
        })
    }

    pub async fn ask(&self, source: &LocalSource, statement: &str) -> Result<Rows, Failure> {
        let identity = Identity::of(&self.common.data)?;
        let (session, frame) = source.planned(statement).await?;
        let terms = QueryTerms {
            identity: identity.with_versions(session.versions()),
            today: Clock::system().now().date_naive(),
            has_adjustments: self.has_adjustments,
        };
        let (access, identity) = (self.access.clone(), terms.identity.clone());
        let cluster = Cluster::connect(
            access,
            &self.urls,
            identity,
            Refusals::Fail,
            print_messages(),
        )
        .await?;
        let rows = cluster.query(&terms, session, frame).await?;
        for worker in &rows.workers {
            // Standard output is for the rows.
            if self.common.json {
                eprintln!("{}", serde_json::to_string(worker)?);
            } else {
                eprintln!("{}", line(worker, "tasks"));
            }
        }
        Ok(Rows {
            schema: rows.batches.schema(),
            batches: rows.batches.map_err(Failure::from).boxed(),
        })
    }
}
