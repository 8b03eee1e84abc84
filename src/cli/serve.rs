//! `toise serve`: serves a data folder over HTTP until SIGTERM or Ctrl-C.

use clap::Args;
use serde_json::json;

use super::config::SettingArgs;
use super::{CommandResult, Common};
use toise_app::serve::serve;

/// Arguments of `serve`.
#[derive(Args, Debug)]
#[command(after_help = "\
SIGTERM and Ctrl-C finish running requests, within server.drain_timeout_s; SIGHUP reloads the TLS certificate.
`toise config --default` prints every setting with its meaning.

Examples:

  toise serve --listen 0.0.0.0:8080 --price API_ESTIMATE_PROPERTY_LITE=2
  toise serve --config /etc/toise.toml --set log.format=json
  TOISE_SERVER__TLS_CERTIFICATE=chain.pem TOISE_SERVER__TLS_KEY=key.pem toise serve --listen 0.0.0.0:443")]
pub struct ServeArgs {
    #[command(flatten)]
    settings: SettingArgs,
}

/// Runs `serve`.
pub fn run(common: &Common, arguments: &ServeArgs) -> CommandResult {
    let as_json = common.json;
    let config = common.configuration(arguments.settings.flags()?)?.config;
    serve(&common.data, &config, move |address| {
        if as_json {
            println!("{}", json!({"address": address}));
        } else {
            println!("listening on {address}");
        }
        Ok(())
    })
}
