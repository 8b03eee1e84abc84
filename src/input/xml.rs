//! Reads the records of an XML document: the repeated elements, each as a JSON object.
//!
//! The record is the most frequent of the repeated elements at the smallest depth that has any: `<annonce>` in
//! `<annonces><annonce>…`. The document is read twice: to find that element, and to read its occurrences one at a time.
//! In the JSON object, attributes and children become fields, a child that repeats becomes a list, and a leaf becomes
//! its text. The text of an element with attributes or children becomes the field `text`. Entities defined by the
//! document are not expanded.

use std::collections::HashMap;
use std::io::BufRead;

use quick_xml::Reader;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesStart, Event};
use serde_json::{Map, Value};
use toise_base::bounded::{RecordBound, RecordEnds};

/// Maximum depth at which the record is searched; the root has depth 1.
const RECORD_DEPTH_MAX: usize = 6;
/// Maximum depth of elements that are read.
const DEPTH_MAX: usize = 64;
/// Maximum different elements that are considered to find the record.
const PATHS_MAX: usize = 10_000;
/// Field of the text of an element that has other fields.
const TEXT: &str = "text";

/// Returns the path of the element that is the record, from the root; `None` if no element repeats.
///
/// # Errors
/// The text is not XML; the message gives the position.
pub fn record_path(text: impl BufRead) -> Result<Option<Vec<String>>, String> {
    let mut counts: HashMap<Vec<String>, (u64, bool)> = HashMap::new();
    let mut path: Vec<String> = Vec::new();
    let mut events = Events::new(text);
    loop {
        match events.next()? {
            Node::Start {
                name,
                has_fields,
                is_closed,
            } => {
                path.push(name);
                if path.len() > DEPTH_MAX {
                    return Err(format!("elements deeper than {DEPTH_MAX}"));
                }
                if path.len() <= RECORD_DEPTH_MAX
                    && (counts.len() < PATHS_MAX || counts.contains_key(&path))
                {
                    let found = counts.entry(path.clone()).or_default();
                    found.0 += 1;
                    found.1 |= has_fields;
                }
                if path.len() >= 2
                    && let Some(parent) = counts.get_mut(&path[..path.len() - 1])
                {
                    parent.1 = true;
                }
                if is_closed {
                    path.pop();
                }
                events.ends.mark();
            }
            Node::End => {
                path.pop();
                events.ends.mark();
            }
            Node::Text(_) => {}
            Node::Eof => break,
        }
    }
    let repeated = counts
        .into_iter()
        .filter(|(path, (count, has_fields))| path.len() > 1 && *count > 1 && *has_fields);
    // Takes the shallowest, and among those the most frequent.
    let best = repeated
        .min_by_key(|(path, (count, _))| (path.len(), std::cmp::Reverse(*count), path.clone()));
    Ok(best.map(|(path, _)| path))
}

/// The records of a document, in order.
pub struct XmlRecords<R> {
    events: Events<R>,
    path: Vec<String>,
    /// Path of the element that is being read.
    at: Vec<String>,
}

impl<R: BufRead> XmlRecords<R> {
    /// Reads the elements at a path found by [`record_path`].
    pub fn new(text: R, path: Vec<String>) -> Self {
        Self {
            events: Events::new(text),
            path,
            at: Vec::new(),
        }
    }
}

impl<R: BufRead> Iterator for XmlRecords<R> {
    type Item = Result<Value, String>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.events.next() {
                Err(error) => return Some(Err(error)),
                Ok(Node::Eof) => return None,
                Ok(Node::Text(_)) => {}
                Ok(Node::End) => {
                    self.at.pop();
                    self.events.ends.mark();
                }
                Ok(Node::Start {
                    name, is_closed, ..
                }) => {
                    self.at.push(name);
                    if self.at == self.path {
                        self.at.pop();
                        let fields = std::mem::take(&mut self.events.fields);
                        let record = match is_closed {
                            true => Ok(value(fields, String::new())),
                            false => self.events.element(fields, 0),
                        };
                        self.events.ends.mark();
                        return Some(record);
                    }
                    if is_closed {
                        self.at.pop();
                    }
                    self.events.ends.mark();
                }
            }
        }
    }
}

/// A part of a document.
enum Node {
    Start {
        name: String,
        has_fields: bool,
        /// Whether the element has no content and no end of its own.
        is_closed: bool,
    },
    End,
    Text(String),
    Eof,
}

struct Events<R> {
    reader: Reader<std::io::BufReader<RecordBound<R>>>,
    ends: RecordEnds,
    buffer: Vec<u8>,
    /// Attributes of the element that began last.
    fields: Map<String, Value>,
}

impl<R: BufRead> Events<R> {
    fn new(text: R) -> Self {
        let (text, ends) = RecordBound::new(text);
        Self {
            reader: Reader::from_reader(std::io::BufReader::new(text)),
            ends,
            buffer: Vec::new(),
            fields: Map::new(),
        }
    }

    fn next(&mut self) -> Result<Node, String> {
        loop {
            self.buffer.clear();
            let event = self.reader.read_event_into(&mut self.buffer);
            let position = self.reader.error_position();
            let event = event.map_err(|error| format!("must be XML: byte {position}: {error}"))?;
            return Ok(match event {
                Event::Start(start) => {
                    self.fields = attributes(&start);
                    Node::Start {
                        name: name(&start),
                        has_fields: !self.fields.is_empty(),
                        is_closed: false,
                    }
                }
                Event::Empty(start) => {
                    self.fields = attributes(&start);
                    Node::Start {
                        name: name(&start),
                        has_fields: !self.fields.is_empty(),
                        is_closed: true,
                    }
                }
                Event::End(_) => Node::End,
                Event::Text(text) => Node::Text(text.into_inner().into_owned()),
                Event::CData(text) => Node::Text(text.into_inner().into_owned()),
                Event::GeneralRef(entity) => {
                    let character = entity.resolve_char_ref().ok().flatten();
                    let entity = entity.into_inner();
                    Node::Text(match character {
                        Some(character) => character.to_string(),
                        None => resolve_predefined_entity(&entity)
                            .map_or_else(|| format!("&{entity};"), str::to_owned),
                    })
                }
                Event::Eof => Node::Eof,
                Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => continue,
            });
        }
    }

    /// Reads an element to its end.
    fn element(&mut self, mut fields: Map<String, Value>, depth: usize) -> Result<Value, String> {
        if depth > DEPTH_MAX {
            return Err(format!("elements deeper than {DEPTH_MAX}"));
        }
        let mut text = String::new();
        loop {
            match self.next()? {
                Node::Text(more) => text.push_str(&more),
                Node::End => return Ok(value(fields, text)),
                Node::Eof => return Err("must be XML: the document is cut off".into()),
                Node::Start {
                    name, is_closed, ..
                } => {
                    let own = std::mem::take(&mut self.fields);
                    let child = match is_closed {
                        true => value(own, String::new()),
                        false => self.element(own, depth + 1)?,
                    };
                    add(&mut fields, name, child);
                }
            }
        }
    }
}

fn name(start: &BytesStart<'_>) -> String {
    start.local_name().as_ref().to_owned()
}

fn attributes(start: &BytesStart<'_>) -> Map<String, Value> {
    let mut fields = Map::new();
    for attribute in start.attributes().flatten() {
        let value = quick_xml::escape::unescape(&attribute.value).map_or_else(
            |_| attribute.value.clone().into_owned(),
            |text| text.into_owned(),
        );
        fields.insert(
            attribute.key.local_name().as_ref().to_owned(),
            Value::String(value),
        );
    }
    fields
}

fn value(mut fields: Map<String, Value>, text: String) -> Value {
    let text = text.trim();
    if fields.is_empty() {
        return Value::String(text.to_owned());
    }
    if !text.is_empty() {
        add(&mut fields, TEXT.to_owned(), Value::String(text.to_owned()));
    }
    Value::Object(fields)
}

/// Adds a child; a name that repeats becomes a list.
fn add(fields: &mut Map<String, Value>, name: String, child: Value) {
    match fields.get_mut(&name) {
        None => {
            fields.insert(name, child);
        }
        Some(Value::Array(items)) => items.push(child),
        Some(other) => {
            let first = other.take();
            *other = Value::Array(vec![first, child]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn records(text: &str) -> Vec<Value> {
        let path = record_path(text.as_bytes()).unwrap().unwrap_or_default();
        XmlRecords::new(text.as_bytes(), path)
            .map(|record| record.unwrap())
            .collect()
    }

    #[test]
    fn the_elements_that_repeat_are_the_records() {
        let text = r#"<?xml version="1.0" encoding="utf-8"?>
            <client nom="Agence A"><contact><nom>x</nom></contact><annonces date="2026-03-07">
            <annonce id="1"><titre>T3 &amp; cave</titre><prix devise="EUR">250000</prix>
              <photos><photo>a.jpg</photo><photo>b.jpg</photo></photos><texte><![CDATA[65 m² <b>]]></texte></annonce>
            <annonce id="2"><titre>Maison &#233;</titre><prix/><!-- x --></annonce>
            </annonces></client>"#;
        assert_eq!(
            json!(records(text)),
            json!([
                {"id": "1", "titre": "T3 & cave", "prix": {"devise": "EUR", "text": "250000"},
                 "photos": {"photo": ["a.jpg", "b.jpg"]}, "texte": "65 m² <b>"},
                {"id": "2", "titre": "Maison é", "prix": ""},
            ])
        );
    }

    #[test]
    fn a_document_without_repeated_elements_has_no_records() {
        assert!(records("<a><b>1</b><b>2</b></a>").is_empty());
        assert!(records("<annonces/>").is_empty());
    }

    #[test]
    fn what_is_not_xml_is_an_error_with_its_place() {
        let error = record_path(&b"<a><b></a>"[..]).unwrap_err();
        assert!(error.starts_with("must be XML: byte "), "{error}");
        let cut = "<a><b><c>1</c></b><b><c>";
        let path = vec!["a".to_owned(), "b".to_owned()];
        let last = XmlRecords::new(cut.as_bytes(), path).last().unwrap();
        assert!(last.is_err());
    }
}
