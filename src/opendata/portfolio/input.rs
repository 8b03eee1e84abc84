//! Reads the rows of a portfolio, block by block. Unlike in an import, an unreadable line becomes one row with an
//! error.
//!
//! This applies to CSV rows with a different number of cells than the header and lines that are not JSON objects. Tables
//! of columns and JSON arrays are read with the importer's readers. The keys of the first NDJSON object serve as the
//! header; a key that occurs only in later lines is still read if it is a field, because all fields are added to the
//! header.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, Cursor, Read};
use std::sync::Arc;
use std::sync::mpsc::SyncSender;

use indicatif::ProgressBar;
use serde_json::{Map, Value};

use super::columns::gives;
use super::{Error, Portfolio, PortfolioColumns};
use crate::source::{self, Block, BlockReader, ByteMeter, Header, SourceFormat};
use toise_base::bounded::{Lines, RecordBound, check_columns};
use toise_base::delimiter::detect_delimiter;
use toise_input::{Input, SharedForm, TextConversion, delimited, json};

/// Rows per block: enough to make the overhead of a task negligible, few enough to keep all threads busy to the end.
const BLOCK_ROWS: usize = 512;
/// Bytes read to detect the format of a portfolio.
const PROBE_BYTES: usize = 64 << 10;
/// Maximum length of an NDJSON line or a row, bytes: one body takes a few hundred.
const LINE_BYTES_MAX: u64 = 1 << 20;

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
    /// Name of the file, for messages.
    pub name: String,
    /// What was understood of its containers and its encoding.
    pub understood: SharedForm,
}

enum PortfolioForm {
    Csv {
        delimiter: u8,
        header: Arc<Header>,
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
    let file = File::open(&portfolio.input).map_err(|source| Error::Io {
        path: path.clone(),
        source,
    })?;
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
            .map_err(|source| Error::Io {
                path: name.clone(),
                source,
            })?;
        let misfit = |reason| Error::Option(format!("{name}: {reason}"));
        let first = probe.trim_ascii_start().first().copied();
        let (form, columns) = if input.is_parquet || first == Some(b'[') {
            let (format, header) = source::read_header(&portfolio.input, &name)?;
            (PortfolioForm::Imported(format), header.names.clone())
        } else if first == Some(b'{') {
            let header = Arc::new(json_header(portfolio, Cursor::new(&probe).chain(text))?);
            let columns = header.names.clone();
            (PortfolioForm::NdJson { header }, columns)
        } else if first.is_none() {
            return Err(misfit("the file is empty".into()));
        } else {
            let delimiter = detect_delimiter(&probe);
            let mut rows = delimited::builder(&probe, Some(delimiter), &input.form)
                .from_reader(RecordBound::new(Cursor::new(&probe).chain(text)).0);
            let names = rows.headers().map_err(|error| misfit(error.to_string()))?;
            check_columns(names.len()).map_err(misfit)?;
            let names: Vec<String> = names.iter().map(|cell| cell.trim().to_owned()).collect();
            let header = Arc::new(Header {
                names: names.clone(),
            });
            (PortfolioForm::Csv { delimiter, header }, names)
        };
        Ok(Self {
            columns: PortfolioColumns::new(portfolio, &columns)
                .map_err(|error| error.in_file(&name))?,
            names: columns,
            form,
            bytes,
            name,
            understood: input.form,
        })
    }
}

/// Returns the keys of the first readable object, followed by the fields and key columns that it lacks.
fn json_header(portfolio: &Portfolio, text: impl BufRead) -> Result<Header, Error> {
    let mut names: Vec<String> = Vec::new();
    let path = portfolio.input.display();
    let failed = |source| Error::Io {
        path: path.to_string(),
        source,
    };
    let mut lines = Lines::new(text, LINE_BYTES_MAX);
    while let Some(line) = lines.next_line().map_err(failed)? {
        if let Ok(object) = json::read::<Map<String, Value>>(line.bytes) {
            check_columns(object.len())
                .map_err(|reason| Error::Option(format!("{path}: the first object {reason}")))?;
            names.extend(object.into_iter().map(|(name, _)| name));
            break;
        }
    }
    let renamed = portfolio.renames.iter().map(|(ours, _)| ours.clone());
    // A renamed field is not read under its own name, nor is a field whose name is a key column.
    let own = portfolio.fields.iter().filter(|name| {
        !portfolio.renames.iter().any(|(_, theirs)| theirs == *name)
            && !portfolio.only_if_named.contains(name)
            && !portfolio.default_keys.contains(&name.as_str())
    });
    for name in renamed
        .chain(portfolio.keys.iter().cloned())
        .chain(own.cloned())
    {
        // A key with another spelling or with the same meaning gives the field.
        if !names.iter().any(|known| gives(portfolio, known, &name)) {
            names.push(name);
        }
    }
    Ok(Header { names })
}

/// Reads the portfolio to its end, on a separate thread.
pub(super) fn read(
    portfolio_file: OpenPortfolio,
    portfolio: &Portfolio,
    bar: &ProgressBar,
    sender: SyncSender<Result<InputRows, Error>>,
) {
    let mut first_row = 1;
    let mut send = |block: Block, faults| {
        let rows = block.len() as u64;
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
        PortfolioForm::Csv { delimiter, header } => opened(portfolio, bar).and_then(|input| {
            let name = &portfolio_file.name;
            read_csv(input.reader, name, *delimiter, header, &mut send)
        }),
        PortfolioForm::NdJson { header } => opened(portfolio, bar)
            .and_then(|input| read_json(input.reader, &portfolio_file.name, header, &mut send)),
    };
    if let Err(error) = result {
        // If the coordinator has gone away, it has reported its own error.
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
    let file = File::open(&portfolio.input).map_err(|source| Error::Io {
        path: name.to_owned(),
        source,
    })?;
    let meter = ByteMeter::default();
    let mut reader: Box<dyn BlockReader> = source::open(bar.wrap_read(file), name, format, &meter)?;
    while let Some(block) = reader.next_block()? {
        if !send(block, HashMap::new()) {
            break;
        }
    }
    Ok(())
}

fn read_csv(
    text: impl Read,
    name: &str,
    delimiter: u8,
    header: &Arc<Header>,
    send: Sender<'_>,
) -> Result<(), Error> {
    let (text, ends) = RecordBound::new(text);
    let mut rows = delimited::builder(&[], Some(delimiter), &SharedForm::default())
        .flexible(true)
        .from_reader(text);
    let mut record = csv::StringRecord::new();
    let mut block = Block::new(Arc::clone(header));
    let mut faults = HashMap::new();
    loop {
        let more = rows
            .read_record(&mut record)
            .map_err(|error| Error::Option(format!("{name}: {error}")))?;
        ends.mark();
        if more {
            let line = record.position().map_or(0, csv::Position::line);
            let row = block.len();
            block.start_row(line);
            // A row of another width has a fault, and its cells beyond the header are dropped.
            for cell in record.iter().take(header.names.len()) {
                block.push_cell(cell);
            }
            if record.len() != header.names.len() {
                let (cells, columns) = (record.len(), header.names.len());
                faults.insert(
                    row,
                    format!(
                        "line {line}: the row has {cells} cells where the header has {columns}"
                    ),
                );
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

fn read_json(
    text: impl BufRead,
    name: &str,
    header: &Arc<Header>,
    send: Sender<'_>,
) -> Result<(), Error> {
    let mut lines = Lines::new(text, LINE_BYTES_MAX);
    let mut block = Block::new(Arc::clone(header));
    let mut faults = HashMap::new();
    let mut row_number = 0;
    loop {
        let line = lines.next_line().map_err(|source| Error::Io {
            path: name.to_owned(),
            source,
        })?;
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
                    faults.insert(row, format!("longer than {LINE_BYTES_MAX} bytes"));
                }
                Err(error) => {
                    faults.insert(row, format!("not a JSON object: {error}"));
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
