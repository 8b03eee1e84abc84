//! `toise sql-process`: the process that runs the SQL queries of clients with a key. Only a server starts it.
//!
//! It opens the tables of the data folder, but neither the store nor a model: the server evaluates functions that need
//! them ([`toise_sql::process`]).

use std::path::Path;
use std::sync::Arc;

use datafusion::logical_expr::ScalarUDF;
use serde::{Deserialize, Serialize};

use crate::config::Config;
use crate::{Failure, dumps, verify};
use toise_engine::{Budget, Engine, priority};
use toise_estimate::functions as estimates;
use toise_layers::{Layers, functions as layer_functions};
use toise_market::table::{self, MarketTable};
use toise_opendata::{address_functions, functions};
use toise_sql::process::SPILL_PREFIX;
use toise_sql::process::calls::Calls;
use toise_sql::process::child::{QueryRunner, ServerLink};
use toise_sql::tables::SqlTables;
use toise_sql::workers::Workers;

/// Name of the command.
pub const COMMAND: &str = "sql-process";

/// The first message of a server to a process.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Setup {
    /// Configuration of the server.
    pub config: Config,
    /// Names of the tables to open.
    pub tables: Vec<String>,
}

/// Runs queries that the server sends to standard input, until the server closes it.
///
/// # Errors
/// There is no server, or a table cannot be opened.
pub fn run(data: &Path) -> Result<(), Failure> {
    let (setup, link) = ServerLink::open::<Setup>()?;
    let Setup { config, tables } = setup;
    if config.cluster.workers.is_empty() {
        leave_network();
    }
    dumps::forbid()?;
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .without_time()
        .with_level(false)
        .with_target(false)
        .init();
    // Threads started from here on inherit the priority of this one.
    priority::lower();
    let is_wanted = |name: &str| tables.iter().any(|wanted| wanted == name);
    let mut schemas = verify::tables().to_vec();
    schemas.retain(|schema| is_wanted(schema.name));
    // The server decides how to answer a query on a damaged table.
    let budget = Budget::from(&config.engine);
    let engine = Engine::open_despite_damage(data, &schemas, &schemas, budget)?;
    let calls = link.calls();
    let layers = Layers::of(data);
    let functions = product_functions(&calls, &layers);
    let rows = calls.clone();
    let market = MarketTable::elsewhere(Arc::new(move |part| rows.rows(table::NAME, part)));
    let mut derived: Vec<(_, Arc<dyn datafusion::catalog::TableProvider>)> =
        vec![(table::NAME, Arc::new(market))];
    derived.retain(|(name, _)| is_wanted(name));
    link.serve(QueryRunner {
        tables: SqlTables {
            engine: Arc::new(engine),
            listings: None,
            functions: Arc::new(move || functions.clone()),
            derived,
            layers,
        },
        threads: config.sql.threads(),
        workers: workers(&config, &calls)?,
    })?;
    remove_spill_folder();
    Ok(())
}

/// Removes the folder that queries spill to, because the server that created it may have ended.
fn remove_spill_folder() {
    let folder = std::env::temp_dir();
    let name = folder.file_name().and_then(|name| name.to_str());
    if name.is_some_and(|name| name.starts_with(SPILL_PREFIX)) {
        // The server also removes it.
        let _ = std::fs::remove_dir_all(folder);
    }
}

/// Returns the functions of the product. The server computes those that need a model, the index of addresses or the
/// index of a layer.
fn product_functions(calls: &Calls, layers: &Layers) -> Vec<ScalarUDF> {
    // Never called: these functions only declare parameters and results.
    let no_model = || Err("the server has the model".to_owned());
    let mut remote = address_functions::scalar_functions(Path::new(""));
    remote.extend(estimates::functions_from(no_model, Default::default()));
    remote.extend(layer_functions::scalar_functions(layers));
    let remote = remote.into_iter().map(|declared| calls.function(declared));
    functions::scalar_functions()
        .into_iter()
        .chain(remote)
        .collect()
}

/// The workers of SQL queries that the settings name.
#[cfg(feature = "cluster")]
fn workers(config: &Config, calls: &Calls) -> Result<Option<Arc<dyn Workers>>, Failure> {
    use toise_cluster::coordinator::server::ServerWorkers;

    let calls = calls.clone();
    let in_use = move || serde_json::from_str(&calls.state()).ok();
    let workers = ServerWorkers::new(&config.cluster, in_use)?;
    Ok(workers.map(|workers| Arc::new(workers) as Arc<dyn Workers>))
}

/// No workers: their code is not in this executable.
#[cfg(not(feature = "cluster"))]
fn workers(_: &Config, _: &Calls) -> Result<Option<Arc<dyn Workers>>, Failure> {
    Ok(None)
}

/// Cuts this process off from the network where the system allows it, because queries need no network.
#[cfg(target_os = "linux")]
fn leave_network() {
    use nix::sched::{CloneFlags, unshare};
    let own = CloneFlags::CLONE_NEWNET;
    // Without privileges, this is allowed only together with a new user namespace.
    let left = unshare(own).or_else(|_| unshare(own | CloneFlags::CLONE_NEWUSER));
    // A failure is ignored: no statement can open a connection, so this is only an additional protection, which not
    // every system offers.
    let _ = left;
}

#[cfg(not(target_os = "linux"))]
fn leave_network() {}
