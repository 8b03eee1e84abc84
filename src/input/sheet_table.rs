//! Writes the sheets of a workbook to a temporary file as CSV, one after the other, and chooses those that are read.
//!
//! The largest table is read, because a cover sheet or a list of codes often comes first. All sheets with the same
//! header are read with it, in the order of the workbook. The header is below the titles of a sheet and the names of
//! groups of columns, if it has any. For each sheet, only its place in the file, its size and a digest of its header
//! are held in memory.

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::ops::Range;

use memchr::memchr_iter;
use toise_base::bounded::check_columns;

use crate::error::{Error, damaged};
use crate::source_lines::SheetLines;
use crate::titles::{
    HEADER_CELLS_MIN, TITLE_CELLS_MAX, TITLE_LINES_MAX, are_names, begins_with_digit, title_bytes,
};

/// Size of the buffer for writing, bytes; also how much of a sheet is searched for its header.
const BUFFER_BYTES: usize = 256 << 10;
/// Maximum sheets that are reported as not read, by name.
const SHEETS_SHOWN: usize = 8;

/// The sheets of a workbook that are read, as one table.
pub(crate) struct Sheets {
    /// Their names.
    pub names: Vec<String>,
    /// Their rows, separated by commas, after one header.
    pub csv: SheetText,
    /// The rows of the sheets at which the lines of `csv` begin.
    pub lines: SheetLines,
    /// Notes on parts that are not read.
    pub notes: Vec<String>,
}

/// A sheet in the temporary file.
#[derive(Debug, Default)]
pub(crate) struct SheetTable {
    name: String,
    /// Where its rows are, with titles and header and without.
    bytes: Range<u64>,
    body_start: u64,
    /// Number of rows, with titles and header.
    rows: u64,
    /// Its rows at which the lines of its text begin, and the number of these lines, in all and before `body_start`.
    row_lines: SheetLines,
    lines: u64,
    lines_before_body: u64,
    /// Most cells with a value in a row.
    columns: u64,
    /// Digest of its header.
    header: u64,
    /// Whether the cells of its header are texts rather than numbers.
    has_header: bool,
    error_cells: u64,
    formulas_without_value: u64,
    /// Cells beyond the columns of the header.
    outside_cells: u64,
    /// Why it cannot be read.
    fault: Option<String>,
}

impl SheetTable {
    /// Returns whether it has a row after the header.
    fn is_table(&self) -> bool {
        self.rows > 1
    }

    /// Finds the header below the titles.
    fn read_header(&mut self, mut file: &File) -> io::Result<()> {
        let Range { start, end } = self.bytes;
        file.seek(SeekFrom::Start(start))?;
        let mut text = Vec::new();
        let length = (end - start).min(BUFFER_BYTES as u64);
        file.take(length).read_to_end(&mut text)?;
        let title = title_bytes(&text, b',').unwrap_or(0);
        let header_start = start + title as u64;
        file.seek(SeekFrom::Start(header_start))?;
        let mut rows = csv::ReaderBuilder::new()
            .flexible(true)
            .has_headers(false)
            .from_reader(file.take(end - header_start));
        let mut header = csv::StringRecord::new();
        rows.read_record(&mut header)?;
        self.body_start = header_start + rows.position().byte();
        let title_lines = memchr_iter(b'\n', &text[..title]).count() as u64;
        self.lines_before_body = title_lines + rows.position().line() - 1;
        let cells: Vec<String> = header
            .iter()
            .map(|cell| cell.trim().to_lowercase())
            .collect();
        let mut digest = DefaultHasher::new();
        cells.hash(&mut digest);
        let texts = cells.iter().filter(|cell| !cell.is_empty());
        let numbers = texts.clone().filter(|cell| cell.parse::<f64>().is_ok());
        self.has_header = 2 * numbers.count() < texts.count();
        self.header = digest.finish();
        Ok(())
    }
}

/// Chooses the sheets that are read among the visible ones in a file; `hidden` are the names of the others.
///
/// # Errors
/// No visible sheet has a header and a row, the largest cannot be read, or the file cannot.
pub(crate) fn chosen(
    mut found: Vec<SheetTable>,
    hidden: &[String],
    file: File,
) -> Result<Sheets, Error> {
    for sheet in found.iter_mut().filter(|one| one.is_table()) {
        sheet.read_header(&file)?;
    }
    let tables = found.iter().enumerate().filter(|(_, one)| one.is_table());
    let best = tables.max_by_key(|(place, one)| {
        let size = one.rows.saturating_mul(one.columns);
        (one.has_header, size, Reverse(*place))
    });
    let Some((_, best)) = best else {
        let what = match hidden {
            [] => "sheet",
            _ => "visible sheet",
        };
        return Err(Error::Refused(format!(
            "the spreadsheet has no {what} with a header and a row"
        )));
    };
    if let Some(fault) = &best.fault {
        return Err(Error::Refused(fault.clone()));
    }
    let header = best.header;
    let is_read = |one: &SheetTable| one.is_table() && one.header == header && one.fault.is_none();
    let (read, left): (Vec<SheetTable>, Vec<SheetTable>) = found.into_iter().partition(is_read);
    let parts = read.iter().enumerate().map(|(place, one)| match place {
        0 => one.bytes.clone(),
        _ => one.body_start..one.bytes.end,
    });
    let mut lines = SheetLines::default();
    let mut lines_before = 0;
    for (place, one) in read.iter().enumerate() {
        let left_out = if place == 0 { 0 } else { one.lines_before_body };
        lines.append(&one.row_lines, left_out, lines_before);
        lines_before += one.lines - left_out;
    }
    Ok(Sheets {
        lines,
        csv: SheetText {
            parts: parts.collect(),
            file,
            left: 0,
        },
        notes: notes(&read, &left, hidden),
        names: read.into_iter().map(|one| one.name).collect(),
    })
}

/// Returns sentences about what is not read.
fn notes(read: &[SheetTable], left: &[SheetTable], hidden: &[String]) -> Vec<String> {
    let mut left = left.iter().filter(|one| one.rows > 0);
    let shown = left.by_ref().take(SHEETS_SHOWN);
    let mut notes: Vec<String> = shown
        .map(|one| format!("sheet {} is not read", one.name))
        .collect();
    match left.count() {
        0 => {}
        others => notes.push(format!("{others} other sheets are not read")),
    }
    let shown = hidden.iter().take(SHEETS_SHOWN);
    notes.extend(shown.map(|name| format!("hidden sheet {name} is not read")));
    match hidden.len().saturating_sub(SHEETS_SHOWN) {
        0 => {}
        others => notes.push(format!("{others} other hidden sheets are not read")),
    }
    let errors: u64 = read.iter().map(|one| one.error_cells).sum();
    let formulas: u64 = read.iter().map(|one| one.formulas_without_value).sum();
    let outside: u64 = read.iter().map(|one| one.outside_cells).sum();
    if outside > 0 {
        notes.push(format!(
            "warning: cells to the right of the header, ignored: {outside}"
        ));
    }
    if errors > 0 {
        notes.push(format!("cells with an error, read as empty: {errors}"));
    }
    if formulas > 0 {
        notes.push(format!(
            "formulas without a stored value, read as empty: {formulas}"
        ));
    }
    notes
}

/// Reads some parts of a file, one after the other.
pub(crate) struct SheetText {
    file: File,
    parts: VecDeque<Range<u64>>,
    /// Bytes left of the current part.
    left: u64,
}

impl Read for SheetText {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.left == 0 {
            let Some(next) = self.parts.pop_front() else {
                return Ok(0);
            };
            self.file.seek(SeekFrom::Start(next.start))?;
            self.left = next.end - next.start;
        }
        let count = (&mut self.file).take(self.left).read(out)?;
        self.left -= count as u64;
        Ok(count)
    }
}

/// Writes cells, which arrive row by row, as CSV. Rows without cells are left out; the first row of a sheet, or the first
/// below its titles or groups, is the header, and its last cell bounds the width of the table. Cells to the right of a
/// header of [`HEADER_CELLS_MIN`] cells are ignored, as are cells too far to the right for any table.
pub(crate) struct Rows {
    /// Cells of the sheet that hold an error, such as `#DIV/0!`.
    pub error_cells: u64,
    /// Cells of the sheet with a formula that no program has computed.
    pub formulas_without_value: u64,
    out: csv::Writer<BufWriter<File>>,
    row: u32,
    cells: Vec<String>,
    /// Cells of the row that have a value.
    filled: u64,
    /// Cells of the row that are too far to the right, and why.
    far_cells: u64,
    far_fault: Option<String>,
    /// Width of the header, and its cells that have a value.
    width: usize,
    header_filled: u64,
    /// Cells with a value of the row above, if that may name groups of columns instead of being the header.
    groups: Option<u64>,
    sheet: SheetTable,
    bytes: u64,
    bytes_max: u64,
}

impl Rows {
    /// Begins a file of at most `bytes_max` bytes for all sheets together.
    pub(crate) fn new(bytes_max: u64) -> Result<Self, Error> {
        let file = BufWriter::with_capacity(BUFFER_BYTES, tempfile::tempfile()?);
        Ok(Self {
            error_cells: 0,
            formulas_without_value: 0,
            out: csv::WriterBuilder::new().flexible(true).from_writer(file),
            row: 0,
            cells: Vec::new(),
            filled: 0,
            far_cells: 0,
            far_fault: None,
            width: 0,
            header_filled: 0,
            groups: None,
            sheet: SheetTable::default(),
            bytes: 0,
            bytes_max,
        })
    }

    pub(crate) fn set(&mut self, row: u32, column: u32, text: String) -> Result<(), Error> {
        if row != self.row {
            self.end_row()?;
            self.row = row;
        }
        if text.trim().is_empty() {
            return Ok(());
        }
        let column = column as usize;
        if self.groups.is_none() && self.is_outside(column) {
            self.sheet.outside_cells += 1;
            return Ok(());
        }
        self.filled += 1;
        if let Err(fault) = check_columns(column + 1) {
            self.far_cells += 1;
            self.far_fault.get_or_insert(fault);
            return Ok(());
        }
        if self.cells.len() <= column {
            self.cells.resize(column + 1, String::new());
        }
        self.bytes += text.len() as u64;
        self.cells[column] = text;
        Ok(())
    }

    fn end_row(&mut self) -> Result<(), Error> {
        let far_cells = std::mem::take(&mut self.far_cells);
        let far_fault = self.far_fault.take();
        self.sheet.outside_cells += far_cells;
        if self.cells.is_empty() {
            self.filled = 0;
            return Ok(());
        }
        let is_below_titles = self.sheet.rows <= TITLE_LINES_MAX as u64
            && self.sheet.columns <= TITLE_CELLS_MAX as u64;
        let is_first_header =
            self.sheet.rows == 0 || is_below_titles && self.filled >= HEADER_CELLS_MIN as u64;
        let groups = self.groups.take();
        let cells = self.cells.iter().map(String::as_bytes);
        let is_below_groups = groups.is_some_and(|groups| are_names(cells, groups as usize));
        if groups.is_some() && !is_below_groups {
            self.remove_outside_cells();
            if self.cells.iter().all(String::is_empty) {
                self.cells.clear();
                self.filled = 0;
                return Ok(());
            }
        }
        if is_below_titles
            && self.filled > TITLE_CELLS_MAX as u64
            && self.filled < self.cells.len() as u64
            && !self
                .cells
                .iter()
                .any(|cell| begins_with_digit(cell.as_bytes()))
        {
            self.groups = Some(self.filled);
        }
        if is_first_header || is_below_groups {
            self.width = self.cells.len();
            self.header_filled = self.filled;
            if let Some(fault) = far_fault {
                self.sheet.fault.get_or_insert(fault);
            }
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
        let breaks = self.cells.iter();
        let breaks = breaks.map(|cell| memchr_iter(b'\n', cell.as_bytes()).count() as u64);
        let sheet = &mut self.sheet;
        sheet
            .row_lines
            .push(sheet.lines + 1, u64::from(self.row) + 1);
        sheet.lines += 1 + breaks.sum::<u64>();
        self.sheet.rows += 1;
        self.sheet.columns = self.sheet.columns.max(self.filled);
        self.cells.clear();
        self.filled = 0;
        Ok(())
    }

    /// Returns whether a column is to the right of the header.
    fn is_outside(&self, column: usize) -> bool {
        self.header_filled >= HEADER_CELLS_MIN as u64 && column >= self.width
    }

    /// Removes the cells of the row to the right of the header, which were kept because they might have been of names
    /// below groups.
    fn remove_outside_cells(&mut self) {
        if self.is_outside(self.cells.len().saturating_sub(1)) {
            let outside = self.cells.drain(self.width..);
            let outside = outside.filter(|cell| !cell.is_empty()).count() as u64;
            self.sheet.outside_cells += outside;
            self.filled -= outside;
        }
    }

    /// Ends a sheet. The cells that follow are of the next one.
    pub(crate) fn end_sheet(&mut self, name: String) -> Result<SheetTable, Error> {
        self.end_row()?;
        let end = self.position()?;
        (self.row, self.filled, self.width, self.header_filled) = (0, 0, 0, 0);
        self.groups = None;
        let next = SheetTable {
            bytes: end..end,
            ..SheetTable::default()
        };
        let ended = std::mem::replace(&mut self.sheet, next);
        Ok(SheetTable {
            name,
            bytes: ended.bytes.start..end,
            error_cells: std::mem::take(&mut self.error_cells),
            formulas_without_value: std::mem::take(&mut self.formulas_without_value),
            ..ended
        })
    }

    /// Returns the length of the file so far.
    fn position(&mut self) -> Result<u64, Error> {
        self.out.flush()?;
        let mut file = self.out.get_ref().get_ref();
        Ok(file.stream_position()?)
    }

    /// Returns the file of all sheets.
    pub(crate) fn into_file(self) -> Result<File, Error> {
        let mut file = self.out.into_inner().map_err(damaged)?;
        file.flush()?;
        file.into_inner().map_err(damaged)
    }
}
