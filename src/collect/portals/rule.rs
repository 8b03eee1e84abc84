//! A portal rule: the selector of a field, and how the text of the element becomes the field's value.

use std::collections::BTreeMap;

use scraper::{Html, Selector};
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::page::document::text_of;
use super::super::page::findings::fits;
use super::super::page::{french, page_kind};

/// Maximum elements that a selector may match before one has a value.
const FOUND_MAX: usize = 20;

/// How a text is converted to a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ValueFormat {
    /// The text itself.
    #[default]
    Text,
    /// An amount: `350 000 €`, `350 k€`.
    Amount,
    /// The first number.
    Number,
    /// A storey: `3e`, `RDC`, `3/5`.
    Floor,
    /// An energy class: `D`, `Classe D`.
    EnergyClass,
    /// A climate class.
    ClimateClass,
    /// True if the element exists.
    Presence,
}

/// A rule as written in its file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RuleSpec {
    path: String,
    selector: String,
    attribute: Option<String>,
    #[serde(default, rename = "as")]
    reading: ValueFormat,
    scale: Option<f64>,
    #[serde(default)]
    map: BTreeMap<String, String>,
}

/// A validated rule.
#[derive(Debug)]
pub struct PortalRule {
    /// Path of the field in an advert.
    pub path: String,
    selector: Selector,
    attribute: Option<String>,
    reading: ValueFormat,
    scale: f64,
    map: Vec<(String, String)>,
}

/// Parses a selector.
///
/// # Errors
///
/// A message that says what is wrong with it.
pub(super) fn selector(text: &str) -> Result<Selector, String> {
    Selector::parse(text).map_err(|error| format!("selector {text:?}: {error}"))
}

impl PortalRule {
    pub(super) fn new(written: RuleSpec) -> Result<Self, String> {
        let RuleSpec {
            path,
            selector: text,
            attribute,
            reading,
            scale,
            map,
        } = written;
        let scale = scale.unwrap_or(1.0);
        if !scale.is_finite() || scale <= 0.0 {
            return Err("scale: must be a number above 0".into());
        }
        if !fits(&path, &Value::Null) {
            return Err(format!(
                "path: {path:?} is not a field of an advert, such as \"habitation.surface.total\""
            ));
        }
        for value in map.values() {
            if !fits(&path, &json!(value)) {
                return Err(format!("map: {path} does not take {value:?}"));
            }
        }
        Ok(Self {
            selector: selector(&text)?,
            path,
            attribute,
            reading,
            scale,
            map: map
                .into_iter()
                .map(|(text, value)| (page_kind::phrase(&text), value))
                .collect(),
        })
    }

    /// The value on a page; `None` if it is missing or invalid for the field.
    pub fn find(&self, html: &Html) -> Option<Value> {
        html.select(&self.selector)
            .take(FOUND_MAX)
            .find_map(|element| {
                let text = match &self.attribute {
                    Some(attribute) => element.attr(attribute)?.to_owned(),
                    None => text_of(element),
                };
                self.value(&text).filter(|value| fits(&self.path, value))
            })
    }

    fn value(&self, text: &str) -> Option<Value> {
        if !self.map.is_empty() {
            let mapped = self
                .map
                .iter()
                .find(|(phrase, _)| page_kind::says(text, &[phrase]));
            return mapped.map(|(_, value)| json!(value));
        }
        let scaled = |number: Option<f64>| number.map(|number| json!(number * self.scale));
        match self.reading {
            ValueFormat::Text => (!text.trim().is_empty()).then(|| json!(text.trim())),
            ValueFormat::Amount => scaled(french::amount(text)),
            ValueFormat::Number => scaled(french::number(text)),
            ValueFormat::Floor => french::floor(text).map(|floor| json!(floor)),
            ValueFormat::EnergyClass => french::energy_class(text)
                .map(|class| json!(format!("ENERGY_CLASSIFICATION_{class}"))),
            ValueFormat::ClimateClass => french::energy_class(text)
                .map(|class| json!(format!("GREENHOUSE_CLASSIFICATION_{class}"))),
            ValueFormat::Presence => Some(json!(true)),
        }
    }
}
