//! `toise demo`: on its first run, fills a data folder with synthetic sales, diagnostics, their addresses and adverts,
//! a layer, a portfolio and alerts with deliveries, and trains a model on the sales. Then it serves the folder and
//! prints a key and sample requests.

use clap::Args;

use super::config::SettingArgs;
use super::demo_alerts::{self, DAY_S, LOOPBACK};
use super::demo_extras;
use super::train::train_lake;
use super::welcome::{SamplePlaces, serve_with_welcome};
use super::{CommandResult, Common};
use toise_app::config::Config;
use toise_app::contours;
use toise_base::clock::Clock;
use toise_base::progress::Progress;
use toise_collect::portals::Portals;
use toise_estimate::{model, store};
use toise_geocode::folder as index;
use toise_lake::Lake;
use toise_listings::columns::properties;
use toise_opendata::{Dataset, dpe, dvf};
use toise_synth::SynthRequest;
use toise_synth::adverts::{AdvertsRequest, DistortionLevel};
use toise_synth::lake::{generate_into_lake, import_home_addresses};
use toise_synth::listings::generate_into_listings;

/// Sales in the demo.
const SALES: u64 = 200_000;
/// Diagnostics in the demo.
const DIAGNOSTICS: u64 = 150_000;
/// Adverts in the demo, of about 20,000 properties.
const ADVERTS: u64 = 30_000;
/// Divisor of these counts for a small demo.
const SMALL: u64 = 100;
/// Seed of the demo. Every demo of one day has the same data, except for the identifiers of adverts and properties.
const SEED: u64 = 1;

/// Arguments of `demo`.
#[derive(Args, Debug)]
#[command(after_help = "\
The first run fills the data folder with invented sales, diagnostics, addresses and adverts, and trains the estimator.
Every run prints new keys, requests to try and a link that opens the console once. For real data, in another folder:
toise start.

Examples: a quick look, then a free port for a script

  toise demo --small --data ./toise-small
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
    let mut config = common.configuration(arguments.settings.flags()?)?.config;
    if config.webhooks.allow_hosts.is_empty() {
        // An alert can then be tried with `toise webhook listen`.
        config.webhooks.allow_hosts = LOOPBACK.to_owned();
    }
    let adverts = arguments.adverts;
    if arguments.small {
        generate_data(
            common,
            &config,
            SALES / SMALL,
            DIAGNOSTICS / SMALL,
            ADVERTS / SMALL,
        )?
    } else {
        generate_data(common, &config, SALES, DIAGNOSTICS, adverts)?
    }
    if !arguments.no_model {
        train_model(common)?;
    }
    serve_with_welcome(common, &config, &SamplePlaces::OF_DEMO)
}

/// Generates the demo's data if the data folder has no rows yet.
fn generate_data(
    common: &Common,
    config: &Config,
    sales: u64,
    diagnostics: u64,
    adverts: u64,
) -> CommandResult {
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
    let requests = [(Dataset::Dvf, sales), (Dataset::Dpe, diagnostics)];
    let requests = requests.map(|(dataset, items)| SynthRequest {
        dataset,
        items,
        seed: SEED,
        full_width: false,
    });
    for request in requests {
        generate_into_lake(data, request, progress)?;
        let (items, name) = (request.items, request.dataset.name());
        eprintln!("generated {items} synthetic rows of {name}");
    }
    let addresses = import_home_addresses(data, &requests, progress)?;
    index::rebuild(data, &|_| {})?;
    eprintln!("generated and indexed the {addresses} addresses of these homes");
    let now_s = Clock::system().now().timestamp();
    let request = AdvertsRequest {
        // The latest adverts date from yesterday, so that searches for new ones and previews of alerts find some.
        until_s: now_s - now_s.rem_euclid(DAY_S),
        ..AdvertsRequest::new(adverts, SEED, DistortionLevel::Middle)
    };
    let identity = Portals::load(data)?.identity();
    let contours = contours::kept(data);
    let filled = generate_into_listings(data, request, contours.as_deref(), &identity, progress)?;
    let (adverts, properties) = (filled.adverts, filled.properties);
    eprintln!("generated {adverts} synthetic adverts of {properties} properties");
    demo_extras::add(common)?;
    demo_alerts::add(common, config, request)?;
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
