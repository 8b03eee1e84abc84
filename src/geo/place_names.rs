//! Normalises place names as people write them, and finds the places with a name.
//!
//! The index is built on first use, which takes about 30 ms in addition to reading the table of places. Finding a name
//! is then one hash lookup.

use std::collections::HashMap;
use std::sync::LazyLock;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use super::places::{DIVIDED_CITIES, Place, PlaceKind, Places};

/// Places by folded name, as indexes into [`Places::all`]; only places in a department.
pub(crate) struct NameIndex {
    /// Communes and arrondissements. The names of Paris, Lyon and Marseille map to their arrondissements. An
    /// arrondissement is also listed without the word, as in `paris 13`.
    today: HashMap<String, Vec<u32>>,
    /// Former communes.
    former: HashMap<String, Vec<u32>>,
}

static INDEX: LazyLock<NameIndex> = LazyLock::new(NameIndex::new);

/// Returns the index of names.
pub(crate) fn index() -> &'static NameIndex {
    &INDEX
}

impl NameIndex {
    fn new() -> Self {
        let places = Places::get();
        let mut index = Self {
            today: HashMap::with_capacity(places.all().len()),
            former: HashMap::new(),
        };
        for (number, place) in places.all().iter().enumerate() {
            if !place.department.is_empty() && !place.name.is_empty() {
                index.add(place, number as u32);
            }
        }
        index
    }

    fn add(&mut self, place: &Place, number: u32) {
        let name = fold(place.name);
        match place.kind {
            PlaceKind::Commune if DIVIDED_CITIES.contains(&place.code) => {}
            PlaceKind::Commune => self.today.entry(name).or_default().push(number),
            PlaceKind::Arrondissement => {
                let city = city_of(&name).to_owned();
                let short = name.trim_end_matches(" arrondissement");
                let digits = short.trim_end_matches(|letter: char| letter.is_alphabetic());
                for form in [digits, short, &city] {
                    self.today.entry(form.to_owned()).or_default().push(number);
                }
                self.today.entry(name).or_default().push(number);
            }
            PlaceKind::Former => self.former.entry(name).or_default().push(number),
            PlaceKind::FormerCode => {}
        }
    }

    /// Returns the current communes and arrondissements with a folded name.
    pub(crate) fn today(&self, folded: &str) -> impl Iterator<Item = &'static Place> + use<'_> {
        match arrondissement(folded) {
            Some(short) => found(&self.today, &short),
            None => found(&self.today, folded),
        }
    }

    /// Returns the former communes with a folded name.
    pub(crate) fn former(&self, folded: &str) -> impl Iterator<Item = &'static Place> {
        found(&self.former, folded)
    }

    /// Returns every folded name: first of communes, then of former communes.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.today
            .keys()
            .chain(self.former.keys())
            .map(String::as_str)
    }
}

fn found<'n>(
    names: &'n HashMap<String, Vec<u32>>,
    folded: &str,
) -> impl Iterator<Item = &'static Place> + use<'n> {
    let numbers = names.get(folded).map_or(&[][..], Vec::as_slice);
    numbers
        .iter()
        .filter_map(|number| Places::get().place(*number))
}

/// Folded names of the cities in [`DIVIDED_CITIES`].
const DIVIDED_NAMES: [&str; 3] = ["paris", "lyon", "marseille"];

/// Returns the short name of an arrondissement, `paris 11`, from any usual folded spelling: `paris 11eme
/// arrondissement`, `paris 01`, `paris xie`. `None` for any other name.
fn arrondissement(folded: &str) -> Option<String> {
    let city = DIVIDED_NAMES
        .into_iter()
        .find(|city| folded.starts_with(city))?;
    let rest = folded[city.len()..].trim();
    let rest = ["arrondissement", "ardt", "arr"]
        .iter()
        .find_map(|word| rest.strip_suffix(word))
        .unwrap_or(rest);
    let number: String = rest.split_whitespace().collect();
    let is_ordinal = |end: &str| matches!(end, "" | "e" | "er" | "eme" | "ieme" | "me" | "nd");
    let digits = number.trim_end_matches(|character: char| character.is_alphabetic());
    let value: usize = if digits.is_empty() {
        let of_roman = ROMAN.iter().position(|roman| {
            let end = number.strip_prefix(roman);
            end.is_some_and(is_ordinal)
        });
        // The longest numeral: `xii` also starts with `xi`.
        of_roman.map(|at| ROMAN.len() - at)?
    } else {
        digits
            .parse()
            .ok()
            .filter(|_| is_ordinal(&number[digits.len()..]))?
    };
    Some(format!("{city} {value}"))
}

/// Roman numerals from 20 down to 1.
const ROMAN: [&str; 20] = [
    "xx", "xix", "xviii", "xvii", "xvi", "xv", "xiv", "xiii", "xii", "xi", "x", "ix", "viii",
    "vii", "vi", "v", "iv", "iii", "ii", "i",
];

/// Removes the arrondissement from a folded name of Paris, Lyon or Marseille; returns other names unchanged.
pub(crate) fn city_of(folded: &str) -> &str {
    DIVIDED_NAMES
        .into_iter()
        .find(|city| {
            folded.strip_prefix(city).is_some_and(|rest| {
                rest.is_empty()
                    || rest
                        .trim_start()
                        .starts_with(|first: char| first.is_ascii_digit())
            })
        })
        .unwrap_or(folded)
}

/// Returns the folded name of a whole town, without an arrondissement or a postal code: `paris` for `Paris 11e
/// (75011)`.
pub(crate) fn town_of(name: &str) -> String {
    let folded = fold(name);
    let is_postal_code =
        |word: &&str| word.len() == 5 && word.bytes().all(|byte| byte.is_ascii_digit());
    let words = folded.split(' ').filter(|word| !is_postal_code(word));
    let town = words.collect::<Vec<_>>().join(" ");
    match arrondissement(&town) {
        Some(short) => city_of(&short).to_owned(),
        None => town,
    }
}

/// Normalises a name: no case, accents, hyphens or `cedex`; `st` and `ste` are written out.
pub(crate) fn fold(name: &str) -> String {
    let mut plain = String::with_capacity(name.len());
    for character in name.chars() {
        match character {
            _ if character.is_ascii_alphanumeric() => plain.push(character.to_ascii_lowercase()),
            _ if character.is_ascii() => plain.push(' '),
            'œ' | 'Œ' => plain.push_str("oe"),
            _ => plain.extend(letters(character)),
        }
    }
    let mut folded = String::with_capacity(plain.len());
    for word in plain.split_ascii_whitespace() {
        let word = match word {
            "cedex" => break,
            "st" => "saint",
            "ste" => "sainte",
            word => word,
        };
        if !folded.is_empty() {
            folded.push(' ');
        }
        folded.push_str(word);
    }
    folded
}

/// Returns the letters of a character without accents; a space for a character that is neither a letter nor a digit.
fn letters(character: char) -> impl Iterator<Item = char> {
    std::iter::once(character)
        .nfd()
        .filter(|part| !is_combining_mark(*part))
        .flat_map(char::to_lowercase)
        .map(|part| if part.is_alphanumeric() { part } else { ' ' })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_folded() {
        for name in ["Saint-Étienne", "ST ETIENNE", "saint etienne cedex 2"] {
            assert_eq!(fold(name), "saint etienne", "{name}");
        }
        assert_eq!(fold("Œuilly-l’Écluse"), "oeuilly l ecluse");
    }

    #[test]
    fn an_arrondissement_has_several_names() {
        for name in [
            "paris 13",
            "paris 13e",
            "paris 13e arrondissement",
            "paris 13eme",
            "paris 13 eme arrondissement",
            "paris xiii",
            "paris xiiie",
            "paris 013",
        ] {
            let codes: Vec<&str> = index().today(name).map(|place| place.code).collect();
            assert_eq!(codes, ["75113"], "{name}");
        }
        assert_eq!(index().today("paris").count(), 20);
        assert_eq!(index().today("lyon").count(), 9);
    }
}
