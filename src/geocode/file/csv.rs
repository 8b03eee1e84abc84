//! Geocodes a CSV file block by block. Each output record consists of the original bytes followed by the results.
//! Original cells change only if formulas are escaped. Lines above the header are copied.

use std::borrow::Cow;
use std::io::{self, Read};

use super::columns::RowStatus;
use super::findings::RowFindings;
use super::input_columns::InputColumns;
use super::records::{RecordReader, cells, line_breaks};
use super::request::FileRequest;
use super::rows::{RowAnswer, RowAnswers, RowCells, RowGeocoder};
use super::text::{BYTE_ORDER_MARK, TextEncoding, parse_delimiter};
use toise_base::bounded::check_columns;
use toise_base::formula::Formulas;
use toise_contract::Fault;
use toise_input::delimited::{APOSTROPHES, HeaderGap, Splitter};
use toise_input::missing::MissingCounts;
use toise_input::{FileReading, SharedForm};

/// Bytes in which the delimiter and the header are looked for.
const PROBE_BYTES: u64 = 256 << 10;
/// Maximum number of records in a block.
const BLOCK_ROWS: usize = 4_096;
/// Bytes after which a block ends however few records it has.
const BLOCK_BYTES: usize = 4 << 20;
/// Bytes of a row that cannot be read which its report shows.
const ROW_BYTES_SHOWN: usize = 80;

/// Errors of geocoding a CSV file.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The request does not fit the file.
    #[error(transparent)]
    Request(#[from] Fault),
    /// The file cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// The format of a CSV file and the request to apply to it.
pub struct CsvPlan {
    delimiter: u8,
    encoding: TextEncoding,
    columns: InputColumns,
    width: usize,
    /// The header of the result, after the lines above it.
    header: Vec<u8>,
    /// Length of the file's header with the lines above it and its line break, in bytes.
    header_bytes: u64,
    /// Number of lines of the header and of those above it.
    header_lines: u64,
    line_break: Vec<u8>,
    request: FileRequest,
    formulas: Formulas,
    reading: FileReading,
}

impl CsvPlan {
    /// Reads a file's header. `encoding` is used if the request names none.
    ///
    /// # Errors
    /// The file cannot be read or has no readable header, or the request does not fit it.
    pub fn read(
        mut source: impl Read,
        request: &FileRequest,
        encoding: TextEncoding,
    ) -> Result<Self, Error> {
        request.check()?;
        let encoding = match &request.encoding {
            Some(name) => TextEncoding::parse(name)?,
            None => encoding,
        };
        let delimiter = request.delimiter.as_deref().map(parse_delimiter);
        let mut probe = Vec::new();
        source.by_ref().take(PROBE_BYTES).read_to_end(&mut probe)?;
        let text = probe.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&probe);
        let form = SharedForm::default();
        let splitter = Splitter::new(text, delimiter.transpose()?, &form);
        let delimiter = splitter.delimiter();
        let gap = splitter.header_gap();
        let (above, mut text) = text.split_at(splitter.preamble());
        if !above.is_empty() {
            let is_break = |byte: &&u8| matches!(byte, b'\r' | b'\n');
            text = &text[text.iter().take_while(is_break).count()..];
        }
        let above = &probe[..probe.len() - text.len()];
        let mut records = RecordReader::new(text.chain(source), delimiter, above.len() as u64);
        let first = records.next_record()?;
        let first = first.filter(|record| !record.is_broken);
        let Some(first) = first else {
            return Err(Fault::new("data", "is empty or has no readable header").into());
        };
        if first.bytes.starts_with(b"\xff\xfe") || first.bytes.starts_with(b"\xfe\xff") {
            let message = "is UTF-16; save the file as UTF-8 or windows-1252";
            return Err(Fault::new("data", message).into());
        }
        let names = cells(first.bytes, delimiter);
        check_columns(names.len()).map_err(|reason| Fault::new("data", reason))?;
        let mut names: Vec<String> = names
            .iter()
            .map(|cell| encoding.decode(cell).trim().to_owned())
            .collect();
        let mut header = [above, first.bytes].concat();
        match gap {
            Some(HeaderGap::Start(_)) => {
                names.insert(0, String::new());
                header.insert(above.len(), delimiter);
            }
            Some(HeaderGap::End(_)) => {
                names.push(String::new());
                header.push(delimiter);
            }
            None => {}
        }
        let (columns, mut reading) = InputColumns::understand_line(request, &names)?;
        reading.form = form.found();
        // Only `"` quotes here: output repeats the bytes of the input.
        reading.form.notes.retain(|note| note != APOSTROPHES);
        reading.form.encoding = Some(encoding.name().to_owned());
        let first_lines = line_breaks(above) + line_breaks(first.bytes);
        let mut plan = Self {
            delimiter,
            encoding,
            columns,
            width: names.len(),
            header,
            header_bytes: (above.len() + first.bytes.len() + first.line_break.len()) as u64,
            header_lines: first_lines + line_breaks(first.line_break),
            line_break: match first.line_break {
                [] => b"\n".to_vec(),
                line_break => line_break.to_vec(),
            },
            request: request.clone(),
            formulas: Formulas::Kept,
            reading,
        };
        plan.complete_header(&names)?;
        Ok(plan)
    }

    /// Appends the names of the result's columns.
    fn complete_header(&mut self, names: &[String]) -> Result<(), Fault> {
        for column in self.request.appended()? {
            let name = column.free_name(self.request.operation, names);
            self.header.push(self.delimiter);
            self.header.extend_from_slice(name.as_bytes());
        }
        self.header.extend_from_slice(&self.line_break);
        Ok(())
    }

    /// Sets what happens to cells of the result that a spreadsheet would run as formulas, in the header as well.
    pub fn with_formulas(mut self, formulas: Formulas) -> Self {
        self.formulas = formulas;
        let whole = std::mem::take(&mut self.header);
        let bare = whole.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&whole);
        let mut header = whole[..whole.len() - bare.len()].to_vec();
        let mut records = self.records(bare, 0);
        // Bytes in memory can always be read.
        while let Ok(Some(record)) = records.next_record() {
            self.copy(&mut header, record.bytes);
            header.extend_from_slice(record.line_break);
        }
        self.header = header;
        self
    }

    /// Returns the header of the result, after the lines above it.
    pub fn header(&self) -> &[u8] {
        &self.header
    }

    /// Returns how the text and its columns were interpreted.
    pub fn reading(&self) -> &FileReading {
        &self.reading
    }

    /// Returns the encoding of the file and of the result.
    pub fn encoding(&self) -> TextEncoding {
        self.encoding
    }

    /// Returns the number of bytes of the file before its first record.
    pub fn first_record_at(&self) -> u64 {
        self.header_bytes
    }

    /// Returns the number of lines of the file before its first record.
    pub fn header_lines(&self) -> u64 {
        self.header_lines
    }

    /// Returns a reader of the file's records from a position on; `source` begins there.
    pub fn records<R: Read>(&self, source: R, position: u64) -> RecordReader<R> {
        RecordReader::new(source, self.delimiter, position)
    }

    /// Counts the records after the header; `source` begins at the first. Blank lines do not count.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn count(&self, source: impl Read) -> io::Result<u64> {
        let mut records = self.records(source, 0);
        let mut count = 0;
        while let Some(record) = records.next_record()? {
            count += u64::from(!record.bytes.is_empty());
        }
        Ok(count)
    }

    /// Creates the geocoder for the rows of this file.
    ///
    /// # Errors
    /// The request names a result column that does not exist.
    pub fn rows(&self) -> Result<RowGeocoder, Fault> {
        Ok(RowGeocoder::new(
            self.request.operation,
            self.request.appended()?,
        ))
    }

    /// Reads the query of a row from its cells; `None` if it has too many or too few, or is not an address.
    fn row_cells(&self, cells: &[Cow<'_, [u8]>], met: &mut MissingCounts) -> Option<RowCells> {
        if cells.len() != self.width {
            return None;
        }
        RowCells::read(&self.columns, met, |at| {
            cells
                .get(at)
                .map_or(Cow::Borrowed(""), |cell| self.encoding.decode(cell))
        })
    }

    /// Appends a value of the result.
    fn write(&self, out: &mut Vec<u8>, value: &str) {
        out.push(self.delimiter);
        self.write_cell(out, &self.encoding.encode(value));
    }

    /// Appends the bytes of a record unchanged. If one of its cells has to be escaped, encodes all its cells again.
    fn copy(&self, out: &mut Vec<u8>, record: &[u8]) {
        if self.formulas == Formulas::Kept {
            out.extend_from_slice(record);
            return;
        }
        let cells = cells(record, self.delimiter);
        if !cells.iter().any(|cell| self.formulas.escapes(cell)) {
            out.extend_from_slice(record);
            return;
        }
        for (place, cell) in cells.iter().enumerate() {
            if place > 0 {
                out.push(self.delimiter);
            }
            self.write_cell(out, cell);
        }
    }

    /// Appends an encoded cell, escaped and in quotation marks where needed.
    fn write_cell(&self, out: &mut Vec<u8>, cell: &[u8]) {
        let needs_marks =
            |byte: &u8| *byte == self.delimiter || matches!(byte, b'"' | b'\n' | b'\r');
        let is_marked = cell.iter().any(needs_marks);
        if is_marked {
            out.push(b'"');
        }
        if self.formulas.escapes(cell) {
            out.push(b'\'');
        }
        for byte in cell {
            if *byte == b'"' {
                out.push(b'"');
            }
            out.push(*byte);
        }
        if is_marked {
            out.push(b'"');
        }
    }
}

/// A block of results.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct CsvBlock {
    /// The text.
    pub text: Vec<u8>,
    /// Bytes of the file read so far.
    pub position: u64,
    /// Number of its lines.
    pub lines: u64,
    /// Rows by status: ok, not found, skipped, error.
    pub counts: RowCounts,
    /// Other findings about the rows; their lines are numbered within the block.
    pub findings: RowFindings,
}

/// Number of rows by status, and of rows without a town.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct RowCounts {
    /// With a result.
    pub ok: u64,
    /// Without a result.
    pub not_found: u64,
    /// Empty.
    pub skipped: u64,
    /// Unreadable.
    pub error: u64,
    /// Rows that have a result although they name neither town nor postal code.
    #[serde(default)]
    pub without_town: u64,
}

impl RowCounts {
    /// Returns the number of all rows.
    pub fn rows(&self) -> u64 {
        self.ok + self.not_found + self.skipped + self.error
    }

    /// Counts one row.
    pub fn count(&mut self, answer: &RowAnswer) {
        *match answer.status {
            RowStatus::Ok => &mut self.ok,
            RowStatus::NotFound => &mut self.not_found,
            RowStatus::Skipped => &mut self.skipped,
            RowStatus::Error => &mut self.error,
        } += 1;
        self.without_town += u64::from(answer.is_without_town);
    }

    /// Returns a warning if most results come from rows without a town, which is usually a mistake.
    pub fn town_warning(&self) -> Option<String> {
        (self.without_town * 2 > self.ok).then(|| {
            format!(
                "{} of {} results are of rows that name neither town nor postal code; name their columns too, unless the \
                 file has none",
                self.without_town, self.ok
            )
        })
    }

    /// Adds the counts of another part.
    pub fn add(&mut self, other: &Self) {
        self.ok += other.ok;
        self.not_found += other.not_found;
        self.skipped += other.skipped;
        self.error += other.error;
        self.without_town += other.without_town;
    }
}

/// Geocodes the next block of records; `None` at the end of the file.
///
/// # Errors
/// The file cannot be read.
pub fn next_block<R: Read>(
    plan: &CsvPlan,
    records: &mut RecordReader<R>,
    rows: &mut RowGeocoder,
    answers: &(impl RowAnswers + ?Sized),
) -> io::Result<Option<CsvBlock>> {
    let mut originals: Vec<u8> = Vec::new();
    let mut ends: Vec<(usize, usize, bool)> = Vec::new();
    let mut asked: Vec<Option<RowCells>> = Vec::new();
    // Of each row that is not blank, its line, and its beginning if it cannot be read.
    let mut lines: Vec<(u64, String)> = Vec::new();
    let mut findings = RowFindings::default();
    let lines_before = records.lines();
    while ends.len() < BLOCK_ROWS && originals.len() < BLOCK_BYTES {
        let line = records.lines() - lines_before + 1;
        let Some(record) = records.next_record()? else {
            break;
        };
        plan.copy(&mut originals, record.bytes);
        let is_blank = record.bytes.is_empty();
        if record.is_broken && !is_blank {
            asked.push(None);
        } else if !is_blank {
            let cells = cells(record.bytes, plan.delimiter);
            asked.push(plan.row_cells(&cells, &mut findings.missing));
            // A row with missing cells is padded, so that results stay in their columns.
            let missing = plan.width.saturating_sub(cells.len());
            originals.extend(std::iter::repeat_n(plan.delimiter, missing));
        }
        if !is_blank {
            let is_unreadable = matches!(asked.last(), Some(None));
            let shown = record.bytes.len().min(ROW_BYTES_SHOWN);
            let shown = if is_unreadable { shown } else { 0 };
            let text = plan.encoding.decode(&record.bytes[..shown]).into_owned();
            lines.push((line, text));
        }
        let end = originals.len();
        originals.extend_from_slice(record.line_break);
        ends.push((end, originals.len(), is_blank));
    }
    if ends.is_empty() {
        return Ok(None);
    }
    let answers = rows.answer(answers, &asked)?;
    for ((line, text), (cells, answer)) in lines.iter().zip(asked.iter().zip(&answers)) {
        findings.count_row(*line, cells.as_ref(), answer, text);
    }
    let mut answers = answers.into_iter();
    let mut block = CsvBlock {
        position: records.position(),
        lines: records.lines() - lines_before,
        findings,
        ..CsvBlock::default()
    };
    let mut begin = 0;
    for (end, next, is_blank) in ends {
        block.text.extend_from_slice(&originals[begin..end]);
        if let Some(answer) = (!is_blank).then(|| answers.next()).flatten() {
            block.counts.count(&answer);
            for value in &answer.values {
                plan.write(&mut block.text, value);
            }
        }
        block.text.extend_from_slice(&originals[end..next]);
        begin = next;
    }
    Ok(Some(block))
}
