//! `toise gc`: deletes objects from object storage that no kept snapshot names.

use chrono::TimeDelta;
use clap::Args;
use serde_json::json;

use super::{CommandResult, Common};
use toise_base::clock::Clock;
use toise_base::progress::Progress;
use toise_publish::garbage::{Mode, Retention, collect};
use toise_publish::remote::Remote;
use toise_publish::retry::RetryPolicy;
use toise_publish::settings::{GRACE_HOURS, KEEP_SNAPSHOTS};

/// Maximum of `--grace-hours`: a century.
const HOURS_MAX: u64 = 876_000;

/// Arguments of `gc`.
#[derive(Args, Debug)]
#[command(after_help = "\
Nothing younger than the grace time is deleted: running publications, and replicas that download a snapshot, need it.

Examples:

  toise gc s3://bucket/toise --dry-run
  toise gc s3://bucket/toise --keep 10 --grace-hours 48 --json")]
pub struct GcArgs {
    /// URL that the data folder was published to
    #[arg(value_name = "URL")]
    at: String,
    /// Snapshots to keep, the current one included
    #[arg(long, default_value_t = KEEP_SNAPSHOTS as u64, value_parser = clap::value_parser!(u64).range(1..))]
    keep: u64,
    /// Hours for which an object is kept after it was written
    #[arg(long, default_value_t = GRACE_HOURS, value_parser = clap::value_parser!(u64).range(0..=HOURS_MAX))]
    grace_hours: u64,
    /// Report what would be deleted, and delete nothing
    #[arg(long)]
    dry_run: bool,
}

/// Runs `gc`.
pub fn run(common: &Common, arguments: &GcArgs) -> CommandResult {
    let remote = Remote::open(&arguments.at, RetryPolicy::default())?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let retention = Retention {
        keep: usize::try_from(arguments.keep).unwrap_or(usize::MAX),
        grace: TimeDelta::hours(arguments.grace_hours.cast_signed()),
    };
    let (mode, verb) = if arguments.dry_run {
        (Mode::DryRun, "would delete")
    } else {
        (Mode::Delete, "deleted")
    };
    let bar = Progress::new(common.json).counted("collecting", "objects", 0);
    let now = Clock::system().now();
    let found = runtime.block_on(collect(&remote, retention, now, mode, &bar))?;
    bar.finish_and_clear();
    if common.json {
        let mut report = json!(found);
        report["dry_run"] = json!(arguments.dry_run);
        println!("{report}");
    } else {
        println!(
            "{verb} {} snapshots and {} objects, {:.1} MB; kept {} snapshots, and {} objects that no snapshot names yet",
            found.snapshots.len(),
            found.objects,
            found.bytes as f64 / 1e6,
            found.kept.len(),
            found.young
        );
    }
    Ok(())
}
