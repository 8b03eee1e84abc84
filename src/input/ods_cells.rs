//! Counts the cells of an ODS file before it is read, because a few bytes can repeat a cell and its row a million times.

use std::fs::File;
use std::io::BufReader;

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use crate::archive;
use crate::error::Error;

/// Member of the archive with the sheets.
const CONTENT: &str = "content.xml";

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
}

impl SheetSize {
    fn begin_row(&mut self, start: &BytesStart<'_>) {
        self.repeats = number(start, "number-rows-repeated");
        (self.columns, self.used) = (0, 0);
    }

    fn add_cells(&mut self, start: &BytesStart<'_>, has_content: bool) {
        self.columns = self
            .columns
            .saturating_add(number(start, "number-columns-repeated"));
        let has_value = start
            .attributes()
            .flatten()
            .any(|attribute| attribute.key.local_name().as_ref() == "value-type");
        if has_content || has_value {
            self.used = self.columns;
        }
    }

    fn end_row(&mut self) {
        self.empty_rows = self.empty_rows.saturating_add(self.repeats);
        if self.used > 0 {
            self.rows = self.rows.saturating_add(self.empty_rows);
            self.empty_rows = 0;
            self.width = self.width.max(self.used);
        }
    }

    fn cells(&self) -> u64 {
        self.rows.saturating_mul(self.width)
    }
}

/// Returns whether the sheets of a file, which are held together, have more cells than this, with all that repeat.
///
/// # Errors
/// The archive or the document in it is damaged.
pub(crate) fn exceed(file: &File, cells_max: u64) -> Result<bool, Error> {
    let damaged =
        |error: &dyn std::fmt::Display| Error::Refused(format!("damaged spreadsheet: {error}"));
    let (mut members, _) = archive::examine(file)?;
    let content = members.by_name(CONTENT).map_err(|error| damaged(&error))?;
    let mut reader = Reader::from_reader(BufReader::new(content));
    let mut sheet = SheetSize::default();
    let mut cells_before: u64 = 0;
    let mut buffer = Vec::new();
    loop {
        buffer.clear();
        let event = reader.read_event_into(&mut buffer);
        match event.map_err(|error| damaged(&error))? {
            Event::Eof => return Ok(false),
            Event::Start(start) => match start.local_name().as_ref() {
                "table" => {
                    cells_before = cells_before.saturating_add(sheet.cells());
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
            Event::End(end) if end.local_name().as_ref() == "table-row" => {
                sheet.end_row();
                if cells_before.saturating_add(sheet.cells()) > cells_max {
                    return Ok(true);
                }
            }
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
