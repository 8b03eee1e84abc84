//! Ranks candidates. Also determines how the parts of each agree with the query, and how probable each is.

use super::align::Fit;
use super::calibration::{self, FEATURES};
use super::describing_word::PREFIX_FACTOR;
use super::query::{
    AGREEING, Agreement, OTHER_TOWN, Query, Reading, SAME_DEPARTMENT, SPELLED, bit,
};
use super::{Candidate, Geocoder, NumberMatch, ResultKind, SearchRequest, Target};
use crate::places::SHORT_EDITED;
use crate::text::fold::{self, Token};
use crate::text::likeness::distance;
use toise_geo::distance::planar_distance_m;
use toise_geo::places::Places;

/// Maximum evidence of a reading.
const EVIDENCE_MAX: f32 = 1.12;
/// Share of a street's score that depends on how well the place fits.
const PLACE_SHARE: f32 = 0.5;
/// Maximum score of a commune.
const COMMUNE_BEST: f32 = 0.95;
/// Score added if the base has the house number, and score subtracted if it does not.
const NUMBER_FOUND: f32 = 0.02;
const NUMBER_MISSING: f32 = 0.06;
/// Maximum bonus for results near the requested position, and the distance at which it falls to 1/e, metres.
const NEAR: f32 = 0.1;
const NEAR_M: f64 = 20_000.0;
/// Weight of importance, which only breaks ties.
const IMPORTANCE_WEIGHT: f32 = 0.01;
/// Minimum likeness of a street's name that counts as written exactly; abbreviations reach it.
const EXACT: f32 = 0.95;
/// Factor if the query has a different postal code from the address, but the commune has both.
const SAME_COMMUNE: f32 = 0.9;
/// Minimum length of a single word that counts as part of a town's name, in bytes; and of one with two typing errors.
const TOWN_WORD_MIN: usize = 4;
const TOWN_WORD_EDITED_MIN: usize = 8;
/// Evidence that such a word adds to a postal code, and the quality that the town's name then gets.
const TOWN_WORD: f32 = 0.15;
const TOWN_WORD_QUALITY: f32 = 0.85;
/// Streets with the same name that are nearer than this to the requested position are about equally probable, metres.
const NEAR_SHARE_M: f64 = 1_000.0;
/// Minimum score of a result.
const SCORE_MIN: f32 = 0.2;
/// Minimum probability of a result, before results that fit equally well share it. A result below it counts as not
/// found.
pub(crate) const FOUND_FROM: f32 = 0.001;
/// Assumed radius of a named place, metres; the base gives none.
const PLACE_REACH_M: f64 = 1_000.0;
/// Distance from the requested position beyond which a result whose town was not named is uncertain, metres.
pub(crate) const FAR_M: f64 = 50_000.0;
/// Maximum difference in score at which another street or place of the same name may be meant: `Rue du Moulin` and `Le
/// Moulin`.
const NAMESAKE: f32 = 0.15;
/// Maximum number of candidates that are ranked.
const MATCHES_MAX: usize = 50;
/// Candidates ranked beyond the requested number.
const MATCHES_BEYOND: usize = 8;
/// Factor for the probability of a town with a similar name, if the query has the exact name of another town, or if the
/// name is so short that it resembles several.
const OTHER_TOWN_TRUST: f32 = 0.4;
/// Factor for the probability of a commune whose centre is asked for: its position may be some kilometres away from it.
const CENTRE_TRUST: f32 = 0.8;
/// Distance within which two results count as one spot, metres.
const SPOT_M: f64 = 30.0;
/// Maximum difference in score of results that count as equally good: a little more than importance can add.
const TIED: f32 = 0.012;
/// Maximum margin to the next result that is taken into account.
const MARGIN_MAX: f32 = 0.3;

toise_base::named! {
    /// Agreement of a part of an address with the query.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum PartMatch {
        /// As written, or as usually abbreviated.
        Exact = "exact",
        /// Written differently.
        Fuzzy = "fuzzy",
        /// Not in the query, or not in the base.
        Missing = "missing",
        /// The query contains a different value.
        Conflict = "conflict",
    }
}

/// Agreement of the parts of an address with the query.
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
    /// Outcome of the search for the house number.
    pub number: NumberMatch,
    /// Kind of result.
    pub kind: ResultKind,
    /// Probability that this is the intended address, 0 to 1.
    pub probability: f32,
    /// How well it fits, before calibration.
    pub score: f32,
    /// Agreement of its parts with the query.
    pub matched: Matched,
    /// The features that the probability was computed from.
    pub features: [f32; FEATURES],
    /// Importance, 0 to 1.
    pub importance: f32,
    /// How far the right address may be from its position, metres; `None` for a house number that is found and for a
    /// commune.
    pub uncertainty_m: Option<f64>,
}

/// Returns the score of a street.
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

/// Returns the best score that a street of a reading with this evidence can have.
pub(super) fn best_score(evidence: f32) -> f32 {
    let place = (evidence / EVIDENCE_MAX).clamp(0.0, 1.0);
    1.0 - PLACE_SHARE + PLACE_SHARE * place + NUMBER_FOUND
}

/// Returns the minimum fit with which a street of a reading with this evidence can reach a score.
pub(super) fn min_fit(evidence: f32, score: f32) -> f32 {
    (score - NUMBER_FOUND) / (best_score(evidence) - NUMBER_FOUND)
}

/// Returns the score of a commune.
pub(super) fn commune_score(evidence: f32) -> f32 {
    COMMUNE_BEST * (evidence / EVIDENCE_MAX).clamp(0.0, 1.0)
}

/// Computes importance as the publisher of the base does.
pub(crate) fn importance(population: u32, numbers: u32) -> f32 {
    (((1.0 + population as f32 / 3.0).ln() + (1.0 + numbers as f32).ln()) / 20.0).clamp(0.0, 1.0)
}

/// A candidate with its sort key among the results.
struct Ranked<'c> {
    order: f32,
    candidate: &'c Candidate,
    about: CandidateInfo,
}

/// Properties of a candidate.
struct CandidateInfo {
    place: u32,
    kind: ResultKind,
    importance: f32,
    position: (f64, f64),
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
    // A near result may rank above one that fits better.
    let enough = match request.near {
        Some(_) => MATCHES_MAX,
        None => (request.limit + MATCHES_BEYOND).min(MATCHES_MAX),
    };
    let mut found: Vec<Ranked<'_>> = Vec::with_capacity(enough);
    candidates.retain(|one| one.score >= SCORE_MIN);
    candidates.sort_by(|one, other| other.score.total_cmp(&one.score));
    for candidate in &candidates {
        let is_tied = |last: &Ranked<'_>| candidate.score + IMPORTANCE_WEIGHT >= last.order;
        if found.len() >= MATCHES_MAX
            || (found.len() >= enough && !found.last().is_some_and(is_tied))
        {
            break;
        }
        if found
            .iter()
            .any(|other| is_same(candidate, other.candidate))
        {
            continue;
        }
        let Some(about) = about(geocoder, candidate) else {
            continue;
        };
        if !is_wanted(geocoder, request, candidate, &about) {
            continue;
        }
        let order = candidate.score
            + IMPORTANCE_WEIGHT * about.importance
            + nearness(request, candidate, about.position);
        found.push(Ranked {
            order,
            candidate,
            about,
        });
    }
    found.sort_by(|one, other| other.order.total_cmp(&one.order));
    let shares = shares(request, &found);
    let margins: Vec<f32> = (0..found.len().min(request.limit))
        .map(|index| margin(&found, &shares, index))
        .collect();
    let best = found.iter().zip(margins).enumerate();
    let mut matches: Vec<Match> = best
        .map(|(at, (one, margin))| Match {
            uncertainty_m: uncertainty_m(geocoder, request, &found, at),
            ..to_match(geocoder, query, one, margin)
        })
        .collect();
    let is_found = |one: &Match| one.probability >= FOUND_FROM || request.autocomplete;
    let found = matches.iter().take_while(|one| is_found(one)).count();
    matches.truncate(found);
    give_probabilities(&mut matches, &shares);
    matches
}

/// Returns how far the right address may be from a result, metres; `None` for a house number that is found and for a
/// commune.
///
/// For a street, this is the distance to its farthest house number, or to other streets and places of the same name in
/// the commune. For a result whose town is not named, it is the distance from the requested position, if that is more
/// than [`FAR_M`].
fn uncertainty_m(
    geocoder: &Geocoder,
    request: &SearchRequest,
    found: &[Ranked<'_>],
    index: usize,
) -> Option<f64> {
    let one = &found[index];
    let Target::Street { segment, street } = one.candidate.target else {
        return None;
    };
    let here = one.about.position;
    let metres_from = |there: (f64, f64)| planar_distance_m(here.0, here.1, there.0, there.1);
    let is_town_named =
        one.candidate.name_quality > 0.0 || one.candidate.postal_code == Agreement::Agrees;
    let far = request
        .near
        .map(metres_from)
        .filter(|metres| *metres > FAR_M && !is_town_named);
    let is_house = one.about.kind == ResultKind::HouseNumber;
    let own = (!is_house).then(|| {
        let houses = geocoder.segments[segment].numbers(street);
        let reach = houses
            .iter()
            .map(|house| metres_from((house.lat, house.lon)));
        let reach = reach.reduce(f64::max).unwrap_or(PLACE_REACH_M);
        let is_namesake = |other: &&Ranked<'_>| {
            other.candidate.fit.is_some()
                && root(other.about.place) == root(one.about.place)
                && (other.candidate.score - one.candidate.score).abs() <= NAMESAKE
        };
        let namesakes = found.iter().filter(is_namesake);
        namesakes
            .map(|other| metres_from(other.about.position))
            .fold(reach, f64::max)
    });
    match (own, far) {
        (Some(own), Some(far)) => Some(own.max(far)),
        (own, far) => own.or(far),
    }
}

fn is_same(one: &Candidate, other: &Candidate) -> bool {
    match (&one.target, &other.target) {
        (Target::Commune(one), Target::Commune(other)) => root(*one) == root(*other),
        (
            Target::Street { segment, street },
            Target::Street {
                segment: other_segment,
                street: other_street,
            },
        ) => street == other_street && segment == other_segment,
        _ => false,
    }
}

/// Returns the current commune that a place belongs to.
fn root(place: u32) -> u32 {
    let parent = Places::get().place(place).and_then(|place| place.parent);
    parent.unwrap_or(place)
}

fn about(geocoder: &Geocoder, candidate: &Candidate) -> Option<CandidateInfo> {
    let places = Places::get();
    let (place, kind, numbers, position) = match &candidate.target {
        Target::Commune(place) => {
            let centre = places.place(*place)?.centre;
            (*place, ResultKind::Municipality, 0, centre)
        }
        Target::Street { segment, street } => {
            let of = &geocoder.segments[*segment];
            let place = geocoder.place_of(*segment, *street)?;
            let (kind, position) = match &candidate.number {
                NumberMatch::Found(house) | NumberMatch::OtherSuffix(house) => {
                    (ResultKind::HouseNumber, (house.lat, house.lon))
                }
                _ if of.is_place(*street) => (ResultKind::Locality, of.street_position(*street)),
                _ => (ResultKind::Street, of.street_position(*street)),
            };
            (place, kind, of.street_numbers(*street), position)
        }
    };
    Some(CandidateInfo {
        place,
        kind,
        importance: importance(places.place(place)?.population, numbers),
        position,
    })
}

/// Returns the postal code of a candidate's house number or street; 0 for a commune, which may have several.
fn own_postal_code(geocoder: &Geocoder, candidate: &Candidate) -> u32 {
    match (&candidate.number, &candidate.target) {
        (NumberMatch::Found(house) | NumberMatch::OtherSuffix(house), _) => house.postal_code,
        (_, Target::Street { segment, street }) => {
            geocoder.segments[*segment].street_postal_code(*street)
        }
        _ => 0,
    }
}

/// Compares the postal code of the query with the postal code of the address, which is more exact than the codes of its
/// commune.
pub(super) fn compare_postal_code(geocoder: &Geocoder, query: &Query, candidate: &mut Candidate) {
    let own = own_postal_code(geocoder, candidate);
    let Some(code) = query.postal_code.as_ref().filter(|_| own != 0) else {
        return;
    };
    match (candidate.postal_code, code.parse() == Ok(own)) {
        (Agreement::Agrees, false) => {
            let agreed = if candidate.name_quality > 0.0 {
                AGREEING
            } else {
                0.0
            };
            candidate.evidence = (candidate.evidence - agreed) * SAME_COMMUNE;
            candidate.postal_code = Agreement::Conflicts;
        }
        (Agreement::Conflicts, true) => {
            candidate.evidence = candidate.evidence / SAME_DEPARTMENT + AGREEING;
            candidate.postal_code = Agreement::Agrees;
        }
        _ => {}
    }
}

/// Compares the words that the street does not explain with the words of the commune's name, where only a postal code
/// names the place: it may be shared by several communes.
pub(super) fn compare_town_words(geocoder: &Geocoder, query: &Query, candidate: &mut Candidate) {
    let (Some(fit), Target::Street { segment, street }) = (&candidate.fit, &candidate.target)
    else {
        return;
    };
    let is_of_code = candidate.name_quality == 0.0 && candidate.postal_code == Agreement::Agrees;
    if !is_of_code || fit.foreign + fit.aside < PREFIX_FACTOR {
        return;
    }
    let segment = &geocoder.segments[*segment];
    let area = segment.area(segment.area_of(*street));
    let name = fold::tokens(area.commune).into_iter();
    let name: Vec<Token> = name.chain(fold::tokens(area.former_name)).collect();
    let tokens = query.tokens.iter().enumerate();
    let mut left = tokens.filter(|(at, token)| {
        (fit.aligned | query.noise) & bit(*at) == 0 && token.text.len() >= TOWN_WORD_MIN
    });
    let is_named = left.any(|(_, token)| {
        let is_near = |word: &Token| {
            let edits = if word.text.len() < TOWN_WORD_EDITED_MIN {
                1
            } else {
                2
            };
            word.text.len() >= TOWN_WORD_MIN
                && distance(word.text.as_bytes(), token.text.as_bytes(), edits).is_some()
        };
        name.iter().any(is_near)
    });
    if is_named {
        candidate.evidence += TOWN_WORD;
        candidate.name_quality = TOWN_WORD_QUALITY;
    }
}

fn is_wanted(
    geocoder: &Geocoder,
    request: &SearchRequest,
    candidate: &Candidate,
    about: &CandidateInfo,
) -> bool {
    if request.kind.is_some_and(|kind| kind != about.kind) {
        return false;
    }
    let Some(code) = &request.postal_code else {
        return true;
    };
    match candidate.target {
        Target::Street { .. } => code.parse() == Ok(own_postal_code(geocoder, candidate)),
        Target::Commune(place) => Places::get()
            .place(place)
            .is_some_and(|place| place.postal_codes.contains(&code.as_str())),
    }
}

/// Returns the bonus for a near result; 0 for a street whose town the query names.
fn nearness(request: &SearchRequest, candidate: &Candidate, position: (f64, f64)) -> f32 {
    let Some((lat, lon)) = request.near else {
        return 0.0;
    };
    if candidate.name_quality > 0.0 && candidate.fit.is_some() {
        return 0.0;
    }
    let metres = planar_distance_m(lat, lon, position.0, position.1);
    NEAR * (-metres / NEAR_M).exp() as f32
}

/// Returns the latitude and longitude of a match, degrees.
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

/// Returns how much better a result scores than the best one at another spot. Results that share a probability with it
/// are ignored.
fn margin(found: &[Ranked<'_>], shares: &[f32], index: usize) -> f32 {
    let here = found[index].about.position;
    let is_tied = |at: usize| at < shares.len() && index < shares.len();
    let other = found.iter().enumerate().find(|(other, one)| {
        let there = one.about.position;
        // Two results at the same spot do not cast doubt on each other.
        *other != index
            && !is_tied(*other)
            && planar_distance_m(here.0, here.1, there.0, there.1) > SPOT_M
    });
    found[index].candidate.score - other.map_or(0.0, |(_, one)| one.candidate.score)
}

fn to_match(geocoder: &Geocoder, query: &Query, one: &Ranked<'_>, margin: f32) -> Match {
    let candidate = one.candidate;
    let mut features = calibration::features(candidate);
    features[calibration::MARGIN] = margin.clamp(-MARGIN_MAX, MARGIN_MAX);
    Match {
        street: match candidate.target {
            Target::Street { segment, street } => Some((segment, street)),
            Target::Commune(_) => None,
        },
        place: Some(one.about.place),
        kind: one.about.kind,
        probability: calibration::probability(&features) * trust(candidate),
        score: candidate.score,
        matched: matched(geocoder, query, candidate, one.about.place),
        features,
        importance: one.about.importance,
        number: candidate.number.clone(),
        uncertainty_m: None,
    }
}

/// Returns the factor for the probability of a candidate: less than 1 if the query names another town exactly, may name
/// several, or asks for the centre of a commune.
fn trust(candidate: &Candidate) -> f32 {
    let doubtful = OTHER_TOWN.max(SHORT_EDITED);
    let is_doubtful = candidate.name_quality > 0.0 && candidate.name_quality <= doubtful;
    match () {
        () if is_doubtful => OTHER_TOWN_TRUST,
        () if candidate.is_centre => CENTRE_TRUST,
        () => 1.0,
    }
}

fn matched(geocoder: &Geocoder, query: &Query, candidate: &Candidate, place: u32) -> Matched {
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
    let own_code = own_postal_code(geocoder, candidate);
    let codes = Places::get()
        .place(place)
        .map_or(&[][..], |place| &place.postal_codes);
    let is_insee_code = query.insee_code.is_some_and(|(meant, used)| {
        root(meant) == root(place) && query.postal_code_at.is_some_and(|at| used == bit(at))
    });
    let postal_code = match &query.postal_code {
        None => PartMatch::Missing,
        Some(code) if code.parse() == Ok(own_code) => PartMatch::Exact,
        Some(code) if own_code == 0 && codes.contains(&code.as_str()) => PartMatch::Exact,
        Some(_) if is_insee_code => PartMatch::Missing,
        Some(_) if candidate.postal_code == Agreement::Department => PartMatch::Fuzzy,
        Some(_) => PartMatch::Conflict,
    };
    Matched {
        house_number,
        street,
        postal_code,
        city: city_match(query, candidate, place),
    }
}

/// Returns how the commune of a candidate agrees with the query. A name that is part of the street says nothing about
/// the commune.
fn city_match(query: &Query, candidate: &Candidate, place: u32) -> PartMatch {
    let of_quality = |quality: f32| {
        if quality >= SPELLED {
            PartMatch::Exact
        } else {
            PartMatch::Fuzzy
        }
    };
    if candidate.name_quality > 0.0 {
        return of_quality(candidate.name_quality);
    }
    let aligned = candidate.fit.as_ref().map_or(0, |fit| fit.aligned);
    let is_named =
        |one: &&Reading| one.name_quality > 0.0 && one.used & aligned == 0 && query.is_at_edge(one);
    let mut named = query.readings.iter().filter(is_named);
    let is_here = |one: &&Reading| one.places.iter().any(|other| root(*other) == root(place));
    if let Some(one) = named.clone().find(is_here) {
        return of_quality(one.name_quality);
    }
    if named.any(|one| one.name_quality >= SPELLED && !one.is_prefix) {
        PartMatch::Conflict
    } else {
        PartMatch::Missing
    }
}

/// Returns how the first results share one probability if they fit equally well at different spots. Without a requested
/// position, the shares are equal; with one, they fall with the square of the distance.
fn shares(request: &SearchRequest, found: &[Ranked<'_>]) -> Vec<f32> {
    let Some(first) = found.first() else {
        return Vec::new();
    };
    let is_tied = |one: &&Ranked<'_>| (one.candidate.score - first.candidate.score).abs() < TIED;
    let tied: Vec<&Ranked<'_>> = found.iter().take_while(is_tied).collect();
    let weight = |one: &Ranked<'_>| match request.near {
        Some((lat, lon)) if one.candidate.name_quality == 0.0 => {
            let at = one.about.position;
            let metres = planar_distance_m(lat, lon, at.0, at.1);
            (NEAR_SHARE_M / (metres + NEAR_SHARE_M)).powi(2) as f32
        }
        _ => 1.0,
    };
    let weights: Vec<f32> = tied.iter().map(|one| weight(one)).collect();
    // Results at one spot are one result.
    let is_new = |index: &usize| {
        let here = tied[*index].about.position;
        let mut before = tied[..*index].iter().map(|one| one.about.position);
        !before.any(|spot| planar_distance_m(here.0, here.1, spot.0, spot.1) <= SPOT_M)
    };
    let spots: Vec<usize> = (0..tied.len()).filter(is_new).collect();
    let kept: f32 = spots.iter().map(|index| weights[*index]).sum();
    // Streets of the same name that were not kept are no nearer than the last one kept.
    let dropped = first.candidate.dropped;
    let least = weights.iter().copied().fold(1.0, f32::min);
    let all = kept + dropped as f32 * least;
    weights.iter().map(|one| one / all).collect()
}

/// Gives the first results their shares of the probability. The next result gets at most the remaining probability, or
/// half of the last share if that is more. Every result is limited to the probability of the one before.
fn give_probabilities(matches: &mut [Match], shares: &[f32]) {
    let (mut ceiling, mut left) = (1.0_f32, 1.0_f32);
    for (index, one) in matches.iter_mut().enumerate() {
        let share = shares.get(index).copied().unwrap_or(1.0);
        one.probability = (one.probability * share).min(ceiling);
        ceiling = one.probability;
        if index < shares.len() {
            left -= one.probability;
        }
        if index + 1 == shares.len() {
            ceiling = ceiling.min(left).max(ceiling * 0.5);
        }
    }
}
