//! Forward search: reads the query, aligns the streets of the communes it may mean, finds the house number, and ranks
//! the results.

pub mod align;
pub mod calibration;
mod describing_word;
mod elsewhere;
pub mod explain;
mod glued;
mod irrelevant;
pub mod likenesses;
mod number;
pub mod query;
mod rank;
mod town_in_street;
mod typed_town;

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::FixedState;

use self::align::{Fit, StreetQuery};
use self::likenesses::Likenesses;
use self::query::{PostalCodeLookup, Query, QueryContext, Reading};
use crate::index::segment::{HouseNumber, Segment};
use crate::places::OtherNames;
use toise_geo::places::{DIVIDED_CITIES, Place, PlaceKind, Places};

pub(crate) use rank::{FAR_M, FOUND_FROM, importance};
pub use rank::{Match, Matched, PartMatch, position};

/// Maximum number of candidates kept of one reading: as many as a request may ask for.
const KEPT_OF_READING: usize = 50;
/// Candidates kept beyond the requested number: some may be at the same spot, and the best one at another spot shows
/// how doubtful the first result is.
const KEPT_BEYOND: usize = 8;
/// Difference in score between a house number that is found and one that is missing.
const NUMBER_CHANGE: f32 = 0.08;
/// If no candidate scores at least this, words are also looked up over all of France, and then in towns whose names have
/// two typing errors.
const ELSEWHERE_BELOW: f32 = 0.72;
/// If the end of a query may begin the name of a town and no candidate scores at least this, the street is looked up in
/// all towns that begin so.
const BEGUN_BELOW: f32 = 0.85;
/// Minimum score of a place whose name the query has, such as a hamlet called `Le Bourg`.
const CALLED_SO: f32 = 0.8;
/// Factor for the evidence for a former commune if the base does not give the former commune of an area.
const UNSAID_FORMER: f32 = 0.97;
/// Maximum difference from the best score at which a result still makes the best doubtful.
const DOUBT: f32 = 0.12;

toise_base::named! {
    /// Kind of result.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum ResultKind {
        /// An address with a house number.
        HouseNumber = "housenumber",
        /// A street.
        Street = "street",
        /// A named place.
        Locality = "locality",
        /// A commune.
        Municipality = "municipality",
    }
}

/// A search request.
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
    /// INSEE code of the area that results must be in: a commune, a former commune, or Paris, Lyon or Marseille as a
    /// whole.
    pub insee_code: Option<String>,
    /// Places that results must be in, as indexes into the table of places.
    pub within: Option<Vec<u32>>,
    /// Kind that results must have.
    pub kind: Option<ResultKind>,
}

/// Result of the search for the house number.
#[derive(Clone, Debug, PartialEq)]
pub enum NumberMatch {
    /// The query has no house number.
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
    /// Whether it is outside the places that the query names.
    pub is_elsewhere: bool,
    /// For a commune, words of the query that do not name it.
    pub words_left: usize,
    /// Whether the query asks for the centre of this commune, which the base does not have: `le bourg`.
    pub is_centre: bool,
    /// Number of other streets over all of France that fit as well and are not kept.
    pub dropped: u32,
    pub score: f32,
}

/// Where a search looks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extent {
    /// In the places that the text may name.
    NamedPlaces,
    /// Also in all of France, if these places do not have the address.
    France,
}

/// Address search over a set of segments.
pub struct Geocoder {
    segments: Vec<Arc<Segment>>,
    /// Where the areas of a place begin in `areas`, by the place's index.
    area_starts: Vec<u32>,
    /// Segment and area, by place.
    areas: Vec<(u32, u32)>,
    /// Place of each area, by segment; `None` if the table of places lacks it.
    area_places: Vec<Vec<Option<u32>>>,
    /// Paris, Lyon and Marseille with their arrondissements, as indexes into the table of places.
    divided: Vec<(u32, Vec<u32>)>,
    /// Communes that have addresses with a postal code, by postal code.
    with_postal_code: HashMap<u32, Vec<u32>, FixedState>,
    /// Names of communes that the segments have and the table of places lacks.
    other_names: OtherNames,
}

impl Geocoder {
    /// Creates a geocoder over segments, one per department.
    pub fn new(segments: Vec<Arc<Segment>>) -> Self {
        let places = Places::get();
        let mut of_places: Vec<(u32, u32, u32)> = Vec::new();
        let mut with_postal_code: HashMap<u32, Vec<u32>, FixedState> = HashMap::default();
        let mut names: Vec<(&str, u32)> = Vec::new();
        let area_places: Vec<Vec<Option<u32>>> = segments
            .iter()
            .map(|segment| {
                let codes = (0..segment.areas()).map(|area| segment.area(area).insee_code);
                codes.map(|code| places.find(code)).collect()
            })
            .collect();
        for (number, segment) in segments.iter().enumerate() {
            for (area, place) in area_places[number].iter().enumerate() {
                let Some(place) = *place else {
                    continue;
                };
                of_places.push((place, number as u32, area as u32));
                let commune = segment.area(area).commune;
                if names.last() != Some(&(commune, place)) {
                    names.push((commune, place));
                }
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
        let other_names = OtherNames::new(names.into_iter());
        Self {
            area_starts,
            other_names,
            areas: of_places
                .into_iter()
                .map(|(_, segment, area)| (segment, area))
                .collect(),
            area_places,
            divided: divided.collect(),
            with_postal_code,
            segments,
        }
    }

    /// Returns the segments.
    pub fn segments(&self) -> &[Arc<Segment>] {
        &self.segments
    }

    /// Finds the addresses that a text may mean, the most probable first.
    pub fn search(&self, request: &SearchRequest) -> Vec<Match> {
        self.search_up_to(request, Extent::France)
            .unwrap_or_default()
    }

    /// Like [`Geocoder::search`], or `None` if all of France must be searched, which takes milliseconds. Otherwise the
    /// search takes some tens of microseconds.
    pub fn search_named_places(&self, request: &SearchRequest) -> Option<Vec<Match>> {
        self.search_up_to(request, Extent::NamedPlaces)
    }

    fn search_up_to(&self, request: &SearchRequest, extent: Extent) -> Option<Vec<Match>> {
        let with_postal_code = |code: &str| self.with_postal_code(code);
        let narrowing = self.narrowing(request, &with_postal_code);
        let query = Query::read(&request.text, &narrowing);
        let mut likenesses = Likenesses::new(&query, request.autocomplete);
        let mut candidates = Vec::new();
        let mut best = 0.0_f32;
        for reading in &query.readings {
            // Readings come strongest first. From here on, even the best result would be too weak to cast doubt on the
            // best one so far.
            if rank::best_score(reading.evidence) < best - DOUBT {
                break;
            }
            let begin = candidates.len();
            let least = rank::min_fit(reading.evidence, best - DOUBT);
            self.read_streets(
                &query, reading, request, &mut likenesses, least, &mut candidates,
            );
            read_communes(&query, reading, &mut candidates, begin);
            best = candidates[begin..]
                .iter()
                .map(|one: &Candidate| one.score)
                .fold(best, f32::max);
        }
        let is_missing = best < ELSEWHERE_BELOW || query.is_place_doubtful();
        let is_begun = best < BEGUN_BELOW && query.readings.iter().any(|one| one.is_prefix);
        if (is_missing || is_begun) && extent == Extent::NamedPlaces {
            return None;
        }
        if is_begun {
            self.read_begun_towns(
                &query, &narrowing, request, &mut likenesses, &mut candidates,
            );
        }
        if is_missing {
            self.read_elsewhere(
                &query, &narrowing, request, &mut likenesses, &mut candidates,
            );
            let is_found = candidates.iter().any(|one| one.score >= ELSEWHERE_BELOW);
            let towns = (!is_found).then(|| query.twice_misspelled(&narrowing));
            for reading in towns.into_iter().flatten() {
                self.read_streets(
                    &query, &reading, request, &mut likenesses, 0.0, &mut candidates,
                );
            }
        }
        Some(rank::rank(self, &query, request, candidates))
    }

    /// Returns the communes with addresses of a postal code.
    fn with_postal_code(&self, code: &str) -> &[u32] {
        let communes = code.parse().ok();
        let communes = communes.and_then(|code: u32| self.with_postal_code.get(&code));
        communes.map_or(&[], Vec::as_slice)
    }

    fn narrowing<'a>(
        &'a self,
        request: &SearchRequest,
        with_postal_code: &'a PostalCodeLookup<'a>,
    ) -> QueryContext<'a> {
        let of_code = request.insee_code.as_deref().map(|code| {
            let places = Places::get();
            let found = places.find(code);
            let codes = found
                .map(|found| places.address_codes(found))
                .unwrap_or_default();
            let whole = codes.iter().filter_map(|code| places.find(code));
            let mut of_code: Vec<u32> = whole.chain(found).collect();
            if let Some(within) = &request.within {
                of_code.retain(|place| query::is_within(*place, within));
            }
            of_code
        });
        let places = of_code.or_else(|| request.within.clone());
        QueryContext {
            with_postal_code: Some(with_postal_code),
            other_names: Some(&self.other_names),
            postal_code: request.postal_code.clone(),
            places,
            is_open: request.autocomplete,
        }
    }

    /// Returns the segments and areas of a reading's places, each with the factor for the reading's evidence there.
    fn areas_of(&self, reading: &Reading) -> Vec<(u32, u32, f32)> {
        let places = Places::get();
        let mut found: Vec<(u32, u32, f32)> = Vec::new();
        for index in &reading.places {
            let Some(place) = places.place(*index) else {
                continue;
            };
            let is_former = matches!(place.kind, PlaceKind::Former | PlaceKind::FormerCode);
            let root = match place.parent {
                Some(parent) if is_former => parent,
                _ => *index,
            };
            let parts = self.divided.iter().find(|(city, _)| *city == root);
            for root in parts.map_or(&[root][..], |(_, parts)| parts.as_slice()) {
                let areas = self.areas_of_place(*root).iter();
                found.extend(areas.filter_map(|(segment, area)| {
                    let certainty = self.certainty(place, *segment, *area)?;
                    Some((*segment, *area, certainty))
                }));
            }
        }
        if reading.places.len() > 1 {
            found.sort_unstable_by_key(|(segment, area, _)| (*segment, *area));
            found.dedup_by_key(|(segment, area, _)| (*segment, *area));
        }
        found
    }

    /// Returns the place of a street, as an index into the table of places; `None` if the table lacks it.
    fn place_of(&self, segment: usize, street: u32) -> Option<u32> {
        let area = self.segments[segment].area_of(street);
        *self.area_places[segment].get(area)?
    }

    /// Returns how certainly an area of a place's commune belongs to the place; `None` for an area of another former
    /// commune. A former commune has its own area if the base names it.
    fn certainty(&self, place: &Place, segment: u32, area: u32) -> Option<f32> {
        if place.kind != PlaceKind::Former || place.code.is_empty() {
            return Some(1.0);
        }
        let area = self.segments[segment as usize].area(area as usize);
        match area.former_code {
            code if code == place.code => Some(1.0),
            _ if area.former_name.is_empty() => Some(UNSAID_FORMER),
            _ => None,
        }
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
        for (number, area, certainty) in self.areas_of(reading) {
            let segment = &self.segments[number as usize];
            let view = segment.words_view();
            for street in segment.area_streets(area as usize) {
                let fit = described.fit(likenesses, &view, number as usize, street, least);
                if let Some(fit) = fit {
                    let mut one = candidate(number as usize, street, fit, reading);
                    one.evidence *= certainty;
                    candidates.push(one);
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
        let enough = if is_filtered || request.near.is_some() {
            KEPT_OF_READING
        } else {
            request.limit + KEPT_BEYOND
        };
        keep_best(candidates, begin, enough);
        for candidate in &mut candidates[begin..] {
            self.find_number(query, reading, candidate);
            rank::compare_postal_code(self, query, candidate);
            rank::compare_town_words(self, query, candidate);
            candidate.score = rank::score(candidate);
        }
    }
}

/// Adds the communes of a reading as results; they score better the fewer other words the query has. The candidates from
/// `begin` on are the streets of the reading.
fn read_communes(query: &Query, reading: &Reading, candidates: &mut Vec<Candidate>, begin: usize) {
    if reading.used == 0 && query.tokens.len() > 1 {
        return;
    }
    let described = StreetQuery::new(query, reading, false);
    let is_street = |one: &Candidate| one.score >= CALLED_SO;
    let is_centre = described.names_centre() && !candidates[begin..].iter().any(is_street);
    let left = if is_centre {
        0
    } else {
        described.substantive_count(reading)
    };
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
            is_centre,
            dropped: 0,
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
        is_centre: false,
        dropped: 0,
    }
}

/// Keeps the best of the candidates from `begin` on: `enough` of them, and those that could reach the same score
/// through a house number, at most [`KEPT_OF_READING`].
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
