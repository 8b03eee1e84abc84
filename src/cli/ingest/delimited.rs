//! Reads the rows of a CSV file with a header as JSON objects of strings, in any supported encoding and with any
//! delimiter.

use std::borrow::Cow;
use std::io::{BufRead, Read};

use serde_json::{Map, Value};

use super::lines::Line;
use toise_base::bounded::{RecordBound, RecordEnds, check_columns};
use toise_base::delimiter::detect_delimiter;
use toise_geocode::file::text::{BYTE_ORDER_MARK, TextEncoding, parse_delimiter};

/// Encoding of cells that are not UTF-8, unless one is given.
const OTHER_ENCODING: &str = "windows-1252";

/// Encoding and delimiter of CSV files, if they are given.
#[derive(Clone, Debug, Default)]
pub struct CsvDialect {
    encoding: Option<TextEncoding>,
    delimiter: Option<u8>,
}

impl CsvDialect {
    /// Parses the names of an encoding and of a delimiter; `None` means that it is detected in the file.
    ///
    /// # Errors
    /// The encoding is unknown, or neither UTF-8 nor a single-byte encoding, or the text cannot delimit cells.
    pub fn parse(encoding: Option<&str>, delimiter: Option<&str>) -> Result<Self, String> {
        let encoding = encoding.map(TextEncoding::parse).transpose();
        let delimiter = delimiter.map(parse_delimiter).transpose();
        Ok(Self {
            encoding: encoding.map_err(|fault| fault.to_string())?,
            delimiter: delimiter.map_err(|fault| fault.to_string())?,
        })
    }
}

/// Reads the header and the rows of a CSV file.
pub struct CsvRows<R> {
    rows: csv::ByteRecordsIntoIter<RecordBound<R>>,
    ends: RecordEnds,
    header: Vec<String>,
    encoding: Option<TextEncoding>,
    other: TextEncoding,
}

impl<R: BufRead> CsvRows<R> {
    /// Reads the header of an input.
    ///
    /// # Errors
    /// The header cannot be read or has too many columns.
    pub fn new(mut input: R, dialect: &CsvDialect) -> Result<Self, String> {
        let start = input.fill_buf().map_err(|error| error.to_string())?;
        let has_mark = start.starts_with(BYTE_ORDER_MARK);
        let delimiter = dialect.delimiter.unwrap_or_else(|| detect_delimiter(start));
        if has_mark {
            input.consume(BYTE_ORDER_MARK.len());
        }
        let (input, ends) = RecordBound::new(input);
        let mut reader = csv::ReaderBuilder::new()
            .delimiter(delimiter)
            .flexible(false)
            .trim(csv::Trim::All)
            .from_reader(input);
        let other = TextEncoding::parse(OTHER_ENCODING).map_err(|fault| fault.to_string())?;
        let header = reader.byte_headers().map_err(|error| error.to_string())?;
        check_columns(header.len())?;
        let header = header
            .iter()
            .map(|cell| decode(cell, dialect.encoding, other).into_owned())
            .collect();
        Ok(Self {
            rows: reader.into_byte_records(),
            ends,
            header,
            encoding: dialect.encoding,
            other,
        })
    }

    /// Returns the names of the columns.
    pub fn header(&self) -> &[String] {
        &self.header
    }
}

/// Decodes a cell from the given encoding; without one, from UTF-8 or, if it is not valid UTF-8, from `other`:
/// Windows-1252, which includes all of Latin-1.
fn decode(cell: &[u8], encoding: Option<TextEncoding>, other: TextEncoding) -> Cow<'_, str> {
    match (encoding, std::str::from_utf8(cell)) {
        (Some(encoding), _) => encoding.decode(cell),
        (None, Ok(text)) => Cow::Borrowed(text),
        (None, Err(_)) => other.decode(cell),
    }
}

impl<R: Read> Iterator for CsvRows<R> {
    type Item = std::io::Result<Line>;

    fn next(&mut self) -> Option<Self::Item> {
        let read = self.rows.next()?;
        self.ends.mark();
        let cells = match read {
            Ok(cells) => cells,
            Err(error) => {
                let number = error.position().map_or(0, csv::Position::line);
                let reason = match error.kind() {
                    csv::ErrorKind::UnequalLengths { expected_len, .. } => {
                        format!("row must have {expected_len} cells, like the header")
                    }
                    _ => error.to_string(),
                };
                return Some(match error.into_kind() {
                    csv::ErrorKind::Io(error) => Err(error),
                    _ => Ok(Line {
                        number,
                        row: Err(reason),
                    }),
                });
            }
        };
        let mut row = Map::with_capacity(self.header.len());
        for (column, cell) in self.header.iter().zip(cells.iter()) {
            let text = decode(cell, self.encoding, self.other);
            // If columns have the same name, the first counts.
            row.entry(column.as_str())
                .or_insert_with(|| Value::String(text.into_owned()));
        }
        Some(Ok(Line {
            number: cells.position().map_or(0, csv::Position::line),
            row: Ok(Value::Object(row)),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn rows(bytes: &[u8]) -> Vec<Line> {
        let rows = CsvRows::new(bytes, &CsvDialect::default()).unwrap();
        rows.map(|line| line.unwrap()).collect()
    }

    #[test]
    fn rows_are_read_in_any_encoding_and_with_any_delimiter() {
        for text in [
            &b"\xef\xbb\xbftitre;prix\nT3 r\xc3\xa9nov\xc3\xa9;250 000\n"[..],
            b"titre;prix\nT3 r\xe9nov\xe9;250 000\n",
            b"titre\tprix\nT3 r\xe9nov\xe9\t250 000\n",
        ] {
            let read = rows(text);
            assert_eq!(read[0].number, 2);
            let expected = json!({"titre": "T3 rénové", "prix": "250 000"});
            assert_eq!(read[0].row, Ok(expected));
        }
        let dialect = CsvDialect::parse(Some("macintosh"), Some("|")).unwrap();
        let mut named = CsvRows::new(&b"a|b\n\x8e|1,2\n"[..], &dialect).unwrap();
        let row = named.next().unwrap().unwrap().row;
        assert_eq!(row, Ok(json!({"a": "é", "b": "1,2"})));
        assert!(CsvDialect::parse(Some("utf-7"), None).is_err());
    }

    #[test]
    fn a_row_of_another_width_is_reported_and_the_rest_is_read() {
        let read = rows(b"url,title\nhttps://p.example/1\nhttps://p.example/2,T3\n");
        let is_read: Vec<bool> = read.iter().map(|line| line.row.is_ok()).collect();
        assert_eq!(is_read, [false, true]);
    }
}
