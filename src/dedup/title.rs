//! Words of titles: what two titles have in common, and the one word in which they differ.
//!
//! A word takes 16 bits: 14 of its digest, and its kind. Numbers that repeat a field of the advert (price, surface,
//! rooms) are left out, so that a price cut does not change the words. Other amounts, measures, counts and years are
//! left out too.

use super::digest;
use super::inline_vec::InlineVec;
use super::text::{FoldedText, YEARS_OF_ADVERTS};
use toise_contract::listings::Advert;

/// Maximum words of a title.
const TITLE_WORDS_MAX: usize = 16;
/// Mask of the bits of a word that hold its kind.
const KIND_BITS: u16 = 3;
/// Kind of a word that many titles have, or of the town.
const USUAL: u16 = 0;
/// Kind of any other word.
const NAME: u16 = 1;
/// Kind of a number.
const NUMBER: u16 = 2;
/// Minimum words of a title that may describe only one home.
const LONG_WORDS: usize = 5;
/// Minimum names among them.
const LONG_NAMES: usize = 3;
/// Minimum words that two titles share if they belong to a series.
const SERIES_WORDS: usize = 2;
/// Maximum words of a name in which titles of a series differ.
const NAME_WORDS_MAX: usize = 3;
/// Words that many titles have, in alphabetical order.
const USUAL_WORDS: &[&[u8]] = &[
    b"a", b"achat", b"agreable", b"ancien", b"ancienne", b"annee", b"appart", b"appartement",
    b"appartements", b"ascenseur", b"atypique", b"au", b"aux", b"avec", b"balcon", b"beau", b"bel",
    b"belle", b"bien", b"bois", b"box", b"calme", b"cave", b"centre", b"chambre", b"chambres",
    b"charmant", b"charmante", b"charme", b"cinq", b"coeur", b"coup", b"cour", b"d", b"dans",
    b"de", b"dernier", b"derniere", b"des", b"deux", b"dix", b"dpe", b"du", b"duplex", b"en",
    b"ensoleille", b"ensoleillee", b"et", b"etage", b"exclusivite", b"exterieur", b"familial",
    b"familiale", b"garage", b"grand", b"grande", b"huit", b"ideal", b"immeuble", b"individuelle",
    b"jardin", b"joli", b"jolie", b"l", b"la", b"le", b"les", b"loggia", b"loue", b"louer",
    b"lumineuse", b"lumineux", b"m", b"m2", b"magnifique", b"maison", b"meuble", b"meublee",
    b"meubles", b"moderne", b"neuf", b"neuve", b"parking", b"piece", b"pieces", b"piscine",
    b"plain", b"proche", b"quatre", b"rare", b"ravissant", b"ravissante", b"refait", b"refaite",
    b"renove", b"renovee", b"residence", b"sans", b"sept", b"six", b"spacieuse", b"spacieux",
    b"studio", b"superbe", b"sur", b"terrasse", b"traversant", b"tres", b"trois", b"un", b"une",
    b"vendre", b"vente", b"vide", b"vides", b"villa", b"vue",
];
/// Words before a reference.
const REFERENCE_WORDS: [&[u8]; 3] = [b"ref", b"reference", b"mandat"];
/// Words for the euro; the first stands for its sign.
const EUROS: [&[u8]; 2] = [b"eur", b"euros"];
/// Words after an amount of money, a measure or a count.
const UNIT_WORDS: [&[u8]; 25] = [
    b"cc", b"ch", b"chambre", b"chambres", b"charges", b"eur", b"euros", b"ha", b"hc", b"k", b"ke",
    b"km", b"m", b"m2", b"min", b"minutes", b"mn", b"mois", b"p", b"pces", b"pcs", b"personnes",
    b"piece", b"pieces", b"pp",
];
/// Units of areas, some of which have thousands.
const AREA_UNITS: [&[u8]; 3] = [b"ha", b"m", b"m2"];

/// The words of a title, in order.
pub type TitleWords = InlineVec<u16, TITLE_WORDS_MAX>;

/// How two titles differ that belong to a series of one seller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TitleDifference {
    /// The number at their end.
    Number,
    /// One name.
    Name,
}

/// Returns the words of an advert's title, without numbers that repeat `own_numbers`. The thousands of an amount may be
/// apart if it is near the advert's price, EUR, or the price is unknown.
pub fn title_words(advert: &Advert, own_numbers: &[u32], price: Option<u32>) -> TitleWords {
    // The sign of the euro would be lost.
    let title = advert.title.as_deref().unwrap_or_default();
    let title = FoldedText::from_text(&title.replace('€', " eur "));
    let location = advert.location.as_ref();
    let town = location.and_then(|place| place.city.as_deref());
    let town = FoldedText::from_text(town.unwrap_or_default());
    let district = location.and_then(|place| place.district.as_deref());
    let district = FoldedText::from_text(district.unwrap_or_default());
    let is_usual = |word: &[u8]| {
        let mut of_place = town.words().chain(district.words());
        USUAL_WORDS.contains(&word) || of_place.any(|one| one == word)
    };
    let mut words = TitleWords::default();
    let mut follows_reference = false;
    let all: Vec<&[u8]> = title.words().collect();
    let mut rest = all.as_slice();
    while let [word, after @ ..] = rest {
        let word = *word;
        rest = after;
        let is_reference =
            std::mem::replace(&mut follows_reference, REFERENCE_WORDS.contains(&word));
        let value = number(word);
        let unit = value.and_then(|value| after_measured(value, after, own_numbers, price));
        let kind = match value {
            // A reference and a rent with charges differ between two adverts of one home.
            Some(_) if is_reference || unit.is_some() => {
                rest = unit.unwrap_or(after);
                continue;
            }
            // Relisting a home changes the year in `disponible en septembre 2026`.
            Some(value)
                if value == 0
                    || own_numbers.contains(&value) && !(rest.is_empty() && is_digit(word))
                    || YEARS_OF_ADVERTS.contains(&value) =>
            {
                continue;
            }
            Some(_) => NUMBER,
            // "T3" and "65m2" repeat fields too.
            None if EUROS.contains(&word) || word.iter().any(u8::is_ascii_digit) => continue,
            None if is_usual(word) => USUAL,
            None => NAME,
        };
        words.push((digest::mix(digest::hash(word)) as u16 & !KIND_BITS) | kind);
    }
    words
}

/// Returns the words from the unit on if those after a number make it an amount, a measure or a count, also if its
/// thousands are apart: `450 eur`, `118 000 eur`, `3 pieces`.
fn after_measured<'w, 't>(
    value: u32,
    after: &'w [&'t [u8]],
    own_numbers: &[u32],
    price: Option<u32>,
) -> Option<&'w [&'t [u8]]> {
    let mut joined = value;
    let mut rest = after;
    // `Studio 15, 450 eur` has the number of a studio and a rent.
    while let [word, more @ ..] = rest
        && let Some(thousands) = number(word).filter(|_| word.len() == 3)
        && (thousands == 0 || !own_numbers.contains(&thousands))
    {
        joined = joined.saturating_mul(1_000).saturating_add(thousands);
        rest = more;
    }
    let unit = rest.first().filter(|word| UNIT_WORDS.contains(word))?;
    let is_price = |price: u32| joined / 2 <= price && price / 2 <= joined;
    let is_joined =
        rest.len() == after.len() || AREA_UNITS.contains(unit) || price.is_none_or(is_price);
    is_joined.then_some(rest)
}

fn number(word: &[u8]) -> Option<u32> {
    std::str::from_utf8(word).ok()?.parse().ok()
}

/// Returns whether a word is a digit. At the end of a title it numbers a home rather than counts its rooms:
/// `Studio Bellecour 1`.
fn is_digit(word: &[u8]) -> bool {
    matches!(word, [b'1'..=b'9'])
}

fn is_of(word: u16, kind: u16) -> bool {
    word & KIND_BITS == kind
}

/// Returns whether a title is long and particular enough to describe only one home.
pub fn is_long(words: &TitleWords) -> bool {
    let names = words.iter().filter(|word| is_of(**word, NAME)).count();
    words.len() >= LONG_WORDS && names >= LONG_NAMES
}

/// Returns the digest of a title.
pub fn digest_of(words: &TitleWords) -> u64 {
    let all = words.iter();
    all.fold(digest::EMPTY, |hashed, word| {
        digest::with(hashed, u64::from(*word))
    })
}

/// Returns how two titles of a series differ: they share most words, one of them a name, and differ in the number at
/// their end or in one name.
pub fn difference(one: &TitleWords, other: &TitleWords) -> Option<TitleDifference> {
    if one == other {
        return None;
    }
    let is_equal = |(first, second): &(&u16, &u16)| first == second;
    let before = one.iter().zip(other.iter()).take_while(is_equal).count();
    let rest = one.len().min(other.len()) - before;
    let from_end = one.iter().rev().zip(other.iter().rev()).take(rest);
    let after = from_end.take_while(is_equal).count();
    let mut shared = one[..before].iter().chain(&one[one.len() - after..]);
    if before + after < SERIES_WORDS || !shared.any(|word| is_of(*word, NAME)) {
        return None;
    }
    let differing = [
        &one[before..one.len() - after],
        &other[before..other.len() - after],
    ];
    let is_number = |words: &[u16]| matches!(words, [word] if is_of(*word, NUMBER));
    let is_name = |words: &[u16]| {
        words.len() <= NAME_WORDS_MAX
            && words.iter().any(|word| is_of(*word, NAME))
            && !words.iter().any(|word| is_of(*word, NUMBER))
    };
    if after == 0 && differing.iter().all(|words| is_number(words)) {
        Some(TitleDifference::Number)
    } else if differing.iter().all(|words| is_name(words)) {
        Some(TitleDifference::Name)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use toise_contract::read::read;

    fn words(title: &str) -> TitleWords {
        let advert = json!({"title": title, "location": {"city": "Saint-Étienne"}});
        title_words(&read::<Advert>(&advert).unwrap(), &[3, 65, 118], None)
    }

    #[test]
    fn titles_of_a_series_differ_in_a_number_or_a_name() {
        let found = |one: &str, other: &str| difference(&words(one), &words(other));
        assert_eq!(
            found(
                "Zenith - Private Studio (15)",
                "Zenith - Private Studio (5)"
            ),
            Some(TitleDifference::Number)
        );
        assert_eq!(
            found("Studio BEL-MOD Bugey", "Studio BEL-MOD Mont d'Or"),
            Some(TitleDifference::Name)
        );
        assert_eq!(
            found("Bel appartement lumineux", "Bel appartement calme"),
            None
        );
        assert_eq!(
            found("Maison 3 pièces 118 000 €", "Maison 3 pièces 65 m²"),
            None,
            "fields repeated"
        );
        assert_eq!(
            found(
                "Studio Bellecour, septembre 2025",
                "Studio Bellecour, septembre 2026"
            ),
            None,
            "years of adverts"
        );
        for (one, other) in [
            ("Studio Bellecour 450 €", "Studio Bellecour 480 €"),
            ("Studio Bellecour 249 500 €", "Studio Bellecour 239 900€"),
            ("Studio Bellecour 250 k€", "Studio Bellecour 245 k€"),
            ("Studio Bellecour 21 m²", "Studio Bellecour 22 m²"),
            ("Bellecour Confluence 2 p", "Bellecour Confluence 4 p"),
            (
                "Bellecour Confluence cinq pièces",
                "Bellecour Confluence six pièces",
            ),
        ] {
            assert_eq!(found(one, other), None, "{one}");
        }
        assert_eq!(
            found("Studio Zenith 15 - 118 €", "Studio Zenith 16 - 118 €"),
            Some(TitleDifference::Number)
        );
        assert_eq!(
            found("Studio Zenith 2", "Studio Zenith 3"),
            Some(TitleDifference::Number),
            "3 is the number of rooms too"
        );
        // The rent of the title is that of the advert with charges.
        let rented = |title: &str| {
            let advert = read::<Advert>(&json!({"title": title})).unwrap();
            title_words(&advert, &[450], Some(450))
        };
        let [one, other] = ["15 - 480 euros", "16 - 480 euros"]
            .map(|studio| rented(&format!("Zenith Studio {studio}")));
        assert_eq!(difference(&one, &other), Some(TitleDifference::Number));
    }

    #[test]
    fn a_title_of_usual_words_and_the_town_is_not_long() {
        assert!(is_long(&words(
            "monthieu / chateaucreux / steel t4 81,50m2 dernier étage"
        )));
        assert!(!is_long(&words(
            "Vente appartement 3 pièces avec balcon à Saint-Étienne 65 m²"
        )));
    }
}
