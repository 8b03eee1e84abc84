//! Forward search: reads the query, aligns the streets of the communes it may mean, finds the house number, and ranks.

pub mod align;
pub mod calibration;
pub mod query;
mod rank;

use std::collections::HashMap;
use std::sync::Arc;

use self::align::{Fit, Likenesses, StreetQuery};
use self::query::{Narrowing, PostalCodeLookup, Query, Reading, bit, is_within};
use crate::index::segment::{HouseNumber, Segment};
use crate::text::lexicon;
use toise_geo::places::{PlaceKind, Places};

pub use rank::{Match, Matched, PartMatch, position};

/// Candidates kept of one reading.
const KEPT_OF_READING: usize = 40;
/// Below this best score words are also looked up over all of France.
const ELSEWHERE_BELOW: f32 = 0.72;
/// Maximum streets looked at over all of France.
const ELSEWHERE_STREETS_MAX: usize = 20_000;
/// Maximum digits of a house number.
const HOUSE_NUMBER_DIGITS: usize = 5;
/// How far below the best a result still makes it doubtful.
const DOUBT: f32 = 0.15;

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
    /// Segment and area of an INSEE code.
    areas: HashMap<String, Vec<(usize, usize)>>,
    /// Communes in which addresses have a postal code.
    with_postal_code: HashMap<u32, Vec<u32>>,
}

impl Geocoder {
    /// A geocoder over segments, one per department.
    pub fn new(segments: Vec<Arc<Segment>>) -> Self {
        let mut areas: HashMap<String, Vec<_>> = HashMap::new();
        let mut with_postal_code: HashMap<u32, Vec<u32>> = HashMap::new();
        for (number, segment) in segments.iter().enumerate() {
            for area in 0..segment.areas() {
                let code = segment.area(area).insee_code;
                areas
                    .entry(code.to_owned())
                    .or_default()
                    .push((number, area));
                let Some(place) = Places::get().find(code) else {
                    continue;
                };
                for street in segment.area_streets(area) {
                    let communes = with_postal_code
                        .entry(segment.street_postal_code(street))
                        .or_default();
                    if communes.last() != Some(&place) {
                        communes.push(place);
                    }
                }
            }
        }
        Self {
            segments,
            areas,
            with_postal_code,
        }
    }

    /// The segments.
    pub fn segments(&self) -> &[Arc<Segment>] {
        &self.segments
    }

    /// Finds what an address may mean, the most probable first.
    pub fn search(&self, request: &SearchRequest) -> Vec<Match> {
        let with_postal_code = |code: &str| {
            let communes = code
                .parse()
                .ok()
                .and_then(|code: u32| self.with_postal_code.get(&code));
            communes.cloned().unwrap_or_default()
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
            self.read_streets(&query, reading, request, &mut likenesses, &mut candidates);
            self.read_communes(&query, reading, &mut candidates);
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
    fn areas_of(&self, reading: &Reading) -> Vec<(usize, usize)> {
        let places = Places::get();
        let mut found = Vec::new();
        for index in &reading.places {
            let Some(place) = places.place(*index) else {
                continue;
            };
            for code in places.address_codes(*index) {
                let of_code = self.areas.get(code).map_or(&[][..], Vec::as_slice);
                found.extend(of_code.iter().copied().filter(|(segment, area)| {
                    // A former commune is its own area where the base says so.
                    let area = self.segments[*segment].area(*area);
                    place.kind != PlaceKind::Former
                        || area.former_name.is_empty()
                        || area.former_code == place.code
                        || place.code.is_empty()
                }));
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    fn read_streets(
        &self,
        query: &Query,
        reading: &Reading,
        request: &SearchRequest,
        likenesses: &mut Likenesses,
        candidates: &mut Vec<Candidate>,
    ) {
        let described = StreetQuery::new(query, reading, request.autocomplete);
        if described.is_empty() {
            return;
        }
        let begin = candidates.len();
        for (number, area) in self.areas_of(reading) {
            let segment = &self.segments[number];
            for street in segment.area_streets(area) {
                if let Some(fit) = described.fit(likenesses, segment, number, street) {
                    candidates.push(candidate(number, street, fit, reading));
                }
            }
        }
        keep_best(candidates, begin, KEPT_OF_READING);
        for candidate in &mut candidates[begin..] {
            self.find_number(query, reading, candidate);
            candidate.score = rank::score(candidate);
        }
    }

    /// A commune is a result of its own, the better the more of the query names it.
    fn read_communes(&self, query: &Query, reading: &Reading, candidates: &mut Vec<Candidate>) {
        if reading.used == 0 && query.tokens.len() > 1 {
            return;
        }
        let described = StreetQuery::new(query, reading, false);
        let left = described
            .words()
            .filter(|word| !lexicon::is_article(word.text()))
            .count();
        for place in reading.places.iter().take(KEPT_OF_READING) {
            let evidence = reading.evidence / (1.0 + 0.8 * left as f32);
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
        let mut visited = 0;
        for (number, segment) in self.segments.iter().enumerate() {
            for street in streets_with_rarest(segment, &described) {
                visited += 1;
                if visited > ELSEWHERE_STREETS_MAX {
                    break;
                }
                let code = segment.area(segment.area_of(street)).insee_code;
                let is_allowed = narrowing.places.as_ref().is_none_or(|allowed| {
                    Places::get()
                        .find(code)
                        .is_some_and(|place| is_within(place, allowed))
                });
                if let Some(fit) = described
                    .fit(likenesses, segment, number, street)
                    .filter(|_| is_allowed)
                {
                    let mut one = candidate(number, street, fit, &nowhere);
                    one.is_elsewhere = true;
                    candidates.push(one);
                }
            }
        }
        keep_best(candidates, begin, KEPT_OF_READING);
        for candidate in &mut candidates[begin..] {
            self.find_number(query, &nowhere, candidate);
            candidate.score = rank::score(candidate);
        }
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
        let mut asked = false;
        for at in before.chain(after).chain(within) {
            let Ok(number) = query.tokens[at].text.parse::<u32>() else {
                continue;
            };
            asked = true;
            let suffix = query.tokens.get(at + 1).filter(|_| is_free(at + 1));
            let suffix = suffix
                .and_then(|token| lexicon::suffix_code(&token.text))
                .unwrap_or(0);
            let found = segment.find_number(*street, number);
            let same = |house: &&HouseNumber| house.suffix == suffix;
            let alias = |house: &&HouseNumber| lexicon::suffix_alias(suffix) == Some(house.suffix);
            let best = found.iter().find(same).or_else(|| found.iter().find(alias));
            if let Some(house) = best {
                candidate.number = NumberMatch::Found(house.clone());
                return;
            }
            if let Some(house) = found.first() {
                candidate.number = NumberMatch::OtherSuffix(house.clone());
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

/// Keeps the best of the candidates from `begin` on.
fn keep_best(candidates: &mut Vec<Candidate>, begin: usize, count: usize) {
    if candidates.len() - begin > count {
        candidates[begin..].sort_by(|one, other| other.score.total_cmp(&one.score));
        candidates.truncate(begin + count);
    }
}

/// Streets that have the rarest telling word of a query, and the next rarest if there is one.
fn streets_with_rarest(segment: &Segment, described: &StreetQuery) -> Vec<u32> {
    let mut lists: Vec<Vec<u32>> = Vec::new();
    for word in described.telling() {
        let mut streets: Vec<u32> = match segment.find_word(word.text()) {
            Some(found) => segment.postings(found).to_vec(),
            None if word.is_open => {
                let found = segment.words_from(word.text());
                found
                    .take(64)
                    .flat_map(|word| segment.postings(word))
                    .copied()
                    .collect()
            }
            None => {
                let words = 0..segment.words() as u32;
                let alike = words.filter(|other| word.likeness(segment.word(*other)) >= 0.75);
                alike
                    .flat_map(|word| segment.postings(word))
                    .copied()
                    .collect()
            }
        };
        if !streets.is_empty() {
            streets.sort_unstable();
            streets.dedup();
            lists.push(streets);
        }
    }
    lists.sort_by_key(Vec::len);
    let mut lists = lists.into_iter();
    let Some(rarest) = lists.next() else {
        return Vec::new();
    };
    let Some(next) = lists.next() else {
        return rarest;
    };
    let both: Vec<u32> = rarest
        .iter()
        .copied()
        .filter(|street| next.binary_search(street).is_ok())
        .collect();
    if both.is_empty() { rarest } else { both }
}

#[cfg(test)]
mod tests;
