//! Tidies a page in one linear pass: the result is well-formed HTML of limited depth, without scripts, styles and
//! comments.
//!
//! Browsers' rules for broken nesting take quadratic time and memory on a hostile page. After this pass every element
//! is closed in order, so the parser never applies these rules and its work is linear in the size of the page. The pass
//! also removes nine tenths of a typical page. JSON-LD is returned separately.

use std::borrow::Cow;

use memchr::{memchr, memmem};

/// Maximum depth of elements; deeper elements are reduced to their text.
const DEPTH_MAX: usize = 128;
/// Maximum open elements searched for the one that an end tag closes.
const SEARCH_MAX: usize = 128;
/// Maximum open formatting elements (`b`, `a`, …), because the parser repeats each in later paragraphs.
const STYLES_MAX: usize = 16;
/// Maximum attributes of an element.
const ATTRIBUTES_MAX: usize = 64;
/// Maximum elements of a page.
const ELEMENTS_MAX: usize = 50_000;
/// Maximum JSON-LD blocks of a page.
const JSON_LD_MAX: usize = 64;

const VOID: [&str; 14] = [
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source",
    "track", "wbr",
];
const STYLES: [&str; 14] = [
    "a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u",
];
/// Elements removed with their content.
const REMOVED_WITH_CONTENT: [&str; 9] = [
    "script", "style", "svg", "math", "iframe", "select", "textarea", "noembed", "object",
];
/// Elements whose tags are removed and whose content is kept.
const BARE: [&str; 11] = [
    "html", "head", "body", "noscript", "template", "frameset", "frame", "noframes", "plaintext",
    "xmp", "listing",
];
/// Elements whose start tag closes an open paragraph.
const BLOCKS: [&str; 31] = [
    "address", "article", "aside", "blockquote", "center", "details", "dialog", "dir", "div", "dl",
    "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6",
    "header", "hgroup", "hr", "main", "nav", "ol", "p", "section", "table", "ul",
];
/// Elements that end the search for an open element, because for example a cell closes nothing outside its table.
const FENCES: [&str; 5] = ["td", "th", "table", "caption", "button"];

/// A tidied page.
#[derive(Debug, Default)]
pub struct TidyPage<'h> {
    /// Well-formed HTML.
    pub html: String,
    /// Texts of the JSON-LD blocks.
    pub json_ld: Vec<&'h str>,
}

/// Tidies a page; takes a few nanoseconds per byte.
pub fn tidy(html: &str) -> TidyPage<'_> {
    let mut tidier = Tidier {
        html,
        at: 0,
        open: Vec::new(),
        styles: 0,
        elements: 0,
        tidied: TidyPage::default(),
    };
    tidier.run();
    tidier.tidied
}

/// An open element.
struct OpenElement<'h> {
    name: Cow<'h, str>,
    is_kept: bool,
}

/// A parsed start tag.
struct Tag<'h> {
    name: Cow<'h, str>,
    attributes: Vec<(&'h str, &'h str)>,
    is_closed: bool,
}

struct Tidier<'h> {
    html: &'h str,
    at: usize,
    open: Vec<OpenElement<'h>>,
    styles: usize,
    elements: usize,
    tidied: TidyPage<'h>,
}

impl<'h> Tidier<'h> {
    fn run(&mut self) {
        let bytes = self.html.as_bytes();
        while self.elements < ELEMENTS_MAX {
            let Some(offset) = memchr(b'<', &bytes[self.at..]) else {
                self.tidied.html.push_str(&self.html[self.at..]);
                break;
            };
            let tag = self.at + offset;
            self.tidied.html.push_str(&self.html[self.at..tag]);
            self.at = tag;
            match (bytes.get(tag + 1), bytes.get(tag + 2)) {
                (Some(b'!'), _) if self.html[tag..].starts_with("<!--") => {
                    self.skip_past(tag + 4, "-->");
                }
                (Some(b'!' | b'?'), _) => self.skip_past(tag, ">"),
                (Some(b'/'), Some(letter)) if letter.is_ascii_alphabetic() => {
                    let name = lower(name_at(self.html, tag + 2));
                    self.skip_past(tag, ">");
                    self.end(&name);
                }
                (Some(letter), _) if letter.is_ascii_alphabetic() => {
                    let Some(read) = self.read_tag() else { break };
                    self.start(&read);
                }
                _ => {
                    self.tidied.html.push_str("&lt;");
                    self.at += 1;
                }
            }
        }
        self.close_to(0);
    }

    /// Moves past the next occurrence of a text, or to the end.
    fn skip_past(&mut self, from: usize, text: &str) {
        let found = memmem::find(
            &self.html.as_bytes()[from.min(self.html.len())..],
            text.as_bytes(),
        );
        self.at = found.map_or(self.html.len(), |offset| from + offset + text.len());
    }

    /// Parses the start tag at the current position; `None` if the page ends within it.
    fn read_tag(&mut self) -> Option<Tag<'h>> {
        let (html, bytes) = (self.html, self.html.as_bytes());
        let name = name_at(html, self.at + 1);
        let mut at = self.at + 1 + name.len();
        let mut tag = Tag {
            name: lower(name),
            attributes: Vec::new(),
            is_closed: false,
        };
        loop {
            at = skip_space(bytes, at);
            match *bytes.get(at)? {
                b'>' => break,
                b'/' => {
                    tag.is_closed = bytes.get(at + 1) == Some(&b'>');
                    at += 1;
                    continue;
                }
                _ => {}
            }
            let key_start = at;
            // An equals sign at the start of an attribute's name belongs to the name.
            at += 1;
            while !matches!(*bytes.get(at)?, b'=' | b'>' | b'/') && !bytes[at].is_ascii_whitespace()
            {
                at += 1;
            }
            let key = html.get(key_start..at).unwrap_or_default();
            let mut value = "";
            let equals = skip_space(bytes, at);
            if bytes.get(equals) == Some(&b'=') {
                at = skip_space(bytes, equals + 1);
                let first = *bytes.get(at)?;
                if first == b'"' || first == b'\'' {
                    let length = memchr(first, &bytes[at + 1..])?;
                    value = &html[at + 1..at + 1 + length];
                    at += length + 2;
                } else {
                    let value_start = at;
                    while *bytes.get(at)? != b'>' && !bytes[at].is_ascii_whitespace() {
                        at += 1;
                    }
                    value = &html[value_start..at];
                }
            }
            if tag.attributes.len() < ATTRIBUTES_MAX {
                tag.attributes.push((key, value));
            }
        }
        self.at = at + 1;
        Some(tag)
    }

    fn start(&mut self, tag: &Tag<'h>) {
        let name = tag.name.as_ref();
        if BARE.contains(&name) {
            return;
        }
        if REMOVED_WITH_CONTENT.contains(&name) {
            self.leave(tag);
            return;
        }
        if name == "title" {
            let text = self.raw_text(name);
            let escaped = text.replace('<', "&lt;");
            self.write_start(tag);
            self.tidied.html.push_str(&escaped);
            self.tidied.html.push_str("</title>");
            return;
        }
        self.close_implied(name);
        let is_style = STYLES.contains(&name);
        let is_kept = self.open.len() < DEPTH_MAX && (!is_style || self.styles < STYLES_MAX);
        if is_kept {
            self.write_start(tag);
        }
        if VOID.contains(&name) {
            return;
        }
        self.styles += usize::from(is_style && is_kept);
        self.open.push(OpenElement {
            name: tag.name.clone(),
            is_kept,
        });
    }

    /// Skips an element with its content, but keeps JSON-LD.
    fn leave(&mut self, tag: &Tag<'h>) {
        let is_closed = tag.is_closed && matches!(tag.name.as_ref(), "svg" | "math");
        if is_closed {
            return;
        }
        let text = self.raw_text(&tag.name);
        let is_json_ld = tag.attributes.iter().any(|(key, value)| {
            let media_type = value.split(';').next().unwrap_or_default().trim();
            key.eq_ignore_ascii_case("type")
                && media_type.eq_ignore_ascii_case("application/ld+json")
        });
        if is_json_ld && self.tidied.json_ld.len() < JSON_LD_MAX {
            self.tidied.json_ld.push(text);
        }
    }

    /// Returns the text up to the end tag with this name, and skips the tag.
    fn raw_text(&mut self, name: &str) -> &'h str {
        let (html, start) = (self.html, self.at);
        let mut from = start;
        while let Some(offset) = memmem::find(&html.as_bytes()[from..], b"</") {
            let end = from + offset;
            if name_at(html, end + 2).eq_ignore_ascii_case(name) {
                self.skip_past(end, ">");
                return &html[start..end];
            }
            from = end + 2;
        }
        self.at = html.len();
        &html[start..]
    }

    fn write_start(&mut self, tag: &Tag<'_>) {
        self.elements += 1;
        let out = &mut self.tidied.html;
        out.push('<');
        out.push_str(&tag.name);
        for (key, value) in &tag.attributes {
            // No selector can match an attribute with such a name.
            if key.contains(['"', '\'', '<']) {
                continue;
            }
            out.push(' ');
            out.push_str(key);
            out.push_str("=\"");
            out.push_str(&escape_quotes(value));
            out.push('"');
        }
        out.push('>');
    }

    /// Closes the elements that a start tag closes implicitly.
    fn close_implied(&mut self, name: &str) {
        let (ended, fences): (&[&str], &[&str]) = match name {
            "li" => (&["li"], &["ul", "ol"]),
            "dd" | "dt" => (&["dd", "dt"], &["dl"]),
            "td" | "th" => (&["td", "th"], &["tr", "table"]),
            "tr" => (&["tr"], &["table"]),
            "tbody" | "thead" | "tfoot" => (&["tbody", "thead", "tfoot", "tr"], &["table"]),
            _ if BLOCKS.contains(&name) => (&["p"], &FENCES),
            _ => return,
        };
        let from = self.open.len().saturating_sub(SEARCH_MAX);
        let mut outermost = None;
        for place in (from..self.open.len()).rev() {
            let open = self.open[place].name.as_ref();
            if ended.contains(&open) {
                outermost = Some(place);
            } else if fences.contains(&open) {
                break;
            }
        }
        if let Some(place) = outermost {
            self.close_to(place);
        }
    }

    fn end(&mut self, name: &str) {
        let from = self.open.len().saturating_sub(SEARCH_MAX);
        for place in (from..self.open.len()).rev() {
            let open = self.open[place].name.as_ref();
            if open == name {
                self.close_to(place);
                return;
            }
            let is_of_table = matches!(name, "table" | "tr" | "tbody" | "thead" | "tfoot");
            if FENCES.contains(&open) && !is_of_table {
                return;
            }
        }
    }

    fn close_to(&mut self, place: usize) {
        while self.open.len() > place {
            let Some(open) = self.open.pop() else { return };
            if open.is_kept {
                self.tidied.html.push_str("</");
                self.tidied.html.push_str(&open.name);
                self.tidied.html.push('>');
                self.styles -= usize::from(STYLES.contains(&open.name.as_ref()));
            }
        }
    }
}

/// Returns the name of the tag that starts here.
fn name_at(html: &str, start: usize) -> &str {
    let rest = html.get(start..).unwrap_or_default();
    let is_end =
        |c: char| c.is_ascii_whitespace() || matches!(c, '/' | '>' | '<' | '"' | '\'' | '=');
    &rest[..rest.find(is_end).unwrap_or(rest.len())]
}

fn lower(name: &str) -> Cow<'_, str> {
    if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
        name.to_ascii_lowercase().into()
    } else {
        name.into()
    }
}

fn skip_space(bytes: &[u8], mut at: usize) -> usize {
    while bytes.get(at).is_some_and(u8::is_ascii_whitespace) {
        at += 1;
    }
    at
}

fn escape_quotes(value: &str) -> Cow<'_, str> {
    match memchr(b'"', value.as_bytes()) {
        Some(_) => value.replace('"', "&quot;").into(),
        None => value.into(),
    }
}

#[cfg(test)]
mod tests;
