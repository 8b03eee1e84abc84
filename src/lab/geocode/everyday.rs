//! Queries in which people leave out parts of an address or add to it: titles and first names, residences, companies,
//! quarters.

use toise_base::splitmix::SplitMix64;
use toise_geocode::text::{fold::folded, lexicon, persons};

use super::sample::Address;

/// Words before the house number: residences, companies, offices.
const BEFORE: &[&str] = &[
    "Résidence les Tilleuls",
    "Cabinet Martin",
    "SARL Dupont et fils",
    "Mairie",
    "Immeuble le Panoramic",
    "Pharmacie du Marché",
    "EARL du Moulin",
    "Hôtel de la Gare",
];
/// Words after the town.
const BEHIND: &[&str] = &["centre", "centre ville", "bourg", "CEDEX 9", "France"];
/// Words between street and town.
const BETWEEN: &[&str] = &[
    "bâtiment les Érables",
    "ZA du Causse",
    "lieu-dit le Bourg",
    "quartier de la Gare",
    "immeuble le Mistral",
    "lotissement les Pins",
];

/// Leaves out the title before the name: `Avenue Foch`.
pub fn without_title(one: &Address, _: &mut SplitMix64) -> Vec<String> {
    let words: Vec<&str> = one.street.split_whitespace().collect();
    let Some(at) = person_at(&words, persons::is_title) else {
        return Vec::new();
    };
    // `Avenue du Maréchal Foch` loses its `du` with the title.
    let begin = match at.checked_sub(1) {
        Some(before) if folded(words[before]) == "du" => before,
        _ => at,
    };
    let street = [&words[..begin], &words[at + 1..]].concat().join(" ");
    vec![with_street(one, &street)]
}

/// Leaves out the first name: `Rue Moulin`.
pub fn without_first_name(one: &Address, _: &mut SplitMix64) -> Vec<String> {
    let words: Vec<&str> = one.street.split_whitespace().collect();
    let Some(at) = person_at(&words, is_first_name) else {
        return Vec::new();
    };
    let street = [&words[..at], &words[at + 1..]].concat().join(" ");
    vec![with_street(one, &street)]
}

/// Replaces the first name by its initial: `Rue J. Moulin`, `Rue J.-B. Clément`.
pub fn with_initial(one: &Address, _: &mut SplitMix64) -> Vec<String> {
    let words: Vec<&str> = one.street.split_whitespace().collect();
    let Some(at) = person_at(&words, is_first_name) else {
        return Vec::new();
    };
    let letters = words[at]
        .split('-')
        .filter_map(|name| name.chars().next())
        .map(|letter| format!("{letter}."));
    let initials = letters.collect::<Vec<_>>().join("-");
    let street = [&words[..at], &[initials.as_str()], &words[at + 1..]].concat();
    vec![with_street(one, &street.join(" "))]
}

/// Puts a residence, a company or an office before the address.
pub fn with_words_before(one: &Address, random: &mut SplitMix64) -> Vec<String> {
    let before = BEFORE[random.below(BEFORE.len())];
    let gap = gap(random);
    vec![format!("{before}{gap}{}", with_street(one, &one.street))]
}

/// Adds a part of the town, a CEDEX or the country at the end, with and without the postal code.
pub fn with_words_behind(one: &Address, random: &mut SplitMix64) -> Vec<String> {
    let behind = BEHIND[random.below(BEHIND.len())];
    let number = one.house_number();
    let without_code = format!("{number} {} {} {behind}", one.street, one.commune);
    vec![
        format!("{} {behind}", with_street(one, &one.street)),
        without_code,
    ]
}

/// Adds a building, a quarter or a named place between street and town.
pub fn with_words_between(one: &Address, random: &mut SplitMix64) -> Vec<String> {
    let between = BETWEEN[random.below(BETWEEN.len())];
    let gap = gap(random);
    let (number, street) = (one.house_number(), &one.street);
    let begin = format!("{number} {street}{gap}{between}{gap}");
    vec![format!("{begin}{} {}", one.postal_code, one.commune)]
}

/// Adds the person one lives with, before the house number or after the street.
pub fn care_of(one: &Address, _: &mut SplitMix64) -> Vec<String> {
    let number = one.house_number();
    vec![
        format!("chez M. Martin {}", with_street(one, &one.street)),
        format!(
            "{number} {} chez Mme Durand {} {}",
            one.street, one.postal_code, one.commune
        ),
    ]
}

fn gap(random: &mut SplitMix64) -> &'static str {
    [" ", ", "][random.below(2)]
}

fn with_street(one: &Address, street: &str) -> String {
    let number = one.house_number();
    format!("{number} {street} {} {}", one.postal_code, one.commune)
}

/// Returns whether all parts of a folded word are first names, as in `Jean-Baptiste` but not in `Saint-Jean`.
fn is_first_name(word: &str) -> bool {
    word.split(' ').all(persons::is_first_name)
}

/// Returns the index of the first word of a kind, such as a title. It must not be the street's first word or follow
/// `Saint`, and a word other than an article must come after it.
fn person_at(words: &[&str], is_kind: fn(&str) -> bool) -> Option<usize> {
    let is_saint = |at: usize| matches!(folded(words[at]).as_str(), "saint" | "sainte");
    let is_other_word = |at: usize| !lexicon::is_article(&folded(words[at]));
    (1..words.len()).find(|at| {
        is_kind(&folded(words[*at]))
            && !is_saint(at - 1)
            && (at + 1..words.len()).any(is_other_word)
    })
}
