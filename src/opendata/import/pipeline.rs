//! The import pipeline: receives blocks of rows, converts several at a time on rayon, and sends the batches to the sink
//! in source order. There is one [`BlockConsumer`] per source.

use std::collections::{BTreeSet, VecDeque};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};

use super::files::explain_missing;
use super::{BLOCKS_CONVERTING, ImportOptions};
use crate::dataset::{Dataset, ImportTable};
use crate::report::{Converted, ImportReport, Tally};
use crate::source::cell::plain_name;
use crate::source::{Block, Error, Header, SourceLocation};
use crate::{ban, dfi, dpe, dvf, rnb};
use toise_geo::iris::IrisIndex;
use toise_geocode::resolve::LazyGeocoder;
use toise_input::FileReading;
use toise_input::number::DecimalEvidence;
use toise_input::reading::ColumnUse;
use toise_lake::{RowSink, StoredRows};

/// Sets the columns of a header; in JSON, a later header may have more columns.
fn set_columns(reading: &mut FileReading, header: &Header, unknown: &[String]) {
    let used = header.names.iter().filter(|name| !unknown.contains(name));
    reading.columns_used = used
        .map(|name| ColumnUse {
            column: name.clone(),
            field: plain_name(name),
        })
        .collect();
    unknown.iter().for_each(|name| reading.add_unused(name));
}

type Conversion = Receiver<Result<Converted, toise_lake::Error>>;

/// Columns of the current file.
#[derive(Clone)]
enum SourceColumns {
    Dvf(Arc<dvf::columns::DvfColumns>),
    Dpe(Arc<dpe::source::DpeColumns>),
    Ban(Arc<ban::columns::BanColumns>),
    Rnb(Arc<rnb::columns::RnbColumns>),
    /// The columns of filiation files are always the same.
    Dfi,
}

/// Settings shared by the conversions of one file.
struct ConversionContext {
    file: String,
    dvf: dvf::record::DvfSelection,
    dpe: dpe::record::DpeSelection,
    /// Departments to import from the other sources; empty for all.
    departments: Vec<String>,
    iris: Option<Arc<IrisIndex>>,
    geocoder: LazyGeocoder,
}

/// Consumer of blocks: converts them and pushes the batches in order.
pub(super) struct BlockConsumer<'c> {
    table: ImportTable,
    context: Arc<ConversionContext>,
    sink: &'c mut dyn RowSink,
    report: &'c mut ImportReport,
    is_scattered: bool,
    is_edition: bool,
    header: Option<Arc<Header>>,
    columns: Option<SourceColumns>,
    has_all_columns: bool,
    allow_partial: bool,
    /// Rows that are already stored; opened for a file that lacks columns.
    stored: Option<Arc<StoredRows>>,
    converting: VecDeque<Conversion>,
    /// How this source was interpreted.
    pub(super) reading: FileReading,
    /// Decimal notation of its first rows.
    pub(super) decimals: DecimalEvidence,
    /// Rows with text that was encoded as UTF-8 twice.
    encoded_twice: Tally,
    /// Number of rows read from this source.
    pub(super) rows: u64,
    /// Communes and years of the rows used.
    pub(super) places: BTreeSet<(String, i32)>,
}

impl<'c> BlockConsumer<'c> {
    pub(super) fn new(
        table: ImportTable,
        name: &str,
        sink: &'c mut dyn RowSink,
        options: &ImportOptions,
        report: &'c mut ImportReport,
    ) -> Self {
        report.table = table.name();
        let context = ConversionContext {
            file: name.to_owned(),
            dvf: dvf::record::DvfSelection {
                departments: options.departments.clone(),
                years: options.years.clone(),
            },
            dpe: dpe::record::DpeSelection {
                departments: options.departments.clone(),
                since: options.since,
            },
            departments: options.departments.clone(),
            iris: options.iris.clone(),
            geocoder: options.geocoder.clone(),
        };
        Self {
            table,
            context: Arc::new(context),
            sink,
            report,
            is_scattered: options.scattered.contains(name),
            is_edition: options.edition.is_some(),
            header: None,
            columns: None,
            has_all_columns: options.has_all_columns,
            allow_partial: options.allow_partial,
            stored: None,
            converting: VecDeque::new(),
            reading: FileReading::default(),
            decimals: DecimalEvidence::default(),
            encoded_twice: Tally::default(),
            rows: 0,
            places: BTreeSet::new(),
        }
    }

    pub(super) fn consume(&mut self, blocks: Receiver<Result<Block, Error>>) -> Result<(), Error> {
        let mut grouper = dvf::mutation::Grouper::new(
            &self.context.file,
            self.is_scattered,
            self.sink.scratch_folder().map(Path::to_owned),
        );
        let context = Arc::clone(&self.context);
        let mut sieve = dvf::sieve::DepartmentSieve::new(&context.dvf.departments);
        for block in blocks {
            let block = block?;
            if self.rows == 0 {
                self.observe_decimals(&block);
            }
            self.rows += block.len() as u64;
            self.report.rows_read += block.len() as u64;
            self.reading.add_missing(&block.missing);
            match self.columns(&block)? {
                SourceColumns::Dpe(columns) => self.convert_dpe(block, columns)?,
                SourceColumns::Ban(columns) => self.spawn(move |context, file| {
                    let wanted = &context.departments;
                    Ok(ban::record::convert(&block, &columns, file, wanted)?)
                })?,
                SourceColumns::Rnb(columns) => self.spawn(move |context, file| {
                    let wanted = &context.departments;
                    Ok(rnb::record::convert(&block, &columns, file, wanted)?)
                })?,
                SourceColumns::Dfi => self.spawn(move |context, file| {
                    Ok(dfi::record::convert(&block, file, &context.departments)?)
                })?,
                SourceColumns::Dvf(columns) => {
                    let Some(block) = sieve.push(block, &columns) else {
                        continue;
                    };
                    let mut emit = |mutations| self.convert_dvf(mutations, Arc::clone(&columns));
                    grouper.push(block, &columns, &mut emit)?;
                }
            }
        }
        if let Some(SourceColumns::Dvf(columns)) = self.columns.clone() {
            let (rest, skipped) = sieve.finish();
            self.report.rows_not_asked_for += skipped;
            let mut emit = |mutations| self.convert_dvf(mutations, Arc::clone(&columns));
            grouper.push(rest, &columns, &mut emit)?;
            let mut emit = |mutations| self.convert_dvf(mutations, Arc::clone(&columns));
            let findings = grouper.finish(&columns, &mut emit)?;
            let dropped = self.report.add(findings);
            self.reading.left_out.append(dropped);
            self.add_note(columns.separation_note());
        }
        while !self.converting.is_empty() {
            self.take_oldest()?;
        }
        if let Some(SourceColumns::Dvf(columns)) = &self.columns {
            let note = columns.commune_note(&self.places);
            self.add_note(note);
        }
        let example = self.encoded_twice.examples.first();
        let note = example.map(|example| {
            format!(
                "rows with text that was encoded as UTF-8 twice: {}, such as {:?} in line {}; it is imported as it is; repair \
                 the file and import it again",
                self.encoded_twice.count, example.value, example.line
            )
        });
        self.add_note(note);
        Ok(())
    }

    /// Adds a note about this source to the report.
    fn add_note(&mut self, note: Option<String>) {
        let note = note.map(|note| format!("{}: {note}", self.context.file));
        self.report.notes.extend(note);
    }

    /// Looks at the first rows to report how the file writes decimals. They suffice, because an official file writes
    /// all its numbers in one notation.
    fn observe_decimals(&mut self, block: &Block) {
        for row in 0..block.len() {
            for cell in block.cells(row) {
                self.decimals.observe(cell);
            }
        }
    }

    /// Returns the columns of the block's header; computed again only if the header has changed.
    fn columns(&mut self, block: &Block) -> Result<SourceColumns, Error> {
        let same = self
            .header
            .as_ref()
            .is_some_and(|known| Arc::ptr_eq(known, &block.header));
        if let (true, Some(columns)) = (same, &self.columns) {
            return Ok(columns.clone());
        }
        let file = &self.context.file;
        let table = self.table;
        let explain = |error| explain_missing(error, table, &block.header);
        let columns = match table {
            ImportTable::Dataset(Dataset::Dvf) => {
                let columns =
                    dvf::columns::DvfColumns::find(&block.header, file).map_err(explain)?;
                columns.check_geometry(&block.header, file)?;
                set_columns(&mut self.reading, &block.header, &columns.unknown);
                SourceColumns::Dvf(Arc::new(columns))
            }
            ImportTable::Dataset(Dataset::Dpe) => {
                let columns =
                    dpe::source::DpeColumns::find(&block.header, file).map_err(explain)?;
                set_columns(&mut self.reading, &block.header, &columns.unknown);
                if !self.has_all_columns && !columns.is_complete() {
                    self.look_up_stored(&columns)?;
                }
                SourceColumns::Dpe(Arc::new(columns))
            }
            ImportTable::Ban => {
                let columns =
                    ban::columns::BanColumns::find(&block.header, file).map_err(explain)?;
                set_columns(&mut self.reading, &block.header, &columns.unknown);
                SourceColumns::Ban(Arc::new(columns))
            }
            ImportTable::Rnb => {
                let columns =
                    rnb::columns::RnbColumns::find(&block.header, file).map_err(explain)?;
                set_columns(&mut self.reading, &block.header, &columns.unknown);
                SourceColumns::Rnb(Arc::new(columns))
            }
            ImportTable::Dfi => SourceColumns::Dfi,
        };
        self.header = Some(Arc::clone(&block.header));
        self.columns = Some(columns.clone());
        Ok(columns)
    }

    /// Opens the stored rows, once, for a file that lacks columns. Adds a note if the file can add no diagnostics.
    fn look_up_stored(&mut self, columns: &dpe::source::DpeColumns) -> Result<(), Error> {
        if self.stored.is_some() {
            return Ok(());
        }
        let Some(stored) = self.sink.stored_rows()? else {
            return Ok(());
        };
        self.stored = Some(Arc::new(stored));
        let lacking = columns.lacking().filter(|_| !self.allow_partial);
        self.add_note(lacking.map(|lacking| {
            format!(
                "{lacking}: changes stored diagnostics and adds none (--allow-partial adds them)"
            )
        }));
        Ok(())
    }

    fn convert_dvf(
        &mut self,
        mutations: dvf::mutation::MutationBlock,
        columns: Arc<dvf::columns::DvfColumns>,
    ) -> Result<(), Error> {
        if mutations.starts.is_empty() {
            return Ok(());
        }
        self.spawn(move |context, file| {
            let sources = dvf::record::PlaceSources {
                iris: context.iris.as_deref(),
                geocoder: &context.geocoder,
            };
            let wanted = &context.dvf;
            Ok(dvf::record::convert(
                &mutations, &columns, file, wanted, sources,
            )?)
        })
    }

    fn convert_dpe(
        &mut self,
        block: Block,
        columns: Arc<dpe::source::DpeColumns>,
    ) -> Result<(), Error> {
        let (stored, allow_partial) = (self.stored.clone(), self.allow_partial);
        self.spawn(move |context, file| {
            let sources = dpe::record::DpeSources {
                geocoder: &context.geocoder,
                stored: stored.as_deref(),
                allow_partial,
            };
            dpe::record::convert(&block, &columns, file, &context.dpe, sources)
        })
    }

    /// Converts a block on another thread; `conversion` also receives the name of the file.
    fn spawn(
        &mut self,
        conversion: impl FnOnce(&ConversionContext, &str) -> Result<Converted, toise_lake::Error>
        + Send
        + 'static,
    ) -> Result<(), Error> {
        let (sender, receiver) = sync_channel(1);
        let context = Arc::clone(&self.context);
        rayon::spawn(move || {
            // If the import has failed, nothing receives the result any more.
            let _ = sender.send(conversion(&context, &context.file));
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
        let mut converted = conversion.recv().map_err(|_| {
            let place = SourceLocation::file(&self.context.file);
            Error::malformed(place, "the conversion of its rows stopped unexpectedly")
        })??;
        if let Some((place, reason)) = converted.findings.refused {
            return Err(Error::malformed(place, reason));
        }
        self.report.rows_kept += converted.rows_kept;
        self.report.placed += converted.placed;
        self.report.rows_not_asked_for += converted.rows_not_asked_for;
        self.report.records += converted.batch.num_rows() as u64;
        if self.table == Dataset::Dvf.into() {
            self.report.add_without_position(&converted.batch);
            self.report.sold_homes.add(&converted.batch);
            let sales = self.report.imported_sales.as_mut();
            // An edition replaces the stored sales of its slices.
            if let Some(sales) = sales.filter(|_| !self.is_edition) {
                sales.add(&converted.batch);
            }
        }
        let encoded_twice = std::mem::take(&mut converted.findings.encoded_twice);
        self.encoded_twice.append(encoded_twice);
        let dropped = self.report.add(converted.findings);
        self.reading.left_out.append(dropped);
        self.places.extend(converted.places);
        if converted.batch.num_rows() > 0 {
            self.sink.push(converted.batch)?;
        }
        Ok(())
    }
}
