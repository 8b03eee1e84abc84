//! Searches all of France for a street, if the places that the query may name do not have it.

use std::cmp::Reverse;
use std::sync::Arc;

use super::align::StreetQuery;
use super::likenesses::Likenesses;
use super::query::{Agreement, Query, QueryContext, Reading, is_within};
use super::{Candidate, Geocoder, KEPT_OF_READING, SearchRequest, Target, candidate};
use crate::index::segment::Segment;
use crate::text::likeness::QueryWord;
use toise_geo::distance::planar_distance_m;
use toise_geo::places::Places;

/// Maximum number of streets examined over all of France.
const ELSEWHERE_STREETS_MAX: usize = 6_000;
/// Maximum number of words of a query that are looked up over all of France; the longest are used.
const ELSEWHERE_WORDS_MAX: usize = 4;
/// Minimum length of a word that is looked up over all of France, in bytes.
const ELSEWHERE_LETTERS_MIN: usize = 3;
/// Maximum number of words of the base that unknown words are compared with, over all of France.
const ELSEWHERE_COMPARED_MAX: usize = 200_000;
/// Maximum number of words of a segment that complete the beginning of a word, while it is being typed.
const ELSEWHERE_BEGUN_MAX: usize = 64;
/// Number of streets sampled to estimate how far a department is.
const SAMPLED_STREETS: usize = 16;
/// Parts per unit of score; scores in the same part are ordered by nearness or size.
const SCORE_PARTS: f32 = 1e4;
/// Minimum likeness of a word that replaces one unknown to the base.
const ELSEWHERE_LIKENESS: f32 = 0.75;

impl Geocoder {
    /// Looks up the distinctive words over all of France. If the query names a place, its evidence lowers the score of
    /// results elsewhere.
    pub(super) fn read_elsewhere(
        &self,
        query: &Query,
        narrowing: &QueryContext<'_>,
        request: &SearchRequest,
        likenesses: &mut Likenesses,
        candidates: &mut Vec<Candidate>,
    ) {
        // `12 rue de Mende` names a street, because no other word is left to name it.
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
        let mut found = self.streets_with_rarest(&described, likenesses);
        if let Some(near) = request.near {
            found.sort_by_cached_key(|(number, _)| metres_to(&self.segments[*number], near));
        }
        for (number, streets) in found {
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
        self.keep_first(request, candidates, begin);
        self.finish_streets(query, &nowhere, request, candidates, begin);
    }

    /// Keeps the best of the candidates from `begin` on. Hundreds may fit equally well, such as every Place de la
    /// Mairie; of those, keeps the nearest to the requested position, or those of the largest towns.
    fn keep_first(&self, request: &SearchRequest, candidates: &mut Vec<Candidate>, begin: usize) {
        if candidates.len() - begin <= KEPT_OF_READING {
            return;
        }
        let rank = |one: &Candidate| -> u32 {
            let Target::Street { segment, street } = one.target else {
                return u32::MAX;
            };
            let segment = &self.segments[segment];
            match request.near {
                Some((lat, lon)) => {
                    let at = segment.street_position(street);
                    planar_distance_m(lat, lon, at.0, at.1) as u32
                }
                None => {
                    let places = Places::get();
                    let code = segment.area(segment.area_of(street)).insee_code;
                    let place = places.find(code).and_then(|at| places.place(at));
                    u32::MAX - place.map_or(0, |place| place.population)
                }
            }
        };
        candidates[begin..].sort_by_cached_key(|one| {
            let parts = (one.score * SCORE_PARTS) as i32;
            (Reverse(parts), rank(one))
        });
        candidates.truncate(begin + KEPT_OF_READING);
    }

    /// Returns, by segment, the streets that have the rarest of the distinctive words, reduced to those that also have
    /// the next rarest, if there are any.
    ///
    /// A word that no segment has is replaced by the words like it that begin with the same letter.
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

/// Estimates the distance of a department from a position, metres: the least distance of some of its streets.
fn metres_to(segment: &Segment, (lat, lon): (f64, f64)) -> u32 {
    let streets = segment.streets();
    let step = streets.div_ceil(SAMPLED_STREETS).max(1);
    let positions = (0..streets)
        .step_by(step)
        .map(|street| segment.street_position(street as u32));
    let metres = positions.map(|at| planar_distance_m(lat, lon, at.0, at.1) as u32);
    metres.min().unwrap_or(u32::MAX)
}

/// Returns the streets of a segment that have a word.
fn exactly(segment: &Segment, word: &QueryWord) -> Vec<u32> {
    let found = segment.find_word(word.text());
    found.map_or(Vec::new(), |found| segment.postings(found).to_vec())
}

/// Returns the streets of a segment that have a word which begins with this one.
fn begun_with(segment: &Segment, word: &QueryWord) -> Vec<u32> {
    let found = segment.words_from(word.text()).take(ELSEWHERE_BEGUN_MAX);
    streets_of(segment, found)
}

/// Returns the streets of a segment that have a word like this one. Subtracts the number of words compared from `left`.
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

/// Returns the shortest list that is not empty, reduced to the streets that are also in the next shortest, if there are
/// any.
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
