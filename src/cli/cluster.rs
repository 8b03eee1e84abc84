//! Support for `--workers`: commands run bulk jobs on workers and report how the work was shared.

use std::path::Path;
use std::sync::Arc;

use clap::Args;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::runtime::Runtime;

use super::Common;
use super::result::Failure;
use toise_cluster::Access;
use toise_cluster::coordinator::dispatch::{Dispatch, Shares};
use toise_cluster::coordinator::files::JobFiles;
use toise_cluster::coordinator::{Cluster, Refusals, UserMessage, WorkerReport, addresses};
use toise_cluster::identity::Identity;
use toise_cluster::{Job, Work};

/// Arguments of commands that workers can help with.
#[derive(Args, Clone, Debug)]
pub struct ClusterArgs {
    /// Share the work among these workers (toise worker), which have the same data; input and output may then be
    /// objects (s3://bucket/file.csv, gs://, az://), and an interrupted job continues where it stopped
    #[arg(long, value_name = "URL,URL")]
    pub workers: Option<String>,
}

/// A command's report, with the shares of the workers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SharedReport<R> {
    /// The report of the command.
    #[serde(flatten)]
    pub report: R,
    /// How the work was shared.
    pub cluster: Shares,
}

/// Returns a function that prints each message as a line on standard error.
pub fn print_messages() -> UserMessage {
    Arc::new(|line| eprintln!("{line}"))
}

/// The connected workers of a command.
pub struct Workers {
    runtime: Runtime,
    cluster: Arc<Cluster>,
}

impl Workers {
    /// Connects to the workers of a comma-separated list and verifies that they have the same data. `needs` selects the
    /// parts of the data folder that answers depend on.
    pub fn connect(
        common: &Common,
        list: &str,
        needs: impl Fn(&Identity) -> Identity,
    ) -> Result<Self, Failure> {
        let config = common.configuration(Vec::new())?.config;
        let access = Access::new(&config.cluster)?;
        let identity = needs(&Identity::of(&common.data)?);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()?;
        let urls = addresses(list)?;
        let connected = Cluster::connect(access, &urls, identity, Refusals::Fail, print_messages());
        let cluster = runtime.block_on(connected)?;
        Ok(Self { runtime, cluster })
    }

    /// Runs a bulk job, unless its complete output already exists. `run` receives the job's files and a function that
    /// creates the dispatch of some work; it returns the report and the shares. `question` holds everything that
    /// determines the output, except the input and the data.
    pub fn run<R: Serialize + DeserializeOwned>(
        &self,
        (input, output): (&Path, &Path),
        question: &Value,
        run: impl FnOnce(&JobFiles, &dyn Fn(Work) -> Dispatch) -> Result<(R, Shares), Failure>,
    ) -> Result<SharedReport<R>, Failure> {
        let question = (question, self.cluster.identity());
        let files = JobFiles::open(input, output, &question);
        let files = self.runtime.block_on(files)?;
        if let Some(report) = self.runtime.block_on(files.done())? {
            eprintln!("nothing to do: this job is done, and its output exists");
            return Ok(serde_json::from_value(report)?);
        }
        let dispatch = |work| {
            let job = Job {
                identity: self.cluster.identity().clone(),
                work,
            };
            Dispatch::new(&self.cluster, &files, self.runtime.handle().clone(), job)
        };
        let (report, cluster) = run(&files, &dispatch).map_err(|error| {
            let kept =
                "answered parts are kept next to the output: run the command again to continue";
            Failure::from(format!("{error}; {kept}"))
        })?;
        let report = SharedReport { report, cluster };
        self.runtime.block_on(files.finish(&report))?;
        Ok(report)
    }
}

/// Prints how the work was shared.
pub fn print(shares: &Shares) {
    let Shares {
        parts,
        parts_found,
        workers,
    } = shares;
    println!("{parts} parts, {parts_found} of them from an earlier run");
    for worker in workers {
        println!("{}", line(worker, "parts"));
    }
}

/// Formats the work of one worker as a line; `what` is the unit of its parts: `parts` or `tasks`.
pub fn line(worker: &WorkerReport, what: &str) -> String {
    let WorkerReport {
        worker,
        rows,
        parts,
        seconds,
        is_lost,
    } = worker;
    let lost = if *is_lost { ", lost" } else { "" };
    format!("{worker}: {rows} rows in {parts} {what}, {seconds:.1} s{lost}")
}
