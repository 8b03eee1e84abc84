//! Weighs the words of a query that describe its street.

use super::query::{Query, Reading, bit};
use crate::index::word_kind::WordKind;
use crate::text::fold::Token;
use crate::text::lexicon;

/// Factor for a query's words before its house number, or before a comma and its street: usually a building, a residence
/// or a company.
pub(super) const PREFIX_FACTOR: f32 = 0.3;
/// Factor for a query's words that probably describe something other than the street: words after the town, or words
/// after the street in a part that begins with a comma or a word such as `bâtiment`. Such words are set aside.
pub(super) const ASIDE_FACTOR: f32 = 0.3;

/// Maximum digits of a day.
const DAY_DIGITS: usize = 2;
/// Digits of a year.
const YEAR_DIGITS: usize = 4;
/// Weight of the year of a date. Many names have none, so it only decides between streets that differ by it.
const YEAR_WEIGHT: f32 = 0.08;

/// A word of the query that describes its street.
#[derive(Clone, Copy, Debug)]
pub(super) struct DescribingWord {
    /// Index of its token.
    pub at: usize,
    pub weight: f32,
    pub is_type: bool,
    /// Whether it is a type that may precede the name of a hamlet.
    pub names_hamlet: bool,
    pub is_number: bool,
    /// Whether only an identical word matches it: the suffix of a house number, or the country.
    pub is_exact: bool,
    /// Whether it is before the house number or after the town.
    pub is_aside: bool,
    /// Whether it may open a separate part: `bâtiment les Érables`.
    pub opens: bool,
    /// Whether it abbreviates several words.
    pub is_several: bool,
    /// Whether it may begin the name of a building.
    pub names_building: bool,
    /// Bytes of its text.
    pub length: usize,
}

impl DescribingWord {
    pub fn new(query: &Query, at: usize) -> Self {
        let token = &query.tokens[at];
        let text = token.text.as_str();
        let before = at.checked_sub(1).map(|before| &query.tokens[before]);
        let follows_road = before.is_some_and(|before| {
            let road = before.text.as_str();
            matches!(road, "departementale" | "nationale" | "rd" | "rn")
        });
        let is_number_of_name =
            token.is_number() && (query.is_of_date(at) && text.len() <= DAY_DIGITS || follows_road);
        let is_year = token.is_number() && query.is_of_date(at) && text.len() == YEAR_DIGITS;
        let is_suffix = lexicon::suffix_code(text).is_some()
            && lexicon::expansions(text).is_empty()
            && before.is_some_and(Token::is_number);
        let mut meant = lexicon::expansions(text).iter().chain([&text]);
        let names_hamlet = meant.clone().any(|word| lexicon::names_hamlet(word));
        let is_type = meant.any(|word| lexicon::is_street_type(word));
        let follows_article = before.is_some_and(|before| lexicon::is_article(&before.text));
        Self {
            at,
            weight: match () {
                () if is_number_of_name => 1.0,
                () if lexicon::is_article(text) || is_suffix => WordKind::ARTICLE_WEIGHT,
                () if is_year => YEAR_WEIGHT,
                () if token.is_number() || query.trailing & bit(at) != 0 => 0.0,
                () => 1.0,
            },
            is_type,
            names_hamlet,
            is_number: token.is_number(),
            is_exact: is_suffix || query.trailing & bit(at) != 0,
            is_aside: false,
            opens: token.after_break
                || (!follows_article && (is_type || lexicon::begins_ignored_part(text))),
            is_several: lexicon::stands_for_several(text),
            names_building: lexicon::names_building(text),
            length: text.len(),
        }
    }
}

/// Lowers the weight of words before the house number, which may name a company, or of those before the token `leading`;
/// the name of a building gets weight 0 if a street type follows.
pub(super) fn discount_prefix(words: &mut [DescribingWord], leading: usize) {
    let is_house_number =
        |one: &DescribingWord| one.is_number && one.length <= 4 && one.weight == 0.0;
    // In `27 place Saint-François 3, bâtiment B`, the house number comes first.
    let mut street = words.iter().skip_while(|one| one.is_number || one.is_exact);
    let is_first =
        words.first().is_some_and(is_house_number) && street.next().is_some_and(|one| one.is_type);
    let number = words.iter().skip(1).position(is_house_number);
    let number = number.filter(|_| !is_first).map(|at| at + 1);
    let leading = words.partition_point(|one| one.at < leading);
    let names_street = |at: &usize| words[*at..].iter().any(|one| one.weight >= 1.0);
    let begin = number.into_iter().chain([leading]).find(names_street);
    let Some(begin) = begin else {
        return;
    };
    let (before, after) = words.split_at_mut(begin);
    let building = before.iter().position(|one| one.names_building);
    let building = building.filter(|_| after.iter().any(|one| one.is_type));
    let (other, building) = before.split_at_mut(building.unwrap_or(before.len()));
    set_aside(other, PREFIX_FACTOR);
    set_aside(building, 0.0);
}

/// Lowers the weight of words after the town, which may name a part of it: `Mende centre`.
pub(super) fn discount_behind_town(words: &mut [DescribingWord], reading: &Reading) {
    if reading.used == 0 {
        return;
    }
    let first = reading.used.trailing_zeros() as usize;
    let behind = words.partition_point(|one| one.at < first);
    let (before, behind) = words.split_at_mut(behind);
    if before.iter().any(|one| one.weight >= 1.0 && !one.is_type) {
        set_aside(behind, ASIDE_FACTOR);
    }
}

fn set_aside(words: &mut [DescribingWord], factor: f32) {
    for one in words {
        one.weight *= factor;
        one.is_aside = true;
    }
}
