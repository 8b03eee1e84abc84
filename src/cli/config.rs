//! `toise config`: prints the configuration in effect with the origin of each value, or the commented defaults.

use clap::Args;

use super::{CommandResult, Common};
use toise_app::config::print::{OriginComments, as_json, as_toml};
use toise_app::config::{EffectiveConfig, Flag};

/// Flags that set configuration values, shared by `serve`, `demo` and `config`.
#[derive(Args, Clone, Debug)]
pub struct SettingArgs {
    /// Address to listen on; port 0 picks a free one [default: 127.0.0.1:8080]
    #[arg(long, value_name = "HOST:PORT")]
    pub listen: Option<String>,
    /// Price of a consumption type, in credits; repeatable
    #[arg(long, value_name = "TYPE=CREDITS")]
    pub price: Vec<String>,
    /// Hosts that webhooks may reach at any address, also over plain http; for trials
    #[arg(long, value_name = "HOST,HOST")]
    pub allow_webhook_hosts: Option<String>,
    /// Hosts whose pages may be collected at any address and port, also over plain http; for trials
    #[arg(long, value_name = "HOST,HOST")]
    pub allow_collect_hosts: Option<String>,
    /// Serve the publications of this object store as a replica, in a separate data folder
    #[arg(long, value_name = "URL")]
    pub replica: Option<String>,
    /// Any setting of the configuration; repeatable
    #[arg(long, value_name = "SECTION.KEY=VALUE")]
    pub set: Vec<String>,
}

impl SettingArgs {
    /// Returns the values set by flags. Specific flags come after `--set`, so they take precedence.
    ///
    /// # Errors
    /// A `--set` or `--price` has no `=`.
    pub fn flags(&self) -> Result<Vec<Flag>, String> {
        let pair = |name: &'static str, prefix: &str, text: &str| {
            let (path, value) = text
                .split_once('=')
                .ok_or_else(|| format!("{name} {text}: must be NAME=VALUE"))?;
            Ok::<_, String>(Flag {
                name,
                path: format!("{prefix}{}", path.trim()),
                text: value.trim().to_owned(),
            })
        };
        let set = self.set.iter().map(|text| pair("--set", "", text));
        let prices = self
            .price
            .iter()
            .map(|text| pair("--price", "prices.", text));
        let mut flags: Vec<Flag> = set.chain(prices).collect::<Result<_, _>>()?;
        for (name, path, value) in [
            ("--listen", "server.listen", &self.listen),
            ("--replica", "lake.replica", &self.replica),
            (
                "--allow-webhook-hosts",
                "webhooks.allow_hosts",
                &self.allow_webhook_hosts,
            ),
            (
                "--allow-collect-hosts",
                "collect.allow_hosts",
                &self.allow_collect_hosts,
            ),
        ] {
            flags.extend(value.as_ref().map(|value| Flag {
                name,
                path: path.into(),
                text: value.clone(),
            }));
        }
        Ok(flags)
    }
}

/// Arguments of `config`.
#[derive(Args, Debug)]
#[command(after_help = "\
Precedence: flags, environment (TOISE_SERVER__LISTEN sets listen in [server]), file, defaults. Unknown keys are refused.

Examples: create a configuration file, then show the configuration in effect

  toise config --default > toise-data/toise.toml
  toise config --set log.format=json")]
pub struct ConfigArgs {
    /// Print the commented defaults, as a template for a configuration file
    #[arg(long)]
    default: bool,
    #[command(flatten)]
    settings: SettingArgs,
}

/// Runs `config`.
pub fn run(common: &Common, arguments: &ConfigArgs) -> CommandResult {
    let (effective, origins) = if arguments.default {
        (EffectiveConfig::defaults()?, OriginComments::Hidden)
    } else {
        let flags = arguments.settings.flags()?;
        (common.configuration(flags)?, OriginComments::Shown)
    };
    if common.json {
        println!("{}", as_json(&effective));
    } else {
        print!("{}", as_toml(&effective, origins));
    }
    Ok(())
}
