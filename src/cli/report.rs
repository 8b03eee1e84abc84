//! `toise report`: writes the report of one home as PDF, web page or JSON.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use super::indicators::market_over;
use super::result::Failure;
use super::values::{characteristic, position};
use super::{CommandResult, Common, table_of};
use toise_base::clock::Clock;
use toise_engine::cancellation::Interrupt;
use toise_engine::{Budget, Engine};
use toise_estimate::live::LiveModel;
use toise_geocode::folder;
use toise_geocode::table::schema as addresses;
use toise_layers::Layers;
use toise_listings::Listings;
use toise_listings::columns::properties;
use toise_opendata::{OpenData, dpe, dvf, rnb};
use toise_report::letterhead::Logo;
use toise_report::{
    HomeReport, Language, Letterhead, Reporter, content, html, parse_home_report, pdf,
};
use toise_store::Store;

/// Arguments of `report`.
#[derive(Args, Debug)]
#[command(after_help = "\
The report has the value of the home with its interval and parts, the most similar recorded sales on a map, prices over
time, the energy diagnostics of the building, the sales of the parcel, the market of the commune, layers around, and the
sources. It needs a model (toise train), and addresses for diagnostics and parcels (toise import ban).

--set sets any other column of a portfolio (toise estimate --help), such as --set has_lift=yes.

Examples:
  toise report --address '12 rue de la Paix 75002 Paris' --type flat --surface 52 --rooms 3 --output home.pdf
  toise report --at 44.5176,3.5013 --type house --surface 110 --set land_surface_m2=800 --output home.html --lang en
  toise report --at 44.5176,3.5013 --type house --surface 110 --json")]
pub struct ReportArgs {
    /// Address in one line, with postal code and commune
    #[arg(long, value_name = "TEXT", required_unless_present = "at")]
    address: Option<String>,
    /// Position instead of an address
    #[arg(long, value_name = "LAT,LON", value_parser = position, allow_hyphen_values = true)]
    at: Option<(f64, f64)>,
    /// Class of the home: flat or house
    #[arg(long = "type", value_name = "TYPE")]
    class: String,
    /// Living surface, m²
    #[arg(long, value_name = "M2")]
    surface: String,
    /// Main rooms
    #[arg(long, value_name = "N")]
    rooms: Option<String>,
    /// Another characteristic of the home; repeatable
    #[arg(long = "set", value_name = "COLUMN=VALUE", value_parser = characteristic)]
    others: Vec<(String, String)>,
    /// Output: .pdf, .html or .json [default: a summary on the screen]
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Language of the report
    #[arg(long, default_value = "fr", value_parser = PossibleValuesParser::new(Language::NAMES)
        .try_map(|name| Language::parse(&name).ok_or("no such language")))]
    lang: Language,
    /// Logo at the top: a PNG or JPEG file
    #[arg(long, value_name = "FILE")]
    logo: Option<PathBuf>,
    /// Text at the top, such as a name and a telephone number
    #[arg(long, value_name = "TEXT")]
    text: Option<String>,
}

/// The form of an output file.
#[derive(Clone, Copy)]
enum Output {
    Pdf,
    Html,
    Json,
}

impl ReportArgs {
    /// Returns the parameters of the same request over HTTP, so that one parser reads both.
    fn parameters(&self) -> Vec<(&str, String)> {
        let mut parameters = Vec::new();
        if let Some(address) = &self.address {
            parameters.push(("address", address.clone()));
        }
        if let Some((lat, lon)) = self.at {
            parameters.push(("latitude", lat.to_string()));
            parameters.push(("longitude", lon.to_string()));
        }
        parameters.push(("type", self.class.clone()));
        parameters.push(("surface_m2", self.surface.clone()));
        if let Some(rooms) = &self.rooms {
            parameters.push(("room_count", rooms.clone()));
        }
        let others = self.others.iter();
        parameters.extend(others.map(|(name, value)| (name.as_str(), value.clone())));
        parameters
    }

    fn letterhead(&self) -> Result<Letterhead, Failure> {
        let logo = self.logo.as_deref().map(|path| {
            let at = |reason: String| format!("--logo {}: {reason}", path.display());
            let bytes = std::fs::read(path).map_err(|error| at(error.to_string()))?;
            Logo::read(bytes).map_err(at)
        });
        Ok(Letterhead {
            logo: logo.transpose()?,
            text: self.text.clone().unwrap_or_default(),
        })
    }
}

/// Runs `report`.
pub fn run(common: &Common, arguments: &ReportArgs) -> CommandResult {
    let output = arguments.output.as_deref().map(form).transpose()?;
    let letterhead = arguments.letterhead()?;
    let report = report(common, arguments)?;
    let language = arguments.lang;
    if let (Some(path), Some(form)) = (&arguments.output, output) {
        let document = content::write(&report, language);
        let day = language.long_day(report.date);
        let bytes = match form {
            Output::Pdf => pdf::write(&document, &letterhead, report.date, &day)?,
            Output::Html => html::write(&document, &letterhead, &day).into_bytes(),
            Output::Json => serde_json::to_vec_pretty(&report)?,
        };
        std::fs::write(path, bytes).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    if common.json {
        println!("{}", serde_json::to_string(&report)?);
        return Ok(());
    }
    print(&report, language);
    if let Some(path) = &arguments.output {
        println!("written to {}", path.display());
    }
    Ok(())
}

/// Returns the form of a file by its name.
fn form(path: &Path) -> Result<Output, String> {
    match path.extension().and_then(OsStr::to_str) {
        Some("pdf") => Ok(Output::Pdf),
        Some("html") => Ok(Output::Html),
        Some("json") => Ok(Output::Json),
        _ => Err(format!(
            "{}: --output takes a .pdf, .html or .json file",
            path.display()
        )),
    }
}

/// Opens the data folder and gathers the report.
fn report(common: &Common, arguments: &ReportArgs) -> Result<HomeReport, Failure> {
    let data = common.data.as_path();
    let config = common.configuration(Vec::new())?.config;
    let clock = Clock::system();
    let store = Store::open_existing(data)?;
    let listings = store.map(|store| Listings::new(store, clock.clone()));
    let schemas = [
        dvf::schema(),
        dpe::schema(),
        rnb::schema(),
        addresses(),
        properties(),
    ];
    let engine = Arc::new(Engine::open(data, &schemas, Budget::from(&config.engine))?);
    let today = clock.now().date_naive();
    let market = market_over(data, &config, &engine, listings.as_ref(), clock)?;
    let models = LiveModel::open(data, config.estimate.adjustments());
    let layers = Layers::of(data);
    let reporter = Reporter::new(data, OpenData::new(engine), market, models, layers);
    let geocoder = folder::open_intact(data).0;
    let request = parse_home_report(&arguments.parameters(), &geocoder, today)?;
    Ok(reporter.report(&request, &geocoder, today, &Interrupt::default())?)
}

/// Prints the summary of a report.
fn print(report: &HomeReport, language: Language) {
    let (home, estimate) = (&report.home, &report.estimate);
    println!("{}", home.address.as_deref().unwrap_or(&home.commune));
    println!(
        "{} ({}), from {} to {}; confidence {}",
        language.euros(estimate.price),
        language.euros_per_m2(estimate.price_per_m2),
        language.euros(estimate.lower),
        language.euros(estimate.upper),
        estimate.confidence
    );
    if !report.comparables.is_empty() {
        let mut rows = table_of("sale|distance|surface|price|address");
        rows.align_right(1..4);
        for sale in &report.comparables {
            rows.add_row([
                sale.date.to_string(),
                sale.distance_m
                    .map_or(String::new(), |metres| language.distance(metres)),
                sale.surface_m2
                    .map_or(String::new(), |m2| language.surface(m2)),
                sale.price.map_or(String::new(), |eur| language.euros(eur)),
                sale.address.clone().unwrap_or_default(),
            ]);
        }
        println!("{rows}");
    }
    println!(
        "{} diagnostics of the building, {} sales of the parcel",
        report.diagnostics.total, report.parcel.total
    );
}
