//! Aligns the words of a query with the words of a street, one to one, and measures the share of each that the other
//! explains.

use super::describing_word::{
    ASIDE_FACTOR, DescribingWord, PREFIX_FACTOR, discount_behind_town, discount_prefix,
};
use super::glued::GLUED;
use super::likenesses::{GLUE, LIKENESS_MIN, Likenesses, Row};
use super::query::{Query, Reading, bit};
use crate::index::words_view::WordsView;
use crate::text::lexicon;
use crate::text::likeness::OPEN_PREFIX;

/// Factor for a title or a first name that the query omits before the name itself.
const LEFT_OUT_FACTOR: f32 = 0.2;
/// Weight in the score of the share of the street's words that the query explains.
const STREET_SHARE: f32 = 0.62;
/// Penalty for a different street type.
const KIND_COST: f32 = 0.04;
/// Minimum likeness of the same word, abbreviated or not.
const SAME: f32 = 0.95;
/// Minimum likeness of a word to the number in a street's name at which an earlier number is the house number.
const NUMBER_WORD: f32 = 0.7;
/// Bonus for the token that follows the previously aligned one.
const IN_ORDER: f32 = 0.02;
/// If the query is the beginning of a street's name and still being typed, at least this share of the street's words
/// counts as explained.
const BEGINNING: f32 = 0.93;
/// Maximum words of a street's name that are aligned.
const STREET_WORDS_MAX: usize = 24;

/// The words of a query that describe the street, according to one reading.
pub struct StreetQuery<'q> {
    query: &'q Query,
    pub(super) words: Vec<DescribingWord>,
    /// Tokens of these words, as bits.
    tokens: u64,
    /// Whether the last word is still being typed.
    pub(super) is_open: bool,
}

/// Measures of how well a street fits.
#[derive(Clone, Debug)]
pub struct Fit {
    /// Share of the street's words, by weight, that the query explains, 0 to 1.
    pub street: f32,
    /// Share of the query's words, by weight, that the street explains, 0 to 1.
    pub query: f32,
    /// Agreement of the street type: 1 if it agrees, if both have none, or if the query calls a name without type a
    /// hamlet; 0.5 if one has none; 0 if they differ.
    pub kind: f32,
    /// Tokens aligned with the street's words, as bits.
    pub aligned: u64,
    /// First and last token aligned.
    pub span: (usize, usize),
    /// Lowest likeness of any aligned word that is not an article.
    pub weakest: f32,
    /// Share of the street's words that are titles or first names missing from the query, 0 to 1.
    pub left_out: f32,
    /// Weight of the query's words that the street does not explain and that are not set aside: roughly the number of
    /// these words.
    pub foreign: f32,
    /// Weight of the unexplained words that are set aside.
    pub aside: f32,
}

impl Fit {
    /// Combines both shares in one number, at most 1.
    pub fn score(&self) -> f32 {
        STREET_SHARE * self.street + (1.0 - STREET_SHARE) * self.query
            - KIND_COST * (1.0 - self.kind)
    }
}

/// The word of the query that each word of the street is aligned with, and their likeness.
pub(super) struct Alignment {
    pub(super) of: [Option<(usize, f32)>; STREET_WORDS_MAX],
    /// Words of the query that are aligned, as bits.
    pub(super) used: u64,
}

impl<'q> StreetQuery<'q> {
    /// Collects the words that describe the street in a reading. If `is_open`, the last word is still being typed.
    pub fn new(query: &'q Query, reading: &Reading, is_open: bool) -> Self {
        let words = query.words.iter().copied();
        let words = words.filter(|one| query.describes_street(reading, one.at));
        let mut words: Vec<DescribingWord> = words.collect();
        discount_prefix(&mut words, query.leading);
        discount_behind_town(&mut words, reading);
        Self {
            query,
            tokens: words.iter().fold(0, |tokens, one| tokens | bit(one.at)),
            words,
            is_open,
        }
    }

    /// Returns whether no word describes a street.
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|one| one.weight < PREFIX_FACTOR)
    }

    /// Returns the tokens of the words that distinguish one street from another. These are not street types, unless
    /// there are only types, as in `Rue du Pont` and `Grand Rue`.
    pub fn distinctive(&self) -> impl Iterator<Item = usize> {
        let words = self.words.iter().filter(|one| one.weight >= 1.0);
        let is_of_types = words.clone().count() > 1 && words.clone().all(|one| one.is_type);
        let distinctive = words.filter(move |one| is_of_types || !one.is_type);
        distinctive.map(|one| one.at)
    }

    /// Returns the number of words that are neither articles nor, after the town's name, names of a part of the town or
    /// of its department, region or country.
    pub fn substantive_count(&self, reading: &Reading) -> usize {
        let behind = (u64::BITS - reading.used.leading_zeros()) as usize;
        let is_weighty = |one: &&DescribingWord| {
            let text = self.text(one);
            let is_behind = reading.used != 0 && one.at >= behind;
            let is_trailing = self.query.trailing & bit(one.at) != 0;
            !(is_trailing
                || lexicon::is_article(text)
                || is_behind && lexicon::is_part_of_town(text))
        };
        self.words.iter().filter(is_weighty).count()
    }

    /// Returns whether the words only name the centre of the town: `le bourg`, `centre ville`.
    pub fn names_centre(&self) -> bool {
        let is_part = |text: &str| lexicon::is_article(text) || lexicon::is_part_of_town(text);
        let words = self.words.iter();
        let words = words.filter(|one| self.query.trailing & bit(one.at) == 0);
        let mut texts = words.map(|one| self.text(one));
        texts.clone().all(is_part) && texts.any(lexicon::is_centre)
    }

    pub(super) fn text(&self, word: &DescribingWord) -> &'q str {
        &self.query.tokens[word.at].text
    }

    /// Measures how a street of a segment fits; `None` if none of its distinctive words matches, or if its score is
    /// certainly below `least`. `segment` is the number of the segment that `view` belongs to.
    pub(crate) fn fit(
        &self,
        likenesses: &mut Likenesses,
        view: &WordsView<'_>,
        segment: usize,
        street: u32,
        least: f32,
    ) -> Option<Fit> {
        let street_words = view.of_street(street);
        let street_words = &street_words[..street_words.len().min(STREET_WORDS_MAX)];
        let mut numbers = [0_u32; STREET_WORDS_MAX];
        for (number, word) in numbers.iter_mut().zip(street_words) {
            *number = likenesses.row(view, segment, *word, self.tokens);
        }
        let numbers = &numbers[..street_words.len()];
        let rows = |at: usize| likenesses.row_at(numbers[at]);
        let (mut distinctive, mut glued, mut articles) = (0, 0, 0);
        // Weights of the words, and of those that some word of the query may explain.
        let (mut all, mut explained) = (0.0, 0.0);
        let mut is_name_behind = false;
        for at in (0..numbers.len()).rev() {
            let row = rows(at);
            let is_type = at == 0 && row.kind.is_street_type && articles + 1 < numbers.len();
            glued |= if row.kind.is_article { 0 } else { row.alike };
            if is_type {
                continue;
            }
            articles += usize::from(row.kind.is_article);
            if row.alike & (self.tokens | GLUE) != 0 {
                all += row.kind.weight;
                explained += row.kind.weight;
            } else {
                all += weight_missing(row, is_name_behind);
            }
            if !row.kind.is_article {
                distinctive |= row.alike;
                is_name_behind = true;
            }
        }
        if !self.is_open && STREET_SHARE * explained < (least - 1.0 + STREET_SHARE) * all {
            return None;
        }
        let is_all_articles = articles == numbers.len();
        if distinctive & (self.tokens | GLUE) == 0 && !is_all_articles && !self.is_open {
            return None;
        }
        let mut copies = [Row::NONE; STREET_WORDS_MAX];
        for (copy, number) in copies.iter_mut().zip(numbers) {
            *copy = *likenesses.row_at(*number);
        }
        let rows = &copies[..numbers.len()];
        let is_beginning = self.is_open && self.begins(likenesses, rows);
        if distinctive & (self.tokens | GLUE) == 0 && !is_all_articles && !is_beginning {
            return None;
        }
        let mut alignment = Alignment {
            of: [None; STREET_WORDS_MAX],
            used: 0,
        };
        self.align(likenesses, rows, SAME, &mut alignment);
        // `desPuits` resembles `Puits`, but it is exactly `des Puits`.
        if glued & GLUE != 0 {
            self.align_glued(view, street_words, &mut alignment);
            self.align_nearly_glued(view, street_words, &mut alignment);
        }
        self.align(likenesses, rows, LIKENESS_MIN, &mut alignment);
        self.align_several(likenesses, rows, &mut alignment);
        if alignment.used == 0 {
            return None;
        }
        self.measure(rows, has_type(rows), &alignment, is_beginning)
    }

    /// Returns whether the street's name begins with the words of the query, in order; the last may be incomplete.
    fn begins(&self, likenesses: &Likenesses, rows: &[Row]) -> bool {
        let is_name =
            |one: &DescribingWord| !one.is_number && lexicon::suffix_code(self.text(one)).is_none();
        let first = self.words.iter().position(is_name);
        let Some(words) = first.map(|first| &self.words[first..]) else {
            return false;
        };
        let Some((open, whole)) = words.split_last() else {
            return false;
        };
        // In `35 avenue de Mon`, read as the beginning of Montpellier, `avenue de` is no beginning of a name.
        let is_typed = open.at + 1 == self.query.tokens.len();
        let is_empty = |one: &DescribingWord| one.is_type || lexicon::is_article(self.text(one));
        if !is_typed && words.iter().all(is_empty) {
            return false;
        }
        let is_like = |at: usize, one: &DescribingWord, least: f32| {
            let row = rows.get(at);
            row.is_some_and(|row| {
                row.alike & bit(one.at) != 0 && likenesses.likeness(*row, one.at) >= least
            })
        };
        is_like(whole.len(), open, OPEN_PREFIX)
            && whole
                .iter()
                .enumerate()
                .all(|(at, one)| is_like(at, one, SAME))
    }

    /// Aligns words that are at least this alike. Identical words are aligned first, so that a merely similar word
    /// cannot take their place.
    fn align(&self, likenesses: &Likenesses, rows: &[Row], least: f32, alignment: &mut Alignment) {
        let mut before: Option<usize> = None;
        for (at, row) in rows.iter().enumerate() {
            if let Some((word, _)) = alignment.of[at] {
                before = Some(word);
            } else if row.alike & self.tokens != 0 {
                let best = self.best(likenesses, *row, alignment, before, least);
                if let Some((word, _)) = best {
                    alignment.of[at] = best;
                    alignment.used |= bit(word);
                    before = Some(word);
                }
            }
        }
    }

    /// Aligns an abbreviation of several words with all of them: `RN` with both words of `Route Nationale`.
    fn align_several(&self, likenesses: &Likenesses, rows: &[Row], alignment: &mut Alignment) {
        for (word, one) in self.words.iter().enumerate() {
            if !one.is_several || alignment.used & bit(word) == 0 {
                continue;
            }
            for (of, row) in alignment.of.iter_mut().zip(rows) {
                let likeness = likenesses.likeness(*row, one.at);
                if of.is_none() && likeness >= SAME {
                    *of = Some((word, likeness));
                }
            }
        }
    }

    /// Returns the unaligned query word most similar to a word of the base, with a preference for the one after the
    /// previously aligned word.
    fn best(
        &self,
        likenesses: &Likenesses,
        row: Row,
        alignment: &Alignment,
        before: Option<usize>,
        least: f32,
    ) -> Option<(usize, f32)> {
        let preference = |word: usize| match before {
            Some(before) if word == before + 1 => IN_ORDER,
            Some(before) if word < before => -IN_ORDER,
            _ => 0.0,
        };
        let mut best: Option<(usize, f32)> = None;
        let mut greatest = f32::MIN;
        for (word, one) in self.words.iter().enumerate() {
            if alignment.used & bit(word) != 0 || row.alike & bit(one.at) == 0 {
                continue;
            }
            // `Collège Jean Moulin 6 rue de la Fontaine` does not name a Rue Jean de la Fontaine.
            if one.is_aside && row.kind.may_be_left_out {
                continue;
            }
            let likeness = likenesses.likeness(row, one.at);
            // The suffix of `14 ter rue de la Terrasse` is not the beginning of its name, and `France` is not a
            // misspelt `Place`.
            if one.is_exact && likeness < SAME {
                continue;
            }
            if one.is_number && self.is_in_words_behind(likenesses, row, alignment, word) {
                continue;
            }
            let preferred = likeness + preference(word);
            if likeness >= least && preferred > greatest {
                greatest = preferred;
                best = Some((word, likeness));
            }
        }
        best
    }

    /// Returns whether a number is a house number because another word after the street type is the number of the name,
    /// even misspelled: the 8 of `8 rue du huti mai`.
    fn is_in_words_behind(
        &self,
        likenesses: &Likenesses,
        row: Row,
        alignment: &Alignment,
        number: usize,
    ) -> bool {
        let after_type = self.words.iter().enumerate().skip(number + 1);
        let after_type = after_type.skip_while(|(_, one)| !one.is_type);
        after_type.skip(1).any(|(word, one)| {
            alignment.used & bit(word) == 0
                && row.alike & bit(one.at) != 0
                && likenesses.likeness(row, one.at) >= NUMBER_WORD
        })
    }

    fn measure(
        &self,
        rows: &[Row],
        has_type: bool,
        alignment: &Alignment,
        is_beginning: bool,
    ) -> Option<Fit> {
        let (mut all, mut explained, mut weakest) = (0.0, 0.0, 1.0_f32);
        let mut left_out = 0.0;
        let mut is_name_behind = false;
        let mut is_distinctive = is_beginning || rows.iter().all(|row| row.kind.is_article);
        for (word, row) in rows.iter().enumerate().skip(usize::from(has_type)).rev() {
            let likeness = alignment.of[word].map_or(0.0, |(_, likeness)| likeness);
            if likeness > 0.0 {
                all += row.kind.weight;
                explained += row.kind.weight * likeness;
                if !row.kind.is_article {
                    is_distinctive = true;
                    weakest = weakest.min(likeness);
                }
            } else {
                let weight = weight_missing(row, is_name_behind);
                all += weight;
                left_out += row.kind.weight - weight;
            }
            is_name_behind |= !row.kind.is_article;
        }
        if !is_distinctive {
            return None;
        }
        let type_is_aligned = has_type && alignment.of[0].is_some();
        let explained_words = self.explained(alignment, type_is_aligned);
        let query_has_type = explained_words.has_other_type;
        let kind = match (has_type, query_has_type) {
            _ if type_is_aligned => 1.0,
            (true, true) => 0.0,
            // `Faubourg Saint-Jean` is short for `Rue du Faubourg Saint-Jean`.
            (true, false) if self.has_faubourg(alignment) => 1.0,
            (false, false) => 1.0,
            (false, true) if explained_words.is_hamlet => 1.0,
            _ => 0.5,
        };
        let used = || {
            self.words
                .iter()
                .enumerate()
                .filter(|(word, _)| alignment.used & bit(*word) != 0)
        };
        let street = if all > 0.0 { explained / all } else { 0.0 };
        Some(Fit {
            street: if is_beginning {
                street.max(BEGINNING)
            } else {
                street
            },
            query: if is_beginning {
                1.0
            } else {
                explained_words.share
            },
            kind,
            aligned: used().fold(0, |aligned, (_, one)| aligned | bit(one.at)),
            span: used().fold((usize::MAX, 0), |span, (_, one)| {
                (span.0.min(one.at), span.1.max(one.at))
            }),
            weakest,
            left_out: left_out / (all + left_out).max(f32::MIN_POSITIVE),
            foreign: explained_words.foreign,
            aside: explained_words.aside,
        })
    }

    fn has_faubourg(&self, alignment: &Alignment) -> bool {
        let mut aligned = alignment.of.iter().flatten();
        aligned.any(|(word, _)| lexicon::is_faubourg(self.text(&self.words[*word])))
    }

    /// Measures how far the alignment explains the query's words.
    fn explained(&self, alignment: &Alignment, type_is_aligned: bool) -> Explained {
        let mut found = Explained::default();
        let (mut all, mut explained) = (0.0, 0.0);
        let first = alignment.used.trailing_zeros() as usize;
        let last = (u64::BITS - alignment.used.leading_zeros()) as usize;
        // Whether a separate part has begun after the street; whether the current word belongs to the name of a
        // building.
        let (mut is_open, mut is_building) = (false, false);
        for (word, one) in self.words.iter().enumerate() {
            if alignment.used & bit(word) != 0 {
                is_building = false;
                let of_word = alignment.of.iter().flatten();
                let likeness = of_word
                    .filter(|(token, _)| *token == word)
                    .map(|(_, likeness)| *likeness)
                    .fold(GLUED.min(0.9), f32::max);
                all += one.weight;
                explained += one.weight * likeness;
                continue;
            }
            is_open |= word >= last && one.opens;
            // `Résidence les Pins rue Basse`, `Rue Basse résidence les Pins`.
            let is_around = word >= last || (word < first && type_is_aligned);
            let opens_street = one.is_type && one.opens;
            is_building = is_around && (one.names_building || (is_building && !opens_street));
            // The street type precedes the name; elsewhere such a word is part of the name.
            let before = word.checked_sub(1).map(|before| &self.words[before]);
            let leads = before.is_none_or(|before| before.is_number || before.length <= 3);
            if one.is_type && leads && !is_open && !found.has_other_type && !type_is_aligned {
                found.has_other_type = true;
                found.is_hamlet = one.names_hamlet;
                continue;
            }
            let weight = match () {
                () if is_building => 0.0,
                () if is_open && !one.is_aside => one.weight * ASIDE_FACTOR,
                () => one.weight,
            };
            all += weight;
            if is_open || one.is_aside {
                found.aside += weight
            } else {
                found.foreign += weight
            }
        }
        found.share = if all > 0.0 { explained / all } else { 1.0 };
        found
    }
}

/// Measures of how far an alignment explains the words of a query.
#[derive(Default)]
struct Explained {
    /// Share of the words, by weight, that the alignment explains.
    share: f32,
    /// Whether an unaligned word is a street type.
    has_other_type: bool,
    /// Whether this type may precede the name of a hamlet.
    is_hamlet: bool,
    /// Weight of the unaligned words that are not set aside.
    foreign: f32,
    /// Weight of those that are set aside.
    aside: f32,
}

/// Returns the weight of a street's word that the query does not have. `is_name_behind` says whether a word of the
/// proper name follows.
fn weight_missing(row: &Row, is_name_behind: bool) -> f32 {
    if row.kind.may_be_left_out && is_name_behind {
        row.kind.weight * LEFT_OUT_FACTOR
    } else {
        row.kind.weight
    }
}

/// Returns whether a name begins with a street type that is not the whole name.
fn has_type(rows: &[Row]) -> bool {
    let [first, rest @ ..] = rows else {
        return false;
    };
    first.kind.is_street_type && rest.iter().any(|row| !row.kind.is_article)
}
