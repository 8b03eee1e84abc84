//! Looks for a street over all of France, when what the query names as a place does not have it.

use std::cmp::Reverse;
use std::sync::Arc;

use super::align::StreetQuery;
use super::likenesses::Likenesses;
use super::query::{Agreement, Narrowing, Query, Reading, is_within};
use super::{Candidate, Geocoder, SearchRequest, candidate};
use crate::index::segment::Segment;
use crate::text::likeness::QueryWord;
use toise_geo::places::Places;

/// Maximum streets looked at over all of France.
const ELSEWHERE_STREETS_MAX: usize = 6_000;
/// Maximum words of a query that are looked up over all of France, the longest of them.
const ELSEWHERE_WORDS_MAX: usize = 4;
/// Minimum letters of a word that is looked up over all of France.
const ELSEWHERE_LETTERS_MIN: usize = 3;
/// Maximum words of the base that those unknown to it are compared with, over all of France.
const ELSEWHERE_COMPARED_MAX: usize = 200_000;
/// Words of a segment that the beginning of a word stands for, while it is being typed.
const ELSEWHERE_BEGUN_MAX: usize = 64;
/// Likeness of a word that stands for one unknown to the base.
const ELSEWHERE_LIKENESS: f32 = 0.75;

impl Geocoder {
    /// Looks the telling words up over all of France. What lies elsewhere than in a place that the query names is held
    /// down by the evidence of that place.
    pub(super) fn read_elsewhere(
        &self,
        query: &Query,
        narrowing: &Narrowing<'_>,
        request: &SearchRequest,
        likenesses: &mut Likenesses,
        candidates: &mut Vec<Candidate>,
    ) {
        // `12 rue de Mende` names a street when nothing else is left to name it.
        let leaves_a_street = |one: &Reading| {
            StreetQuery::new(query, one, false)
                .telling()
                .next()
                .is_some()
        };
        let named = query.readings.iter().filter(|one| {
            !one.is_begun
                && (one.name_quality > 0.0 || one.postal_code == Agreement::Agrees)
                && (one.postal_code == Agreement::Agrees || leaves_a_street(one))
        });
        let evidence = named.map(|one| one.evidence).fold(0.0, f32::max);
        let nowhere = Reading {
            places: Vec::new(),
            used: 0,
            evidence: (0.55 - 0.75 * evidence).max(0.0),
            name_quality: 0.0,
            postal_code: Agreement::Absent,
            is_begun: false,
        };
        if nowhere.evidence <= 0.0 {
            return;
        }
        let described = StreetQuery::new(query, &nowhere, request.autocomplete);
        let begin = candidates.len();
        let mut left = ELSEWHERE_STREETS_MAX;
        for (number, streets) in self.streets_with_rarest(&described, likenesses) {
            let segment = &self.segments[number];
            let view = segment.words_view();
            for street in streets.into_iter().take(left) {
                left -= 1;
                let is_allowed = narrowing.places.as_ref().is_none_or(|allowed| {
                    let code = segment.area(segment.area_of(street)).insee_code;
                    let place = Places::get().find(code);
                    place.is_some_and(|place| is_within(place, allowed))
                });
                if !is_allowed {
                    continue;
                }
                if let Some(fit) = described.fit(likenesses, &view, number, street, 0.0) {
                    let mut one = candidate(number, street, fit, &nowhere);
                    one.is_elsewhere = true;
                    candidates.push(one);
                }
            }
        }
        self.finish_streets(query, &nowhere, request, candidates, begin);
    }

    /// By segment, the streets that have the rarest of the telling words, and the next rarest where some have both.
    ///
    /// A word that no segment has stands for the words like it that begin with the same letter.
    fn streets_with_rarest(
        &self,
        described: &StreetQuery<'_>,
        likenesses: &Likenesses,
    ) -> Vec<(usize, Vec<u32>)> {
        let mut words: Vec<&QueryWord> = described
            .telling()
            .map(|token| likenesses.word(token))
            .filter(|word| word.text().len() >= ELSEWHERE_LETTERS_MIN)
            .collect();
        words.sort_by_key(|word| Reverse(word.text().len()));
        words.truncate(ELSEWHERE_WORDS_MAX);
        let mut left = ELSEWHERE_COMPARED_MAX;
        let is_known = |word: &&QueryWord| {
            let mut segments = self.segments.iter();
            segments.any(|segment| segment.find_word(word.text()).is_some())
        };
        let known: Vec<bool> = words.iter().map(is_known).collect();
        let of_segment = |(number, segment): (usize, &Arc<Segment>)| {
            let words = words.iter().zip(&known);
            let lists = words.map(|(word, known)| match (*known, word.is_open) {
                (true, false) => exactly(segment, word),
                (_, true) => begun_with(segment, word),
                (false, false) => alike(segment, word, &mut left),
            });
            (number, rarest(lists.collect()))
        };
        let found = self.segments.iter().enumerate().map(of_segment);
        found.filter(|(_, streets)| !streets.is_empty()).collect()
    }
}

/// Streets of a segment that have a word.
fn exactly(segment: &Segment, word: &QueryWord) -> Vec<u32> {
    let found = segment.find_word(word.text());
    found.map_or(Vec::new(), |found| segment.postings(found).to_vec())
}

/// Streets of a segment that have a word which begins with this one.
fn begun_with(segment: &Segment, word: &QueryWord) -> Vec<u32> {
    let found = segment.words_from(word.text()).take(ELSEWHERE_BEGUN_MAX);
    streets_of(segment, found)
}

/// Streets of a segment that have a word like this one. Takes the words compared off `left`.
fn alike(segment: &Segment, word: &QueryWord, left: &mut usize) -> Vec<u32> {
    let first = word
        .text()
        .chars()
        .next()
        .map(String::from)
        .unwrap_or_default();
    let view = segment.words_view();
    let same_first = segment.words_from(&first).take(*left);
    *left -= same_first.len();
    let is_alike = |other: &u32| {
        let (length, signature, sound) = view.outline(*other);
        (word.may_be_near(length, signature) || word.sounds_like(sound))
            && word.likeness(view.word(*other)) >= ELSEWHERE_LIKENESS
    };
    streets_of(segment, same_first.filter(is_alike))
}

fn streets_of(segment: &Segment, words: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut streets: Vec<u32> = words
        .flat_map(|word| segment.postings(word))
        .copied()
        .collect();
    streets.sort_unstable();
    streets.dedup();
    streets
}

/// The shortest of the lists that are not empty, and of its streets those in the next, if there are any.
fn rarest(mut lists: Vec<Vec<u32>>) -> Vec<u32> {
    lists.retain(|streets| !streets.is_empty());
    lists.sort_by_key(Vec::len);
    let mut lists = lists.into_iter();
    let Some(mut rarest) = lists.next() else {
        return Vec::new();
    };
    if let Some(next) = lists.next() {
        let is_in_both = |street: &u32| next.binary_search(street).is_ok();
        if rarest.iter().any(is_in_both) {
            rarest.retain(is_in_both);
        }
    }
    rarest
}
