//! Reads the records of a JSON document: an array of objects, a list anywhere in it, or objects one after the other.

use std::io::Read;
use std::ops::Range;

use serde_json::Value;
use serde_json::value::RawValue;

use super::lines::Line;
use toise_base::items::{RawFields, RawItems, range_in};
use toise_collect::mapping::{self, RowPath};
use toise_input::json;

/// Maximum size of a document, which is held in memory, in bytes; larger exports must have one object per line.
const DOCUMENT_BYTES_MAX: u64 = 512 << 20;

/// Maximum keys of a document that an error message shows.
const KEYS_SHOWN: usize = 20;

/// The records of a document, in order.
pub struct JsonRecords {
    text: Vec<u8>,
    records: std::vec::IntoIter<Record>,
    number: u64,
}

enum Record {
    /// Its range of bytes in the document.
    At(Range<usize>),
    Read(Box<Value>),
}

impl JsonRecords {
    /// Reads a document; `records` is the path to the list in it.
    ///
    /// # Errors
    /// The input cannot be read, is too large, is not JSON, or has nothing at the path.
    pub fn new(input: impl Read, records: Option<&RowPath>) -> Result<Self, String> {
        let mut text = Vec::new();
        let mut input = input.take(DOCUMENT_BYTES_MAX + 1);
        input
            .read_to_end(&mut text)
            .map_err(|error| error.to_string())?;
        if text.len() as u64 > DOCUMENT_BYTES_MAX {
            return Err(format!(
                "must not exceed {DOCUMENT_BYTES_MAX} bytes; write one object per line instead (ndjson)"
            ));
        }
        if let Some(written) = json::with_nulls(&text) {
            text = written;
        }
        if let Some(written) = json::with_long_integers(&text) {
            text = written;
        }
        let document = text.as_slice();
        let records: Vec<Record> = match records {
            Some(path) => {
                let value: &RawValue =
                    serde_json::from_slice(document).map_err(|error| not_json(&error, document))?;
                let found = path
                    .records(value)?
                    .ok_or_else(|| no_records(path, value))?;
                let record = |record| match record {
                    mapping::Record::Text(value) => Record::At(range_in(&text, value)),
                    mapping::Record::Read(value) => Record::Read(value),
                };
                found.into_iter().map(record).collect()
            }
            None => {
                let ranges = in_array(document)?.ranges(&text).into_iter();
                ranges.map(Record::At).collect()
            }
        };
        Ok(Self {
            text,
            records: records.into_iter(),
            number: 0,
        })
    }
}

/// Returns the items of one array, or the objects that follow one another.
fn in_array(text: &[u8]) -> Result<RawItems<'_>, String> {
    if text.trim_ascii_start().starts_with(b"[") {
        return serde_json::from_slice(text).map_err(|error| not_json(&error, text));
    }
    let mut items = RawItems::default();
    for object in serde_json::Deserializer::from_slice(text).into_iter::<&RawValue>() {
        items.push(object.map_err(|error| not_json(&error, text))?)?;
    }
    Ok(items)
}

/// Formats the error for a document that has nothing at the path of its records; the message describes the document.
fn no_records(path: &RowPath, document: &RawValue) -> String {
    let fields: Result<RawFields<'_>, _> = serde_json::from_str(document.get());
    let has = match &fields {
        Ok(fields) if document.get().starts_with('{') => {
            let keys: Vec<&str> = fields.keys().take(KEYS_SHOWN).collect();
            format!("an object with the keys {}", keys.join(", "))
        }
        _ if document.get().starts_with('[') => "a list without that path".into(),
        _ => "neither an object nor a list".into(),
    };
    format!(
        "the mapping expects the adverts at records = {:?}, and the document has nothing there: it is {has}; change \
         records, or let --suggest write a mapping for this file",
        path.name
    )
}

/// Formats the error for a text that is not JSON.
fn not_json(error: &serde_json::Error, text: &[u8]) -> String {
    json::cut_off(error, text).unwrap_or_else(|| format!("must be JSON: {error}"))
}

impl Iterator for JsonRecords {
    type Item = std::io::Result<Line>;

    fn next(&mut self) -> Option<Self::Item> {
        let row = match self.records.next()? {
            Record::At(range) => {
                let text = &self.text[range];
                serde_json::from_slice(text).map_err(|error| not_json(&error, text))
            }
            Record::Read(value) => Ok(*value),
        };
        self.number += 1;
        Some(Ok(Line {
            number: self.number,
            row,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(text: &str, records: Option<&str>) -> Vec<(u64, Value)> {
        let path = records.map(|path| RowPath::parse(path).unwrap());
        let found = JsonRecords::new(text.as_bytes(), path.as_ref()).unwrap();
        found
            .map(|line| line.unwrap())
            .map(|line| (line.number, line.row.unwrap()))
            .collect()
    }

    #[test]
    fn records_are_read_from_an_array_a_list_and_lines() {
        let expected = vec![(1, json!({"a": 1})), (2, json!({"a": 2}))];
        for text in [
            " [{\"a\": 1},\n {\"a\": 2}]",
            "{\"a\": 1}\n{\"a\": 2}\n",
            "{\n \"a\": 1\n}{\"a\": 2}",
        ] {
            assert_eq!(read(text, None), expected, "{text}");
        }
        let listed = "{\"at\": 3, \"data\": {\"ads\": [{\"a\": 1}, {\"a\": 2}]}}";
        assert_eq!(read(listed, Some("data.ads")), expected);
        let in_text = "{\"state\": \"{\\\"ads\\\": [{\\\"a\\\": 1}, {\\\"a\\\": 2}]}\"}";
        assert_eq!(read(in_text, Some("state.ads")), expected);
        assert!(read("{\"ads\": []}", Some("ads")).is_empty());
        for (text, has) in [
            ("{\"data\": [{}]}", "it is an object with the keys data;"),
            ("[{\"a\": 1}]", "it is a list without that path;"),
        ] {
            let path = RowPath::parse("props.ads").unwrap();
            let error = JsonRecords::new(text.as_bytes(), Some(&path))
                .err()
                .unwrap();
            assert!(
                error.contains("records = \"props.ads\"") && error.contains(has),
                "{error}"
            );
        }
        assert!(read("", None).is_empty() && read("[]", None).is_empty());
        let error = JsonRecords::new(&b"[{]"[..], None).err().unwrap();
        assert!(error.starts_with("must be JSON: "), "{error}");
        for (text, place) in [
            (
                "[{\"a\": 1}, {\"a\"",
                "line 1, column 15, before its closing ]",
            ),
            (
                "{\"a\": 1}\n{\"a\":",
                "line 2, column 5, before its closing }",
            ),
            ("\"a te", "line 1, column 5, before its closing \""),
        ] {
            let error = JsonRecords::new(text.as_bytes(), None).err().unwrap();
            let expected = format!("the file ends early, at {place}; it looks cut off");
            assert_eq!(error, expected, "{text}");
        }
    }
}
