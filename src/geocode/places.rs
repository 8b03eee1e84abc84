//! Finds the places that a query may name: communes, arrondissements and former communes. It finds them by name, by the
//! beginning of a name, with one wrong letter, or by postal code.
//!
//! Names are looked up without spaces, so `saintetienne` and `Saint-Étienne` are one key. `Saint`, `Sainte` and `sur`
//! may be abbreviated, and a leading article or all articles and prepositions may be omitted (`Chalon Saône`). Names of
//! at least five letters are also found with one edit, and names of four letters with less certainty. Both use symmetric
//! deletion: name and query are one edit apart only if dropping at most one letter of each gives the same string.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use super::text::deletions::Deletions;
use super::text::fold;
use super::text::lexicon;
use super::text::likeness::distance;
use toise_geo::places::{DIVIDED_CITIES, PlaceKind, Places};

/// Minimum length of a name that is found despite one edit, in bytes.
pub const FUZZY_MIN: usize = 5;
/// Minimum length at the end of a query without a postal code, where the name is most probably a town.
pub const SHORT_FUZZY_MIN: usize = 4;
/// Maximum number of places found by a name prefix, the most populous first.
const PREFIX_PLACES_MAX: usize = 24;
/// If more names than this share a prefix, its most populous places are precomputed.
const SHARED_NAMES: usize = 64;
/// Quality of a name with one edit, before subtracting the share of one letter in its length.
const EDITED: f32 = 1.0;
/// Quality of a name shorter than [`FUZZY_MIN`] with one edit. Most such words are one edit away from several names.
pub const SHORT_EDITED: f32 = 0.45;
/// Minimum length of a name that is found despite two edits, in bytes, and the quality of such a name: a town so far from
/// what is written is less probable than a street of exactly this name elsewhere.
const TWICE_EDITED_MIN: usize = 8;
const TWICE_EDITED: f32 = 0.5;
/// Quality of a name whose article was omitted or added.
const WITHOUT_ARTICLE: f32 = 0.97;
/// Quality of a name without all its articles and prepositions.
const WITHOUT_PARTICLES: f32 = 0.95;
/// Quality of the shortest prefix of a name; longer ones are better.
const PREFIX: f32 = 0.8;

/// A place that a text may name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NamedPlace {
    /// Index into [`Places::all`].
    pub place: u32,
    /// How well the text fits the name, 0 to 1.
    pub quality: f32,
    /// Whether the text is only a prefix of the name.
    pub is_prefix: bool,
}

struct NameIndex {
    exact: HashMap<String, Vec<NamedPlace>, foldhash::fast::FixedState>,
    deletions: Deletions,
    /// Names in ascending order, to look up prefixes.
    names: Vec<(String, u32)>,
    /// The most populous places of prefixes that many names share.
    beginnings: HashMap<String, Vec<NamedPlace>, foldhash::fast::FixedState>,
    /// Bytes of the longest name.
    bytes_max: usize,
}

static INDEX: LazyLock<NameIndex> = LazyLock::new(NameIndex::new);

/// Maximum words of a place's name in a query.
pub const NAME_WORDS_MAX: usize = 8;

/// Expands an abbreviation that place names use; other folded words are returned unchanged.
pub fn expand(word: &str) -> &str {
    match word {
        "st" => "saint",
        "ste" => "sainte",
        "sts" => "saints",
        "stes" => "saintes",
        "s" => "sur",
        "ss" => "sous",
        "nd" => "notredame",
        "gd" => "grand",
        "gde" => "grande",
        "mt" => "mont",
        word => word,
    }
}

/// Returns the key of a name given as folded words.
pub fn key<'w>(words: impl Iterator<Item = &'w str>) -> String {
    words.map(expand).collect()
}

/// Returns the places whose name has this key.
pub fn named(key: &str) -> &'static [NamedPlace] {
    INDEX.exact.get(key).map_or(&[], Vec::as_slice)
}

/// Returns the length in bytes of the longest key that can name a place, with an edit.
pub fn key_bytes_max() -> usize {
    INDEX.bytes_max + 1
}

/// Returns the places whose name has at least `letters_min` letters and differs from the key by one edit.
pub fn nearly_named(key: &str, letters_min: usize) -> Vec<NamedPlace> {
    if key.len() > key_bytes_max() {
        return Vec::new();
    }
    nearly(&INDEX.deletions, &INDEX.names, key, letters_min)
}

/// Returns the places whose name begins with the same letter as the key and differs from it by two edits.
pub fn twice_misspelled(key: &str) -> Vec<NamedPlace> {
    let first = key.get(..1).unwrap_or_default();
    if key.len() < TWICE_EDITED_MIN || first.is_empty() {
        return Vec::new();
    }
    let found = names_from(&INDEX.names, first).iter().filter(|(name, _)| {
        name.len() >= TWICE_EDITED_MIN && distance(key.as_bytes(), name.as_bytes(), 2) == Some(2)
    });
    let named = found.map(|(_, place)| NamedPlace {
        place: *place,
        quality: TWICE_EDITED,
        is_prefix: false,
    });
    named.collect()
}

/// Returns the `names` of at least `letters_min` letters that differ from `key` by one edit.
fn nearly(
    deletions: &Deletions,
    names: &[(String, u32)],
    key: &str,
    letters_min: usize,
) -> Vec<NamedPlace> {
    let mut found: Vec<NamedPlace> = Vec::new();
    // A letter may be missing from the key.
    if key.len() + 1 < letters_min {
        return found;
    }
    deletions.each_neighbour(key, |number| {
        let (name, place) = &names[number as usize];
        if name.len() < letters_min || found.iter().any(|other| other.place == *place) {
            return;
        }
        if let Some(1) = distance(key.as_bytes(), name.as_bytes(), 1) {
            let quality = if name.len() < FUZZY_MIN {
                SHORT_EDITED
            } else {
                EDITED - 1.0 / key.len().max(name.len()) as f32
            };
            found.push(NamedPlace {
                place: *place,
                quality,
                is_prefix: false,
            });
        }
    });
    found
}

/// Returns the most populous places whose name begins with the key and is longer.
pub fn beginning(key: &str) -> Vec<NamedPlace> {
    match INDEX.beginnings.get(key) {
        Some(found) => found.clone(),
        None => most_populous(&INDEX.names, key),
    }
}

/// Returns all places whose name begins with the key and is longer, and the communes that such places belong to.
pub fn begun(key: &str) -> HashSet<u32, foldhash::fast::FixedState> {
    let parent = |place: u32| Places::get().place(place).and_then(|place| place.parent);
    let names = names_from(&INDEX.names, key).iter();
    let found = names.flat_map(|(_, place)| [Some(*place), parent(*place)]);
    found.flatten().collect()
}

/// Returns the places whose name begins with the words of a key, such as Digne-les-Bains for `Digne`; none if too many
/// names begin with the words.
pub fn first_words(key: &str) -> Vec<NamedPlace> {
    let mut found = beginning(key);
    if found.len() >= PREFIX_PLACES_MAX {
        return Vec::new();
    }
    found.retain(|one| {
        let name = Places::get()
            .place(one.place)
            .map_or("", |place| place.name);
        let mut own = String::new();
        fold::tokens(name).iter().any(|word| {
            own.push_str(expand(&word.text));
            own == key
        })
    });
    found.iter_mut().for_each(|one| one.is_prefix = false);
    found
}

/// Returns the names that begin with a key and are longer.
fn names_from<'n>(names: &'n [(String, u32)], key: &str) -> &'n [(String, u32)] {
    let first = names.partition_point(|(name, _)| name.as_str() <= key);
    let count = names[first..].partition_point(|(name, _)| name.starts_with(key));
    &names[first..first + count]
}

fn most_populous(names: &[(String, u32)], key: &str) -> Vec<NamedPlace> {
    let places = Places::get();
    let population = |place: u32| places.place(place).map_or(0, |place| place.population);
    let matching = names_from(names, key).iter();
    let mut found: Vec<(u32, NamedPlace)> = matching
        .map(|(name, place)| {
            let named = NamedPlace {
                place: *place,
                quality: PREFIX + (1.0 - PREFIX) * key.len() as f32 / name.len().max(1) as f32,
                is_prefix: true,
            };
            (population(*place), named)
        })
        .collect();
    found.sort_by_key(|(population, _)| std::cmp::Reverse(*population));
    found.truncate(PREFIX_PLACES_MAX);
    found.into_iter().map(|(_, named)| named).collect()
}

/// Returns the prefixes that more than [`SHARED_NAMES`] names share, with their most populous places.
fn shared_beginnings(
    names: &[(String, u32)],
) -> HashMap<String, Vec<NamedPlace>, foldhash::fast::FixedState> {
    let mut shared = HashMap::default();
    for pair in names.chunks(SHARED_NAMES).map(|chunk| &chunk[0].0) {
        // A prefix of more names than a chunk holds is also a prefix of the first name of some chunk.
        for length in 1..pair.len() {
            let Some(key) = pair.get(..length) else {
                continue;
            };
            if shared.contains_key(key) {
                continue;
            }
            if names_from(names, key).len() <= SHARED_NAMES {
                break;
            }
            shared.insert(key.to_owned(), most_populous(names, key));
        }
    }
    shared
}

/// Indexes the names that are long enough to be found with an edit, by their number.
fn deletions(names: &[(String, u32)]) -> Deletions {
    let numbered = names.iter().enumerate();
    let long = numbered.filter(|(_, (name, _))| name.len() >= SHORT_FUZZY_MIN);
    Deletions::new(long.map(|(number, (name, _))| (number as u32, name.as_str())))
}

/// Names that addresses use for places but the table of places lacks, such as the previous name of a commune.
#[derive(Default)]
pub struct OtherNames {
    exact: HashMap<String, Vec<NamedPlace>, foldhash::fast::FixedState>,
    /// `None` if there are no names.
    deletions: Option<Deletions>,
    /// Names in ascending order, to look up prefixes.
    names: Vec<(String, u32)>,
}

impl OtherNames {
    /// Collects pairs of a name as written and its place, except names that the table already has for the place.
    pub fn new<'n>(all: impl Iterator<Item = (&'n str, u32)>) -> Self {
        let mut names: Vec<(String, u32)> = all
            .filter_map(|(name, place)| {
                let tokens = fold::tokens(name);
                let key = key(tokens.iter().map(|token| token.text.as_str()));
                let is_known = named(&key).iter().any(|one| one.place == place);
                (!is_known && !key.is_empty() && key.len() <= key_bytes_max())
                    .then_some((key, place))
            })
            .collect();
        names.sort_unstable();
        names.dedup();
        let mut exact: HashMap<String, Vec<NamedPlace>, _> = HashMap::default();
        for (key, place) in &names {
            exact.entry(key.clone()).or_default().push(NamedPlace {
                place: *place,
                quality: 1.0,
                is_prefix: false,
            });
        }
        Self {
            deletions: (!names.is_empty()).then(|| deletions(&names)),
            exact,
            names,
        }
    }

    /// Returns the places whose name has this key.
    pub fn named(&self, key: &str) -> &[NamedPlace] {
        if self.names.is_empty() {
            &[]
        } else {
            self.exact.get(key).map_or(&[], Vec::as_slice)
        }
    }

    /// Returns the places whose name has at least `letters_min` letters and differs from the key by one edit.
    pub fn nearly_named(&self, key: &str, letters_min: usize) -> Vec<NamedPlace> {
        let deletions = self.deletions.as_ref();
        deletions.map_or_else(Vec::new, |deletions| {
            nearly(deletions, &self.names, key, letters_min)
        })
    }

    /// Returns the most populous places whose name begins with the key and is longer.
    pub fn beginning(&self, key: &str) -> Vec<NamedPlace> {
        most_populous(&self.names, key)
    }
}

impl NameIndex {
    fn new() -> Self {
        let places = Places::get();
        let mut index = Self {
            exact: HashMap::default(),
            deletions: Deletions::default(),
            names: Vec::new(),
            beginnings: HashMap::default(),
            bytes_max: 0,
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
            let main: Vec<String> = words
                .iter()
                .filter(|word| !lexicon::is_article(word))
                .cloned()
                .collect();
            if main.len() > 1 {
                index.add(&main, number, WITHOUT_PARTICLES);
            }
            if place.kind == PlaceKind::Arrondissement {
                index.add_arrondissement(&words, number);
            }
        }
        index.names.sort();
        index.names.dedup();
        index.deletions = deletions(&index.names);
        index.beginnings = shared_beginnings(&index.names);
        let lengths = index.exact.keys().map(String::len);
        index.bytes_max = lengths.max().unwrap_or(0);
        index
    }

    fn add(&mut self, words: &[String], place: u32, quality: f32) {
        let key = key(words.iter().map(String::as_str));
        let named = self.exact.entry(key.clone()).or_default();
        if !named.iter().any(|other| other.place == place) {
            named.push(NamedPlace {
                place,
                quality,
                is_prefix: false,
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

/// Returns the arrondissement of Paris, Lyon or Marseille for a postal code; other places unchanged.
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
        for (text, code) in [
            ("St Alban Limagnole", "48132"),
            ("St-Alban s/ Limagnole", "48132"),
            ("Bourgs/Colagne", "48099"),
            ("Chalon Saône", "71076"),
            ("Gd Bornand", "74136"),
        ] {
            assert_eq!(codes(named(&words(text))), [code], "{text}");
        }
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
        assert!(codes(&nearly_named("marveojls", FUZZY_MIN)).contains(&"48092"));
        assert!(codes(&nearly_named("marvjols", FUZZY_MIN)).contains(&"48092"));
        assert!(nearly_named("men", FUZZY_MIN).is_empty());
        assert!(
            nearly_named("fhoix", FUZZY_MIN)
                .iter()
                .all(|one| one.quality > SHORT_EDITED)
        );
        for text in ["fhoix", "foxi", "fonx", "fix"] {
            let found = nearly_named(text, SHORT_FUZZY_MIN);
            let foix = found.iter().find(|one| codes(&[**one]) == ["09122"]);
            assert_eq!(foix.map(|one| one.quality), Some(SHORT_EDITED), "{text}");
        }
    }

    #[test]
    fn beginnings_shared_by_many_names_are_listed_as_they_are_found() {
        assert!(INDEX.beginnings.contains_key("saint"));
        for (key, listed) in &INDEX.beginnings {
            assert_eq!(*listed, most_populous(&INDEX.names, key), "{key}");
        }
        let (names, longest) = (&INDEX.names, "saintm");
        assert!(names_from(names, longest).len() > SHARED_NAMES);
        assert!(INDEX.beginnings.contains_key(longest));
    }

    #[test]
    fn a_beginning_gives_the_most_populous_first() {
        assert_eq!(codes(&beginning("mars")).first(), Some(&"13055"));
    }
}
