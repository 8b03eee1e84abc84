//! Finds the words of a query that are irrelevant to street and place: post boxes, CEDEX, buildings, floors and flats.
//!
//! Such a word is irrelevant only together with a number or letter, as in `Bât C`, `BP 123` or `3e étage`. `Tour` in
//! `Place de la Tour` has neither, so it counts.

use super::query::{bits, opens_street};
use crate::text::fold::Token;
use crate::text::{lexicon, numerals};

/// Maximum digits of a floor, and of the number after CEDEX.
const SHORT_DIGITS: usize = 2;
/// Maximum digits of the number of a door, a floor or a box.
const VALUE_DIGITS: usize = 5;
/// Maximum digits after the letter of a building: `Bât B12`.
const TAIL_DIGITS: usize = 3;

/// Returns the irrelevant tokens, as bits. The tokens in `skipped` never are: a postal code, and a word that is still
/// being typed.
pub(super) fn tokens(text: &str, tokens: &[Token], skipped: [Option<usize>; 2]) -> u64 {
    let mut found = 0;
    let mut at = 0;
    while at < tokens.len() {
        let end = at + length(text, &tokens[at..]);
        let is_skipped = skipped
            .into_iter()
            .flatten()
            .any(|one| (at..end).contains(&one));
        if is_skipped || end == at {
            at += 1;
        } else {
            found |= bits(at..end);
            at = end;
        }
    }
    found
}

/// Returns the number after CEDEX.
pub(super) fn cedex_number(tokens: &[Token]) -> Option<u32> {
    let mut pairs = tokens.windows(2);
    let found = pairs.find(|pair| pair[0].text == "cedex" && is_short_number(&pair[1]));
    found.and_then(|pair| pair[1].text.parse().ok())
}

/// Returns whether a token is the number of a post box: `CS 30001`.
pub(super) fn is_box_number(tokens: &[Token], at: usize) -> bool {
    (at.saturating_sub(MAIL_TOKENS_MAX)..at)
        .any(|begin| mail_box(&tokens[begin..]) == Some(at - begin))
}

/// Maximum tokens before the number of a post box: `T.S.A. n°`.
const MAIL_TOKENS_MAX: usize = 4;

/// Returns how many of the tokens, from the first, are irrelevant.
fn length(text: &str, tokens: &[Token]) -> usize {
    let [first, rest @ ..] = tokens else {
        return 0;
    };
    if first.text == "cedex" && rest.first().is_some_and(is_short_number) {
        return 2;
    }
    if lexicon::is_noise(&first.text) {
        return 1;
    }
    if let Some(number) = mail_box(tokens) {
        return number + 1;
    }
    match floor(tokens) {
        0 => door(text, tokens),
        length => length,
    }
}

fn is_short_number(token: &Token) -> bool {
    token.is_number() && token.text.len() <= SHORT_DIGITS
}

/// Returns the index of the number of a post box that the tokens begin with: `BP 12`, `B.P. 12`, `CS n° 30001`.
fn mail_box(tokens: &[Token]) -> Option<usize> {
    const BOXES: [&[&str]; 6] = [
        &["bp"],
        &["b", "p"],
        &["cs"],
        &["c", "s"],
        &["tsa"],
        &["t", "s", "a"],
    ];
    let texts = |count: usize| tokens.iter().take(count).map(|token| token.text.as_str());
    let letters = BOXES
        .iter()
        .find(|letters| texts(letters.len()).eq(letters.iter().copied()))?;
    let number = letters.len() + filler(&tokens[letters.len()..]);
    let token = tokens.get(number)?;
    (token.is_number() && token.text.len() <= VALUE_DIGITS).then_some(number)
}

/// Returns how many tokens only introduce a number: `n°`, `no`, `numéro`.
fn filler(tokens: &[Token]) -> usize {
    let is_filler = |token: &Token| matches!(token.text.as_str(), "n" | "no" | "num" | "numero");
    match tokens {
        [first, second, ..] if is_filler(first) && second.is_number() => 1,
        _ => 0,
    }
}

/// Returns the number of tokens of a floor: `3e étage`, `premier étage gauche`, `rez-de-chaussée`.
fn floor(tokens: &[Token]) -> usize {
    let text = |at: usize| tokens.get(at).map_or("", |token| token.text.as_str());
    if text(0) == "rez" {
        let chaussee = (1..3).find(|at| text(*at) == "chaussee");
        return chaussee.map_or(0, |at| at + 1);
    }
    let is_digit = tokens[0].is_number();
    let ends = usize::from(
        is_digit && matches!(text(1), "e" | "er" | "eme" | "ieme" | "nd" | "ere" | "me"),
    );
    let is_ordinal =
        ends == 1 || text(0) == "dernier" || (!is_digit && !numerals::forms(text(0)).is_empty());
    let named = ends + 1;
    if !matches!(text(named), "etage" | "etg") {
        return 0;
    }
    // In `12 étage 3`, the floor is 3.
    let is_followed = tokens.get(named + 1).is_some_and(is_short_number);
    if !is_ordinal && (!is_digit || is_followed) {
        return 0;
    }
    named + 1 + usize::from(matches!(text(named + 1), "gauche" | "droite" | "face"))
}

/// Returns the number of tokens of a building, a door or a flat with its number or letter.
fn door(text: &str, tokens: &[Token]) -> usize {
    let word = tokens[0].text.as_str();
    if !lexicon::is_noise_opener(word) {
        return 0;
    }
    let value = 1 + filler(&tokens[1..]);
    let Some(token) = tokens.get(value).filter(|token| !token.joined) else {
        return 0;
    };
    let is_flat = lexicon::is_flat(word);
    let is_value = if token.is_number() {
        token.text.len() <= VALUE_DIGITS
    } else {
        // The letter of `Bât D`, but not the article of `Bât d'en haut`.
        let is_article = matches!(token.text.as_str(), "d" | "l");
        let is_elided = text[token.end..].starts_with(['\'', '’']);
        token.text.len() == 1 && !(is_article && (is_elided || !is_flat))
    };
    // In `Porte 3` the number is a door's; in `Tour 3 rue …` it is the house number.
    let is_of_street = token.is_number() && tokens.get(value + 1).is_some_and(opens_street);
    if !is_value || (is_of_street && !is_flat) {
        return 0;
    }
    // `Bât B2`, `Apt 12B`.
    let is_tail = |tail: &&Token| {
        let letters_max = if tail.is_number() { TAIL_DIGITS } else { 1 };
        tail.joined && tail.text.len() <= letters_max
    };
    value + 1 + usize::from(tokens.get(value + 1).filter(is_tail).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::fold;

    /// Returns the words that are relevant.
    fn relevant(text: &str) -> String {
        let all = fold::tokens(text);
        let found = tokens(text, &all, [None, None]);
        let kept = all.iter().enumerate();
        let kept = kept.filter(|(at, _)| found & bits(*at..at + 1) == 0);
        let words: Vec<&str> = kept.map(|(_, token)| token.text.as_str()).collect();
        words.join(" ")
    }

    #[test]
    fn boxes_floors_and_flats_are_irrelevant() {
        for (text, expected) in [
            ("B.P. 12 48100 MARVEJOLS CEDEX", "48100 marvejols"),
            ("BP12 48005 Mende CEDEX 9", "48005 mende"),
            ("T.S.A. n° 30001 48000 Mende", "48000 mende"),
            ("3e étage gauche 12 rue Basse", "12 rue basse"),
            ("1er étage, appt n° 4B, 12 rue Basse", "12 rue basse"),
            ("deuxième étage 12 rue Basse", "12 rue basse"),
            ("12 rue Basse rez-de-chaussée", "12 rue basse"),
            ("12 étage 3 rue Basse", "12 etage 3 rue basse"),
            ("Bât B2 esc. C porte 14 12 rue Basse", "12 rue basse"),
            ("Bât D 12 rue Basse", "12 rue basse"),
            (
                "12 rue de la Porte d'Orléans",
                "12 rue de la porte d orleans",
            ),
            ("Tour 3 rue Basse", "tour 3 rue basse"),
            ("12 place de la Tour", "12 place de la tour"),
        ] {
            assert_eq!(relevant(text), expected, "{text}");
        }
    }

    #[test]
    fn the_number_of_a_post_box_is_no_postal_code() {
        let all = fold::tokens("CS 30001 48000 Mende");
        let found: Vec<bool> = (0..all.len()).map(|at| is_box_number(&all, at)).collect();
        assert_eq!(found, [false, true, false, false]);
    }
}
