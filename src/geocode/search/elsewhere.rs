//! Searches all of France for a street, if the places that the query may name do not have it.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use foldhash::fast::FixedState;

use super::align::{Fit, StreetQuery};
use super::likenesses::Likenesses;
use super::query::{Agreement, Query, QueryContext, Reading, SPELLED, bit, is_within};
use super::{
    Candidate, Geocoder, KEPT_OF_READING, NumberMatch, ResultKind, SearchRequest, Target, candidate,
};
use crate::index::segment::Segment;
use crate::text::lexicon;
use crate::text::likeness::QueryWord;
use toise_geo::distance::planar_distance_m;
use toise_geo::places::Places;

/// Maximum number of streets examined over all of France.
const ELSEWHERE_STREETS_MAX: usize = 6_000;
/// A word that more streets have is not looked up alone.
const ELSEWHERE_LISTED_MAX: usize = 100_000;
/// Maximum number of words of a query that are looked up over all of France; the longest are used.
const ELSEWHERE_WORDS_MAX: usize = 4;
/// Minimum length of a word that is looked up over all of France, in bytes.
const ELSEWHERE_LETTERS_MIN: usize = 3;
/// Maximum number of words of the base that unknown words are compared with, over all of France.
const ELSEWHERE_COMPARED_MAX: usize = 200_000;
/// Maximum number of words of a segment that complete the beginning of a word, while it is being typed.
const ELSEWHERE_BEGUN_MAX: usize = 64;
/// Number of streets examined if only a street type is typed so far, and number of areas they are from.
const ELSEWHERE_TYPED_STREETS: usize = 500;
const ELSEWHERE_TYPED_AREAS: usize = 64;
/// Maximum number of streets that fit equally well in which the house number is looked up.
const ELSEWHERE_NUMBERS_MAX: usize = 1_000;
/// Minimum share of the greatest rarity of a street's words at which the street is examined.
const RARITY_SHARE_MIN: f32 = 0.5;
/// If no street fits at least this well, words are also read as misspelled.
const FITS: f32 = 0.9;
/// Minimum share of the query's words, and of the street's own words, that must be explained for a street whose name
/// contains the name of a town.
const EXPLAINED: f32 = 0.85;
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
        // A postal code that agrees is certain; a name may instead belong to the street: `Rue Henri Saumande` is not in
        // Saumane.
        let certain = query.readings.iter().filter(|one| {
            !one.is_prefix && one.postal_code == Agreement::Agrees && !one.places.is_empty()
        });
        let certain = certain.map(|one| one.evidence).fold(0.0, f32::max);
        let mut nowhere = Reading {
            places: Vec::new(),
            used: 0,
            evidence: evidence_elsewhere(certain),
            name_quality: 0.0,
            postal_code: Agreement::Absent,
            is_prefix: false,
        };
        if nowhere.evidence <= 0.0 {
            return;
        }
        // In `12 rue de Mende`, the town's name belongs to the street, because no other word is left to name it.
        let leaves_a_street = |one: &&Reading| {
            let left = StreetQuery::new(query, one, false);
            !one.is_prefix && one.name_quality > 0.0 && left.distinctive().next().is_some()
        };
        let named: Vec<&Reading> = query.readings.iter().filter(leaves_a_street).collect();
        let tokens = query.tokens.iter().enumerate();
        let numbers = tokens.filter(|(_, token)| token.is_number());
        let numbers = numbers.fold(0, |numbers, (at, _)| numbers | bit(at));
        // A street outside the town that the query names is only possible if its name contains the town's words.
        let excluding = named
            .iter()
            .filter(|one| evidence_elsewhere(one.evidence) <= 0.0);
        let required = excluding.clone().fold(0, |used, one| used | one.used);
        let is_spelled = excluding.clone().all(|one| one.name_quality >= SPELLED);
        let described = StreetQuery::new(query, &nowhere, request.autocomplete);
        let begin = candidates.len();
        let passes = if required != 0 && is_spelled {
            // If the town is spelled correctly, its words are not misspellings of other words.
            &[Misspelled::None][..]
        } else {
            &[Misspelled::Unknown, Misspelled::Any]
        };
        let allowed = narrowing.places.as_ref();
        let is_allowed = |place: u32| allowed.is_none_or(|allowed| is_within(place, allowed));
        // Streets of equal names in a department fit equally well, and the second pass meets those of the first again.
        let mut fits: HashMap<(usize, &[u32]), Option<Fit>, FixedState> = HashMap::default();
        let mut seen: HashSet<(usize, u32), FixedState> = HashSet::default();
        for misspelled in passes.iter().copied() {
            let found = self.streets_with_rarest(
                &described, likenesses, request, required, misspelled, is_allowed,
            );
            let mut best = 0.0_f32;
            for (number, street) in found {
                if !seen.insert((number, street)) {
                    continue;
                }
                let view = self.segments[number].words_view();
                let fit = fits
                    .entry((number, view.of_street(street)))
                    .or_insert_with(|| described.fit(likenesses, &view, number, street, 0.0));
                if let Some(fit) = fit.as_ref() {
                    best = best.max(fit.score());
                    let evidence = named
                        .iter()
                        .filter(|one| !is_explained(one.used & !numbers, fit))
                        .map(|one| one.evidence)
                        .fold(certain, f32::max);
                    nowhere.evidence = evidence_elsewhere(evidence);
                    if nowhere.evidence > 0.0 {
                        let mut one = candidate(number, street, fit.clone(), &nowhere);
                        one.is_elsewhere = true;
                        candidates.push(one);
                    }
                }
            }
            // If nothing fits, a word that exists in the base may still be a misspelling of another.
            if best >= FITS {
                break;
            }
        }
        self.keep_first(query, &nowhere, request, candidates, begin);
        self.finish_streets(query, &nowhere, request, candidates, begin);
    }

    /// Keeps the best of the candidates from `begin` on. Hundreds may fit equally well, such as every Place de la
    /// Mairie. Of those streets, keeps the ones with the house number, and then the nearest to the requested position;
    /// without a position, the streets of the largest towns.
    pub(super) fn keep_first(
        &self,
        query: &Query,
        reading: &Reading,
        request: &SearchRequest,
        candidates: &mut Vec<Candidate>,
        begin: usize,
    ) {
        if candidates.len() - begin <= KEPT_OF_READING {
            return;
        }
        let rank = |one: &Candidate| match one.target {
            Target::Street { segment, street } => self.remoteness(request, segment, street),
            Target::Commune(_) => u32::MAX,
        };
        candidates[begin..].sort_by_cached_key(|one| {
            let parts = (one.score * SCORE_PARTS) as i32;
            (Reverse(parts), rank(one))
        });
        let best = candidates[begin].score;
        let equal = candidates[begin..].partition_point(|one| one.score > best - 1.0 / SCORE_PARTS);
        let looked_up = equal.min(ELSEWHERE_NUMBERS_MAX);
        let nearest = &mut candidates[begin..begin + looked_up];
        for one in nearest.iter_mut() {
            self.find_number(query, reading, one);
        }
        let has_number = |one: &Candidate| {
            matches!(
                one.number,
                NumberMatch::Found(_) | NumberMatch::OtherSuffix(_)
            )
        };
        nearest.sort_by_key(|one| !has_number(one));
        let alike = match nearest.partition_point(has_number) {
            0 => equal,
            // Their numbers do not count.
            _ if request.kind == Some(ResultKind::Street) => equal,
            with_number => with_number * equal / looked_up,
        };
        candidates.truncate(begin + KEPT_OF_READING);
        for one in &mut candidates[begin..] {
            one.dropped = alike.saturating_sub(KEPT_OF_READING) as u32;
        }
    }

    /// Returns the distance of a street from the requested position, metres; without one, a number that is smaller for
    /// a larger commune.
    fn remoteness(&self, request: &SearchRequest, segment: usize, street: u32) -> u32 {
        match request.near {
            Some((lat, lon)) => {
                let at = self.segments[segment].street_position(street);
                planar_distance_m(lat, lon, at.0, at.1) as u32
            }
            None => {
                let place = self.place_of(segment, street);
                let place = place.and_then(|at| Places::get().place(at));
                u32::MAX - place.map_or(0, |place| place.population)
            }
        }
    }

    /// Returns streets of the allowed places nearest to the requested position, or without one, of the largest: to
    /// complete `2 Rue du`.
    fn nearest_streets(
        &self,
        request: &SearchRequest,
        is_allowed: impl Fn(u32) -> bool,
    ) -> Vec<(usize, u32)> {
        let mut areas = Vec::new();
        for (number, segment) in self.segments.iter().enumerate() {
            for (area, place) in self.area_places[number].iter().enumerate() {
                let streets = segment.area_streets(area);
                if place.is_some_and(&is_allowed) && !streets.is_empty() {
                    let remoteness = self.remoteness(request, number, streets.start);
                    areas.push((remoteness, number, area));
                }
            }
        }
        if areas.len() > ELSEWHERE_TYPED_AREAS {
            areas.select_nth_unstable(ELSEWHERE_TYPED_AREAS);
            areas.truncate(ELSEWHERE_TYPED_AREAS);
        }
        areas.sort_unstable();
        let streets = areas.into_iter().flat_map(|(_, number, area)| {
            let streets = self.segments[number].area_streets(area);
            streets.map(move |street| (number, street))
        });
        streets.take(ELSEWHERE_TYPED_STREETS).collect()
    }

    /// Returns the segments and streets in allowed places that have the most and the rarest of the distinctive words, at
    /// most [`ELSEWHERE_STREETS_MAX`]. If distinctive words are among the tokens `required`, as bits, only the streets
    /// that have all of them are returned.
    ///
    /// A word that may be `misspelled` also matches similar words with the same first letter.
    pub(super) fn streets_with_rarest(
        &self,
        described: &StreetQuery<'_>,
        likenesses: &Likenesses,
        request: &SearchRequest,
        required: u64,
        misspelled: Misspelled,
        is_allowed: impl Fn(u32) -> bool,
    ) -> Vec<(usize, u32)> {
        let is_long = |token: &usize| likenesses.word(*token).text().len() >= ELSEWHERE_LETTERS_MIN;
        let mut tokens: Vec<usize> = described.distinctive().filter(is_long).collect();
        if tokens.is_empty() && described.is_open {
            return self.nearest_streets(request, is_allowed);
        }
        // The base may spell out an abbreviated word.
        let is_required = |token: &usize| {
            let is_whole = lexicon::expansions(likenesses.word(*token).text()).is_empty();
            required & bit(*token) != 0 && is_whole
        };
        let needs_all = tokens.iter().any(is_required);
        if needs_all {
            tokens.retain(is_required);
        }
        let mut words: Vec<&QueryWord> = tokens.iter().map(|at| likenesses.word(*at)).collect();
        words.sort_by_key(|word| Reverse(word.text().len()));
        words.truncate(ELSEWHERE_WORDS_MAX);
        let mut left = ELSEWHERE_COMPARED_MAX;
        let mut lists: Vec<WordLists> = Vec::with_capacity(words.len());
        for word in words {
            let of_segments = self.segments.iter();
            let mut streets: Vec<Vec<u32>> = if word.is_open {
                of_segments
                    .map(|one| streets_with_prefix(one, word))
                    .collect()
            } else {
                of_segments.map(|one| exactly(one, word)).collect()
            };
            let is_misspelled = match misspelled {
                Misspelled::None => false,
                Misspelled::Unknown => streets.iter().all(Vec::is_empty),
                Misspelled::Any => true,
            };
            if is_misspelled && !word.is_open {
                for (segment, streets) in self.segments.iter().zip(&mut streets) {
                    streets.extend(streets_with_similar_word(segment, word, &mut left));
                    streets.sort_unstable();
                    streets.dedup();
                }
            }
            let count: usize = streets.iter().map(Vec::len).sum();
            if count > 0 {
                lists.push(WordLists { streets, count });
            } else if needs_all {
                return Vec::new();
            }
        }
        lists.sort_by_key(|one| one.count);
        let all = self.segments.iter().map(|one| one.streets()).sum::<usize>();
        let mut found: Vec<(f32, usize, u32)> = Vec::new();
        let mut looked_at = 0;
        for at in 0..lists.len() {
            // A frequent word only adds to streets that have a rarer one.
            let streets_max = if looked_at > 0 {
                ELSEWHERE_STREETS_MAX
            } else {
                ELSEWHERE_LISTED_MAX
            };
            if looked_at + lists[at].count > streets_max {
                break;
            }
            looked_at += lists[at].count;
            for (segment, streets) in lists[at].streets.iter().enumerate() {
                for street in streets {
                    let has = |one: &&WordLists| one.streets[segment].binary_search(street).is_ok();
                    let is_met = !needs_all || lists.iter().all(|one| has(&one));
                    if !is_met || lists[..at].iter().any(|one| has(&one)) {
                        continue;
                    }
                    if !self.place_of(segment, *street).is_some_and(&is_allowed) {
                        continue;
                    }
                    let rarity = lists[at..]
                        .iter()
                        .filter(has)
                        .map(|one| one.rarity(all))
                        .sum();
                    found.push((rarity, segment, *street));
                }
            }
        }
        let most = found.iter().map(|one| one.0).fold(0.0, f32::max);
        found.retain(|one| one.0 >= most * RARITY_SHARE_MIN);
        if found.len() <= ELSEWHERE_STREETS_MAX {
            let found = found.into_iter();
            return found
                .map(|(_, segment, street)| (segment, street))
                .collect();
        }
        let ranked = found.into_iter().map(|(rarity, segment, street)| {
            let rarity = (rarity * SCORE_PARTS) as i64;
            let remoteness = self.remoteness(request, segment, street);
            (Reverse(rarity), remoteness, segment, street)
        });
        let mut ranked: Vec<_> = ranked.collect();
        ranked.select_nth_unstable(ELSEWHERE_STREETS_MAX);
        ranked.truncate(ELSEWHERE_STREETS_MAX);
        let nearest = ranked.into_iter();
        nearest.map(|one| (one.2, one.3)).collect()
    }
}

/// The words of a query that may be misspelled.
#[derive(Clone, Copy)]
pub(super) enum Misspelled {
    None,
    /// Those that no segment has.
    Unknown,
    Any,
}

/// The streets that have a word, by segment.
struct WordLists {
    streets: Vec<Vec<u32>>,
    /// Number of streets in all segments.
    count: usize,
}

impl WordLists {
    /// Returns how rare the word is among `all` streets: the logarithm of the inverse share.
    fn rarity(&self, all: usize) -> f32 {
        ((all + 1) as f32 / self.count as f32).ln()
    }
}

/// Returns the evidence for a street outside the places that the query names, given the evidence for these places.
pub(super) fn evidence_elsewhere(evidence: f32) -> f32 {
    (0.55 - 0.75 * evidence).max(0.0)
}

/// Returns whether a street contains the words that name a place, and explains nearly all words of the query and of its
/// own name. `words` are their tokens, as bits, without numbers, which may be house numbers. A code alone has none, and
/// no street explains it.
fn is_explained(words: u64, fit: &Fit) -> bool {
    words != 0 && words & !fit.aligned == 0 && fit.query >= EXPLAINED && fit.street >= EXPLAINED
}

/// Returns the streets of a segment that have a word.
fn exactly(segment: &Segment, word: &QueryWord) -> Vec<u32> {
    let found = segment.find_word(word.text());
    found.map_or(Vec::new(), |found| segment.postings(found).to_vec())
}

/// Returns the streets of a segment that have a word which begins with this one.
fn streets_with_prefix(segment: &Segment, word: &QueryWord) -> Vec<u32> {
    let found = segment.words_from(word.text()).take(ELSEWHERE_BEGUN_MAX);
    streets_of(segment, found)
}

/// Returns the streets of a segment that have a word similar to this one. Subtracts the number of words compared from
/// `left`.
fn streets_with_similar_word(segment: &Segment, word: &QueryWord, left: &mut usize) -> Vec<u32> {
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
        let (text, signature, sound) = view.outline(*other);
        (word.may_be_near(text.len(), signature) || word.sounds_like(sound))
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
