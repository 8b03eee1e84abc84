//! `toise publish`: publishes the data folder to object storage, for replicas.

use clap::Args;
use serde_json::json;

use super::{CommandResult, Common};
use toise_app::publishing::publisher;
use toise_base::clock::Clock;
use toise_base::progress::Progress;
use toise_publish::publisher::{Extent, publish};
use toise_publish::remote::Remote;
use toise_publish::retry::RetryPolicy;

/// Arguments of `publish`.
#[derive(Args, Debug)]
#[command(after_help = "\
Sends what is new, then makes it current in one step: readers see the former snapshot or this one. If it is
interrupted, run it again to continue. If two publish at once, one wins, and the error of the other names the winner.
Credentials and endpoints come from the usual environment: AWS_ACCESS_KEY_ID, AWS_ENDPOINT_URL, GOOGLE_…, AZURE_….

Examples:

  toise publish s3://bucket/toise
  toise publish file:///srv/published --writer https://writer.example --json")]
pub struct PublishArgs {
    /// Where to publish: s3://bucket/prefix, gs://bucket/prefix, az://container/prefix, file:///folder
    #[arg(value_name = "URL")]
    to: String,
    /// Address of the writer, which replicas name when they refuse requests that only the writer accepts [default:
    /// lake.writer_address]
    #[arg(long, value_name = "URL")]
    writer: Option<String>,
    /// Send everything, including what is already there: repairs objects that were lost or damaged
    #[arg(long)]
    all: bool,
}

/// Runs `publish`.
pub fn run(common: &Common, arguments: &PublishArgs) -> CommandResult {
    let configured = common.configuration(Vec::new())?.config.lake.writer_address;
    let writer = arguments.writer.as_ref().unwrap_or(&configured);
    let extent = if arguments.all {
        Extent::All
    } else {
        Extent::New
    };
    let remote = Remote::open(&arguments.to, RetryPolicy::default())?;
    let bar = Progress::new(common.json).bytes("reading", None);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let (publisher, clock) = (publisher(writer, extent), Clock::system());
    let done = runtime.block_on(publish(&common.data, &remote, &publisher, &clock, &bar))?;
    bar.finish_and_clear();
    if common.json {
        println!("{}", json!(done));
    } else if done.is_new {
        println!(
            "snapshot {}: {} files and {} blocks of rows, {:.1} MB; sent {} objects, {:.1} MB",
            done.number,
            done.files,
            done.blocks,
            done.bytes as f64 / 1e6,
            done.uploaded,
            done.uploaded_bytes as f64 / 1e6
        );
    } else {
        println!(
            "snapshot {}: nothing changed since {}",
            done.number, done.created_at
        );
    }
    Ok(())
}
