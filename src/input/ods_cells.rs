//! Bounds the memory of the cells of an ODS file before it is read, because a few bytes can repeat a cell and its row a
//! million times. The reader of the format holds all sheets, and a second copy of the one that it returns.

use std::fs::File;
use std::io::BufReader;

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use crate::archive;
use crate::error::Error;

/// Member of the archive with the sheets.
const CONTENT: &str = "content.xml";
/// Memory of a cell, bytes.
const CELL_BYTES: u64 = 32;
/// Memory of the text of a cell besides its characters, bytes.
const TEXT_BYTES: u64 = 32;
/// Copies of a cell that are held.
const COPIES: u64 = 2;

/// The size of one sheet, as far as it was read.
#[derive(Default)]
struct SheetSize {
    /// Rows up to the last non-empty one.
    rows: u64,
    /// Empty rows after it.
    empty_rows: u64,
    /// Columns up to the last one that is non-empty in some row.
    width: u64,
    /// How often the current row repeats; its columns so far; its columns up to the last non-empty one.
    repeats: u64,
    columns: u64,
    used: u64,
    /// Memory of the repeated texts of all rows, and of one repetition of the current row. The size of the file bounds
    /// the others.
    texts: u64,
    row_texts: u64,
    /// How often the text of the current cell counts.
    text_repeats: u64,
}

impl SheetSize {
    fn begin_row(&mut self, start: &BytesStart<'_>) {
        self.repeats = number(start, "number-rows-repeated");
        (self.columns, self.used, self.row_texts) = (0, 0, 0);
    }

    fn add_cells(&mut self, start: &BytesStart<'_>, has_content: bool) {
        let repeats = number(start, "number-columns-repeated");
        self.columns = self.columns.saturating_add(repeats);
        let mut attributes = start.attributes().flatten();
        let kind = attributes.find(|found| found.key.local_name().as_ref() == "value-type");
        let has_value = kind.is_some();
        let is_text = kind.is_some_and(|kind| &*kind.value == "string");
        self.text_repeats = if is_text && has_content && (repeats > 1 || self.repeats > 1) {
            repeats
        } else {
            0
        };
        self.add_text(TEXT_BYTES);
        if has_content || has_value {
            self.used = self.columns;
        }
    }

    fn add_text(&mut self, bytes: u64) {
        let bytes = bytes.saturating_mul(self.text_repeats);
        self.row_texts = self.row_texts.saturating_add(bytes);
    }

    fn end_row(&mut self) {
        let texts = self.row_texts.saturating_mul(self.repeats);
        self.texts = self.texts.saturating_add(texts);
        self.empty_rows = self.empty_rows.saturating_add(self.repeats);
        if self.used > 0 {
            self.rows = self.rows.saturating_add(self.empty_rows);
            self.empty_rows = 0;
            self.width = self.width.max(self.used);
        }
    }

    /// Memory of its cells, bytes.
    fn bytes(&self) -> u64 {
        let cells = self.rows.saturating_mul(self.width);
        let once = cells.saturating_mul(CELL_BYTES).saturating_add(self.texts);
        once.saturating_mul(COPIES)
    }
}

/// Returns whether the cells of a file, with all that repeat, take more memory than this.
///
/// # Errors
/// The archive or the document in it is damaged.
pub(crate) fn exceed(file: &File, bytes_max: u64) -> Result<bool, Error> {
    let damaged =
        |error: &dyn std::fmt::Display| Error::Refused(format!("damaged spreadsheet: {error}"));
    let (mut members, _) = archive::examine(file)?;
    let content = members.by_name(CONTENT).map_err(|error| damaged(&error))?;
    let mut reader = Reader::from_reader(BufReader::new(content));
    let mut sheet = SheetSize::default();
    let mut bytes_before: u64 = 0;
    let mut buffer = Vec::new();
    loop {
        buffer.clear();
        let event = reader.read_event_into(&mut buffer);
        match event.map_err(|error| damaged(&error))? {
            Event::Eof => return Ok(false),
            Event::Start(start) => match start.local_name().as_ref() {
                "table" => {
                    bytes_before = bytes_before.saturating_add(sheet.bytes());
                    sheet = SheetSize::default();
                }
                "table-row" => sheet.begin_row(&start),
                "table-cell" | "covered-table-cell" => sheet.add_cells(&start, true),
                _ => {}
            },
            Event::Empty(start) => match start.local_name().as_ref() {
                "table-row" => {
                    sheet.begin_row(&start);
                    sheet.end_row();
                }
                "table-cell" | "covered-table-cell" => sheet.add_cells(&start, false),
                _ => {}
            },
            Event::Text(text) => sheet.add_text(text.len() as u64),
            Event::End(end) => match end.local_name().as_ref() {
                "table-row" => {
                    sheet.end_row();
                    if bytes_before.saturating_add(sheet.bytes()) > bytes_max {
                        return Ok(true);
                    }
                }
                "table-cell" | "covered-table-cell" => sheet.text_repeats = 0,
                _ => {}
            },
            _ => {}
        }
    }
}

/// Returns the number in an attribute; 1 without it.
fn number(start: &BytesStart<'_>, name: &str) -> u64 {
    let mut attributes = start.attributes().flatten();
    let found = attributes.find(|attribute| attribute.key.local_name().as_ref() == name);
    found.map_or(1, |attribute| {
        attribute.value.trim().parse().unwrap_or(u64::MAX)
    })
}
