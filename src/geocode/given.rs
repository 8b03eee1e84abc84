//! The parts of an address that a structured search gives one by one.
//!
//! The parts are searched as one text, in which a word may be read in several ways. Here a result is compared with the
//! parts themselves, so that `matched` is true of each.

use crate::address::AddressProperties;
use crate::places;
use crate::search::PartMatch;
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
    /// Corrects how the parts of a result agree with those given.
    pub fn correct(&self, properties: &mut AddressProperties<'_>) {
        let number = self
            .house_number
            .as_deref()
            .zip(properties.house_number.as_deref())
            .map(|(given, found)| number_match(given, found));
        let named = [
            Some(&properties.city),
            properties.former_city.as_ref(),
            properties.district.as_ref(),
        ];
        let names = named.into_iter().flatten();
        let best = self.city.as_deref().map(|city| {
            let matches = names.map(|name| city_match(city, name));
            matches
                .min_by_key(|one| *one as u8)
                .unwrap_or(PartMatch::Conflict)
        });
        let Some(matched) = &mut properties.matched else {
            return;
        };
        matched.house_number = number.unwrap_or(matched.house_number);
        match best {
            // A name that the text did not show may be another name of the commune.
            Some(PartMatch::Conflict) if matched.city != PartMatch::Missing => {}
            Some(best) => matched.city = best,
            None => {}
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
