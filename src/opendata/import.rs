//! Files into a table: one thread reads and splits, rayon converts, the caller's thread feeds the sink in source order.
//!
//! Memory stays within [`BLOCKS_WAITING`] + [`BLOCKS_CONVERTING`] blocks of about 4 MB of text, whatever the file. Call
//! from a thread that is no rayon worker: it waits for conversions.

use std::collections::{BTreeSet, HashSet, VecDeque};
use std::fs::File;
use std::io::Read;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};

use arrow::array::RecordBatch;
use arrow::error::ArrowError;

use super::report::{FileReport, Findings, ImportReport};
use super::source::{Block, Error, Format, Header, Meter, Place, open};
use super::{Dataset, dpe, dvf};
use crate::clock::Clock;
use crate::geo::iris::IrisIndex;
use crate::lake::{RowSink, Slice, Source};
use crate::progress::Progress;

/// Blocks read ahead of conversion.
pub const BLOCKS_WAITING: usize = 4;
/// Blocks in conversion, or converted and waiting for the sink.
pub const BLOCKS_CONVERTING: usize = 4;
/// Licence of everything imported here.
pub const LICENCE: &str = "Licence Ouverte 2.0";

/// What an import is asked for.
#[derive(Clone, Default)]
pub struct ImportOptions {
    /// Departments wanted; empty: all.
    pub departments: Vec<String>,
    /// Years of sales wanted.
    pub years: Option<RangeInclusive<i32>>,
    /// First day of diagnostics wanted, days since 1970-01-01.
    pub since: Option<i32>,
    /// Official edition the files are (`2026-04`): they replace the slices they cover.
    pub edition: Option<String>,
    /// Contours that fill `iris_code` and `iris_type` of sales.
    pub iris: Option<Arc<IrisIndex>>,
    /// Names of sources whose mutations are grouped in memory because their rows are scattered.
    pub group_in_memory: HashSet<String>,
    /// Bars on standard error.
    pub progress: Progress,
    /// Tells when a source was read.
    pub clock: Clock,
}

/// One source that went into a sink.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    /// Provenance, for the snapshot.
    pub source: Source,
    /// Slices an edition covers; empty where no edition was named.
    pub slices: Vec<Slice>,
}

/// Some rows of a file as records of a table.
#[derive(Debug)]
pub struct Converted {
    /// Records, in the table's schema.
    pub batch: RecordBatch,
    /// Source rows that went into them.
    pub rows_kept: u64,
    /// Source rows outside what was asked for.
    pub rows_not_asked_for: u64,
    /// What was wrong.
    pub findings: Findings,
    /// Communes and years of the rows kept.
    pub places: BTreeSet<(String, i32)>,
}

/// Imports files into sinks that `begin` opens, and gives back the sink, filled and unpublished.
///
/// A file whose mutations turn out to be scattered cannot be undone in the sink: the sink is dropped, and everything is
/// read once more with that file grouped in memory.
///
/// # Errors
///
/// The first file that is not what it says; the sink is dropped then.
pub fn import_files<S: RowSink>(
    dataset: Dataset,
    files: &[PathBuf],
    begin: impl Fn() -> Result<S, crate::lake::Error>,
    options: &ImportOptions,
    report: &mut ImportReport,
) -> Result<(S, Vec<Imported>), Error> {
    let mut options = options.clone();
    let blank = report.clone();
    loop {
        let mut sink = begin()?;
        match import_all(dataset, files, &mut sink, &options, report) {
            Err(Error::Scattered { place, .. })
                if options.group_in_memory.insert(place.file.clone()) =>
            {
                *report = blank.clone();
                let file = place.file;
                report.notes.push(format!(
                    "{file}: rows of one mutation are apart; grouped in memory"
                ));
            }
            Err(error) => return Err(error),
            Ok(imported) => return Ok((sink, imported)),
        }
    }
}

fn import_all(
    dataset: Dataset,
    files: &[PathBuf],
    sink: &mut dyn RowSink,
    options: &ImportOptions,
    report: &mut ImportReport,
) -> Result<Vec<Imported>, Error> {
    files
        .iter()
        .map(|path| import_file(dataset, path, sink, options, report))
        .collect()
}

/// Imports one file into a sink.
pub fn import_file(
    dataset: Dataset,
    path: &Path,
    sink: &mut dyn RowSink,
    options: &ImportOptions,
    report: &mut ImportReport,
) -> Result<Imported, Error> {
    let name = path.display().to_string();
    let failed = |source| Error::Io {
        place: Place::file(&name),
        source,
    };
    let file = File::open(path).map_err(failed)?;
    let bar = options
        .progress
        .bytes(&name, file.metadata().ok().map(|about| about.len()));
    let imported = import_reader(
        dataset,
        bar.wrap_read(file),
        &name,
        Format::Detect,
        sink,
        options,
        report,
    );
    bar.finish_and_clear();
    imported
}

/// Imports anything that can be read: the general door, also for readers in memory. `name` is what the report and
/// errors call it.
///
/// # Errors
///
/// A source that is not what it says; rows pushed so far are in the sink, which the caller drops.
/// [`Error::Scattered`]: start over with the name in [`ImportOptions::group_in_memory`].
pub fn import_reader(
    dataset: Dataset,
    reader: impl Read + Send,
    name: &str,
    format: Format,
    sink: &mut dyn RowSink,
    options: &ImportOptions,
    report: &mut ImportReport,
) -> Result<Imported, Error> {
    let meter = Meter::default();
    let counted = meter.clone();
    let mut consumer = Consumer::new(dataset, name, sink, options, report);
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
                // A consumer that has gone met an error of its own.
                if sender.send(block).is_err() || failed {
                    return;
                }
            }
        });
        consumer.consume(blocks)
    })?;
    let rows = consumer.rows;
    let slices = match &options.edition {
        Some(_) if dataset == Dataset::Dvf => slices(&consumer.places),
        _ => Vec::new(),
    };
    report.files.push(FileReport {
        name: name.to_owned(),
        rows,
        bytes: meter.bytes(),
        checksum: meter.checksum(),
    });
    Ok(Imported {
        source: Source {
            name: name.to_owned(),
            edition: options.edition.clone(),
            checksum: meter.checksum(),
            licence: LICENCE.to_owned(),
            read_at: iso(&options.clock),
            bytes: meter.bytes(),
        },
        slices,
    })
}

/// The present moment as the contract writes it.
pub fn iso(clock: &Clock) -> String {
    clock.now().format("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

/// What a file of an edition covers: its commune where it is a single one, else its departments, in each year met.
fn slices(places: &BTreeSet<(String, i32)>) -> Vec<Slice> {
    let mut communes = places.iter().map(|(commune, _)| commune);
    let first = communes.next();
    let single = communes.all(|commune| Some(commune) == first);
    let slices: BTreeSet<Slice> = places
        .iter()
        .map(|(commune, year)| Slice {
            place: if single {
                commune.clone()
            } else {
                dvf::derive::department(commune).to_owned()
            },
            year: *year,
        })
        .collect();
    slices.into_iter().collect()
}

type Conversion = Receiver<Result<Converted, ArrowError>>;

/// Columns of the file at hand.
#[derive(Clone)]
enum Columns {
    Dvf(Arc<dvf::columns::Columns>),
    Dpe(Arc<dpe::source::Columns>),
}

/// What conversions of one file share.
struct Context {
    file: String,
    dvf: dvf::record::Wanted,
    dpe: dpe::record::Wanted,
    iris: Option<Arc<IrisIndex>>,
}

/// Turns blocks into pushed batches, in order.
struct Consumer<'c> {
    dataset: Dataset,
    context: Arc<Context>,
    sink: &'c mut dyn RowSink,
    report: &'c mut ImportReport,
    in_memory: bool,
    header: Option<Arc<Header>>,
    columns: Option<Columns>,
    converting: VecDeque<Conversion>,
    rows: u64,
    places: BTreeSet<(String, i32)>,
}

impl<'c> Consumer<'c> {
    fn new(
        dataset: Dataset,
        name: &str,
        sink: &'c mut dyn RowSink,
        options: &ImportOptions,
        report: &'c mut ImportReport,
    ) -> Self {
        report.table = dataset.name();
        let context = Context {
            file: name.to_owned(),
            dvf: dvf::record::Wanted {
                departments: options.departments.clone(),
                years: options.years.clone(),
            },
            dpe: dpe::record::Wanted {
                departments: options.departments.clone(),
                since: options.since,
            },
            iris: options.iris.clone(),
        };
        Self {
            dataset,
            context: Arc::new(context),
            sink,
            report,
            in_memory: options.group_in_memory.contains(name),
            header: None,
            columns: None,
            converting: VecDeque::new(),
            rows: 0,
            places: BTreeSet::new(),
        }
    }

    fn consume(&mut self, blocks: Receiver<Result<Block, Error>>) -> Result<(), Error> {
        let mut grouper = dvf::mutation::Grouper::new(&self.context.file);
        let mut held = Vec::new();
        let mut held_rows = 0;
        for block in blocks {
            let block = block?;
            self.rows += block.len() as u64;
            self.report.rows_read += block.len() as u64;
            match self.columns(&block)? {
                Columns::Dpe(columns) => self.convert_dpe(block, columns)?,
                Columns::Dvf(columns) if self.in_memory => {
                    held_rows += block.len();
                    held.push(block);
                    if held_rows > dvf::mutation::ROWS_IN_MEMORY_MAX {
                        dvf::mutation::gather(&held, &columns, &self.context.file)?;
                    }
                }
                Columns::Dvf(columns) => {
                    let mutations = grouper.push(block, &columns)?;
                    self.convert_dvf(mutations, columns)?;
                }
            }
        }
        if let Some(Columns::Dvf(columns)) = self.columns.clone() {
            if self.in_memory {
                for block in dvf::mutation::gather(&held, &columns, &self.context.file)? {
                    let mutations = grouper.push(block, &columns)?;
                    self.convert_dvf(mutations, columns.clone())?;
                }
            }
            let rest = grouper.finish(&columns)?;
            self.convert_dvf(rest, columns)?;
        }
        while !self.converting.is_empty() {
            self.take_oldest()?;
        }
        Ok(())
    }

    /// The columns of the block's header, found anew only where the header changed.
    fn columns(&mut self, block: &Block) -> Result<Columns, Error> {
        let same = self
            .header
            .as_ref()
            .is_some_and(|known| Arc::ptr_eq(known, &block.header));
        if let (true, Some(columns)) = (same, &self.columns) {
            return Ok(columns.clone());
        }
        let file = &self.context.file;
        let columns = match self.dataset {
            Dataset::Dvf => {
                let columns = dvf::columns::Columns::find(&block.header, file)?;
                columns
                    .unknown
                    .iter()
                    .for_each(|name| self.report.add_unknown_column(name));
                Columns::Dvf(Arc::new(columns))
            }
            Dataset::Dpe => {
                let columns = dpe::source::Columns::find(&block.header, file)?;
                columns
                    .unknown
                    .iter()
                    .for_each(|name| self.report.add_unknown_column(name));
                Columns::Dpe(Arc::new(columns))
            }
        };
        self.header = Some(Arc::clone(&block.header));
        self.columns = Some(columns.clone());
        Ok(columns)
    }

    fn convert_dvf(
        &mut self,
        mutations: dvf::mutation::Mutations,
        columns: Arc<dvf::columns::Columns>,
    ) -> Result<(), Error> {
        if mutations.starts.is_empty() {
            return Ok(());
        }
        let context = Arc::clone(&self.context);
        self.spawn(move || {
            let iris = context.iris.as_deref();
            dvf::record::convert(&mutations, &columns, &context.file, &context.dvf, iris)
        })
    }

    fn convert_dpe(
        &mut self,
        block: Block,
        columns: Arc<dpe::source::Columns>,
    ) -> Result<(), Error> {
        let context = Arc::clone(&self.context);
        self.spawn(move || dpe::record::convert(&block, &columns, &context.file, &context.dpe))
    }

    fn spawn(
        &mut self,
        conversion: impl FnOnce() -> Result<Converted, ArrowError> + Send + 'static,
    ) -> Result<(), Error> {
        let (sender, receiver) = sync_channel(1);
        rayon::spawn(move || {
            // Nobody waits any more where the import has failed.
            let _ = sender.send(conversion());
        });
        self.converting.push_back(receiver);
        if self.converting.len() >= BLOCKS_CONVERTING {
            self.take_oldest()?;
        }
        Ok(())
    }

    fn take_oldest(&mut self) -> Result<(), Error> {
        let Some(conversion) = self.converting.pop_front() else {
            return Ok(());
        };
        let converted = conversion
            .recv()
            .map_err(|_| {
                let place = Place::file(&self.context.file);
                Error::malformed(place, "the conversion of its rows stopped unexpectedly")
            })?
            .map_err(crate::lake::Error::from)?;
        self.report.rows_kept += converted.rows_kept;
        self.report.rows_not_asked_for += converted.rows_not_asked_for;
        self.report.records += converted.batch.num_rows() as u64;
        self.report.add(converted.findings);
        self.places.extend(converted.places);
        if converted.batch.num_rows() > 0 {
            self.sink.push(converted.batch)?;
        }
        Ok(())
    }
}
