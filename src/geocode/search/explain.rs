//! Explains how a result was found: how each word of the query was read, which places it may name, the parts of the
//! scores.
//!
//! The explanation reads the query again, so a search without an explanation costs nothing extra.

use serde::Serialize;

use super::align::{Fit, StreetQuery};
use super::likenesses::Likenesses;
use super::query::{Query, Reading, bit};
use super::{Geocoder, Match, NumberMatch, SearchRequest, calibration};
use toise_geo::places::Places;

/// Maximum number of places listed per reading.
const PLACES_NAMED: usize = 3;

/// Explanation of how a result was found.
#[derive(Clone, Debug, Serialize)]
pub struct Explanation {
    /// The words of the query, in order.
    pub words: Vec<WordReading>,
    /// The places that the query may name, the strongest evidence first.
    pub readings: Vec<PlaceReading>,
    /// The best results, with the parts of their scores.
    pub results: Vec<ResultParts>,
}

/// The reading of a word for the best result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WordReading {
    /// The word, as the search compares it.
    pub word: String,
    /// `housenumber`, `street`, `postcode`, `city`, `ignored` (floors, boxes, CEDEX) or `unread`.
    pub read_as: &'static str,
}

/// A place that the query may name.
#[derive(Clone, Debug, Serialize)]
pub struct PlaceReading {
    /// Names and codes of the largest places.
    pub places: Vec<String>,
    /// Number of places.
    pub count: usize,
    /// Strength of the evidence, 0 to 1.12.
    pub evidence: f32,
    /// How the postal code agrees: `absent`, `agrees`, `department` or `conflicts`.
    pub postcode: &'static str,
}

/// A result with the parts of its score.
#[derive(Clone, Debug, Serialize)]
pub struct ResultParts {
    /// Address in one line.
    pub label: String,
    /// Probability, 0 to 1.
    pub score: f32,
    /// How well it fits before calibration; results are ordered by it.
    pub fit: f32,
    /// The features that the probability was computed from, by name.
    pub parts: serde_json::Map<String, serde_json::Value>,
}

impl Geocoder {
    /// Explains what [`Geocoder::search`] found for a request.
    pub fn explain(&self, request: &SearchRequest, found: &[Match]) -> Explanation {
        let with_postal_code = |code: &str| self.with_postal_code(code);
        let query = Query::read(&request.text, &self.narrowing(request, &with_postal_code));
        let best = found.first();
        let read = best.and_then(|best| self.reading_of(&query, request, best));
        let words = (0..query.tokens.len()).map(|at| WordReading {
            word: query.tokens[at].text.clone(),
            read_as: read_as(&query, at, best, read.as_ref()),
        });
        Explanation {
            words: words.collect(),
            readings: query.readings.iter().map(place_reading).collect(),
            results: found.iter().map(|one| self.parts(one)).collect(),
        }
    }

    /// Returns the reading of the query that led to a result, and the alignment of its street.
    fn reading_of<'q>(
        &self,
        query: &'q Query,
        request: &SearchRequest,
        best: &Match,
    ) -> Option<(&'q Reading, Option<Fit>)> {
        let Some((segment, street)) = best.street else {
            let names =
                |reading: &&Reading| best.place.is_some_and(|at| reading.places.contains(&at));
            return query.readings.iter().find(names).map(|one| (one, None));
        };
        let area = self.segments[segment].area(self.segments[segment].area_of(street));
        let is_there = |reading: &&Reading| {
            let mut places = reading.places.iter();
            places.any(|place| {
                Places::get()
                    .address_codes(*place)
                    .contains(&area.insee_code)
            })
        };
        let mut likenesses = Likenesses::new(query, request.autocomplete);
        let fits = query
            .readings
            .iter()
            .filter(is_there)
            .filter_map(|reading| {
                let described = StreetQuery::new(query, reading, request.autocomplete);
                let view = self.segments[segment].words_view();
                let fit = described.fit(&mut likenesses, &view, segment, street, 0.0)?;
                Some((reading, fit))
            });
        let best = fits.max_by(|(_, one), (_, other)| one.score().total_cmp(&other.score()));
        best.map(|(reading, fit)| (reading, Some(fit)))
    }

    fn parts(&self, one: &Match) -> ResultParts {
        let names = calibration::NAMES.iter().zip(one.features);
        ResultParts {
            label: self.address(one).properties.label,
            score: one.probability,
            fit: one.score,
            parts: names
                .map(|(name, value)| ((*name).to_owned(), value.into()))
                .collect(),
        }
    }
}

fn read_as(
    query: &Query,
    at: usize,
    best: Option<&Match>,
    read: Option<&(&Reading, Option<Fit>)>,
) -> &'static str {
    if query
        .insee_code
        .is_some_and(|(_, used)| used & bit(at) != 0)
    {
        return "city";
    }
    if query.postal_code_at == Some(at) {
        return "postcode";
    }
    let (reading, fit) = match read {
        Some((reading, fit)) => (Some(*reading), fit.as_ref()),
        None => (None, None),
    };
    if fit.is_some_and(|fit| fit.aligned & bit(at) != 0) {
        return "street";
    }
    if reading.is_some_and(|reading| reading.used & bit(at) != 0) {
        return "city";
    }
    if query.noise & bit(at) != 0 {
        return "ignored";
    }
    let word = query.tokens[at].text.as_str();
    let is_number = best.is_some_and(|best| match &best.number {
        NumberMatch::Found(house) | NumberMatch::OtherSuffix(house) => {
            house.number.to_string() == word || house.suffix_label() == word
        }
        NumberMatch::NotAsked | NumberMatch::Missing => false,
    });
    if is_number { "housenumber" } else { "unread" }
}

fn place_reading(reading: &Reading) -> PlaceReading {
    let places = Places::get();
    let named = reading
        .places
        .iter()
        .filter_map(|place| places.place(*place));
    let named = named.take(PLACES_NAMED);
    PlaceReading {
        places: named
            .map(|place| format!("{} ({})", place.name, place.code))
            .collect(),
        count: reading.places.len(),
        evidence: reading.evidence,
        postcode: reading.postal_code.as_str(),
    }
}
