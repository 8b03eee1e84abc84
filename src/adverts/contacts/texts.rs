//! Finds telephone numbers, email addresses and names in texts: descriptions, pages, reports.
//!
//! Every telephone number and email address in a text is hashed and looked up in the list of erased contacts. A name is
//! a sequence of words; a single word is never treated as a name, because most surnames are also words or places.

use std::ops::Range;

use super::ErasedContacts;
use super::normal::{Contact, ContactKind};

/// Replaces what was removed from a text.
pub const REMOVED: &str = "[…]";

/// Minimum digits of a telephone number in a text.
const DIGITS_MIN: usize = 9;
/// Maximum digits of a telephone number in a text, international prefix and trunk prefix included.
const DIGITS_MAX: usize = 15;
/// Maximum characters between two digits of a telephone number.
const GAP_MAX: usize = 2;
/// Maximum words of a name in a text.
const NAME_WORDS_MAX: usize = 5;
/// Encodings of the at sign in HTML and URLs.
const AT_SIGNS: [&str; 5] = ["&#64;", "&#064;", "&#x40;", "&commat;", "%40"];
/// Begins a character that JSON and scripts write as four hexadecimal digits.
const ESCAPE: &str = "\\u";

/// Which names to remove.
#[derive(Clone, Copy, Debug)]
pub(super) enum Names<'n> {
    /// None, so that a street named after a person keeps its name.
    None,
    /// These names of people whose contact was found in the same record.
    Of(&'n [Contact]),
    /// All names in the list.
    Listed,
}

impl ErasedContacts {
    /// Returns a text without the contacts in it, each replaced by [`REMOVED`]; `None` if it contains none. Names stay.
    pub fn without_contacts(&self, text: &str) -> Option<String> {
        self.cut(text, &[], Names::None)
    }

    /// Returns a text without the contacts in it, names included.
    pub fn without_persons(&self, text: &str) -> Option<String> {
        self.cut(text, &[], Names::Listed)
    }

    /// Returns whether a text, such as the source of a page or a JSON document, contains a contact of the list, names
    /// included.
    pub fn is_in_text(&self, text: &str) -> bool {
        let is_in = |text: &str| !self.found(text, &[], Names::Listed).is_empty();
        is_in(text) || unescaped(text).is_some_and(|plain| is_in(&plain))
    }

    /// Like [`ErasedContacts::without_contacts`], but also removes the contacts `more` and the given `names`.
    pub(super) fn cut(&self, text: &str, more: &[Contact], names: Names<'_>) -> Option<String> {
        let found = self.found(text, more, names);
        if found.is_empty() {
            return None;
        }
        let mut kept = String::with_capacity(text.len());
        let mut end = 0;
        for range in found {
            // Ranges may overlap: a name may be part of an address.
            if range.end <= end {
                continue;
            }
            if range.start >= end {
                kept.push_str(&text[end..range.start]);
                kept.push_str(REMOVED);
            }
            end = range.end;
        }
        kept.push_str(&text[end..]);
        Some(kept)
    }

    /// Returns the ranges of contacts in a text, in order.
    fn found(&self, text: &str, more: &[Contact], names: Names<'_>) -> Vec<Range<usize>> {
        let is_one = |contact: &Contact| more.contains(contact) || self.contains(contact);
        let mut found = Vec::new();
        phones(text, &is_one, &mut found);
        emails(text, &is_one, &mut found);
        match names {
            Names::None => {}
            Names::Of(names) => self::names(text, &|name| names.contains(name), &mut found),
            Names::Listed => self::names(text, &|name| self.contains(name), &mut found),
        }
        found.sort_unstable_by_key(|range| (range.start, std::cmp::Reverse(range.end)));
        found
    }
}

/// Decodes the encoded at signs of a text and the characters that JSON escapes; `None` if it has none.
fn unescaped(text: &str) -> Option<String> {
    let written = AT_SIGNS.iter().filter(|sign| text.contains(**sign));
    let mut plain: Option<String> = None;
    for sign in written {
        let replaced = plain.as_deref().unwrap_or(text).replace(sign, "@");
        plain = Some(replaced);
    }
    if text.contains(ESCAPE) {
        plain = Some(without_escapes(plain.as_deref().unwrap_or(text)));
    }
    plain
}

/// Decodes the characters of a text that JSON escapes by their number.
fn without_escapes(text: &str) -> String {
    let mut pieces = text.split(ESCAPE);
    let mut plain = String::with_capacity(text.len());
    plain.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        let code = piece.get(..4);
        let code = code.and_then(|code| u32::from_str_radix(code, 16).ok());
        match code.and_then(char::from_u32) {
            Some(sign) => {
                plain.push(sign);
                plain.push_str(&piece[4..]);
            }
            None => {
                plain.push_str(ESCAPE);
                plain.push_str(piece);
            }
        }
    }
    plain
}

fn phones(text: &str, is_one: &dyn Fn(&Contact) -> bool, found: &mut Vec<Range<usize>>) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let is_digit = bytes[at].is_ascii_digit();
        let begins = is_digit && (at == 0 || !bytes[at - 1].is_ascii_digit());
        if !begins {
            at += 1;
            continue;
        }
        match phone_at(text, at, is_one) {
            Some(range) => {
                at = range.end;
                found.push(range);
            }
            None => at += 1,
        }
    }
}

/// Returns the range of the longest telephone number that begins at a given digit and for which `is_one` returns true.
fn phone_at(text: &str, at: usize, is_one: &dyn Fn(&Contact) -> bool) -> Option<Range<usize>> {
    let mut start = at;
    let mut digits = String::with_capacity(DIGITS_MAX + 1);
    if text[..at].ends_with('+') {
        digits.push('+');
        start -= 1;
    }
    let mut ends = Vec::new();
    let mut gap = 0;
    for (place, sign) in text[at..].char_indices() {
        if sign.is_ascii_digit() {
            digits.push(sign);
            gap = 0;
            ends.push(at + place + 1);
            if ends.len() == DIGITS_MAX {
                break;
            }
        } else if gap < GAP_MAX && is_separator(sign) {
            gap += 1;
        } else {
            break;
        }
    }
    let signs = digits.len() - ends.len();
    for count in (DIGITS_MIN..=ends.len()).rev() {
        let end = ends[count - 1];
        // Another digit directly after it belongs to a longer number.
        if text[end..].starts_with(|sign: char| sign.is_ascii_digit()) {
            continue;
        }
        let contact = Contact::phone(&digits[..signs + count]);
        if contact.is_some_and(|contact| is_one(&contact)) {
            return Some(start..end);
        }
    }
    None
}

fn is_separator(sign: char) -> bool {
    sign.is_whitespace()
        || matches!(
            sign,
            '.' | '-' | '/' | '(' | ')' | '_' | '\u{2011}' | '\u{2013}'
        )
}

fn emails(text: &str, is_one: &dyn Fn(&Contact) -> bool, found: &mut Vec<Range<usize>>) {
    for (at, _) in text.match_indices('@') {
        let is_local = |sign: char| sign.is_alphanumeric() || "._%+-'".contains(sign);
        let is_host = |sign: char| sign.is_alphanumeric() || ".-".contains(sign);
        let local = text[..at].trim_end_matches(is_local).len();
        let host = text[at + 1..].trim_start_matches(is_host).len();
        let mut end = text.len() - host;
        // A full stop may end the sentence.
        while text[..end].ends_with(['.', '-']) && end > at {
            end -= 1;
        }
        let contact = Contact::email(&text[local..end]);
        if contact.is_some_and(|contact| is_one(&contact)) {
            found.push(local..end);
        }
    }
}

/// Finds names of two words or more; a title counts as a word.
fn names(text: &str, is_one: &dyn Fn(&Contact) -> bool, found: &mut Vec<Range<usize>>) {
    let mut words: Vec<Range<usize>> = Vec::new();
    let mut start = None;
    for (at, sign) in text.char_indices().chain([(text.len(), ' ')]) {
        match (sign.is_alphanumeric(), start) {
            (true, None) => start = Some(at),
            (false, Some(first)) => {
                words.push(first..at);
                start = None;
            }
            _ => {}
        }
    }
    for first in 0..words.len() {
        for count in (2..=NAME_WORDS_MAX.min(words.len() - first)).rev() {
            let last = words[first + count - 1].clone();
            // A title after a name belongs to the next one.
            if Contact::name(&text[last.clone()]).is_none() {
                continue;
            }
            let range = words[first].start..last.end;
            let name = Contact::parse(ContactKind::Name, &text[range.clone()]);
            if name.is_some_and(|name| is_one(&name)) {
                found.push(range);
                break;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(contacts: &[Contact]) -> ErasedContacts {
        ErasedContacts::new([7; 32], []).of(contacts)
    }

    #[test]
    fn numbers_and_addresses_are_cut_from_a_text_in_any_spelling() {
        let list = listed(&[
            Contact::phone("0612345678").unwrap(),
            Contact::email("jean@example.fr").unwrap(),
        ]);
        let cut = |text: &str| list.without_contacts(text);
        for (text, expected) in [
            ("Tél. 06 12 34 56 78, le soir", "Tél. […], le soir"),
            ("Tél.:+33 (0)6.12.34.56.78.", "Tél.:[…]."),
            ("0612345678 01 23 45 67 89", "[…] 01 23 45 67 89"),
            ("01 23 45 67 89 0612345678", "01 23 45 67 89 […]"),
            ("Écrire à JEAN@Example.fr.", "Écrire à […]."),
            ("<jean@example.fr>;0033612345678", "<[…]>;[…]"),
        ] {
            assert_eq!(cut(text).as_deref(), Some(expected), "{text}");
        }
        for text in [
            "Prix 245 000 €, 61 m²",
            "réf. 90612345678",
            "06123456789",
            "jean@example.fr.evil.com",
            "autrejean@example.fr",
            "06 12 34 56 79",
        ] {
            assert_eq!(cut(text), None, "{text}");
        }
    }

    #[test]
    fn a_page_is_searched_for_names_and_encoded_addresses_too() {
        let list = listed(&[
            Contact::name("Jean Dupont").unwrap(),
            Contact::email("jean@example.fr").unwrap(),
        ]);
        assert!(list.is_in_text("<p>Contacter M. DUPONT Jean</p>"));
        assert!(list.is_in_text("href=\"mailto:jean%40example.fr\""));
        assert!(list.is_in_text(r#""jean\u0040example.fr""#));
        assert!(list.is_in_text(r#""J\u0065an\u00a0Dupont""#));
        assert!(!list.is_in_text(r#""\u é\u00e\ud83d\u""#));
        assert!(!list.is_in_text("rue Jean Moulin, Dupont"));
        assert_eq!(list.without_contacts("M. Jean Dupont"), None);
    }
}
