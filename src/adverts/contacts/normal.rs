//! Normalises contacts, so that two spellings of one contact are equal.

use std::fmt;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Maximum length of a contact, characters.
pub const CONTACT_CHARS_MAX: usize = 200;
/// Digits of a French telephone number without its trunk or country prefix.
const NATIONAL_DIGITS: usize = 9;
/// Minimum and maximum digits of a telephone number, with the prefix of its country.
const PHONE_DIGITS: std::ops::RangeInclusive<usize> = 7..=15;
/// Country prefixes of France and of its overseas departments and collectivities with nine-digit numbers.
const FRENCH_PREFIXES: [&str; 6] = ["33", "262", "590", "594", "596", "269"];
/// Titles that are ignored in a name.
const TITLES: [&str; 11] = [
    "m", "mr", "mme", "mlle", "mm", "monsieur", "madame", "mademoiselle", "messieurs", "dr", "me",
];

/// Kind of a contact. Its number is part of the stored digests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ContactKind {
    /// Telephone number.
    Phone = 1,
    /// Email address.
    Email = 2,
    /// Name of a person.
    Name = 3,
}

/// A contact in its normal form. Its debug text shows only the kind.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Contact {
    kind: ContactKind,
    normal: String,
}

impl fmt::Debug for Contact {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Contact({:?})", self.kind)
    }
}

impl Contact {
    /// Reads a contact of a kind; `None` if the text is not one.
    pub fn parse(kind: ContactKind, text: &str) -> Option<Self> {
        match kind {
            ContactKind::Phone => Self::phone(text),
            ContactKind::Email => Self::email(text),
            ContactKind::Name => Self::name(text),
        }
    }

    /// Reads a telephone number: its digits, without `+33`, `0033` or the leading 0. Other characters are ignored.
    pub fn phone(text: &str) -> Option<Self> {
        let digits: String = text.chars().filter(char::is_ascii_digit).collect();
        let is_international = text.trim_start().starts_with('+') || digits.starts_with("00");
        let digits = digits.strip_prefix("00").unwrap_or(&digits);
        if !PHONE_DIGITS.contains(&digits.len()) {
            return None;
        }
        let national = FRENCH_PREFIXES.iter().find_map(|prefix| {
            let rest = digits.strip_prefix(prefix)?;
            // Some people also write the trunk prefix: +33 (0)6.
            let rest = rest.strip_prefix('0').unwrap_or(rest);
            (rest.len() == NATIONAL_DIGITS).then_some(rest)
        });
        let local = digits.strip_prefix('0').filter(|_| !is_international);
        let local = local.or_else(|| (!is_international).then_some(digits));
        let local = local.filter(|rest| rest.len() == NATIONAL_DIGITS);
        Some(Self {
            kind: ContactKind::Phone,
            normal: national.or(local).unwrap_or(digits).to_owned(),
        })
    }

    /// Reads an email address, regardless of case.
    pub fn email(text: &str) -> Option<Self> {
        let text = text.trim();
        let text = text.strip_prefix("mailto:").unwrap_or(text);
        let (local, host) = text.rsplit_once('@')?;
        let is_address = !local.is_empty()
            && host.contains('.')
            && !text.chars().any(char::is_whitespace)
            && text.chars().count() <= CONTACT_CHARS_MAX;
        is_address.then(|| Self {
            kind: ContactKind::Email,
            normal: text.to_lowercase(),
        })
    }

    /// Reads a name: its words without case, accents and titles, in any order, because portals write the surname first
    /// or last.
    pub fn name(text: &str) -> Option<Self> {
        if text.chars().count() > CONTACT_CHARS_MAX {
            return None;
        }
        let folded = folded(text);
        let words = folded.split_whitespace();
        let mut words: Vec<&str> = words.filter(|word| !TITLES.contains(word)).collect();
        words.sort_unstable();
        let normal = words.join(" ");
        let has_letter = normal.chars().any(char::is_alphabetic);
        has_letter.then_some(Self {
            kind: ContactKind::Name,
            normal,
        })
    }

    /// Returns the kind.
    pub fn kind(&self) -> ContactKind {
        self.kind
    }

    /// Returns the normal form.
    pub(super) fn normal(&self) -> &str {
        &self.normal
    }
}

/// Returns a text in lower case without accents; each character that is not a letter or digit becomes a space.
fn folded(text: &str) -> String {
    let letters = text
        .nfkd()
        .filter(|character| !is_combining_mark(*character));
    let lower = letters.flat_map(char::to_lowercase);
    lower
        .map(|character| {
            if character.is_alphanumeric() {
                character
            } else {
                ' '
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_telephone_number_is_equal_in_all_its_spellings() {
        let number = Contact::phone("0612345678").unwrap();
        for text in [
            "06 12 34 56 78",
            "06.12.34.56.78",
            "06-12-34-56-78",
            "+33612345678",
            "+33 (0)6 12 34 56 78",
            "0033 6 12 34 56 78",
            "33612345678",
            "612345678",
            "tel:+33-6-12-34-56-78",
            "06\u{a0}12\u{202f}34 56 78",
        ] {
            assert_eq!(Contact::phone(text).as_ref(), Some(&number), "{text}");
        }
        let island = Contact::phone("+262 692 12 34 56");
        assert_eq!(island, Contact::phone("0692123456"));
        assert_ne!(
            Contact::phone("+41 79 123 45 67"),
            Contact::phone("0791234567")
        );
        for text in ["", "none", "12", "1234567890123456"] {
            assert_eq!(Contact::phone(text), None, "{text}");
        }
    }

    #[test]
    fn an_address_is_equal_in_any_case_and_a_name_in_any_order_and_accent() {
        let address = Contact::email(" Jean.Dupont@Example.FR ");
        assert_eq!(address, Contact::email("mailto:jean.dupont@example.fr"));
        assert_eq!(Contact::email("jean dupont@example.fr"), None);
        assert_eq!(Contact::email("@example.fr"), None);
        let name = Contact::name("Hélène Lefèvre-Durand");
        assert_eq!(name, Contact::name("Mme LEFEVRE DURAND helene"));
        assert_ne!(name, Contact::name("Hélène Lefèvre"));
        assert_eq!(Contact::name("M."), None);
        assert_eq!(Contact::name("06 12"), None);
    }

    #[test]
    fn a_contact_does_not_appear_in_its_debug_text() {
        let shown = format!("{:?}", Contact::phone("0612345678"));
        assert!(!shown.contains("612345678"), "{shown}");
    }
}
