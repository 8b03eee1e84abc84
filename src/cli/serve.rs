//! `toise serve`: serves a data folder over HTTP until SIGTERM or Ctrl-C.

use clap::Args;
use serde_json::{Value, json};

use super::config::SettingArgs;
use super::{CommandResult, Common};
use toise_app::serve::{Addresses, serve};

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
    serve(&common.data, &config, move |addresses| {
        if as_json {
            println!("{}", ready(addresses, json!({})));
        } else {
            println!("listening on {}", addresses.http);
            if let Some(flight) = &addresses.flight {
                println!("Flight SQL on {flight}");
            }
            if let Some(admin) = &addresses.admin {
                println!("metrics and administration on {admin}");
            }
        }
        Ok(())
    })
}

/// Returns the object that `--json` prints once the server accepts requests: the addresses, then `more`.
pub(super) fn ready(addresses: &Addresses, more: Value) -> Value {
    let mut ready = json!({"address": addresses.http});
    if let Some(flight) = &addresses.flight {
        ready["flight"] = json!(flight);
    }
    if let Some(admin) = &addresses.admin {
        ready["admin"] = json!(admin);
    }
    if let (Some(ready), Value::Object(more)) = (ready.as_object_mut(), more) {
        ready.extend(more);
    }
    ready
}
