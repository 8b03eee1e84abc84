//! The form of a file, as detected: its containers, encoding, delimiter and decimal mark.

use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use crate::source_lines::{SheetLines, SourceLines};

/// Beginning of the container of a spreadsheet.
const SPREADSHEET: &str = "spreadsheet";
/// Beginning of the container of XML.
const XML: &str = "xml";
/// Maximum sheets that are named.
const SHEETS_SHOWN: usize = 8;

/// The form of a file, for reports.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileForm {
    /// Containers from the outside in: `gzip`, `zip: valeurs.txt`, `spreadsheet: Feuil1`, `xml: annonce`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub containers: Vec<String>,
    /// Name of the encoding of the text; `None` for files that are not text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<String>,
    /// Delimiter of the cells of a text; `None` for files that are not delimited text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delimiter: Option<char>,
    /// Line of the header, if lines above it were skipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header_line: Option<u64>,
    /// Decimal mark of its numbers; `None` if they do not show it, or show both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decimal_mark: Option<char>,
    /// Bytes of a UTF-8 text that are not UTF-8 and were read as Windows-1252.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub other_bytes: u64,
    /// Notes on parts that were not read: `sheet 2023 is not read`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl FileForm {
    /// Returns whether a conversion was needed that the user should know about.
    pub fn is_notable(&self) -> bool {
        let is_usual = |delimiter: char| matches!(delimiter, ',' | ';');
        let is_plain = self.delimiter.is_none_or(is_usual)
            && self.containers.iter().all(|container| container == "gzip")
            && self.encoding.as_deref().is_none_or(|name| name == "UTF-8")
            && self.header_line.is_none()
            && self.other_bytes == 0
            && self.notes.is_empty();
        !is_plain
    }

    /// Returns whether the file is a spreadsheet, so that a program wrote its numbers as text, not a person.
    pub fn is_spreadsheet(&self) -> bool {
        let is_spreadsheet = |container: &String| container.starts_with(SPREADSHEET);
        self.containers.iter().any(is_spreadsheet)
    }

    /// Returns whether the file is XML, whose records were found.
    pub fn is_xml(&self) -> bool {
        let is_xml = |container: &String| container.starts_with(XML);
        self.containers.iter().any(is_xml)
    }
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl std::fmt::Display for FileForm {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut parts: Vec<String> = self.containers.clone();
        parts.extend(self.encoding.clone());
        parts.extend(self.delimiter.map(|delimiter| match delimiter {
            '\t' => "cells separated by tabs".to_owned(),
            ' ' => "cells separated by blanks".to_owned(),
            other => format!("cells separated by {other}"),
        }));
        parts.extend(
            self.header_line
                .map(|line| format!("header in line {line}")),
        );
        parts.extend(
            self.decimal_mark
                .map(|mark| format!("decimals after {mark}")),
        );
        if parts.is_empty() {
            parts.push("by column".to_owned());
        }
        if self.other_bytes > 0 {
            parts.push(format!("{} bytes read as windows-1252", self.other_bytes));
        }
        parts.extend(self.notes.iter().cloned());
        out.write_str(&parts.join(", "))
    }
}

/// The form of a file that is being read. Clones share it; the encoding is certain once the text has been read.
#[derive(Clone, Debug, Default)]
pub struct SharedForm {
    found: Arc<Mutex<FileForm>>,
    lines: Arc<Mutex<SourceLines>>,
    sheet_lines: Arc<OnceLock<SheetLines>>,
    cut_line: Arc<OnceLock<u64>>,
}

impl SharedForm {
    /// Returns what is known so far.
    pub fn found(&self) -> FileForm {
        self.found.lock().clone()
    }

    pub(crate) fn add_container(&self, container: impl Into<String>) {
        self.found.lock().containers.push(container.into());
    }

    /// Adds a sentence about what was not read, once.
    pub(crate) fn add_note(&self, note: impl Into<String>) {
        let note: String = note.into();
        let mut form = self.found.lock();
        if !form.notes.contains(&note) {
            form.notes.push(note);
        }
    }

    /// Notes the line of the source at which the next record of a converted text begins.
    pub(crate) fn add_source_line(&self, line: u64) {
        self.lines.lock().push(line);
    }

    /// Notes the rows of a spreadsheet at which the lines of its text begin.
    pub(crate) fn set_sheet_lines(&self, lines: SheetLines) {
        // A source is converted once.
        let _ = self.sheet_lines.set(lines);
    }

    /// Returns the line of the source at which a row of delimited text begins: in a spreadsheet, the row of its sheet.
    /// For a text that was converted, that is not the line of the row. Rows must be asked for in order; a row without a
    /// position has line 0.
    pub fn line_of(&self, position: Option<&csv::Position>) -> u64 {
        position.map_or(0, |position| {
            let known = self.lines.lock().line_of(position.record());
            known.unwrap_or_else(|| self.sheet_row(position.line()))
        })
    }

    /// Returns the row of its sheet for a line of a spreadsheet's text; the line itself for any other text.
    pub fn sheet_row(&self, line: u64) -> u64 {
        let lines = self.sheet_lines.get();
        lines.and_then(|lines| lines.row_at(line)).unwrap_or(line)
    }

    /// Notes the sheets of a spreadsheet that are read.
    pub(crate) fn add_spreadsheet(&self, sheets: &[String]) {
        let (shown, others) = sheets.split_at(sheets.len().min(SHEETS_SHOWN));
        let mut text = shown.join(", ");
        if !others.is_empty() {
            text.push_str(&format!(" and {} more", others.len()));
        }
        self.add_container(format!("{SPREADSHEET}: {text}"));
    }

    /// Notes the elements of XML that are records.
    pub(crate) fn add_xml(&self, elements: &str) {
        self.add_container(format!("{XML}: {elements}"));
    }

    pub(crate) fn set_encoding(&self, name: &str) {
        self.found.lock().encoding = Some(name.to_owned());
    }

    /// Records the delimiter of a text. A spreadsheet that was converted to text has none.
    pub(crate) fn set_delimiter(&self, delimiter: u8) {
        let mut form = self.found.lock();
        if !form.is_spreadsheet() {
            form.delimiter = Some(char::from(delimiter));
        }
    }

    pub(crate) fn set_header_line(&self, line: u64) {
        self.found.lock().header_line = Some(self.sheet_row(line));
    }

    /// Notes the last line of a text that looks cut off within it.
    pub fn set_cut_line(&self, line: u64) {
        // A text ends once.
        let _ = self.cut_line.set(line);
    }

    /// Returns the last line of a text that looks cut off within it. A container that is cut off cannot be read.
    pub fn cut_line(&self) -> Option<u64> {
        self.cut_line.get().copied()
    }

    /// Records the decimal mark.
    pub fn set_decimal_mark(&self, mark: Option<char>) {
        self.found.lock().decimal_mark = mark;
    }

    pub(crate) fn count_other_bytes(&self, count: u64) {
        self.found.lock().other_bytes += count;
    }
}
