//! Renders a page's Markdown as HTML, and reads its sections for the search.
//!
//! Links between files of the repository become links between pages; links to other files become plain text. Every
//! heading gets the identifier that code forges generate, so links to headings work in both places.

use std::collections::BTreeSet;

use pulldown_cmark::{BrokenLink, CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd, html};
use serde_json::{Value, json};

use super::{PAGES, Page, SCRIPT_NAME, STYLE_NAME};

/// Minimum number of headings below the title for a table of contents.
const CONTENTS_MIN: usize = 2;

/// A heading of a page.
struct Heading {
    level: HeadingLevel,
    /// Its identifier in the page.
    id: String,
    text: String,
}

/// Returns the whole HTML document of a page.
pub(super) fn document(page: &Page) -> String {
    let mut events = linked(page);
    let headings = name_headings(&mut events);
    let title = escaped(title(&headings));
    let contents = contents(&headings);
    let mut body = String::new();
    html::push_html(&mut body, events.into_iter());
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{title} · toise</title>\n\
         <link rel=\"icon\" href=\"data:,\">\n\
         <link rel=\"stylesheet\" href=\"{STYLE_NAME}\">\n<script src=\"{SCRIPT_NAME}\" defer></script>\n\
         </head>\n<body>\n<header><nav aria-label=\"Service\"><a href=\"./\">Guide</a>\
         <a href=\"../\">API reference</a><a href=\"../../console/\">Console</a></nav>\n\
         <div role=\"search\" hidden><input type=\"search\" \
         aria-label=\"Search the guide\" placeholder=\"Search the guide\" autocomplete=\"off\">\
         <div class=\"found\" hidden></div></div></header>\n\
         <div class=\"page\">\n{contents}<main>\n{body}</main>\n</div>\n</body>\n</html>\n"
    )
}

/// Returns the sections of a page for the search: for each heading, the page's name and title, the heading with its
/// identifier, and the text up to the next heading.
pub(super) fn sections(page: &Page) -> Vec<Value> {
    let mut events = linked(page);
    let headings = name_headings(&mut events);
    let mut texts: Vec<String> = Vec::new();
    let mut is_heading = false;
    for event in &events {
        match event {
            Event::Start(Tag::Heading { .. }) => {
                texts.push(String::new());
                is_heading = true;
            }
            Event::End(TagEnd::Heading(_)) => is_heading = false,
            _ if is_heading => {}
            event => {
                if let Some(text) = texts.last_mut() {
                    text.push_str(event_text(event).unwrap_or_else(|| separator(event)));
                }
            }
        }
    }
    let title = title(&headings);
    let sections = headings.iter().zip(&texts).map(|(heading, text)| {
        json!({
            "page": page.name,
            "title": title,
            "id": heading.id,
            "heading": heading.text,
            "text": text.trim_end(),
        })
    });
    sections.collect()
}

/// Returns what separates the words before and after an event that is not text.
fn separator(event: &Event<'_>) -> &'static str {
    match event {
        Event::SoftBreak
        | Event::HardBreak
        | Event::End(TagEnd::Paragraph | TagEnd::Item | TagEnd::TableCell | TagEnd::CodeBlock) => {
            " "
        }
        _ => "",
    }
}

/// Returns the text of the first heading.
fn title(headings: &[Heading]) -> &str {
    headings.first().map_or("", |heading| heading.text.as_str())
}

/// Returns the table of contents of a page: links to its headings of the second and third level; nothing for a page
/// with few of them.
fn contents(headings: &[Heading]) -> String {
    let listed = headings.iter().filter_map(|heading| {
        let class = match heading.level {
            HeadingLevel::H2 => "h2",
            HeadingLevel::H3 => "h3",
            _ => return None,
        };
        let (id, text) = (escaped(&heading.id), escaped(&heading.text));
        Some(format!(
            "<li class=\"{class}\"><a href=\"#{id}\">{text}</a></li>\n"
        ))
    });
    let listed: Vec<String> = listed.collect();
    if listed.len() < CONTENTS_MIN {
        return String::new();
    }
    format!(
        "<nav class=\"contents\" aria-label=\"On this page\">\n<details open>\n<summary>On this page</summary>\n\
         <ul>\n{}</ul>\n</details>\n</nav>\n",
        listed.concat()
    )
}

/// Returns a text as HTML.
fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('"', "&quot;");
    text.replace('<', "&lt;").replace('>', "&gt;")
}

fn parse(text: &str) -> impl Iterator<Item = Event<'_>> {
    // References of rustdoc have no target here, so only their text is kept.
    let reference = |link: BrokenLink<'_>| {
        let is_code = link.reference.starts_with('`');
        is_code.then(|| (CowStr::from(""), CowStr::from("")))
    };
    Parser::new_with_broken_link_callback(text, Options::ENABLE_TABLES, Some(reference))
}

/// Returns the Markdown events of a page, with links between pages resolved.
fn linked(page: &Page) -> Vec<Event<'_>> {
    let mut events = Vec::new();
    let mut is_kept = true;
    for event in parse(page.text) {
        match event {
            Event::Start(Tag::Link {
                link_type,
                dest_url,
                title,
                id,
            }) => {
                let target = target(page.file, &dest_url);
                is_kept = target.is_some();
                events.extend(target.map(|target| {
                    Event::Start(Tag::Link {
                        link_type,
                        dest_url: target.into(),
                        title,
                        id,
                    })
                }));
            }
            // Links cannot be nested.
            Event::End(TagEnd::Link) if !is_kept => {}
            event => events.push(event),
        }
    }
    events
}

/// Returns the target of a link in the guide; `None` if the file is not a page.
fn target(file: &str, link: &str) -> Option<String> {
    if link.contains("://") || link.starts_with('#') {
        return Some(link.to_owned());
    }
    let (path, heading) = match link.split_once('#') {
        Some((path, heading)) => (path, format!("#{heading}")),
        None => (link, String::new()),
    };
    let file = resolve(file, path);
    let page = PAGES.iter().find(|page| page.file == file)?;
    let name = if page.name.is_empty() {
        "./"
    } else {
        page.name
    };
    Some(format!("{name}{heading}"))
}

/// Resolves a relative path in a file; both are relative to the root of the repository.
pub(super) fn resolve(file: &str, path: &str) -> String {
    let mut parts: Vec<&str> = file.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// Gives each heading an identifier and returns the headings.
fn name_headings(events: &mut [Event<'_>]) -> Vec<Heading> {
    let mut headings = Vec::new();
    let mut taken = BTreeSet::new();
    for start in 0..events.len() {
        let Event::Start(Tag::Heading { level, .. }) = &events[start] else {
            continue;
        };
        let level = *level;
        let inside = events[start..].iter();
        let inside = inside.take_while(|event| !matches!(event, Event::End(TagEnd::Heading(_))));
        let text: String = inside.filter_map(event_text).collect();
        let mut name = slug(&text);
        while !taken.insert(name.clone()) {
            name.push_str("-1");
        }
        if let Event::Start(Tag::Heading { id, .. }) = &mut events[start] {
            *id = Some(name.clone().into());
        }
        headings.push(Heading {
            level,
            id: name,
            text,
        });
    }
    headings
}

fn event_text<'a>(event: &'a Event<'_>) -> Option<&'a str> {
    match event {
        Event::Text(text) | Event::Code(text) => Some(text),
        _ => None,
    }
}

/// Returns a heading's identifier: lower case, hyphens for spaces, no punctuation.
fn slug(text: &str) -> String {
    let kept = text.chars().filter_map(|letter| match letter {
        ' ' => Some('-'),
        '-' | '_' => Some(letter),
        letter if letter.is_alphanumeric() => Some(letter),
        _ => None,
    });
    kept.flat_map(char::to_lowercase).collect()
}

/// Returns the targets of the links and pictures of a text, as written.
#[cfg(test)]
pub(super) fn links(text: &str) -> Vec<String> {
    let links = parse(text).filter_map(|event| match event {
        Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
            Some(dest_url.into_string())
        }
        _ => None,
    });
    links.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_to_pages_headings_and_elsewhere_but_not_to_files() {
        let from = |link| target("docs/alerts.md", link);
        assert_eq!(from("security.md#tls").as_deref(), Some("security#tls"));
        assert_eq!(from("README.md").as_deref(), Some("./"));
        assert_eq!(
            from("../src/ARCHITECTURE.md").as_deref(),
            Some("architecture")
        );
        assert_eq!(from("#replay").as_deref(), Some("#replay"));
        assert_eq!(
            from("https://a.example/b.md").as_deref(),
            Some("https://a.example/b.md")
        );
        assert_eq!(from("../data/README.md"), None);
    }

    #[test]
    fn headings_have_unique_identifiers() {
        let page = Page {
            name: "x",
            file: "docs/x.md",
            text: "# How `it` *works*, or not\n\n## Again\n\n## Again\n\n[`a::b`] [../data](../data/README.md) a[i]",
        };
        let html = document(&page);
        assert!(
            html.contains("<title>How it works, or not · toise</title>"),
            "{html}"
        );
        for part in [
            "<h1 id=\"how-it-works-or-not\">",
            "<h2 id=\"again\">",
            "<h2 id=\"again-1\">",
            "<p><code>a::b</code> ../data a[i]</p>",
        ] {
            assert!(html.contains(part), "{part} in {html}");
        }
    }

    #[test]
    fn contents_list_headings_and_sections_hold_their_text() {
        let page = Page {
            name: "x",
            file: "docs/x.md",
            text: "# Title\n\nFirst\nline.\n\n## A < `b`\n\n| c | d |\n|---|---|\n| e | f |\n\n### Deeper\n\n- one\n- [two](x.md), three\n",
        };
        let html = document(&page);
        for part in [
            "<li class=\"h2\"><a href=\"#a--b\">A &lt; b</a></li>",
            "<li class=\"h3\"><a href=\"#deeper\">Deeper</a></li>",
        ] {
            assert!(html.contains(part), "{part} in {html}");
        }
        let section = |id: &str, heading: &str, text: &str| json!({"page": "x", "title": "Title", "id": id, "heading": heading, "text": text});
        assert_eq!(
            sections(&page),
            [
                section("title", "Title", "First line."),
                section("a--b", "A < b", "c d e f"),
                section("deeper", "Deeper", "one two, three"),
            ]
        );
        let short = Page {
            text: "# Title\n\n## Only one\n",
            ..page
        };
        assert!(!document(&short).contains("On this page"));
    }
}
