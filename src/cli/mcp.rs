//! `toise mcp`: serves an agent on standard input and output, from a data folder or a server.
//!
//! With a data folder, the service and its workers run in this process, also while a server is running on the same
//! folder. Calls use a key created for this run, so that they are counted, limited and audited like all others. The key
//! is never shown and is revoked at the end. With a server, calls use the given key.

use clap::Args;
use parking_lot::Mutex;

use super::{CommandResult, Common};
use toise_accounts::DEFAULT_ACCOUNT;
use toise_accounts::audit::{Act, audited, audited_with_subject};
use toise_accounts::key::{KeyKind, KeyRequest, NewKey, Owner};
use toise_accounts::keys;
use toise_accounts::scopes::{Scope, Scopes};
use toise_app::config::Config;
use toise_app::serve::serve_agent;
use toise_base::clock::Clock;
use toise_mcp::stdio;
use toise_store::Store;

/// Name of the keys that this command creates.
const KEY_NAME: &str = "mcp";

/// Arguments of `mcp`.
#[derive(Args, Debug)]
#[command(after_help = "\
An agent starts this command and exchanges lines of JSON with it; log lines go to standard error. Without --url, it
works on the data folder, also while a server is running, with all scopes but admin; calls are recorded for the account.
A server offers the same tools at /mcp, with its API keys as bearer tokens.

Examples:

  toise mcp --data ./toise-data
  TOISE_KEY=... toise mcp --url https://toise.example")]
pub struct McpArgs {
    /// Ask a server at this address instead of the data folder
    #[arg(long, value_name = "URL", requires = "key")]
    url: Option<String>,
    /// API key for the server
    #[arg(long, value_name = "KEY", env = "TOISE_KEY", hide_env_values = true)]
    key: Option<String>,
    /// Account for which calls on the data folder are recorded
    #[arg(long, value_name = "NAME", default_value = DEFAULT_ACCOUNT, conflicts_with = "url")]
    account: String,
}

impl McpArgs {
    /// Returns whether the data folder is served. It is named once, in the agent's configuration.
    pub(crate) fn reads_folder(&self) -> bool {
        self.url.is_none()
    }
}

/// Runs `mcp`.
pub fn run(common: &Common, arguments: &McpArgs) -> CommandResult {
    match (&arguments.url, &arguments.key) {
        (Some(url), Some(key)) => {
            let runtime = tokio::runtime::Runtime::new()?;
            let served = runtime.block_on(stdio::serve_remote(url, key));
            // A read of standard input cannot be cancelled, and must not keep the process running.
            runtime.shutdown_background();
            Ok(served?)
        }
        _ => {
            let config = common.configuration(Vec::new())?.config;
            serve_folder(common, &config, &arguments.account)
        }
    }
}

/// Serves the data folder with a key created for this run.
fn serve_folder(common: &Common, config: &Config, account: &str) -> CommandResult {
    let made = Mutex::new(None);
    let served = serve_agent(&common.data, config, || {
        let store = Store::open(&common.data)?;
        let scopes: Scopes = Scope::ALL
            .into_iter()
            .filter(|scope| *scope != Scope::Admin)
            .collect();
        let request = KeyRequest {
            name: Some(KEY_NAME.to_owned()),
            grants: Some(scopes.into()),
            ..KeyRequest::new(
                KeyKind::Production,
                Owner::Named(account.to_owned()),
                &config.limits,
            )
        };
        let clock = Clock::system();
        let new = audited_with_subject(
            &store,
            &clock,
            Act::at_command_line("mcp: create its key"),
            |new: &NewKey| Some(format!("key {}", new.key_id)),
            || keys::issue(&store, &clock, request),
        )?;
        *made.lock() = Some((store, new.key_id));
        Ok(new.key)
    });
    if let Some((store, key_id)) = made.lock().take() {
        let clock = Clock::system();
        let revoke = Act::at_command_line("mcp: revoke its key").on(format!("key {key_id}"));
        audited(&store, &clock, revoke, || {
            keys::revoke(&store, &clock, &key_id.to_string())
        })?;
    }
    served
}
