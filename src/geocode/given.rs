//! Compares results with the parts of an address that a structured search gives separately.
//!
//! The parts are searched as one text, in which a word may be read in several ways. This module compares a result with
//! the parts themselves, so that `matched` is right for each part.

use crate::places;
use crate::search::{Matched, PartMatch};
use crate::text::fold;
use crate::text::likeness::distance;

/// Maximum edits between two spellings of a town.
const TOWN_EDITS_MAX: usize = 1;

/// The parts whose agreement is corrected; `None` for a part that is not given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GivenParts {
    /// House number.
    pub house_number: Option<String>,
    /// Commune.
    pub city: Option<String>,
}

impl GivenParts {
    /// Corrects how the parts of a result agree with those given. `number` is the house number of the result, and
    /// `towns` are the names of its commune, former commune and district.
    pub fn correct(&self, matched: &mut Matched, number: Option<&str>, towns: &[&str]) {
        if let (Some(given), Some(found)) = (self.house_number.as_deref(), number) {
            matched.house_number = number_match(given, found);
        }
        let Some(city) = self.city.as_deref() else {
            return;
        };
        let best = towns.iter().map(|name| city_match(city, name));
        match best.min_by_key(|one| *one as u8) {
            Some(best @ (PartMatch::Exact | PartMatch::Fuzzy)) => matched.city = best,
            // The search did match a commune, so the given name may be another name of it.
            _ if matched.city != PartMatch::Missing => {}
            _ => matched.city = PartMatch::Conflict,
        }
    }
}

fn number_match(given: &str, found: &str) -> PartMatch {
    let digits = |text: &str| {
        let first = fold::tokens(text).into_iter().next();
        first.and_then(|token| token.text.parse::<u32>().ok())
    };
    match () {
        () if fold::folded(given) == fold::folded(found) => PartMatch::Exact,
        () if digits(given) == digits(found) => PartMatch::Fuzzy,
        () => PartMatch::Conflict,
    }
}

fn city_match(given: &str, name: &str) -> PartMatch {
    let key = |text: &str| {
        let tokens = fold::tokens(text);
        // A CEDEX and its number say nothing about the commune.
        let words = tokens.iter().map(|token| token.text.as_str());
        let named = words.take_while(|word| *word != "cedex");
        places::key(named)
    };
    let (given, name) = (key(given), key(name));
    match distance(given.as_bytes(), name.as_bytes(), TOWN_EDITS_MAX) {
        _ if given == name => PartMatch::Exact,
        Some(_) => PartMatch::Fuzzy,
        None => PartMatch::Conflict,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_agree_as_they_are_given() {
        assert_eq!(number_match("12 BIS", "12bis"), PartMatch::Exact);
        assert_eq!(number_match("12", "12bis"), PartMatch::Fuzzy);
        assert_eq!(number_match("14", "12"), PartMatch::Conflict);
        assert_eq!(city_match("ST CHELY", "Saint-Chély"), PartMatch::Exact);
        assert_eq!(city_match("Mende CEDEX 9", "Mende"), PartMatch::Exact);
        assert_eq!(city_match("Marvejosl", "Marvejols"), PartMatch::Fuzzy);
        assert_eq!(city_match("Mende", "Marvejols"), PartMatch::Conflict);
    }
}
