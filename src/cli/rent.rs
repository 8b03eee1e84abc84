//! `toise rent`: estimates the rent of one home, with its gross yield. `toise import rents`: imports the official map.

use std::path::PathBuf;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use serde_json::{Map, Value, json};

use super::common::MissingArgs;
use super::indicators::rents_over;
use super::result::Failure;
use super::values::position;
use super::{CommandResult, Common, table};
use toise_base::clock::Clock;
use toise_contract::listings::filters::ListingKind;
use toise_engine::cancellation::Interrupt;
use toise_engine::{Budget, Engine};
use toise_estimate::request::rent::parse_rent;
use toise_geocode::resolve::LazyGeocoder;
use toise_lake::Lake;
use toise_listings::Listings;
use toise_listings::columns::properties;
use toise_listings::search::projection::sql_tables;
use toise_market::rents::Rents;
use toise_market::rents::map::{self, MapFile, MapKind};
use toise_store::Store;

/// Text after the options of `import rents`.
pub(super) const IMPORT_HELP: &str = "\
The map (Carte des loyers) has four files, which look alike: all flats (pred-app-mef-dhup.csv), flats of one or two rooms
(pred-app12-…), flats of three rooms or more (pred-app3-…) and houses (pred-mai-…). The kind is read from the name; --kind
gives the kind of a file with another name. Each file replaces the map of its kind.

Example:
  toise import rents --year 2025 --licence 'Licence Ouverte 2.0' pred-app-mef-dhup.csv pred-mai-mef-dhup.csv";

/// Arguments of `import rents`.
#[derive(Args, Debug)]
pub(super) struct ImportRentsArgs {
    /// Files of the map; gzip, zip and zstd are unpacked
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Year of the rents
    #[arg(long, value_name = "YEAR", value_parser = clap::value_parser!(i32).range(2000..=2200))]
    year: i32,
    /// Kind of homes of the file, if its name does not say it; for one file
    #[arg(long, value_enum)]
    kind: Option<KindArg>,
    /// Licence of the files, shown with every rent
    #[arg(long, value_name = "TEXT")]
    licence: Option<String>,
    /// Address where the files were published
    #[arg(long, value_name = "URL")]
    source: Option<String>,
    #[command(flatten)]
    pub(super) missing: MissingArgs,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum KindArg {
    Flats,
    SmallFlats,
    LargeFlats,
    Houses,
}

impl From<KindArg> for MapKind {
    fn from(kind: KindArg) -> Self {
        match kind {
            KindArg::Flats => MapKind::Flats,
            KindArg::SmallFlats => MapKind::SmallFlats,
            KindArg::LargeFlats => MapKind::LargeFlats,
            KindArg::Houses => MapKind::Houses,
        }
    }
}

/// Runs `import rents`.
pub(super) fn import(common: &Common, arguments: &ImportRentsArgs, clock: &Clock) -> CommandResult {
    if arguments.kind.is_some() && arguments.files.len() > 1 {
        return Err(
            "--kind is for one file; import files of several kinds one after the other".into(),
        );
    }
    let mut files = Vec::new();
    for path in &arguments.files {
        let kind = arguments.kind.map(MapKind::from);
        let kind = kind.or_else(|| MapKind::of_file(path)).ok_or_else(|| {
            let path = path.display();
            format!("{path}: its name does not say which homes it is about: add --kind")
        })?;
        files.push(MapFile {
            path: path.clone(),
            kind,
            year: arguments.year,
            licence: arguments.licence.clone(),
            source: arguments.source.clone(),
        });
    }
    let imports = map::import(&Store::open(&common.data)?, &files, clock)?;
    if common.json {
        println!("{}", serde_json::to_string(&imports)?);
        return Ok(());
    }
    for one in imports {
        let map = one.description;
        println!(
            "{}: {} of {}, {} communes; {} rows of former communes joined, {} left out; licence: {}",
            one.file,
            map.kind.as_str(),
            map.year,
            map.communes,
            one.merged,
            one.left_out,
            map.licence
        );
    }
    Ok(())
}

/// Arguments of `rent`.
#[derive(Args, Debug)]
#[command(after_help = "\
The rent is per month, as adverts state it: mostly with charges. Four rents in five lie in its range. It is learned from
the homes to rent of the data folder, each once, and from the map of rents if it was imported (toise import rents). The
yield is the rent of a year over the price, or over the estimated value of the home.

Examples:
  toise rent --at 44.5181,3.4989 --type flat --surface 45 --rooms 2
  toise rent --address '48000 Mende' --type house --surface 90 --price 150000 --json")]
pub struct RentArgs {
    /// Position: latitude and longitude
    #[arg(long, value_name = "LAT,LON", value_parser = position, allow_hyphen_values = true,
        required_unless_present = "address", conflicts_with = "address")]
    at: Option<(f64, f64)>,
    /// Address in one line, or postal code and commune
    #[arg(long, value_name = "TEXT")]
    address: Option<String>,
    /// Kind of home
    #[arg(long = "type", value_name = "TYPE", value_parser = ["flat", "house"])]
    class: String,
    /// Living surface, m2
    #[arg(long, value_name = "M2")]
    surface: f64,
    /// Number of main rooms
    #[arg(long, value_name = "N")]
    rooms: Option<u32>,
    /// Whether it is let furnished
    #[arg(long, value_name = "BOOL")]
    furnished: Option<bool>,
    /// Price of the home, EUR, for the yield [default: its estimated value]
    #[arg(long, value_name = "EUR")]
    price: Option<f64>,
}

impl RentArgs {
    /// Returns the body of the same request over HTTP, so that one parser reads both.
    fn body(&self) -> Value {
        let class = format!("CLASS_{}", self.class.to_uppercase());
        let mut habitation = Map::new();
        habitation.insert("surface".into(), json!({"total": self.surface}));
        if let Some(rooms) = self.rooms {
            habitation.insert("roomCount".into(), json!(rooms));
        }
        if let Some(is_furnished) = self.furnished {
            let furniture = if is_furnished {
                "FULLY_FURNISHED"
            } else {
                "UNFURNISHED"
            };
            habitation.insert("features".into(), json!({"furniture": furniture}));
        }
        let location = match (self.at, &self.address) {
            (Some((lat, lon)), _) => json!({"locationCoordinate": {"location": [lon, lat]}}),
            (None, address) => json!({"address": address}),
        };
        let mut body = json!({"location": location, "type": class, "habitation": habitation});
        if let Some(price) = self.price {
            body["price"] = json!(price);
        }
        body
    }
}

/// Runs `rent`.
pub fn run(common: &Common, arguments: &RentArgs) -> CommandResult {
    let clock = Clock::system();
    let request = parse_rent(&arguments.body(), clock.now().date_naive())?;
    let geocoder = LazyGeocoder::new(common.data.clone());
    let home = request.home.locate(geocoder.get()?)?;
    let rents = open(common)?;
    let estimate = rents.estimate(&home, request.price_eur, &Interrupt::default())?;
    let answer = estimate.json(&home);
    common.show(&answer, || print(&answer))
}

fn print(answer: &Value) {
    let mut rows = table();
    let mut row = |name: &str, value: String| {
        rows.add_row([name.to_owned(), value]);
    };
    let (about, range) = (&answer["metadata"], &answer["rentRange"]);
    let name = about["commune"]["name"].as_str().unwrap_or_default();
    row(
        "commune",
        format!("{name} ({})", plain(&about["commune"]["inseeCode"])),
    );
    row(
        "rent",
        format!("{} EUR per month, as adverts state it", answer["rent"]),
    );
    row(
        "four in five",
        format!("{} to {} EUR", range["lower"], range["upper"]),
    );
    row("per m2", format!("{} EUR", answer["rentPerArea"]));
    if let Some(found) = answer.get("grossYield") {
        let from = match plain(&found["price_from"]) {
            "estimate" => "the estimated value",
            _ => "the price",
        };
        row(
            "gross yield",
            format!(
                "{} % ({} to {} %) of {from}, {} EUR",
                found["percent"], found["lower"], found["upper"], found["price"]
            ),
        );
    }
    let adverts = &about["adverts"];
    let mut known = format!(
        "{} in the commune, {} in the department, {} in all",
        adverts["commune"], adverts["department"], adverts["all"]
    );
    if let Some(metres) = adverts.get("nearest_m") {
        known += &format!(
            "; nearest {metres} m away, {} within 3 km counted",
            adverts["nearest"]
        );
    }
    row("homes to rent", known);
    row(
        "map of rents",
        match about.get("rent_map") {
            Some(map) => format!(
                "{} EUR per m2 ({} to {}), {} of {}",
                map["rent_per_m2"],
                map["lower"],
                map["upper"],
                plain(&map["kind"]),
                map["year"]
            ),
            None => "not imported, or without this commune".to_owned(),
        },
    );
    if let Some(parts) = about["contributions"].as_object() {
        let parts = parts.iter().map(|(name, eur)| format!("{name} {eur}"));
        row("made of", parts.collect::<Vec<_>>().join(", "));
    }
    println!("{rows}");
}

fn plain(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Opens the rents of a data folder. Properties include every change committed so far.
///
/// # Errors
/// The data folder cannot be read.
pub(super) fn open(common: &Common) -> Result<Rents, Failure> {
    let (data, clock) = (common.data.as_path(), Clock::system());
    let config = common.configuration(Vec::new())?.config;
    let store = Store::open_existing(data)?;
    let listings = store
        .clone()
        .map(|store| Listings::new(store, clock.clone()));
    if let Some(listings) = &listings {
        let lake = Lake::open(data)?.keeping(config.lake.keep_versions);
        sql_tables::compact_pending(listings, &lake, &[ListingKind::Property], |_| {
            eprintln!(
                "many properties changed since the last compaction; compacting the table first"
            );
        })?;
    }
    let engine = Engine::open(data, &[properties()], Budget::from(&config.engine))?;
    rents_over(
        data,
        &config,
        &Arc::new(engine),
        listings.as_ref(),
        store,
        clock,
    )
}
