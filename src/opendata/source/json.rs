//! Reads NDJSON and data-fair pages. Numbers keep the digits of the source, because cells are slices of its text; only
//! zeros at the end of decimals are left out.
//!
//! Objects may have different keys; a new key becomes a new last column.

use std::collections::HashMap;
use std::fmt;
use std::io::{BufReader, Read};
use std::sync::Arc;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::block::{Block, Header};
use super::cell::without_end_zeros;
use super::{BlockReader, Error, SourceLocation};
use toise_base::bounded::{Lines, check_columns};
use toise_base::items::RawItems;
use toise_input::json::{cut_off, rows_of_document, with_nulls};

/// Maximum size of a page, which is held in memory, bytes; official pages of 10,000 diagnostics are about 60 MB.
const PAGE_BYTES_MAX: u64 = 512 << 20;
/// Maximum length of an NDJSON line, bytes.
const LINE_BYTES_MAX: u64 = 16 << 20;

/// Columns in the order of first appearance.
#[derive(Default)]
struct JsonColumns {
    header: Arc<Header>,
    positions: HashMap<String, usize>,
}

impl JsonColumns {
    fn position(&mut self, name: &str) -> Result<usize, String> {
        if let Some(position) = self.positions.get(name) {
            return Ok(*position);
        }
        let position = self.header.names.len();
        check_columns(position + 1)?;
        let header = Arc::make_mut(&mut self.header);
        header.names.push(name.to_owned());
        self.positions.insert(name.to_owned(), position);
        Ok(position)
    }

    /// Adds an object as a row; `cells` is a reused buffer. Returns a message if there are too many columns.
    fn push<'t>(
        &mut self,
        block: &mut Block,
        row: JsonRow<'t>,
        line: u64,
        cells: &mut Vec<Option<&'t RawValue>>,
    ) -> Result<(), String> {
        cells.clear();
        for (key, value) in row.0 {
            let position = self.position(&key)?;
            if cells.len() <= position {
                cells.resize(position + 1, None);
            }
            cells[position] = Some(value);
        }
        if !Arc::ptr_eq(&block.header, &self.header) {
            block.header = Arc::clone(&self.header);
        }
        block.start_row(line);
        for cell in cells.iter() {
            push_value(block, *cell);
        }
        Ok(())
    }
}

fn push_value(block: &mut Block, value: Option<&RawValue>) {
    let text = value.map_or("null", RawValue::get);
    if text == "null" {
        block.push_cell("");
    } else if text.starts_with('"') {
        if text.contains('\\') {
            let unescaped: String = serde_json::from_str(text).unwrap_or_default();
            block.push_cell(&unescaped);
        } else {
            block.push_cell(&text[1..text.len() - 1]);
        }
    } else {
        block.push_cell(without_end_zeros(text));
    }
}

/// Key and value pairs of one object.
struct JsonRow<'t>(Vec<(std::borrow::Cow<'t, str>, &'t RawValue)>);

impl<'t, 'de: 't> Deserialize<'de> for JsonRow<'t> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Pairs;
        impl<'de> Visitor<'de> for Pairs {
            type Value = JsonRow<'de>;
            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<JsonRow<'de>, A::Error> {
                let mut pairs = Vec::with_capacity(256);
                while let Some((JsonKey(key), value)) =
                    map.next_entry::<JsonKey<'de>, &'de RawValue>()?
                {
                    pairs.push((key, value));
                }
                Ok(JsonRow(pairs))
            }
        }
        deserializer.deserialize_map(Pairs)
    }
}

#[derive(Deserialize)]
struct JsonKey<'t>(#[serde(borrow)] std::borrow::Cow<'t, str>);

/// A reader of one object per line.
pub(super) struct NdJsonReader<R> {
    lines: Lines<BufReader<R>>,
    name: String,
    columns: JsonColumns,
}

impl<R: Read> NdJsonReader<R> {
    pub(super) fn new(source: R, name: &str) -> Self {
        Self {
            lines: Lines::new(BufReader::with_capacity(256 << 10, source), LINE_BYTES_MAX),
            name: name.to_owned(),
            columns: JsonColumns::default(),
        }
    }
}

impl<R: Read> BlockReader for NdJsonReader<R> {
    fn next_block(&mut self) -> Result<Option<Block>, Error> {
        let mut block = Block::default();
        while !block.is_full() {
            let next = self.lines.number() + 1;
            let line = self
                .lines
                .next_line()
                .map_err(|error| Error::reading(SourceLocation::line(&self.name, next), error))?;
            let Some(line) = line else {
                break;
            };
            let malformed =
                |reason| Error::malformed(SourceLocation::line(&self.name, line.number), reason);
            if line.is_cut {
                return Err(malformed(format!(
                    "the line is longer than {LINE_BYTES_MAX} bytes"
                )));
            }
            let written;
            let read: Result<JsonRow<'_>, _> = match serde_json::from_slice(line.bytes) {
                Err(error) => match with_nulls(line.bytes) {
                    Some(text) => {
                        written = text;
                        serde_json::from_slice(&written)
                    }
                    None => Err(error),
                },
                read => read,
            };
            let row = read.map_err(|error| malformed(format!("not a JSON object: {error}")))?;
            self.columns
                .push(&mut block, row, line.number, &mut Vec::with_capacity(256))
                .map_err(malformed)?;
        }
        block.header = Arc::clone(&self.columns.header);
        Ok((!block.is_empty()).then_some(block))
    }
}

/// A reader of a page that is held in memory completely.
pub(super) struct PageReader {
    text: String,
    name: String,
    columns: JsonColumns,
    /// Range in `text` of each remaining object, in order.
    objects: std::vec::IntoIter<std::ops::Range<usize>>,
    row: u64,
}

#[derive(Deserialize)]
struct DataFairPage<'t> {
    #[serde(borrow)]
    results: RawItems<'t>,
}

impl PageReader {
    pub(super) fn new(source: impl Read, name: &str) -> Result<Self, Error> {
        let mut bytes = Vec::new();
        source
            .take(PAGE_BYTES_MAX + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| Error::reading(SourceLocation::file(name), error))?;
        if bytes.len() as u64 > PAGE_BYTES_MAX {
            let reason =
                format!("the JSON page is larger than {PAGE_BYTES_MAX} bytes; use NDJSON or CSV");
            return Err(Error::malformed(SourceLocation::file(name), reason));
        }
        let bytes = with_nulls(&bytes).unwrap_or(bytes);
        let text = String::from_utf8(bytes)
            .map_err(|_| Error::malformed(SourceLocation::file(name), "not valid UTF-8"))?;
        let trimmed = text.trim_start_matches('\u{feff}').trim();
        let parsed = if trimmed.starts_with('[') {
            serde_json::from_str::<RawItems<'_>>(trimmed)
        } else {
            serde_json::from_str::<DataFairPage<'_>>(trimmed).map(|page| page.results)
        };
        let list = match &parsed {
            Err(error) if error.is_data() => rows_of_document(trimmed.as_bytes())
                .map_err(|reason| Error::malformed(SourceLocation::file(name), reason))?,
            _ => None,
        };
        let parsed = list.map_or(parsed, serde_json::from_str::<RawItems<'_>>);
        let results = parsed.map_err(|error| {
            let reason = cut_off(&error, trimmed.as_bytes());
            let reason = reason.unwrap_or_else(|| format!("not a page of JSON results: {error}"));
            Error::malformed(SourceLocation::line(name, error.line() as u64), reason)
        })?;
        let objects = results.ranges(text.as_bytes());
        Ok(Self {
            name: name.to_owned(),
            columns: JsonColumns::default(),
            objects: objects.into_iter(),
            row: 0,
            text,
        })
    }
}

impl BlockReader for PageReader {
    fn next_block(&mut self) -> Result<Option<Block>, Error> {
        let mut block = Block::default();
        let mut cells = Vec::with_capacity(256);
        while !block.is_full() {
            let Some(range) = self.objects.next() else {
                break;
            };
            self.row += 1;
            let row: JsonRow<'_> = serde_json::from_str(&self.text[range]).map_err(|error| {
                Error::malformed(
                    SourceLocation::line(&self.name, self.row),
                    format!("a result is not a JSON object: {error}"),
                )
            })?;
            self.columns
                .push(&mut block, row, self.row, &mut cells)
                .map_err(|reason| {
                    Error::malformed(SourceLocation::line(&self.name, self.row), reason)
                })?;
        }
        block.header = Arc::clone(&self.columns.header);
        Ok((!block.is_empty()).then_some(block))
    }
}
