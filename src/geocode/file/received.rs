//! Unpacks a file that a client sent, so that the rest of the service gets plain text in a seekable file.

use std::fs::File;
use std::io::{self, BufRead, Seek};

use super::csv::Error;
use super::request::FileRequest;
use toise_contract::Fault;
use toise_input::json::reason_against_table;
use toise_input::{Bounds, FileForm, Input, TextConversion};

/// Maximum bytes of a workbook held in memory: the shared strings of an XLSX file, or the whole of any other.
const WORKBOOK_BYTES_MAX: u64 = 50 << 20;
/// Path of the file in messages.
const FILE: &str = "data";

/// Opens a file that is packed, a spreadsheet or UTF-16, and returns its text as UTF-8. Returns `None` for any other
/// text, which needs no conversion; the file is then rewound. Blocks.
///
/// # Errors
/// The file is not a table, is damaged, or expands to more than `bytes_max` bytes. Some of these errors occur only
/// while it is read.
pub fn unpacked(file: &mut File, bytes_max: u64) -> Result<Option<Input<'static>>, Error> {
    let bounds = Bounds {
        expanded_bytes: bytes_max,
        held_bytes: WORKBOOK_BYTES_MAX,
        has_unbounded: false,
        ..Bounds::default()
    };
    file.rewind()?;
    let input = toise_input::open_within(file.try_clone()?, TextConversion::Utf16Only, bounds);
    let mut input = input.map_err(|error| match error {
        toise_input::Error::Io(error) => explained(error),
        toise_input::Error::Refused(reason) => Fault::new(FILE, reason).into(),
    })?;
    let start = input.reader.fill_buf().map_err(explained)?;
    if let Some(reason) = reason_against_table(start) {
        return Err(Fault::new(FILE, reason).into());
    }
    if input.form.found() != FileForm::default() {
        return Ok(Some(input));
    }
    drop(input);
    file.rewind()?;
    Ok(None)
}

/// Returns the error of reading a file: a fault of the file, unless the operating system failed.
pub fn explained(error: io::Error) -> Error {
    match error.raw_os_error() {
        Some(_) => error.into(),
        None => Fault::new(FILE, error.to_string()).into(),
    }
}

impl FileRequest {
    /// Drops the encoding or delimiter of the request if the file was converted: UTF-16 has become UTF-8, and a
    /// spreadsheet has become CSV with commas.
    #[must_use]
    pub fn of_converted(mut self, form: &FileForm) -> Self {
        if form.is_spreadsheet() {
            self.delimiter = None;
        }
        if form.is_spreadsheet() || form.encoding.is_some() {
            self.encoding = None;
        }
        self
    }
}
