//! Forward search: reads the query, aligns the streets of the communes it may mean, finds the house number, and ranks.

pub mod align;
pub mod calibration;
pub mod query;
mod rank;

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::FixedState;

use self::align::{Fit, Likenesses, StreetQuery};
use self::query::{Narrowing, PostalCodeLookup, Query, Reading, bit, is_within};
use crate::index::segment::{HouseNumber, Segment};
use crate::text::fold::Token;
use crate::text::lexicon;
use crate::text::likeness::QueryWord;
use toise_geo::places::{DIVIDED_CITIES, PlaceKind, Places};

pub use rank::{Match, Matched, PartMatch, position};

/// Candidates kept of one reading.
const KEPT_OF_READING: usize = 40;
/// Candidates kept beyond those asked for: some name the same spot, and the next other one makes the best doubtful.
const KEPT_BEYOND: usize = 8;
/// What a house number can change in a score, found or missing.
const NUMBER_CHANGE: f32 = 0.08;
/// Below this best score words are also looked up over all of France.
const ELSEWHERE_BELOW: f32 = 0.72;
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
/// Words after a house number that its suffix may take: `A bis`.
const SUFFIX_TOKENS_MAX: usize = 3;
/// Maximum digits of a house number.
const HOUSE_NUMBER_DIGITS: usize = 5;
/// How far below the best a result still makes it doubtful.
const DOUBT: f32 = 0.12;

/// What kind of result is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultKind {
    /// An address with a house number.
    HouseNumber,
    /// A street.
    Street,
    /// A named place.
    Locality,
    /// A commune.
    Municipality,
}

impl ResultKind {
    /// All kinds.
    pub const ALL: [Self; 4] = [
        ResultKind::HouseNumber,
        ResultKind::Street,
        ResultKind::Locality,
        ResultKind::Municipality,
    ];

    /// Its name in the contract.
    pub fn name(self) -> &'static str {
        match self {
            ResultKind::HouseNumber => "housenumber",
            ResultKind::Street => "street",
            ResultKind::Locality => "locality",
            ResultKind::Municipality => "municipality",
        }
    }
}

/// What to search.
#[derive(Clone, Debug, Default)]
pub struct SearchRequest {
    /// The address as written.
    pub text: String,
    /// Maximum results.
    pub limit: usize,
    /// Whether the end of the text is still being typed.
    pub autocomplete: bool,
    /// Position to prefer, latitude and longitude in degrees.
    pub near: Option<(f64, f64)>,
    /// Postal code that results must have.
    pub postal_code: Option<String>,
    /// INSEE code that results must lie in: a commune, a former commune, or Paris, Lyon or Marseille as a whole.
    pub insee_code: Option<String>,
    /// Places that results must lie in, as indexes into the table of places.
    pub within: Option<Vec<u32>>,
    /// Kind that results must have.
    pub kind: Option<ResultKind>,
}

/// How the house number was found.
#[derive(Clone, Debug, PartialEq)]
pub enum NumberMatch {
    /// The query names none.
    NotAsked,
    /// It is in the base with this suffix.
    Found(HouseNumber),
    /// The number is in the base, with another suffix or without.
    OtherSuffix(HouseNumber),
    /// It is not in the base.
    Missing,
}

/// A street or a place that may be meant.
#[derive(Clone, Debug)]
pub(crate) enum Target {
    Street { segment: usize, street: u32 },
    Commune(u32),
}

/// A result before it is ranked.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    pub target: Target,
    pub number: NumberMatch,
    pub fit: Option<Fit>,
    pub evidence: f32,
    pub name_quality: f32,
    pub postal_code: query::Agreement,
    /// Whether it lies where the query names no place.
    pub is_elsewhere: bool,
    /// For a commune, words of the query that do not name it.
    pub words_left: usize,
    pub score: f32,
}

/// Searches a set of segments.
pub struct Geocoder {
    segments: Vec<Arc<Segment>>,
    /// Where the areas of a place begin in `areas`, by the place's index.
    area_starts: Vec<u32>,
    /// Segment and area, by place.
    areas: Vec<(u32, u32)>,
    /// Paris, Lyon and Marseille with their arrondissements, as indexes into the table of places.
    divided: Vec<(u32, Vec<u32>)>,
    /// Communes in which addresses have a postal code.
    with_postal_code: HashMap<u32, Vec<u32>, FixedState>,
}

impl Geocoder {
    /// A geocoder over segments, one per department.
    pub fn new(segments: Vec<Arc<Segment>>) -> Self {
        let places = Places::get();
        let mut of_places: Vec<(u32, u32, u32)> = Vec::new();
        let mut with_postal_code: HashMap<u32, Vec<u32>, FixedState> = HashMap::default();
        for (number, segment) in segments.iter().enumerate() {
            for area in 0..segment.areas() {
                let Some(place) = places.find(segment.area(area).insee_code) else {
                    continue;
                };
                of_places.push((place, number as u32, area as u32));
                for code in segment.area_postal_codes(area) {
                    let communes = with_postal_code.entry(*code).or_default();
                    if communes.last() != Some(&place) {
                        communes.push(place);
                    }
                }
            }
        }
        of_places.sort_unstable();
        let mut area_starts = vec![0; places.all().len() + 1];
        for (place, _, _) in &of_places {
            area_starts[*place as usize + 1] += 1;
        }
        for place in 1..area_starts.len() {
            area_starts[place] += area_starts[place - 1];
        }
        let divided = DIVIDED_CITIES.iter().filter_map(|code| {
            let city = places.find(code)?;
            let parts = places.address_codes(city);
            Some((
                city,
                parts.iter().filter_map(|code| places.find(code)).collect(),
            ))
        });
        Self {
            area_starts,
            areas: of_places
                .into_iter()
                .map(|(_, segment, area)| (segment, area))
                .collect(),
            divided: divided.collect(),
            with_postal_code,
            segments,
        }
    }

    /// The segments.
    pub fn segments(&self) -> &[Arc<Segment>] {
        &self.segments
    }

    /// Finds what an address may mean, the most probable first.
    pub fn search(&self, request: &SearchRequest) -> Vec<Match> {
        let with_postal_code = |code: &str| {
            let communes = code.parse().ok();
            let communes = communes.and_then(|code: u32| self.with_postal_code.get(&code));
            communes.map_or(&[][..], Vec::as_slice)
        };
        let narrowing = self.narrowing(request, &with_postal_code);
        let query = Query::read(&request.text, &narrowing);
        let mut likenesses = Likenesses::new(&query, request.autocomplete);
        let mut candidates = Vec::new();
        let mut best = 0.0_f32;
        for reading in &query.readings {
            // What a weaker reading can reach at best would not even make the best result doubtful.
            if rank::best_score(reading.evidence) < best - DOUBT {
                break;
            }
            let begin = candidates.len();
            let least = rank::least_fit(reading.evidence, best - DOUBT);
            self.read_streets(
                &query,
                reading,
                request,
                &mut likenesses,
                least,
                &mut candidates,
            );
            read_communes(&query, reading, &mut candidates);
            best = candidates[begin..]
                .iter()
                .map(|one: &Candidate| one.score)
                .fold(best, f32::max);
        }
        if best < ELSEWHERE_BELOW {
            self.read_elsewhere(
                &query,
                &narrowing,
                request,
                &mut likenesses,
                &mut candidates,
            );
        }
        rank::rank(self, &query, request, candidates)
    }

    fn narrowing<'a>(
        &self,
        request: &SearchRequest,
        with_postal_code: &'a PostalCodeLookup<'a>,
    ) -> Narrowing<'a> {
        let places = request.insee_code.as_deref().map(|code| {
            let places = Places::get();
            let found = places.find(code);
            let codes = found
                .map(|found| places.address_codes(found))
                .unwrap_or_default();
            let whole = codes.iter().filter_map(|code| places.find(code));
            whole.chain(found).collect()
        });
        let places = places.or_else(|| request.within.clone());
        Narrowing {
            with_postal_code: Some(with_postal_code),
            postal_code: request.postal_code.clone(),
            places,
            is_open: request.autocomplete,
        }
    }

    /// The segments and areas that a reading's places lie in.
    fn areas_of(&self, reading: &Reading) -> Vec<(u32, u32)> {
        let places = Places::get();
        let mut found = Vec::new();
        for index in &reading.places {
            let Some(place) = places.place(*index) else {
                continue;
            };
            let is_former = matches!(place.kind, PlaceKind::Former | PlaceKind::FormerCode);
            let root = if is_former {
                place.parent.unwrap_or(*index)
            } else {
                *index
            };
            let parts = self.divided.iter().find(|(city, _)| *city == root);
            for root in parts.map_or(&[root][..], |(_, parts)| parts.as_slice()) {
                found.extend(self.areas_of_place(*root).iter().filter(|(segment, area)| {
                    if place.kind != PlaceKind::Former || place.code.is_empty() {
                        return true;
                    }
                    // A former commune is its own area where the base says so.
                    let area = self.segments[*segment as usize].area(*area as usize);
                    area.former_name.is_empty() || area.former_code == place.code
                }));
            }
        }
        if reading.places.len() > 1 {
            found.sort_unstable();
            found.dedup();
        }
        found
    }

    fn areas_of_place(&self, place: u32) -> &[(u32, u32)] {
        let ends = self.area_starts.get(place as usize..place as usize + 2);
        let range = ends.map(|ends| ends[0] as usize..ends[1] as usize);
        range.and_then(|range| self.areas.get(range)).unwrap_or(&[])
    }

    fn read_streets(
        &self,
        query: &Query,
        reading: &Reading,
        request: &SearchRequest,
        likenesses: &mut Likenesses,
        least: f32,
        candidates: &mut Vec<Candidate>,
    ) {
        let described = StreetQuery::new(query, reading, request.autocomplete);
        if described.is_empty() {
            return;
        }
        let begin = candidates.len();
        for (number, area) in self.areas_of(reading) {
            let segment = &self.segments[number as usize];
            let view = segment.words_view();
            for street in segment.area_streets(area as usize) {
                let fit = described.fit(likenesses, &view, number as usize, street, least);
                if let Some(fit) = fit {
                    candidates.push(candidate(number as usize, street, fit, reading));
                }
            }
        }
        self.finish_streets(query, reading, request, candidates, begin);
    }

    /// Keeps the best of the candidates from `begin` on, finds their house numbers and scores them.
    fn finish_streets(
        &self,
        query: &Query,
        reading: &Reading,
        request: &SearchRequest,
        candidates: &mut Vec<Candidate>,
        begin: usize,
    ) {
        let is_filtered = request.kind.is_some() || request.postal_code.is_some();
        let enough = match is_filtered || request.near.is_some() {
            true => KEPT_OF_READING,
            false => request.limit + KEPT_BEYOND,
        };
        keep_best(candidates, begin, enough);
        for candidate in &mut candidates[begin..] {
            self.find_number(query, reading, candidate);
            candidate.score = rank::score(candidate);
        }
    }

    /// Looks the telling words up over all of France. What lies elsewhere than in a place that the query names is held
    /// down by the evidence of that place.
    fn read_elsewhere(
        &self,
        query: &Query,
        narrowing: &Narrowing<'_>,
        request: &SearchRequest,
        likenesses: &mut Likenesses,
        candidates: &mut Vec<Candidate>,
    ) {
        let named = query.readings.iter().filter(|one| {
            !one.is_begun && (one.name_quality > 0.0 || one.postal_code == query::Agreement::Agrees)
        });
        let evidence = named.map(|one| one.evidence).fold(0.0, f32::max);
        let nowhere = Reading {
            places: Vec::new(),
            used: 0,
            evidence: (0.55 - 0.75 * evidence).max(0.0),
            name_quality: 0.0,
            postal_code: query::Agreement::Absent,
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
        words.sort_by_key(|word| std::cmp::Reverse(word.text().len()));
        words.truncate(ELSEWHERE_WORDS_MAX);
        let mut left = ELSEWHERE_COMPARED_MAX;
        let is_known = |word: &&QueryWord| {
            let mut segments = self.segments.iter();
            segments.any(|segment| segment.find_word(word.text()).is_some())
        };
        let known: Vec<bool> = words.iter().map(|word| is_known(word)).collect();
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

    /// Finds the house number among the tokens that the street left over: the one before its name, else after it.
    fn find_number(&self, query: &Query, reading: &Reading, candidate: &mut Candidate) {
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
            let following: Vec<&Token> = free
                .take(SUFFIX_TOKENS_MAX)
                .map(|at| &query.tokens[at])
                .collect();
            best_number(segment.find_number(*street, number), &following)
        };
        let mut asked = false;
        for at in before.chain(after).chain(within) {
            asked = true;
            // `6 2 rue …` is number 6 with the suffix 2 where the base has it.
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

/// Of the house numbers that differ by their suffix only, the one that the words after the number ask for.
fn best_number(houses: Vec<HouseNumber>, following: &[&Token]) -> Option<NumberMatch> {
    // `241 r …` is more often a rue than a suffix; `241r` is the suffix.
    let is_suffix = |token: &&&Token| token.joined || lexicon::expansions(&token.text).is_empty();
    let asked = following.first().filter(is_suffix);
    let asked = asked.and_then(|token| lexicon::suffix_code(&token.text));
    let agreement = |house: &HouseNumber| {
        let label = house.suffix_label();
        let written = match label.is_empty() {
            true => None,
            false => (1..=following.len())
                .rev()
                .find(|count| is_label(label, &following[..*count])),
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

/// Whether tokens written together are a suffix.
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

/// A commune is a result of its own, the better the more of the query names it.
fn read_communes(query: &Query, reading: &Reading, candidates: &mut Vec<Candidate>) {
    if reading.used == 0 && query.tokens.len() > 1 {
        return;
    }
    let left = StreetQuery::new(query, reading, false).weighty();
    let evidence = reading.evidence / (1.0 + 0.8 * left as f32);
    for place in reading.places.iter().take(KEPT_OF_READING) {
        candidates.push(Candidate {
            target: Target::Commune(*place),
            number: NumberMatch::NotAsked,
            fit: None,
            evidence,
            name_quality: reading.name_quality,
            postal_code: reading.postal_code,
            is_elsewhere: false,
            words_left: left,
            score: rank::commune_score(evidence),
        });
    }
}

fn candidate(segment: usize, street: u32, fit: Fit, reading: &Reading) -> Candidate {
    Candidate {
        score: fit.score(),
        target: Target::Street { segment, street },
        number: NumberMatch::NotAsked,
        fit: Some(fit),
        evidence: reading.evidence,
        name_quality: reading.name_quality,
        postal_code: reading.postal_code,
        is_elsewhere: false,
        words_left: 0,
    }
}

/// Keeps the best of the candidates from `begin` on: `enough` of them, and those that a house number may lift among
/// them, at most [`KEPT_OF_READING`].
fn keep_best(candidates: &mut Vec<Candidate>, begin: usize, enough: usize) {
    let of_reading = &mut candidates[begin..];
    let better = |one: &Candidate, other: &Candidate| other.score.total_cmp(&one.score);
    if of_reading.len() > KEPT_OF_READING {
        of_reading.select_nth_unstable_by(KEPT_OF_READING, better);
        candidates.truncate(begin + KEPT_OF_READING);
    }
    let of_reading = &mut candidates[begin..];
    of_reading.sort_by(better);
    let Some(last) = of_reading.get(enough.saturating_sub(1)) else {
        return;
    };
    let least = last.score - NUMBER_CHANGE;
    let kept = of_reading.partition_point(|one| one.score >= least);
    candidates.truncate(begin + kept);
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

#[cfg(test)]
mod tests;
