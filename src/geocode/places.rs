//! Finds the places a query may name: communes, arrondissements and former communes by name, by the beginning of a name,
//! with one letter wrong, or by postal code.
//!
//! Names are looked up without blanks, so `saintetienne` and `Saint-Étienne` are one key. `Saint`, `Sainte` and `sur` have
//! their abbreviations, and a leading article may be left out. Names of at least five letters are also found with
//! one edit, by symmetric deletion: the name and the text share a form when up to one letter of each is left out.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::text::fold;
use super::text::likeness::distance;
use toise_geo::places::{DIVIDED_CITIES, PlaceKind, Places};

/// Minimum letters of a name that is found with an edit.
const FUZZY_MIN: usize = 5;
/// Maximum places that the beginning of a name gives, the most populous first.
const PREFIX_PLACES_MAX: usize = 24;
/// Quality of a name with one edit, less one letter's share.
const EDITED: f32 = 1.0;
/// Quality of a name whose article was left out or added.
const WITHOUT_ARTICLE: f32 = 0.97;
/// Quality of the beginning of a name, for the shortest; a longer one is better.
const PREFIX: f32 = 0.8;

/// A place that a text may name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NamedPlace {
    /// Index into [`Places::all`].
    pub place: u32,
    /// How well the text fits the name, 0 to 1.
    pub quality: f32,
    /// Whether the text is only the beginning of the name.
    pub is_begun: bool,
}

struct NameIndex {
    exact: HashMap<String, Vec<NamedPlace>>,
    /// Hash of a name with at most one letter left out, and the name's number.
    deletions: HashMap<u64, Vec<u32>>,
    /// Names in ascending order, for beginnings.
    names: Vec<(String, u32)>,
}

static INDEX: LazyLock<NameIndex> = LazyLock::new(NameIndex::new);

/// Maximum words of a place's name in a query.
pub const NAME_WORDS_MAX: usize = 8;

/// Writes out abbreviations of place names in a list of folded words.
pub fn expand(word: &str) -> &str {
    match word {
        "st" => "saint",
        "ste" => "sainte",
        "sts" => "saints",
        "stes" => "saintes",
        "s" => "sur",
        "ss" => "sous",
        "nd" => "notredame",
        "mt" => "mont",
        word => word,
    }
}

/// The key of a name given as folded words.
pub fn key<'w>(words: impl Iterator<Item = &'w str>) -> String {
    words.map(expand).collect()
}

/// Places whose name these words are.
pub fn named(key: &str) -> &'static [NamedPlace] {
    INDEX.exact.get(key).map_or(&[], Vec::as_slice)
}

/// Places whose name these words are but for one edit; none for a short name.
pub fn nearly_named(key: &str) -> Vec<NamedPlace> {
    let mut found: Vec<NamedPlace> = Vec::new();
    // A letter may be missing from the key.
    if key.len() + 1 < FUZZY_MIN {
        return found;
    }
    for form in deletions(key) {
        for number in INDEX.deletions.get(&form).map_or(&[][..], Vec::as_slice) {
            let (name, place) = &INDEX.names[*number as usize];
            if found.iter().any(|other| other.place == *place) {
                continue;
            }
            if let Some(1) = distance(key.as_bytes(), name.as_bytes(), 1) {
                let quality = EDITED - 1.0 / key.len().max(name.len()) as f32;
                found.push(NamedPlace {
                    place: *place,
                    quality,
                    is_begun: false,
                });
            }
        }
    }
    found
}

/// The most populous places whose name begins with these words.
pub fn beginning(key: &str) -> Vec<NamedPlace> {
    let places = Places::get();
    let names = &INDEX.names;
    let first = names.partition_point(|(name, _)| name.as_str() < key);
    let matching = names[first..]
        .iter()
        .take_while(|(name, _)| name.starts_with(key));
    let mut found: Vec<NamedPlace> = matching
        .map(|(name, place)| NamedPlace {
            place: *place,
            quality: PREFIX + (1.0 - PREFIX) * key.len() as f32 / name.len().max(1) as f32,
            is_begun: true,
        })
        .collect();
    let population = |found: &NamedPlace| {
        places
            .place(found.place)
            .map_or(0, |place| place.population)
    };
    found.sort_by_key(|one| std::cmp::Reverse(population(one)));
    found.truncate(PREFIX_PLACES_MAX);
    found
}

/// Digests of a name, whole and with each letter left out.
fn deletions(name: &str) -> impl Iterator<Item = u64> {
    let bytes = name.as_bytes();
    (0..=bytes.len()).map(move |left_out| {
        let kept = bytes
            .iter()
            .enumerate()
            .filter(move |(at, _)| *at != left_out);
        kept.fold(0xcbf2_9ce4_8422_2325_u64, |hash, (_, byte)| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
        })
    })
}

impl NameIndex {
    fn new() -> Self {
        let places = Places::get();
        let mut index = Self {
            exact: HashMap::new(),
            deletions: HashMap::new(),
            names: Vec::new(),
        };
        for (number, place) in places.all().iter().enumerate() {
            if place.name.is_empty() || place.department.is_empty() {
                continue;
            }
            let number = number as u32;
            let words: Vec<String> = fold::tokens(place.name)
                .into_iter()
                .map(|token| token.text)
                .collect();
            index.add(&words, number, 1.0);
            let article = words
                .first()
                .filter(|first| matches!(first.as_str(), "l" | "la" | "le" | "les"));
            if article.is_some() && words.len() > 1 {
                index.add(&words[1..], number, WITHOUT_ARTICLE);
            }
            if place.kind == PlaceKind::Arrondissement {
                index.add_arrondissement(&words, number);
            }
        }
        index.names.sort();
        index.names.dedup();
        for (number, (name, _)) in index.names.iter().enumerate() {
            if name.len() < FUZZY_MIN {
                continue;
            }
            for form in deletions(name) {
                index.deletions.entry(form).or_default().push(number as u32);
            }
        }
        index
    }

    fn add(&mut self, words: &[String], place: u32, quality: f32) {
        let key = key(words.iter().map(String::as_str));
        let named = self.exact.entry(key.clone()).or_default();
        if !named.iter().any(|other| other.place == place) {
            named.push(NamedPlace {
                place,
                quality,
                is_begun: false,
            });
        }
        if quality == 1.0 {
            self.names.push((key, place));
        }
    }

    /// `Paris 10e Arrondissement` is also written `Paris 10`, `Paris 10e`, `Paris 10ème`, `Paris Xe`.
    fn add_arrondissement(&mut self, words: &[String], place: u32) {
        const ROMAN: [&str; 20] = [
            "i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x", "xi", "xii", "xiii",
            "xiv", "xv", "xvi", "xvii", "xviii", "xix", "xx",
        ];
        let [city, number, ..] = words else { return };
        let Some(roman) = number
            .parse::<usize>()
            .ok()
            .and_then(|number| ROMAN.get(number.wrapping_sub(1)))
        else {
            return;
        };
        let padded = format!("{number:0>2}");
        let forms = [number.as_str(), padded.as_str(), *roman];
        for form in forms {
            for ending in [
                "",
                "e",
                "er",
                "eme",
                "earr",
                "earrondissement",
                "emearrondissement",
                "arrondissement",
            ] {
                let words = [city.clone(), format!("{form}{ending}")];
                self.add(&words, place, 0.99);
            }
        }
    }
}

/// The arrondissement of Paris, Lyon or Marseille that a postal code means; other places as they are.
pub fn narrowed(place: u32, postal_code: Option<&str>) -> u32 {
    let places = Places::get();
    let is_divided = places
        .place(place)
        .is_some_and(|place| DIVIDED_CITIES.contains(&place.code));
    let (true, Some(code)) = (is_divided, postal_code) else {
        return place;
    };
    let mut parts = places.of_postal_code(code).iter();
    let part = parts.find(|part| {
        places
            .place(**part)
            .is_some_and(|part| part.parent == Some(place))
    });
    part.copied().unwrap_or(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codes(found: &[NamedPlace]) -> Vec<&'static str> {
        let place = |one: &NamedPlace| Places::get().place(one.place).map(|place| place.code);
        found.iter().filter_map(place).collect()
    }

    fn words(text: &str) -> String {
        let tokens = fold::tokens(text);
        key(tokens.iter().map(|token| token.text.as_str()))
    }

    #[test]
    fn a_name_is_found_however_it_is_written() {
        for text in ["Saint-Étienne", "ST ETIENNE", "saintetienne"] {
            assert!(codes(named(&words(text))).contains(&"42218"), "{text}");
        }
        assert_eq!(codes(named(&words("Le Puy en Velay"))), ["43157"]);
        assert_eq!(codes(named(&words("puy-en-velay"))), ["43157"]);
        for text in [
            "paris 10",
            "Paris 10e",
            "PARIS Xe",
            "Paris 10ème arrondissement",
        ] {
            assert_eq!(codes(named(&words(text))), ["75110"], "{text}");
        }
    }

    #[test]
    fn a_letter_may_be_wrong_in_a_long_name() {
        assert!(codes(&nearly_named("marveojls")).contains(&"48092"));
        assert!(codes(&nearly_named("marvjols")).contains(&"48092"));
        assert!(nearly_named("men").is_empty());
    }

    #[test]
    fn a_beginning_gives_the_most_populous_first() {
        assert_eq!(codes(&beginning("mars")).first(), Some(&"13055"));
    }
}
