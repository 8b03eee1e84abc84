//! Imports files into a table: one thread reads and splits them, rayon converts the blocks, and the calling thread
//! writes to the sink in source order.
//!
//! Memory holds about [`BLOCKS_WAITING`] + [`BLOCKS_CONVERTING`] blocks of 2 MB of text, whatever the file size, except
//! for JSON pages, which are held whole. Files whose mutations are scattered are grouped on disk, with 1/64 of the file
//! in memory at a time. Must not be called from a rayon worker, because it waits for conversions.

mod files;
mod pipeline;

use std::collections::{BTreeSet, HashSet};
use std::fs::File;
use std::io::Read;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;

pub use self::files::{LocalFiles, group_by_columns, local_files};
use self::pipeline::BlockConsumer;
use super::dataset::{Dataset, ImportTable};
use super::dvf;
use super::filtered::ImportedSales;
use super::report::{FileReport, ImportReport};
use super::source::{ByteMeter, Error, SourceFormat, open};
use toise_base::clock::{Clock, iso};
use toise_base::progress::Progress;
use toise_geo::iris::IrisIndex;
use toise_geocode::resolve::LazyGeocoder;
use toise_input::ReadFile;
use toise_lake::{Provenance, RowSink, Slice};

/// Maximum blocks read ahead of conversion.
pub const BLOCKS_WAITING: usize = 4;
/// Maximum blocks in conversion, or converted and waiting for the sink.
pub const BLOCKS_CONVERTING: usize = 4;
/// Licence of all imported data.
pub const LICENCE: &str = "Licence Ouverte 2.0";

/// Options of an import.
#[derive(Clone, Default)]
pub struct ImportOptions {
    /// Departments to import; empty for all.
    pub departments: Vec<String>,
    /// Years of sales to import; `None` for all.
    pub years: Option<RangeInclusive<i32>>,
    /// First day of diagnostics to import, days since 1970-01-01.
    pub since: Option<i32>,
    /// Official edition of the files (`2026-04`); they replace the slices they cover.
    pub edition: Option<String>,
    /// IRIS contours that fill `iris_code` and `iris_type` of sales.
    pub iris: Option<Arc<IrisIndex>>,
    /// Locates rows that have an address but no position; the default locates none.
    pub geocoder: LazyGeocoder,
    /// Whether the sources give every column of the register and omit only columns without a value. If not, a stored
    /// record keeps its values of absent columns.
    pub has_all_columns: bool,
    /// Whether a file with few columns also adds diagnostics that are not stored.
    pub allow_partial: bool,
    /// Whether an edition is refused that has less than half of the stored rows of one of its slices.
    pub refuses_shrunk: bool,
    /// Names of sources whose mutations are scattered, so that they are grouped on disk.
    pub scattered: HashSet<String>,
    /// Progress bars on standard error.
    pub progress: Progress,
    /// Clock for the time at which a source is read.
    pub clock: Clock,
}

/// A file to import.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportInput {
    /// Path of the file.
    pub path: PathBuf,
    /// Name in reports, provenance and errors: the path, or the address it was downloaded from.
    pub name: String,
    /// Official edition of this file; `None` means the edition of the options, if any.
    pub edition: Option<String>,
    /// Slices that the file covers completely; `None` derives them from its rows if an edition is given.
    pub slices: Option<Vec<Slice>>,
    /// Whether the file gives every column of the register; see [`ImportOptions::has_all_columns`].
    pub has_all_columns: bool,
}

impl ImportInput {
    /// Creates the input for a local file, named by its path.
    pub fn local(path: PathBuf) -> Self {
        Self {
            name: path.display().to_string(),
            path,
            edition: None,
            slices: None,
            has_all_columns: false,
        }
    }
}

/// One imported source.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportedSource {
    /// Provenance, for the snapshot.
    pub source: Provenance,
    /// Slices that an edition covers; empty without an edition.
    pub slices: Vec<Slice>,
}

/// Imports files into a sink that `begin` opens, and returns the sink, filled and unpublished.
///
/// If the mutations of a file turn out to be scattered, the sink cannot be rolled back: it is dropped, and all files
/// are read again with that file grouped on disk.
///
/// # Errors
///
/// The first file that cannot be read or is malformed; the sink is dropped in that case.
pub fn import_files<S: RowSink>(
    table: impl Into<ImportTable>,
    inputs: &[ImportInput],
    begin: impl Fn() -> Result<S, toise_lake::Error>,
    options: &ImportOptions,
    report: &mut ImportReport,
) -> Result<(S, Vec<ImportedSource>), Error> {
    let table = table.into();
    let mut options = options.clone();
    let blank = report.clone();
    loop {
        let mut sink = begin()?;
        let stored = match table {
            ImportTable::Dataset(Dataset::Dvf) => sink.stored_rows()?,
            _ => None,
        };
        let stored = stored.filter(|stored| !stored.is_empty());
        report.imported_sales = stored.is_some().then(ImportedSales::default);
        let imported: Result<Vec<ImportedSource>, Error> = inputs
            .iter()
            .map(|input| import_file(table, input, &mut sink, &options, report))
            .collect();
        match imported {
            Err(Error::Scattered { place }) if options.scattered.insert(place.file.clone()) => {
                *report = blank.clone();
            }
            Err(error) => return Err(error),
            Ok(imported) => {
                // The next files of the import are judged by themselves.
                let note = std::mem::take(&mut report.sold_homes).note();
                report.notes.extend(note);
                if let Some((stored, sales)) = stored.zip(report.imported_sales.take()) {
                    let departments: BTreeSet<&str> =
                        sales.communes().map(dvf::place::department).collect();
                    let departments: Vec<String> =
                        departments.into_iter().map(str::to_owned).collect();
                    let note = sales.note(&stored, dvf::schema(), &departments)?;
                    report.notes.extend(note);
                }
                let scattered = options.scattered.iter().map(|file| {
                    format!(
                        "{file}: the rows of its mutations are scattered; they were grouped on disk"
                    )
                });
                report.notes.extend(scattered);
                let failure = options.geocoder.failure();
                report
                    .notes
                    .extend(failure.map(|reason| {
                        format!("rows without a position were not placed: {reason}")
                    }));
                return Ok((sink, imported));
            }
        }
    }
}

/// Imports one file into a sink.
///
/// # Errors
///
/// As for [`import_reader`], or the file cannot be opened.
pub fn import_file(
    table: impl Into<ImportTable>,
    input: &ImportInput,
    sink: &mut dyn RowSink,
    options: &ImportOptions,
    report: &mut ImportReport,
) -> Result<ImportedSource, Error> {
    let name = &input.name;
    let file = File::open(&input.path).map_err(Error::io(name))?;
    let total = file.metadata().ok().map(|about| about.len());
    let bar = options.progress.bytes(name, total);
    let mut own = options.clone();
    own.edition = input.edition.clone().or(own.edition);
    own.has_all_columns |= input.has_all_columns;
    let reader = bar.wrap_read(file);
    let imported = import_reader(
        table,
        reader,
        name,
        SourceFormat::Detect,
        sink,
        &own,
        report,
    );
    bar.finish_and_clear();
    let mut imported = imported?;
    if let Some(slices) = &input.slices {
        imported.slices.clone_from(slices);
    }
    Ok(imported)
}

/// Imports from any reader, including one in memory. `name` identifies the source in the report and in errors.
///
/// # Errors
///
/// The source is malformed; rows written so far stay in the sink, which the caller drops. [`Error::Scattered`]: start
/// again with the name added to [`ImportOptions::scattered`].
pub fn import_reader(
    table: impl Into<ImportTable>,
    reader: impl Read + Send,
    name: &str,
    format: SourceFormat,
    sink: &mut dyn RowSink,
    options: &ImportOptions,
    report: &mut ImportReport,
) -> Result<ImportedSource, Error> {
    let table = table.into();
    // Documents of filiation have no header to detect them by.
    let format = match table {
        ImportTable::Dfi => SourceFormat::Filiation,
        _ => format,
    };
    let meter = ByteMeter::default();
    let counted = meter.clone();
    let mut consumer = BlockConsumer::new(table, name, sink, options, report);
    std::thread::scope(|scope| {
        let (sender, blocks) = sync_channel(BLOCKS_WAITING);
        scope.spawn(move || {
            let mut rows = match open(reader, name, format, &counted) {
                Ok(rows) => rows,
                Err(error) => {
                    let _ = sender.send(Err(error));
                    return;
                }
            };
            while let Some(block) = rows.next_block().transpose() {
                let failed = block.is_err();
                // If the consumer has ended, it has already reported its own error.
                if sender.send(block).is_err() || failed {
                    return;
                }
            }
        });
        consumer.consume(blocks)
    })?;
    let (rows, mut reading) = (consumer.rows, std::mem::take(&mut consumer.reading));
    let mark = consumer.decimals.mark();
    let slices = match (&options.edition, table) {
        (Some(_), ImportTable::Dataset(Dataset::Dvf)) => slices(&consumer.places, true),
        (Some(_), ImportTable::Ban | ImportTable::Rnb | ImportTable::Dfi) => {
            slices(&consumer.places, false)
        }
        _ => Vec::new(),
    };
    reading.form = meter.form();
    reading.form.decimal_mark = mark.filter(|_| reading.form.delimiter.is_some());
    report.files.push(FileReport {
        read: ReadFile {
            name: name.to_owned(),
            rows,
            reading,
        },
        bytes: meter.bytes(),
        checksum: meter.checksum(),
    });
    Ok(ImportedSource {
        source: Provenance {
            name: name.to_owned(),
            edition: options.edition.clone(),
            checksum: meter.checksum(),
            licence: LICENCE.to_owned(),
            read_at: iso(options.clock.now()),
            bytes: meter.bytes(),
        },
        slices,
    })
}

/// Returns the slices that a file of an edition covers: its commune if there is only one, otherwise its departments, in
/// each year found, or in all years of a table without dates.
fn slices(places: &BTreeSet<(String, i32)>, by_year: bool) -> Vec<Slice> {
    let mut communes = places.iter().map(|(commune, _)| commune);
    let first = communes.next();
    let single = communes.all(|commune| Some(commune) == first);
    let slices: BTreeSet<Slice> = places
        .iter()
        .map(|(commune, year)| Slice {
            place: if single {
                commune.clone()
            } else {
                dvf::place::department(commune).to_owned()
            },
            year: by_year.then_some(*year),
        })
        .collect();
    slices.into_iter().collect()
}
