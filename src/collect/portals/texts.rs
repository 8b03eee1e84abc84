//! Parses texts that hold a single value: a list, a position or a number. Also detects amounts that are not a price.

use std::borrow::Cow;

use serde_json::{Value, json};
use toise_input::number::{self, LoneSeparator};
use toise_page::french;

/// Returns the items of a text that is a JSON array, or a list as Python prints it.
pub(super) fn list(text: &str) -> Option<Vec<Value>> {
    if !(text.starts_with('[') && text.ends_with(']')) {
        return None;
    }
    let read = |text: &str| serde_json::from_str(text).ok();
    read(text).or_else(|| read(&text.replace('\'', "\"")))
}

/// Splits a text into URLs, which exports separate by bars, white space, commas or semicolons. A comma or semicolon
/// separates only before another URL, because URLs may contain both.
pub(super) fn addresses(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for part in text.split(|character: char| character == '|' || character.is_whitespace()) {
        let mut rest = part;
        loop {
            let end = rest
                .match_indices([',', ';'])
                .find_map(|(at, _)| rest[at + 1..].starts_with("http").then_some(at));
            let Some(end) = end else { break };
            found.push(&rest[..end]);
            rest = &rest[end + 1..];
        }
        found.push(rest.trim_end_matches([',', ';']));
    }
    found.retain(|address| !address.is_empty());
    found
}

/// Splits a position written as text into its numbers: with or without brackets, separated by a comma, a semicolon or a
/// space.
pub(super) fn pair(text: &str) -> Vec<Value> {
    let text = text.trim_matches(['(', ')', '[', ']', ' ']);
    let parts = text.split([';', ' ']).flat_map(|part| {
        // With a semicolon as separator, a comma marks decimals.
        if text.contains(';') {
            vec![part]
        } else {
            part.split(',').collect()
        }
    });
    parts
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .map(|part| json!(part))
        .collect()
}

/// Returns what a lone separator before three digits means if a rule names the decimal mark.
pub(crate) fn separator(decimal: Option<char>) -> Option<LoneSeparator> {
    decimal.map(|mark| match mark {
        ',' => LoneSeparator::French,
        _ => LoneSeparator::English,
    })
}

/// Reads a text that is one number, in any usual notation; `None` for any other text. A lone separator marks decimals,
/// unless `decimal` names the other mark.
pub(crate) fn plain_number(text: &str, decimal: Option<char>) -> Option<f64> {
    number::read(text, separator(decimal).unwrap_or(LoneSeparator::Decimals))
}

/// Returns a text without the discount that portals show next to a price: `1 040 € -4%`.
pub(super) fn without_discount(text: &str) -> Cow<'_, str> {
    let Some((before, after)) = text.split_once('%') else {
        return Cow::Borrowed(text);
    };
    let with_number = before.trim_end();
    let is_of_number =
        |character: char| character.is_ascii_digit() || matches!(character, '.' | ',');
    let sign = with_number.trim_end_matches(is_of_number);
    match sign.strip_suffix(['-', '−', '–']) {
        Some(price) if sign.len() < with_number.len() => {
            Cow::Owned(format!("{price} {after}").trim().to_owned())
        }
        _ => Cow::Borrowed(text),
    }
}

/// Returns whether a text that is not one number has no single price. It gives an annuity, or it has no words and so
/// consists of several amounts. A bouquet alone is a price.
pub(crate) fn has_no_single_price(text: &str) -> bool {
    let lower = text.to_lowercase();
    let has_any = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    let is_annuity = has_any(&["rente"])
        || has_any(&["bouquet", "viager"])
            && (french::single_number(text).is_none() || has_any(&["mois", "/m", " ans"]));
    // Without words it holds only amounts, such as a reduced price and the previous one.
    let has_words = lower.chars().any(char::is_alphabetic);
    is_annuity || !has_words
}
