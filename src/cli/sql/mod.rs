//! `toise sql`: runs read-only queries, over a data folder or a server, and prints the rows or writes them to a file.
//!
//! Without a query it reads statements from standard input, or is a shell on a terminal. Rows are streamed. Only the
//! printed table is held in memory, and only up to a maximum number of rows.

mod audit;
mod remote;
#[cfg(feature = "cluster")]
mod shared;
mod shell;
mod show;
mod source;

use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::time::Instant;

use arrow::array::RecordBatch;
use clap::{Args, Command, FromArgMatches, ValueEnum};
use futures::StreamExt;

use super::common::{CsvArgs, MissingArgs};
use super::result::Failure;
use super::{CommandResult, Common};
use show::{Display, OutputFile};
use source::SqlSource;
use toise_base::formula::Formulas;
use toise_sql::encode::RowFormat;
use toise_sql::files::{FileTable, TextColumns};
use toise_sql::text;

/// Maximum bytes of statements read from a file or standard input.
const STATEMENTS_BYTES_MAX: u64 = 64 << 20;

/// Shows the rows of another command like those of a query: as a table, as JSON or in a file. Returns their number.
///
/// # Errors
/// The file name has no known extension, or the file cannot be written.
pub(super) fn show_rows(
    rows: RecordBatch,
    as_json: bool,
    output: Option<&Path>,
    formulas: Formulas,
) -> Result<usize, Failure> {
    let format = if as_json {
        SqlFormat::Json
    } else {
        SqlFormat::Table
    };
    let output = output.map(|path| OutputFile::new(path.to_owned(), false));
    let rows = source::Rows {
        schema: rows.schema(),
        batches: futures::stream::iter([Ok(rows)]).boxed(),
    };
    futures::executor::block_on(Display::new(format, None, output, formulas).show(rows))
}

/// Arguments of `sql`.
#[derive(Args, Debug)]
#[command(after_help = "\
Tables: dvf (recorded sales), dpe (energy diagnostics), properties and adverts (listings, including every change
committed before the query, whether or not a server is running), ban (addresses), rnb (buildings), dfi (changes of
parcels). `describe properties` lists the columns, `summarize dvf` what they hold.
Functions, in addition to those of DataFusion and names that DuckDB has for them (year, strftime, date_diff, ...):
  geo_distance(pin_lat, pin_lon, lat, lon)   planar distance in metres
  in_area(lat, lon, geojson)   whether a position is in a GeoJSON Polygon or MultiPolygon
  within(lon, lat, layer), nearest(lon, lat, layer), distance_to(lon, lat, layer)   a position and a layer, which is also
    the table layer_NAME (toise import layer --help)
  dpe_match_score(body, conso_5_usages_par_m2_ep, emission_ges_5_usages_par_m2, etiquette_dpe, etiquette_ges,
    nombre_niveau_immeuble, numero_etage_appartement, periode_construction, nombre_niveau_logement,
    surface_habitable_logement, lat, lon)   score of a match body, given as JSON text
  dvf_match_score(body, price_eur, main_rooms, is_new_build, transaction_type, surface_m2, lat, lon)
  estimate_price(longitude, latitude, type, surface_m2 [, room_count, bedroom_count, land_surface_m2,
    construction_year, epc_energy, epc_climate, floor, valuation_date, ...])   value of a home in EUR, null if the row
    is not a home; the arguments are the columns that `toise estimate --help` lists, without id, in the same order.
    estimate(...) returns a struct of price, lower, upper, confidence, fallback, warning and error

Examples:
  toise sql \"select property_type, count(*), median(price_eur) from dvf group by 1\"
  toise sql \"select * from dpe where code_departement_ban = '48'\" --output lozere.parquet
  toise sql \"select * from dvf where departement_code = '48'\" --output lozere.parquet --geo
  toise sql \"select count(*) from dvf for version as of 12\"
  toise sql --file homes=mine.csv \"select id, estimate_price(lon, lat, type, surface) from homes\"
  toise sql --url https://toise.example --key $KEY \"select count(*) from adverts where is_online\"
  toise sql                                  a shell, with .help")]
pub struct SqlArgs {
    /// The query, or several separated by semicolons [default: standard input, or a shell on a terminal]
    pub query: Option<String>,
    /// Read the statements from a file
    #[arg(long, short = 'f', value_name = "FILE", conflicts_with = "query")]
    pub from: Option<PathBuf>,
    /// Output format [default: table; json with --json]
    #[arg(long, value_enum)]
    pub format: Option<SqlFormat>,
    /// Write the rows to a file instead: .parquet, .arrow, .arrows (a stream), .csv, .json or .ndjson; .geojson or .fgb
    /// for rows with lon and lat
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Write GeoParquet: --output FILE.parquet with the position of each row, from its columns lon and lat
    #[arg(long, requires = "output")]
    pub geo: bool,
    #[command(flatten)]
    csv: CsvArgs,
    /// Read a table as of an earlier version, such as `dvf=12`; repeatable
    #[arg(long, value_name = "TABLE=VERSION", value_parser = table_version, conflicts_with = "url")]
    pub as_of: Vec<(String, u64)>,
    /// Query a file as a table: CSV in any dialect and encoding, XLSX, ODS, Parquet, Arrow or JSON, packed or not;
    /// repeatable
    #[arg(long = "file", value_name = "NAME=PATH", conflicts_with = "url")]
    pub files: Vec<FileTable>,
    /// Columns of these files that are text, in addition to columns of codes: names separated by commas, or all
    #[arg(
        long,
        value_name = "NAMES",
        default_value = "",
        hide_default_value = true
    )]
    pub text_columns: TextColumns,
    #[command(flatten)]
    missing: MissingArgs,
    /// Maximum characters of a printed column, 0 for no maximum [default: 60 on a terminal, otherwise 0]
    #[arg(long, value_name = "N")]
    pub max_width: Option<usize>,
    /// Query a server at this address instead of the data folder
    #[arg(long, value_name = "URL", requires = "key")]
    pub url: Option<String>,
    /// API key for the server, with the scope sql
    #[arg(long, value_name = "KEY", env = "TOISE_KEY", hide_env_values = true)]
    pub key: Option<String>,
    /// List the last N queries that keys have sent to a server of this data folder, newest first
    #[arg(long, value_name = "N", conflicts_with_all = ["query", "from", "url", "output"])]
    pub audit: Option<usize>,
    #[cfg(feature = "cluster")]
    #[command(flatten)]
    cluster: crate::cluster::ClusterArgs,
}

impl SqlArgs {
    /// Returns whether the queries need a data folder: queries of a server and queries over files alone do not.
    pub(crate) fn reads_folder(&self) -> bool {
        self.audit.is_some() || self.url.is_none() && self.files.is_empty()
    }
}

/// Output format of the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SqlFormat {
    /// A text table
    Table,
    /// Comma-separated values with a header; lists as JSON text
    Csv,
    /// One JSON array
    Json,
    /// One JSON object per line
    Ndjson,
}

impl SqlFormat {
    /// Returns the format of rows; `None` for a table. `formulas` applies to CSV.
    fn rows(self, formulas: Formulas) -> Option<RowFormat> {
        match self {
            SqlFormat::Table => None,
            SqlFormat::Csv => Some(RowFormat::csv(formulas)),
            SqlFormat::Json => Some(RowFormat::Json),
            SqlFormat::Ndjson => Some(RowFormat::Ndjson),
        }
    }
}

/// Runs `sql`.
pub fn run(common: &Common, arguments: &SqlArgs) -> CommandResult {
    arguments.missing.apply()?;
    if let Some(count) = arguments.audit {
        return audit::list(common, count);
    }
    let default = if common.json {
        SqlFormat::Json
    } else {
        SqlFormat::Table
    };
    let display = Display::new(
        arguments.format.unwrap_or(default),
        arguments.max_width,
        arguments
            .output
            .clone()
            .map(|path| OutputFile::new(path, arguments.geo)),
        arguments.csv.formulas(),
    );
    let opened = Instant::now();
    let source = SqlSource::open(common, arguments)?;
    // Files are read before the first statement, which is what a person waits for.
    let mut reading_s = opened.elapsed().as_secs_f64();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let is_shell = arguments.query.is_none() && arguments.from.is_none();
    if is_shell && std::io::stdin().is_terminal() {
        return shell::run(&runtime, &source, display);
    }
    let text = match &arguments.query {
        Some(query) => query.clone(),
        None => read_statements(arguments.from.as_ref())?,
    };
    let statements = text::statements(&text)?;
    if arguments.output.is_some() && statements.len() != 1 {
        return Err("--output takes the rows of one statement".into());
    }
    runtime.block_on(async {
        for statement in &statements {
            let (rows, seconds) = answer(&source, statement, &display).await?;
            let seconds = seconds + std::mem::take(&mut reading_s);
            if !common.json {
                eprintln!("{}", row_count(rows, seconds));
            }
        }
        Ok(())
    })
}

/// Writes the rows of a query over the data folder to a file whose extension names its format.
///
/// # Errors
/// The query fails, or the file cannot be written.
pub(super) fn write_rows(common: &Common, query: &str, path: &Path) -> CommandResult {
    let command = SqlArgs::augment_args(Command::new("sql").no_binary_name(true));
    let arguments = SqlArgs::from_arg_matches(&command.try_get_matches_from([query])?)?;
    let source = SqlSource::open(common, &arguments)?;
    let output = OutputFile::new(path.to_owned(), false);
    let display = Display::new(SqlFormat::Table, None, Some(output), Formulas::Kept);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(answer(&source, query, &display))?;
    Ok(())
}

/// Runs one statement and shows its rows. Returns their number and the duration in seconds.
async fn answer(
    source: &SqlSource,
    statement: &str,
    display: &Display,
) -> Result<(usize, f64), Failure> {
    let started = Instant::now();
    let rows = source.ask(statement).await?;
    let count = display.show(rows).await?;
    Ok((count, started.elapsed().as_secs_f64()))
}

/// Returns the line about the rows of a statement and the time that they took.
fn row_count(rows: usize, seconds: f64) -> String {
    let noun = if rows == 1 { "row" } else { "rows" };
    format!("{rows} {noun} in {seconds:.3} s")
}

/// Parses `TABLE=VERSION`.
fn table_version(text: &str) -> Result<(String, u64), String> {
    let parsed = text.split_once('=').and_then(|(table, version)| {
        let version = version.trim().parse().ok()?;
        Some((table.trim().to_owned(), version))
    });
    parsed.ok_or_else(|| "write TABLE=VERSION, as in dvf=12".to_owned())
}

/// Reads the statements of a file, or of standard input.
///
/// # Errors
/// They cannot be read, are not UTF-8, or are longer than the maximum: a statement that is cut off may mean another.
fn read_statements(path: Option<&PathBuf>) -> Result<String, Failure> {
    let name = path.map_or_else(
        || "standard input".into(),
        |path| path.display().to_string(),
    );
    let input: Box<dyn Read> = match path {
        Some(path) => {
            Box::new(std::fs::File::open(path).map_err(|error| format!("{name}: {error}"))?)
        }
        None => Box::new(std::io::stdin().lock()),
    };
    bounded_text(input, STATEMENTS_BYTES_MAX).map_err(|error| format!("{name}: {error}").into())
}

/// Reads a text of at most `bytes_max` bytes.
fn bounded_text(input: impl Read, bytes_max: u64) -> Result<String, Failure> {
    let mut text = String::new();
    input.take(bytes_max + 1).read_to_string(&mut text)?;
    if text.len() as u64 > bytes_max {
        return Err(format!("more than {bytes_max} bytes of statements").into());
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_row_is_in_the_singular() {
        assert_eq!(row_count(1, 14.8), "1 row in 14.800 s");
        assert_eq!(row_count(0, 0.25), "0 rows in 0.250 s");
    }

    #[test]
    fn statements_that_are_too_long_are_refused_rather_than_cut_off() {
        assert_eq!(bounded_text(&b"select 1"[..], 8).unwrap(), "select 1");
        let refused = bounded_text(&b"select 12"[..], 8).unwrap_err();
        assert_eq!(refused.to_string(), "more than 8 bytes of statements");
    }
}
