//! Gives each key of JSON lines a single type, because it becomes a column. Strings that mean a missing value become
//! null, as in delimited text. If a key has values of several types, all of them become strings.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, IntoInnerError, Write};
use std::path::Path;

use serde_json::{Map, Value};
use tempfile::TempPath;

use toise_input::missing;
use toise_input::typed::temporary;

/// The values of a key in all lines.
#[derive(Default)]
struct Values {
    /// Their types, as bits.
    types: u8,
    /// The fields of those that are objects.
    fields: BTreeMap<String, Values>,
    /// The items of those that are lists.
    items: Option<Box<Values>>,
}

/// Turns strings that mean a missing value into null, then turns the values of keys that have values of several types
/// into strings. Returns the new file and the names of these keys. If nothing changes or a line is not JSON, the file
/// is the given one. Blocks.
///
/// # Errors
/// A file cannot be read or written.
pub(super) fn normalised(lines: TempPath) -> io::Result<(TempPath, Vec<String>)> {
    let mut all = Values::default();
    let mut is_any_missing = false;
    let seen = each_line(&lines, |mut value| {
        is_any_missing |= clear_missing(&mut value);
        all.observe(&value);
        Ok(())
    });
    let mut names = Vec::new();
    for (name, values) in &all.fields {
        values.add_mixed(name, &mut names);
    }
    // Malformed lines are reported when the table is read.
    if names.is_empty() && !is_any_missing || seen.is_err() {
        return Ok((lines, Vec::new()));
    }
    let mut out = BufWriter::new(temporary(".ndjson")?);
    each_line(&lines, |mut value| {
        clear_missing(&mut value);
        if let Value::Object(fields) = &mut value {
            all.normalise_fields(fields);
        }
        writeln!(out, "{value}")
    })?;
    let copy = out.into_inner().map_err(IntoInnerError::into_error)?;
    Ok((copy.into_temp_path(), names))
}

/// Turns the texts of objects that mean a missing value into null. Returns whether there are any.
fn clear_missing(value: &mut Value) -> bool {
    let mut is_any = false;
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                if value.as_str().is_some_and(|text| is_missing(name, text)) {
                    *value = Value::Null;
                    is_any = true;
                } else {
                    is_any |= clear_missing(value);
                }
            }
        }
        Value::Array(items) => {
            for item in items {
                is_any |= clear_missing(item);
            }
        }
        _ => {}
    }
    is_any
}

/// Returns whether the text of a key means a missing value.
fn is_missing(name: &str, text: &str) -> bool {
    text.trim().is_empty() || !missing::may_name_section(name) && missing::is_missing(text)
}

/// Calls `take` with the value of each line.
fn each_line(path: &Path, mut take: impl FnMut(Value) -> io::Result<()>) -> io::Result<()> {
    for line in BufReader::new(File::open(path)?).split(b'\n') {
        let line = line?;
        if !line.trim_ascii().is_empty() {
            take(serde_json::from_slice(&line)?)?;
        }
    }
    Ok(())
}

impl Values {
    fn observe(&mut self, value: &Value) {
        self.types |= match value {
            Value::Null => 0,
            Value::Bool(_) => 1,
            Value::Number(_) => 1 << 1,
            Value::String(_) => 1 << 2,
            Value::Array(items) => {
                let all = self.items.get_or_insert_default();
                items.iter().for_each(|item| all.observe(item));
                1 << 3
            }
            Value::Object(fields) => {
                for (name, value) in fields {
                    match self.fields.get_mut(name) {
                        Some(values) => values.observe(value),
                        None => self.fields.entry(name.clone()).or_default().observe(value),
                    }
                }
                1 << 4
            }
        };
    }

    fn is_mixed(&self) -> bool {
        self.types.count_ones() > 1
    }

    /// Adds the names of the keys with values of several types.
    fn add_mixed(&self, name: &str, names: &mut Vec<String>) {
        if self.is_mixed() {
            names.push(name.to_owned());
            return;
        }
        for (field, values) in &self.fields {
            values.add_mixed(&format!("{name}.{field}"), names);
        }
        if let Some(items) = &self.items {
            items.add_mixed(&format!("{name}[]"), names);
        }
    }

    /// Turns values in the fields of an object into texts.
    fn normalise_fields(&self, fields: &mut Map<String, Value>) {
        for (name, value) in fields {
            if let Some(values) = self.fields.get(name) {
                values.normalise_value(value);
            }
        }
    }

    fn normalise_value(&self, value: &mut Value) {
        match value {
            Value::Null | Value::String(_) => {}
            _ if self.is_mixed() => *value = Value::String(value.to_string()),
            Value::Object(fields) => self.normalise_fields(fields),
            Value::Array(items) => {
                if let Some(values) = &self.items {
                    items
                        .iter_mut()
                        .for_each(|item| values.normalise_value(item));
                }
            }
            Value::Bool(_) | Value::Number(_) => {}
        }
    }
}
