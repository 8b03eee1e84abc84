//! `toise market`: shows market indicators of a data folder by place, class and period.

#[cfg(feature = "plots")]
mod plot;

use std::path::PathBuf;
use std::sync::Arc;

use arrow::array::{Array, RecordBatch};
use clap::Args;
use serde_json::{Map, Value, json};

use super::common::CsvArgs;
use super::indicators::market_over;
use super::result::Failure;
use super::sql::show_rows;
use super::{CommandResult, Common};
use toise_app::config::Config;
use toise_base::clock::Clock;
use toise_contract::listings::filters::ListingKind;
use toise_engine::cancellation::Interrupt;
use toise_engine::{Budget, Engine};
use toise_lake::Lake;
use toise_layers::Layers;
use toise_listings::Listings;
use toise_listings::columns::properties;
use toise_listings::search::projection::sql_tables;
use toise_market::{Market, parse_market};
use toise_opendata::dvf;
use toise_store::Store;

/// Arguments of `market`.
#[derive(Args, Debug)]
#[command(after_help = help())]
pub struct MarketArgs {
    /// Kind of place that each row describes; a cell is a square of 1 km
    #[arg(long, value_parser = ["department", "commune", "iris", "cell"])]
    level: String,
    /// Flats or houses only
    #[arg(long = "type", value_name = "TYPE", value_parser = ["flat", "house"])]
    class: Option<String>,
    /// Indicators of sales only, or of rentals only
    #[arg(long, value_parser = ["buy", "rent"])]
    offer: Option<String>,
    /// First day, such as 2023-01-01
    #[arg(long, value_name = "DATE")]
    from: Option<String>,
    /// Last day
    #[arg(long, value_name = "DATE")]
    to: Option<String>,
    /// Length of a period [default: all days are one period]
    #[arg(long, value_parser = ["month", "quarter"])]
    by: Option<String>,
    /// In this department only; repeatable
    #[arg(long, value_name = "CODE")]
    department: Vec<String>,
    /// In the commune with this INSEE code only; repeatable; 75056, 69123 and 13055 mean all arrondissements
    #[arg(long, value_name = "CODE")]
    commune: Vec<String>,
    /// Within a distance of a position only
    #[arg(long, value_name = "LAT,LON,METRES", value_parser = circle, allow_hyphen_values = true)]
    around: Option<[f64; 3]>,
    /// In a polygon only: a GeoJSON file with one Polygon or MultiPolygon, as a geometry or as a feature
    #[arg(long, value_name = "FILE", value_parser = area)]
    area: Option<Value>,
    /// In a layer only; `NAME,outside` for outside of it, `NAME,METRES` for within a distance of its features
    #[arg(long, value_name = "NAME", value_parser = layer)]
    layer: Option<Value>,
    /// Write the rows to a file: .parquet, .arrow, .csv, .json or .ndjson
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    csv: CsvArgs,
    /// Draw the median price, or rent, over the periods into an .svg or .png file
    #[cfg(feature = "plots")]
    #[arg(long, value_name = "FILE", requires = "by")]
    plot: Option<PathBuf>,
}

/// Returns the text that follows the options in the help. A build without plots shows no example of one.
fn help() -> String {
    let plot = if cfg!(feature = "plots") {
        "  toise market --level department --by month --plot prices.svg\n"
    } else {
        ""
    };
    format!(
        "\
One row for each place, class and period with a recorded sale or a property online. A figure of fewer than five sales or
properties is empty. docs/market.md defines every column.

Examples:
  toise market --level department --by quarter --from 2023-01-01
  toise market --level commune --department 48 --type flat --output lozere.parquet
{plot}  toise market --level cell --around 48.8566,2.3522,3000 --offer buy --json
  toise market --level commune --area quarter.geojson --by quarter
  toise market --level commune --layer schools,500"
    )
}

/// Parses `LAT,LON,METRES`.
fn circle(text: &str) -> Result<[f64; 3], String> {
    let numbers: Result<Vec<f64>, _> = text.split(',').map(|part| part.trim().parse()).collect();
    let numbers = numbers.ok().and_then(|numbers| numbers.try_into().ok());
    numbers.ok_or_else(|| "expected LAT,LON,METRES, such as 48.8566,2.3522,1000".into())
}

/// Reads the geometry of a GeoJSON file.
fn area(path: &str) -> Result<Value, String> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    let mut value: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    if let Some(features) = value["features"].as_array_mut() {
        let number = features.len();
        value = match (number, features.pop()) {
            (1, Some(feature)) => feature,
            _ => return Err(format!("has {number} features; one is expected")),
        };
    }
    Ok(match value["geometry"].take() {
        Value::Null => value,
        geometry => geometry,
    })
}

/// Parses `NAME`, `NAME,outside` or `NAME,METRES`.
fn layer(text: &str) -> Result<Value, String> {
    let Some((name, relation)) = text.split_once(',') else {
        return Ok(json!({"name": text, "relation": "inside"}));
    };
    if relation == "outside" {
        return Ok(json!({"name": name, "relation": "outside"}));
    }
    let metres: f64 = relation.parse().map_err(|_| {
        "expected NAME, NAME,outside or NAME,METRES, such as schools,500".to_owned()
    })?;
    Ok(json!({"name": name, "relation": "within", "meters": metres}))
}

impl MarketArgs {
    /// Returns the body of the same request over HTTP, so that one parser reads both.
    fn body(&self) -> Value {
        let mut body = Map::new();
        body.insert("level".into(), json!(self.level));
        let code = |prefix: &str, name: &String| format!("{prefix}_{}", name.to_uppercase());
        let given = [
            (
                "type",
                self.class.as_ref().map(|class| code("CLASS", class)),
            ),
            (
                "offer",
                self.offer.as_ref().map(|offer| code("OFFER", offer)),
            ),
            ("by", self.by.clone()),
            ("from", self.from.clone()),
            ("to", self.to.clone()),
        ];
        for (name, value) in given {
            if let Some(value) = value {
                body.insert(name.into(), json!(value));
            }
        }
        let mut location = Map::new();
        for (name, codes) in [
            ("departments", &self.department),
            ("communes", &self.commune),
        ] {
            if !codes.is_empty() {
                location.insert(name.into(), json!(codes));
            }
        }
        if let Some([lat, lon, distance]) = self.around {
            let around = json!({"lat": lat, "lon": lon, "distance": format!("{distance}m")});
            location.insert("around".into(), around);
        }
        if let Some(area) = &self.area {
            location.insert("area".into(), area.clone());
        }
        if let Some(layer) = &self.layer {
            location.insert("layer".into(), layer.clone());
        }
        if !location.is_empty() {
            body.insert("location".into(), Value::Object(location));
        }
        Value::Object(body)
    }
}

/// Runs `market`.
pub fn run(common: &Common, arguments: &MarketArgs) -> CommandResult {
    let mut request = parse_market(&arguments.body())?;
    if let Some(test) = &mut request.layer {
        test.resolve(&Layers::of(&common.data))
            .map_err(|error| error.to_string())?;
    }
    let config = common.configuration(Vec::new())?.config;
    let report = open(common, &config)?.report(&request, &Interrupt::default())?;
    for note in &report.notes {
        eprintln!("{note}");
    }
    if report.rows.num_rows() == 0 {
        eprintln!(
            "nothing is known about these places; `toise doctor` shows what the data folder has"
        );
    }
    #[cfg(feature = "plots")]
    if let Some(path) = &arguments.plot {
        let (drawn, all) = plot::draw(&report.rows, path)?;
        eprintln!("drew {drawn} of {all} lines into {}", path.display());
    }
    let output = arguments.output.as_deref();
    let rows = if output.is_none() && !common.json {
        without_empty_columns(&report.rows)?
    } else {
        report.rows.clone()
    };
    let count = show_rows(rows, common.json, output, arguments.csv.formulas())?;
    if let Some(output) = output {
        eprintln!("wrote {count} rows to {}", output.display());
    }
    Ok(())
}

/// Removes the columns without a value, for which a printed table has no room. If no column has a value, all are kept.
fn without_empty_columns(rows: &RecordBatch) -> Result<RecordBatch, arrow::error::ArrowError> {
    let kept: Vec<usize> = (0..rows.num_columns())
        .filter(|column| rows.column(*column).null_count() < rows.num_rows())
        .collect();
    if kept.is_empty() {
        Ok(rows.clone())
    } else {
        rows.project(&kept)
    }
}

/// Opens the indicators of a data folder. Properties include every change committed so far.
fn open(common: &Common, config: &Config) -> Result<Market, Failure> {
    let data = common.data.as_path();
    let clock = Clock::system();
    let wanted = [ListingKind::Property];
    let store = Store::open_existing(data)?;
    let listings = store.map(|store| Listings::new(store, clock.clone()));
    if let Some(listings) = &listings {
        let lake = Lake::open(data)?.keeping(config.lake.keep_versions);
        sql_tables::compact_pending(listings, &lake, &wanted, |_| {
            eprintln!(
                "many properties changed since the last compaction; compacting the table first"
            );
        })?;
    }
    let schemas = [dvf::schema(), properties()];
    let engine = Arc::new(Engine::open(data, &schemas, Budget::from(&config.engine))?);
    market_over(data, config, &engine, listings.as_ref(), clock)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_shows_a_plot_if_the_build_draws_plots() {
        let command = MarketArgs::augment_args(clap::Command::new("market"));
        let mut options = command.get_arguments().map(clap::Arg::get_id);
        assert_eq!(help().contains("--plot"), options.any(|id| id == "plot"));
    }
}
