//! A page made tame: one linear pass that leaves well-formed HTML of bounded depth, without scripts, styles, comments.
//!
//! Browsers' rules for broken nesting cost time and memory that grow with the square of what a hostile page holds.
//! After this pass every element is closed in order, so the parser behind it never needs them: whatever the bytes, the
//! work is proportional to their number. It also takes away nine tenths of a usual page. JSON-LD is kept aside.

use std::borrow::Cow;

use memchr::{memchr, memmem};

/// Elements within each other that are kept; deeper ones leave only their text.
const DEPTH_MAX: usize = 128;
/// Open elements looked at for the one an end tag closes.
const SEARCH_MAX: usize = 128;
/// Open elements of text style (`b`, `a`, …) that are kept: the parser carries each into later paragraphs.
const STYLES_MAX: usize = 16;
/// Attributes of an element that are kept.
const ATTRIBUTES_MAX: usize = 64;
/// Elements of a page that are kept.
const ELEMENTS_MAX: usize = 50_000;
/// JSON-LD blocks of a page that are kept.
const JSON_LD_MAX: usize = 64;

const VOID: [&str; 14] = [
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source",
    "track", "wbr",
];
const STYLES: [&str; 14] = [
    "a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u",
];
/// Elements that leave with all they hold.
const LEAVING: [&str; 9] = [
    "script", "style", "svg", "math", "iframe", "select", "textarea", "noembed", "object",
];
/// Tags that leave, not what stands between them.
const BARE: [&str; 11] = [
    "html",
    "head",
    "body",
    "noscript",
    "template",
    "frameset",
    "frame",
    "noframes",
    "plaintext",
    "xmp",
    "listing",
];
/// Elements whose start ends an open paragraph.
const BLOCKS: [&str; 31] = [
    "address",
    "article",
    "aside",
    "blockquote",
    "center",
    "details",
    "dialog",
    "dir",
    "div",
    "dl",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "hgroup",
    "hr",
    "main",
    "nav",
    "ol",
    "p",
    "section",
    "table",
    "ul",
];
/// Where the search for an open element of a name ends: a cell closes nothing outside its table.
const FENCES: [&str; 5] = ["td", "th", "table", "caption", "button"];

/// A tame page.
#[derive(Debug, Default)]
pub struct Tidied<'h> {
    /// Well-formed HTML.
    pub html: String,
    /// Texts of the JSON-LD blocks.
    pub json_ld: Vec<&'h str>,
}

/// Makes a page tame; costs a few nanoseconds a byte.
pub fn tidy(html: &str) -> Tidied<'_> {
    let mut tidier = Tidier {
        html,
        at: 0,
        open: Vec::new(),
        styles: 0,
        elements: 0,
        tidied: Tidied::default(),
    };
    tidier.run();
    tidier.tidied
}

/// An element that is open.
struct Open<'h> {
    name: Cow<'h, str>,
    is_kept: bool,
}

/// A start tag as it was read.
struct Tag<'h> {
    name: Cow<'h, str>,
    attributes: Vec<(&'h str, &'h str)>,
    is_closed: bool,
}

struct Tidier<'h> {
    html: &'h str,
    at: usize,
    open: Vec<Open<'h>>,
    styles: usize,
    elements: usize,
    tidied: Tidied<'h>,
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

    /// Moves behind the next occurrence of a text, or to the end.
    fn skip_past(&mut self, from: usize, text: &str) {
        let found = memmem::find(
            &self.html.as_bytes()[from.min(self.html.len())..],
            text.as_bytes(),
        );
        self.at = found.map_or(self.html.len(), |offset| from + offset + text.len());
    }

    /// Reads the start tag here; `None` when the page ends within it.
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
            // An equals sign that begins a name belongs to it.
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
        if LEAVING.contains(&name) {
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
        self.open.push(Open {
            name: tag.name.clone(),
            is_kept,
        });
    }

    /// Leaves out an element with what it holds; JSON-LD is kept aside.
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

    /// The text up to an end tag of this name, which is skipped too.
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
            // A name no selector could ask for.
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

    /// Closes what the start of an element ends without saying so.
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

/// The name of a tag that begins here.
fn name_at(html: &str, start: usize) -> &str {
    let rest = html.get(start..).unwrap_or_default();
    let is_end =
        |c: char| c.is_ascii_whitespace() || matches!(c, '/' | '>' | '<' | '"' | '\'' | '=');
    &rest[..rest.find(is_end).unwrap_or(rest.len())]
}

fn lower(name: &str) -> Cow<'_, str> {
    match name.bytes().any(|byte| byte.is_ascii_uppercase()) {
        true => name.to_ascii_lowercase().into(),
        false => name.into(),
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
