//! Encodes and decodes a block: magic bytes, the table with its columns, then the values row by row.
//!
//! A value is a byte for its kind, followed by its bytes: numbers in little-endian order, texts and blobs after their
//! length. Equal rows must give equal bytes, so any change here needs new magic bytes.

use rusqlite::types::{Value, ValueRef};

use super::{MAGIC, ReplicatedTable, table_named};

/// Appends a length.
pub(super) fn append_length(bytes: &mut Vec<u8>, length: usize) {
    bytes.extend_from_slice(&(length as u64).to_le_bytes());
}

/// Appends a text with its length.
pub(super) fn append_text(bytes: &mut Vec<u8>, text: &str) {
    append_length(bytes, text.len());
    bytes.extend_from_slice(text.as_bytes());
}

/// Appends a value with its kind.
pub(super) fn append_value(bytes: &mut Vec<u8>, value: ValueRef<'_>) {
    match value {
        ValueRef::Null => bytes.push(0),
        ValueRef::Integer(number) => {
            bytes.push(1);
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        ValueRef::Real(number) => {
            bytes.push(2);
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        ValueRef::Text(text) => {
            bytes.push(3);
            append_length(bytes, text.len());
            bytes.extend_from_slice(text);
        }
        ValueRef::Blob(blob) => {
            bytes.push(4);
            append_length(bytes, blob.len());
            bytes.extend_from_slice(blob);
        }
    }
}

/// Reads a block; holds the bytes that are not read yet.
pub(super) struct Reader<'b>(pub(super) &'b [u8]);

impl<'b> Reader<'b> {
    /// Reads the header: the table and its columns. Returns `None` if they are unknown here.
    pub(super) fn table(&mut self) -> Option<&'static ReplicatedTable> {
        self.0 = self.0.strip_prefix(MAGIC)?;
        let table = table_named(self.text()?)?;
        let columns = self.length()?;
        if columns != table.columns.len() {
            return None;
        }
        for column in table.columns {
            if self.text()? != *column {
                return None;
            }
        }
        Some(table)
    }

    fn number(&mut self) -> Option<[u8; 8]> {
        let (number, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*number)
    }

    fn length(&mut self) -> Option<usize> {
        usize::try_from(u64::from_le_bytes(self.number()?)).ok()
    }

    fn bytes(&mut self) -> Option<&'b [u8]> {
        let length = self.length()?;
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }

    fn text(&mut self) -> Option<&'b str> {
        std::str::from_utf8(self.bytes()?).ok()
    }

    /// Reads the next value.
    pub(super) fn value(&mut self) -> Option<Value> {
        let (kind, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(match kind {
            0 => Value::Null,
            1 => Value::Integer(i64::from_le_bytes(self.number()?)),
            2 => Value::Real(f64::from_le_bytes(self.number()?)),
            3 => Value::Text(self.text()?.to_owned()),
            4 => Value::Blob(self.bytes()?.to_vec()),
            _ => return None,
        })
    }
}
