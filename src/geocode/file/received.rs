//! Unpacks a file that a client sent, so that the rest of the service has plain text in a file that it can seek in.

use std::fs::File;
use std::io::{self, Seek};

use super::csv::Error;
use super::request::FileRequest;
use toise_contract::Fault;
use toise_input::{Bounds, FileForm, Input, TextConversion};

/// Maximum bytes of the shared texts of a workbook, or of the whole of it unless it is XLSX. They are held in memory.
const WORKBOOK_BYTES_MAX: u64 = 50 << 20;
/// Path of the file in messages.
const FILE: &str = "data";

/// Opens a file that is packed, a spreadsheet or UTF-16, and returns its text as UTF-8. Returns `None` for any other
/// text, which keeps its bytes; the file is then at its beginning again. Blocks.
///
/// # Errors
/// The file is no table, is damaged, or expands to more than `bytes_max` bytes, perhaps only while it is read.
pub fn unpacked(file: &mut File, bytes_max: u64) -> Result<Option<Input<'static>>, Error> {
    let bounds = Bounds {
        expanded_bytes: bytes_max,
        held_bytes: WORKBOOK_BYTES_MAX,
        has_unbounded: false,
    };
    file.rewind()?;
    let input = toise_input::open_within(file.try_clone()?, TextConversion::Utf16Only, bounds);
    let input = input.map_err(|error| match error {
        toise_input::Error::Io(error) => explained(error),
        toise_input::Error::Refused(reason) => Fault::new(FILE, reason).into(),
    })?;
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
    /// Takes back what the request says of a text that was converted: UTF-16 is UTF-8 now, and a spreadsheet has commas.
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
