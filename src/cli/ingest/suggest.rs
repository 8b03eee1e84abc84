//! `toise ingest FILE --suggest`: prints a mapping for a file, ready to save, and reports how many of the first rows it
//! turns into adverts.

use std::collections::BTreeMap;
use std::path::Path;

use indicatif::ProgressBar;
use serde_json::{Value, json};

use super::source::{self, OpenSource, name_of, sources};
use super::{CsvDialect, IngestArgs};
use crate::{CommandResult, Common};
use toise_base::clock::Clock;
use toise_collect::mapping::Row;
use toise_collect::mapping::suggest::{ROWS_MAX, SampledFile, Suggestion, records_in};
use toise_collect::portals::Portals;
use toise_listings::adverts::left_out::with_left_out_value;
use toise_listings::adverts::locating::PlaceSources;
use toise_listings::adverts::prepare::preview;

/// Maximum cells of a first line that a message shows.
const CELLS_SHOWN: usize = 12;

/// Runs `ingest --suggest`.
pub fn run(common: &Common, arguments: &IngestArgs, portals: &Portals) -> CommandResult {
    let sources = sources(&arguments.files)?;
    let [source] = sources.as_slice() else {
        return Err(format!(
            "--suggest looks at one file, and these are {}; files of one shape need one mapping",
            sources.len()
        )
        .into());
    };
    let source = source.as_deref();
    let name = name_of(source);
    let file = sampled(source, arguments).map_err(|fault| format!("{name}: {fault}"))?;
    if file.has_no_header() {
        let cells = file.header.iter().map(String::as_str);
        let cells = cells.filter(|cell| !cell.is_empty()).take(CELLS_SHOWN);
        let cells: Vec<&str> = cells.collect();
        return Err(format!(
            "{name}: the first line looks like an advert, not like the names of columns: {}; add a first line of names, \
             such as id,type,rooms,city,surface,price",
            cells.join(", ")
        )
        .into());
    }
    if file.rows.is_empty() {
        return Err(format!("{name}: no rows to suggest a mapping from").into());
    }
    let suggestion = file.suggest()?;
    let tried = TriedRows::new(&suggestion, &file.rows, portals);
    let text = format!(
        "# Suggested for {name}. {}\n{}",
        tried.to_text(),
        suggestion.text
    );
    if tried.adverts == 0 {
        for missing in &suggestion.missing {
            eprintln!("warning: {name}: {missing}");
        }
    }
    if common.json {
        let TriedRows {
            adverts,
            rows,
            refused,
        } = &tried;
        let output = json!({"mapping": text, "rows": rows, "adverts": adverts, "refused": refused});
        println!("{output}");
    } else {
        print!("{text}");
        eprintln!("{name}: {}", tried.to_text());
        eprintln!(
            "save this as a file and look at ten adverts: toise ingest {name} --mapping FILE --dry-run"
        );
    }
    Ok(())
}

/// Reads the first rows of a file.
fn sampled(source: Option<&Path>, arguments: &IngestArgs) -> Result<SampledFile, String> {
    let IngestArgs {
        format,
        encoding,
        delimiter,
        ..
    } = arguments;
    let dialect = CsvDialect::parse(encoding.as_deref(), delimiter.as_deref())?;
    let bar = ProgressBar::hidden();
    let opened = source::open(source, *format, &dialect, None, &bar)?;
    let OpenSource {
        rows, header, form, ..
    } = opened;
    let mut read: Vec<Row> = Vec::new();
    for line in rows.take(ROWS_MAX) {
        // Rows that cannot be read are skipped here; ingestion reports them.
        if let Ok(Value::Object(row)) = line.map_err(|error| error.to_string())?.row {
            read.push(row);
        }
    }
    let mut records = None;
    if header.is_none()
        && !form.found().is_xml()
        && let [only] = read.as_slice()
        && let Some((path, rows)) = records_in(&Value::Object(only.clone()))
    {
        records = Some(path);
        read = rows;
    }
    let stem = source.and_then(Path::file_stem);
    Ok(SampledFile {
        name: stem.map_or_else(String::new, |stem| stem.to_string_lossy().into_owned()),
        header: header.unwrap_or_default(),
        rows: read,
        records,
        dialect: [
            ("encoding", encoding.clone()),
            ("delimiter", delimiter.clone()),
        ],
    })
}

/// Result of trying a mapping on rows.
struct TriedRows {
    rows: usize,
    adverts: usize,
    /// Rows that give no advert, by reason.
    refused: BTreeMap<String, u64>,
}

impl TriedRows {
    fn new(suggestion: &Suggestion, rows: &[Row], portals: &Portals) -> Self {
        let identity = portals.identity();
        let now = Clock::system().now();
        let mut tried = Self {
            rows: rows.len(),
            adverts: 0,
            refused: BTreeMap::new(),
        };
        for row in rows {
            let mapped = suggestion.mapping.read(row, portals);
            let fault = mapped.fault().or_else(|| {
                let outcome = preview(mapped.advert, now, &identity, PlaceSources::default());
                outcome
                    .err()
                    .map(|fault| with_left_out_value(fault, &mapped.left_out))
            });
            match fault {
                None => tried.adverts += 1,
                Some(fault) => *tried.refused.entry(fault.to_string()).or_default() += 1,
            }
        }
        tried
    }

    fn to_text(&self) -> String {
        let Self {
            rows,
            adverts,
            refused,
        } = self;
        let most = refused.iter().max_by_key(|(_, count)| **count);
        let others = most.map_or_else(String::new, |(reason, count)| {
            format!(" {count} others: {}.", reason.replace(['\n', '\r'], " "))
        });
        format!("Of its first {rows} rows {adverts} give an advert.{others}")
    }
}
