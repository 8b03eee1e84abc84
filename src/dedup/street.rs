//! Street addresses: house number and street in 4 bytes, and how two of them agree.
//!
//! Portals write one address in many ways: `12 bis, av. du Gal de Gaulle`, `12B Avenue Charles de Gaulle 75011 Paris`.
//! So a street is known by the first letter of its type and the last word of its name. An address without a house
//! number, or with several, is not kept.

use super::digest;
use super::text::FoldedText;
use toise_contract::columns::has_house_number;
use toise_contract::listings::place::AdLocation;

/// Highest house number: the bits of an address that hold it.
const NUMBER_MAX: u32 = (1 << 14) - 1;
/// Bits below the number, which hold its suffix.
const SUFFIX_BITS: u32 = 2;
/// Bits below the street, which hold the number and its suffix.
const STREET_SHIFT: u32 = 16;
/// Words after which an address names no street any more.
const ENDS: [&[u8]; 14] = [
    b"apt", b"appt", b"appartement", b"bat", b"batiment", b"bp", b"cedex", b"cs", b"entree",
    b"esc", b"escalier", b"etage", b"lot", b"residence",
];
/// Words that link the words of a name: a street's name does not end with them.
const LINKS: [&[u8]; 10] = [
    b"a", b"au", b"aux", b"d", b"de", b"des", b"du", b"l", b"la", b"le",
];
/// Digits of a postal code.
const POSTAL_CODE_DIGITS: usize = 5;

/// Returns the house number and street of a location; `None` if it does not name both.
pub fn address_of(location: &AdLocation) -> Option<u32> {
    let address = location.address.as_deref()?;
    has_house_number(address).then_some(())?;
    let parts: Vec<FoldedText> = address
        .split([',', ';', '(', '\n'])
        .map(FoldedText::from_text)
        .collect();
    let mut parts = parts.iter().map(|part| part.words().collect::<Vec<_>>());
    let mut line = parts.next()?;
    // `12 bis, rue Foch` has its street in the second part.
    while !line.iter().any(|word| is_name(word)) {
        line.extend(parts.next()?);
    }
    let (first, mut rest) = line.split_first()?;
    let digits = first
        .iter()
        .take_while(|character| character.is_ascii_digit())
        .count();
    // `13100 Aix-en-Provence` begins with a postal code.
    (digits != POSTAL_CODE_DIGITS).then_some(())?;
    let (number, joined) = first.split_at(digits);
    let number: u32 = std::str::from_utf8(number).ok()?.parse().ok()?;
    let mut suffix = code_of_suffix(joined)?;
    if let (0, [next, after @ ..]) = (suffix, rest)
        && let Some(apart) = code_of_suffix(next)
    {
        (suffix, rest) = (apart, after);
    }
    // `12-14 rue Foch` has several numbers.
    let is_one = rest
        .first()
        .is_none_or(|word| !is_number(word) && *word != b"et");
    let street = digest_of_street(rest, location.city.as_deref())?;
    let is_kept = is_one && (1..=NUMBER_MAX).contains(&number);
    is_kept.then_some((street << STREET_SHIFT) | (number << SUFFIX_BITS) | suffix)
}

/// Returns whether a word can be part of a street's name, rather than a house number or its suffix.
fn is_name(word: &[u8]) -> bool {
    !word.iter().any(u8::is_ascii_digit) && code_of_suffix(word).is_none()
}

fn is_number(word: &[u8]) -> bool {
    word.iter().all(u8::is_ascii_digit)
}

/// Code of several suffixes, so that two addresses with it may be one or two.
const OTHER_SUFFIX: u32 = 3;

/// Returns the code of the suffix of a house number, 0 for none; `None` if the letters are no suffix.
fn code_of_suffix(letters: &[u8]) -> Option<u32> {
    match letters {
        b"" => Some(0),
        b"bis" | b"b" => Some(1),
        b"ter" | b"c" => Some(2),
        b"quater" | [b'a'..=b'h'] => Some(OTHER_SUFFIX),
        _ => None,
    }
}

/// Returns 16 bits of the digest of a street, without the town and whatever else follows it.
fn digest_of_street(words: &[&[u8]], city: Option<&str>) -> Option<u32> {
    let is_end =
        |word: &&&[u8]| ENDS.contains(word) || is_number(word) && word.len() == POSTAL_CODE_DIGITS;
    let ends_at = words.iter().take_while(|word| !is_end(word)).count();
    let words = words.get(..ends_at)?;
    let city = FoldedText::from_text(city.unwrap_or_default());
    let city: Vec<&[u8]> = city.words().take_while(|word| is_name(word)).collect();
    // `12 rue Foch Paris`, but not `12 rue de Paris`.
    let is_town = |at: &usize| {
        let follows_name = words.get(at - 1).is_some_and(|word| !LINKS.contains(word));
        follows_name && words[*at..].starts_with(&city)
    };
    let town_at = (2..words.len()).find(is_town).filter(|_| !city.is_empty());
    let words = words.get(..town_at.unwrap_or(words.len()))?;
    let (kind, name) = words.split_first()?;
    let last = name.last().filter(|word| !LINKS.contains(word))?;
    let initial = kind.first().copied().unwrap_or_default();
    Some(digest::mix(digest::step(digest::hash(last), initial)) as u32 & 0xFFFF)
}

/// Returns whether two addresses are one; `None` if it is unclear. One number in two streets may be one address that is
/// written in two ways, a suffix may be missing, and most letters have one code.
pub fn is_one(first: u32, second: u32) -> Option<bool> {
    let street = |address: u32| address >> STREET_SHIFT;
    let number = |address: u32| (address >> SUFFIX_BITS) & NUMBER_MAX;
    let suffix = |address: u32| address & ((1 << SUFFIX_BITS) - 1);
    let is_other_suffix = suffix(first) > 0 && suffix(second) > 0;
    if first == second {
        (suffix(first) != OTHER_SUFFIX).then_some(true)
    } else if number(first) != number(second) {
        Some(false)
    } else {
        (street(first) == street(second) && is_other_suffix).then_some(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> Option<u32> {
        address_of(&AdLocation {
            address: Some(text.to_owned()),
            city: Some("Paris 11e Arrondissement".to_owned()),
            ..AdLocation::default()
        })
    }

    #[test]
    fn one_address_is_known_however_it_is_written() {
        let expected = address("12 bis avenue du Général de Gaulle");
        assert!(expected.is_some());
        for text in [
            "12 bis, av. du Gal de Gaulle",
            "12BIS AVENUE CHARLES DE GAULLE 75011 PARIS",
            "12 B avenue de Gaulle, bâtiment C",
            "12b, Avenue De Gaulle Paris 11e",
        ] {
            assert_eq!(address(text), expected, "{text}");
        }
        assert!(address("12 rue de Paris").is_some());
        assert_eq!(
            address("12 rue de Paris"),
            address("12, rue de Paris, Paris")
        );
        assert_ne!(
            address("12 place de l'Église"),
            address("12 rue de l'Église")
        );
    }

    #[test]
    fn addresses_differ_by_number_or_by_two_suffixes() {
        let compared = |one: &str, other: &str| is_one(address(one)?, address(other)?);
        assert_eq!(compared("12 rue Foch", "12 rue Foch"), Some(true));
        assert_eq!(compared("12 rue Foch", "14 rue Foch"), Some(false));
        assert_eq!(compared("12 bis rue Foch", "12 ter rue Foch"), Some(false));
        assert_eq!(compared("12 rue Foch", "12 bis rue Foch"), None);
        assert_eq!(compared("12 rue Foch", "12 rue Hoche"), None);
        assert_eq!(compared("4 A rue des Lilas", "4 D rue des Lilas"), None);
    }

    #[test]
    fn a_street_without_its_number_or_with_several_is_not_kept() {
        for text in [
            "rue Foch",
            "12-14 rue Foch",
            "12 et 14 rue Foch",
            "8 mai 1945",
            "12",
            "12, 75011 Paris",
            "13100 Aix-en-Provence",
            "06160 Juan-les-Pins",
            "",
        ] {
            assert_eq!(address(text), None, "{text}");
        }
    }
}
