//! Reads the rows of a CSV file with a header as JSON objects of strings, with any delimiter.

use std::io::{BufRead, Read};
use std::iter::Peekable;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use serde_json::{Map, Value};

use super::lines::Line;
use toise_base::bounded::{RecordBound, RecordEnds, check_columns};
use toise_geocode::file::text::parse_delimiter;
use toise_input::delimited::{EvenText, Splitter, unmarked};
use toise_input::{SharedForm, TextConversion};

/// Encoding and delimiter of CSV files, if they are given.
#[derive(Clone, Debug, Default)]
pub struct CsvDialect {
    conversion: TextConversion,
    delimiter: Option<u8>,
}

impl CsvDialect {
    /// Parses the names of an encoding and of a delimiter; `None` means that it is detected in the file.
    ///
    /// # Errors
    /// The encoding is unknown, or the text cannot delimit cells.
    pub fn parse(encoding: Option<&str>, delimiter: Option<&str>) -> Result<Self, String> {
        let conversion = match encoding {
            None => TextConversion::Utf8,
            Some(name) => TextConversion::From(toise_input::by_name(name).ok_or_else(|| {
                format!(
                    "encoding: {name:?} is not known; use utf-8, utf-16, windows-1252, iso-8859-15 or macintosh"
                )
            })?),
        };
        let delimiter = delimiter.map(parse_delimiter).transpose();
        Ok(Self {
            conversion,
            delimiter: delimiter.map_err(|fault| fault.to_string())?,
        })
    }

    /// Returns how the text of a file is converted to UTF-8.
    pub fn conversion(&self) -> TextConversion {
        self.conversion
    }
}

/// Reader that keeps the last byte of its source.
struct LastByte<R> {
    inner: R,
    last: Arc<AtomicU8>,
}

impl<R: Read> Read for LastByte<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.inner.read(buffer)?;
        if let Some(last) = buffer.get(..count).and_then(<[u8]>::last) {
            self.last.store(*last, Ordering::Relaxed);
        }
        Ok(count)
    }
}

/// Reads the header and the rows of a CSV file.
pub struct CsvRows<R: Read> {
    rows: Peekable<csv::StringRecordsIntoIter<EvenText<RecordBound<LastByte<R>>>>>,
    ends: RecordEnds,
    /// The last byte that was read.
    last: Arc<AtomicU8>,
    header: Vec<String>,
    /// The same for reports.
    names: Vec<String>,
    form: SharedForm,
}

/// Returns the names of columns, in which repeated ones are numbered: the second `prix` is `prix_2`. It is not read.
fn numbered(header: &[String]) -> Vec<String> {
    let numbered = header.iter().enumerate().map(|(place, name)| {
        let before = header[..place].iter().filter(|other| *other == name);
        match before.count() {
            0 => name.clone(),
            _ if name.is_empty() => String::new(),
            count => format!("{name}_{}", count + 1),
        }
    });
    numbered.collect()
}

impl<R: BufRead> CsvRows<R> {
    /// Reads the header of an input, which is UTF-8.
    ///
    /// # Errors
    /// The header cannot be read or has too many columns.
    pub fn new(mut input: R, dialect: &CsvDialect, form: &SharedForm) -> Result<Self, String> {
        let start = input.fill_buf().map_err(|error| error.to_string())?;
        let splitter = Splitter::new(start, dialect.delimiter, form).trimmed();
        let last = Arc::default();
        let (input, ends) = RecordBound::new(LastByte {
            inner: input,
            last: Arc::clone(&last),
        });
        let mut reader = splitter.reader(input);
        let header = reader.headers().map_err(|error| error.to_string())?;
        check_columns(header.len())?;
        let header: Vec<String> = header.iter().map(str::to_owned).collect();
        Ok(Self {
            names: numbered(&header),
            header,
            rows: reader.into_records().peekable(),
            ends,
            last,
            form: form.clone(),
        })
    }

    /// Returns the names of the columns, in which repeated ones are numbered.
    pub fn names(&self) -> &[String] {
        &self.names
    }
}

impl<R: Read> CsvRows<R> {
    /// Returns whether the file ends without a line end after the row that was read last.
    fn ends_within_row(&mut self) -> bool {
        let is_last = self.rows.peek().is_none();
        is_last && !matches!(self.last.load(Ordering::Relaxed), b'\n' | b'\r')
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
                let number = self.form.line_of(error.position());
                let reason = match error.kind() {
                    csv::ErrorKind::UnequalLengths {
                        expected_len, len, ..
                    } if len < expected_len && self.ends_within_row() => {
                        self.form.set_cut_line(number);
                        format!(
                            "the file ends within this row, after {len} of {expected_len} cells: it looks cut off"
                        )
                    }
                    csv::ErrorKind::UnequalLengths {
                        expected_len, len, ..
                    } => {
                        format!(
                            "row must have {expected_len} cells, like the header, and has {len}"
                        )
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
            // If columns have the same name, the first counts.
            row.entry(column.as_str())
                .or_insert_with(|| Value::String(unmarked(cell).to_owned()));
        }
        Some(Ok(Line {
            number: self.form.line_of(cells.position()),
            row: Ok(Value::Object(row)),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn rows(bytes: &[u8]) -> Vec<Line> {
        let input = toise_input::open(bytes, TextConversion::Utf8).unwrap();
        let rows = CsvRows::new(input.reader, &CsvDialect::default(), &input.form).unwrap();
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
        let marked = rows(b"cp;prix\n=\"01000\";'250000\n\"=\"\"48000\"\"\";l'\n");
        let expected = json!({"cp": "01000", "prix": "250000"});
        assert_eq!(marked[0].row, Ok(expected));
        assert_eq!(marked[1].row, Ok(json!({"cp": "48000", "prix": "l'"})));
        let dialect = CsvDialect::parse(Some("macintosh"), Some("|")).unwrap();
        let input = toise_input::open(&b"a|b\n\x8e|1,2\n"[..], dialect.conversion()).unwrap();
        let mut named = CsvRows::new(input.reader, &dialect, &input.form).unwrap();
        let row = named.next().unwrap().unwrap().row;
        assert_eq!(row, Ok(json!({"a": "é", "b": "1,2"})));
        assert!(CsvDialect::parse(Some("utf-7"), None).is_err());
    }

    #[test]
    fn rows_of_a_feed_have_the_numbers_of_its_lines() {
        let advert = "\"un<BR>deux\"!#".repeat(30);
        let read = rows(format!("\n{advert}\n{advert}\n").as_bytes());
        let numbers: Vec<u64> = read.iter().map(|line| line.number).collect();
        assert_eq!(numbers, [2, 3]);
    }

    #[test]
    fn the_first_of_two_columns_of_one_name_is_read_and_the_second_numbered() {
        let input = toise_input::open(&b"a,b,a,,\n1,2,3,4,5\n"[..], TextConversion::Utf8).unwrap();
        let mut rows = CsvRows::new(input.reader, &CsvDialect::default(), &input.form).unwrap();
        assert_eq!(rows.names(), ["a", "b", "a_2", "", ""]);
        let row = rows.next().unwrap().unwrap().row;
        assert_eq!(row, Ok(json!({"a": "1", "b": "2", "": "4"})));
    }

    #[test]
    fn a_row_of_another_width_is_reported_and_the_rest_is_read() {
        let read = rows(b"url,title\nhttps://p.example/1\nhttps://p.example/2,T3\n");
        let is_read: Vec<bool> = read.iter().map(|line| line.row.is_ok()).collect();
        assert_eq!(is_read, [false, true]);
    }

    #[test]
    fn a_file_that_ends_within_a_row_looks_cut_off() {
        for (text, expected) in [
            ("url;ville\n1;Toulon\n2", Some(3)),
            ("url;ville\r1;Toulon\r2", Some(3)),
            ("url;ville\n1;Toulon\n2\n", None),
            ("url;ville\n1\n2;Toulon", None),
            ("url;ville\n1;Toulon\n2;\"Toulon\"", None),
            ("url;ville\n1;Toulon\n2;Toulon\n", None),
            ("url;ville\r\n1;Toulon\r\n", None),
        ] {
            let input = toise_input::open(text.as_bytes(), TextConversion::Utf8).unwrap();
            let rows = CsvRows::new(input.reader, &CsvDialect::default(), &input.form).unwrap();
            assert!(rows.count() > 0);
            assert_eq!(input.form.cut_line(), expected, "{text}");
        }
    }
}
