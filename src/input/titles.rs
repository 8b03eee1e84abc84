//! Finds the header of a table below lines that precede it: titles, and names of groups of columns.
//!
//! [`title_bytes`] judges the first records of a text. The rows of a sheet are judged alike while they are written
//! (`sheet_table.rs`), because their header bounds the width of the table.

use std::ops::RangeInclusive;

/// Most lines above a header that are skipped.
pub(crate) const TITLE_LINES_MAX: usize = 20;
/// Most cells of a title.
pub(crate) const TITLE_CELLS_MAX: usize = 2;
/// Cells of a wider title, up to its last text, for each that has text; or cells of the header for each of them.
const TITLE_SHARE: usize = 2;
/// Fewest cells of a header below such lines.
pub(crate) const HEADER_CELLS_MIN: usize = 4;

/// Records that are compared with a first one that looks like a row.
const ROWS_COMPARED: usize = 20;
/// Fewest digits of a whole number that is a value and not the name of a column.
const VALUE_DIGITS_MIN: usize = 5;
/// Numbers that may name columns, with or without decimals.
const YEARS: RangeInclusive<f64> = 1900.0..=2100.0;

/// A record that may be the header of a text.
struct Candidate {
    /// Bytes before it, apart from blank lines.
    start: usize,
    /// Its cells that have text.
    cells: usize,
    /// Whether it can be the header below titles or groups.
    is_header: bool,
    /// Whether it may name groups of the columns that the next record names.
    may_be_groups: bool,
    /// Whether one of its cells is empty and a later one has text.
    has_gap: bool,
    /// Whether it may be a title: few of its cells have text.
    is_sparse: bool,
}

/// Returns a reader of the records of a text, the first one included, whatever their widths are. In a text with vertical
/// bars, quotation marks have no special meaning.
pub(crate) fn record_reader(text: &[u8], delimiter: u8) -> csv::Reader<&[u8]> {
    csv::ReaderBuilder::new()
        .delimiter(delimiter)
        .quoting(delimiter != b'|')
        .flexible(true)
        .has_headers(false)
        .from_reader(text)
}

/// Returns the bytes above the header, if the first records are titles or groups of columns: titles have a cell or two,
/// text in at most half of their cells up to the last, or at most half as many cells as the header; groups leave most
/// of their cells empty ([`are_names`]). Below them is a record of names, followed by one of about as many cells, of
/// which one at least is a number. Below groups with a gap, no such record is needed.
pub(crate) fn title_bytes(text: &[u8], delimiter: u8) -> Option<usize> {
    let mut rows = record_reader(text, delimiter);
    let mut record = csv::ByteRecord::new();
    let mut candidate: Option<Candidate> = None;
    // Most cells of a record so far that is a title only if the header has twice as many.
    let mut widest = 0;
    let header_start = |start: usize| {
        let is_line_end = |byte: &&u8| matches!(byte, b'\r' | b'\n');
        start + text[start..].iter().take_while(is_line_end).count()
    };
    for index in 0..=TITLE_LINES_MAX + 1 {
        if !rows.read_byte_record(&mut record).ok()? {
            return None;
        }
        let filled = |cell: &&[u8]| !cell.trim_ascii().is_empty();
        let cells = record.iter().filter(filled).count();
        let has_number = record.iter().any(begins_with_digit);
        // The position of a record is that of the blank lines before it.
        let start = record.position()?.byte() as usize;
        let is_below_groups = widest * TITLE_SHARE <= cells
            && candidate.as_ref().is_some_and(|groups| {
                groups.may_be_groups && are_names(record.iter(), groups.cells)
            });
        if let Some(found) = candidate.take() {
            if is_below_groups && found.has_gap {
                return Some(header_start(start));
            }
            if is_below_groups {
                candidate = Some(Candidate {
                    start,
                    cells,
                    is_header: true,
                    may_be_groups: false,
                    has_gap: false,
                    is_sparse: false,
                });
                continue;
            }
            let is_wide = widest * TITLE_SHARE <= found.cells;
            if found.is_header && is_wide && cells * 2 >= found.cells && has_number {
                return Some(header_start(found.start));
            }
            if !found.is_sparse {
                widest = widest.max(found.cells);
            }
        }
        let unused = record.iter().rev().take_while(|cell| !filled(cell));
        let width = record.len() - unused.count();
        let is_sparse = cells * TITLE_SHARE <= width;
        if cells <= TITLE_CELLS_MAX || is_sparse && has_number {
            continue;
        }
        let is_header = index > 0 && cells >= HEADER_CELLS_MIN && !has_number;
        let may_be_groups = cells < record.len() && !has_number;
        if !is_header && !may_be_groups {
            widest = widest.max(cells);
            continue;
        }
        candidate = Some(Candidate {
            start,
            cells,
            is_header,
            may_be_groups,
            has_gap: cells < width,
            is_sparse,
        });
    }
    None
}

/// Returns whether the first two records of a text share the names of its columns, as when the cells of a header were
/// merged downwards: `Réf;Type;Prix;` above `;;vente;charges`. A table whose first column alone has no name is not one.
pub(crate) fn has_split_header(text: &[u8], delimiter: u8) -> bool {
    let mut rows = record_reader(text, delimiter);
    let mut records = rows.byte_records().map_while(Result::ok);
    let (Some(first), Some(second)) = (records.next(), records.next()) else {
        return false;
    };
    if first.iter().chain(&second).any(begins_with_digit) {
        return false;
    }
    let names = |record: &csv::ByteRecord, column: usize| {
        record
            .get(column)
            .is_some_and(|cell| !cell.trim_ascii().is_empty())
    };
    let columns = 0..first.len();
    let is_shared = |column: usize| names(&first, column) || names(&second, column);
    first.len() >= HEADER_CELLS_MIN
        && columns.clone().all(is_shared)
        && columns.clone().any(|column| !names(&second, column))
        && columns.skip(1).any(|column| !names(&first, column))
}

/// Returns whether the first record of a text looks like a row and not like names of columns: it has a number that is
/// no year, and a text that a later record has in the same column.
pub(crate) fn looks_like_row(text: &[u8], delimiter: u8) -> bool {
    let mut rows = record_reader(text, delimiter);
    let mut records = rows.byte_records().map_while(Result::ok);
    let Some(first) = records.next() else {
        return false;
    };
    let is_text = |cell: &[u8]| cell.iter().any(u8::is_ascii_alphabetic);
    first.iter().any(is_value)
        && records.take(ROWS_COMPARED).any(|row| {
            let mut cells = first.iter().zip(&row);
            cells.any(|(cell, below)| cell == below && is_text(cell))
        })
}

/// Returns whether a cell is a number that names no column: one with decimals or many digits, and no year.
fn is_value(cell: &[u8]) -> bool {
    let text = String::from_utf8_lossy(cell);
    let text = text.trim();
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    let Ok(number) = text.replace(',', ".").parse::<f64>() else {
        return false;
    };
    let has_decimals = text.contains(['.', ',']);
    digits > 0 && !YEARS.contains(&number) && (has_decimals || digits >= VALUE_DIGITS_MIN)
}

/// Returns whether the cells of a record are names of columns, below a record of group names with `groups` non-empty
/// cells. They are if all are texts without a gap, and a group has two columns or more on average.
pub(crate) fn are_names<'c>(cells: impl Iterator<Item = &'c [u8]>, groups: usize) -> bool {
    let (mut names, mut has_gap) = (0, false);
    for cell in cells {
        // Rows of spreadsheets may end with cells of columns that nobody uses.
        if cell.trim_ascii().is_empty() {
            has_gap = true;
            continue;
        }
        if has_gap || begins_with_digit(cell) {
            return false;
        }
        names += 1;
    }
    names >= HEADER_CELLS_MIN && names >= 2 * groups
}

pub(crate) fn begins_with_digit(cell: &[u8]) -> bool {
    cell.trim_ascii().first().is_some_and(u8::is_ascii_digit)
}
