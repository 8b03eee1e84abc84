//! Reads JSON as some languages write it: with `NaN` and `Infinity`, which JSON does not have, and with integers of more
//! digits than fit 64 bits.

use std::collections::BTreeMap;

use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use crate::column_evidence::INTEGER_DIGITS_MAX;

/// Values that some languages write instead of JSON numbers.
const NON_JSON_NUMBERS: [&[u8]; 4] = [b"NaN", b"-NaN", b"Infinity", b"-Infinity"];
/// Maximum depth of objects in which the rows of a document are looked for.
const DOCUMENT_DEPTH_MAX: usize = 8;
/// Names of the list of rows in the answers of services, which are often one line.
const ROW_LISTS: [&str; 9] = [
    "results", "features", "records", "data", "items", "rows", "hits", "listings", "annonces",
];
/// Those of the names that no field of a row has.
const ONLY_ROW_LISTS: [&str; 6] = ["results", "records", "rows", "hits", "listings", "annonces"];
/// Maximum fields besides an empty list of rows in the answer of a service; an object with more is a row.
const ANSWER_FIELDS_MAX: usize = 8;
/// Maximum lists of a document that a message names.
const LISTS_NAMED_MAX: usize = 10;

/// Reads JSON text; `NaN` and `Infinity` become null, and long integers texts ([`with_long_integers`]).
///
/// # Errors
/// It is still not JSON.
pub fn read<T: serde::de::DeserializeOwned>(text: &[u8]) -> Result<T, serde_json::Error> {
    let written = with_long_integers(text);
    let text = written.as_deref().unwrap_or(text);
    serde_json::from_slice(text).or_else(|error| match with_nulls(text) {
        Some(written) => serde_json::from_slice(&written),
        None => Err(error),
    })
}

/// Replaces every `NaN` and `Infinity` in a text with `null`; `None` if there is none.
pub fn with_nulls(text: &[u8]) -> Option<Vec<u8>> {
    let mut written = Vec::with_capacity(text.len());
    let (mut rest, mut is_text, mut is_changed) = (text, false, false);
    while let Some((first, after)) = rest.split_first() {
        let word = NON_JSON_NUMBERS
            .iter()
            .find(|word| !is_text && rest.starts_with(word));
        if let Some(word) = word {
            written.extend_from_slice(b"null");
            rest = &rest[word.len()..];
            is_changed = true;
            continue;
        }
        written.push(*first);
        rest = after;
        match first {
            b'"' => is_text = !is_text,
            b'\\' if is_text => {
                let (escaped, after) = rest.split_first()?;
                written.push(*escaped);
                rest = after;
            }
            _ => {}
        }
    }
    is_changed.then_some(written)
}

/// Writes the integers of a text that have more than 18 digits in quotation marks: they are identifiers, and would be
/// rounded as numbers. `None` if there is none. A text without a long run of digits costs a look at every 19th byte.
pub fn with_long_integers(text: &[u8]) -> Option<Vec<u8>> {
    let is_in_long_run = |at: usize| {
        let is_digit = |byte: &&u8| byte.is_ascii_digit();
        let before = text[..at].iter().rev().take_while(is_digit).count();
        let after = text[at..].iter().take_while(is_digit).count();
        before + after > INTEGER_DIGITS_MAX
    };
    let mut probes = (0..text.len()).step_by(INTEGER_DIGITS_MAX + 1);
    if !probes.any(is_in_long_run) {
        return None;
    }
    let mut written = Vec::with_capacity(text.len() + 2);
    let (mut rest, mut is_text, mut is_changed) = (text, false, false);
    while let Some(first) = rest.first() {
        let length = match first {
            b'\\' if is_text => 2,
            b'-' | b'0'..=b'9' if !is_text => number_length(rest),
            _ => 1,
        };
        is_text ^= *first == b'"';
        let (token, after) = rest.split_at(length.min(rest.len()));
        rest = after;
        let digits = token.strip_prefix(b"-").unwrap_or(token);
        if digits.len() > INTEGER_DIGITS_MAX && digits.iter().all(u8::is_ascii_digit) {
            written.push(b'"');
            written.extend_from_slice(token);
            written.push(b'"');
            is_changed = true;
        } else {
            written.extend_from_slice(token);
        }
    }
    is_changed.then_some(written)
}

/// Returns the length of the number at the start of a text.
fn number_length(text: &[u8]) -> usize {
    let is_other = |byte: &u8| !matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
    text.iter().position(is_other).unwrap_or(text.len())
}

/// Bytes at the beginning of a text that are searched for the type of a GeoJSON document.
const GEOJSON_START_BYTES: usize = 400;

/// Why a GeoJSON document is not read as a table.
pub const IS_GEOJSON: &str = "this is GeoJSON: write the table as CSV, Parquet or NDJSON, or import the file as a layer \
    (toise import layer)";

/// Returns whether a text begins as a GeoJSON document of features does, in which the columns are inside an object of each
/// row.
pub fn is_geojson(start: &[u8]) -> bool {
    let start = start.trim_ascii_start();
    let start = &start[..start.len().min(GEOJSON_START_BYTES)];
    start.starts_with(b"{") && memchr::memmem::find(start, b"\"FeatureCollection\"").is_some()
}

/// Returns whether a text begins as a JSON array of objects does.
pub fn is_array_of_objects(start: &[u8]) -> bool {
    let inner = start.trim_ascii_start().strip_prefix(b"[");
    let first = inner.and_then(|inner| inner.trim_ascii_start().first());
    matches!(first, Some(b'{' | b']'))
}

/// Why a JSON array of texts is not read as a table.
const IS_LIST_OF_TEXTS: &str = "this is a JSON array of texts: write objects, such as {\"address\": \"…\"}, or one \
    text a line below a header";

/// Returns why a text that begins so is not read as a table of addresses: it is GeoJSON or a JSON array of texts.
pub fn reason_against_table(start: &[u8]) -> Option<&'static str> {
    let inner = start.trim_ascii_start().strip_prefix(b"[");
    let is_list = inner.is_some_and(|inner| inner.trim_ascii_start().starts_with(b"\""));
    if is_geojson(start) {
        Some(IS_GEOJSON)
    } else if is_list {
        Some(IS_LIST_OF_TEXTS)
    } else {
        None
    }
}

/// Writes the items of a JSON array one per line; `NaN` and `Infinity` become null.
///
/// # Errors
/// The text is not a JSON array; the message says why, and whether it was cut off.
pub fn lines_of_array(text: &[u8]) -> Result<String, String> {
    let written = with_nulls(text);
    let text = written.as_deref().unwrap_or(text);
    let items: Vec<&RawValue> = serde_json::from_slice(text).map_err(|error| {
        cut_off(&error, text).unwrap_or_else(|| format!("must be JSON: {error}"))
    })?;
    let mut lines = String::with_capacity(text.len());
    for item in items {
        // Only a line break ends a row, and JSON has none inside its texts.
        lines.extend(
            item.get()
                .chars()
                .filter(|character| !matches!(character, '\n' | '\r')),
        );
        lines.push('\n');
    }
    Ok(lines)
}

/// Returns whether a text begins as a JSON object with rows does: its first line opens something, and is no whole
/// object, or it has only one line, with a list of rows as its first value or named `results`, `features`, `data` or the
/// like.
pub fn is_document(start: &[u8]) -> bool {
    let start = start.trim_ascii_start();
    let (line, rest) = start.split_at(memchr::memchr(b'\n', start).unwrap_or(start.len()));
    if rest.trim_ascii().is_empty() {
        return line.starts_with(b"{") && has_row_list(line);
    }
    let line = line.trim_ascii_end();
    let opens = matches!(line.last(), Some(b'{' | b'[' | b',' | b':'));
    let read: Result<IgnoredAny, serde_json::Error> = serde_json::from_slice(line);
    line.starts_with(b"{") && opens && read.is_err_and(|error| error.is_eof())
}

/// Returns whether a line of JSON has a list of rows as its first value or with a name of [`ROW_LISTS`]. A list whose
/// first object has fewer fields than there are besides the list is a field of a row, such as the features of a home,
/// unless only answers have a list of that name.
fn has_row_list(line: &[u8]) -> bool {
    let others = fields_of(line, 1).saturating_sub(1);
    let is_list = |after_name: &[u8], is_only: bool| {
        let value = after_name.trim_ascii_start().strip_prefix(b":");
        value
            .filter(|value| is_array_of_objects(value))
            .is_some_and(|value| {
                let inner = &value.trim_ascii_start()[1..];
                match fields_of(inner.trim_ascii_start(), usize::MAX) {
                    0 => others <= ANSWER_FIELDS_MAX,
                    fields => is_only || fields >= others,
                }
            })
    };
    let inner = line.strip_prefix(b"{").unwrap_or(line);
    let name = inner.trim_ascii_start().strip_prefix(b"\"");
    let first = name.and_then(|name| Some(&name[memchr::memchr(b'"', name)? + 1..]));
    let is_named = |name: &str| {
        let is_only = ONLY_ROW_LISTS.contains(&name);
        let name = format!("\"{name}\"");
        let mut places = memchr::memmem::find_iter(line, name.as_bytes());
        places.any(|at| is_list(&line[at + name.len()..], is_only))
    };
    first.is_some_and(|first| is_list(first, false)) || ROW_LISTS.iter().any(|name| is_named(name))
}

/// Returns the number of fields of the JSON object at the beginning of a text, which may be cut off; 0 if none begins
/// there. Counts those of inner objects down to `depth_max`, which is 1 for the object's own.
fn fields_of(text: &[u8], depth_max: usize) -> usize {
    let (mut depth, mut fields, mut is_text, mut is_escaped) = (0_usize, 0, false, false);
    for byte in text {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_text => is_escaped = true,
            b'"' => is_text = !is_text,
            _ if is_text => {}
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b':' if depth <= depth_max => fields += 1,
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    fields
}

/// Finds the rows of a JSON object: the only list of objects in it, or in the objects inside it. Returns the text of the
/// list; `None` if the text is not a JSON object.
///
/// # Errors
/// The text is cut off, or has no such list or several.
pub fn rows_of_document(text: &[u8]) -> Result<Option<&str>, String> {
    let fields: BTreeMap<String, &RawValue> = match serde_json::from_slice(text) {
        Ok(fields) => fields,
        Err(error) => return cut_off(&error, text).map_or(Ok(None), Err),
    };
    let mut lists = Vec::new();
    add_lists(&fields, "", DOCUMENT_DEPTH_MAX, &mut lists);
    if let [(_, list)] = lists.as_slice() {
        return Ok(Some(*list));
    }
    let names: Vec<&str> = lists.iter().map(|(name, _)| name.as_str()).collect();
    let found = if names.is_empty() {
        "it has none".to_owned()
    } else {
        let shown = &names[..names.len().min(LISTS_NAMED_MAX)];
        format!("it has several: {}", shown.join(", "))
    };
    Err(format!(
        "a JSON object; the rows must be a list of objects, and {found}"
    ))
}

/// Adds the lists of objects in the fields of an object, with their paths.
fn add_lists<'t>(
    fields: &BTreeMap<String, &'t RawValue>,
    path: &str,
    depth: usize,
    lists: &mut Vec<(String, &'t str)>,
) {
    for (name, value) in fields {
        let text: &'t str = value.get();
        let name = format!("{path}{name}");
        let items = text.strip_prefix('[').map(str::trim_start);
        if items.is_some_and(|items| items.starts_with('{')) {
            lists.push((name, text));
        } else if text.starts_with('{')
            && depth > 0
            && let Ok(inner) = serde_json::from_str::<BTreeMap<String, &'t RawValue>>(text)
        {
            add_lists(&inner, &format!("{name}."), depth - 1, lists);
        }
    }
}

/// Writes the rows of a JSON object one per line ([`rows_of_document`]); `NaN` and `Infinity` become null. `None` if the
/// text is not a JSON object.
///
/// # Errors
/// Those of [`rows_of_document`] and [`lines_of_array`].
pub fn lines_of_document(text: &[u8]) -> Result<Option<String>, String> {
    let written = with_nulls(text);
    let list = rows_of_document(written.as_deref().unwrap_or(text))?;
    list.map(|list| lines_of_array(list.as_bytes())).transpose()
}

/// Returns where a text ends early if that is why it is not JSON, as after a download that was interrupted; `None` if it
/// has another error, or is empty.
pub fn cut_off(error: &serde_json::Error, text: &[u8]) -> Option<String> {
    let first = text.trim_ascii_start().first()?;
    if !error.is_eof() {
        return None;
    }
    let (line, column) = (error.line(), error.column());
    let place = format!("the file ends early, at line {line}, column {column}");
    let closing = match first {
        b'[' => "]",
        b'{' => "}",
        b'"' => "\"",
        _ => return Some(format!("{place}; it looks cut off")),
    };
    Some(format!(
        "{place}, before its closing {closing}; it looks cut off"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_array_becomes_lines() {
        let lines = lines_of_array(b"[\n {\"a\": NaN,\r\n \"b\": \"x\\ny\"},{}]");
        assert_eq!(
            lines.as_deref(),
            Ok("{\"a\": null, \"b\": \"x\\ny\"}\n{}\n")
        );
        assert!(
            lines_of_array(b"[{\"a\": 1}, {")
                .unwrap_err()
                .contains("ends early")
        );
        assert!(is_array_of_objects(b" [\n  {"));
        assert!(!is_array_of_objects(b"[id],[name]"));
        for (text, reason) in [
            ("[\n \"1 rue Basse\"]", Some(IS_LIST_OF_TEXTS)),
            ("{\"type\": \"FeatureCollection\"", Some(IS_GEOJSON)),
            ("[id],[name]", None),
            ("[{\"a\": 1}]", None),
        ] {
            assert_eq!(reason_against_table(text.as_bytes()), reason);
        }
    }

    #[test]
    fn the_only_list_of_objects_of_a_document_is_its_rows() {
        let text = b"{\"dpe\": [\n {\"a\": NaN},\n {\"a\": 2}],\n \"n\": 2, \"tags\": [\"x\"]}";
        assert!(is_document(text));
        assert_eq!(
            lines_of_document(text),
            Ok(Some("{\"a\": null}\n{\"a\": 2}\n".to_owned()))
        );
        let nested = b"{\n \"data\": {\"items\": [{\"a\": 1}]}\n}";
        assert!(is_document(nested));
        assert_eq!(
            lines_of_document(nested),
            Ok(Some("{\"a\": 1}\n".to_owned()))
        );
        for answer in [
            "{\"total\":2,\"results\":[{\"a\":1},{\"a\":2}]}",
            "{\"flats\": [{\"a\": 1}, {\"a\": 2}]}",
            "{\"type\": \"FeatureCollection\", \"features\": [ {\"a\": 1}, {\"a\": 2}]}\n",
            "{\"a:b\": \"x\\\":\", \"n\": 2, \"items\": [{\"p\": {\"a\": 1}}, {\"p\": {\"a\": 2}}]}",
        ] {
            assert!(is_document(answer.as_bytes()), "{answer}");
            let lines = lines_of_document(answer.as_bytes()).unwrap().unwrap();
            assert_eq!(lines.lines().count(), 2);
        }
        for (text, expected) in [
            ("{\n\"a\": 1}", "and it has none"),
            (
                "{\n\"a\": [{}], \"b\": {\"c\": [{}]}}",
                "and it has several: a, b.c",
            ),
            ("{\n\"a\": [{}", "looks cut off"),
        ] {
            let refused = lines_of_document(text.as_bytes()).unwrap_err();
            assert!(refused.ends_with(expected), "{refused}");
        }
        let lines = "{\"a\": 1\n{\"a\": 2}\n";
        assert_eq!(lines_of_document(lines.as_bytes()), Ok(None));
        for lines in [
            lines,
            "{\"a\": 1}\n{\"a\": 2}\n",
            "{\"a\": 1}",
            "{\"id\": 1, \"a\": [{\"b\": 1}]}",
            "{\"data\": \"x\", \"results\": 2}",
            "{\"id\": 1, \"price\": 2, \"features\": [{\"name\": \"x\"}]}",
            "{\"features\": [{\"name\": \"x\"}, {\"name\": \"y\"}], \"id\": 1, \"price\": 2}",
            "{\"id\": 1, \"b\": 2, \"c\": 3, \"d\": 4, \"e\": 5, \"f\": 6, \"g\": 7, \"h\": 8, \"i\": 9, \"data\": []}",
            "{\"results\": [{\"a\": 1}]}\n{\"results\": [{\"a\": 2}]}\n",
            "{",
            "a;b\n",
        ] {
            assert!(!is_document(lines.as_bytes()), "{lines}");
        }
    }

    #[test]
    fn a_text_that_ends_early_is_described_with_its_place() {
        for (text, expected) in [
            (
                "[{\"a\": 1},\n {\"a",
                "line 2, column 4, before its closing ]",
            ),
            (
                "{\"a\": \"long te",
                "line 1, column 14, before its closing }",
            ),
            ("\"a long te", "line 1, column 10, before its closing \""),
        ] {
            let error = read::<serde_json::Value>(text.as_bytes()).unwrap_err();
            let found = cut_off(&error, text.as_bytes()).unwrap();
            assert_eq!(
                found,
                format!("the file ends early, at {expected}; it looks cut off")
            );
        }
        for text in ["", " \n", "[}"] {
            let error = read::<serde_json::Value>(text.as_bytes()).unwrap_err();
            assert_eq!(cut_off(&error, text.as_bytes()), None, "{text:?}");
        }
    }

    #[test]
    fn integers_of_more_than_18_digits_become_texts() {
        let text = br#"{"url": "x/\"12345678901234567890", "id": 12345678901234567890123, "n": -1234567890123456789,
            "lat": 48.12345678901234567890, "x": 1e3, "ids": [1,12345678901234567890], "y": 123456789012345678}"#;
        let read: serde_json::Value = read(text).unwrap();
        assert_eq!(read["id"], "12345678901234567890123");
        assert_eq!(read["n"], "-1234567890123456789");
        assert_eq!(read["ids"][1], "12345678901234567890");
        assert_eq!(read["y"], 123_456_789_012_345_678_u64);
        assert_eq!(read["url"], "x/\"12345678901234567890");
        assert!(read["lat"].is_f64() && read["x"].is_f64());
        for text in [
            "",
            "{\"a\": 123456789012345678}",
            "[\"1234567890123456789\"]",
        ] {
            assert_eq!(with_long_integers(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn values_that_are_not_numbers_become_null_except_in_texts() {
        let with =
            |text: &str| with_nulls(text.as_bytes()).map(|text| String::from_utf8(text).unwrap());
        assert_eq!(
            with(r#"{"a": NaN, "b": [-Infinity, Infinity, 1], "NaN \" NaN": "NaN"}"#).unwrap(),
            r#"{"a": null, "b": [null, null, 1], "NaN \" NaN": "NaN"}"#
        );
        assert_eq!(with(r#"{"a": "NaN"}"#), None);
        assert_eq!(with(r#"{"a": "\"#), None);
    }
}
