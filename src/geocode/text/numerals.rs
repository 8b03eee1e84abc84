//! Reads numbers as street names write them: digits, words, ordinals and Roman numerals.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::fold::Token;
use super::lexicon;

/// Greatest Roman numeral that is read: greater ones contain an L, and single letters are more often initials.
const ROMAN_MAX: usize = 39;
/// Numbers that are written as one word: value, cardinal, ordinal.
#[rustfmt::skip]
const WORDS: &[(usize, &str, &str)] = &[
    (1, "un", "premier"), (1, "une", "premiere"), (2, "deux", "deuxieme"), (2, "second", "seconde"),
    (3, "trois", "troisieme"), (4, "quatre", "quatrieme"), (5, "cinq", "cinquieme"), (6, "six", "sixieme"),
    (7, "sept", "septieme"), (8, "huit", "huitieme"), (9, "neuf", "neuvieme"), (10, "dix", "dixieme"),
    (11, "onze", "onzieme"), (12, "douze", "douzieme"), (13, "treize", "treizieme"), (14, "quatorze", "quatorzieme"),
    (15, "quinze", "quinzieme"), (16, "seize", "seizieme"), (20, "vingt", "vingtieme"), (30, "trente", "trentieme"),
    (40, "quarante", "quarantieme"), (50, "cinquante", "cinquantieme"), (60, "soixante", "soixantieme"),
    (100, "cent", "centieme"),
];

struct Numerals {
    /// The ways to write each value.
    forms: HashMap<usize, Vec<String>>,
    values: HashMap<String, usize>,
}

static NUMERALS: LazyLock<Numerals> = LazyLock::new(Numerals::new);

impl Numerals {
    fn new() -> Self {
        let mut forms: HashMap<usize, Vec<String>> = HashMap::new();
        for value in 1..=ROMAN_MAX {
            let roman = roman(value);
            let of_value = forms.entry(value).or_default();
            of_value.push(value.to_string());
            // `Ieme` alone is only the ending of an ordinal: `152 ieme`.
            let ends: &[&str] = match value {
                1 => &["", "er", "ere"],
                _ => &["", "e", "eme", "ieme"],
            };
            of_value.extend(ends.iter().map(|end| format!("{roman}{end}")));
        }
        for (value, cardinal, ordinal) in WORDS {
            let of_value = forms
                .entry(*value)
                .or_insert_with(|| vec![value.to_string()]);
            of_value.extend([(*cardinal).into(), (*ordinal).into()]);
        }
        let all = forms.iter();
        let values = all
            .flat_map(|(value, forms)| forms.iter().map(|form| (form.clone(), *value)))
            .collect();
        Self { forms, values }
    }
}

fn roman(value: usize) -> String {
    const UNITS: [&str; 10] = ["", "i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix"];
    format!("{}{}", "x".repeat(value / 10), UNITS[value % 10])
}

/// Returns the ways to write the number that a word is; empty for another word.
pub fn forms(word: &str) -> &'static [String] {
    let value = NUMERALS.values.get(word);
    let forms = value.and_then(|value| NUMERALS.forms.get(value));
    forms.map_or(&[], Vec::as_slice)
}

/// Replaces a number in several words by its digits: `dix-huit`, `vingt et un`, `trente-deuxième`. Also replaces a house
/// number in one word: `douze rue Basse`.
pub fn join(tokens: &mut Vec<Token>) {
    let word = |one: &(usize, &str, &str), text: &str| one.1 == text || one.2 == text;
    let value = |text: &str| WORDS.iter().find(|one| word(one, text)).map(|one| one.0);
    let mut at = 0;
    while at + 1 < tokens.len() {
        let tens = match tokens[at].text.as_str() {
            "dix" => 10,
            "vingt" => 20,
            "trente" => 30,
            "quarante" => 40,
            "cinquante" => 50,
            _ => {
                at += 1;
                continue;
            }
        };
        let gap = usize::from(tokens[at + 1].text == "et") + 1;
        let unit = tokens
            .get(at + gap)
            .and_then(|unit| match unit.text.as_str() {
                "unieme" => Some(1),
                text => value(text),
            });
        // `soixante-dix` and `quatre-vingts` do not occur in names; `dix-sept` is the least number in two words.
        if let Some(unit) = unit.filter(|unit| (if tens == 10 { 7 } else { 1 }..10).contains(unit))
        {
            tokens[at].end = tokens[at + gap].end;
            tokens[at].text = (tens + unit).to_string();
            tokens.drain(at + 1..=at + gap);
        }
        at += 1;
    }
    if let [first, next, ..] = tokens.as_mut_slice()
        && let Some((value, ..)) = WORDS.iter().find(|one| one.1 == first.text)
    {
        let mut meant = lexicon::expansions(&next.text)
            .iter()
            .copied()
            .chain([next.text.as_str()]);
        if meant.any(lexicon::is_street_type) {
            first.text = value.to_string();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::fold;

    #[test]
    fn a_number_has_its_forms() {
        for (one, other) in [
            ("30", "trentieme"),
            ("xxxe", "30"),
            ("huit", "8"),
            ("1", "premier"),
            ("quatorze", "xiv"),
        ] {
            assert!(forms(one).iter().any(|form| form == other), "{one} {other}");
        }
        for word in ["rue", "1945", "ieme"] {
            assert!(forms(word).is_empty(), "{word}");
        }
    }

    #[test]
    fn numbers_in_several_words_are_joined() {
        for (text, expected) in [
            ("rue du dix-huit juin", "rue du 18 juin"),
            ("vingt et unième régiment", "21 regiment"),
            ("dix cors", "dix cors"),
            ("vingt-deux", "22"),
            ("douze rue basse", "12 rue basse"),
            ("douze av foch", "12 av foch"),
            ("deux ponts", "deux ponts"),
        ] {
            let mut tokens = fold::tokens(text);
            join(&mut tokens);
            let texts: Vec<&str> = tokens.iter().map(|one| one.text.as_str()).collect();
            assert_eq!(texts.join(" "), expected);
        }
    }
}
