//! Texts that are one value each: yes or no, a list, a position, a number with its grouping and unit.

use serde_json::{Value, json};

/// Spellings of yes and no, in lower case.
const YES: [&str; 7] = ["1", "1.0", "true", "yes", "oui", "vrai", "o"];
/// See [`YES`].
pub(super) const NO: [&str; 9] = [
    "0", "0.0", "false", "no", "non", "faux", "n", "aucun", "aucune",
];

/// Reads yes or no; `None` for any other text.
pub(super) fn flag(text: &str) -> Option<bool> {
    let text = text.to_lowercase();
    let is = |spellings: &[&str]| spellings.contains(&text.as_str());
    is(&YES)
        .then_some(true)
        .or_else(|| is(&NO).then_some(false))
}

/// Returns the items of a text that is a JSON array, or a list as Python prints it.
pub(super) fn list(text: &str) -> Option<Vec<Value>> {
    if !(text.starts_with('[') && text.ends_with(']')) {
        return None;
    }
    let read = |text: &str| serde_json::from_str(text).ok();
    read(text).or_else(|| read(&text.replace('\'', "\"")))
}

/// Splits a position written as text into its numbers: with or without brackets, separated by a comma, a semicolon or a
/// space.
pub(super) fn pair(text: &str) -> Vec<Value> {
    let text = text.trim_matches(['(', ')', '[', ']', ' ']);
    let parts = text
        .split([';', ' '])
        .flat_map(|part| match text.contains(';') {
            // A comma then marks decimals.
            true => vec![part],
            false => part.split(',').collect(),
        });
    parts
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .map(|part| json!(part))
        .collect()
}

/// Reads a text that is one number, with any grouping, currency or unit of area; `None` for any other text.
///
/// A point marks decimals unless `decimal` is a comma. Without `decimal`, a single comma marks decimals if there is no
/// point.
pub(crate) fn plain_number(text: &str, decimal: Option<char>) -> Option<f64> {
    let finite = |number: f64| number.is_finite().then_some(number);
    if decimal != Some(',')
        && let Ok(number) = text.trim().parse::<f64>()
    {
        return finite(number);
    }
    let text = text
        .trim()
        .trim_start_matches(['€', '\u{a0}', ' '])
        .trim_end_matches(['€', '²', ' ', '\u{a0}', '\u{202f}']);
    let text = text.trim_end_matches(" m2").trim_end_matches(" m");
    let mut plain: String = text
        .chars()
        .filter(|sign| !sign.is_whitespace() && *sign != '\'')
        .collect();
    match decimal {
        Some(',') => plain = plain.replace('.', "").replace(',', "."),
        Some(_) => plain = plain.replace(',', ""),
        None if !plain.contains('.') && plain.matches(',').count() == 1 => {
            plain = plain.replace(',', ".");
        }
        None => {}
    }
    let is_number = plain.chars().any(|sign| sign.is_ascii_digit())
        && plain
            .chars()
            .all(|sign| sign.is_ascii_digit() || matches!(sign, '.' | '-' | '+'));
    is_number
        .then(|| plain.parse().ok())
        .flatten()
        .and_then(finite)
}
