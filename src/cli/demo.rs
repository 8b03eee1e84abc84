//! `toise demo`: a lake of invented data on the first run, the service over it, a key, and lines to try.

use std::path::Path;

use clap::Args;
use serde_json::json;

use super::config::SettingArgs;
use super::serve::serve;
use super::{CommandResult, Common};
use crate::accounts::DEFAULT_ACCOUNT;
use crate::accounts::keys::{self, DEMO_NAME, KeyRequest, Kind, Owner};
use crate::accounts::scopes::{Scope, Scopes};
use crate::clock::Clock;
use crate::config::Limits;
use crate::lake::Lake;
use crate::opendata::Dataset;
use crate::progress::Progress;
use crate::store::Store;
use crate::synth::{Request, lake::into_lake};

/// Sales the demo lake holds.
const SALES: u64 = 200_000;
/// Diagnostics the demo lake holds.
const DIAGNOSTICS: u64 = 150_000;
/// Seed of the demo lake: every demo is the same.
const SEED: u64 = 1;

/// Arguments of `demo`.
#[derive(Args, Debug)]
#[command(after_help = "\
Example: on a free port, ready for a script

  toise demo --listen 127.0.0.1:0 --json")]
pub struct DemoArgs {
    #[command(flatten)]
    settings: SettingArgs,
}

/// Runs `demo`.
pub fn run(common: &Common, arguments: &DemoArgs) -> CommandResult {
    let config = common.configuration(arguments.settings.flags()?)?.config;
    fill(common)?;
    let as_json = common.json;
    serve(&common.data, &config, move |address| {
        // Only now: a demo that finds its address taken leaves the keys of the running one alone.
        let (key, admin_key) = make_keys(&common.data, &config.limits)?;
        if as_json {
            println!(
                "{}",
                json!({"address": address, "key": key, "admin_key": admin_key})
            );
        } else {
            print_welcome(address, &key, &admin_key);
        }
        Ok(())
    })
}

/// Makes a key for the questions and one for administration, and revokes those of earlier demos.
fn make_keys(
    data: &Path,
    limits: &Limits,
) -> Result<(String, String), Box<dyn std::error::Error + Send + Sync>> {
    let store = Store::open(data)?;
    let clock = Clock::system();
    keys::revoke_demo_keys(&store, &clock)?;
    let make = |grants: Scopes| {
        let request = KeyRequest {
            name: Some(DEMO_NAME.to_owned()),
            grants: Some(grants.into()),
            ..KeyRequest::new(
                Kind::Production,
                Owner::Named(DEFAULT_ACCOUNT.to_owned()),
                limits,
            )
        };
        keys::make(&store, &clock, request).map(|new| new.key)
    };
    let key = make(Kind::Production.default_scopes())?;
    Ok((key, make([Scope::Admin].into_iter().collect())?))
}

/// Makes the demo lake where there is no data yet.
fn fill(common: &Common) -> CommandResult {
    let lake = Lake::open(&common.data)?;
    let mut rows = 0;
    for dataset in [Dataset::Dvf, Dataset::Dpe] {
        rows += lake.snapshot(dataset.schema())?.rows();
    }
    if rows > 0 {
        eprintln!(
            "{} already holds {rows} rows: nothing added",
            common.data.display()
        );
        return Ok(());
    }
    let progress = Progress::new(common.json);
    for (dataset, items) in [(Dataset::Dvf, SALES), (Dataset::Dpe, DIAGNOSTICS)] {
        let request = Request {
            dataset,
            items,
            seed: SEED,
            full_width: false,
        };
        into_lake(&common.data, request, progress)?;
        eprintln!("made {items} invented rows of {}", dataset.name());
    }
    Ok(())
}

fn print_welcome(address: &str, key: &str, admin_key: &str) {
    let ask = |path: &str, body: &str| {
        println!(
            "curl -s {address}/v2/protected/opendata/{path} -H 'x-api-key: {key}' \
             -H 'content-type: application/json' -d '{body}'\n"
        );
    };
    println!("toise listens on {address}\nkey:       {key}\nadmin key: {admin_key}\n\nTry:\n");
    ask(
        "dvf/search",
        r#"{"filters":{"insee_code":"75111","property_type":["Appartement"],"surface_m2":{"min":30,"max":50}},"sortBy":"price_eur","sortOrder":"asc","size":3}"#,
    );
    ask(
        "dpe/search",
        r#"{"filters":{"location":{"lat":45.76,"lon":4.84,"distance":"2km"},"etiquette_dpe":["F","G"]},"size":3}"#,
    );
    ask(
        "dpe/match",
        r#"{"filters":{"code_departement_ban":"48","type_batiment":"maison","surface_habitable_logement":{"min":90,"max":110}},"scoring_targets":{"conso_5_usages_par_m2_ep":250,"etiquette_ges":"C"},"size":3}"#,
    );
}
