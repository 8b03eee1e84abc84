//! Renders a page's Markdown as HTML.
//!
//! Links between files of the repository become links between pages; links to other files become plain text. Every
//! heading gets the identifier that code forges generate, so links to headings work in both places.

use std::collections::BTreeSet;

use pulldown_cmark::{BrokenLink, CowStr, Event, Options, Parser, Tag, TagEnd, html};

use super::{PAGES, Page, STYLE_NAME};

/// Returns the whole HTML document of a page.
pub(super) fn document(page: &Page) -> String {
    let mut events = linked(page);
    let title = name_headings(&mut events);
    let mut body = String::new();
    html::push_html(&mut body, events.into_iter());
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{title} · toise</title>\n\
         <link rel=\"stylesheet\" href=\"{STYLE_NAME}\">\n</head>\n<body>\n\
         <nav><a href=\"./\">Guide</a><a href=\"../\">API reference</a></nav>\n<main>\n{body}</main>\n</body>\n</html>\n"
    )
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

/// Gives each heading an identifier and returns the text of the first heading.
fn name_headings(events: &mut [Event<'_>]) -> String {
    let mut title = None;
    let mut taken = BTreeSet::new();
    for start in 0..events.len() {
        if !matches!(events[start], Event::Start(Tag::Heading { .. })) {
            continue;
        }
        let inside = events[start..].iter();
        let inside = inside.take_while(|event| !matches!(event, Event::End(TagEnd::Heading(_))));
        let text: String = inside.filter_map(text_of).collect();
        let mut name = slug(&text);
        while !taken.insert(name.clone()) {
            name.push_str("-1");
        }
        if let Event::Start(Tag::Heading { id, .. }) = &mut events[start] {
            *id = Some(name.into());
        }
        title.get_or_insert(text);
    }
    title.unwrap_or_default()
}

fn text_of<'a>(event: &'a Event<'_>) -> Option<&'a str> {
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

/// Returns the targets of the links of a text, as written.
#[cfg(test)]
pub(super) fn links(text: &str) -> Vec<String> {
    let links = parse(text).filter_map(|event| match event {
        Event::Start(Tag::Link { dest_url, .. }) => Some(dest_url.into_string()),
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
}
