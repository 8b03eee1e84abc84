//! Aligns the words of a query with the words of a street, one to one, and says how much of each the other explains.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use super::query::{Query, Reading, bit};
use crate::index::segment::Segment;
use crate::index::word_kind::WordKind;
use crate::text::lexicon;
use crate::text::likeness::QueryWord;

/// Factor for a query's words before its house number: usually a building or a residence.
const PREFIX_FACTOR: f32 = 0.3;
/// Share of the street's own words in the score.
const STREET_SHARE: f32 = 0.62;
/// What another kind of way costs.
const KIND_COST: f32 = 0.04;
/// Least likeness of an alignment.
const LIKENESS_MIN: f32 = 0.5;
/// Likeness of the same word, abbreviated or not.
const SAME: f32 = 0.95;
/// Preference for the token that follows the one aligned before.
const IN_ORDER: f32 = 0.02;
/// Likeness of words written together.
const GLUED: f32 = 0.97;
/// Minimum letters of words written together.
const GLUED_MIN: usize = 5;
/// Share of a street's words that its beginning explains, at least, while it is being typed.
const BEGINNING: f32 = 0.93;
/// Maximum words of a street's name that are aligned.
const STREET_WORDS_MAX: usize = 24;

/// Bit of a word of the base that may be written together with a neighbour in the query, or the reverse.
const GLUE: u64 = 1 << 63;

/// How alike the tokens of a query and the words of the base met so far are. Shared by all readings.
pub struct Likenesses {
    words: Vec<QueryWord>,
    rows: HashMap<u64, Row, BuildHasherDefault<KeyHasher>>,
    values: Vec<f32>,
}

/// The likenesses of one word of the base, and what kind of word it is.
#[derive(Clone, Copy)]
struct Row {
    /// Where they begin.
    at: u32,
    /// Tokens that are alike, as bits.
    alike: u64,
    kind: WordKind,
}

impl Row {
    const NONE: Self = Self {
        at: 0,
        alike: 0,
        kind: WordKind {
            is_article: false,
            is_street_type: false,
            weight: 0.0,
        },
    };
}

/// Spreads keys that are numbers already.
#[derive(Default)]
pub struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(self.0 ^ u64::from(*byte));
        }
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = (key ^ (key >> 32))
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .rotate_left(29);
    }
}

impl Likenesses {
    /// A table for the tokens of a query. The last may be open, while it is being typed.
    pub fn new(query: &Query, is_open: bool) -> Self {
        let last = query.tokens.len().saturating_sub(1);
        let tokens = query.tokens.iter().enumerate();
        Self {
            words: tokens
                .map(|(at, token)| QueryWord::new(&token.text, is_open && at == last))
                .collect(),
            rows: HashMap::default(),
            values: Vec::new(),
        }
    }

    fn row(&mut self, segment: &Segment, number: usize, word: u32) -> Row {
        let key = (number as u64) << 32 | u64::from(word);
        if let Some(row) = self.rows.get(&key) {
            return *row;
        }
        let base = segment.word(word);
        let mut row = Row {
            at: self.values.len() as u32,
            alike: 0,
            kind: segment.word_kind(word),
        };
        for (token, word) in self.words.iter().enumerate() {
            let likeness = word.likeness(base);
            if likeness >= LIKENESS_MIN {
                row.alike |= bit(token);
            }
            if word.may_be_glued(base.text) {
                row.alike |= GLUE;
            }
            self.values.push(likeness);
        }
        self.rows.insert(key, row);
        row
    }

    fn likeness(&self, row: Row, token: usize) -> f32 {
        self.values
            .get(row.at as usize + token)
            .copied()
            .unwrap_or(0.0)
    }
}

/// A word of the query that describes its street.
struct DescribingWord {
    word: QueryWord,
    /// Its token.
    at: usize,
    weight: f32,
    is_type: bool,
    is_number: bool,
}

/// The words of a query that describe its street in one reading.
pub struct StreetQuery {
    words: Vec<DescribingWord>,
    /// Their tokens, as bits.
    tokens: u64,
    is_open: bool,
}

/// How a street fits.
#[derive(Clone, Debug)]
pub struct Fit {
    /// Share of the street's telling words that the query explains, 0 to 1.
    pub street: f32,
    /// Share of the query's telling words that the street explains, 0 to 1.
    pub query: f32,
    /// Whether the kind of way agrees: 1 agrees or both without, 0.5 left out, 0 another.
    pub kind: f32,
    /// Tokens aligned with the street's words, as bits.
    pub aligned: u64,
    /// First and last token aligned.
    pub span: (usize, usize),
    /// Least likeness of an aligned telling word.
    pub weakest: f32,
}

impl Fit {
    /// Both shares in one number, at most 1.
    pub fn score(&self) -> f32 {
        STREET_SHARE * self.street + (1.0 - STREET_SHARE) * self.query
            - KIND_COST * (1.0 - self.kind)
    }
}

/// Which word of the query each word of the street is aligned with, and how alike they are.
struct Alignment {
    of: [Option<(usize, f32)>; STREET_WORDS_MAX],
    used: u64,
}

impl StreetQuery {
    /// The street's words in a reading. The last word may be open, while it is being typed.
    pub fn new(query: &Query, reading: &Reading, is_open: bool) -> Self {
        let last = query.tokens.len().saturating_sub(1);
        let mut words = Vec::new();
        for (at, token) in query.tokens.iter().enumerate() {
            if !query.describes_street(reading, at) {
                continue;
            }
            let text = token.text.as_str();
            let mut meant = lexicon::expansions(text).iter().chain([&text]);
            words.push(DescribingWord {
                word: QueryWord::new(text, is_open && at == last),
                at,
                weight: match () {
                    () if lexicon::is_article(text) => WordKind::ARTICLE_WEIGHT,
                    () if token.is_number() => 0.0,
                    () => 1.0,
                },
                is_type: meant.any(|word| lexicon::is_street_type(word)),
                is_number: token.is_number(),
            });
        }
        discount_prefix(&mut words);
        Self {
            tokens: words.iter().fold(0, |tokens, one| tokens | bit(one.at)),
            words,
            is_open,
        }
    }

    /// Whether nothing describes a street.
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|one| one.weight < PREFIX_FACTOR)
    }

    /// Words that tell one street from another.
    pub fn telling(&self) -> impl Iterator<Item = &QueryWord> {
        let telling = self
            .words
            .iter()
            .filter(|one| one.weight >= 1.0 && !one.is_type);
        telling.map(|one| &one.word)
    }

    /// All words.
    pub fn words(&self) -> impl Iterator<Item = &QueryWord> {
        self.words.iter().map(|one| &one.word)
    }

    /// How a street of the segment with a number fits; `None` when no telling word does.
    pub fn fit(
        &self,
        likenesses: &mut Likenesses,
        segment: &Segment,
        number: usize,
        street: u32,
    ) -> Option<Fit> {
        let street_words = segment.street_words(street);
        let street_words = &street_words[..street_words.len().min(STREET_WORDS_MAX)];
        let mut rows = [Row::NONE; STREET_WORDS_MAX];
        let rows = &mut rows[..street_words.len()];
        for (row, word) in rows.iter_mut().zip(street_words) {
            *row = likenesses.row(segment, number, *word);
        }
        let has_type = has_type(rows);
        let telling = rows[usize::from(has_type)..]
            .iter()
            .filter(|row| !row.kind.is_article);
        let telling = telling.fold(0, |alike, row| alike | row.alike);
        let is_all_articles = rows.iter().all(|row| row.kind.is_article);
        let is_beginning = self.is_open && self.begins(segment, street_words);
        if telling & (self.tokens | GLUE) == 0 && !is_all_articles && !is_beginning {
            return None;
        }
        let mut alignment = self.align(likenesses, rows);
        if telling & GLUE != 0 {
            self.align_glued(segment, street_words, &mut alignment);
        }
        if alignment.used == 0 {
            return None;
        }
        self.measure(rows, has_type, &alignment, is_beginning)
    }

    /// Whether the street's name begins with the words of the query, in order, the last as far as it is typed.
    fn begins(&self, segment: &Segment, street_words: &[u32]) -> bool {
        let first = self
            .words
            .iter()
            .position(|one| !one.is_number && lexicon::suffix_code(one.word.text()).is_none());
        let Some(words) = first.map(|first| &self.words[first..]) else {
            return false;
        };
        let Some((open, whole)) = words.split_last() else {
            return false;
        };
        let text = |at: usize| street_words.get(at).map(|word| segment.word(*word).text);
        text(whole.len()).is_some_and(|text| text.starts_with(open.word.text()))
            && whole.iter().enumerate().all(|(at, one)| {
                let meant = lexicon::expansions(one.word.text());
                text(at).is_some_and(|text| text == one.word.text() || meant.contains(&text))
            })
    }

    /// Aligns words that are the same first, so that none is taken by one that is merely alike.
    fn align(&self, likenesses: &Likenesses, rows: &[Row]) -> Alignment {
        let mut alignment = Alignment {
            of: [None; STREET_WORDS_MAX],
            used: 0,
        };
        for least in [SAME, LIKENESS_MIN] {
            let mut before: Option<usize> = None;
            for (at, row) in rows.iter().enumerate() {
                if let Some((word, _)) = alignment.of[at] {
                    before = Some(word);
                } else if row.alike & self.tokens != 0 {
                    let best = self.best(likenesses, *row, &alignment, before, least);
                    if let Some((word, _)) = best {
                        alignment.of[at] = best;
                        alignment.used |= bit(word);
                        before = Some(word);
                    }
                }
            }
        }
        alignment
    }

    /// The free word most like a word of the base; in doubt the one that follows the word aligned before.
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
            let likeness = likenesses.likeness(row, one.at);
            let preferred = likeness + preference(word);
            if likeness >= least && preferred > greatest {
                greatest = preferred;
                best = Some((word, likeness));
            }
        }
        best
    }

    /// `Pré Haut` and `Préhaut`, both ways.
    fn align_glued(&self, segment: &Segment, street_words: &[u32], alignment: &mut Alignment) {
        for token in 0..self.words.len() {
            if alignment.used & bit(token) != 0 {
                continue;
            }
            let text = self.words[token].word.text();
            let next = self.words.get(token + 1);
            let next = next.filter(|_| alignment.used & bit(token + 1) == 0);
            for at in 0..street_words.len() {
                if alignment.of[at].is_some() {
                    continue;
                }
                let base = segment.word(street_words[at]).text;
                let follower = street_words
                    .get(at + 1)
                    .filter(|_| alignment.of[at + 1].is_none());
                let is_both =
                    |follower: &u32| text.strip_prefix(base) == Some(segment.word(*follower).text);
                if text.len() >= GLUED_MIN && follower.is_some_and(is_both) {
                    alignment.of[at] = Some((token, GLUED));
                    alignment.of[at + 1] = Some((token, GLUED));
                    alignment.used |= bit(token);
                    break;
                }
                let is_split =
                    |next: &DescribingWord| base.strip_prefix(text) == Some(next.word.text());
                if base.len() >= GLUED_MIN && next.is_some_and(is_split) {
                    alignment.of[at] = Some((token, GLUED));
                    alignment.used |= bit(token) | bit(token + 1);
                    break;
                }
            }
        }
    }

    fn measure(
        &self,
        rows: &[Row],
        has_type: bool,
        alignment: &Alignment,
        is_beginning: bool,
    ) -> Option<Fit> {
        let (mut all, mut explained, mut weakest) = (0.0, 0.0, 1.0_f32);
        let mut tells = is_beginning || rows.iter().all(|row| row.kind.is_article);
        for (word, row) in rows.iter().enumerate().skip(usize::from(has_type)) {
            let likeness = alignment.of[word].map_or(0.0, |(_, likeness)| likeness);
            all += row.kind.weight;
            explained += row.kind.weight * likeness;
            if likeness > 0.0 && !row.kind.is_article {
                tells = true;
                weakest = weakest.min(likeness);
            }
        }
        if !tells {
            return None;
        }
        let type_is_aligned = has_type && alignment.of[0].is_some();
        let (query, query_has_type) = self.explained(alignment, type_is_aligned);
        let kind = match (has_type, query_has_type) {
            _ if type_is_aligned => 1.0,
            (true, true) => 0.0,
            (false, false) => 1.0,
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
            query: if is_beginning { 1.0 } else { query },
            kind,
            aligned: used().fold(0, |aligned, (_, one)| aligned | bit(one.at)),
            span: used().fold((usize::MAX, 0), |span, (_, one)| {
                (span.0.min(one.at), span.1.max(one.at))
            }),
            weakest,
        })
    }

    /// Share of the query's telling words that are aligned, and whether an unaligned word says a kind of way.
    fn explained(&self, alignment: &Alignment, type_is_aligned: bool) -> (f32, bool) {
        let (mut all, mut explained, mut has_type) = (0.0, 0.0, false);
        for (word, one) in self.words.iter().enumerate() {
            let is_used = alignment.used & bit(word) != 0;
            // The kind of way leads the name; elsewhere such a word is part of it.
            let before = word.checked_sub(1).map(|before| &self.words[before]);
            let leads =
                before.is_none_or(|before| before.is_number || before.word.text().len() <= 3);
            if one.is_type && leads && !is_used && !has_type && !type_is_aligned {
                has_type = true;
                continue;
            }
            let of_word = alignment
                .of
                .iter()
                .flatten()
                .filter(|(token, _)| *token == word);
            let likeness = of_word.map(|(_, likeness)| *likeness).fold(0.0, f32::max);
            all += one.weight;
            explained += one.weight
                * if is_used {
                    likeness.max(GLUED.min(0.9))
                } else {
                    0.0
                };
        }
        (if all > 0.0 { explained / all } else { 1.0 }, has_type)
    }
}

/// Whether a name begins with a kind of way that is not the whole of it.
fn has_type(rows: &[Row]) -> bool {
    let [first, rest @ ..] = rows else {
        return false;
    };
    first.kind.is_street_type && rest.iter().any(|row| !row.kind.is_article)
}

/// A residence or a company may stand before the house number.
fn discount_prefix(words: &mut [DescribingWord]) {
    let is_house_number = |one: &DescribingWord| one.is_number && one.word.text().len() <= 4;
    let Some(number) = words
        .iter()
        .skip(1)
        .position(is_house_number)
        .map(|at| at + 1)
    else {
        return;
    };
    let (before, after) = words.split_at_mut(number);
    if after.iter().any(|one| one.weight >= 1.0) {
        before
            .iter_mut()
            .for_each(|one| one.weight *= PREFIX_FACTOR);
    }
}
