//! Tells the name of a town from the same words elsewhere in an address: in the name of a street (`vallée de la
//! Rimeize`), or of a building before the address (`Mairie de Chanac, chemin …`).

use super::query::{Query, Reading, opens_street};
use crate::text::fold::Token;
use crate::text::lexicon;

/// Minimum evidence of a town whose name is also read as part of a street's name.
const TOWN_MIN: f32 = 0.9;

impl Query {
    /// Returns whether a preposition precedes the name of a place, which then often belongs to the name of a street:
    /// `vallée de la Rimeize`.
    pub(super) fn is_behind_preposition(&self, start: usize) -> bool {
        let before = |count: usize| {
            let at = start.checked_sub(count);
            at.map_or("", |at| self.tokens[at].text.as_str())
        };
        let is_article = matches!(before(1), "l" | "la" | "le" | "les");
        let preposition = before(if is_article { 2 } else { 1 });
        matches!(preposition, "d" | "de" | "des" | "du")
    }

    /// Returns readings in which the name of a town belongs to a street in this town: `vallée de la Rimeize`. The other
    /// words must also name a street: a `Rue de Mende` is rarely in Mende.
    pub(super) fn towns_in_streets(&self, readings: &[Reading]) -> Vec<Reading> {
        let is_street = |one: &&Reading| {
            let mut words = self.words.iter();
            words.any(|word| {
                word.weight >= 1.0 && !word.is_type && self.describes_street(one, word.at)
            })
        };
        let is_in_street = |one: &&Reading| {
            let start = one.used.trailing_zeros() as usize;
            one.used != 0
                && one.name_quality > 0.0
                && !one.is_prefix
                && one.evidence >= TOWN_MIN
                && self.is_behind_preposition(start)
        };
        let found = readings.iter().filter(is_in_street).filter(is_street);
        let without_name = found.map(|one| Reading {
            used: 0,
            name_quality: 0.0,
            ..one.clone()
        });
        without_name.collect()
    }
}

/// Returns the number of tokens that name a building or a company before a comma and the address: `Mairie de Chanac,
/// chemin …`; 0 if there is none.
pub(super) fn leading_name(tokens: &[Token]) -> usize {
    let is_number = |at: usize| tokens.get(at).is_some_and(Token::is_number);
    let is_street = |at: usize| tokens.get(at).is_some_and(opens_street);
    let begins = |at: &usize| {
        tokens[*at].after_break && (is_street(*at) || (is_number(*at) && is_street(*at + 1)))
    };
    let begin = (1..tokens.len()).find(begins).unwrap_or(0);
    // `Grande Rue, …` is a street; `Hôtel du Pont, …` is not.
    let is_in_name = |at: usize| at > 0 && lexicon::is_article(&tokens[at - 1].text);
    let is_address = (0..begin).any(|at| is_number(at) || (is_street(at) && !is_in_name(at)));
    if is_address { 0 } else { begin }
}
