//! Converts a sheet of a workbook (XLSX, XLSM, XLSB, XLS, ODS) to CSV.
//!
//! The first visible sheet with two rows is taken. Dates become ISO dates, and whole numbers lose their decimals. The
//! rows of an XLSX file are streamed; other kinds are held in memory, so the size they expand to is bounded. The CSV
//! goes to a temporary file, because its readers read the beginning twice.

use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Seek, Write};

use calamine::{Data, DataRef, ExcelDateTime, Ods, Reader, SheetVisible, Xls, Xlsb, Xlsx};
use toise_base::bounded::{RATIO_MAX, UNPACKED_BYTES_LEAST, check_columns};

use crate::archive::{self, Workbook};
use crate::bounds::Bounds;
use crate::error::Error;
use crate::ods_cells;

/// Memory of a cell, bytes.
const CELL_BYTES: u64 = 32;
/// Size of the buffers for reading and writing, bytes.
const BUFFER_BYTES: usize = 256 << 10;

fn damaged(error: impl std::fmt::Display) -> Error {
    Error::Refused(format!("damaged spreadsheet: {error}"))
}

/// A sheet as CSV.
pub(crate) struct Sheet {
    /// Its name.
    pub name: String,
    /// Its rows as CSV with commas, to be read from the beginning.
    pub csv: File,
}

/// Converts the workbook in a file.
///
/// # Errors
/// The file is damaged, is not a workbook, has no sheet with rows, or expands beyond the bounds.
pub(crate) fn convert(file: &File, format: Workbook, bounds: Bounds) -> Result<Sheet, Error> {
    let packed = file.metadata()?.len();
    let held = match format {
        Workbook::Xls => packed,
        // The sheets of an XLSX file are streamed; everything else in it is held in memory.
        Workbook::Xlsx => held_bytes(file, bounds.held_bytes, |name| {
            !name.starts_with("xl/worksheets/") && !name.starts_with("xl/media/")
        })?,
        Workbook::Xlsb | Workbook::Ods => {
            held_bytes(file, bounds.held_bytes, |name| !name.contains("media/"))?
        }
    };
    let cells_max = bounds.held_bytes / CELL_BYTES;
    let is_repeated = format == Workbook::Ods && ods_cells::exceed(file, cells_max)?;
    if held > bounds.held_bytes || is_repeated {
        return Err(Error::Refused(format!(
            "the spreadsheet takes more than {} bytes of memory: save it as CSV",
            bounds.held_bytes
        )));
    }
    let mut source = file.try_clone()?;
    source.rewind()?;
    let source = BufReader::with_capacity(BUFFER_BYTES, source);
    let usual = UNPACKED_BYTES_LEAST.max(packed.saturating_mul(RATIO_MAX));
    let rows = || Rows::new(usual.min(bounds.expanded_bytes));
    match format {
        Workbook::Xlsx => first_table(Xlsx::new(source).map_err(damaged)?, rows, stream),
        Workbook::Xlsb => first_table(Xlsb::new(source).map_err(damaged)?, rows, whole),
        Workbook::Ods => first_table(Ods::new(source).map_err(damaged)?, rows, whole),
        Workbook::Xls => first_table(Xls::new(source).map_err(damaged)?, rows, whole),
    }
}

/// Returns how many bytes the members of an archive that are held in memory expand to.
fn held_bytes(file: &File, bytes_max: u64, is_held: impl Fn(&str) -> bool) -> Result<u64, Error> {
    let (mut members, _) = archive::examine(file)?;
    archive::expanded_bytes(&mut members, is_held, bytes_max)
}

/// Converts the first visible sheet that has rows.
fn first_table<W: Reader<BufReader<File>>>(
    mut workbook: W,
    rows: impl Fn() -> Result<Rows, Error>,
    read: impl Fn(&mut W, &str, &mut Rows) -> Result<(), Error>,
) -> Result<Sheet, Error> {
    for sheet in workbook.sheets_metadata().to_vec() {
        if sheet.visible != SheetVisible::Visible {
            continue;
        }
        let mut rows = rows()?;
        read(&mut workbook, &sheet.name, &mut rows)?;
        if let Some(csv) = rows.finish()? {
            let name = sheet.name;
            return Ok(Sheet { name, csv });
        }
    }
    Err(Error::Refused(
        "the spreadsheet has no sheet with a header and a row".into(),
    ))
}

fn stream<R: Read + Seek>(
    workbook: &mut Xlsx<R>,
    name: &str,
    rows: &mut Rows,
) -> Result<(), Error> {
    let Ok(mut cells) = workbook.worksheet_cells_reader(name) else {
        // A chart sheet has no cells.
        return Ok(());
    };
    while let Some(cell) = cells.next_cell().map_err(damaged)? {
        let (row, column) = cell.get_position();
        let text = match cell.get_value() {
            DataRef::String(text) => text.clone(),
            DataRef::SharedString(text) => (*text).to_owned(),
            DataRef::Int(number) => number.to_string(),
            DataRef::Float(number) => float_text(*number),
            DataRef::Bool(flag) => flag.to_string(),
            DataRef::DateTime(moment) => moment_text(moment),
            DataRef::DateTimeIso(text) | DataRef::DurationIso(text) => text.clone(),
            DataRef::Error(_) | DataRef::Empty => continue,
        };
        rows.set(row, column, text)?;
    }
    Ok(())
}

fn whole<W: Reader<BufReader<File>>>(
    workbook: &mut W,
    name: &str,
    rows: &mut Rows,
) -> Result<(), Error>
where
    W::Error: std::fmt::Display,
{
    let range = workbook.worksheet_range(name).map_err(damaged)?;
    let (first_row, first_column) = range.start().unwrap_or_default();
    for (row, column, value) in range.used_cells() {
        let text = match value {
            Data::String(text) | Data::DateTimeIso(text) | Data::DurationIso(text) => text.clone(),
            Data::Int(number) => number.to_string(),
            Data::Float(number) => float_text(*number),
            Data::Bool(flag) => flag.to_string(),
            Data::DateTime(moment) => moment_text(moment),
            _ => continue,
        };
        rows.set(first_row + row as u32, first_column + column as u32, text)?;
    }
    Ok(())
}

/// Returns a timestamp as an ISO date, with its time unless that is midnight. A time without a date stays a number of
/// days.
fn moment_text(moment: &ExcelDateTime) -> String {
    if moment.is_duration() || moment.as_f64() < 1.0 {
        return moment.as_f64().to_string();
    }
    let (year, month, day, hour, minute, second, _) = moment.to_ymd_hms_milli();
    if (hour, minute, second) == (0, 0, 0) {
        format!("{year:04}-{month:02}-{day:02}")
    } else {
        format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}")
    }
}

/// Returns a decimal number as text whose point cannot be mistaken for a thousands separator: `1.2` as it is, but
/// `1.234` as `1.2340`.
fn float_text(number: f64) -> String {
    let text = number.to_string();
    let decimals = text
        .split_once('.')
        .map_or(0, |(_, decimals)| decimals.len());
    if decimals == 3 { text + "0" } else { text }
}

/// Writes cells, which arrive row by row, as CSV. Rows without cells are omitted. The first row is the header, and its
/// last cell bounds the width of the table.
struct Rows {
    out: csv::Writer<BufWriter<File>>,
    row: u32,
    cells: Vec<String>,
    width: usize,
    written: u64,
    bytes: u64,
    bytes_max: u64,
}

impl Rows {
    fn new(bytes_max: u64) -> Result<Self, Error> {
        let file = BufWriter::with_capacity(BUFFER_BYTES, tempfile::tempfile()?);
        Ok(Self {
            out: csv::WriterBuilder::new().flexible(true).from_writer(file),
            row: 0,
            cells: Vec::new(),
            width: 0,
            written: 0,
            bytes: 0,
            bytes_max,
        })
    }

    fn set(&mut self, row: u32, column: u32, text: String) -> Result<(), Error> {
        if row != self.row {
            self.end_row()?;
            self.row = row;
        }
        if text.trim().is_empty() {
            return Ok(());
        }
        let column = column as usize;
        check_columns(column + 1).map_err(Error::Refused)?;
        if self.cells.len() <= column {
            self.cells.resize(column + 1, String::new());
        }
        self.bytes += text.len() as u64;
        self.cells[column] = text;
        Ok(())
    }

    fn end_row(&mut self) -> Result<(), Error> {
        if self.cells.is_empty() {
            return Ok(());
        }
        if self.written == 0 {
            self.width = self.cells.len();
        }
        if self.cells.len() < self.width {
            self.cells.resize(self.width, String::new());
        }
        self.bytes += self.cells.len() as u64;
        if self.bytes > self.bytes_max {
            return Err(Error::Refused(format!(
                "the spreadsheet expands to more than {} bytes",
                self.bytes_max
            )));
        }
        self.out.write_record(&self.cells).map_err(damaged)?;
        self.written += 1;
        self.cells.clear();
        Ok(())
    }

    /// Returns the CSV, or `None` if there is no row after the header.
    fn finish(mut self) -> Result<Option<File>, Error> {
        self.end_row()?;
        let mut file = self.out.into_inner().map_err(damaged)?;
        file.flush()?;
        let mut file = file.into_inner().map_err(damaged)?;
        file.rewind()?;
        Ok((self.written > 1).then_some(file))
    }
}
