//! `toise demo`: a lake of invented data on the first run, the service over it, a key, and lines to try.

use clap::Args;
use serde_json::json;

use super::config::SettingArgs;
use super::serve::serve;
use super::{CommandResult, Common};
use crate::accounts::DEFAULT_ACCOUNT;
use crate::accounts::keys::{self, Kind};
use crate::accounts::scopes::Scopes;
use crate::clock::Clock;
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
    let store = Store::open(&common.data)?;
    let clock = Clock::system();
    let production = Kind::Production;
    let key = keys::create(
        &store,
        &clock,
        production,
        production.default_scopes(),
        DEFAULT_ACCOUNT,
    )?
    .key;
    let admin = Scopes::parse("admin")?;
    let admin_key = keys::create(&store, &clock, production, admin, DEFAULT_ACCOUNT)?.key;
    drop(store);
    let as_json = common.json;
    serve(&common.data, &config, move |address| {
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
