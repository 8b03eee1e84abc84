//! Walks a tidied page once and collects its `meta` elements, headings, microdata and visible text.

use scraper::{ElementRef, Html};
use serde_json::{Map, Value, json};

/// Maximum length of a page's text that is read, bytes.
const TEXT_BYTES_MAX: usize = 60_000;
/// Maximum length of one microdata value, bytes.
const VALUE_BYTES_MAX: usize = 20_000;
/// Maximum number of names under which one microdata property is read.
const NAMES_MAX: usize = 8;
/// Maximum size of all microdata values of a page, bytes; a nested value counts for each enclosing one.
const VALUES_BYTES_MAX: usize = 1_000_000;
/// Maximum number of microdata items that are read.
const ITEMS_MAX: usize = 500;
/// Minimum length of the text in `main`, in bytes, for the rest of the page to be ignored.
const MAIN_BYTES_MIN: usize = 200;

/// Elements whose text belongs to the site, not to the listing.
const SITE: [&str; 5] = ["nav", "footer", "aside", "button", "head"];
/// Elements that do not start a new line.
const INLINE: [&str; 19] = [
    "a", "abbr", "b", "bdi", "cite", "code", "data", "em", "font", "i", "mark", "s", "small",
    "span", "strong", "sub", "sup", "time", "u",
];

/// The content of a page.
#[derive(Debug, Default)]
pub struct PageDocument {
    /// `property` or `name` of `meta` elements, in lower case, with their `content`.
    pub metas: Vec<(String, String)>,
    /// Text of `title`.
    pub title: String,
    /// Text of the first heading.
    pub heading: String,
    /// Microdata items as nodes, in the same format as JSON-LD.
    pub items: Vec<Value>,
    /// Visible text, one line per block element.
    pub text: String,
    /// Whether it contains a password field.
    pub asks_password: bool,
    /// Language that the page declares, as in `fr-FR`, in lower case; empty if it declares none.
    pub language: String,
}

/// Walks a page. Recursion is bounded, because a tidied page has a limited depth.
pub fn walk(html: &Html) -> PageDocument {
    let mut walker = Walker::default();
    walker.element(html.root_element(), true, false);
    let mut document = walker.document;
    let declared = html.root_element().attr("lang");
    let declared = declared.filter(|language| !language.trim().is_empty());
    let declared = declared.or_else(|| document.meta(&["og:locale"]));
    document.language = declared.unwrap_or_default().trim().to_ascii_lowercase();
    if walker.main.len() >= MAIN_BYTES_MIN {
        document.text = walker.main;
    }
    document
}

impl PageDocument {
    /// Returns the content of the `meta` element with the first of these names that the page has.
    pub fn meta(&self, names: &[&str]) -> Option<&str> {
        let find = |name: &&str| self.metas.iter().find(|(found, _)| found == name);
        names
            .iter()
            .find_map(find)
            .map(|(_, content)| content.as_str())
    }
}

#[derive(Default)]
struct Walker {
    document: PageDocument,
    main: String,
    items: usize,
    value_bytes: usize,
}

impl Walker {
    fn element(&mut self, element: ElementRef<'_>, is_read: bool, in_main: bool) {
        let name = element.value().name();
        let content = |key: &str| element.attr(key).unwrap_or_default();
        match name {
            "meta" => {
                let key = element.attr("property").or(element.attr("name"));
                if let Some(key) = key {
                    self.document
                        .metas
                        .push((key.to_ascii_lowercase(), content("content").to_owned()));
                }
                return;
            }
            "title" if self.document.title.is_empty() => {
                self.document.title = text_of(element);
                return;
            }
            "h1" if self.document.heading.is_empty() => self.document.heading = text_of(element),
            "input" if content("type").eq_ignore_ascii_case("password") => {
                self.document.asks_password = true
            }
            _ => {}
        }
        if element.attr("itemscope").is_some()
            && element.attr("itemprop").is_none()
            && self.items < ITEMS_MAX
        {
            let item = self.item(element);
            self.document.items.push(item);
        }
        let is_read = is_read && !SITE.contains(&name) && element.attr("hidden").is_none();
        let in_main = in_main || name == "main";
        let is_block = !INLINE.contains(&name);
        if is_block {
            self.write("\n", is_read, in_main);
        }
        for child in element.children() {
            if let Some(inner) = ElementRef::wrap(child) {
                self.element(inner, is_read, in_main);
            } else if let Some(text) = child.value().as_text() {
                self.write(&collapsed(text), is_read, in_main);
            }
        }
        if is_block {
            self.write("\n", is_read, in_main);
        }
    }

    fn write(&mut self, text: &str, is_read: bool, in_main: bool) {
        if !is_read {
            return;
        }
        append(&mut self.document.text, text, TEXT_BYTES_MAX);
        if in_main {
            append(&mut self.main, text, TEXT_BYTES_MAX);
        }
    }

    /// Returns a microdata item as a node: its type, and the value or values of each property.
    fn item(&mut self, element: ElementRef<'_>) -> Value {
        self.items += 1;
        let mut node = Map::new();
        let kinds: Vec<&str> = element
            .attr("itemtype")
            .unwrap_or_default()
            .split_whitespace()
            .collect();
        node.insert("@type".into(), json!(kinds));
        if let Some(id) = element.attr("itemid") {
            node.insert("@id".into(), json!(id));
        }
        self.properties(element, &mut node);
        Value::Object(node)
    }

    fn properties(&mut self, within: ElementRef<'_>, node: &mut Map<String, Value>) {
        for child in within.child_elements() {
            let is_item = child.attr("itemscope").is_some();
            let Some(names) = child.attr("itemprop") else {
                // An item that is not a property of another is found by the walk itself.
                if !is_item {
                    self.properties(child, node);
                }
                continue;
            };
            let value = if is_item && self.items < ITEMS_MAX {
                self.item(child)
            } else {
                self.properties(child, node);
                let value = value_of(child);
                self.value_bytes += value.len();
                json!(value)
            };
            if self.value_bytes >= VALUES_BYTES_MAX {
                return;
            }
            // Nested items with several names would double in number at every level.
            let names_max = if value.is_object() { 1 } else { NAMES_MAX };
            for name in names.split_whitespace().take(names_max) {
                match node.get_mut(name) {
                    None => drop(node.insert(name.to_owned(), value.clone())),
                    Some(Value::Array(values)) => values.push(value.clone()),
                    Some(one) => *one = json!([one.clone(), value.clone()]),
                }
            }
        }
    }
}

/// Returns the value of a microdata property: the attribute that holds it for this element, else the text of the
/// element.
fn value_of(element: ElementRef<'_>) -> String {
    let told = element
        .attr("content")
        .or_else(|| match element.value().name() {
            "a" | "area" | "link" => element.attr("href"),
            "img" | "audio" | "video" | "source" | "embed" => element.attr("src"),
            "time" => element.attr("datetime"),
            "data" | "meter" => element.attr("value"),
            _ => None,
        });
    match told {
        Some(told) => told[..told.floor_char_boundary(VALUE_BYTES_MAX)].to_owned(),
        None => text_of(element),
    }
}

/// Returns the text of an element and its descendants.
pub fn text_of(element: ElementRef<'_>) -> String {
    let mut text = String::new();
    for piece in element.text() {
        append(&mut text, piece, VALUE_BYTES_MAX);
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Collapses each run of ASCII white space to one space, as browsers do: a line break of the source is not a line break
/// of the page. Non-breaking spaces that group digits are kept.
fn collapsed(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        match character.is_ascii_whitespace() {
            true if shown.ends_with(' ') => {}
            true => shown.push(' '),
            false => shown.push(character),
        }
    }
    shown
}

fn append(text: &mut String, piece: &str, bytes_max: usize) {
    let room = bytes_max.saturating_sub(text.len());
    let piece = &piece[..piece.floor_char_boundary(room.min(piece.len()))];
    if piece == "\n" {
        text.truncate(text.trim_end_matches(' ').len());
    }
    let is_blank = piece == "\n" || piece == " ";
    let starts_line = text.is_empty() || text.ends_with('\n');
    if !(is_blank && starts_line) {
        text.push_str(piece);
    }
}
