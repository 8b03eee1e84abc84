//! Reads the records of an XML document: the elements that are adverts, each as a JSON object.
//!
//! The document is read twice, to find the element that is the record (`xml_survey.rs`) and to read it, one record at a
//! time. In an object, an attribute is a field, a child is a field, a child that repeats is a list, and a leaf is its
//! text; the text of an element with attributes or children is the field `text`. If elements of several names are
//! records, the field `element` is the name. Entities of a document's own are not expanded.

#[path = "xml_names.rs"]
mod names;
#[path = "xml_survey.rs"]
mod survey;

use std::collections::HashSet;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek};

use quick_xml::Reader;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesStart, Event};
use serde_json::{Map, Value};
use toise_base::bounded::{RecordBound, RecordEnds};

use crate::form::SharedForm;
use survey::Survey;

/// Depth of elements that are read.
const DEPTH_MAX: usize = 64;
/// Field of the text of an element that has other fields.
const TEXT: &str = "text";
/// Field of the name of a record, if there are records of several names.
const ELEMENT: &str = "element";

/// The records of a document, in order.
pub struct XmlRecords<R> {
    events: Events<R>,
    /// Paths of the elements that are records, from the root.
    paths: HashSet<Vec<String>>,
    /// Path of the element that is being read.
    at: Vec<String>,
}

/// Reads the records of a document. `records` is the path of their element, from the root or from below it, with `*`
/// for any name; without it, the element is found. The element and the other contents of the document are noted in
/// `form`. Copies the document to a temporary file, because it is read twice. Blocks.
///
/// # Errors
/// The document cannot be copied, is not XML or is cut off, or has no records. An empty list of records is not an
/// error.
pub fn open(
    mut input: impl Read,
    records: Option<&str>,
    form: &SharedForm,
) -> Result<XmlRecords<BufReader<File>>, String> {
    let failed = |error: std::io::Error| error.to_string();
    let mut file = tempfile::tempfile().map_err(failed)?;
    std::io::copy(&mut input, &mut file).map_err(failed)?;
    file.rewind().map_err(failed)?;
    let found = Survey::read(BufReader::new(&file))?.records(records)?;
    file.rewind().map_err(failed)?;
    if !found.names.is_empty() {
        form.add_xml(&found.names);
    }
    if !found.not_read.is_empty() {
        form.add_note(format!("elements not read: {}", found.not_read));
    }
    Ok(XmlRecords::new(BufReader::new(file), found.paths))
}

impl<R: BufRead> XmlRecords<R> {
    fn new(text: R, paths: HashSet<Vec<String>>) -> Self {
        Self {
            events: Events::new(text),
            paths,
            at: Vec::new(),
        }
    }

    /// Reads the record whose start was read last.
    fn record(&mut self, is_closed: bool) -> Result<Value, String> {
        let mut fields = std::mem::take(&mut self.events.fields);
        if self.paths.len() > 1
            && let Some(name) = self.at.last()
        {
            fields.insert(ELEMENT.to_owned(), Value::String(name.clone()));
        }
        self.at.pop();
        let record = if is_closed {
            Ok(value(fields, String::new()))
        } else {
            self.events.element(fields, 0)
        };
        self.events.ends.mark();
        record
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
                Ok(Node::Start { name, is_closed }) => {
                    self.at.push(name);
                    if self.paths.contains(&self.at) {
                        return Some(self.record(is_closed));
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
        /// Whether the element has no content and no end of its own.
        is_closed: bool,
    },
    End,
    Text(String),
    Eof,
}

struct Events<R> {
    reader: Reader<BufReader<RecordBound<R>>>,
    ends: RecordEnds,
    buffer: Vec<u8>,
    /// Attributes of the element that began last.
    fields: Map<String, Value>,
}

impl<R: BufRead> Events<R> {
    fn new(text: R) -> Self {
        let (text, ends) = RecordBound::new(text);
        Self {
            reader: Reader::from_reader(BufReader::new(text)),
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
                        is_closed: false,
                    }
                }
                Event::Empty(start) => {
                    self.fields = attributes(&start);
                    Node::Start {
                        name: name(&start),
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
                Node::Start { name, is_closed } => {
                    let own = std::mem::take(&mut self.fields);
                    let child = if is_closed {
                        value(own, String::new())
                    } else {
                        self.element(own, depth + 1)?
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
        let records = open(text.as_bytes(), None, &SharedForm::default()).unwrap();
        records.map(|record| record.unwrap()).collect()
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
    fn records_of_several_names_are_read_in_order_and_reported() {
        let text = "<biens><vente><ref>1</ref><prix>2</prix><cp>34200</cp></vente><location><ref>2</ref><prix>3</prix>\
            <cp>34200</cp></location><vente><ref>3</ref><prix>4</prix><cp>34200</cp></vente><contact/></biens>";
        let form = SharedForm::default();
        let read = open(text.as_bytes(), None, &form).unwrap();
        let read: Vec<Value> = read.map(|record| record.unwrap()).collect();
        let of = |field: &str| {
            let values = read.iter().map(|record| record[field].as_str().unwrap());
            values.collect::<Vec<_>>()
        };
        assert_eq!(of("ref"), ["1", "2", "3"]);
        assert_eq!(of("element"), ["vente", "location", "vente"]);
        assert_eq!(
            form.found().to_string(),
            "xml: vente, location, elements not read: contact 1"
        );
    }

    #[test]
    fn an_empty_list_has_no_records() {
        assert!(records("<annonces/>").is_empty());
        assert!(
            open(
                &b"<a><b>1</b><b>2</b></a>"[..],
                None,
                &SharedForm::default()
            )
            .is_err()
        );
    }

    #[test]
    fn what_is_not_xml_is_an_error_with_its_place() {
        let error = open(&b"<a><b></a>"[..], None, &SharedForm::default());
        let error = error.err().unwrap();
        assert!(error.starts_with("must be XML: byte "), "{error}");
        for cut in ["<a><b><c>1</c></b><b><c>", "<a><b>1</b><b>2</b>\n"] {
            let error = open(cut.as_bytes(), None, &SharedForm::default());
            let expected = format!(
                "the file ends early, at byte {}, before its closing </a>; it looks cut off",
                cut.len()
            );
            assert_eq!(error.err().unwrap(), expected);
        }
        let cut = "<a><b><c>1</c></b><b><c>";
        let path = vec!["a".to_owned(), "b".to_owned()];
        let records = XmlRecords::new(cut.as_bytes(), HashSet::from([path]));
        assert!(records.last().unwrap().is_err());
    }
}
