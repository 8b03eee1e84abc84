//! Opens a source: unpacks containers, converts spreadsheets to CSV and text to UTF-8, and refuses anything that is not
//! a table.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek};

use encoding_rs::Encoding;
use toise_base::bounded::{expand, gunzip};

use crate::archive::{self, Archive, Workbook};
use crate::arrow_file;
use crate::bounds::{AtMost, Bounds};
use crate::encoding::{Utf8Reader, utf16_of};
use crate::error::Error;
use crate::form::SharedForm;
use crate::magic::Magic;
use crate::poliris::{self, FeedReader};
use crate::spreadsheet;

/// Size of the read buffers, bytes; also how much of a source is inspected to detect its kind.
const BUFFER_BYTES: usize = 256 << 10;
/// Maximum depth of nested containers, such as a gzip file in a zip archive.
const NESTED_MAX: usize = 3;
/// Maximum zstd window, as a power of two: 128 MiB, the maximum of its command line by default.
const ZSTD_WINDOW_LOG_MAX: u32 = 27;

/// Why a format that takes too much memory is refused.
const NOT_FROM_STRANGERS: &str = "this is Parquet, Arrow, XLS or XLSB: send CSV, XLSX or ODS";

/// The conversion of the text of a source.
#[derive(Clone, Copy, Debug, Default)]
pub enum TextConversion {
    /// Converted to UTF-8; the encoding is detected.
    #[default]
    Utf8,
    /// Converted to UTF-8 from this encoding.
    From(&'static Encoding),
    /// Only UTF-16 is converted to UTF-8. Everything else stays as it is, for callers that keep the bytes of cells.
    Utf16Only,
}

/// An open source.
pub struct Input<'r> {
    /// Its content, from the first byte on; text has no byte order mark if it was converted.
    pub reader: Box<dyn BufRead + Send + 'r>,
    /// Its form, as detected.
    pub form: SharedForm,
    /// Whether the content is Parquet, and text otherwise.
    pub is_parquet: bool,
}

impl<'r> Input<'r> {
    fn text(reader: Box<dyn BufRead + Send + 'r>, form: SharedForm) -> Self {
        Self {
            reader,
            form,
            is_parquet: false,
        }
    }

    /// Copies the content to a temporary file, for readers that begin at the end of a file. Blocks.
    ///
    /// # Errors
    /// The source cannot be read, or the copy cannot be written.
    pub fn into_file(self) -> io::Result<File> {
        spool(self.reader).map_err(io::Error::from)
    }
}

/// Opens a source.
///
/// # Errors
/// The source cannot be read, a container is damaged or holds no table, or its first bytes are those of a kind of file
/// that is not read.
pub fn open<'r>(
    source: impl Read + Send + 'r,
    conversion: TextConversion,
) -> Result<Input<'r>, Error> {
    open_within(source, conversion, Bounds::default())
}

/// Opens a source, and reads no more of it than `bounds` allows.
///
/// # Errors
/// As for [`open`]; or the source exceeds a bound. Some bounds are only detected while the content is read.
pub fn open_within<'r>(
    source: impl Read + Send + 'r,
    conversion: TextConversion,
    bounds: Bounds,
) -> Result<Input<'r>, Error> {
    let form = SharedForm::default();
    let mut reader: Box<dyn BufRead + Send + 'r> =
        Box::new(BufReader::with_capacity(BUFFER_BYTES, source));
    for _ in 0..=NESTED_MAX {
        let start = peek(&mut reader)?;
        match Magic::of(start) {
            Magic::Gzip => {
                form.add_container("gzip");
                reader = buffered(AtMost::new(gunzip(reader)?, bounds));
            }
            Magic::Zstd => {
                form.add_container("zstd");
                let expanded = expand(reader, |packed| {
                    let mut decoder = zstd::stream::read::Decoder::new(packed)?;
                    decoder.window_log_max(ZSTD_WINDOW_LOG_MAX)?;
                    Ok(decoder)
                })?;
                reader = buffered(AtMost::new(expanded, bounds));
            }
            Magic::Zip => reader = unzip(reader, &form, bounds)?,
            Magic::Office | Magic::Parquet | Magic::Arrow if !bounds.has_unbounded => {
                return Err(Error::Refused(NOT_FROM_STRANGERS.into()));
            }
            Magic::Office => reader = sheet(&spool(reader)?, Workbook::Xls, &form, bounds)?,
            Magic::Parquet => {
                return Ok(Input {
                    reader,
                    form,
                    is_parquet: true,
                });
            }
            Magic::Arrow => {
                form.add_container("arrow");
                let reader = buffered(arrow_file::to_parquet(spool(reader)?)?);
                return Ok(Input {
                    reader,
                    form,
                    is_parquet: true,
                });
            }
            Magic::Refused(name) => return Err(Error::Refused(format!("this is {name}"))),
            Magic::Markup(name) if !bounds.has_markup => {
                return Err(Error::Refused(format!("this is {name}")));
            }
            Magic::Text | Magic::Markup(_) => {
                let encoding = match conversion {
                    TextConversion::Utf8 => None,
                    TextConversion::From(encoding) => Some(encoding),
                    TextConversion::Utf16Only => match utf16_of(start) {
                        Some(encoding) => Some(encoding),
                        None => return Ok(Input::text(reader, form)),
                    },
                };
                let is_feed = poliris::is_feed(start);
                if is_feed && !poliris::is_in_order(start) {
                    return Err(Error::Refused(poliris::OTHER_ORDER.into()));
                }
                let mut reader = buffered(Utf8Reader::new(reader, encoding, form.clone()));
                if is_feed {
                    form.add_container("poliris");
                    reader = buffered(FeedReader::new(reader, form.clone()));
                }
                return Ok(Input::text(reader, form));
            }
        }
    }
    Err(Error::Refused(format!(
        "more than {NESTED_MAX} archives inside one another: unpack it"
    )))
}

fn buffered<'r>(reader: impl Read + Send + 'r) -> Box<dyn BufRead + Send + 'r> {
    Box::new(BufReader::with_capacity(BUFFER_BYTES, reader))
}

/// Returns the first bytes of a source: as many as its reader provides at once.
fn peek<'b>(reader: &'b mut Box<dyn BufRead + Send + '_>) -> Result<&'b [u8], Error> {
    reader.fill_buf().map_err(Error::from)
}

/// Copies a source to a temporary file, because the directory of an archive is at its end.
fn spool(mut reader: impl Read) -> Result<File, Error> {
    let mut file = tempfile::tempfile()?;
    io::copy(&mut reader, &mut file)?;
    file.rewind()?;
    Ok(file)
}

fn unzip<'r>(
    reader: Box<dyn BufRead + Send + 'r>,
    form: &SharedForm,
    bounds: Bounds,
) -> Result<Box<dyn BufRead + Send + 'r>, Error> {
    let file = spool(reader)?;
    let (archive, kind) = archive::examine(&file)?;
    match kind {
        Archive::Spreadsheet(Workbook::Xlsb) if !bounds.has_unbounded => {
            Err(Error::Refused(NOT_FROM_STRANGERS.into()))
        }
        Archive::Spreadsheet(format) => {
            drop(archive);
            sheet(&file, format, form, bounds)
        }
        Archive::Other(name) => Err(Error::Refused(format!("this is {name}"))),
        Archive::Files => {
            let (name, content) = archive::table(archive)?;
            form.add_container(format!("zip: {name}"));
            Ok(buffered(AtMost::new(content, bounds)))
        }
    }
}

fn sheet<'r>(
    file: &File,
    format: Workbook,
    form: &SharedForm,
    bounds: Bounds,
) -> Result<Box<dyn BufRead + Send + 'r>, Error> {
    let sheets = spreadsheet::convert(file, format, bounds)?;
    form.add_spreadsheet(&sheets.names);
    form.set_sheet_lines(sheets.lines);
    for note in sheets.notes {
        form.add_note(note);
    }
    Ok(buffered(sheets.csv))
}

#[cfg(test)]
#[path = "open_tests.rs"]
mod tests;
