//! Walks a tidied page once and collects its `meta` elements, headings, microdata and visible text.
//!
//! The text excludes parts of the page that are not about its listing (`blocks`). The cards in the text (`cards`) tell
//! a page of many listings from the page of one.

use scraper::{ElementRef, Html};
use serde_json::{Map, Value, json};

use super::blocks::{self, BlockKind};
use super::cards::Cards;
use super::french::energy::ACTIVE;

/// Maximum length of a page's text that is read, bytes.
const TEXT_BYTES_MAX: usize = 60_000;
/// Maximum length of one microdata value, bytes.
const VALUE_BYTES_MAX: usize = 20_000;
/// Maximum number of names under which one microdata property is read.
const NAMES_MAX: usize = 8;
/// Maximum size of all microdata values of a page, bytes; a nested value counts once for each enclosing one, too.
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

/// Elements that change the look of letters within a word or a unit.
const FORMATTING: [&str; 11] = [
    "a", "b", "em", "font", "i", "mark", "small", "strong", "sub", "sup", "u",
];
/// Maximum number of images and styles with a class that are read.
const DRAWN_MAX: usize = 50;

/// The content of a page.
#[derive(Debug, Default)]
pub struct PageDocument {
    /// `property` or `name` of `meta` elements, in lower case, with their `content`.
    pub metas: Vec<(String, String)>,
    /// Text of `title`.
    pub title: String,
    /// Text of the first heading.
    pub heading: String,
    /// Text of the first heading of the second rank.
    pub subheading: String,
    /// Microdata items as nodes, in the same format as JSON-LD.
    pub items: Vec<Value>,
    /// Visible text about the listing, one line per block element.
    pub text: String,
    /// The cards of listings in the text.
    pub cards: Cards,
    /// Visible text of the whole page, including the parts about the site, the agency and other listings.
    pub whole_text: String,
    /// The breadcrumb: the path of the page in its site, one line per step.
    pub breadcrumb: String,
    /// The canonical URL that the page declares; empty if it declares none.
    pub canonical: String,
    /// Whether it contains a password field.
    pub asks_password: bool,
    /// Language that the page declares, as in `fr-FR`, in lower case; empty if it declares none.
    pub language: String,
}

/// Walks a page. Recursion is bounded, because a tidied page has a limited depth.
pub fn walk(html: &Html) -> PageDocument {
    let mut walker = Walker::default();
    let root = BlockContext {
        is_read: true,
        is_similar: false,
        in_main: false,
    };
    walker.element(html.root_element(), root);
    walker.write_drawn();
    let mut document = walker.document;
    let declared = html.root_element().attr("lang");
    let declared = declared.filter(|language| !language.trim().is_empty());
    let declared = declared.or_else(|| document.meta(&["og:locale"]));
    document.language = declared.unwrap_or_default().trim().to_ascii_lowercase();
    if walker.main.len() >= MAIN_BYTES_MIN {
        document.text = walker.main;
        document.cards = walker.main_cards;
    } else if document.text.len() < MAIN_BYTES_MIN {
        // Too little text is left, so the classes were misleading: uses the whole text.
        document.text.clone_from(&document.whole_text);
    }
    if document.canonical.is_empty() {
        document.canonical = document.meta(&["og:url"]).unwrap_or_default().to_owned();
    }
    document
}

impl PageDocument {
    /// Returns the content of the `meta` element with the first of these names that the page has.
    pub fn meta(&self, names: &[&str]) -> Option<&str> {
        let find = |name: &&str| self.metas.iter().find(|(found, _)| found == name);
        let (_, content) = names.iter().find_map(find)?;
        Some(content)
    }

    /// Returns the title and the first heading.
    pub fn headings(&self) -> [&str; 2] {
        [&self.title, &self.heading]
    }
}

/// Which part of the page an element is in.
#[derive(Clone, Copy)]
struct BlockContext {
    /// Whether its text is about the listing.
    is_read: bool,
    /// Whether it is about other listings.
    is_similar: bool,
    in_main: bool,
}

#[derive(Default)]
struct Walker {
    document: PageDocument,
    main: String,
    main_cards: Cards,
    links: usize,
    headings: usize,
    items: usize,
    value_bytes: usize,
    /// Labels and letters of images and styles that show a class.
    drawn: Vec<(&'static str, char)>,
}

impl Walker {
    /// Walks an element. If it ends with a heading of other listings or of the agency, so that what follows belongs to
    /// that heading, returns the rank of the heading.
    fn element(&mut self, element: ElementRef<'_>, context: BlockContext) -> Option<u8> {
        let name = element.value().name();
        if self.is_read_whole(element) {
            return None;
        }
        if element.attr("itemscope").is_some()
            && element.attr("itemprop").is_none()
            && !context.is_similar
            && self.items < ITEMS_MAX
        {
            let item = self.item(element);
            self.document.items.push(item);
        }
        let mut context = self.context(element, context);
        context.in_main |= name == "main";
        let is_block = !INLINE.contains(&name);
        let starts = (self.document.text.len(), self.main.len(), self.links);
        let headings = self.headings;
        let is_link = name == "a" && element.attr("href").is_some();
        self.links += usize::from(is_link || element.attr("onclick").is_some());
        if is_block {
            self.write("\n", context);
        }
        if context.is_read {
            if blocks::is_active_letter(element) {
                self.write(ACTIVE.encode_utf8(&mut [0; 4]), context);
            }
            if self.drawn.len() < DRAWN_MAX {
                let drawn = if name == "img" {
                    blocks::letter_image(element)
                } else {
                    blocks::letter_class(element)
                };
                self.drawn.extend(drawn);
            }
        }
        let foreign = self.children(element, context);
        // An element that contains the main heading is the listing itself, not a card.
        let may_be_card = (is_block || is_link) && self.headings == headings;
        if context.is_read && may_be_card && self.links > starts.2 {
            self.document.cards.add(&self.document.text, starts.0);
            if context.in_main {
                self.main_cards.add(&self.main, starts.1);
            }
        }
        if is_block {
            self.write("\n", context);
        }
        let is_main_heading = name == "h1" && self.headings == 1;
        let may_be_foreign = context.is_read && !is_main_heading;
        let own = may_be_foreign.then(|| blocks::foreign_heading(element));
        own.flatten().or(foreign)
    }

    /// Reads an element that is not walked: `meta`, `link` and `title`. Also records main headings and password fields.
    fn is_read_whole(&mut self, element: ElementRef<'_>) -> bool {
        let content = |key: &str| element.attr(key).unwrap_or_default();
        match element.value().name() {
            "meta" => {
                let key = element.attr("property").or(element.attr("name"));
                if let Some(key) = key {
                    self.document
                        .metas
                        .push((key.to_ascii_lowercase(), content("content").to_owned()));
                }
                return true;
            }
            "link" if content("rel").eq_ignore_ascii_case("canonical") => {
                self.document.canonical = content("href").to_owned();
                return true;
            }
            "title" if self.document.title.is_empty() => {
                self.document.title = text_of(element);
                return true;
            }
            "h1" => {
                self.headings += 1;
                if self.document.heading.is_empty() {
                    self.document.heading = text_of(element);
                }
            }
            "h2" if self.document.subheading.is_empty() => {
                self.document.subheading = text_of(element);
            }
            "input" if content("type").eq_ignore_ascii_case("password") => {
                self.document.asks_password = true;
            }
            _ => {}
        }
        false
    }

    /// Returns the context of the content of an element.
    fn context(&mut self, element: ElementRef<'_>, outer: BlockContext) -> BlockContext {
        let mut inner = outer;
        inner.is_read &= !SITE.contains(&element.value().name())
            && element.attr("hidden").is_none()
            && !blocks::is_transparent_letter(element);
        let is_classed = element.attr("class").is_some() || element.attr("id").is_some();
        if !(is_classed || element.value().name() == "header") {
            return inner;
        }
        match blocks::kind(element) {
            BlockKind::Content => {}
            BlockKind::Site => inner.is_read = false,
            BlockKind::Similar => {
                inner.is_read = false;
                inner.is_similar = true;
            }
            BlockKind::Breadcrumb => {
                if self.document.breadcrumb.is_empty() {
                    self.document.breadcrumb = lines_of(element);
                }
                inner.is_read = false;
            }
        }
        inner
    }

    /// Walks the children of an element. What follows a heading of other listings or of the agency is not read, up to
    /// the next heading of its rank or higher. Returns the rank of such a heading if it is the last child.
    fn children(&mut self, element: ElementRef<'_>, context: BlockContext) -> Option<u8> {
        let mut foreign: Option<u8> = None;
        let mut is_last = false;
        for child in element.children() {
            if let Some(inner) = ElementRef::wrap(child) {
                let rank = blocks::heading_rank(inner);
                let ends = foreign.is_some_and(|foreign| rank.is_some_and(|rank| rank <= foreign));
                if ends || foreign.is_some() && blocks::has_main_heading(inner) {
                    foreign = None;
                }
                let mut within = context;
                within.is_read &= foreign.is_none();
                within.is_similar |= foreign.is_some();
                is_last = false;
                if self.touches(inner, within) {
                    self.write(" ", within);
                }
                let found = self.element(inner, within);
                if found.is_some() && context.is_read {
                    foreign = found;
                    is_last = true;
                }
                if has_inline_neighbour(inner) {
                    self.write(" ", within);
                }
            } else if let Some(text) = child.value().as_text() {
                let mut within = context;
                within.is_read &= foreign.is_none();
                self.write(&collapsed(text), within);
            }
        }
        foreign.filter(|_| is_last)
    }

    /// Returns whether the digits of an inline element would continue the word before it, as in
    /// `Charges<span>100 €</span>`; not `T<b>3</b>`.
    fn touches(&self, element: ElementRef<'_>, context: BlockContext) -> bool {
        let mut last = self.document.text.chars().rev();
        let is_word = (0..2).all(|_| last.next().is_some_and(char::is_alphabetic));
        let is_label = !matches!(element.value().name(), "sup" | "sub");
        let first = || element.text().next().and_then(|text| text.chars().next());
        context.is_read && is_word && is_label && first().is_some_and(|c| c.is_ascii_digit())
    }

    /// Adds the classes that images and styles show, where all of a label show the same one.
    fn write_drawn(&mut self) {
        let drawn = std::mem::take(&mut self.drawn);
        let context = BlockContext {
            is_read: true,
            is_similar: false,
            in_main: true,
        };
        for label in [blocks::ENERGY_LABEL, blocks::CLIMATE_LABEL] {
            let mut letters = drawn.iter().filter(|(of, _)| *of == label);
            if let Some((_, letter)) = letters.next()
                && letters.all(|(_, other)| other == letter)
            {
                self.write(&format!("\n{label} : {letter}\n"), context);
            }
        }
    }

    fn write(&mut self, text: &str, context: BlockContext) {
        append(&mut self.document.whole_text, text, TEXT_BYTES_MAX);
        if !context.is_read {
            return;
        }
        append(&mut self.document.text, text, TEXT_BYTES_MAX);
        if context.in_main {
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
                // Items that are not a property of another item are found by the walk itself.
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
            // Nested items with several names would multiply at every level.
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

/// Returns the value of a microdata property: the attribute that holds it for this element, otherwise the text of the
/// element.
fn value_of(element: ElementRef<'_>) -> String {
    let value = element
        .attr("content")
        .or_else(|| match element.value().name() {
            "a" | "area" | "link" => element.attr("href"),
            "img" | "audio" | "video" | "source" | "embed" => element.attr("src"),
            "time" => element.attr("datetime"),
            "data" | "meter" => element.attr("value"),
            _ => None,
        });
    match value {
        Some(value) => value[..value.floor_char_boundary(VALUE_BYTES_MAX)].to_owned(),
        None => text_of(element),
    }
}

/// Returns the text of an element and its descendants. Spans and blocks stand apart, as pages show them by their style.
pub fn text_of(element: ElementRef<'_>) -> String {
    let mut text = String::new();
    for node in element.descendants() {
        if let Some(piece) = node.value().as_text() {
            append(&mut text, piece, VALUE_BYTES_MAX);
        } else if let Some(inner) = ElementRef::wrap(node)
            && inner != element
            && !FORMATTING.contains(&inner.value().name())
            && !inner.text().next().is_some_and(continues_number)
        {
            append(&mut text, " ", VALUE_BYTES_MAX);
        }
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns whether a text begins with decimals: `650<span>,50</span> €`.
fn continues_number(text: &str) -> bool {
    let rest = text.strip_prefix([',', '.']);
    rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// Returns the text nodes of an element, one per line.
fn lines_of(element: ElementRef<'_>) -> String {
    let mut text = String::new();
    for piece in element
        .text()
        .map(str::trim)
        .filter(|piece| !piece.is_empty())
    {
        append(&mut text, piece, VALUE_BYTES_MAX);
        append(&mut text, "\n", VALUE_BYTES_MAX);
    }
    text
}

/// Returns whether another inline element follows an inline element directly: pages separate a label from its value
/// only by their style, as in `<span>Chambres</span><span>3</span>`.
fn has_inline_neighbour(element: ElementRef<'_>) -> bool {
    let next = element.next_sibling().and_then(ElementRef::wrap);
    INLINE.contains(&element.value().name())
        && next.is_some_and(|next| !matches!(next.value().name(), "sup" | "sub"))
}

/// Collapses each run of ASCII white space to one space, as browsers do: a line break of the source is not a line break
/// of the page. Non-breaking spaces that group digits are kept.
fn collapsed(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if !character.is_ascii_whitespace() {
            shown.push(character);
        } else if !shown.ends_with(' ') {
            shown.push(' ');
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
