//! `toise worker`: works on shares of bulk commands and queries from other machines until SIGTERM or Ctrl-C.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use serde_json::json;

use super::{CommandResult, Common};
use toise_app::config::Config;
use toise_app::replica;
use toise_app::serve::{reload_tls_on_sighup, stop_signal};
use toise_base::progress::Progress;
use toise_base::supervise::Supervisor;
use toise_cluster::Access;
use toise_cluster::worker::{WorkerData, WorkerReplica, serve};
use toise_engine::Budget;
use toise_lake::settings::LakeSettings;
use toise_publish::follow::follow;
use toise_sql::limits::QueryLimits;
use toise_store::Store;
use toise_telemetry::{Metrics, logs};
use toise_transport::server::ServerLimits;

/// Maximum disk space that the plans of one query spill to, in MiB.
const SPILL_MIB: u64 = 100 << 10;

/// Arguments of `worker`.
#[derive(Args, Debug)]
#[command(after_help = "\
A worker has the data of a folder, or of a writer's publications, which it follows. It answers commands whose snapshots,
model, address index and version are the same, and refuses others by name. Beyond loopback it serves only over TLS
(cluster.certificate, cluster.key), to callers that send the token (cluster.token, TOISE_CLUSTER__TOKEN) or, without
one, have a certificate that cluster.ca signed. Workers of one command also talk to each other, at the addresses that
the command names.

Examples:

  toise worker --listen 127.0.0.1:9101 --data ./toise-data
  toise worker --listen 0.0.0.0:9101 --replica s3://bucket/toise --data /var/lib/toise-worker
  toise estimate --input homes.csv --output valued.parquet --workers http://127.0.0.1:9101,http://127.0.0.1:9102")]
pub struct WorkerArgs {
    /// Address to listen on, HOST:PORT; port 0 picks a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9101")]
    listen: SocketAddr,
    /// Follow the publications at this address instead of serving existing data: s3://bucket/prefix, gs://, az://,
    /// file://
    #[arg(long, value_name = "URL")]
    replica: Option<String>,
}

impl WorkerArgs {
    /// Returns whether the data folder must exist already.
    pub(crate) fn reads_folder(&self) -> bool {
        self.replica.is_none()
    }
}

/// Runs `worker`.
pub fn run(common: &Common, arguments: &WorkerArgs) -> CommandResult {
    let config = common.configuration(Vec::new())?.config;
    let _log = logs::start(&config.log);
    let access = Access::new(&config.cluster)?;
    let tls = access.server_tls(arguments.listen)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let followed = match &arguments.replica {
        Some(url) => {
            let bar = Progress::new(common.json).bytes("downloading", None);
            let settings = LakeSettings {
                replica: url.clone(),
                ..config.lake.clone()
            };
            let first = replica::open_newest(&common.data, &settings, runtime.handle(), &bar)?;
            bar.finish_and_clear();
            Some(first.0)
        }
        None => None,
    };
    let supervisor = Supervisor::default();
    let worker_data = Arc::new(worker_data(common, &config)?);
    let _following = match followed {
        Some(replica) => {
            let store = Store::open(&common.data)?;
            let user = WorkerReplica::new(Arc::clone(&worker_data), &replica);
            let handle = runtime.handle().clone();
            Some(follow(&supervisor, replica, store, user, handle)?)
        }
        None => None,
    };
    runtime.block_on(async {
        // Signal handlers are installed before the address is reported, so that no signal sent afterwards is lost.
        let stop = stop_signal()?;
        reload_tls_on_sighup(&supervisor, tls.clone())?;
        let listener = tokio::net::TcpListener::bind(arguments.listen)
            .await
            .map_err(|error| format!("{}: {error}", arguments.listen))?;
        let scheme = if tls.is_some() { "https" } else { "http" };
        let address = format!("{scheme}://{}", listener.local_addr()?);
        common.print_result(json!({"address": address}), format!("working on {address}"));
        let limits = ServerLimits::from(&config.server);
        let stop = async {
            tokio::select! {
                () = stop => {}
                failure = supervisor.failure() => eprintln!("stopping: {failure}"),
            }
        };
        serve(
            listener,
            tls,
            access,
            worker_data,
            (limits, Metrics::new()?),
            stop,
        )
        .await;
        Ok(())
    })
}

fn worker_data(common: &Common, config: &Config) -> Result<WorkerData, toise_cluster::Error> {
    let limits = QueryLimits {
        rows_max: u64::MAX,
        bytes_max: u64::MAX,
        memory_mib: config.engine.sql_memory_mib,
        spill_mib: SPILL_MIB,
        time_max: Duration::MAX,
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let budget = Budget::from(&config.engine);
    WorkerData::open(&common.data, budget, limits, threads)
}
