//! `toise demo`: on its first run, fills a data folder with synthetic sales, diagnostics and adverts and trains a model
//! on the sales. Then it serves the folder and prints a key and sample requests.

use std::path::Path;

use clap::Args;
use serde_json::json;

use super::config::SettingArgs;
use super::serve::ready;
use super::train::train_lake;
use super::{CommandResult, Common};
use toise_accounts::DEFAULT_ACCOUNT;
use toise_accounts::audit::{Act, audited, audited_with_subject};
use toise_accounts::keys::{self, DEMO_NAME, KeyKind, KeyRequest, NewKey, Owner};
use toise_accounts::limits::KeyLimits;
use toise_accounts::scopes::{Scope, Scopes};
use toise_app::contours;
use toise_app::serve::serve;
use toise_base::clock::Clock;
use toise_base::progress::Progress;
use toise_collect::portals::Portals;
use toise_estimate::{model, store};
use toise_lake::Lake;
use toise_listings::columns::properties;
use toise_opendata::{Dataset, dpe, dvf};
use toise_store::Store;
use toise_synth::adverts::{AdvertsRequest, DistortionLevel};
use toise_synth::{SynthRequest, lake::generate_into_lake, listings::generate_into_listings};

/// Sales in the demo.
const SALES: u64 = 200_000;
/// Diagnostics in the demo.
const DIAGNOSTICS: u64 = 150_000;
/// Adverts in the demo, of about 20,000 properties.
const ADVERTS: u64 = 30_000;
/// Divisor of these counts for a small demo.
const SMALL: u64 = 100;
/// Seed of the demo. Every demo has the same data, except for the identifiers of adverts and properties.
const SEED: u64 = 1;

/// Arguments of `demo`.
#[derive(Args, Debug)]
#[command(after_help = "\
Example: listen on a free port, for use in a script

  toise demo --listen 127.0.0.1:0 --json")]
pub struct DemoArgs {
    /// Generate a hundredth of the data, which is fast even in an unoptimised build
    #[arg(long)]
    small: bool,
    /// Synthetic adverts to generate, about three for every two properties
    #[arg(long, default_value_t = ADVERTS, value_name = "N", conflicts_with = "small")]
    adverts: u64,
    /// Skip training (estimates return 503)
    #[arg(long)]
    no_model: bool,
    #[command(flatten)]
    settings: SettingArgs,
}

/// Runs `demo`.
pub fn run(common: &Common, arguments: &DemoArgs) -> CommandResult {
    let config = common.configuration(arguments.settings.flags()?)?.config;
    let adverts = arguments.adverts;
    if arguments.small {
        generate_data(common, SALES / SMALL, DIAGNOSTICS / SMALL, ADVERTS / SMALL)?
    } else {
        generate_data(common, SALES, DIAGNOSTICS, adverts)?
    }
    if !arguments.no_model {
        train_model(common)?;
    }
    let as_json = common.json;
    serve(&common.data, &config, move |addresses| {
        // Keys are created only after binding: a demo that finds its address in use must not revoke the keys of the
        // running one.
        let keys = make_keys(&common.data, &config.limits)?;
        let DemoKeys {
            key,
            admin_key,
            sql_key,
            console_key,
        } = &keys;
        let code = addresses.sessions.code_for(console_key);
        let console = format!("{}/console/#code={code}", addresses.http);
        if as_json {
            let more =
                json!({"key": key, "admin_key": admin_key, "sql_key": sql_key, "console": console});
            println!("{}", ready(addresses, more));
        } else {
            print_welcome(&addresses.http, &console, &keys);
        }
        Ok(())
    })
}

/// The keys of a demo.
struct DemoKeys {
    /// Key with the default scopes.
    key: String,
    /// Key for administration.
    admin_key: String,
    /// Key for SQL.
    sql_key: String,
    /// Key behind the console's link, with every scope. Never printed.
    console_key: String,
}

/// Revokes the keys of earlier demos and creates new ones.
fn make_keys(
    data: &Path,
    limits: &KeyLimits,
) -> Result<DemoKeys, Box<dyn std::error::Error + Send + Sync>> {
    let store = Store::open(data)?;
    let clock = Clock::system();
    let revoke = Act::at_command_line("demo: revoke the keys of earlier demos");
    let revoke = revoke.on(format!("keys named {DEMO_NAME}"));
    audited(&store, &clock, revoke, || {
        keys::revoke_demo_keys(&store, &clock)
    })?;
    let make = |grants: Scopes| {
        let request = KeyRequest {
            name: Some(DEMO_NAME.to_owned()),
            grants: Some(grants.into()),
            ..KeyRequest::new(
                KeyKind::Production,
                Owner::Named(DEFAULT_ACCOUNT.to_owned()),
                limits,
            )
        };
        let subject = |new: &NewKey| Some(format!("key {}", new.key_id));
        let issue = || keys::issue(&store, &clock, request);
        let create = Act::at_command_line("demo: create a key");
        audited_with_subject(&store, &clock, create, subject, issue).map(|new| new.key)
    };
    let only = |scope: Scope| [scope].into_iter().collect();
    Ok(DemoKeys {
        key: make(KeyKind::Production.default_scopes())?,
        admin_key: make(only(Scope::Admin))?,
        sql_key: make(only(Scope::Sql))?,
        console_key: make(Scope::ALL.into_iter().collect())?,
    })
}

/// Generates the demo's data if the data folder has no rows yet.
fn generate_data(common: &Common, sales: u64, diagnostics: u64, adverts: u64) -> CommandResult {
    let data = &common.data;
    let lake = Lake::open(data)?;
    let mut rows = 0;
    for table in [dvf::schema(), dpe::schema(), properties()] {
        rows += lake.snapshot(table)?.rows();
    }
    if rows > 0 {
        let data = data.display();
        eprintln!("{data} already holds {rows} rows; nothing added");
        return Ok(());
    }
    let progress = Progress::new(common.json);
    for (dataset, items) in [(Dataset::Dvf, sales), (Dataset::Dpe, diagnostics)] {
        let request = SynthRequest {
            dataset,
            items,
            seed: SEED,
            full_width: false,
        };
        generate_into_lake(data, request, progress)?;
        let (items, name) = (request.items, dataset.name());
        eprintln!("generated {items} synthetic rows of {name}");
    }
    let request = AdvertsRequest::new(adverts, SEED, DistortionLevel::Middle);
    let identity = Portals::load(data)?.identity();
    let contours = contours::kept(data);
    let filled = generate_into_listings(data, request, contours.as_deref(), &identity, progress)?;
    let (adverts, properties) = (filled.adverts, filled.properties);
    eprintln!("generated {adverts} synthetic adverts of {properties} properties");
    Ok(())
}

/// Trains the estimator on the demo's sales if there is no model yet; takes seconds in an optimised build.
fn train_model(common: &Common) -> CommandResult {
    let folder = common.data.join(store::FOLDER);
    if folder.join(store::CURRENT).exists() {
        return Ok(());
    }
    match train_lake(common, None, &Clock::system()) {
        Ok((model, _)) => {
            model.save(&folder)?;
            let (sales, through) = (model.metadata().sales, &model.metadata().data_through);
            eprintln!("trained the estimator on {sales} of the synthetic sales, up to {through}");
        }
        Err(error @ model::Error::TooFew { .. }) => {
            eprintln!("estimates will return 503: {error}");
        }
        Err(error) => return Err(error.into()),
    }
    Ok(())
}

fn print_welcome(address: &str, console: &str, keys: &DemoKeys) {
    let DemoKeys {
        key,
        admin_key,
        sql_key,
        ..
    } = keys;
    let ask = |path: &str, body: &str| {
        println!(
            "curl -s {address}/v2/protected/{path} -H 'x-api-key: {key}' \
             -H 'content-type: application/json' -d '{body}'\n"
        );
    };
    println!(
        "toise listens on {address}\nconsole:   {console} (once, within 15 minutes)\nkey:       {key}\nadmin key: {admin_key}\nSQL key:   {sql_key}\n\nTry:\n"
    );
    println!(
        "curl -s {address}/v2/protected/sql -H 'x-api-key: {sql_key}' -H 'content-type: application/json' \
         -d '{{\"query\":\"select property_type, count(*), median(price_eur) from dvf group by 1\"}}'\n"
    );
    ask(
        "properties/search",
        r#"{"search":{"filterProperty":{"type":["CLASS_FLAT"],"offer":[{"type":"OFFER_BUY"}],"location":[{"locationCoordinate":{"location":{"geoDistance":{"pin":{"lat":48.86,"lon":2.35},"distanceKm":10}}}}],"meta":{"isTotallyOffline":false}},"fullTexts":["balcon"]},"sortBy":"PRICE","orderBy":"ASC","size":3}"#,
    );
    ask(
        "estimate/property/lite",
        r#"{"location":{"locationCoordinate":{"location":[2.3795,48.8631]}},"type":"CLASS_FLAT","offer":{"type":"OFFER_BUY"},"habitation":{"surface":{"total":50},"roomCount":2,"bedroomCount":1,"characteristics":{"hasTerrace":true}}}"#,
    );
    ask(
        "opendata/dvf/search",
        r#"{"filters":{"insee_code":"75111","property_type":["Appartement"],"surface_m2":{"min":30,"max":50}},"sortBy":"price_eur","sortOrder":"asc","size":3}"#,
    );
    ask(
        "opendata/dpe/search",
        r#"{"filters":{"location":{"lat":45.76,"lon":4.84,"distance":"2km"},"etiquette_dpe":["F","G"]},"size":3}"#,
    );
    ask(
        "opendata/dpe/match",
        r#"{"filters":{"code_departement_ban":"48","type_batiment":"maison","surface_habitable_logement":{"min":90,"max":110}},"scoring_targets":{"conso_5_usages_par_m2_ep":250,"etiquette_ges":"C"},"size":3}"#,
    );
}
