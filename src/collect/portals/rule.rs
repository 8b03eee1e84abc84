//! A portal rule: the selector of a field, and how the text of the element becomes the field's value.

use scraper::{Html, Selector};
use serde_json::Value;

use super::value::{RuleSpec, ValueRule};
use toise_page::document::text_of;

/// Maximum number of matching elements in which a value is searched.
const FOUND_MAX: usize = 20;

/// A validated rule.
#[derive(Debug)]
pub struct PortalRule {
    value: ValueRule,
    selector: Selector,
    attribute: Option<String>,
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
    pub(super) fn new(written: &RuleSpec) -> Result<Self, String> {
        if let Some(key) = written.key_of_rows() {
            return Err(format!("{key}: is a key of mappings, not of pages"));
        }
        let value = ValueRule::new(written)?;
        let text = written.selector.as_deref();
        Ok(Self {
            selector: selector(text.ok_or("selector: is required")?)?,
            value,
            attribute: written.attribute.clone(),
        })
    }

    /// Returns the path of the field in an advert.
    pub fn path(&self) -> &str {
        &self.value.field.name
    }

    /// Returns the value on a page; `None` if it is missing or invalid for the field.
    pub fn find(&self, html: &Html) -> Option<Value> {
        html.select(&self.selector)
            .take(FOUND_MAX)
            .find_map(|element| {
                let text = match &self.attribute {
                    Some(attribute) => element.attr(attribute)?.to_owned(),
                    None => text_of(element),
                };
                if self.value.is_presence() {
                    return Some(Value::Bool(true));
                }
                self.value.read_text(&text)
            })
    }
}
