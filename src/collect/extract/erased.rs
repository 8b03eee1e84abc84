//! Searches a page for contacts of persons who asked to be forgotten, so that it is not stored, or no longer.
//!
//! The bytes of a page do not show every contact: tags may stand between the digits of a number, letters may be written
//! as character references, and the encoding may not be UTF-8. So both the source and the text that readers see are
//! searched.

use std::borrow::Cow;

use scraper::{ElementRef, Html};

use super::charset;
use toise_listings::adverts::contacts::ErasedContacts;
use toise_page::tidy;

/// Returns whether a page contains a contact of the list, names included. Costs as much as parsing the page.
pub fn has_contact(bytes: &[u8], content_type: Option<&str>, contacts: &ErasedContacts) -> bool {
    let source = charset::decode(bytes, content_type);
    // The encoding that a page declares may be wrong.
    let is_in_bytes = || contacts.is_in_text(&String::from_utf8_lossy(bytes));
    contacts.is_in_text(&source)
        || matches!(source, Cow::Owned(_)) && is_in_bytes()
        || visible_texts(&source)
            .iter()
            .any(|text| contacts.is_in_text(text))
}

/// Returns the text of a page with its pieces between tags joined directly, the same with spaces, and the values of
/// attributes.
fn visible_texts(source: &str) -> [String; 3] {
    let tidied = tidy::tidy(source);
    let html = Html::parse_document(&tidied.html);
    let (mut direct, mut spaced, mut values) = (String::new(), String::new(), String::new());
    for node in html.root_element().descendants() {
        if let Some(piece) = node.value().as_text() {
            direct.push_str(piece);
            spaced.push_str(piece);
            spaced.push(' ');
        } else if let Some(element) = ElementRef::wrap(node) {
            for (_, value) in element.value().attrs() {
                values.push_str(value);
                values.push('\n');
            }
        }
    }
    [
        with_single_spaces(&direct),
        with_single_spaces(&spaced),
        values,
    ]
}

/// Collapses white space, as browsers do: a telephone number has at most two characters between its digits.
fn with_single_spaces(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use toise_listings::adverts::contacts::Contact;

    use super::*;

    #[test]
    fn a_contact_is_found_however_the_page_writes_it() {
        let list = ErasedContacts::new([7; 32], []).of(&[
            Contact::phone("0612345678").unwrap(),
            Contact::email("jean@example.fr").unwrap(),
            Contact::name("Jérôme Dupont").unwrap(),
        ]);
        let has = |page: &[u8]| has_contact(page, None, &list);
        let pages: [&[u8]; 10] = [
            b"<p>06&nbsp;12&nbsp;34&nbsp;56&nbsp;78</p>",
            b"<p><b>06</b> <b>12</b>\n    <i>34</i><i>56</i> 78</p>",
            b"<p>06\xa012\xa034\xa056\xa078</p>",
            b"<p>jean<span>@</span>example.fr</p>",
            b"<p>jean&#64;example&#46;fr</p>",
            "<ul><li>Jérôme</li><li>DUPONT</li></ul>".as_bytes(),
            b"<p>J\xe9r\xf4me Dupont</p>",
            "<meta charset=\"iso-8859-1\"><p>Jérôme Dupont</p>".as_bytes(),
            b"<meta property=\"author\" content=\"J&eacute;r&ocirc;me Dupont\">",
            br#"<script type="application/ld+json">{"name": "J\u00e9r\u00f4me Dupont"}</script>"#,
        ];
        for page in pages {
            assert!(has(page), "{}", String::from_utf8_lossy(page));
        }
        for page in [
            "<p>06 12 34 56 79</p>",
            "<p>rue Jérôme Dupuis, Dupont</p>",
            "",
        ] {
            assert!(!has(page.as_bytes()), "{page}");
        }
    }
}
