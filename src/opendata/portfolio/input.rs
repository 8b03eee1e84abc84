//! Reads the rows of a portfolio, block by block. Unlike in an import, an unreadable line becomes one row with an
//! error.
//!
//! This applies to CSV rows with a different number of cells than the header and lines that are not JSON objects.
//! Parquet files and JSON arrays are read with the importer's readers. In NDJSON, the header consists of the keys of
//! the first object, followed by all other fields, so a field that occurs only in later lines is read too.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, Cursor, Read};
use std::sync::Arc;
use std::sync::mpsc::SyncSender;

use indicatif::ProgressBar;
use serde_json::{Map, Value};

use super::columns::{VAGUE, gives, gives_meaning};
use super::sample::{SAMPLE_ROWS, class_column, imported_sample, json_sample};
use super::{Error, Portfolio, PortfolioColumns};
use crate::source::{self, Block, BlockReader, ByteMeter, Header, SourceFormat};
use toise_base::bounded::{Lines, RecordBound, check_columns};
use toise_input::delimited::{Splitter, misfit};
use toise_input::quantity::TwoReadings;
use toise_input::{Input, NumberColumns, SharedForm, SharedReading, TextConversion, json};

/// Rows per block: enough to make the overhead of a task negligible, few enough to keep all threads busy to the end.
const BLOCK_ROWS: usize = 512;
/// Bytes read to detect the format of a portfolio.
const PROBE_BYTES: usize = 64 << 10;
/// Maximum length of an NDJSON line or a row, bytes. A usual row has a few hundred.
pub(super) const LINE_BYTES_MAX: u64 = 1 << 20;

/// Reason for rejecting a number that the other numbers of its column do not make unambiguous.
const TWO_READINGS: &str = "can be read in two ways";
/// Reason for rejecting a line that is not a row.
const NOT_AN_OBJECT: &str = "not a JSON object";

/// A block of portfolio rows.
pub struct InputRows {
    /// Cells of the rows.
    pub block: Block,
    /// Why rows could not be read, by row index in the block.
    pub faults: HashMap<usize, String>,
    /// Number of the first row in the portfolio, from 1.
    pub first_row: u64,
}

/// A portfolio whose columns are known.
pub struct OpenPortfolio {
    form: PortfolioForm,
    /// The mapping of its columns.
    pub columns: PortfolioColumns,
    /// Size of the file in bytes, if known.
    pub bytes: Option<u64>,
    /// Names of its columns.
    pub names: Vec<String>,
    /// The portfolio's renames, and those that its cells imply. With the names, they determine `columns`.
    pub renames: Vec<(String, String)>,
    /// Name of the file, for messages.
    pub name: String,
    /// How it was interpreted.
    pub reading: SharedReading,
}

enum PortfolioForm {
    Csv {
        splitter: Splitter,
        header: Arc<Header>,
        numbers: NumberColumns,
    },
    NdJson {
        header: Arc<Header>,
    },
    /// Read with the importer's reader.
    Imported(SourceFormat),
}

/// Opens the file of a portfolio, unpacked and converted to UTF-8.
fn opened(portfolio: &Portfolio, bar: &ProgressBar) -> Result<Input<'static>, Error> {
    let path = portfolio.input.display().to_string();
    let file = File::open(&portfolio.input).map_err(Error::io(&path))?;
    toise_input::open(bar.wrap_read(file), TextConversion::Utf8)
        .map_err(|error| source::refused(error, &path).into())
}

impl OpenPortfolio {
    /// Opens a portfolio, detects its format and maps its columns.
    ///
    /// # Errors
    /// The file cannot be read or is empty, or its columns cannot be mapped.
    pub fn new(portfolio: &Portfolio) -> Result<Self, Error> {
        let name = portfolio.input.display().to_string();
        let bytes = portfolio.input.metadata().ok().map(|about| about.len());
        let input = opened(portfolio, &ProgressBar::hidden())?;
        let mut text = input.reader;
        let mut probe = Vec::with_capacity(PROBE_BYTES);
        (&mut text)
            .take(PROBE_BYTES as u64)
            .read_to_end(&mut probe)
            .map_err(Error::io(&name))?;
        let invalid = |reason| Error::Option(format!("{name}: {reason}"));
        let mut portfolio = Cow::Borrowed(portfolio);
        let columns_of = |portfolio: &Portfolio, names: &[String]| {
            PortfolioColumns::new(portfolio, names).map_err(|error| error.in_file(&name))
        };
        if !input.is_parquet && json::is_geojson(&probe) {
            return Err(invalid(json::IS_GEOJSON.to_owned()));
        }
        let first = probe.trim_ascii_start().first().copied();
        let is_list = first == Some(b'[') || json::is_document(&probe);
        let (form, columns, names) = if input.is_parquet || is_list {
            let (format, header) = source::read_header(&portfolio.input, &name)?;
            let sample = || imported_sample(&portfolio, &name, format);
            if let Some(column) = class_column(&portfolio, &header.names, sample)? {
                read_as_class(&mut portfolio, column);
            }
            let columns = columns_of(&portfolio, &header.names)?;
            let names = header.names.clone();
            (PortfolioForm::Imported(format), columns, names)
        } else if first == Some(b'{') {
            let (keys, sample) = json_sample(&probe);
            if let Some(column) = class_column(&portfolio, &keys, || Ok(sample))? {
                read_as_class(&mut portfolio, column);
            }
            let (header, own) = json_header(&portfolio, Cursor::new(&probe).chain(text))?;
            let mut columns = columns_of(&portfolio, &header.names)?;
            let own = &header.names[..own];
            columns.used.retain(|used| own.contains(&used.column));
            let names = header.names.clone();
            let header = Arc::new(header);
            (PortfolioForm::NdJson { header }, columns, names)
        } else if first.is_none() {
            return Err(invalid("the file is empty".into()));
        } else {
            let splitter = Splitter::new(&probe, None, &input.form).flexible();
            let text = RecordBound::new(Cursor::new(&probe).chain(text));
            let mut rows = splitter.reader(text.0);
            let header = rows.headers().map_err(|error| invalid(error.to_string()))?;
            check_columns(header.len()).map_err(invalid)?;
            let names: Vec<String> = header.iter().map(|cell| cell.trim().to_owned()).collect();
            let sample = || {
                let mut rows = splitter.reader(probe.as_slice());
                let rows = rows.records().map_while(Result::ok);
                Ok(rows.take(SAMPLE_ROWS).collect())
            };
            if let Some(column) = class_column(&portfolio, &names, sample)? {
                read_as_class(&mut portfolio, column);
            }
            let columns = columns_of(&portfolio, &names)?;
            let kinds = columns.number_kinds(&portfolio, names.len());
            let numbers = NumberColumns::observe(kinds, rows, &text.1, &input.form)
                .map_err(|error| invalid(error.to_string()))?;
            let form = PortfolioForm::Csv {
                splitter,
                header: Arc::new(Header::new(names.clone())),
                numbers,
            };
            (form, columns, names)
        };
        Ok(Self {
            reading: SharedReading::new(&name, input.form, &columns.used, &columns.ignored),
            columns,
            names,
            renames: portfolio.into_owned().renames,
            form,
            bytes,
            name,
        })
    }
}

/// Reads a column as the field [`VAGUE`].
fn read_as_class(portfolio: &mut Cow<'_, Portfolio>, column: String) {
    let renames = &mut portfolio.to_mut().renames;
    renames.push((column, VAGUE.to_owned()));
}

/// Returns the keys of the first readable object, followed by the fields and key columns that it lacks, and the number of
/// its own keys.
fn json_header(portfolio: &Portfolio, text: impl BufRead) -> Result<(Header, usize), Error> {
    let mut names: Vec<String> = Vec::new();
    let path = portfolio.input.display();
    let mut lines = Lines::new(text, LINE_BYTES_MAX);
    while let Some(line) = lines.next_line().map_err(Error::io(&path))? {
        if let Ok(object) = json::read::<Map<String, Value>>(line.bytes) {
            check_columns(object.len())
                .map_err(|reason| Error::Option(format!("{path}: the first object {reason}")))?;
            names.extend(object.into_iter().map(|(name, _)| name));
            break;
        }
    }
    let own_keys = names.len();
    let renamed = portfolio.renames.iter().map(|(ours, _)| ours.clone());
    // Excludes renamed fields, which are not read under their own name, and fields with the name of a key column.
    let own = portfolio.fields.iter().filter(|name| {
        !portfolio.renames.iter().any(|(_, theirs)| theirs == *name)
            && !portfolio.only_if_named.contains(name)
            && !portfolio.default_keys.contains(&name.as_str())
            // A field with the meaning of a key in the file would take the place of that key.
            && !names.iter().any(|key| gives_meaning(portfolio, key, name))
    });
    let own: Vec<String> = own.cloned().collect();
    for name in renamed.chain(portfolio.keys.iter().cloned()).chain(own) {
        // A key with another spelling or the same meaning already gives the field.
        if !names.iter().any(|known| gives(portfolio, known, &name)) {
            names.push(name);
        }
    }
    Ok((Header::new(names), own_keys))
}

/// Reads the portfolio to its end, on a separate thread.
pub(super) fn read(
    portfolio_file: OpenPortfolio,
    portfolio: &Portfolio,
    bar: &ProgressBar,
    sender: SyncSender<Result<InputRows, Error>>,
) {
    let mut first_row = 1;
    let reading = portfolio_file.reading.clone();
    let mut send = |block: Block, faults| {
        let rows = block.len() as u64;
        reading.count(rows, &block.missing);
        let rows_read = InputRows {
            block,
            faults,
            first_row,
        };
        first_row += rows;
        rows == 0 || sender.send(Ok(rows_read)).is_ok()
    };
    let result = match &portfolio_file.form {
        PortfolioForm::Imported(format) => {
            read_imported(&portfolio_file.name, *format, portfolio, bar, &mut send)
        }
        PortfolioForm::Csv {
            splitter,
            header,
            numbers,
        } => opened(portfolio, bar).and_then(|input| {
            let rows = CsvRows {
                header,
                numbers,
                reading: &portfolio_file.reading,
                form: &input.form,
            };
            rows.read(input.reader, splitter, &mut send)
        }),
        PortfolioForm::NdJson { header } => opened(portfolio, bar)
            .and_then(|input| read_json(input.reader, &portfolio_file.reading, header, &mut send)),
    };
    if let Err(error) = result {
        // If the coordinator has ended, it has already reported its own error.
        let _ = sender.send(Err(error));
    }
}

type Sender<'s> = &'s mut dyn FnMut(Block, HashMap<usize, String>) -> bool;

fn read_imported(
    name: &str,
    format: SourceFormat,
    portfolio: &Portfolio,
    bar: &ProgressBar,
    send: Sender<'_>,
) -> Result<(), Error> {
    let file = File::open(&portfolio.input).map_err(Error::io(name))?;
    let meter = ByteMeter::default();
    let mut reader: Box<dyn BlockReader> = source::open(bar.wrap_read(file), name, format, &meter)?;
    while let Some(block) = reader.next_block()? {
        if !send(block, HashMap::new()) {
            break;
        }
    }
    Ok(())
}

/// Rows of a delimited text.
struct CsvRows<'p> {
    header: &'p Arc<Header>,
    numbers: &'p NumberColumns,
    reading: &'p SharedReading,
    form: &'p SharedForm,
}

impl CsvRows<'_> {
    fn read(&self, text: impl Read, splitter: &Splitter, send: Sender<'_>) -> Result<(), Error> {
        let name = &self.reading.name;
        let (text, ends) = RecordBound::new(text);
        let mut rows = splitter.reader(text);
        let mut record = csv::StringRecord::new();
        let mut block = Block::new(Arc::clone(self.header));
        let mut faults = HashMap::new();
        loop {
            let more = rows
                .read_record(&mut record)
                .map_err(|error| Error::Option(format!("{name}: {error}")))?;
            ends.mark();
            if more && let Some(fault) = self.push(&mut block, &record) {
                faults.insert(block.len() - 1, fault);
            }
            if block.len() >= BLOCK_ROWS || block.is_full() || !more {
                let full = std::mem::replace(&mut block, Block::new(Arc::clone(self.header)));
                if !send(full, std::mem::take(&mut faults)) || !more {
                    return Ok(());
                }
            }
        }
    }

    /// Adds a row to a block; returns its fault, if any. Cells beyond the last column of the header are dropped.
    fn push(&self, block: &mut Block, record: &csv::StringRecord) -> Option<String> {
        let line = self.form.line_of(record.position());
        let names = &self.header.names;
        let mut fault = None;
        block.start_row(line);
        for (column, cell) in record.iter().take(names.len()).enumerate() {
            match self.numbers.plain(column, cell) {
                Ok(plain) => block.push_cell(&plain),
                Err(TwoReadings) => {
                    block.push_cell(cell);
                    let name = &names[column];
                    self.reading.leave_out(TWO_READINGS, line, name, cell);
                    fault = Some(format!("line {line}: {name}: {cell} {TWO_READINGS}"));
                }
            }
        }
        if record.len() != names.len() {
            let (cells, columns) = (record.len(), names.len());
            let reason = format!("the row has {cells} cells where the header has {columns}");
            let (column, cell) = misfit(names, record);
            self.reading.leave_out(&reason, line, column, cell);
            fault = Some(format!("line {line}: {reason}"));
        }
        fault
    }
}

fn read_json(
    text: impl BufRead,
    reading: &SharedReading,
    header: &Arc<Header>,
    send: Sender<'_>,
) -> Result<(), Error> {
    let mut lines = Lines::new(text, LINE_BYTES_MAX);
    let mut block = Block::new(Arc::clone(header));
    let mut faults = HashMap::new();
    let mut row_number = 0;
    loop {
        let line = lines.next_line().map_err(Error::io(&reading.name))?;
        let more = line.is_some();
        if let Some(line) = line {
            row_number += 1;
            let row = block.len();
            block.start_row(row_number);
            match json::read::<Map<String, Value>>(line.bytes) {
                Ok(object) => {
                    for column in &header.names {
                        match object.get(column) {
                            None | Some(Value::Null) => block.push_cell(""),
                            Some(Value::String(text)) => block.push_cell(text),
                            Some(other) => block.push_cell(&other.to_string()),
                        }
                    }
                }
                Err(_) if line.is_cut => {
                    let reason = format!("longer than {LINE_BYTES_MAX} bytes");
                    reading.leave_out(&reason, row_number, "", "");
                    faults.insert(row, reason);
                }
                Err(error) => {
                    let text = String::from_utf8_lossy(line.bytes);
                    reading.leave_out(NOT_AN_OBJECT, row_number, "", &text);
                    faults.insert(row, format!("{NOT_AN_OBJECT}: {error}"));
                }
            }
        }
        if block.len() >= BLOCK_ROWS || block.is_full() || !more {
            let full = std::mem::replace(&mut block, Block::new(Arc::clone(header)));
            if !send(full, std::mem::take(&mut faults)) || !more {
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_of_ndjson_is_read_by_its_meaning_next_to_a_filter_of_the_same_meaning() {
        let strings = |names: &[&str]| -> Vec<String> {
            names.iter().map(|name| (*name).to_owned()).collect()
        };
        let folder = tempfile::tempdir().unwrap();
        let input = folder.path().join("p.ndjson");
        for key in ["cp", "Code postal", "code_postal"] {
            std::fs::write(&input, format!("{{\"{key}\": \"48000\"}}\n")).unwrap();
            let portfolio = Portfolio {
                input: input.clone(),
                row_noun: "a match".into(),
                fields: strings(&["postal_code", "surface_m2", "postcode"]),
                inferable: strings(&["postcode"]),
                only_if_named: strings(&["postcode"]),
                numbers: Vec::new(),
                renames: Vec::new(),
                keys: Vec::new(),
                default_keys: &[],
            };
            let columns = OpenPortfolio::new(&portfolio).unwrap().columns;
            let used = columns.used.iter();
            let used: Vec<_> = used.map(|one| (&*one.column, &*one.field)).collect();
            assert_eq!(used, [(key, "postcode")]);
            assert!(columns.ignored.is_empty());
        }
    }
}
