//! Finds the house number of a query in a street, with the suffix as spelled in the base.

use super::query::{Query, Reading, bit};
use super::{Candidate, Geocoder, NumberMatch, Target};
use crate::index::segment::HouseNumber;
use crate::text::fold::Token;
use crate::text::lexicon;

/// Maximum number of words after a house number that form its suffix: `A bis`.
const SUFFIX_TOKENS_MAX: usize = 3;
/// Maximum difference between the ends of a range of house numbers.
const RANGE_MAX: u32 = 60;
/// Maximum digits of a house number.
const HOUSE_NUMBER_DIGITS: usize = 5;

impl Geocoder {
    /// Finds the house number among the tokens that are not aligned with the street: before its name, otherwise after
    /// it, otherwise within it.
    pub(super) fn find_number(&self, query: &Query, reading: &Reading, candidate: &mut Candidate) {
        let (Target::Street { segment, street }, Some(fit)) = (&candidate.target, &candidate.fit)
        else {
            return;
        };
        let segment = &self.segments[*segment];
        let is_free = |at: usize| fit.aligned & bit(at) == 0 && query.describes_street(reading, at);
        let is_number = |at: &usize| {
            let token = &query.tokens[*at];
            is_free(*at) && token.is_number() && token.text.len() <= HOUSE_NUMBER_DIGITS
        };
        let before = (0..fit.span.0.min(query.tokens.len()))
            .rev()
            .filter(is_number);
        let after = (fit.span.1 + 1..query.tokens.len()).filter(is_number);
        let within =
            (fit.span.0..=fit.span.1.min(query.tokens.len().saturating_sub(1))).filter(is_number);
        let find = |at: usize| {
            let number = query.tokens[at].text.parse().ok()?;
            let free = (at + 1..query.tokens.len()).take_while(|at| is_free(*at));
            // In `14 à 16`, `à` is not a suffix.
            let is_range = (at + 1..=at + 2)
                .any(|end| end < query.tokens.len() && range_start(query, end) == Some(at));
            let following: Vec<&Token> = free
                .take(if is_range { 0 } else { SUFFIX_TOKENS_MAX })
                .map(|at| &query.tokens[at])
                .collect();
            best_number(segment.find_number(*street, number), &following)
        };
        let mut asked = false;
        for at in before.chain(after).chain(within) {
            asked |= !query.is_of_date(at);
            let range = range_before(query, at).into_iter();
            let mut range = range.filter(|number| is_free(*number));
            if let Some(found) = range.find_map(find) {
                candidate.number = found;
                return;
            }
            // `6 2 rue …` is number 6 with the suffix 2 if the base has it.
            let leading = at.checked_sub(1).filter(is_number).and_then(find);
            let is_whole = |found: &NumberMatch| match found {
                NumberMatch::Found(house) => house.suffix_label() == query.tokens[at].text,
                _ => false,
            };
            if let Some(found) = leading.filter(is_whole).or_else(|| find(at)) {
                candidate.number = found;
                return;
            }
        }
        candidate.number = if asked {
            NumberMatch::Missing
        } else {
            NumberMatch::NotAsked
        };
    }
}

/// Returns the tokens of the house numbers of a range or a list that ends at a token, in order and without that token:
/// those of 1, 3 and 5 in `1-3-5-7`.
fn range_before(query: &Query, end: usize) -> Vec<usize> {
    let mut numbers = Vec::new();
    let mut at = end;
    while let Some(start) = range_start(query, at) {
        numbers.push(start);
        at = start;
    }
    numbers.reverse();
    numbers
}

/// Returns the token of the house number before another in a range or a list: `14-16`, `14/16`, `14 à 16`.
fn range_start(query: &Query, end: usize) -> Option<usize> {
    let before = end.checked_sub(1)?;
    let is_word = matches!(query.tokens[before].text.as_str(), "a" | "au" | "et");
    let start = before.checked_sub(usize::from(is_word))?;
    let value = |at: usize| query.tokens[at].text.parse::<u32>().ok();
    let (from, to) = (value(start)?, value(end)?);
    (from < to && to - from <= RANGE_MAX).then_some(start)
}

/// Chooses the house number whose suffix fits the words after the number, among house numbers that differ only by
/// suffix.
fn best_number(houses: Vec<HouseNumber>, following: &[&Token]) -> Option<NumberMatch> {
    // `241 r …` is more often a rue than a suffix; `241r` is the suffix.
    let is_suffix = |token: &&&Token| token.joined || lexicon::expansions(&token.text).is_empty();
    let asked = following.first().filter(is_suffix);
    let asked = asked.and_then(|token| lexicon::suffix_code(&token.text));
    let agreement = |house: &HouseNumber| {
        let label = house.suffix_label();
        let written = if label.is_empty() {
            None
        } else {
            (1..=following.len())
                .rev()
                .find(|count| is_label(label, &following[..*count]))
        };
        match written {
            Some(count) => 2 + count,
            _ if asked.is_some_and(|asked| asked == house.suffix) => 2,
            _ if asked.is_none() && label.is_empty() => 1,
            _ if asked.and_then(lexicon::suffix_alias) == Some(house.suffix) => 1,
            _ => 0,
        }
    };
    let mut best: Option<(usize, HouseNumber)> = None;
    for house in houses {
        let agrees = agreement(&house);
        if best.as_ref().is_none_or(|(most, _)| agrees > *most) {
            best = Some((agrees, house));
        }
    }
    best.map(|(agrees, house)| match agrees {
        0 => NumberMatch::OtherSuffix(house),
        _ => NumberMatch::Found(house),
    })
}

/// Returns whether tokens written together form a suffix.
fn is_label(label: &str, tokens: &[&Token]) -> bool {
    let mut rest = label;
    for token in tokens {
        let Some(left) = rest
            .trim_start_matches([' ', '-', '.'])
            .strip_prefix(token.text.as_str())
        else {
            return false;
        };
        rest = left;
    }
    rest.is_empty()
}
