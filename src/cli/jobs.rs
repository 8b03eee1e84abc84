//! `toise jobs`: lists pages being collected and pages collected recently. Works while the server is running.

use clap::{Args, ValueEnum};

use super::table_style::print_list;
use super::{CommandResult, Common};
use toise_base::clock::Clock;
use toise_collect::jobs;
use toise_store::Store;

/// Arguments of `jobs`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples: list waiting jobs; see why the last pages were rejected

  toise jobs --status waiting
  toise jobs --status rejected --take 50")]
pub struct JobsArgs {
    /// Filter by status
    #[arg(long, value_enum)]
    status: Option<JobStatus>,
    /// Maximum number of jobs to list, newest first
    #[arg(long, value_name = "NUMBER", default_value_t = 20)]
    take: usize,
}

toise_base::named! {
    #[derive(Clone, Copy, Debug, ValueEnum)]
    enum JobStatus {
        /// Not started yet
        Waiting = "waiting",
        /// In progress
        Running = "running",
        /// The advert was ingested
        Collected = "collected",
        /// The page is not a listing
        Rejected = "rejected",
    }
}

/// Runs `jobs`.
pub fn run(common: &Common, arguments: &JobsArgs) -> CommandResult {
    let store = Store::open(&common.data)?;
    let now_ms = Clock::system().now().timestamp_millis();
    let status = arguments.status.map(JobStatus::as_str);
    let found = store.read(|connection| jobs::list(connection, status, now_ms, arguments.take))?;
    let rows = found.iter().map(|job| {
        let due = job.due_at.filter(|_| job.status == "waiting");
        [
            job.created_at.to_string(),
            job.url.clone(),
            job.kind.clone(),
            job.status.clone(),
            job.attempts.to_string(),
            due.map(|at| at.to_string()).unwrap_or_default(),
            job.reason.clone().unwrap_or_default(),
        ]
    });
    let columns = "created|address|kind|status|attempts|next|reason";
    print_list(common, &found, "none", columns, rows)
}
