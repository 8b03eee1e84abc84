//! Ranks candidates, and says of each how its parts agree with the query and how probable it is.

use super::align::Fit;
use super::calibration::{self, FEATURES};
use super::query::{Agreement, Query};
use super::{Candidate, Geocoder, NumberMatch, ResultKind, SearchRequest, Target};
use toise_geo::distance::planar_distance_m;
use toise_geo::places::{Place, Places};

/// Greatest evidence a reading may have.
const EVIDENCE_MAX: f32 = 1.12;
/// Share of a street's score that its place decides.
const PLACE_SHARE: f32 = 0.5;
/// Best score of a commune.
const COMMUNE_BEST: f32 = 0.95;
/// What a house number of the base adds, and one that is not in it costs.
const NUMBER_FOUND: f32 = 0.02;
const NUMBER_MISSING: f32 = 0.04;
/// Greatest preference for what lies near the position given, and the distance at which it falls to 1/e, metres.
const NEAR: f32 = 0.1;
const NEAR_M: f64 = 20_000.0;
/// Weight of importance, which only breaks ties.
const IMPORTANCE_WEIGHT: f32 = 0.01;
/// Likeness from which a name counts as written exactly: abbreviations do.
const EXACT: f32 = 0.95;
/// Below this a result is none.
const SCORE_MIN: f32 = 0.2;
/// Maximum matches whose parts are compared.
const MATCHES_MAX: usize = 50;

/// How a part of an address agrees with the query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartMatch {
    /// As written, or as usually abbreviated.
    Exact,
    /// Written otherwise.
    Fuzzy,
    /// Not in the query, or not in the base.
    Missing,
    /// The query says something else.
    Conflict,
}

impl PartMatch {
    /// Its name in the contract.
    pub fn name(self) -> &'static str {
        match self {
            PartMatch::Exact => "exact",
            PartMatch::Fuzzy => "fuzzy",
            PartMatch::Missing => "missing",
            PartMatch::Conflict => "conflict",
        }
    }
}

/// How the parts of an address agree with the query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Matched {
    /// House number.
    pub house_number: PartMatch,
    /// Street or named place.
    pub street: PartMatch,
    /// Postal code.
    pub postal_code: PartMatch,
    /// Commune.
    pub city: PartMatch,
}

/// A result.
#[derive(Clone, Debug)]
pub struct Match {
    /// Segment and street; `None` for a commune.
    pub street: Option<(usize, u32)>,
    /// The commune, as an index into the table of places; for a street only where its commune is in the table.
    pub place: Option<u32>,
    /// How the house number was found.
    pub number: NumberMatch,
    /// What kind of result it is.
    pub kind: ResultKind,
    /// Probability that this is the address meant, 0 to 1.
    pub probability: f32,
    /// How well it fits, before calibration.
    pub score: f32,
    /// How its parts agree.
    pub matched: Matched,
    /// What the probability was computed from.
    pub features: [f32; FEATURES],
    /// Importance, 0 to 1.
    pub importance: f32,
}

/// The score of a street.
pub(super) fn score(candidate: &Candidate) -> f32 {
    let fit = candidate.fit.as_ref().map_or(0.0, Fit::score);
    let place = (candidate.evidence / EVIDENCE_MAX).clamp(0.0, 1.0);
    let number = match candidate.number {
        NumberMatch::Found(_) => NUMBER_FOUND,
        NumberMatch::Missing => -NUMBER_MISSING,
        NumberMatch::NotAsked | NumberMatch::OtherSuffix(_) => 0.0,
    };
    fit * (1.0 - PLACE_SHARE + PLACE_SHARE * place) + number
}

/// The best score a street of a reading with this evidence can have.
pub(super) fn best_score(evidence: f32) -> f32 {
    let place = (evidence / EVIDENCE_MAX).clamp(0.0, 1.0);
    1.0 - PLACE_SHARE + PLACE_SHARE * place + NUMBER_FOUND
}

/// The score of a commune.
pub(super) fn commune_score(evidence: f32) -> f32 {
    COMMUNE_BEST * (evidence / EVIDENCE_MAX).clamp(0.0, 1.0)
}

/// Importance as the base's publisher computes it.
fn importance(population: u32, numbers: u32) -> f32 {
    (((1.0 + population as f32 / 3.0).ln() + (1.0 + numbers as f32).ln()) / 20.0).clamp(0.0, 1.0)
}

pub(super) fn rank(
    geocoder: &Geocoder,
    query: &Query,
    request: &SearchRequest,
    mut candidates: Vec<Candidate>,
) -> Vec<Match> {
    if request.kind == Some(ResultKind::Street) {
        candidates
            .iter_mut()
            .for_each(|one| one.number = NumberMatch::NotAsked);
    }
    let mut found: Vec<(f32, Match)> = Vec::with_capacity(candidates.len());
    candidates.sort_by(|one, other| other.score.total_cmp(&one.score));
    for candidate in &candidates {
        let Some(one) = to_match(geocoder, query, candidate).filter(|one| one.score >= SCORE_MIN)
        else {
            continue;
        };
        if !is_wanted(geocoder, request, &one)
            || found.iter().any(|(_, other)| is_same(&one, other))
        {
            continue;
        }
        let order = one.score
            + IMPORTANCE_WEIGHT * one.importance
            + nearness(geocoder, request, candidate, &one);
        found.push((order, one));
        if found.len() >= MATCHES_MAX {
            break;
        }
    }
    found.sort_by(|one, other| other.0.total_cmp(&one.0));
    let mut matches: Vec<Match> = found.into_iter().map(|(_, one)| one).collect();
    give_probabilities(geocoder, &mut matches);
    matches.truncate(request.limit);
    matches
}

fn is_same(one: &Match, other: &Match) -> bool {
    match (one.street, other.street) {
        (Some(one), Some(other)) => one == other,
        (None, None) => root(one.place) == root(other.place),
        _ => false,
    }
}

/// The commune of today that a place belongs to.
fn root(place: Option<u32>) -> Option<u32> {
    let place = place?;
    Places::get().place(place)?.parent.or(Some(place))
}

fn is_wanted(geocoder: &Geocoder, request: &SearchRequest, one: &Match) -> bool {
    if request.kind.is_some_and(|kind| kind != one.kind) {
        return false;
    }
    let Some(code) = &request.postal_code else {
        return true;
    };
    match one.street {
        Some((segment, street)) => {
            code.parse() == Ok(geocoder.segments[segment].street_postal_code(street))
        }
        None => one
            .place
            .and_then(|place| Places::get().place(place))
            .is_some_and(|place| place.postal_codes.contains(&code.as_str())),
    }
}

/// Preference for what lies near; never above a town that the query names.
fn nearness(
    geocoder: &Geocoder,
    request: &SearchRequest,
    candidate: &Candidate,
    one: &Match,
) -> f32 {
    let Some((lat, lon)) = request.near else {
        return 0.0;
    };
    if candidate.name_quality > 0.0 && one.street.is_some() {
        return 0.0;
    }
    let at = position(geocoder, one);
    let metres = planar_distance_m(lat, lon, at.0, at.1);
    NEAR * (-metres / NEAR_M).exp() as f32
}

/// Latitude and longitude of a match, degrees.
pub fn position(geocoder: &Geocoder, one: &Match) -> (f64, f64) {
    match (&one.number, one.street) {
        (NumberMatch::Found(house) | NumberMatch::OtherSuffix(house), _) => (house.lat, house.lon),
        (_, Some((segment, street))) => geocoder.segments[segment].street_position(street),
        _ => one
            .place
            .and_then(|place| Places::get().place(place))
            .map_or((0.0, 0.0), |place| place.centre),
    }
}

fn to_match(geocoder: &Geocoder, query: &Query, candidate: &Candidate) -> Option<Match> {
    let places = Places::get();
    let (street, place, kind, numbers) = match &candidate.target {
        Target::Commune(place) => (None, Some(*place), ResultKind::Municipality, 0),
        Target::Street { segment, street } => {
            let of = &geocoder.segments[*segment];
            let code = of.area(of.area_of(*street)).insee_code;
            let kind = match candidate.number {
                NumberMatch::Found(_) | NumberMatch::OtherSuffix(_) => ResultKind::HouseNumber,
                _ if of.is_place(*street) => ResultKind::Locality,
                _ => ResultKind::Street,
            };
            (
                Some((*segment, *street)),
                places.find(code),
                kind,
                of.street_numbers(*street),
            )
        }
    };
    let about = place.and_then(|place| places.place(place))?;
    Some(Match {
        street,
        place,
        kind,
        probability: 0.0,
        score: candidate.score,
        matched: matched(geocoder, query, candidate, about),
        features: calibration::features(candidate),
        importance: importance(about.population, numbers),
        number: candidate.number.clone(),
    })
}

fn matched(geocoder: &Geocoder, query: &Query, candidate: &Candidate, place: &Place) -> Matched {
    let house_number = match &candidate.number {
        NumberMatch::Found(_) => PartMatch::Exact,
        NumberMatch::OtherSuffix(_) => PartMatch::Fuzzy,
        NumberMatch::NotAsked | NumberMatch::Missing => PartMatch::Missing,
    };
    let street = match &candidate.fit {
        None => PartMatch::Missing,
        Some(fit) if fit.kind == 0.0 => PartMatch::Conflict,
        Some(fit) if fit.street >= EXACT && fit.query >= EXACT && fit.kind == 1.0 => {
            PartMatch::Exact
        }
        Some(_) => PartMatch::Fuzzy,
    };
    let own_code = match &candidate.target {
        Target::Street { segment, street } => {
            geocoder.segments[*segment].street_postal_code(*street)
        }
        Target::Commune(_) => 0,
    };
    let postal_code = match &query.postal_code {
        None => PartMatch::Missing,
        Some(code) if code.parse() == Ok(own_code) => PartMatch::Exact,
        Some(code) if place.postal_codes.contains(&code.as_str()) => PartMatch::Exact,
        Some(_) if candidate.postal_code == Agreement::Department => PartMatch::Fuzzy,
        Some(_) => PartMatch::Conflict,
    };
    let city = match () {
        () if candidate.is_elsewhere && query.readings.iter().any(|one| one.name_quality > 0.0) => {
            PartMatch::Conflict
        }
        () if candidate.name_quality == 0.0 => PartMatch::Missing,
        () if candidate.name_quality >= EXACT => PartMatch::Exact,
        () => PartMatch::Fuzzy,
    };
    Matched {
        house_number,
        street,
        postal_code,
        city,
    }
}

/// The first match is as probable as calibration says; the rest share what it leaves, as far as they fit.
fn give_probabilities(geocoder: &Geocoder, matches: &mut [Match]) {
    let scores: Vec<f32> = matches.iter().map(|one| one.score).collect();
    let next_other = |index: usize| {
        let here = position(geocoder, &matches[index]);
        let other = matches.iter().enumerate().find(|(other, one)| {
            let there = position(geocoder, one);
            // Two names of one spot do not make each other doubtful.
            *other != index && planar_distance_m(here.0, here.1, there.0, there.1) > 100.0
        });
        other.map_or(0.0, |(other, _)| scores[other])
    };
    let margins: Vec<f32> = (0..matches.len())
        .map(|index| scores[index] - next_other(index))
        .collect();
    let mut ceiling = 1.0_f32;
    for (index, one) in matches.iter_mut().enumerate() {
        one.features[calibration::MARGIN] = margins[index].clamp(-0.3, 0.3);
        let probability = calibration::probability(&one.features).min(ceiling);
        one.probability = probability;
        ceiling = match index {
            0 => probability.min(1.0 - probability).max(probability * 0.5),
            _ => probability,
        };
    }
}
