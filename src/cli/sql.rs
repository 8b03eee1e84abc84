//! `toise sql`: runs a read-only query and prints the rows as a table, CSV or JSON, or writes them to a file.
//!
//! Rows are streamed. Only the printed table is held in memory, cut at a maximum number of rows.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use arrow::util::pretty::pretty_format_batches;
use clap::{Args, ValueEnum};
use datafusion::physical_plan::SendableRecordBatchStream;
use futures::StreamExt;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

use super::{CommandResult, Common};
use toise_base::clock::Clock;
use toise_contract::listings::filters::ListingKind;
use toise_engine::session::{MergeOnReadTable, Session};
use toise_engine::spatial::{self, PositionColumns, SpatialFormat};
use toise_engine::{Budget, Engine, Error};
use toise_estimate as estimate;
use toise_geocode::table::schema as addresses;
use toise_lake::Lake;
use toise_listings::Listings;
use toise_listings::columns::{adverts, properties};
use toise_listings::search::projection::sql_tables;
use toise_opendata::{address_functions, dpe, dvf, functions};
use toise_store::Store;

/// Maximum rows in a printed table.
const TABLE_ROWS_MAX: usize = 1_000;

/// Arguments of `sql`.
#[derive(Args, Debug)]
#[command(after_help = "\
Tables: dvf (recorded sales), dpe (energy diagnostics), properties and adverts (listings, including every change
committed before the query, whether or not a server is running). `describe properties` lists the columns.
Functions, in addition to those of DataFusion:
  geo_distance(pin_lat, pin_lon, lat, lon)   planar distance in metres
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
  toise sql \"select * from dvf where department_code = '48'\" --output lozere.parquet --geo
  toise sql \"select count(*) from dvf for version as of 12\"
  toise sql \"select estimate_price(lon, lat, property_type, surface_m2, main_rooms) from dvf where surface_m2 > 0\"
  toise sql \"select source, count(*), avg(current_price_value) from adverts where is_online group by 1\"")]
pub struct SqlArgs {
    /// The query
    pub query: String,
    /// Output format [default: table; json with --json]
    #[arg(long, value_enum)]
    pub format: Option<SqlFormat>,
    /// Write the rows to a file instead: .parquet, .csv, .json or .ndjson; .geojson or .fgb for rows with lon and lat
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Write GeoParquet: --output FILE.parquet with the position of each row, from its columns lon and lat
    #[arg(long, requires = "output")]
    pub geo: bool,
    /// Read a table as of a former version, as `dvf=12`; several times for several tables
    #[arg(long, value_name = "TABLE=VERSION", value_parser = table_version)]
    pub as_of: Vec<(String, u64)>,
}

/// Output format of the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SqlFormat {
    /// A text table
    Table,
    /// Comma-separated values with a header
    Csv,
    /// One JSON array
    Json,
    /// One JSON object per line
    Ndjson,
}

/// Runs `sql`.
pub fn run(common: &Common, arguments: &SqlArgs) -> CommandResult {
    let default = if common.json {
        SqlFormat::Json
    } else {
        SqlFormat::Table
    };
    let format = arguments.format.unwrap_or(default);
    let mut session = session(common, &arguments.query)?;
    for (table, version) in &arguments.as_of {
        session.set_version(table, *version)?;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let started = Instant::now();
        let stream = session
            .query(&arguments.query)
            .await
            .map_err(|error| explain(&error))?
            .execute_stream()
            .await?;
        let rows = match &arguments.output {
            Some(path) => to_file(stream, path, arguments.geo).await?,
            None => to_standard_output(stream, format).await?,
        };
        if !common.json {
            eprintln!("{rows} rows in {:.3} s", started.elapsed().as_secs_f64());
        }
        Ok(())
    })
}

/// Reads `TABLE=VERSION`.
fn table_version(text: &str) -> Result<(String, u64), String> {
    let parsed = text.split_once('=').and_then(|(table, version)| {
        let version = version.trim().parse().ok()?;
        Some((table.trim().to_owned(), version))
    });
    parsed.ok_or_else(|| "write TABLE=VERSION, as in dvf=12".to_owned())
}

/// Opens a session over the tables that the query names, with all changes committed so far.
fn session(
    common: &Common,
    query: &str,
) -> Result<Session, Box<dyn std::error::Error + Send + Sync>> {
    let config = common.configuration(Vec::new())?.config;
    let data = common.data.as_path();
    let clock = Clock::system();
    let named = Session::tables_of(query);
    let mut wanted = vec![ListingKind::Property, ListingKind::Advert];
    wanted.retain(|listing| named.iter().any(|name| name == listing.table()));
    let store = Store::open_existing(data)?.filter(|_| !wanted.is_empty());
    let listings = store.map(|store| Listings::new(store, clock.clone()));
    if let Some(listings) = &listings {
        let lake = Lake::open(data)?.keeping(config.lake.keep_versions);
        sql_tables::compact_pending(listings, &lake, &wanted, |listing| {
            eprintln!(
                "many {} changed since the last compaction; compacting the table first",
                listing.table()
            );
        })?;
    }
    let tables = [
        dvf::schema(),
        dpe::schema(),
        addresses(),
        properties(),
        adverts(),
    ];
    let engine = Engine::open(data, &tables, Budget::from(&config.engine))?;
    let changed: Vec<MergeOnReadTable> = match &listings {
        Some(listings) => sql_tables::tables(listings, &engine, &wanted)?,
        None => Vec::new(),
    };
    let mut functions = functions::scalar_functions();
    functions.extend(address_functions::scalar_functions(data));
    functions.extend(estimate::functions::scalar_functions(
        data,
        config.estimate.adjustments(),
        clock.now().date_naive(),
    ));
    Ok(Session::open_merged(&engine, changed, functions)?)
}

/// Drops the list of valid fields from the error, since a table may have 230 columns, and says how to list them.
fn explain(error: &Error) -> String {
    let text = error.to_string();
    match text.split_once("\nValid fields are") {
        Some((fault, _)) => {
            format!("{fault} `toise sql \"describe dvf\"` (or another table) lists the columns.")
        }
        None => text,
    }
}

/// Writes rows batch by batch.
enum RowWriter<W: Write + Send> {
    Parquet(Box<ArrowWriter<W>>),
    Csv(Box<arrow::csv::Writer<W>>),
    Json(Box<arrow::json::ArrayWriter<W>>),
    Ndjson(Box<arrow::json::LineDelimitedWriter<W>>),
}

impl<W: Write + Send> RowWriter<W> {
    fn parquet(out: W, schema: SchemaRef) -> Result<Self, parquet::errors::ParquetError> {
        let zstd = Compression::ZSTD(ZstdLevel::default());
        let properties = WriterProperties::builder().set_compression(zstd).build();
        Ok(Self::Parquet(Box::new(ArrowWriter::try_new(
            out,
            schema,
            Some(properties),
        )?)))
    }

    fn text(out: W, format: SqlFormat) -> Self {
        match format {
            SqlFormat::Json => Self::Json(Box::new(arrow::json::ArrayWriter::new(out))),
            SqlFormat::Ndjson => Self::Ndjson(Box::new(arrow::json::LineDelimitedWriter::new(out))),
            SqlFormat::Csv | SqlFormat::Table => Self::Csv(Box::new(arrow::csv::Writer::new(out))),
        }
    }

    fn write(&mut self, batch: &RecordBatch) -> CommandResult {
        match self {
            Self::Parquet(writer) => writer.write(batch)?,
            Self::Csv(writer) => writer.write(batch)?,
            Self::Json(writer) => writer.write(batch)?,
            Self::Ndjson(writer) => writer.write(batch)?,
        }
        Ok(())
    }

    fn finish(self) -> CommandResult {
        match self {
            Self::Parquet(writer) => drop(writer.close()?),
            Self::Csv(_) => {}
            Self::Json(mut writer) => writer.finish()?,
            Self::Ndjson(mut writer) => writer.finish()?,
        }
        Ok(())
    }
}

async fn drain<W: Write + Send>(
    mut stream: SendableRecordBatchStream,
    mut writer: RowWriter<W>,
) -> Result<usize, Box<dyn std::error::Error + Send + Sync>> {
    let mut rows = 0;
    while let Some(batch) = stream.next().await {
        let batch = batch?;
        rows += batch.num_rows();
        writer.write(&batch)?;
    }
    writer.finish()?;
    Ok(rows)
}

async fn to_file(
    stream: SendableRecordBatchStream,
    path: &Path,
    geo: bool,
) -> Result<usize, Box<dyn std::error::Error + Send + Sync>> {
    if let Some(format) = SpatialFormat::of_path(path, geo) {
        PositionColumns::of(&stream.schema())?;
        let out = BufWriter::new(File::create(path)?);
        return Ok(spatial::write_stream(stream, out, format).await?);
    }
    if geo {
        return Err("--geo writes GeoParquet: name the output .parquet".into());
    }
    let extension = path
        .extension()
        .and_then(|extension| extension.to_str())
        .unwrap_or_default();
    let format = match extension {
        "parquet" => None,
        "csv" => Some(SqlFormat::Csv),
        "ndjson" | "jsonl" => Some(SqlFormat::Ndjson),
        "json" => Some(SqlFormat::Json),
        _ => {
            return Err(format!(
                "{}: name it .parquet, .csv, .json, .ndjson, .geojson or .fgb",
                path.display()
            )
            .into());
        }
    };
    let file = File::create(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let out = BufWriter::with_capacity(1 << 20, file);
    let writer = match format {
        None => RowWriter::parquet(out, stream.schema())?,
        Some(format) => RowWriter::text(out, format),
    };
    drain(stream, writer).await
}

async fn to_standard_output(
    mut stream: SendableRecordBatchStream,
    format: SqlFormat,
) -> Result<usize, Box<dyn std::error::Error + Send + Sync>> {
    if format != SqlFormat::Table {
        return drain(
            stream,
            RowWriter::text(BufWriter::new(io::stdout()), format),
        )
        .await;
    }
    let schema = stream.schema();
    let mut shown: Vec<RecordBatch> = Vec::new();
    let (mut rows, mut kept) = (0, 0);
    while let Some(batch) = stream.next().await {
        let batch = batch?;
        rows += batch.num_rows();
        let room = TABLE_ROWS_MAX - kept;
        if room > 0 {
            let part = batch.slice(0, room.min(batch.num_rows()));
            kept += part.num_rows();
            shown.push(part);
        }
    }
    if shown.is_empty() {
        shown.push(RecordBatch::new_empty(schema));
    }
    match writeln!(io::stdout(), "{}", pretty_format_batches(&shown)?) {
        // The reader of the pipe, such as a pager or `head`, has closed it.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(rows),
        written => written?,
    }
    if rows > kept {
        eprintln!(
            "the first {kept} rows of {rows}; use --output FILE or --format csv for all rows"
        );
    }
    Ok(rows)
}
