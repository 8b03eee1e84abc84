//! Converts a sheet of a workbook (XLSX, XLSM, XLSB, XLS, ODS) to CSV.
//!
//! The largest visible sheet is taken, and with it those that have the same header; the others are reported, hidden ones
//! too. Dates
//! become ISO dates, whole numbers lose their decimals. The rows of an XLSX file are read one after the other; other
//! kinds are held in memory, so the size they expand to is bounded. The CSV of all sheets goes to one temporary file
//! (`sheet_table.rs`).

use std::fs::File;
use std::io::{BufReader, Read, Seek};

use calamine::{Data, DataRef, ExcelDateTime, Ods, Reader, SheetVisible, Xls, Xlsb, Xlsx};
use toise_base::bounded::{RATIO_MAX, UNPACKED_BYTES_LEAST};

use crate::archive::{self, Workbook};
use crate::bounds::Bounds;
use crate::error::{Error, damaged};
use crate::ods_cells;
use crate::sheet_table::{Rows, SheetTable, Sheets, chosen};

/// Size of the buffer for reading, bytes.
const BUFFER_BYTES: usize = 256 << 10;

/// Converts the workbook in a file.
///
/// # Errors
/// The file is damaged, not a workbook, has no sheet with rows, or expands to more than is read.
pub(crate) fn convert(file: &File, format: Workbook, bounds: Bounds) -> Result<Sheets, Error> {
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
    let is_repeated = format == Workbook::Ods && ods_cells::exceed(file, bounds.held_bytes)?;
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
    let rows = Rows::new(usual.min(bounds.expanded_bytes))?;
    match format {
        Workbook::Xlsx => tables(Xlsx::new(source).map_err(damaged)?, rows, stream),
        Workbook::Xlsb => tables(Xlsb::new(source).map_err(damaged)?, rows, whole),
        Workbook::Ods => tables(Ods::new(source).map_err(damaged)?, rows, whole),
        Workbook::Xls => tables(Xls::new(source).map_err(damaged)?, rows, whole),
    }
}

/// Returns how many bytes the members of an archive that are held in memory expand to.
fn held_bytes(file: &File, bytes_max: u64, is_held: impl Fn(&str) -> bool) -> Result<u64, Error> {
    let (mut members, _) = archive::examine(file)?;
    archive::expanded_bytes(&mut members, is_held, bytes_max)
}

/// Converts the visible sheets, and chooses among them.
fn tables<W: Reader<BufReader<File>>>(
    mut workbook: W,
    mut rows: Rows,
    read: impl Fn(&mut W, &str, &mut Rows) -> Result<(), Error>,
) -> Result<Sheets, Error> {
    let mut found: Vec<SheetTable> = Vec::new();
    let mut hidden: Vec<String> = Vec::new();
    for sheet in workbook.sheets_metadata().to_vec() {
        if sheet.visible == SheetVisible::Visible {
            read(&mut workbook, &sheet.name, &mut rows)?;
            found.push(rows.end_sheet(sheet.name)?);
        } else {
            hidden.push(sheet.name);
        }
    }
    chosen(found, &hidden, rows.into_file()?)
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
    while let Some(cell) = cells.next_cell_with_formula_metadata().map_err(damaged)? {
        let (row, column) = cell.pos;
        let text = match cell.value {
            DataRef::String(text) | DataRef::DateTimeIso(text) | DataRef::DurationIso(text) => text,
            DataRef::SharedString(text) => text.to_owned(),
            DataRef::Int(number) => number.to_string(),
            DataRef::Float(number) => float_text(number),
            DataRef::Bool(flag) => flag.to_string(),
            DataRef::DateTime(moment) => moment_text(&moment),
            DataRef::Error(_) => {
                rows.error_cells += 1;
                continue;
            }
            DataRef::Empty => {
                rows.formulas_without_value += u64::from(cell.formula.is_some());
                continue;
            }
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
            Data::Error(_) => {
                rows.error_cells += 1;
                continue;
            }
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
