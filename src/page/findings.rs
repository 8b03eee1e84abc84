//! Collects the values found on a page, field by field, each with its origin.
//!
//! Sources are read in order of trust, and the first value of a field is kept. A value that the contract does not
//! accept is ignored, so an advert made from findings is always valid.

use std::borrow::Cow;
use std::collections::BTreeMap;

use scraper::Html;
use serde::Serialize;
use serde_json::{Map, Value, json};

use toise_contract::listings::Advert;
use toise_contract::read::{TEXT_BYTES_MAX, read};

toise_base::named! {
    /// Where on a page a field was found, most trusted first.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum FieldOrigin {
        /// A selector in the portal's file.
        Portal = "portal",
        /// A JSON-LD block.
        JsonLd = "json-ld",
        /// Microdata attributes.
        Microdata = "microdata",
        /// OpenGraph and other `meta` elements.
        OpenGraph = "open-graph",
        /// A script or a `data-` attribute, such as those for a map.
        Script = "script",
        /// Visible text.
        Text = "text",
    }
}

/// A value with its origin.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// The value as in an advert.
    pub value: Value,
    /// Its origin.
    pub origin: FieldOrigin,
}

/// The fields of an advert, by path (`habitation.surface.total`).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PageFindings {
    fields: BTreeMap<String, Finding>,
}

impl PageFindings {
    /// Adds a value, unless the field already has one or does not accept it.
    pub fn put(&mut self, path: &str, value: impl Into<Value>, origin: FieldOrigin) {
        let value = clean(value.into());
        if self.has(path) || is_empty(&value) || !fits(path, &value) {
            return;
        }
        self.fields
            .insert(path.to_owned(), Finding { value, origin });
    }

    /// Adds a value, unless it is `None`.
    pub fn set_optional(
        &mut self,
        path: &str,
        value: Option<impl Into<Value>>,
        origin: FieldOrigin,
    ) {
        if let Some(value) = value {
            self.put(path, value, origin);
        }
    }

    /// Removes the value of a field, and returns it.
    pub fn remove(&mut self, path: &str) -> Option<Finding> {
        self.fields.remove(path)
    }

    /// Records that the price is available on request only.
    pub fn set_price_on_request(&mut self, origin: FieldOrigin) {
        let value = Value::Null;
        let finding = Finding { value, origin };
        self.fields.entry(PRICE.to_owned()).or_insert(finding);
    }

    /// Returns whether a field has a value.
    pub fn has(&self, path: &str) -> bool {
        self.fields.contains_key(path)
    }

    /// Returns the value of a field.
    pub fn get(&self, path: &str) -> Option<&Value> {
        self.fields.get(path).map(|finding| &finding.value)
    }

    /// Returns whether the rules of the portal gave the value of a field.
    pub fn is_of_portal(&self, path: &str) -> bool {
        let found = self.fields.get(path);
        found.is_some_and(|finding| finding.origin == FieldOrigin::Portal)
    }

    /// Returns all fields, sorted by path.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Finding)> {
        self.fields
            .iter()
            .map(|(path, finding)| (path.as_str(), finding))
    }

    /// Returns the findings as an advert in JSON.
    pub fn advert(&self) -> Map<String, Value> {
        let mut advert = Map::new();
        for (path, finding) in &self.fields {
            set(&mut advert, path, finding.value.clone());
        }
        advert
    }
}

/// Path of the price, the only field for which null has a meaning.
pub const PRICE: &str = "currentPrice.value";

/// Returns whether the contract's advert accepts a value at a path. Takes one or two microseconds.
pub fn fits(path: &str, value: &Value) -> bool {
    let mut advert = Map::new();
    set(&mut advert, path, value.clone());
    read::<Advert>(&Value::Object(advert)).is_ok()
}

/// Normalises the white space of texts and truncates them to the limit of a record.
pub fn clean(value: Value) -> Value {
    match value {
        Value::String(text) => {
            let mut text = tidy_text(&text);
            if text.len() > TEXT_BYTES_MAX {
                text.truncate(text.floor_char_boundary(TEXT_BYTES_MAX));
            }
            json!(text)
        }
        other => other,
    }
}

/// Collapses runs of white space to one space, or to one line break if they contain one. Removes markup from a text,
/// escaped or not, because portals put it into JSON-LD.
pub fn tidy_text(text: &str) -> String {
    let plain = if text.contains(['&', '<']) {
        without_markup(text).into()
    } else {
        Cow::Borrowed(text)
    };
    let mut tidy = String::with_capacity(plain.len());
    let mut gap: Option<char> = None;
    for character in plain.chars() {
        if character.is_whitespace() || character.is_control() {
            let breaks = character == '\n' || gap == Some('\n');
            gap = Some(if breaks { '\n' } else { ' ' });
            continue;
        }
        if let Some(gap) = gap.take().filter(|_| !tidy.is_empty()) {
            tidy.push(gap);
        }
        tidy.push(character);
    }
    tidy
}

/// Maximum number of times that a text is unescaped, because some portals escape their HTML twice.
const ESCAPES_MAX: usize = 2;

fn without_markup(text: &str) -> String {
    let mut plain = text.to_owned();
    for _ in 0..ESCAPES_MAX {
        if !plain.contains('&') {
            break;
        }
        plain = decoded(&plain);
    }
    without_tags(&plain)
}

/// Decodes the HTML entities of a text once, by the parser's table.
fn decoded(text: &str) -> String {
    let escaped = text.replace('<', "&lt;");
    Html::parse_fragment(&escaped)
        .root_element()
        .text()
        .collect()
}

fn without_tags(plain: &str) -> String {
    let mut kept = String::with_capacity(plain.len());
    let mut rest = plain;
    while let Some(start) = rest.find('<') {
        let tag = rest[start + 1..].trim_start_matches('/');
        let length = rest[start..].find('>');
        match length {
            Some(length) if tag.starts_with(|c: char| c.is_ascii_alphabetic()) => {
                kept.push_str(&rest[..start]);
                kept.push('\n');
                rest = &rest[start + length + 1..];
            }
            _ => {
                kept.push_str(&rest[..=start]);
                rest = &rest[start + 1..];
            }
        }
    }
    kept.push_str(rest);
    kept
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

/// Sets a value at a path of nested objects.
fn set(object: &mut Map<String, Value>, path: &str, value: Value) {
    match path.split_once('.') {
        None => drop(object.insert(path.to_owned(), value)),
        Some((key, rest)) => {
            let inner = object.entry(key).or_insert_with(|| json!({}));
            if let Value::Object(inner) = inner {
                set(inner, rest, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_source_wins_and_invalid_values_are_ignored() {
        let mut findings = PageFindings::default();
        findings.put("location.postalCode", "7501", FieldOrigin::JsonLd);
        findings.put("location.postalCode", "75011", FieldOrigin::Microdata);
        findings.put("location.postalCode", "69003", FieldOrigin::Text);
        findings.put("habitation.roomCount", 2.5, FieldOrigin::JsonLd);
        let title = "  T3 \u{a0} Paris \n\n centre ";
        findings.put("title", title, FieldOrigin::OpenGraph);
        findings.put("flx", 1, FieldOrigin::Text);
        assert_eq!(findings.get("location.postalCode"), Some(&json!("75011")));
        assert_eq!(
            Value::Object(findings.advert()),
            json!({"location": {"postalCode": "75011"}, "title": "T3 Paris\ncentre"})
        );
    }

    #[test]
    fn texts_lose_their_entities_and_markup_however_often_they_were_escaped() {
        let twice = "Loyer : 1 500 &amp;euro; cc&lt;br /&gt;Libre";
        for (written, expected) in [
            ("Vente 3&nbsp;pi&egrave;ces", "Vente 3 pièces"),
            ("BALCON &#8211; CLIM", "BALCON – CLIM"),
            ("L&#039;appartement &amp; cave", "L'appartement & cave"),
            (twice, "Loyer : 1 500 € cc\nLibre"),
            ("Studio 20 m&sup2; < 500 €", "Studio 20 m² < 500 €"),
            ("R&D et A & B", "R&D et A & B"),
        ] {
            assert_eq!(tidy_text(written), expected, "{written}");
        }
    }

    #[test]
    fn a_price_on_request_is_recorded_and_a_number_takes_precedence() {
        let mut findings = PageFindings::default();
        findings.set_price_on_request(FieldOrigin::Text);
        assert_eq!(
            Value::Object(findings.advert()),
            json!({"currentPrice": {"value": null}})
        );
        let mut findings = PageFindings::default();
        findings.put(PRICE, 250_000, FieldOrigin::JsonLd);
        findings.set_price_on_request(FieldOrigin::Text);
        assert_eq!(findings.get(PRICE), Some(&json!(250_000)));
    }
}
